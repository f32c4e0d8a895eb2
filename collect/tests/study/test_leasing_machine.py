"""Any sequence of things that can happen to leases: the counters tell the truth, and no place is given too often."""

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

WHO = st.integers(0, 3)
WHICH = st.integers(0, 50)
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
        self.study = Study.create(Path(self.folder.name) / "study", parse_config(CONFIG), clock=self.clock)
        self.people = [workers.join(self.study, "links") for _ in range(4)]
        for person in self.people:
            workers.consent(self.study, person.id)
            workers.screen(self.study, person.id, native_speaker=True, has_seen_wsc=False)
        self.tokens = []

    def teardown(self):
        if hasattr(self, "study"):
            self.study.close()
            self.folder.cleanup()

    @rule(who=WHO)
    def lease(self, who):
        person = self.people[who]
        try:
            task = tasks.lease(self.study, person.id, EVALUATE)
        except (NotNow, NotAllowed):
            return
        self.tokens.append((person.id, task.token))

    @rule(which=WHICH)
    def hand_in(self, which):
        if self.tokens:
            worker, token = self.tokens[which % len(self.tokens)]
            submissions.submit(self.study, worker, token, {"choice": "1"})

    @rule(which=WHICH)
    def give_back(self, which):
        if self.tokens:
            tasks.give_back(self.study, *self.tokens[which % len(self.tokens)])

    @rule(minutes=st.integers(1, 12))
    def time_passes(self, minutes):
        self.clock.pass_minutes(minutes)

    @rule(who=WHO, discard=st.booleans())
    def block(self, who, discard):
        moderation.block(self.study, self.people[who].code, "a test", "system", discard_work=discard)

    @rule(who=WHO)
    def unblock(self, who):
        moderation.unblock(self.study, self.people[who].code, "system")

    @rule(which=WHICH)
    def discard(self, which):
        with self.study.store.read() as session:
            there = session.scalars(select(Submission.id)).all()
        if there:
            moderation.discard(self.study, there[which % len(there)], "a test", "system")

    @invariant()
    def the_counters_tell_the_truth(self):
        if not hasattr(self, "study"):
            return
        now = self.study.now()
        with self.study.store.read() as session:
            leases = session.scalars(select(Lease)).all()
            handed_in = session.scalars(select(Submission)).all()
            votes = session.scalars(select(Vote).where(Vote.counted)).all()
            asked = session.scalars(select(Task)).all()
        held = Counter(lease.task_id for lease in leases if lease.state == LIVE)
        live = Counter(lease.task_id for lease in leases if lease.state == LIVE and lease.expires_at > now)
        counted = Counter(one.task_id for one in handed_in if one.counted)
        for task in asked:
            assert task.accepted == counted[task.id]
            assert task.held == held[task.id]
            assert live[task.id] + counted[task.id] <= task.asked
        assert Counter(vote.task_id for vote in votes) == counted


Leasing.TestCase.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLeasing = Leasing.TestCase
