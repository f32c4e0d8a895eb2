"""The counters of tasks are right after any sequence of leases, submissions and blocks."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from collect_support.studies import Clock
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import select

from winokit_collect.study import moderation, submissions, tasks, workers
from winokit_collect.study.config import parse_config
from winokit_collect.study.refusals import NotAllowed, NotNow
from winokit_collect.study.schema import EVALUATE, LIVE, Lease, Submission, Task, Vote
from winokit_collect.study.study import Study

PERSON_INDEX = st.integers(0, 3)
ANY_INDEX = st.integers(0, 50)
CONFIG = {
    "tasks": {"kinds": ["evaluate"], "votes": 2, "twins": 0},
    "evaluate": {"data": "open", "limit": 3},
    "quality": {"quiz_pass_mark": 0, "gold_share": 0},
}


class Leasing(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.clock = Clock()
        self.folder = TemporaryDirectory()
        folder = Path(self.folder.name) / "study"
        self.study = Study.create(folder, parse_config(CONFIG), clock=self.clock)
        self.people = [workers.join(self.study, "links") for _ in range(4)]
        for person in self.people:
            workers.consent(self.study, person.id)
            workers.screen(self.study, person.id, native_speaker=True, has_seen_wsc=False)
        self.tokens = []

    def teardown(self):
        if hasattr(self, "study"):
            self.study.close()
            self.folder.cleanup()

    @rule(person_index=PERSON_INDEX)
    def lease(self, person_index):
        person = self.people[person_index]
        try:
            task = tasks.lease(self.study, person.id, EVALUATE)
        except (NotNow, NotAllowed):
            return
        self.tokens.append((person.id, task.token))

    @rule(index=ANY_INDEX)
    def hand_in(self, index):
        if self.tokens:
            worker, token = self.tokens[index % len(self.tokens)]
            submissions.submit(self.study, worker, token, {"choice": "1"})

    @rule(index=ANY_INDEX)
    def give_back(self, index):
        if self.tokens:
            worker, token = self.tokens[index % len(self.tokens)]
            tasks.give_back(self.study, worker, token)

    @rule(minutes=st.integers(1, 12))
    def time_passes(self, minutes):
        self.clock.pass_minutes(minutes)

    @rule(person_index=PERSON_INDEX, discard=st.booleans())
    def block(self, person_index, discard):
        moderation.block(self.study, self.people[person_index].code, "a test", "system", discard_work=discard)

    @rule(person_index=PERSON_INDEX)
    def unblock(self, person_index):
        moderation.unblock(self.study, self.people[person_index].code, "system")

    @rule(index=ANY_INDEX)
    def discard(self, index):
        with self.study.store.read() as session:
            submission_ids = session.scalars(select(Submission.id)).all()
        if submission_ids:
            submission_id = submission_ids[index % len(submission_ids)]
            moderation.discard(self.study, submission_id, "a test", "system")

    @invariant()
    def the_counters_tell_the_truth(self):
        if not hasattr(self, "study"):
            return
        now = self.study.now()
        with self.study.store.read() as session:
            live_leases = session.scalars(select(Lease).where(Lease.state == LIVE)).all()
            submission_counts = Counter(session.scalars(select(Submission.task_id).where(Submission.counted)))
            vote_counts = Counter(session.scalars(select(Vote.task_id).where(Vote.counted)))
            task_rows = session.scalars(select(Task)).all()
        lease_counts = Counter(lease.task_id for lease in live_leases)
        unexpired_counts = Counter(lease.task_id for lease in live_leases if lease.expires_at > now)
        for task in task_rows:
            assert task.accepted == submission_counts[task.id]
            assert task.held == lease_counts[task.id]
            assert unexpired_counts[task.id] + submission_counts[task.id] <= task.asked
        assert vote_counts == submission_counts


Leasing.TestCase.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLeasing = Leasing.TestCase
