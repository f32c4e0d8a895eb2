"""The queue behind `python -m runs jobs`: hands jobs to worker processes, and writes their records down as they end."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.sets import Sets, prepared
from winokit.errors import BadInput
from winokit.files import write_whole

if TYPE_CHECKING:
    from runs.jobs import Job

GRACE = 120
"""Seconds that jobs under way are given once the minutes are over."""
HEADED, SECOND = "mpnet-head", "minilm-head"
"""Encoders that jobs give a language-modelling head."""
FULL = ("out of memory", "ALLOC_FAILED")
"""What a device says that has no room for another job."""


@dataclass
class Worker:
    """A process, how to speak with it, and what it is doing."""

    process: Any
    pipe: Connection
    job: Job | None = None
    network: tuple[str, str] | None = None
    """Of its last job: it may still have it."""


class Queue:
    """Hands jobs to workers in order, and writes their records down as they end."""

    def __init__(self, jobs: Sequence[Job], given: argparse.Namespace) -> None:
        self.jobs, self.given, self.out = list(jobs), given, Path(given.out)
        self.failed: set[str] = set()
        self.crowded: list[Job] = []
        """Jobs for which the device had no room beside the others: they come again, with one worker fewer."""
        self.workers = given.workers
        self.began = time.monotonic()

    def check(self, sets: Sets) -> None:
        """Refuse, before anything runs, a model that is not there and a store that holds other work.

        Raises BadInput. A record whose file says nothing of weights or data is from an earlier version and is kept.
        """
        made = {job.makes for job in self.jobs if job.makes}
        for name in dict.fromkeys(job.model for job in self.jobs if job.model not in made):
            spec = self.given.models.get(name)
            if spec is None:
                raise BadInput(f"no model named {name!r} was given; add --model {name}=hf:FOLDER")
            if not model_folder(spec).exists():
                made_by = name in (HEADED, SECOND)
                way_out = f"run the job of head/ that makes it, or give --model {name}=hf:FOLDER"
                raise BadInput(f"{spec}: no such folder; {way_out if made_by else 'download the model first'}")
        for job in self.jobs:
            if self.place(job).exists():
                self._check_record(job, sets)

    def _check_record(self, job: Job, sets: Sets) -> None:
        """Refuse a record that was made with other settings, weights or data than the job would have now."""
        from runs.trainer import digest_of_weights

        path = self.place(job)
        record = json.loads(path.read_text("utf-8"))
        now: dict[str, Any] = {"train": job.train, "after": job.after, **job.settings.identity()}
        before = {"train": record.get("train"), "after": record.get("after"), **record.get("settings", {})}
        if record.get("weights") is not None and job.kind == "train":
            now["weights"] = digest_of_weights(self.given.models[job.model])
            before["weights"] = record["weights"]
        for name, digest in record.get("data", {}).items():
            if name in sets.data:
                now[name] = sets.data[name].content_hash
                before[name] = digest
        for name, value in now.items():
            if name in before and before[name] != value:
                values = f"{str(before[name])[:40]}, now {str(value)[:40]}"
                raise BadInput(f"{path}: a record of {job.name} with another {name} ({values}); choose another --out")

    def place(self, job: Job) -> Path:
        """The file of a job's record."""
        return self.out / "records" / f"{job.name.replace('/', '__')}.json"

    def done(self, job: Job) -> bool:
        """Whether there is nothing left to do: a record, and what other jobs still need of it."""
        if not self.place(job).exists():
            return False
        products = job.products(self.out, self.given.models)
        if all(file.exists() for file in products):
            return True
        wanted = (other for other in self.jobs if not self.place(other).exists() and other.name not in self.failed)
        return not any(job.name in (other.after, other.needs) or other.model == job.makes for other in wanted)

    def ready(self, job: Job) -> bool:
        """Whether everything it needs is there."""
        return self.waits_for(job) is None

    def waits_for(self, job: Job) -> str | None:
        """What a job still needs before it can begin; None if it can begin."""
        from runs.trainer import weights_file

        model = self.given.models.get(job.model)
        if model is None or not model_folder(model).exists():
            return f"the model {job.model} ({model or 'not given'})"
        if job.kind == "head" and not Path(job.more["corpus"]).is_file():
            return f"a text for --corpus ({job.more['corpus'] or 'not given'})"
        if job.after is not None and not weights_file(self.out, job.after).exists():
            return f"the weights of {job.after}"
        if job.needs is not None and not (self.out / "aflite" / "0.npz").exists():
            return f"what {job.needs} keeps"
        return None

    def run(self) -> int:
        """Work until nothing is left or the minutes are over, what failed once more.

        Returns how many jobs failed or could not begin; jobs for which the minutes did not last are not counted.
        """
        context = multiprocessing.get_context("spawn")
        workers: list[Worker] = []
        left = [job for job in self.jobs if not self.done(job)]
        say(f"{len(left)} of {len(self.jobs)} jobs to do, {self.workers} at a time")
        over, again = self.began + 60 * self.given.minutes, True
        while True:
            left += self.crowded
            self.crowded.clear()
            if again and self.failed and not left and all(worker.job is None for worker in workers):
                again, left = False, [job for job in self.jobs if job.name in self.failed]  # once more
                self.failed.clear()
            workers = [worker for worker in workers if self._alive(worker, left)]
            if time.monotonic() < over:
                self._hand_out(workers, left, context)
            busy = [worker for worker in workers if worker.job is not None]
            if not busy and (not left or time.monotonic() >= over or not any(map(self.ready, left))):
                break
            if time.monotonic() > over + GRACE:
                say(f"stopped: {', '.join(worker.job.name for worker in busy if worker.job)}")
                break
            for pipe in wait([worker.pipe for worker in busy], timeout=1.0):
                self._hear(next(worker for worker in workers if worker.pipe is pipe))
        for worker in workers:
            worker.process.terminate()
        waiting = []
        if time.monotonic() < over:
            waiting = [job for job in left if not self.ready(job)]
        elif left:
            say(f"{len(left)} jobs are left for another time: the minutes are over")
        for job in waiting:
            say(f"{job.name}: not begun: waits for {self.waits_for(job)}")
        done_count = sum(map(self.done, self.jobs))
        say(f"{done_count} of {len(self.jobs)} jobs done, {len(self.failed)} failed, {len(waiting)} waiting")
        return len(self.failed) + len(waiting)

    def _hand_out(self, workers: list[Worker], left: list[Job], context: Any) -> None:
        """Give idle workers jobs of the lowest rank, the largest first; one that finds no room is waited for."""
        idle = [worker for worker in workers if worker.job is None]
        while left and (idle or len(workers) < self.workers):
            ready = [job for job in left if self.ready(job)]
            if not ready:
                return
            first = min(ready, key=lambda job: (job.rank, -job.room))
            taken = sum(worker.job.room for worker in workers if worker.job is not None)
            if taken and taken + first.room > self.given.room:
                return  # smaller ones that pass it by would keep it out until none of them is left
            if not idle:
                idle.append(self._hired(context))
                workers.append(idle[-1])
            alike = [job for job in ready if (job.rank, job.room) == (first.rank, first.room)]
            fitting = ((worker, job) for job in alike for worker in idle if job.network == worker.network)
            worker, job = next(fitting, (idle[0], alike[0]))
            idle.remove(worker)
            left.remove(job)
            worker.job, worker.network = job, job.network
            worker.pipe.send(job)

    def _hired(self, context: Any) -> Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self.given), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours)

    def _alive(self, worker: Worker, left: list[Job]) -> bool:
        """Whether a worker lives; the job of one that died is not tried again until the next time."""
        if worker.process.is_alive():
            return True
        if worker.job is not None and not worker.pipe.poll():
            self._lost(worker, worker.job)
        return worker.job is not None  # what it said before its end is still to be heard

    def _lost(self, worker: Worker, job: Job) -> None:
        self.failed.add(job.name)
        say(f"{job.name}: its process died (exit code {worker.process.exitcode})")
        worker.job = None

    def _hear(self, worker: Worker) -> None:
        job = worker.job
        assert job is not None
        try:
            record, why = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(GRACE)
            return self._lost(worker, job)
        worker.job = None
        if why:
            # What a broken run leaves on the device is not to be built on: another process comes.
            worker.process.terminate()
            worker.process.join(GRACE)
            if self.workers > 1 and any(said in why for said in FULL):
                self.workers -= 1
                self.crowded.append(job)
                return say(f"{job.name}: no room on the device; once more later, {self.workers} at a time from now on")
            self.failed.add(job.name)
            write_whole(self.out / "failed" / f"{job.name.replace('/', '__')}.txt", why.encode())
            say(f"{job.name}: failed: {why.strip().splitlines()[-1][:160]}")
            return
        record["workers"] = self.workers
        if self.given.steps is not None:
            record["try"] = f"at most {self.given.steps} steps"
        write_whole(self.place(job), json.dumps(record, ensure_ascii=False, default=str).encode())
        (self.out / "failed" / f"{job.name.replace('/', '__')}.txt").unlink(missing_ok=True)
        say(f"{time.monotonic() - self.began:6.0f} s  {job.name}: {summary(record)}")


def model_folder(spec: str) -> Path:
    """The folder that a SPEC names, its options left out."""
    return Path(spec.removeprefix("hf:").partition("?")[0])


def summary(record: Mapping[str, Any]) -> str:
    """A record in one line."""
    parts = [f"{record['seconds']:.0f} s"]
    for name, marks in list(record.get("tests", {}).items())[:3]:
        last = list(marks.values())[-1]
        right = next((row[3] for row in last["rows"] if row[2] == "accuracy"), None)
        parts.append(f"{name} {100 * (right or 0):.1f}")
    parts += [f"{key} {record[key]:.3f}" for key in ("guessed_after",) if key in record]
    parts += [f"AUC {record['authors']['auc']:.3f}"] if "authors" in record else []
    return ", ".join([*parts, *record.get("stepper", [])])


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def work(pipe: Connection, given: argparse.Namespace) -> None:
    """A worker's life: take a job, do it, hand back its record or why there is none."""
    import torch

    from runs.authors import filtered
    from runs.trainer import Workshop, headed, trained

    # Predictions need no more digits than training in bfloat16 has; a test set takes a quarter less time.
    torch.set_float32_matmul_precision("high")
    kinds = {"train": trained, "head": headed, "aflite": filtered}
    shop = Workshop(prepared(given.sets, given.data), Path(given.out), given.models, given.device)
    while True:
        try:
            job = pipe.recv()
        except EOFError:  # the queue is gone
            return
        try:
            record = kinds[job.kind](job, shop)
            shop.tidy()  # before the queue hears of it, which may then give another worker a job as large
            pipe.send((record, None))
        except Exception:
            pipe.send((None, traceback.format_exc()))
