"""Judging: what a voter is shown of a problem, and the vote as a form sends it.

No author, no answer, no vote of others, and nothing that tells gold from the rest is shown.
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
    """How many the worker has handed in."""
    is_handed_in: bool
    """Whether this one is among them."""
    last_token: str | None
    """The token of the last of them, as long as it is recent enough to be corrected."""


@lru_cache(10_000)
def clause(problem: Problem) -> str | None:
    """The clause with the blank, or the words next to it where the text has no joint; None where neither can be cut.

    Trichelair et al. (2018) showed their judges the clause with the pronoun and the two candidates, and no more.

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
    """The text with the candidates in each other's places, as its data has it or by rule; None where they cannot."""
    switched = switch(problem, style="mended")
    return None if isinstance(switched, str) else switched.text


SHOWN_AS = {SWITCHABLE: switched_text, ASSOCIATIVE: clause}
"""What a judgement of a kind shows of a problem, or None where it cannot be shown."""


def vote_task(config: StudyConfig, leased: Row[Any]) -> VoteTask:
    """What the worker who has leased a task to judge is shown; `leased` is what `tasks.look` asks for."""
    problem = to_problem(leased, config.language)
    options = list(enumerate(problem.candidates))
    # An order of the lease's own, the same on every reload: no place on the page is the right one more often.
    random.Random(leased.token).shuffle(options)
    whole: tuple[str | None, str | None, str | None, str | None] = (None, None, None, None)
    if leased.kind != ASSOCIATIVE:
        # Written twins have a blank, and gold among them one like theirs.
        pronoun = None if WRITE in config.tasks.kinds else problem.pronoun
        whole = (problem.before, problem.after, pronoun, problem.query)
    return VoteTask(
        *(leased.kind, leased.token, leased.expires_at),
        *whole,
        tuple(options),
        clause(problem) if leased.kind in (VALIDATE, ASSOCIATIVE) else None,
        switched_text(problem) if leased.kind == SWITCHABLE else None,
        config.evaluate.abstain and leased.kind == EVALUATE,
        leased.done,
        leased.state == SUBMITTED,
        leased.last_token,
    )


def ballot_fields(kind: str, stored: Mapping[str, Any]) -> dict[str, str]:
    """What is stored of a vote, as its form sends it."""
    no_yes = ("no", "yes")
    fields = {name: no_yes[bool(value)] for name, value in stored.items() if value is not None}
    if kind not in SHOWN_AS and "choice" in stored:
        fields["choice"] = UNSURE if stored["choice"] is None else str(stored["choice"])
    return fields


def read_ballot(config: StudyConfig, leased: Row[Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A vote on what was shown, as it is stored; whatever is missing or not among the options is said by field."""
    wrong: dict[str, str] = {}

    def yes_or_no(name: str) -> bool | None:
        answer = YES_NO.get(str(fields.get(name, "")))
        if answer is None:
            wrong[name] = say("voting.choose_yes_no")
        return answer

    if leased.kind in (SWITCHABLE, ASSOCIATIVE):
        ballot: dict[str, Any] = {"choice": int(yes_or_no("choice") or False)}
    else:
        choice = str(fields.get("choice", ""))
        places = {str(place): place for place in range(len(leased.candidates))}
        may_abstain = config.evaluate.abstain and leased.kind == EVALUATE
        if choice not in places and not (may_abstain and choice == UNSURE):
            wrong["choice"] = say("voting.choose_answer")
        ballot = {"choice": places.get(choice)}
    if leased.kind == VALIDATE:
        ballot["equally_plausible"] = yes_or_no("equally_plausible")
        # Where no clause can be cut out, the page has nothing to ask about.
        if clause(to_problem(leased, config.language)) is not None:
            ballot["local_decides"] = yes_or_no("local_decides")
    if wrong:
        raise Incomplete(wrong)
    return ballot
