"""Where every problem comes from: author, times, votes and decisions, as they go into an export.

Workers appear by their code alone; who they are on a platform stays in the database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import or_, select

from winokit.collect.study.problems import clause, switched_text, to_problem
from winokit.collect.study.schema import (
    ASSOCIATIVE,
    EVALUATE,
    SWITCHABLE,
    VALIDATE,
    WITHDRAWN,
    Adjudication,
    ProblemRow,
    Submission,
    Task,
    Vote,
    Worker,
)
from winokit.collect.study.validity import UNANIMOUS_YES, agreement_of, judge, judgements
from winokit.problem import Problem

if TYPE_CHECKING:
    from winokit.collect.study.study import Study


@dataclass(frozen=True)
class Records:
    """Everything an export needs, read at one moment."""

    problems: list[ProblemRow]
    votes: dict[int, list[Vote]]
    """By problem, in the order in which they came."""
    submissions: dict[int, Submission]
    codes: dict[int, str]
    asked: dict[tuple[int, str], int]
    """How many votes were asked for, by problem and kind."""
    decisions: dict[int, Adjudication]
    """The last one on each problem."""

    @classmethod
    def read(cls, study: Study) -> Records:
        """Read a study, without what was written by those who have withdrawn, and what was said about it."""
        votes: dict[int, list[Vote]] = defaultdict(list)
        gone = ProblemRow.author_id.in_(select(Worker.id).where(Worker.state == WITHDRAWN))
        there = select(ProblemRow).where(or_(ProblemRow.author_id.is_(None), ~gone)).order_by(ProblemRow.id)
        with study.store.read(steady=True) as session:
            for vote in session.scalars(select(Vote).order_by(Vote.id)):
                votes[vote.problem_id].append(vote)
            tasks = session.execute(select(Task.problem_id, Task.kind, Task.asked).where(Task.problem_id.is_not(None)))
            asked = {(problem or 0, kind): number for problem, kind, number in tasks if number is not None}
            decisions = {one.problem_id: one for one in session.scalars(select(Adjudication).order_by(Adjudication.id))}
            return cls(
                list(session.scalars(there)),
                votes,
                {one.id: one for one in session.scalars(select(Submission))},
                {person.id: person.code for person in session.execute(select(Worker.id, Worker.code))},
                asked,
                decisions,
            )

    def counted(self, row: ProblemRow, kind: str) -> list[Vote]:
        """The votes of a kind that count."""
        return [vote for vote in self.votes.get(row.id, ()) if vote.kind == kind and vote.counted]

    def complete(self, row: ProblemRow, kind: str) -> list[Vote] | None:
        """The same, if there are as many as were asked for; None otherwise."""
        votes = self.counted(row, kind)
        return votes if votes and len(votes) >= self.asked.get((row.id, kind), 1) else None


def exported_problem(study: Study, records: Records, row: ProblemRow) -> Problem:
    """A problem with what people said of it as labels, and everything behind that as provenance."""
    problem = to_problem(row)
    labels = dict(problem.labels)
    provenance: dict[str, Any] = {"study": study.config.title}
    if row.author_id is not None:
        submission = records.submissions[row.submission_id or 0]
        provenance |= {
            "author": records.codes[row.author_id],
            "written_at": moment(submission.submitted_at),
            "seconds": round(submission.seconds, 1),
            "pasted": submission.pasted,
        }
        if submission.adversary is not None:
            provenance["adversary"] = submission.adversary
    labels |= _judged_labels(study, records, row, problem, provenance)
    provenance |= _verdict(study, records, row)
    provenance["votes"] = [vote_row(records, vote) for vote in records.votes.get(row.id, ())]
    return problem.replace(labels=labels, provenance=provenance)


def _judged_labels(
    study: Study, records: Records, row: ProblemRow, problem: Problem, provenance: dict[str, Any]
) -> dict[str, bool]:
    """`switchable` and `associative` after Trichelair et al.: true if all said so; no label while votes are out."""
    labels: dict[str, bool] = {}
    for kind, shown in ((SWITCHABLE, switched_text), (ASSOCIATIVE, clause)):
        if kind not in study.config.tasks.kinds:
            continue
        votes = records.complete(row, kind)
        if votes:
            agreement = agreement_of([vote.choice == 1 for vote in votes])
            labels[kind] = agreement == UNANIMOUS_YES
            provenance[kind] = agreement
        elif shown(problem) is None:
            provenance[kind] = "not asked: it cannot be shown"
            if kind == SWITCHABLE:
                labels[kind] = False  # candidates that cannot change places are not switchable
    return labels


def _verdict(study: Study, records: Records, row: ProblemRow) -> dict[str, Any]:
    """What was decided about validity, by whom and why."""
    told: dict[str, Any] = {}
    if row.withdrawn:
        told["withdrawn"] = True
    if row.valid is not None:
        told["valid"] = row.valid
    votes = records.complete(row, VALIDATE)
    if votes and row.answer is not None:
        verdict = judge(judgements(votes, row.answer), study.config.validity.rule)
        told |= {"agreement": verdict.agreement, "rule": study.config.validity.rule}
        if verdict.failed:
            told["failed"] = list(verdict.failed)
    decision = records.decisions.get(row.id)
    if decision is not None and decision.valid is not None:
        told["decided_by"] = "requester"
    return told


def vote_rows(records: Records) -> Iterator[dict[str, Any]]:
    """Every vote, one row each, with the problem it is about."""
    for row in records.problems:
        for vote in records.votes.get(row.id, ()):
            yield {"problem": row.family, "variant": row.variant, **vote_row(records, vote)}


def vote_row(records: Records, vote: Vote) -> dict[str, Any]:
    """A vote as it is exported; what its kind does not ask is left out."""
    submission = records.submissions[vote.submission_id]
    choice: int | bool | None = vote.choice
    if vote.kind in (SWITCHABLE, ASSOCIATIVE):
        choice = bool(vote.choice)
    told: dict[str, Any] = {"worker": records.codes[vote.worker_id], "kind": vote.kind, "choice": choice}
    more = {"equally_plausible": vote.equally_plausible, "local_decides": vote.local_decides}
    told |= {name: value for name, value in more.items() if value is not None}
    told |= {"at": moment(vote.at), "seconds": round(submission.seconds, 1), "counted": vote.counted}
    if vote.gold:
        told |= {"gold": True, "right": vote.is_right}
    return told


def votes_on_family(records: Records) -> dict[str, list[dict[str, Any]]]:
    """The votes of people who were asked to solve a problem or a variant of it, by the original's id."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in records.problems:
        votes = [vote for vote in records.votes.get(row.id, ()) if vote.kind == EVALUATE and not vote.gold]
        found[row.family] += [{"variant": row.variant, **vote_row(records, vote)} for vote in votes]
    return found


def moment(at: datetime) -> str:
    """A moment, to the second."""
    return at.isoformat(timespec="seconds")
