"""What a worker is shown of a task: no author, no answer, no vote of others, nothing that tells gold from the rest."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from winokit.collect.study.config import StudyConfig
from winokit.collect.study.holding import HeldProblem
from winokit.collect.study.problems import clause, switched_text
from winokit.collect.study.schema import ASSOCIATIVE, EVALUATE, SWITCHABLE, VALIDATE
from winokit.data.checks.rules import Limits
from winokit.problem import Problem


@dataclass(frozen=True)
class WriteTask:
    """A topic to write a pair of twins about."""

    kind: str
    token: str
    """Names the task in web addresses and forms; it is this worker's alone."""
    expires_at: datetime
    topic: str
    words: tuple[str, ...]
    """Words of the topic; one of them, or another that the topic brings to mind, becomes the anchor."""
    domain: str
    """`social` (two people of one gender) or `physical` (two things)."""
    limits: Limits
    draft: dict[str, Any]
    """The form's fields as last saved; empty at first."""
    done: int
    """How many the worker has handed in."""


@dataclass(frozen=True)
class VoteTask:
    """A problem to judge. Fields that a kind does not show are None, so that a page cannot show them by mistake."""

    kind: str
    token: str
    expires_at: datetime
    before: str | None
    after: str | None
    """The text around the blank; None for `associative`, which shows the clause alone."""
    pronoun: str | None
    query: str | None
    """For a yes/no judgement (SuperGLUE-WSC): does the blank refer to this?"""
    options: tuple[tuple[int, str], ...]
    """(value of the form's `choice`, candidate), in an order of this worker's own."""
    clause: str | None
    """The clause with the blank: for `associative`, and for the third question of `validate`."""
    switched: str | None
    """For `switchable`: the text with the candidates in each other's places."""
    may_abstain: bool
    done: int


TaskView: TypeAlias = WriteTask | VoteTask


def view(config: StudyConfig, held: HeldProblem) -> TaskView:
    """What the holder of a task is shown."""
    return _write_view(config, held) if held.problem is None else _vote_view(config, held, held.problem)


def _write_view(config: StudyConfig, held: HeldProblem) -> WriteTask:
    return WriteTask(
        held.kind,
        held.token,
        held.expires_at,
        str(held.topic.get("topic", "")),
        tuple(held.topic.get("words", ())),
        held.domain or "",
        config.rules.limits,
        held.draft,
        held.done or 0,
    )


def _vote_view(config: StudyConfig, held: HeldProblem, problem: Problem) -> VoteTask:
    options = list(enumerate(problem.candidates))
    # An order of the lease's own, the same on every reload: no place on the page is the right one more often.
    random.Random(held.token).shuffle(options)
    whole = held.kind != ASSOCIATIVE
    return VoteTask(
        held.kind,
        held.token,
        held.expires_at,
        problem.before if whole else None,
        problem.after if whole else None,
        problem.pronoun if whole else None,
        problem.query if whole else None,
        tuple(options),
        clause(problem) if held.kind in (VALIDATE, ASSOCIATIVE) else None,
        switched_text(problem) if held.kind == SWITCHABLE else None,
        config.evaluate.abstain and held.kind == EVALUATE,
        held.done or 0,
    )
