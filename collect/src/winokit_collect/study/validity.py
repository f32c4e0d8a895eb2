"""Decide whether a problem is valid, from the votes of workers who did not write it.

Sakaguchi et al., "WinoGrande" (2019), https://arxiv.org/abs/1907.10641, section 3: a question is valid if (1) all
three choose the right answer, (2) all three say that the two options are not equally plausible, and (3) it cannot
be answered from the words around the pronoun alone. The second version of the paper is reported to have asked for a
majority. Nothing is thrown away: problems on which all agree that they are not valid, and those on which votes are
split, are kept and exported as such.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, bindparam, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from winokit_collect.study.prepared import Prepared
from winokit_collect.study.schema import TASKS, VALIDATE, VOTE_ROWS, Adjudication, ProblemRow

UNANIMOUS_YES = "unanimous-yes"
UNANIMOUS_NO = "unanimous-no"
SPLIT = "split"
# Asked after every vote, and made once: making a query takes longer than running it.
_PROBLEM: BindParameter[int] = bindparam("problem")
_VOTE_COLUMNS = VOTE_ROWS.c["choice", "equally_plausible", "local_decides", "doubted"]
_IS_ON_PROBLEM = (VOTE_ROWS.c.problem_id == _PROBLEM, VOTE_ROWS.c.kind == VALIDATE)
_COUNTED_VOTES = select(*_VOTE_COLUMNS).where(*_IS_ON_PROBLEM, VOTE_ROWS.c.counted, ~VOTE_ROWS.c.gold)
_VOTES = Prepared(_COUNTED_VOTES.order_by(VOTE_ROWS.c.id))
_IS_VALIDATED = (TASKS.c.problem_id == _PROBLEM, TASKS.c.kind == VALIDATE)
_ASKED = select(TASKS.c.asked).where(*_IS_VALIDATED, TASKS.c.asked.is_not(None))
_DECISIONS = select(Adjudication.valid).where(Adjudication.problem_id == _PROBLEM)
_DECIDED = _DECISIONS.order_by(Adjudication.id.desc()).limit(1)
_KNOWN = Prepared(select(_ASKED.scalar_subquery(), _DECIDED.scalar_subquery()))


class Judgement(NamedTuple):
    """One vote by the three rules of validity: whether the problem passes each.

    A vote is for the problem if all three are true.
    """

    answer: bool
    plausible: bool
    local: bool


@dataclass(frozen=True)
class ValidityVerdict:
    """Verdict of a problem's votes: whether it is valid, and which rules failed."""

    valid: bool
    agreement: str
    failed: tuple[str, ...]
    """Rules that failed, among `answer`, `plausible` and `local`."""


def judgements(votes: Sequence[Any], answer: int) -> list[Judgement]:
    """Judge each `validate` vote by the three rules.

    `votes` are rows with the votes' columns, `answer` is the problem's answer. A question that was not asked counts as
    passed.
    """
    judged = []
    for vote in votes:
        is_right = vote.choice == answer
        judged.append(Judgement(is_right, not vote.equally_plausible, not vote.local_decides))
    return judged


def judge(votes: Sequence[Judgement], rule: str = "unanimous") -> ValidityVerdict:
    """Decide whether a problem is valid, from its judgements.

    `rule` is `unanimous` or `majority`: each of the three rules must hold for all votes, or for more than half of them.

    >>> judge([Judgement(True, True, True)] * 3)
    ValidityVerdict(valid=True, agreement='unanimous-yes', failed=())
    >>> judge([Judgement(True, True, True)] * 2 + [Judgement(False, True, True)])
    ValidityVerdict(valid=False, agreement='split', failed=('answer',))
    >>> judge([Judgement(True, True, True)] * 2 + [Judgement(False, True, True)], "majority").valid
    True
    """
    needed = len(votes) if rule == "unanimous" else len(votes) // 2 + 1
    failed = []
    for index, failed_rule in enumerate(Judgement._fields):
        passes = sum(vote[index] for vote in votes)
        if passes < needed:
            failed.append(failed_rule)
    agreement = agreement_of([all(vote) for vote in votes])
    return ValidityVerdict(not failed, agreement, tuple(failed))


def agreement_of(votes: Sequence[bool]) -> str:
    """Name of the agreement of yes/no votes: unanimous-yes, unanimous-no or split."""
    if all(votes):
        return UNANIMOUS_YES
    return SPLIT if any(votes) else UNANIMOUS_NO


def find_decisive(votes: Sequence[Judgement], rule: str) -> list[int]:
    """Indexes of the votes without which the verdict would be another.

    The only vote is always decisive.

    >>> find_decisive([Judgement(True, True, True)] * 2 + [Judgement(False, True, True)], "unanimous")
    [2]
    """
    verdict = judge(votes, rule).valid
    decisive = []
    for index in range(len(votes)):
        others = [*votes[:index], *votes[index + 1 :]]
        if not others or judge(others, rule).valid != verdict:
            decisive.append(index)
    return decisive


def settle_problem(session: Session, rule: str, row: ProblemRow) -> None:
    """Store the verdict on a problem in its row.

    A requester's decision overrules the votes. The votes decide once all are in, without the doubted ones. Until then
    the verdict is None.
    """
    votes = _VOTES.all(session, problem=row.id)
    needed_count, decision = _KNOWN.all(session, problem=row.id)[0]
    complete = needed_count is not None and len(votes) >= needed_count
    deciding = [vote for vote in votes if not vote.doubted]
    row.agreement = None
    row.valid = decision
    if complete and deciding:
        verdict = judge(judgements(deciding, row.answer or 0), rule)
        row.agreement = verdict.agreement
        row.valid = verdict.valid if decision is None else decision
    # Written in any case: a vote on gold, which decides nothing, takes as long.
    flag_modified(row, "agreement")
    flag_modified(row, "valid")
