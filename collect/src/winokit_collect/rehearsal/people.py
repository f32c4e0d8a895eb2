"""Simulated people who work in a rehearsal.

Most are careful, some are bots, some return their visit, some come twice. A person is a generator that does one
thing after another and yields the seconds until the next. So hundreds can work at the same time without threads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlalchemy import select

from winokit_collect.platforms.base import arrive, done_in_visit
from winokit_collect.platforms.stand_in import ProlificStandIn
from winokit_collect.rehearsal.plan import RehearsalPlan
from winokit_collect.study import submissions, tasks, workers
from winokit_collect.study.refusals import Incomplete, NotAllowed, NotFound, NotNow
from winokit_collect.study.schema import ASSOCIATIVE, SWITCHABLE, WRITE, Lease, ProblemRow, Task, Worker
from winokit_collect.study.study import Study
from winokit_collect.study.voting import VoteTask

READ_CONSENT = 60.0
ANSWER_SCREENING = 20.0
ANSWER_QUESTION = 15.0
"""Seconds for the consent page, the screening, and one question of the quiz."""
KNOWS = 0.95
"""Chance that somebody careful knows the answer. Otherwise they guess."""
DOUBTS = 0.02
"""Chance that somebody careful marks a good problem as ambiguous, or as decided by its clause alone."""
SPREAD = 0.5
"""Standard deviation of the logarithm of the time that people take."""
BOT_SECONDS = (0.5, 2.5)
BETWEEN_VISITS = 3600.0
FILLER = "before yesterday someone quietly repaired everything while others watched them from far away and said nothing"


@dataclass
class VisitTimes:
    """One person's time in the study, over all visits, and their earnings."""

    seconds: float = 0.0
    earned_cents: int = 0
    by_kind: dict[str, list[float]] = field(default_factory=dict)
    """Seconds of each task, by kind."""


@dataclass
class Rehearsed:
    """Counts of everything that the made-up people did in a rehearsal.

    `written` counts the pairs of twins that were taken.
    """

    times: dict[int, VisitTimes] = field(default_factory=dict)
    """Times of each person, by their number."""
    bots: set[int] = field(default_factory=set)
    returned: int = 0
    second_visits: int = 0
    refused_texts: dict[str, int] = field(default_factory=dict)
    """Number of refusals of made-up twins, by reason."""
    written: int = 0


class Crowd:
    """The made-up people of a rehearsal.

    They work in a study and are paid by `books`, the stand-in of the platform. `seen` has the counts so far.
    """

    def __init__(self, study: Study, books: ProlificStandIn, plan: RehearsalPlan) -> None:
        self.study = study
        self.books = books
        self.plan = plan
        self.random = Random(plan.seed)
        self.seen = Rehearsed()
        self._texts = 0

    def person(self, number: int) -> Iterator[float]:
        """Play all visits of one person.

        Yields the seconds until their next step. `number` identifies the person, counted from 1. The same number and
        seed give the same behaviour.
        """
        draw = Random(f"{self.plan.seed} {number}")
        is_bot = draw.random() < self.plan.bot_share
        if is_bot:
            self.seen.bots.add(number)
        visits = 2 if draw.random() < self.plan.second_visit_share else 1
        times = self.seen.times.setdefault(number, VisitTimes())
        for visit in range(visits):
            if visit:
                self.seen.second_visits += 1
                yield BETWEEN_VISITS
            for seconds in self._play_visit(number, visit, draw, is_bot, times):
                times.seconds += seconds
                yield seconds

    def _play_visit(self, number: int, visit: int, draw: Random, is_bot: bool, times: VisitTimes) -> Iterator[float]:
        """Play one visit, from arrival to the last task.

        Yields the seconds between steps. `visit` is the visit's index, 0 or 1. Earnings and times of tasks are added to
        `times`.
        """
        worker = arrive(self.study, self.books.arrives(number, visit), browser=f"browser {number}")
        returns_at = draw.randrange(1, 6) if draw.random() < self.plan.return_share else None
        yield from self._pass_entry(worker, draw, is_bot, times)
        while done_in_visit(self.study, worker.id) < self.study.config.platform.tasks_per_visit:
            if returns_at is not None and done_in_visit(self.study, worker.id) >= returns_at:
                self.books.ends(self.books.session(number, visit), "RETURNED")
                self.seen.returned += 1
                return
            kind = self._choose_kind(worker)
            if kind is None:
                return
            try:
                yield from self._do_task(worker, kind, draw, is_bot, times)
            except (NotNow, NotAllowed, NotFound):
                return

    def _pass_entry(self, worker: Worker, draw: Random, is_bot: bool, times: VisitTimes) -> Iterator[float]:
        """Pass consent, screening and the quizzes not passed yet.

        Pay for quizzes is added to `times`.
        """
        row = workers.get(self.study, worker.code)
        if row.consented_at is None:
            yield 1.0 if is_bot else READ_CONSENT
            workers.consent(self.study, worker.id)
            yield 1.0 if is_bot else ANSWER_SCREENING
            workers.screen(self.study, worker.id, native_speaker=True, has_seen_wsc=False)
        before, _ = workers.own_work(self.study, worker.id)
        for kind in self.study.config.tasks.kinds:
            yield from self._take_quiz(worker, kind, draw, is_bot)
        after, _ = workers.own_work(self.study, worker.id)
        times.earned_cents += after - before

    def _take_quiz(self, worker: Worker, kind: str, draw: Random, is_bot: bool) -> Iterator[float]:
        """Take the quiz for a kind until it is passed or finally failed."""
        while True:
            row = workers.get(self.study, worker.code)
            if row.state != "active" or workers.next_quiz(self.study, row, [kind]) is None:
                return
            answers = []
            for question in workers.quiz_for(self.study, row, [kind]):
                yield 1.0 if is_bot else ANSWER_QUESTION
                option_count = len(question.options)
                chance = 1 / option_count if is_bot else KNOWS
                is_right = draw.random() < chance
                wrong_answer = (question.answer + 1) % option_count
                answers.append(question.answer if is_right else wrong_answer)
            workers.take_quiz(self.study, worker.id, answers, [kind])

    def _choose_kind(self, worker: Worker) -> str | None:
        """Choose the kind of task that a worker does next.

        None if the worker may not work or no task is available.
        """
        row = workers.get(self.study, worker.code)
        if workers.step_of(self.study, row) != workers.WORK:
            return None
        qualified = []
        for kind, count in tasks.available(self.study, worker.id).items():
            if count and workers.is_qualified(self.study, row, kind):
                qualified.append(kind)
        # Writing first: nothing can be judged before there is something.
        return WRITE if WRITE in qualified else next(iter(qualified), None)

    def _do_task(self, worker: Worker, kind: str, draw: Random, is_bot: bool, times: VisitTimes) -> Iterator[float]:
        """Lease a task of a kind, and hand it in after a while.

        The time and the pay are added to `times`.
        """
        task = tasks.lease(self.study, worker.id, kind)
        seconds = self.plan.seconds[kind] * draw.lognormvariate(0.0, SPREAD)
        if is_bot:
            seconds = draw.uniform(*BOT_SECONDS)
        yield seconds
        times.by_kind.setdefault(kind, []).append(seconds)
        if isinstance(task, VoteTask):
            ballot = self._make_ballot(task, draw, is_bot)
            receipt = submissions.submit_vote(self.study, worker.id, task.token, ballot)
        else:
            receipt = self._submit_twins(worker, task.token)
        times.earned_cents += receipt.cents

    def _submit_twins(self, worker: Worker, token: str) -> submissions.SubmissionReceipt:
        """Hand in made-up twins.

        Raises NotNow if the study's rules do not take them.
        """
        try:
            receipt = submissions.submit_twins(self.study, worker.id, token, self._make_twins())
        except Incomplete as error:
            reason = "; ".join(f"{name}: {why}" for name, why in error.problems.items())
            self.seen.refused_texts[reason] = self.seen.refused_texts.get(reason, 0) + 1
            tasks.give_back(self.study, worker.id, token)
            raise NotNow("no twins could be made up") from None
        self.seen.written += 1
        return receipt

    def _make_ballot(self, task: VoteTask, draw: Random, is_bot: bool) -> dict[str, str]:
        """Fill in the form of a vote.

        The answer is right with probability KNOWS, and random for a bot.
        """
        answer = self._find_answer(task, draw)
        if task.kind in (SWITCHABLE, ASSOCIATIVE):
            chance = 0.5 if is_bot else KNOWS
            is_right = draw.random() < chance
            says_yes = (answer == 1) == is_right
            return {"choice": "yes" if says_yes else "no"}
        choices = [choice for choice, _ in task.options]
        is_known = not is_bot and draw.random() < KNOWS
        choice = answer if is_known else draw.choice(choices)
        ballot = {"choice": str(choice)}
        doubt_share = 0.5 if is_bot else DOUBTS
        for name in ("equally_plausible", "local_decides"):
            ballot[name] = "yes" if draw.random() < doubt_share else "no"
        return ballot

    def _find_answer(self, task: VoteTask, draw: Random) -> int:
        """Look up the right answer to a task in the database.

        A candidate's index, or 1 for yes and 0 for no. A made-up answer if the database has none.
        """
        query = select(Task.topic, ProblemRow.answer, ProblemRow.labels, ProblemRow.id)
        query = query.join(Lease, Lease.task_id == Task.id).join(ProblemRow, ProblemRow.id == Task.problem_id)
        with self.study.store.read() as session:
            row = session.execute(query.where(Lease.token == task.token)).one()
        gold: Mapping[str, Any] = row.topic or {}
        if gold.get("answer") is not None:
            return int(gold["answer"])
        if task.kind in (SWITCHABLE, ASSOCIATIVE):
            label = row.labels.get(task.kind)
            if isinstance(label, bool):
                return int(label)
            invented = Random(f"{row.id} {task.kind}").random() < 0.3
            return int(invented)
        return int(row.answer) if row.answer is not None else draw.randrange(len(task.options))

    def _make_twins(self) -> dict[str, str]:
        """Fill in the form with twins that differ from all earlier ones."""
        self._texts += 1
        letters = "".join(chr(ord("a") + int(digit)) for digit in str(self._texts))
        rules = self.study.config.rules
        filler_count = max(1, min(max(rules.fewest_words, 19), rules.most_words) - 13)
        words = (FILLER.split() * (1 + filler_count // 15))[:filler_count]
        filler = " ".join(word + letters for word in words)
        first = f"The terrier and the spaniel {filler} near the gate and _ had never eaten."
        return {
            "first": first,
            "second": first.replace("never", "always"),
            "candidate_1": "the terrier",
            "candidate_2": "the spaniel",
            "answer_1": "2",
            "answer_2": "1",
            "anchor": "gate",
        }
