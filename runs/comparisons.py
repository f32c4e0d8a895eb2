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
from runs.trained import KEPT_ROWS, arm_of, chosen_step, head_of, last, score, seed_of
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
BEFORE = "before/"
"""Trials that were run again from another head since are kept under that."""
COMMON, ANY = "common draws", "whatever they began with"
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


class Trials:
    """Every trial of a formalization, those included that were run again from another head since."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.by_draw: dict[str, dict[str, Record]] = {}
        """By draw, and by what it began with, that of the latest run first."""
        for one in sorted(records, key=lambda one: one.key.startswith(BEFORE)):
            self.by_draw.setdefault(seed_of(one), {}).setdefault(beginning_of(one), one)

    @property
    def latest(self) -> list[Record]:
        """One trial of each draw."""
        return sorted((next(iter(trials.values())) for trials in self.by_draw.values()), key=lambda one: one.key)

    def whatever(self, other: Trials) -> list[list[Record]]:
        """Of every draw that both have, the latest trial of each, whatever they began with."""
        theirs = {seed_of(one): one for one in other.latest}
        return [[one, theirs[seed_of(one)]] for one in self.latest if seed_of(one) in theirs]

    def together(self, *others: Trials) -> list[list[Record]]:
        """Of every draw that all have, a trial of each that began with the same, the latest there is."""
        found = []
        for draw, trials in self.by_draw.items():
            theirs = [other.by_draw.get(draw, {}) for other in others]
            same = next((one for one in trials if all(one in other for other in theirs)), None)
            if same is not None:
                found.append([trials[same], *(other[same] for other in theirs)])
        return found


def beginning_of(trial: Record) -> str:
    """What must be the same for a draw to be: the head, and the part of a training set that was held out to choose."""
    return f"{head_of(trial)} {trial.settings['chosen_on']}"


def compared_on(trial: Record) -> str:
    """The set that trials are compared on: a test set, which no epoch was chosen on, where there is one."""
    names = dict.fromkeys(place.split("@")[0] for place in trial.predictions)
    chosen_on = str(trial.settings["chosen_on"])
    return next((name for name in names if name != chosen_on), chosen_on)


def _trials(records: Sequence[Record]) -> dict[str, Trials]:
    """By kind of trial, such as `liu/dpr/mpnet-head/p-span`."""
    by_kind: dict[str, list[Record]] = {}
    for one in records:
        if "liu/" in one.key:
            kind = arm_of(one)
            by_kind.setdefault(kind[kind.index("liu/") :], []).append(one)
    return {kind: Trials(some) for kind, some in by_kind.items()}


def _common_draws(every: Mapping[str, Trials]) -> dict[str, list[Record]]:
    """By kind of trial those of draws that all of the paper's formalizations have on its set, and that began alike."""
    found: dict[str, list[Record]] = {}
    places = {kind.rpartition("/")[0] for kind in every}
    for place in places:
        kinds = [kind for kind in every if kind.rpartition("/")[0] == place and kind != f"{place}/{NOT_THE_PAPERS}"]
        together = every[kinds[0]].together(*(every[kind] for kind in kinds[1:])) if kinds else []
        found |= {kind: [some[at] for some in together] for at, kind in enumerate(kinds)}
    return found


def _again(every: Mapping[str, Trials], sets: Sets) -> Iterator[Record]:
    """Trials that were run again from another head: by how much the later one differs."""
    from winokit.methods.metrics.compare import paired_interval

    for kind, trials in every.items():
        twice = [list(runs.values())[:2] for runs in trials.by_draw.values() if len(runs) > 1]
        pairs = [pair for pair in twice if len({one.settings["chosen_on"] for one in pair}) == 1]
        if not pairs:
            continue
        on = compared_on(pairs[0][0])
        data = sets.data[on]
        each = [[_credits([one], on, data, last) for one in runs] for runs in zip(*pairs, strict=True)]
        by_draw = [float((later - earlier).mean()) for later, earlier in zip(*each, strict=True)]
        value = fmean(by_draw)
        ends = paired_interval(*(np.mean(runs, axis=0) for runs in each), list(data.clusters))
        found = row(on, "again", "other head", "accuracy", value, len(pairs), low=ends.low, high=ends.high)
        sizes = [abs(one) for one in by_draw]
        apart = row(on, "again", "other head", "apart", fmean(sizes), len(pairs), low=min(sizes), high=max(sizes))
        wide = _with_runs(replace(found, metric=WITH_RUNS), by_draw)
        yield Record(f"again/{kind.removeprefix('liu/')}", {"trials": len(pairs)}, (found, apart, *wide))


def _searches(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """What the trials of each formalization come to."""
    from winokit.methods.formalizations.cases import guesses
    from winokit.methods.metrics.accuracy import chance, majority_class
    from winokit.methods.scoring.scorer import Prediction
    from winokit.methods.training.evaluation import rows as evaluation_rows
    from winokit.stages.search.findings import voted
    from winokit.stages.search.luck import luck, spread

    every = _trials(records)
    common = _common_draws(every)
    yield from _again(every, sets)
    for kind, own in every.items():
        trials = own.latest
        on = compared_on(trials[0])
        data = sets.data[on]
        answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
        spec = trials[0].settings["formalization"]
        earned = np.array([_credits([one], on, data, last) for one in trials])
        found = spread(earned.mean(axis=1).tolist())
        floor = majority_class(answers) if all(p.query is not None for p in data) else chance(sizes)
        guess = fmean(guesses(data, spec) or [chance(sizes)])
        rows = [
            row(on, "search", "all", name, getattr(found, name), found.n, chance=guess)
            for name in ("median", "lower_quartile", "upper_quartile", "best", "worst", "std", "excess_kurtosis")
            if getattr(found, name) is not None
        ]
        shared = [float(_credits([one], on, data, last).mean()) for one in common.get(kind, ())]
        if shared:
            rows.append(row(on, "search", COMMON, "median_common", float(median(shared)), len(shared)))
        rows.append(row(on, "search", "all", "floor", floor, len(data)))
        if on == trials[0].settings["chosen_on"]:  # a test set knows of no luck
            lucky = luck(earned, list(data.clusters), floor)
            ends = {"low": lucky.low, "high": lucky.high}
            rows.append(row(on, "luck", "all", "corrected", lucky.corrected or 0.0, len(data), **ends))
            rows.append(row(on, "luck", "all", "best_of_guessers", lucky.guessing, len(data)))
            rows.append(row(on, "luck", "all", "p_best_of_guessers", lucky.p_guessing, len(data)))
        best = sorted(trials, key=lambda one: (-_where_chosen(one), one.key))
        ballots = [
            [
                Prediction(p.id, "original", "", spec, None, c, p.answer)
                for p, c in zip(data, chosen(one.predictions[f"{on}@{last(one, on)}"]), strict=True)
            ]
            for one in best[:TOP]
        ]
        for subset, sheet in (("chosen", ballots[0]), ("ensemble", voted(data, ballots, ""))):
            for each in evaluation_rows(data, sheet, subset):
                if each.metric in KEPT_ROWS:
                    rows.append(
                        row(on, "search", subset, each.metric, each.value, each.n, low=each.low, high=each.high)
                    )
        if not kind.endswith(f"/{COMPARED}"):
            compared = every.get(f"{kind.rpartition('/')[0]}/{COMPARED}", Trials(()))
            pairs = compared.whatever(own)
            rows += [*_behind(compared.together(own), COMMON, sets), *_behind(pairs, ANY, sets)]
            for epochs in sorted({one.settings["epochs"] for one, _ in pairs}):
                some = [pair for pair in pairs if pair[0].settings["epochs"] == epochs]
                rows += _behind(some, f"{epochs} epochs", sets)
        about = {"trials": len(trials), "draws": " ".join(map(seed_of, trials)), "best": best[0].key}
        yield Record(f"search/{kind.removeprefix('liu/')}", about, tuple(rows))


def _where_chosen(trial: Record) -> float:
    """How much was right where a trial's epoch was chosen, as the record has it."""
    found = score(trial, trial.settings["chosen_on"])
    assert found is not None
    return found.value


def _behind(pairs: Sequence[Sequence[Record]], subset: str, sets: Sets) -> Iterator[Metric]:
    """By how much the first of each pair of trials is ahead."""
    from winokit.methods.metrics.compare import paired_interval

    if pairs:
        on = compared_on(pairs[0][0])
        data = sets.data[on]
        each = [[_credits([one], on, data, last) for one in runs] for runs in zip(*pairs, strict=True)]
        first, second = (np.mean(runs, axis=0) for runs in each)
        ends, value = paired_interval(first, second, list(data.clusters)), float((first - second).mean())
        by_draw = [float((one - other).mean()) for one, other in zip(*each, strict=True)]
        found = row(on, "difference", subset, COMPARED, value, len(pairs), low=ends.low, high=ends.high)
        yield found
        yield from _with_runs(replace(found, metric=WITH_RUNS), by_draw)


MADE_OF_ALL: Mapping[str, Callable[[Sequence[Record], Sets], Iterator[Record]]] = {
    "trained-winogrande": _of_winogrande,
    "trained-liu": _searches,
    "trained-square-one": _word_differences,
}
"""By store, what its records come to."""
