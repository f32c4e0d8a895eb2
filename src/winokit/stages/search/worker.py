"""A worker process: tasks come in by standard input, answers go out by standard output (`local.py`)."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from queue import SimpleQueue
from typing import IO, Any

from winokit.errors import WinokitError
from winokit.stages.search.local import END, REFUSED, STEP
from winokit.stages.search.trials import SearchJob, SearchTask, attempt

OFTEN = 0.5
"""Seconds between two words about how far a trial has come."""


def main() -> None:
    """Run tasks until none comes; end at once where the one who gives them has gone."""
    answers = _answers()
    job, device, threads = pickle.load(sys.stdin.buffer)
    _set_threads(threads)
    tasks: SimpleQueue[SearchTask] = SimpleQueue()
    threading.Thread(target=_receive, args=(tasks,), daemon=True).start()
    while True:
        _say(answers, *_run(job, tasks.get(), device, answers))


def _answers() -> IO[bytes]:
    """Standard output for answers alone: whatever a library prints goes to the log."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _set_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _receive(tasks: SimpleQueue[SearchTask]) -> None:
    """Wait for tasks; the end of them is the end of this process, in the middle of a trial too."""
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))
    except EOFError:
        os._exit(1)


def _run(job: SearchJob, task: SearchTask, device: str | None, answers: IO[bytes]) -> tuple[str, Any]:
    last = time.monotonic()

    def moved(done: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last >= OFTEN:
            last = time.monotonic()
            _say(answers, STEP, done / max(1, of))

    try:
        return END, attempt(job, task, device, moved)
    except WinokitError as error:
        return REFUSED, str(error)


def _say(answers: IO[bytes], kind: str, what: Any) -> None:
    pickle.dump((kind, what), answers)
    answers.flush()


if __name__ == "__main__":
    main()
