"""Judging tasks: the parts of a problem that a voter sees, and the vote from its form.

A voter sees no author, no answer, no vote of others, and nothing that distinguishes gold from the rest.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Row

from winokit import Problem
from winokit.extend import local_context, part_sent, switch
from winokit_collect.study.config import StudyConfig
from winokit_collect.study.refusals import Incomplete
from winokit_collect.study.schema import ASSOCIATIVE, EVALUATE, SUBMITTED, SWITCHABLE, VALIDATE, WRITE, to_problem
from winokit_collect.study.texts import say

YES_NO = {"yes": True, "no": False}
UNSURE = "unsure"


@dataclass(frozen=True)
class VoteTask:
    """A problem as a voter sees it.

    Fields that this kind of task does not show are None.
    """

    kind: str
    token: str
    expires_at: datetime
    before: str | None
    after: str | None
    """Text before and after the blank. None for `associative`, which shows only the clause."""
    pronoun: str | None
    query: str | None
    """Span that a yes/no problem (SuperGLUE-WSC) asks about: does the blank refer to it?"""
    options: tuple[tuple[int, str], ...]
    """Pairs of a value of the form's `choice` and a candidate, in an order that depends on the lease."""
    clause: str | None
    """The clause with the blank, for `associative` and the third question of `validate`."""
    switched: str | None
    """The text with its candidates exchanged, for `switchable`."""
    may_abstain: bool
    done: int
    """Number of tasks of this kind that the worker has handed in."""
    is_handed_in: bool
    """Whether this task is handed in."""
    last_token: str | None
    """Token of the last task handed in, if it is recent enough to be corrected, else None."""


@lru_cache(10_000)
def clause(problem: Problem) -> str | None:
    """The clause of a problem that has the blank, as text.

    If the text cannot be split into clauses, the words next to the blank. None if neither can be cut out. Trichelair et
    al. (2018) showed their judges the clause with the pronoun and the two candidates, and no more.

    >>> clause(Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0))
    'because _ was loose.'
    """
    for cut in (part_sent, local_context):
        part = cut(problem)
        if not isinstance(part, str):
            return part.text
    return None


@lru_cache(10_000)
def switched_text(problem: Problem) -> str | None:
    """The problem's text with its two candidates exchanged.

    From the dataset if it has one, else by rule. None if they cannot be exchanged.
    """
    switched = switch(problem, style="mended")
    return None if isinstance(switched, str) else switched.text


SHOWN_AS = {SWITCHABLE: switched_text, ASSOCIATIVE: clause}
"""Functions that return the text a kind of judgement shows of a problem, or None if it cannot be shown."""


def vote_task(config: StudyConfig, leased: Row[Any]) -> VoteTask:
    """Make the task that a voter sees from their lease.

    `leased` is a row of `tasks.look`. The options are in a random order that depends on the lease.
    """
    problem = to_problem(leased, config.language)
    options = list(enumerate(problem.candidates))
    # An order of the lease's own, the same on every reload: no place on the page is the right one more often.
    random.Random(leased.token).shuffle(options)
    shows_text = leased.kind != ASSOCIATIVE
    # Written twins have a blank, and gold among them one like theirs.
    shows_pronoun = shows_text and WRITE not in config.tasks.kinds
    shows_clause = leased.kind in (VALIDATE, ASSOCIATIVE)
    return VoteTask(
        kind=leased.kind,
        token=leased.token,
        expires_at=leased.expires_at,
        before=problem.before if shows_text else None,
        after=problem.after if shows_text else None,
        pronoun=problem.pronoun if shows_pronoun else None,
        query=problem.query if shows_text else None,
        options=tuple(options),
        clause=clause(problem) if shows_clause else None,
        switched=switched_text(problem) if leased.kind == SWITCHABLE else None,
        may_abstain=_may_abstain(config, leased.kind),
        done=leased.done,
        is_handed_in=leased.state == SUBMITTED,
        last_token=leased.last_token,
    )


def _may_abstain(config: StudyConfig, kind: str) -> bool:
    """Whether voters may answer that they cannot tell, in this kind of task."""
    return config.evaluate.abstain and kind == EVALUATE


def ballot_fields(kind: str, stored: Mapping[str, Any]) -> dict[str, str]:
    """Convert a stored vote to the fields of its form.

    A chosen candidate is its index, "cannot tell" is `unsure`, anything else `yes` or `no`.
    """
    fields = {}
    for name, value in stored.items():
        if value is not None:
            fields[name] = "yes" if value else "no"
    if kind not in SHOWN_AS and "choice" in stored:
        fields["choice"] = UNSURE if stored["choice"] is None else str(stored["choice"])
    return fields


def read_ballot(config: StudyConfig, leased: Row[Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Read a vote from its form, as the columns to store.

    Raises Incomplete, with a message for each field, if an answer is missing or not among the options.
    """
    messages: dict[str, str] = {}

    def yes_or_no(name: str) -> bool | None:
        """Read a yes/no answer, or note that it is missing and return None."""
        answer = YES_NO.get(str(fields.get(name, "")))
        if answer is None:
            messages[name] = say("voting.choose_yes_no")
        return answer

    ballot: dict[str, Any] = {}
    if leased.kind in (SWITCHABLE, ASSOCIATIVE):
        is_yes = yes_or_no("choice")
        ballot["choice"] = int(is_yes or False)
    else:
        choice = str(fields.get("choice", ""))
        indexes = {str(index): index for index in range(len(leased.candidates))}
        abstains = choice == UNSURE and _may_abstain(config, leased.kind)
        if choice not in indexes and not abstains:
            messages["choice"] = say("voting.choose_answer")
        ballot["choice"] = indexes.get(choice)
    if leased.kind == VALIDATE:
        ballot["equally_plausible"] = yes_or_no("equally_plausible")
        # Where no clause can be cut out, the page has nothing to ask about.
        if clause(to_problem(leased, config.language)) is not None:
            ballot["local_decides"] = yes_or_no("local_decides")
    if messages:
        raise Incomplete(messages)
    return ballot
