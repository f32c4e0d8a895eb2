"""Ask for one more vote if a verdict depends on a judge who is often wrong.

Dawid and Skene's model, fitted to all votes for and against problems, estimates who is often wrong. If a verdict
would be another without the vote of such a judge, somebody else is asked once. The doubted vote stays stored and
paid, but no longer decides. So an unreliable judge cannot make a problem invalid alone, and cannot make it valid
either.

No problem gets a second extra vote, and none that a requester has decided about.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func, select, update
from sqlalchemy.orm import Session

from winokit_collect.study.gold import settle
from winokit_collect.study.schema import VALIDATE, Adjudication, ProblemRow, Task, Vote
from winokit_collect.study.settings import rule_of
from winokit_collect.study.store import retried
from winokit_collect.study.study import Study
from winokit_collect.study.validity import find_decisive, judgements
from winokit_collect.study.verdicts import JudgedVotes, fit_judgements

LOG = logging.getLogger("winokit.collect")
FEWEST_VOTES = 10
"""Fewest votes of a worker who can count as often wrong."""
LOOK_SECONDS = 60.0
SPARING = 20
"""The thread waits this many times as long as its last search took."""
_VOTE_COLUMNS = (
    Vote.id,
    Vote.problem_id,
    Vote.worker_id,
    Vote.choice,
    Vote.equally_plausible,
    Vote.local_decides,
    Vote.doubted,
    ProblemRow.answer,
    ProblemRow.settings_id,
    Task.asked,
)
_IS_JUDGED = (Vote.kind == VALIDATE, Vote.counted, ~Vote.gold, ProblemRow.answer.is_not(None), ~ProblemRow.withdrawn)
_VOTES = (
    select(*_VOTE_COLUMNS)
    .join(ProblemRow, ProblemRow.id == Vote.problem_id)
    .join(Task, Task.id == Vote.task_id)
    .where(*_IS_JUDGED)
    .order_by(Vote.id)
)


@dataclass(frozen=True)
class DoubtedVote:
    """A decisive vote of a judge who is often wrong."""

    vote_id: int
    problem_id: int
    reliability: float


def is_asked(study: Study) -> bool:
    """Whether the study's settings ask for second opinions."""
    return study.config.quality.second_opinions and VALIDATE in study.config.tasks.kinds


def find_doubted(study: Study) -> list[DoubtedVote]:
    """Find the decisive votes of unreliable judges, at most one per problem."""
    with study.store.read(steady=True) as session:
        votes = session.execute(_VOTES).all()
        settings_ids = {vote.settings_id for vote in votes}
        rules = {number: rule_of(session, study, number) for number in settings_ids}
    cast = []
    by_problem: dict[int, list[Any]] = defaultdict(list)
    for vote in votes:
        judgement = judgements([vote], vote.answer)[0]
        cast.append((vote.problem_id, vote.worker_id, all(judgement)))
        by_problem[vote.problem_id].append(vote)
    model = fit_judgements(cast)
    if model is None:
        return []
    doubted_votes = []
    for problem_votes in by_problem.values():
        rule = rules[problem_votes[0].settings_id]
        doubted = _find_least_reliable(study, model, problem_votes, rule)
        if doubted is not None:
            doubted_votes.append(doubted)
    return doubted_votes


def _find_least_reliable(study: Study, model: JudgedVotes, votes: Sequence[Row[Any]], rule: str) -> DoubtedVote | None:
    """Find the decisive vote on a problem whose judge is least reliable.

    None if no such judge is unreliable, if votes are missing, or if a vote on the problem was doubted before.
    """
    is_complete = len(votes) >= (votes[0].asked or 0)
    if not is_complete or any(vote.doubted for vote in votes):
        return None
    doubted: list[DoubtedVote] = []
    judged = judgements(votes, votes[0].answer)
    for index in find_decisive(judged, rule):
        vote = votes[index]
        reliability = model.reliability(vote.worker_id)
        has_enough_votes = model.counts[vote.worker_id] >= FEWEST_VOTES
        if has_enough_votes and reliability < study.config.quality.least_reliable:
            doubted.append(DoubtedVote(vote.id, vote.problem_id, reliability))
    return min(doubted, key=lambda vote: vote.reliability, default=None)


def ask_second_opinions(study: Study) -> int:
    """Ask for one more vote on each problem that needs it.

    Returns the number of such problems, 0 if the study's settings do not ask for second opinions.
    """
    if not is_asked(study):
        return 0
    return sum(_ask_once_more(study, doubted) for doubted in find_doubted(study))


@retried
def _ask_once_more(study: Study, doubted: DoubtedVote) -> bool:
    """Mark a vote as doubted and ask for another one on its problem.

    Returns False, and changes nothing, if the problem has changed since the vote was found.
    """
    on_problem = (Vote.problem_id == doubted.problem_id, Vote.kind == VALIDATE, ~Vote.gold)
    with study.store.write() as session:
        # Tasks before problems, as a last vote does, so that nobody waits in a circle.
        is_asked_about = (Task.problem_id == doubted.problem_id, Task.kind == VALIDATE, Task.asked.is_not(None))
        task = session.scalars(select(Task).where(*is_asked_about).with_for_update()).one()
        row = session.get_one(ProblemRow, doubted.problem_id, with_for_update={"key_share": True})
        vote = session.get(Vote, doubted.vote_id)
        has_doubted = session.scalar(select(func.count()).where(*on_problem, Vote.doubted))
        is_open = task.accepted < (task.asked or 0)
        is_gone = vote is None or not vote.counted or row.withdrawn
        if is_open or is_gone or has_doubted or _is_decided(session, row):
            return False
        session.execute(update(Vote).where(Vote.id == doubted.vote_id).values(doubted=True))
        task.asked = (task.asked or 0) + 1
        session.flush()
        settle(session, study, row)
        reliability = round(doubted.reliability, 3)
        study.log(session, "system", "ask once more", row.public_id, vote=doubted.vote_id, reliability=reliability)
        return True


def _is_decided(session: Session, row: ProblemRow) -> bool:
    """Whether a requester's decision on a problem is in force."""
    decisions = select(Adjudication.valid).where(Adjudication.problem_id == row.id)
    last_decision = decisions.order_by(Adjudication.id.desc()).limit(1)
    return session.scalar(last_decision) is not None


class SecondOpinions:
    """A server's thread that asks for second opinions while the block runs."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._newest_vote = -1

    def __enter__(self) -> "SecondOpinions":
        """Start the thread, if the study's settings ask for second opinions."""
        self._stop.clear()
        if is_asked(self._study):
            self._thread = threading.Thread(target=self._look_repeatedly, name="second opinions", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the thread, after the work that it has begun."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _look_repeatedly(self) -> None:
        """Ask for second opinions every minute until the thread is stopped."""
        wait = LOOK_SECONDS
        while not self._stop.wait(wait):
            start = time.monotonic()
            try:
                self._look_once()
            except Exception:
                LOG.exception("an error while looking where one more vote is needed; it will be retried")
            wait = max(LOOK_SECONDS, SPARING * (time.monotonic() - start))

    def _look_once(self) -> None:
        """Ask for second opinions if there are new votes."""
        with self._study.store.read() as session:
            newest = session.scalar(select(func.max(Vote.id))) or 0
        if newest != self._newest_vote:
            ask_second_opinions(self._study)
            self._newest_vote = newest
