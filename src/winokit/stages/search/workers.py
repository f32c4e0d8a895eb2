"""Workers that run trials: this process, several processes, or a Ray cluster.

A worker is a Python process that reads tasks from its standard input. When the main process dies, for whatever reason,
the inputs close and the workers end, so that no trial is run twice at a time. Ctrl-C reaches the main process alone.
Run as a module (`python -m`), this file is such a worker.

On Ray each trial is a task on any machine, and its files are copied to the search's folder. If that folder is shared, a
trial that Ray moves to another machine continues from its checkpoint. Otherwise it begins again, with the same settings
and seed.
"""

import math
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeAlias

import torch

from winokit.errors import WinokitError
from winokit.files import write_whole
from winokit.methods.cluster import started
from winokit.methods.training.learner import NAME as CHECKPOINT
from winokit.models.hf_settings import usable_device
from winokit.stages.search.trials import FAILED, EndedTrial, SearchJob, SearchTask, attempt

Asking: TypeAlias = Callable[[], SearchTask | None]
"""A function that returns the next task, or None if there is none."""
Moving: TypeAlias = Callable[[SearchTask, float], None]
"""A function that is called with a trial and its finished share."""
Answers: TypeAlias = Iterator[tuple[SearchTask, EndedTrial]]
Engine: TypeAlias = "Callable[[SearchJob, Asking, TrialCrew, Moving], Answers]"
RunTrials: TypeAlias = Callable[[SearchJob, Asking, Moving], Answers]
"""A function that trains all tasks, and yields each with its outcome."""
WORKER = ("-m", "winokit.stages.search.workers")
OFTEN = 0.5
"""Seconds between two messages of a worker on the finished share of a trial."""
STEP = "step"
END = "end"
REFUSED = "refused"
GONE = "gone"


@dataclass(frozen=True)
class TrialCrew:
    """Number of trials at a time, with their devices and threads."""

    workers: int = 1
    devices: tuple[str, ...] = ()
    """Devices that workers get in turn: with two devices and four workers, each device has two."""
    threads: int | None = None
    """CPU threads of each worker; None for an equal share of the cores."""

    def device(self, worker: int) -> str | None:
        """Return the device of a worker, or None for the best one.

        `worker` is its number, from 0.
        """
        if not self.devices:
            return None
        return self.devices[worker % len(self.devices)]

    @property
    def threads_each(self) -> int:
        """Number of CPU threads per worker."""
        core_count = os.cpu_count() or 1
        return self.threads or max(1, core_count // self.workers)


def engine_of(name: str, address: str | None, crew: TrialCrew) -> RunTrials:
    """Return the function that trains trials with a crew.

    `name` is `local` or `ray`, and `address` that of the Ray cluster. Raises BadInput if this machine does not have one
    of the crew's devices.
    """
    engine: Engine = one_by_one if crew.workers == 1 else side_by_side
    if name == "ray":
        engine = partial(on_ray, address=address)
    else:
        for device in crew.devices:
            usable_device(device)
    return lambda job, ask, moved: engine(job, ask, crew, moved)


def one_by_one(job: SearchJob, ask: Asking, crew: TrialCrew, moved: Moving) -> Answers:
    """Run trials in this process, and yield their outcomes.

    They are on the crew's first device. The number of torch's threads is changed meanwhile.
    """
    previous_threads = torch.get_num_threads()
    torch.set_num_threads(crew.threads or previous_threads)
    try:
        while (task := ask()) is not None:
            report = partial(_report_share, partial(moved, task))
            yield task, attempt(job, task, crew.device(0), report)
    finally:
        torch.set_num_threads(previous_threads)


def _report_share(moved: Callable[[float], None], done: float, of: float) -> None:
    """Call `moved` with the finished share of a trial."""
    moved(done / max(1, of))


def side_by_side(job: SearchJob, ask: Asking, crew: TrialCrew, moved: Moving) -> Answers:
    """Run trials in worker processes, and yield their outcomes.

    If a worker dies, its trial fails and another worker starts. Raises WinokitError for an error that would stop every
    trial.
    """
    messages: SimpleQueue[tuple[_TrialWorker, str, Any]] = SimpleQueue()
    busy: dict[_TrialWorker, SearchTask] = {}
    with ExitStack() as open_workers:

        def give(place: int, worker: _TrialWorker | None = None) -> None:
            """Give the next task to a worker, or to a new one at this place."""
            task = ask()
            if task is not None:
                if worker is None:
                    worker = open_workers.enter_context(_TrialWorker(place, job, crew, messages))
                worker.send(task)
                busy[worker] = task

        for place in range(crew.workers):
            give(place)
        while busy:
            worker, kind, content = messages.get()
            if worker not in busy:  # it has died, and its trial has failed already
                continue
            task = busy[worker]
            if kind == STEP:
                moved(task, content)
                continue
            if kind == REFUSED:
                raise WinokitError(content)
            del busy[worker]
            yield task, content
            give(worker.place, None if kind == GONE else worker)


class _TrialWorker:
    """A process that runs trials, and a thread that receives its messages.

    `place` is the worker's number, from 0. The thread puts each message into `messages`, as worker, kind and content.
    """

    def __init__(
        self, place: int, job: SearchJob, crew: TrialCrew, messages: "SimpleQueue[tuple[_TrialWorker, str, Any]]"
    ) -> None:
        self.place = place
        self._messages = messages
        self.log = job.out / "workers" / f"{place}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.send((job, crew.device(place), crew.threads_each))
        self._ear = threading.Thread(target=self._forward_messages, daemon=True)
        self._ear.start()

    def send(self, content: Any) -> None:
        """Send a task to the process, or at first the settings of all tasks."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has died, and the thread reports that
            pickle.dump(content, self._process.stdin)
            self._process.stdin.flush()

    def _forward_messages(self) -> None:
        """Pass on the process's messages, and its failure at the end."""
        assert self._process.stdout is not None
        try:
            while True:
                kind, content = pickle.load(self._process.stdout)
                self._messages.put((self, kind, content))
        except (EOFError, pickle.UnpicklingError):
            code = self._process.wait()
            reason = f"its worker ended with code {code} ({self.log} has its output)"
            failure = EndedTrial(FAILED, why=reason)
            self._messages.put((self, GONE, failure))

    def __enter__(self) -> "_TrialWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._ear.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # data that was not sent yet has no reader any more
                    pipe.close()


def work() -> None:
    """Run the tasks that arrive on standard input.

    Messages go to standard output. Both are pickled objects. The process ends when standard input is closed, even in
    the middle of a trial.
    """
    # Standard output is for messages alone: text that a library prints goes to the log.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    job, device, threads = pickle.load(sys.stdin.buffer)
    torch.set_num_threads(threads)
    tasks: SimpleQueue[SearchTask] = SimpleQueue()
    last = time.monotonic()

    def answer(kind: str, content: Any) -> None:
        """Send a message to the main process."""
        pickle.dump((kind, content), answers)
        answers.flush()

    def report(done: float, of: float) -> None:
        """Send the finished share of a trial, every `OFTEN` seconds at most."""
        nonlocal last
        if time.monotonic() - last >= OFTEN:
            last = time.monotonic()
            answer(STEP, done / max(1, of))

    def receive() -> None:
        """Read tasks. At the end of the input, end this process."""
        try:
            while True:
                tasks.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(1)

    threading.Thread(target=receive, daemon=True).start()
    while True:
        task = tasks.get()
        try:
            answer(END, attempt(job, task, device, report))
        except WinokitError as error:
            answer(REFUSED, str(error))


def on_ray(job: SearchJob, ask: Asking, crew: TrialCrew, moved: Moving, address: str | None = None) -> Answers:
    """Run trials as tasks of Ray, and yield their outcomes.

    As many run at a time as the crew has workers.
    """
    ray = started(address, "searching on Ray")
    shared = ray.put(job)
    run = ray.remote(**resources(ray.cluster_resources(), crew))(_run_remotely)
    running: dict[Any, SearchTask] = {}
    try:
        while True:
            while len(running) < crew.workers and (task := ask()) is not None:
                running[run.remote(shared, task, crew.threads_each)] = task
            if not running:
                return
            (ready,), _ = ray.wait(list(running), num_returns=1)
            task = running.pop(ready)
            yield task, _receive_result(ray, ready, job, task)
    finally:
        for reference in running:
            ray.cancel(reference)


def resources(there: dict[str, float], crew: TrialCrew) -> dict[str, float]:
    """Return the resources that Ray reserves for a trial: threads, and a share of a GPU.

    `there` has the resources of the cluster.

    >>> resources({"CPU": 64.0, "GPU": 2.0}, TrialCrew(workers=8, threads=4))
    {'num_cpus': 4, 'num_gpus': 0.25}
    """
    gpus = there.get("GPU", 0)
    cores = int(there.get("CPU", 1))
    gpu_share = 0.0
    if gpus:
        workers_per_gpu = math.ceil(crew.workers / gpus)
        gpu_share = 1 / max(1, workers_per_gpu)
    # Ray would wait for ever for more cores than there are.
    thread_count = max(1, min(crew.threads_each, cores))
    return {"num_cpus": thread_count, "num_gpus": gpu_share}


def _run_remotely(job: SearchJob, task: SearchTask, threads: int) -> tuple[EndedTrial, dict[str, bytes]]:
    """Run a trial on a Ray worker, and return outcome and files.

    Files are contents by path, relative to the trial's folder. Checkpoints are left out.
    """
    torch.set_num_threads(threads)
    ended = attempt(job, task)
    folder = job.out / task.folder
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and CHECKPOINT not in path.name]
    return ended, {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _receive_result(ray: Any, ready: Any, job: SearchJob, task: SearchTask) -> EndedTrial:
    """Return a task's outcome, and write its files to the search's folder.

    `ready` is Ray's reference to the task. Files that exist already are not overwritten. A task that Ray lost has
    failed. An error that the trial raised is raised here.
    """
    try:
        ended, files = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        return EndedTrial(FAILED, why=f"Ray lost it: {first_line}")
    for name, content in files.items():
        path = job.out / task.folder / name
        if not path.exists():
            write_whole(path, content)
    return ended  # type: ignore[no-any-return]


if __name__ == "__main__":
    work()
