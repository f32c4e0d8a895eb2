"""Trials on this machine: one after the other in this process, or side by side in processes of their own.

A worker is a Python of its own that reads tasks from its standard input. When this process dies, however it dies, the
inputs close and the workers end, so that no trial is run twice at a time. Ctrl-C reaches this process alone.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeAlias

from winokit.errors import WinokitError
from winokit.methods.training.learner import Progress
from winokit.stages.search.trials import FAILED, EndedTrial, SearchJob, SearchTask, attempt

Asking: TypeAlias = Callable[[], SearchTask | None]
"""Gives the next task, or None where none is left."""
Moving: TypeAlias = Callable[[SearchTask, float], None]
"""Told what share of a trial is done."""
Answers: TypeAlias = Iterator[tuple[SearchTask, EndedTrial]]
LOGS = "workers"
WORKER = ("-m", "winokit.stages.search.worker")
STEP, END, REFUSED, GONE = "step", "end", "refused", "gone"


@dataclass(frozen=True)
class TrialCrew:
    """How many run trials at a time, and on what."""

    workers: int = 1
    devices: tuple[str, ...] = ()
    """Devices in turn: with two devices and four workers each device has two."""
    threads: int | None = None
    """Of each worker on the CPU; None for an equal share of the cores."""

    def device(self, worker: int) -> str | None:
        """The device of a worker; None for the best there is."""
        return self.devices[worker % len(self.devices)] if self.devices else None

    @property
    def threads_each(self) -> int:
        """How many threads a worker has."""
        return self.threads or max(1, (os.cpu_count() or 1) // self.workers)


def one_by_one(job: SearchJob, ask: Asking, crew: TrialCrew, moved: Moving) -> Answers:
    """Run trials in this process."""
    with _threads(crew.threads):
        while (task := ask()) is not None:
            yield task, attempt(job, task, crew.device(0), _shares(task, moved))


def _shares(task: SearchTask, moved: Moving) -> Progress:
    return lambda done, of: moved(task, done / max(1, of))


@contextmanager
def _threads(wanted: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(wanted or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def side_by_side(job: SearchJob, ask: Asking, crew: TrialCrew, moved: Moving) -> Answers:
    """Run trials in worker processes; one that dies fails its trial and is replaced."""
    said: SimpleQueue[tuple[_TrialWorker, str, Any]] = SimpleQueue()
    busy: dict[_TrialWorker, SearchTask] = {}
    with ExitStack() as open_workers:

        def give(place: int, worker: _TrialWorker | None = None) -> None:
            task = ask()
            if task is not None:
                if worker is None:
                    worker = open_workers.enter_context(_TrialWorker(place, job, crew, said))
                worker.run(task)
                busy[worker] = task

        for place in range(crew.workers):
            give(place)
        while busy:
            worker, kind, what = said.get()
            if worker not in busy:  # its last word was that it has gone, and that is known
                continue
            task = busy[worker]
            if kind == STEP:
                moved(task, what)
                continue
            if kind == REFUSED:
                raise WinokitError(what)
            del busy[worker]
            yield task, what
            give(worker.place, None if kind == GONE else worker)


class _TrialWorker:
    """A process that runs one trial after the other, and a thread that listens to it."""

    def __init__(
        self, place: int, job: SearchJob, crew: TrialCrew, said: SimpleQueue[tuple[_TrialWorker, str, Any]]
    ) -> None:
        self.place, self._said = place, said
        self.log = job.out / LOGS / f"{place}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._send((job, crew.device(place), crew.threads_each))
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def run(self, task: SearchTask) -> None:
        """Give it a task."""
        self._send(task)

    def _send(self, what: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has died, and the listener says so
            pickle.dump(what, self._process.stdin)
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                kind, what = pickle.load(self._process.stdout)
                self._said.put((self, kind, what))
        except (EOFError, pickle.UnpicklingError):
            code = self._process.wait()
            why = f"its worker ended with code {code} ({self.log} has what it said)"
            self._said.put((self, GONE, EndedTrial(FAILED, why=why)))

    def __enter__(self) -> _TrialWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._ear.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # what was still to be sent has no reader any more
                    pipe.close()
