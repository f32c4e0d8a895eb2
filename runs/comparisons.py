"""What several trained models come to, with the datasets at hand: differences between arms, gender gaps, searches.

Arms are compared over the seeds that both have, problem by problem: each arm's mean over these seeds, an undecided
problem counting one half, with an interval over what hangs together, which is about these very runs. A wider one, of
which the runs are a sample too, and what every single seed gives stand beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from runs.store import Record, Store, chosen
from runs.tables import row
from runs.trained import KEPT_ROWS, arm_of, chosen_step, last, seed_of
from winokit.results import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runs.sets import Sets
    from winokit.problem import Dataset

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
COMPARED = "mc-mlm"
"""What the other formalizations are compared with, over the draws that both have."""
NOT_THE_PAPERS = "mc-mlm-fresh"
"""Ours alone: draws are common where the paper's formalizations have them."""
TOP = 5
"""Trials that vote together."""
COMMON, COMMON_ON_TEST = "common draws", "common draws, test set"
WITH_RUNS = "with_runs"
"""The metric of a difference whose interval is over problems and runs."""
GENDERED = "winogender"
BOTH = "both"
"""Pronouns of either gender: every text is on both sides of that gap, so that how hard a text is drops out of it."""
Step = Callable[[Record, str], int]


def _credits(records: Sequence[Record], name: str, data: Dataset, step: Step) -> NDArray[Any]:
    """What each problem earned, mean over runs."""
    from winokit.methods.metrics.accuracy import credit

    answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
    each = [credit(chosen(one.predictions[f"{name}@{step(one, name)}"]), answers, sizes) for one in records]
    found: NDArray[Any] = np.mean(each, axis=0)
    return found


def _with_common_seeds(first: Iterable[Record], second: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """The runs of two arms whose seeds both have, seed by seed."""
    others = {seed_of(one): one for one in second}
    ours = [one for one in first if seed_of(one) in others]
    return ours, [others[seed_of(one)] for one in ours]


def difference_rows(
    name: str, how: str, ours: Sequence[Record], theirs: Sequence[Record], data: Dataset, step: Step
) -> Iterator[Metric]:
    """The difference on one set, of the means over seeds; and that of every seed, from the lowest to the highest."""
    from winokit.methods.metrics.compare import paired_interval

    each = [[_credits([one], name, data, step) for one in runs] for runs in (ours, theirs)]
    first, second = (np.mean(runs, axis=0) for runs in each)
    ends, value = paired_interval(first, second, list(data.clusters)), float((first - second).mean())
    yield row(name, "difference", how, "accuracy", value, len(data), low=ends.low, high=ends.high)
    by_seed = [float((one - other).mean()) for one, other in zip(*each, strict=True)]
    yield row(name, "difference", how, "by_seed", value, len(by_seed), low=min(by_seed), high=max(by_seed))
    wide = row(name, "difference", how, WITH_RUNS, value, len(by_seed), low=ends.low, high=ends.high)
    yield from _with_runs(wide, by_seed)


def _with_runs(over_problems: Metric, each: Sequence[float]) -> Iterator[Metric]:
    """The interval of a difference for other runs on other problems: what runs differ by added to an interval.

    Student's interval of the runs' mean and the one over problems are put together by Zou and Donner's rule (2008), as
    for a sum of independent parts. A little too wide: what a run makes of single problems is in both. Nothing for one.
    """
    if len(each) > 1:
        from scipy import special

        half = float(special.stdtrit(len(each) - 1, 0.975)) * stdev(each) / math.sqrt(len(each))
        value = over_problems.value
        low, high = (math.hypot(value - (end or 0.0), half) for end in (over_problems.low, over_problems.high))
        yield replace(over_problems, low=max(value - low, -1.0), high=min(value + high, 1.0))


def _differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Between arms, on every set that both were tested on, after the last step and after the step that is chosen."""
    held = Store(Path("nowhere"))
    about = sets.about()
    held.records = {"sets": Record("sets", {}, texts={key: json.dumps(about[key]) for key in ("rules", "empty")})}

    def by_rule(one: Record, name: str) -> int:
        found = chosen_step(one, name, held)
        return last(one, name) if found is None else found

    for name, arms in DIFFERENCES.items():
        ours, theirs = _with_common_seeds(*([one for one in records if arm_of(one) == arm] for arm in arms))
        if not ours:
            continue
        hows: dict[str, Step] = {"equal steps": last}
        if all(arm.startswith("transfer/") for arm in arms):
            hows["chosen"] = by_rule
        empty = [sets.empty.get(arm.rpartition("/")[2], {}) for arm in arms]
        rows = [
            each
            for test in dict.fromkeys(place.split("@")[0] for place in ours[0].predictions)
            if all(last(one, test) >= 0 for one in (*ours, *theirs)) and not any(test in why for why in empty)
            for how, step in hows.items()
            for each in difference_rows(test, how, ours, theirs, sets.data[test], step)
        ]
        yield Record(f"difference/{name}", {"seeds": [seed_of(one) for one in ours]}, tuple(rows))


def _genders(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Winogender by arm, mean over seeds: accuracy by the pronoun's gender and by gotcha, and the gaps.

    One count for all of them: an undecided problem is worth one half in the whole, in a cell and in a gap, so that a
    gap is the difference of its two cells.
    """
    by_arm: dict[str, list[Record]] = {}
    for one in records:
        if last(one, GENDERED) >= 0:
            by_arm.setdefault(arm_of(one), []).append(one)
    for arm, runs in by_arm.items():
        yield Record(f"gender/{arm}", {"seeds": [seed_of(one) for one in runs]}, tuple(gender_rows(runs, sets)))


def gender_rows(runs: Sequence[Record], sets: Sets) -> Iterator[Metric]:
    """The rows of one arm; a gap's `by_seed` is what single seeds have, from the lowest to the highest."""
    from winokit.methods.metrics.gender import GENDERS
    from winokit.methods.metrics.intervals import gap, share
    from winokit.methods.metrics.measuring import is_gotcha

    data = sets.data[GENDERED]
    clusters = np.array(data.clusters)
    each = [_credits([one], GENDERED, data, last) for one in runs]
    mean = np.mean(each, axis=0)
    silent = [one.predictions[f"{GENDERED}@{last(one, GENDERED)}"].count("-") / len(data) for one in runs]
    yield row(GENDERED, "gender", "all", "undecided", fmean(silent), len(data), low=min(silent), high=max(silent))
    genders = np.array([problem.labels.get("gender") for problem in data])
    tricky, plain = (np.array([is_gotcha(problem) is flag for problem in data]) for flag in (True, False))
    parts = {"all": np.ones(len(data), bool)}
    parts |= {f"{BOTH}.not_gotcha": plain, f"{BOTH}.gotcha": tricky}
    for gender in GENDERS:
        own = genders == gender
        parts |= {gender: own, f"{gender}.not_gotcha": own & plain, f"{gender}.gotcha": own & tricky}
    for subset, rows in parts.items():
        if rows.any():
            found = share(mean[rows], clusters[rows])
            ends = found.interval()
            yield row(GENDERED, "gender", subset, "accuracy", found.value, found.n, low=ends.low, high=ends.high)
    for gender in (*GENDERS, BOTH):
        first, second = parts[f"{gender}.not_gotcha"], parts[f"{gender}.gotcha"]
        if first.any() and second.any():
            whole = gap(mean, first, second, clusters)
            ends, n = whole.interval(), int(first.sum() + second.sum())
            yield row(GENDERED, "gender", gender, "delta", whole.value, n, low=ends.low, high=ends.high)
            by_seed = [float(one[first].mean() - one[second].mean()) for one in each]
            low, high = min(by_seed), max(by_seed)
            yield row(GENDERED, "gender", gender, "by_seed", whole.value, len(runs), low=low, high=high)


def _of_winogrande(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    yield from _differences(records, sets)
    yield from _genders(records, sets)


def _word_differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Pairs right as special words less pairs right as they are, each by a model trained on that form."""
    from winokit.methods.metrics.compare import paired_interval

    for loss, original in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
        both = ([one for one in records if arm_of(one) == arm] for arm in (f"words/{loss}", original))
        arms = dict(zip(("words", "matched"), _with_common_seeds(*both), strict=True))
        if not arms["words"]:
            continue
        rows = []
        for name in ("wsc", "wsc-na", "winogrande"):
            right: dict[str, list[NDArray[Any]]] = {}
            groups: list[int] = []
            for form, runs in arms.items():
                data = sets.data[f"{name}:{form}"]
                test = f"{name}:{form}"
                each = [_credits([one], test, data, last) == 1 for one in runs]
                right[form] = [(one[0::2] & one[1::2]).astype(float) for one in each]
                groups = list(data.clusters)[0::2]
            words, matched = (np.mean(right[form], axis=0) for form in ("words", "matched"))
            ends, value = paired_interval(words, matched, groups), float((words - matched).mean())
            by_seed = [float((one - other).mean()) for one, other in zip(*right.values(), strict=True)]
            whole = row(name, "difference", "pairs", "group_accuracy", value, len(groups), low=ends.low, high=ends.high)
            rows += [whole, replace(whole, metric="by_seed", n=len(by_seed), low=min(by_seed), high=max(by_seed))]
            rows += _with_runs(replace(whole, metric=WITH_RUNS, n=len(by_seed)), by_seed)
        yield Record(f"difference/words/{loss}", {"seeds": [seed_of(one) for one in arms["words"]]}, tuple(rows))


def _common_draws(by_kind: Mapping[str, Sequence[Record]]) -> dict[str, set[str]]:
    """By kind of trial the draws that all of the paper's formalizations have on its set, with its model and head."""
    found: dict[str, set[str]] = {}
    for kind, trials in by_kind.items():
        place, _, name = kind.rpartition("/")
        if name != NOT_THE_PAPERS:
            draws = {draw_of(one) for one in trials}
            found[place] = found[place] & draws if place in found else draws
    return {kind: found.get(kind.rpartition("/")[0], set()) for kind in by_kind}


def draw_of(trial: Record) -> str:
    """The number of a trial's draw, with the head it began with: another head is another beginning."""
    return f"{seed_of(trial)} {(trial.settings.get('more') or {}).get('head', '')}"


def _searches(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """What the trials of each formalization come to."""
    from winokit.methods.formalizations.cases import guesses
    from winokit.methods.metrics.accuracy import chance, credit, majority_class
    from winokit.methods.scoring.scorer import Prediction
    from winokit.methods.training.evaluation import rows as evaluation_rows
    from winokit.stages.search.findings import voted
    from winokit.stages.search.luck import luck, spread

    by_kind: dict[str, list[Record]] = {}
    for one in records:
        if one.key.startswith("liu/"):
            by_kind.setdefault(arm_of(one), []).append(one)
    common = _common_draws(by_kind)
    for kind, trials in by_kind.items():
        dev = trials[0].settings["chosen_on"]
        data = sets.data[dev]
        answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
        step = {one.key: last(one, dev) for one in trials}
        spec = trials[0].settings["formalization"]
        earned = np.array([credit(chosen(one.predictions[f"{dev}@{step[one.key]}"]), answers, sizes) for one in trials])
        scores = earned.mean(axis=1)
        found = spread(scores.tolist())
        floor = majority_class(answers) if all(p.query is not None for p in data) else chance(sizes)
        lucky = luck(earned, list(data.clusters), floor)
        guess = fmean(guesses(data, spec) or [chance(sizes)])
        rows = [
            row(dev, "search", "dev", name, getattr(found, name), found.n, chance=guess)
            for name in ("median", "lower_quartile", "upper_quartile", "best", "worst", "std", "excess_kurtosis")
            if getattr(found, name) is not None
        ]
        shared = [value for one, value in zip(trials, scores, strict=True) if draw_of(one) in common[kind]]
        if shared and len(shared) == len(common[kind]):
            rows.append(row(dev, "search", "common draws", "median_common", float(median(shared)), len(shared)))
        rows.append(row(dev, "search", "dev", "floor", floor, len(data)))
        ends = {"low": lucky.low, "high": lucky.high}
        rows.append(row(dev, "luck", "dev", "corrected", lucky.corrected or 0.0, len(data), **ends))
        rows.append(row(dev, "luck", "dev", "best_of_guessers", lucky.guessing, len(data)))
        rows.append(row(dev, "luck", "dev", "p_best_of_guessers", lucky.p_guessing, len(data)))
        best = [trials[at] for at in sorted(range(len(trials)), key=lambda at: (-scores[at], at))]
        for name in dict.fromkeys(place.split("@")[0] for place in best[0].predictions):
            tested = sets.data[name]
            ballots = [
                [
                    Prediction(p.id, "original", "", spec, None, c, p.answer)
                    for p, c in zip(tested, chosen(t.predictions[f"{name}@{step[t.key]}"]), strict=True)
                ]
                for t in best[:TOP]
            ]
            for subset, sheet in (("chosen", ballots[0]), ("ensemble", voted(tested, ballots, ""))):
                for each in evaluation_rows(tested, sheet, subset):
                    if each.metric in KEPT_ROWS:
                        rows.append(
                            row(name, "search", subset, each.metric, each.value, each.n, low=each.low, high=each.high)
                        )
        if not kind.endswith(f"/{COMPARED}"):
            rows += _behind(trials, by_kind.get(f"{kind.rpartition('/')[0]}/{COMPARED}", []), sets)
        yield Record(f"search/{kind.removeprefix('liu/')}", {"trials": len(trials), "best": best[0].key}, tuple(rows))


def _behind(trials: Sequence[Record], compared: Sequence[Record], sets: Sets) -> Iterator[Metric]:
    """By how much others are ahead over the draws that both have, on the set that is chosen on and on those to test."""
    from winokit.methods.metrics.compare import paired_interval

    others = {draw_of(one): one for one in compared}
    ours = [one for one in trials if draw_of(one) in others]
    theirs = [others[draw_of(one)] for one in ours]
    for name in dict.fromkeys(place.split("@")[0] for one in ours[:1] for place in one.predictions):
        data = sets.data[name]
        each = [[_credits([one], name, data, last) for one in runs] for runs in (theirs, ours)]
        first, second = (np.mean(runs, axis=0) for runs in each)
        ends, value = paired_interval(first, second, list(data.clusters)), float((first - second).mean())
        by_draw = [float((one - other).mean()) for one, other in zip(*each, strict=True)]
        subset = COMMON if name == ours[0].settings["chosen_on"] else COMMON_ON_TEST
        found = row(name, "difference", subset, COMPARED, value, len(ours), low=ends.low, high=ends.high)
        yield found
        yield from _with_runs(replace(found, metric=WITH_RUNS), by_draw)


MADE_OF_ALL: Mapping[str, Callable[[Sequence[Record], Sets], Iterator[Record]]] = {
    "trained-winogrande": _of_winogrande,
    "trained-liu": _searches,
    "trained-square-one": _word_differences,
}
"""By store, what its records come to."""
