"""What a search found: the spread of every formalization, the trial that is chosen, the ensemble, and luck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from winokit.methods.metrics import chance, credit, majority_class
from winokit.methods.metrics.arrays import FloatArray
from winokit.methods.scoring import Prediction
from winokit.methods.training.data import TrainingData
from winokit.methods.training.exam import rows
from winokit.methods.training.finetune import DEV, PREDICTIONS, file_name
from winokit.problem import Dataset
from winokit.results import Metric
from winokit.stages.search.ensemble import TOP, ranked, read_predictions, voted
from winokit.stages.search.luck import SearchLuck, best_of, luck
from winokit.stages.search.space import SearchSpace
from winokit.stages.search.spread import Spread, spread
from winokit.stages.search.trials import DIVERGED, DONE, FAILED, Trial

CHOSEN, ENSEMBLE, ANY = "chosen", "ensemble", "any"
NOTED = "chosen on this set"
TRIES = (1, 2, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True)
class SearchFinding:
    """What was found under one formalization."""

    formalization: str
    trials: tuple[Trial, ...]
    spread: Spread | None = None
    """Of the accuracies on the dev set of all trials that are done; None where none is."""
    luck: SearchLuck | None = None
    ensemble: tuple[Trial, ...] = ()
    """The best trials on the dev set; the first of them is the one that is chosen."""
    metrics: tuple[Metric, ...] = ()
    voted: dict[str, list[Prediction]] = field(default_factory=dict)
    """The ensemble's predictions by set."""

    @property
    def chosen(self) -> Trial | None:
        """The best trial on the dev set."""
        return self.ensemble[0] if self.ensemble else None

    @property
    def scores(self) -> list[float]:
        """The accuracies of the trials that are done."""
        return [trial.ended.accuracy for trial in self.trials if trial.ended.accuracy is not None]

    def count(self, state: str) -> int:
        """How many trials ended so."""
        return sum(trial.ended.state == state for trial in self.trials)

    @property
    def degenerate(self) -> int:
        """How many trials show a sign of having learned nothing, diverged ones among them."""
        return sum(trial.degenerate for trial in self.trials)

    def row(self, protocol: str, subset: str, metric: str) -> Metric | None:
        """A row of `metrics`."""
        named = protocol, subset, metric
        return next((row for row in self.metrics if (row.protocol, row.subset, row.metric) == named), None)

    def score(self, protocol: str, subset: str) -> Metric | None:
        """Accuracy of the chosen trial or the ensemble; undecided problems count as guesses, where there are any."""
        return self.row(protocol, subset, "expected_accuracy") or self.row(protocol, subset, "accuracy")


@dataclass(frozen=True)
class SearchFindings:
    """What a search found."""

    folder: Path
    run: dict[str, Any]
    space: SearchSpace
    dev: Dataset
    tests: dict[str, Dataset]
    """Test sets by the names their rows have."""
    found: tuple[SearchFinding, ...]
    chance: float
    majority: float
    """The accuracy of always giving the commonest answer."""
    human: float | None
    """The accuracy of people, where it is known."""
    overall: SearchLuck
    """The best of all trials, whatever their formalization."""
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> SearchFinding:
        """The formalization of the best trial on the dev set; of equals, the first."""
        return max((one for one in self.found if one.ensemble), key=lambda one: one.scores and max(one.scores))

    @property
    def answered(self) -> dict[str, Dataset]:
        """The test sets whose answers are known."""
        known = {name: any(problem.answer is not None for problem in test) for name, test in self.tests.items()}
        return {name: test for name, test in self.tests.items() if known[name]}

    @property
    def metrics(self) -> list[Metric]:
        """All rows; those of all formalizations together last, where there are several."""
        made = [row for finding in self.found for row in finding.metrics]
        if len(self.found) > 1:
            row = partial(_row, self.dev.card.name, self.run["model"], ANY)
            made += _lucky_rows(self.overall, self.chance, row)
        return made

    @property
    def trials(self) -> list[Trial]:
        """All trials, formalization by formalization."""
        return [trial for finding in self.found for trial in finding.trials]


class SearchSets:
    """The sets a search is read on: the dev set, which chooses, and test sets, which do not."""

    def __init__(self, data: TrainingData, out: Path) -> None:
        assert data.dev is not None
        self.out, self.dev = out, data.dev
        self.tests = {file_name(test, at, data.tests): test for at, test in enumerate(data.tests)}
        self.groups = list(self.dev.clusters)
        self.texts = Counter((p.before, p.after, p.candidates, p.query) for p in self.dev)
        self.sizes = [len(problem.candidates) for problem in self.dev]
        self.answers = [problem.answer or 0 for problem in self.dev]
        self.chance, self.majority = chance(self.sizes), majority_class(self.answers)
        asks_yes_or_no = all(problem.query is not None for problem in self.dev)
        self.floor = self.majority if asks_yes_or_no else self.chance

    def predictions(self, trial: Trial, name: str) -> list[Prediction]:
        """What a trial predicted of a set."""
        dataset = self.dev if name == DEV else self.tests[name]
        return read_predictions(self.out / trial.folder / PREDICTIONS / f"{name}.jsonl", dataset)

    def credits(self, trials: Sequence[Trial]) -> FloatArray:
        """A row a trial and a column a problem of the dev set."""
        chosen = ([one.prediction for one in self.predictions(trial, DEV)] for trial in trials)
        return np.array([credit(choices, self.answers, self.sizes) for choices in chosen])


def overall_luck(found: Sequence[SearchFinding], sets: SearchSets, seed: int) -> SearchLuck:
    """What the best of all trials owes to luck."""
    done = [trial for one in found for trial in one.trials if trial.ended.state == DONE]
    return luck(sets.credits(done), sets.groups, sets.floor, list(sets.texts.values()), seed=seed)


def finding(formalization: str, trials: Sequence[Trial], sets: SearchSets, model: str, seed: int) -> SearchFinding:
    """What the trials of a formalization come to."""
    best = ranked(trials)
    if not best:
        counted = tuple(_counts(trials, partial(_row, sets.dev.card.name, model, formalization)))
        return SearchFinding(formalization, tuple(trials), metrics=counted)
    found = spread([trial.ended.accuracy or 0.0 for trial in best])
    in_order = sorted(best, key=lambda trial: trial.number)
    lucky = luck(sets.credits(in_order), sets.groups, sets.floor, list(sets.texts.values()), seed=seed)
    top = best[:TOP]
    named = f"ensemble of {len(top)} of {len(best)} trials"
    metrics = list(_rows(trials, best, found, lucky, sets, partial(_row, sets.dev.card.name, model, formalization)))
    votes = {}
    for name, dataset in {DEV: sets.dev, **sets.tests}.items():
        single = sets.predictions(best[0], name)
        votes[name] = voted(dataset, [sets.predictions(trial, name) for trial in top], named)
        for protocol, predictions in ((CHOSEN, single), (ENSEMBLE, votes[name])):
            note = NOTED if name == DEV else None
            made = rows(dataset, predictions, name)
            metrics += [replace(row, model=model, protocol=protocol, note=note) for row in made]
    return SearchFinding(formalization, tuple(trials), found, lucky, tuple(top), tuple(metrics), votes)


def _rows(
    trials: Sequence[Trial], best: Sequence[Trial], found: Spread, lucky: SearchLuck, sets: SearchSets, row: Any
) -> Iterator[Metric]:
    """The rows of a spread and of luck."""
    yield from _counts(trials, row)
    for name in ("median", "lower_quartile", "upper_quartile", "best", "worst"):
        yield row("search", f"{name}_accuracy", getattr(found, name), found.n, chance=sets.chance)
    for name in ("std", "excess_kurtosis"):
        if (value := getattr(found, name)) is not None:
            yield row("search", name, value, found.n)
    whole = [trial.ended.group_accuracy for trial in best if trial.ended.group_accuracy is not None]
    if whole:
        yield row("search", "median_group_accuracy", float(np.median(whole)), len(whole))
    yield row("search", "majority_class", sets.majority, len(sets.dev))
    yield from _lucky_rows(lucky, sets.chance, row)
    scores = [trial.ended.accuracy or 0.0 for trial in best]
    for tries in [*(tries for tries in TRIES if tries < found.n), found.n]:
        yield row("luck", f"best_of_{tries}_accuracy", best_of(scores, tries), found.n, chance=sets.chance)


def _lucky_rows(lucky: SearchLuck, guess: float, row: Any) -> Iterator[Metric]:
    n = lucky.trials
    yield row("luck", "best_accuracy", lucky.best, n, chance=guess)
    yield row("luck", "best_of_guessers_accuracy", lucky.guessing, n, chance=guess)
    yield row("luck", "p_best_of_guessers", lucky.p_guessing, n)
    yield row("luck", "best_of_equals_accuracy", lucky.equal, n, chance=guess)
    yield row("luck", "p_best_of_equals", lucky.p_equal, n)
    if lucky.corrected is not None:
        ends = {"low": lucky.low, "high": lucky.high, "chance": guess}
        yield row("luck", "corrected_accuracy", lucky.corrected, lucky.problems, **ends)


def _counts(trials: Sequence[Trial], row: Any) -> Iterator[Metric]:
    states = [trial.ended.state for trial in trials]
    yield row("search", "n_trials", states.count(DONE), len(trials))
    yield row("search", "n_degenerate", sum(trial.degenerate for trial in trials), len(trials))
    yield row("search", "n_diverged", states.count(DIVERGED), len(trials))
    yield row("search", "n_failed", states.count(FAILED), len(trials))


def _row(
    dataset: str, model: str, formalization: str, protocol: str, metric: str, value: float, n: int, **more: Any
) -> Metric:
    return Metric(dataset, model, formalization, formalization, protocol, DEV, metric, value, n, **more)
