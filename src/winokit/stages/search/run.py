"""Search: data, a model and a space in; many fine-tuning runs, and what their scores are worth, out.

    study.db                                  every trial, its settings and how it ended (optuna reads it)
    trials/FORMALIZATION/NUMBER/              each run's results, curve and predictions; weights are not kept
    ensembles/FORMALIZATION/                  predictions of the five best as one
    results.json  trials.csv                  flat rows; one line a trial

The same call goes on where it was killed, and asking for more trials adds to those that are done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import winokit
from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.methods.formalizations import FORMALIZATIONS, Formalization
from winokit.methods.training.data import TrainingData
from winokit.methods.training.settings import TrainSettings
from winokit.models.hf import HfSettings as ModelSettings
from winokit.models.hf import fingerprint
from winokit.models.registry import Spec
from winokit.stages.search.findings import SearchFindings, SearchSets, finding, overall_luck
from winokit.stages.search.local import Answers, Asking, TrialCrew, one_by_one, side_by_side
from winokit.stages.search.save import save
from winokit.stages.search.space import SearchSpace
from winokit.stages.search.trials import FAILED, SearchJob, SearchTask

ENGINES = ("local", "ray")
TRIALS = 60
"""As many as Liu et al. made of each formalization."""
PATIENCE = 20
"""Evaluations without a better one after which Liu et al.'s code stops."""
Progress = Callable[[float, int], None]
"""Told how many trials are done, the current ones in part, and how many there are."""


def search(
    data: TrainingData,
    out: Path,
    model: str = "builtin",
    space: SearchSpace | None = None,
    formalizations: Sequence[str] = (),
    trials: int | None = None,
    *,
    settings: TrainSettings | None = None,
    seed: int = 0,
    workers: int = 1,
    devices: Sequence[str] = (),
    threads: int | None = None,
    engine: str = "local",
    address: str | None = None,
    human: float | None = None,
    progress: Progress | None = None,
) -> SearchFindings:
    """Fine-tune a model many times under each formalization, and report as Liu et al. (2020) do.

    Parameters
    ----------
    data
        With a dev set, which alone decides what is best; test sets are looked at last.
    space
        What trials are drawn from; the paper's by default.
    formalizations
        By name; all six by default.
    trials
        Of each formalization; 60 by default, and once through a grid.
    settings
        Whatever is not drawn. By default a run stops after 20 evaluations without a better one.
    workers
        How many trials run at a time, each in a process of its own; with one, in this process.
    devices
        Given to workers in turn; several workers may share a GPU.
    threads
        Of each worker on the CPU. The same number gives the same scores to the bit, whatever the workers.
    engine
        `local`, or `ray` for a cluster at `address`.
    human
        Per cent of the dev set that people get right, where its card does not say.
    """
    space, settings = space or SearchSpace(), settings or TrainSettings(patience=PATIENCE)
    if find_spec("optuna") is None:
        raise MissingExtra("winokit search", "train")
    from winokit.stages.search.study import TrialBook

    names = list(dict.fromkeys(Formalization.parse(name).spec for name in formalizations or list(FORMALIZATIONS)))
    trials = _positive("trials", trials or (space.size if space.sampler == "grid" else None) or TRIALS)
    if human is not None and not 1 < human <= 100:
        raise BadInput(f"human: per cent expected, such as 94.0, found {human}")
    crew = TrialCrew(_positive("workers", workers), tuple(devices), threads)
    run_trials = _engine(engine, address)
    checked = data.checked()
    if checked.dev is None:
        raise BadInput(
            "a search needs a dev set to choose on: --dev DATA, or --holdout N for a part of the training set"
        )
    job = SearchJob(data, out, model, settings)
    identity = _identity(checked.in_arm(), job, space, seed)
    with TrialBook(out, identity, space, seed) as book:
        book.plan(names, trials)
        bar = _Bar(progress, len(names) * trials, book)
        for task, ended in run_trials(job, book.ask, crew, bar.moved):
            book.tell(task, ended)
            bar.ended(task)
        ended_trials = {name: book.trials(name, trials) for name in names}
    run = {"winokit": winokit.__version__, **identity, "formalizations": names, "trials": trials}
    run["dropped"] = checked.dropped
    found = _findings(run, checked.in_arm(), out, space, ended_trials)
    if human is not None:
        found = replace(found, human=human / 100)
    save(found)
    return found


def _findings(
    run: dict[str, Any], data: TrainingData, out: Path, space: SearchSpace, ended: dict[str, Any]
) -> SearchFindings:
    sets = SearchSets(data, out)
    found = tuple(finding(name, some, sets, run["model"], run["seed"]) for name, some in ended.items())
    failed = [trial for some in ended.values() for trial in some if trial.ended.state == FAILED]
    if not any(one.ensemble for one in found):
        why = next((trial.ended.why for some in ended.values() for trial in some if trial.ended.why), "")
        raise BadInput(f"not one trial came to its end (the first: {why})")
    notes = list(dict.fromkeys(note for one in found for trial in one.trials for note in trial.ended.notes))
    if failed:
        notes.append(
            f"{len(failed):,} trials failed; the same command tries them again (the first, {failed[0].formalization} "
            f"{failed[0].number}: {failed[0].ended.why})"
        )
    return SearchFindings(
        folder=out,
        run=run,
        space=space,
        dev=sets.dev,
        tests=sets.tests,
        found=found,
        chance=sets.chance,
        majority=sets.majority,
        human=sets.dev.card.human_accuracy,
        overall=overall_luck(found, sets, run["seed"]),
        notes=tuple(notes),
    )


def _engine(name: str, address: str | None) -> Callable[[SearchJob, Asking, TrialCrew, Any], Answers]:
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)
    if name == "ray":
        from winokit.stages.search.on_ray import on_ray

        return lambda job, ask, crew, moved: on_ray(job, ask, crew, moved, address)
    if address is not None:
        raise BadInput(f"address {address}: of a Ray cluster, which only the engine 'ray' runs on")
    return lambda job, ask, crew, moved: (one_by_one if crew.workers == 1 else side_by_side)(job, ask, crew, moved)


class _Bar:
    """How far a search has come, trials that are under way counted in part."""

    def __init__(self, progress: Progress | None, total: int, book: Any) -> None:
        self._progress, self._total, self._book = progress, total, book
        self._under_way: dict[tuple[str, int], float] = {}
        self._tell()

    def moved(self, task: SearchTask, share: float) -> None:
        """A trial has done a share of its steps."""
        self._under_way[task.formalization, task.number] = share
        self._tell()

    def ended(self, task: SearchTask) -> None:
        """A trial has ended."""
        self._under_way.pop((task.formalization, task.number), None)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._total - self._book.left + sum(self._under_way.values()), self._total)


def _identity(data: TrainingData, job: SearchJob, space: SearchSpace, seed: int) -> dict[str, Any]:
    """What decides the trials, flat, so that a difference has a name."""
    spec = Spec.parse(job.model)
    common = job.settings.identity()
    for name, _ in [*space.parts, ("seed", None), ("formalization", None)]:
        del common[name]
    assert data.dev is not None
    return {
        "model": spec.prefix + (f":{spec.place}" if spec.place else ""),
        "model_content": fingerprint(ModelSettings.of(spec)) if spec.prefix == "hf" else None,
        "train": data.train.card.name,
        "train_content": data.train.content_hash,
        "dev": data.dev.card.name,
        "dev_content": data.dev.content_hash,
        "tests": [test.card.name for test in data.tests],
        "tests_content": [test.content_hash for test in data.tests],
        "trained_on": data.arm.trained_on,
        "tested_on": data.arm.tested_on,
        **space.told(),
        **common,
        "seed": seed,
    }


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise BadInput(f"{name}: 1 or more expected, found {value}")
    return value
