"""When a problem is valid, from the votes of three workers who did not write it.

Sakaguchi et al., "WinoGrande" (2019), https://arxiv.org/abs/1907.10641, section 3: a question is valid if (1) all
three choose the right answer, (2) all three say that the two options are not equally plausible, and (3) it cannot be
answered from the words around the pronoun alone. The second version of the paper is reported to have asked for a
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
_VOTES = Prepared(
    select(*VOTE_ROWS.c["choice", "equally_plausible", "local_decides", "doubted"])
    .where(VOTE_ROWS.c.problem_id == _PROBLEM, VOTE_ROWS.c.kind == VALIDATE, VOTE_ROWS.c.counted, ~VOTE_ROWS.c.gold)
    .order_by(VOTE_ROWS.c.id)
)
_ASKED = select(TASKS.c.asked).where(
    TASKS.c.problem_id == _PROBLEM, TASKS.c.kind == VALIDATE, TASKS.c.asked.is_not(None)
)
_DECIDED = (
    select(Adjudication.valid).where(Adjudication.problem_id == _PROBLEM).order_by(Adjudication.id.desc()).limit(1)
)
_KNOWN = Prepared(select(_ASKED.scalar_subquery(), _DECIDED.scalar_subquery()))


class Judgement(NamedTuple):
    """One vote, seen from the three rules: whether the problem passes each. A vote for the problem passes all."""

    answer: bool
    plausible: bool
    local: bool


@dataclass(frozen=True)
class ValidityVerdict:
    """What the votes come to."""

    valid: bool
    agreement: str
    failed: tuple[str, ...]
    """The rules that were not met, of `answer`, `plausible` and `local`."""


def judgements(votes: Sequence[Any], answer: int) -> list[Judgement]:
    """What votes of the kind `validate`, or their columns, say to the three rules; what was not asked breaks none."""
    return [Judgement(vote.choice == answer, not vote.equally_plausible, not vote.local_decides) for vote in votes]


def judge(votes: Sequence[Judgement], rule: str = "unanimous") -> ValidityVerdict:
    """The verdict of some votes.

    >>> judge([Judgement(True, True, True)] * 3)
    ValidityVerdict(valid=True, agreement='unanimous-yes', failed=())
    >>> judge([Judgement(True, True, True)] * 2 + [Judgement(False, True, True)])
    ValidityVerdict(valid=False, agreement='split', failed=('answer',))
    >>> judge([Judgement(True, True, True)] * 2 + [Judgement(False, True, True)], "majority").valid
    True
    """
    needed = len(votes) if rule == "unanimous" else len(votes) // 2 + 1
    failed = tuple(rule for at, rule in enumerate(Judgement._fields) if sum(vote[at] for vote in votes) < needed)
    return ValidityVerdict(not failed, agreement_of([all(vote) for vote in votes]), failed)


def agreement_of(votes: Sequence[bool]) -> str:
    """Whether all say yes, all say no, or neither."""
    return UNANIMOUS_YES if all(votes) else SPLIT if any(votes) else UNANIMOUS_NO


def find_decisive(votes: Sequence[Judgement], rule: str) -> list[int]:
    """Places of the votes without which the verdict would be another.

    >>> find_decisive([Judgement(True, True, True)] * 2 + [Judgement(False, True, True)], "unanimous")
    [2]
    """
    verdict = judge(votes, rule).valid
    decisive = []
    for place in range(len(votes)):
        others = [*votes[:place], *votes[place + 1 :]]
        if not others or judge(others, rule).valid != verdict:
            decisive.append(place)
    return decisive


def settle_problem(session: Session, rule: str, row: ProblemRow) -> None:
    """Write down what is decided about a problem: by a requester if one has, else by its votes once all are in.

    A vote that is doubted was asked once more, and does not decide.
    """
    votes = _VOTES.all(session, problem=row.id)
    asked, decision = _KNOWN.all(session, problem=row.id)[0]
    complete = asked is not None and len(votes) >= asked
    deciding = [vote for vote in votes if not vote.doubted]
    verdict = judge(judgements(deciding, row.answer or 0), rule) if complete and deciding else None
    row.agreement = verdict.agreement if verdict else None
    row.valid = decision if decision is not None else verdict.valid if verdict else None
    # Written in any case: a vote on gold, which decides nothing, takes as long.
    flag_modified(row, "agreement")
    flag_modified(row, "valid")
