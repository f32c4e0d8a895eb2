"""Trials on a Ray cluster: a task each, wherever there is room; what a trial wrote comes back to the search's folder.

Where the folder is shared, a trial that Ray moves to another machine goes on from its checkpoint; elsewhere it begins
again, with the same settings and seed.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

from winokit.errors import MissingExtra
from winokit.files import write_whole
from winokit.methods.aflite.ray_rows import started
from winokit.methods.training.learner import NAME as CHECKPOINT
from winokit.stages.search.local import Answers, Asking, Moving, TrialCrew
from winokit.stages.search.trials import FAILED, EndedTrial, SearchJob, SearchTask, attempt


def on_ray(job: SearchJob, ask: Asking, crew: TrialCrew, moved: Moving, address: str | None = None) -> Answers:
    """Run trials as tasks of Ray, as many at a time as there are workers."""
    if find_spec("ray") is None:
        raise MissingExtra("searching on Ray", "ray")
    ray = started(address)
    shared = ray.put(job)
    run = ray.remote(**resources(ray.cluster_resources(), crew))(_remote)
    running: dict[Any, SearchTask] = {}
    try:
        while True:
            while len(running) < crew.workers and (task := ask()) is not None:
                running[run.remote(shared, task, crew.threads_each)] = task
            if not running:
                return
            (ready,), _ = ray.wait(list(running), num_returns=1)
            task = running.pop(ready)
            yield task, _received(ray, ready, job, task)
    finally:
        for one in running:
            ray.cancel(one)


def resources(there: dict[str, float], crew: TrialCrew) -> dict[str, float]:
    """What a trial takes of the cluster: its threads, and its share of a GPU where there are GPUs.

    >>> resources({"CPU": 64.0, "GPU": 2.0}, TrialCrew(workers=8, threads=4))
    {'num_cpus': 4, 'num_gpus': 0.25}
    """
    gpus, cores = there.get("GPU", 0), int(there.get("CPU", 1))
    share = 1 / max(1, math.ceil(crew.workers / gpus)) if gpus else 0
    # More than a machine has would wait for ever.
    return {"num_cpus": max(1, min(crew.threads_each, cores)), "num_gpus": share}


def _remote(job: SearchJob, task: SearchTask, threads: int) -> tuple[EndedTrial, dict[str, bytes]]:
    """Run a trial where Ray has put us; its answer and its files."""
    import torch

    torch.set_num_threads(threads)
    ended = attempt(job, task)
    folder = job.out / task.folder
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and CHECKPOINT not in path.name]
    return ended, {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _received(ray: Any, ready: Any, job: SearchJob, task: SearchTask) -> EndedTrial:
    """The answer of a task; its files are put where a trial of this machine would have left them."""
    try:
        ended, files = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        return EndedTrial(FAILED, why=f"Ray lost it: {next(iter(str(error).splitlines()), type(error).__name__)}")
    for name, content in files.items():
        path = job.out / task.folder / name
        if not path.exists():
            write_whole(path, content)
    return ended  # type: ignore[no-any-return]
