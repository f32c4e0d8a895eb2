"""The plan of a rehearsal: pairs, people, their speed, and what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RehearsalPlan:
    """Settings of a rehearsal: its size, its people, and what goes wrong."""

    pairs: int
    """Pairs of twins that are written, or groups of problems that are asked about."""
    bot_share: float
    """Share of people who press anything as fast as they can."""
    seed: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Median seconds of a task, by kind."""
    return_share: float = 0.08
    """Share of visits that are given back on the platform before their end."""
    second_visit_share: float = 0.25
    """Share of people who come twice."""
    approved_share: float = 0.05
    """Share of visits that the platform approves by itself before anybody is paid here."""
    fails_after_paying: float = 0.1
    """Share of the platform's calls for money that are answered with an error after the money has left."""
    fails_before_paying: float = 0.05
    """Share of them that are answered with an error, and nothing has left."""
    too_many_share: float = 0.05
    """Share of them that are answered with "too many requests"."""
    arrival_seconds: float = 90.0
    """Between one person's arrival and the next."""
    most_people: int = 400
