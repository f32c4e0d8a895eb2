"""What several trained models come to, with the datasets at hand: differences between arms, and gender gaps.

Arms are compared over the seeds that both have, problem by problem: each arm's mean over these seeds, an undecided
problem counting one half, with an interval over what hangs together, which is about these very runs. A wider one, of
which the runs are a sample too, and what every single seed gives stand beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from runs.sets import WORD_SIZES
from runs.store import Record, Store, chosen
from runs.tables import row
from runs.trained import arm_of, chosen_step, last, seed_of
from winokit.results import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runs.sets import Sets
    from winokit.problem import Dataset
    from winokit.units import Units

DIFFERENCES = {
    # by the name of the difference, the first arm and the one that is taken from it
    "xl - dpr": ("transfer/xl", "transfer/dpr"),
    "dpr>xl - xl": ("transfer/dpr>xl", "transfer/xl"),
    "xl - debiased": ("transfer/xl", "transfer/debiased"),
    "true-false - xl": ("true-false", "transfer/xl"),
    "mc-mlm - xl": ("square-one/mc-mlm", "transfer/xl"),
    "local-context, kept - random": ("local-context/kept", "local-context/random"),
    "taught, kept - random": ("taught/kept", "taught/random"),
}
WITH_RUNS = "with_runs"
"""The metric of a difference whose interval is over problems and runs."""
GENDERED, WORDS_TEST = "winogender", "words-test"
BOTH = "both"
"""Pronouns of either gender: every text is on both sides of that gap, so that how hard a text is drops out of it."""
Step: TypeAlias = Callable[[Record, str], int]
Place: TypeAlias = tuple[str, str, str, str]
"""Of a row: dataset, protocol, subset, metric."""
Credits: TypeAlias = "NDArray[Any]"
"""What each problem of a set earned: 1, 0, or a share where it is undecided."""


def credits_of(run: Record, name: str, data: Dataset, step: Step = last) -> Credits:
    """What each problem of a set earned in a run."""
    from winokit.methods.metrics.accuracy import credit

    answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
    return np.array(credit(chosen(run.predictions[f"{name}@{step(run, name)}"]), answers, sizes))


def difference(
    place: Place, ours: Sequence[Credits], theirs: Sequence[Credits], units: Units, n: int
) -> tuple[Metric, list[float]]:
    """By how much our runs are ahead in the mean, with an interval over problems; and by how much each of them is."""
    from winokit.methods.metrics.compare import paired_interval

    first, second = np.mean(ours, axis=0), np.mean(theirs, axis=0)
    ends = paired_interval(first, second, units)
    by_run = [float((one - other).mean()) for one, other in zip(ours, theirs, strict=True)]
    return row(*place, float((first - second).mean()), n, low=ends.low, high=ends.high), by_run


def with_runs(whole: Metric, by_run: Sequence[float]) -> Iterator[Metric]:
    """The interval of a difference for other runs on other problems: what runs differ by added to an interval.

    Student's interval of the runs' mean and the one over problems are put together by Zou and Donner's rule (2008), as
    for a sum of independent parts. A little too wide: what a run makes of single problems is in both. Nothing for one.
    """
    if len(by_run) > 1:
        from scipy import special

        half = float(special.stdtrit(len(by_run) - 1, 0.975)) * stdev(by_run) / math.sqrt(len(by_run))
        low, high = (math.hypot(whole.value - (end or 0.0), half) for end in (whole.low, whole.high))
        low, high = max(whole.value - low, -1.0), min(whole.value + high, 1.0)
        yield replace(whole, metric=WITH_RUNS, n=len(by_run), low=low, high=high)


def difference_rows(whole: Metric, by_seed: Sequence[float]) -> Iterator[Metric]:
    """A difference; that of every seed, from the lowest to the highest; and the interval for other seeds too."""
    yield whole
    yield replace(whole, metric="by_seed", n=len(by_seed), low=min(by_seed), high=max(by_seed))
    yield from with_runs(whole, by_seed)


def _with_common_seeds(first: Iterable[Record], second: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """The runs of two arms whose seeds both have, seed by seed."""
    others = {seed_of(run): run for run in second}
    ours = [run for run in first if seed_of(run) in others]
    return ours, [others[seed_of(run)] for run in ours]


def arm_differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Between arms, on every set that both were tested on, after the last step and after the step that is chosen."""
    held = Store(Path("nowhere"))
    about = sets.about()
    held.records = {"sets": Record("sets", {}, texts={key: json.dumps(about[key]) for key in ("rules", "empty")})}

    def by_rule(run: Record, test: str) -> int:
        step = chosen_step(run, test, held)
        return last(run, test) if step is None else step

    for name, arms in DIFFERENCES.items():
        ours, theirs = _with_common_seeds(*([run for run in records if arm_of(run) == arm] for arm in arms))
        if not ours:
            continue
        hows: dict[str, Step] = {"equal steps": last}
        if all(arm.startswith("transfer/") for arm in arms):
            hows["chosen"] = by_rule
        empty = [sets.empty.get(arm.rpartition("/")[2], {}) for arm in arms]
        rows: list[Metric] = []
        for test in dict.fromkeys(place.split("@")[0] for place in ours[0].predictions):
            if any(last(run, test) < 0 for run in (*ours, *theirs)) or any(test in why for why in empty):
                continue
            data = sets.data[test]
            for how, step in hows.items():
                first, second = ([credits_of(run, test, data, step) for run in runs] for runs in (ours, theirs))
                place = (test, "difference", how, "accuracy")
                rows += difference_rows(*difference(place, first, second, data.units, len(data)))
        yield Record(f"difference/{name}", {"seeds": [seed_of(run) for run in ours]}, tuple(rows))


def genders(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Winogender by arm, mean over seeds: accuracy by the pronoun's gender and by gotcha, and the gaps.

    One count for all of them: an undecided problem is worth one half in the whole, in a cell and in a gap, so that a
    gap is the difference of its two cells.
    """
    by_arm: dict[str, list[Record]] = {}
    for run in records:
        if last(run, GENDERED) >= 0:
            by_arm.setdefault(arm_of(run), []).append(run)
    for arm, runs in by_arm.items():
        yield Record(f"gender/{arm}", {"seeds": [seed_of(run) for run in runs]}, tuple(gender_rows(runs, sets)))


def gender_rows(runs: Sequence[Record], sets: Sets) -> Iterator[Metric]:
    """The rows of one arm; a gap's `by_seed` is what single seeds have, from the lowest to the highest."""
    from winokit.methods.metrics.gender import GENDERS
    from winokit.methods.metrics.intervals import gap, share
    from winokit.methods.metrics.judge import is_gotcha

    data = sets.data[GENDERED]
    earned = [credits_of(run, GENDERED, data) for run in runs]
    mean = np.mean(earned, axis=0)
    silent = [run.predictions[f"{GENDERED}@{last(run, GENDERED)}"].count("-") / len(data) for run in runs]
    yield row(GENDERED, "gender", "all", "undecided", fmean(silent), len(data), low=min(silent), high=max(silent))
    gender_of = np.array([problem.labels.get("gender") for problem in data])
    tricky, plain = (np.array([is_gotcha(problem) is flag for problem in data]) for flag in (True, False))
    parts = {"all": np.ones(len(data), bool)}
    parts |= {f"{BOTH}.not_gotcha": plain, f"{BOTH}.gotcha": tricky}
    for gender in GENDERS:
        own = gender_of == gender
        parts |= {gender: own, f"{gender}.not_gotcha": own & plain, f"{gender}.gotcha": own & tricky}
    for subset, rows in parts.items():
        if rows.any():
            accuracy = share(mean[rows], data.units.take(rows))
            ends = accuracy.interval()
            yield row(GENDERED, "gender", subset, "accuracy", accuracy.value, accuracy.n, low=ends.low, high=ends.high)
    for gender in (*GENDERS, BOTH):
        first, second = parts[f"{gender}.not_gotcha"], parts[f"{gender}.gotcha"]
        if first.any() and second.any():
            whole = gap(mean, first, second, data.units)
            ends, n = whole.interval(), int(first.sum() + second.sum())
            yield row(GENDERED, "gender", gender, "delta", whole.value, n, low=ends.low, high=ends.high)
            by_seed = [float(run[first].mean() - run[second].mean()) for run in earned]
            low, high = min(by_seed), max(by_seed)
            yield row(GENDERED, "gender", gender, "by_seed", whole.value, len(runs), low=low, high=high)


def word_differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Pairs right as special words less pairs right as they are, each by a model trained on that form."""
    for loss, original in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
        both = ([run for run in records if arm_of(run) == arm] for arm in (f"words/{loss}", original))
        arms = dict(zip(("words", "matched"), _with_common_seeds(*both), strict=True))
        if not arms["words"]:
            continue
        rows: list[Metric] = []
        for name in ("wsc", "wsc-na", "winogrande"):
            right: dict[str, list[Credits]] = {}
            for form, runs in arms.items():
                earned = [credits_of(run, f"{name}:{form}", sets.data[f"{name}:{form}"]) == 1 for run in runs]
                right[form] = [(credit[0::2] & credit[1::2]).astype(float) for credit in earned]
            matched = sets.data[f"{name}:matched"]
            pairs = matched.units.take(range(0, len(matched), 2))
            place = (name, "difference", "pairs", "group_accuracy")
            rows += difference_rows(*difference(place, right["words"], right["matched"], pairs, len(pairs)))
        yield Record(f"difference/words/{loss}", {"seeds": [seed_of(run) for run in arms["words"]]}, tuple(rows))


def curve_differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Special words: single problems right after training on so many less those of the same model before training."""
    losses = dict.fromkeys(run.key.split("/")[1] for run in records if run.key.startswith("word-curve/"))
    for loss in losses:
        rows: list[Metric] = []
        seeds: dict[str, list[str]] = {}
        for size in WORD_SIZES:
            arms = ([run for run in records if arm_of(run) == f"word-curve/{loss}/{count}"] for count in (size, 0))
            ours, untrained = _with_common_seeds(*arms)
            if ours:
                data, seeds[f"{size}"] = sets.data[WORDS_TEST], [seed_of(run) for run in ours]
                first, second = ([credits_of(run, WORDS_TEST, data) for run in runs] for runs in (ours, untrained))
                place = (WORDS_TEST, "difference", f"{size}", "accuracy")
                rows += difference_rows(*difference(place, first, second, data.units, len(data)))
        if rows:
            yield Record(f"difference/word-curve/{loss}", {"seeds": seeds}, tuple(rows))
