"""Nothing is given, counted or paid twice when many people and servers work at once."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from sqlalchemy import func, select
from support.waiting import HANGS

from winokit_collect.study import invites, new_tasks, submissions, tasks
from winokit_collect.study.content import read_topics
from winokit_collect.study.refusals import LinkExpired, NotNow
from winokit_collect.study.schema import EVALUATE, LIVE, Lease, Payment, Submission, Task, Vote, Worker
from winokit_collect.study.study import Study

PEOPLE = 8
PROBLEMS = 12
VOTES = 3


@pytest.fixture
def evaluation(make_study):
    return make_study(
        tasks={"kinds": ["evaluate"], "votes": VOTES, "twins": 0}, evaluate={"data": "open", "limit": PROBLEMS}
    )


def largest_excess(study):
    """The largest excess of live leases and counted submissions over the votes asked, of all tasks.

    It is 0 or less if no task was given too often.
    """
    live = select(func.count()).where(Lease.task_id == Task.id, Lease.state == LIVE, Lease.expires_at > study.now())
    counted = select(func.count()).where(Submission.task_id == Task.id, Submission.counted)
    over = live.scalar_subquery() + counted.scalar_subquery() - Task.asked
    with study.store.read() as session:
        return session.scalar(select(func.max(over)).where(Task.asked.is_not(None)))


class Person(threading.Thread):
    """A thread that takes tasks, forgets some, and hands some in twice at once or too late."""

    def __init__(self, study, worker, clock, seed):
        super().__init__()
        self.study = study
        self.worker = worker
        self.clock = clock
        self.random = Random(seed)
        self.forgotten = []
        self.largest_excess = 0
        self.error = None

    def run(self):
        try:
            self.work()
            for token in self.forgotten:
                self.hand_in(token)
        except Exception as error:  # what fails in a thread must fail the test
            self.error = error

    def work(self):
        idle = 0
        while idle < 3:
            try:
                task = tasks.lease(self.study, self.worker.id, EVALUATE)
            except NotNow:
                idle += 1
                self.clock.pass_minutes(11)  # what others have forgotten becomes free
                continue
            self.largest_excess = max(self.largest_excess, largest_excess(self.study))
            draw = self.random.random()
            if draw < 0.2:
                self.forgotten.append(task.token)
                self.clock.pass_minutes(11)
            elif draw < 0.3:
                tasks.give_back(self.study, self.worker.id, task.token)
            else:
                self.hand_in(task.token, twice=draw > 0.8)

    def hand_in(self, token, *, twice=False):
        go_on = self.random.random() < 0.5

        def submit_vote(_):
            return submissions.submit(self.study, self.worker.id, token, {"choice": "0"}, go_on=go_on)

        times = 2 if twice else 1
        with ThreadPoolExecutor(2) as pool:
            receipts = list(pool.map(submit_vote, range(times)))
        assert len({receipt.submission_id for receipt in receipts}) == 1
        self.largest_excess = max(self.largest_excess, largest_excess(self.study))


def test_no_place_is_given_or_counted_too_often(evaluation, crew, clock, database):
    servers = [evaluation, Study.open(evaluation.folder, database, clock=clock)]
    people = [Person(servers[seed % 2], crew.newcomer(evaluation), clock, seed) for seed in range(PEOPLE)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    servers[1].close()
    assert [person.error for person in people if person.error] == []
    assert max(person.largest_excess for person in people) <= 0
    clock.pass_minutes(11)  # who handed in something late, as their last, may have been given another task with it
    tasks.expire(evaluation)
    with evaluation.store.read() as session:
        real_tasks = session.scalars(select(Task).where(Task.asked.is_not(None))).all()
        handed_in = session.scalars(select(Submission)).all()
        votes = session.scalars(select(Vote)).all()
        payments = session.scalars(select(Payment)).all()
        live_count = session.scalar(select(func.count()).where(Lease.state == LIVE))
    counted = Counter(submission.task_id for submission in handed_in if submission.counted)
    assert [task.held for task in real_tasks] == [0] * PROBLEMS
    assert live_count == 0
    assert all(task.accepted == counted[task.id] <= VOTES for task in real_tasks)
    tasks_and_workers = {(vote.task_id, vote.worker_id) for vote in votes}
    assert len(tasks_and_workers) == len(votes) == len(handed_in)
    assert len({payment.submission_id for payment in payments}) == len(payments)
    assert len({submission.lease_id for submission in handed_in}) == len(handed_in)
    assert sum(counted.values()) > PROBLEMS  # the test did something


def test_a_link_for_one_lets_in_one(study):
    token = invites.create(study).path.rpartition("/")[2]

    def claim_link(_):
        try:
            return invites.claim(study, token)
        except LinkExpired:
            return None

    with ThreadPoolExecutor(8) as pool:
        admitted = [worker for worker in pool.map(claim_link, range(16)) if worker]
    assert len(admitted) == 1
    with study.store.read() as session:
        assert session.scalar(select(func.count()).select_from(Worker)) == 1


def test_servers_that_open_a_grown_study_at_once_add_its_tasks_once(make_study, database, monkeypatch):
    first = make_study(tasks={"twins": 5})
    config = (first.folder / "study.toml").read_text().replace("twins = 5", "twins = 9")
    (first.folder / "study.toml").write_text(config)
    all_have_counted = threading.Barrier(4, timeout=HANGS)

    def read_late(path):
        all_have_counted.wait()
        return read_topics(path)

    monkeypatch.setattr(new_tasks, "read_topics", read_late)
    with ThreadPoolExecutor(4) as pool:
        studies = list(pool.map(lambda _: Study.open(first.folder, database), range(4)))
    with first.store.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 9
    for study in studies:
        study.close()


def test_one_worker_in_many_tabs_gets_one_task(study, crew):
    worker = crew.newcomer(study)
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: tasks.lease(study, worker.id, "write").token, range(24)))
    assert len(set(tokens)) == 1
    with study.store.read() as session:
        assert session.scalar(select(func.sum(Task.held))) == 1
