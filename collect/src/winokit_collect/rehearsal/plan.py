"""The plan of a rehearsal: its size, its people, and their errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RehearsalPlan:
    """Settings of a rehearsal: its size, its people, and what goes wrong."""

    pairs: int
    """Pairs of twins to write, or groups of problems to ask about."""
    bot_share: float
    """Share of people who answer at random, as fast as they can."""
    seed: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Median seconds of a task, by kind."""
    return_share: float = 0.08
    """Share of visits that workers return on the platform before they are complete."""
    second_visit_share: float = 0.25
    """Share of people who come twice."""
    approved_share: float = 0.05
    """Share of visits that the platform approves by itself, before payouts begin."""
    fails_after_paying: float = 0.1
    """Share of API calls for money that pay and are then answered with an error."""
    fails_before_paying: float = 0.05
    """Share of API calls for money that are answered with an error and pay nothing."""
    too_many_share: float = 0.05
    """Share of API calls for money that are answered with "too many requests"."""
    arrival_seconds: float = 90.0
    """Seconds between one person's arrival and the next."""
    most_people: int = 400
