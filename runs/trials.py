"""Liu et al.'s trials, with the datasets at hand: what a search comes to, MC-MLM against the others, another head.

Trial k has the same draw under every formalization. Two trials of a draw began alike if they had the same head, and if
the same part of a training set was held out to choose an epoch on: formalizations are compared over such draws, and
beside that over all that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from runs.comparisons import Credits, credits_of, difference, with_runs
from runs.store import Record, chosen
from runs.tables import row
from runs.trained import BEFORE, KEPT_ROWS, arm_of, head_name, head_of, last, score, seed_of
from winokit.results import Metric

if TYPE_CHECKING:
    from runs.sets import Sets
    from winokit.problem import Dataset

COMPARED = "mc-mlm"
"""What the other formalizations are compared with, over the draws that both have."""
NOT_THE_PAPERS = "mc-mlm-fresh"
"""Ours alone: draws are common where the paper's formalizations have them."""
TOP = 5
"""Trials that vote together."""
COMMON, ANY, EARLIER = "common draws", "whatever they began with", "earlier heads"
P_VALUE = "p"
"""Of a lead: how often it is as large if the two change places, group by group of questions."""
SPREAD = ("median", "lower_quartile", "upper_quartile", "best", "worst", "std", "excess_kurtosis")


class Trials:
    """Every trial of a formalization, those included that were run again from another head since."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.by_draw: dict[str, dict[str, Record]] = {}
        """By draw, and by what it began with, that of the latest run first; names of heads go up as they were made."""
        for trial in sorted(records, key=_age, reverse=True):
            self.by_draw.setdefault(seed_of(trial), {}).setdefault(beginning_of(trial), trial)

    @property
    def latest(self) -> list[Record]:
        """One trial of each draw."""
        return sorted((next(iter(runs.values())) for runs in self.by_draw.values()), key=lambda trial: trial.key)

    @property
    def earlier(self) -> Trials:
        """Those that were run again from another head since."""
        trials = (trial for runs in self.by_draw.values() for trial in runs.values())
        return Trials(trial for trial in trials if trial.key.startswith(BEFORE))

    def whatever(self, other: Trials) -> list[list[Record]]:
        """Of every draw that both have, the latest trial of each, whatever they began with."""
        theirs = {seed_of(trial): trial for trial in other.latest}
        return [[trial, theirs[seed_of(trial)]] for trial in self.latest if seed_of(trial) in theirs]

    def together(self, *others: Trials) -> list[list[Record]]:
        """Of every draw that all have, a trial of each that began with the same, the latest there is."""
        common = []
        for draw, runs in self.by_draw.items():
            theirs = [other.by_draw.get(draw, {}) for other in others]
            shared = next((start for start in runs if all(start in other for other in theirs)), None)
            if shared is not None:
                common.append([runs[shared], *(other[shared] for other in theirs)])
        return common


def _age(trial: Record) -> tuple[bool, int, str]:
    """What sorts the runs of a draw, the latest last: heads are numbered in their names, and 10 comes after 2."""
    return not trial.key.startswith(BEFORE), len(head_name(trial)), head_name(trial)


def beginning_of(trial: Record) -> str:
    """What must be the same for a draw to be: the head, and the part of a training set that was held out to choose."""
    return f"{head_of(trial)} {trial.settings['chosen_on']}"


def compared_on(trial: Record) -> str:
    """The set that trials are compared on: a test set, which no epoch was chosen on, where there is one."""
    names = dict.fromkeys(place.split("@")[0] for place in trial.predictions)
    chosen_on = str(trial.settings["chosen_on"])
    return next((name for name in names if name != chosen_on), chosen_on)


def by_kind(records: Sequence[Record]) -> dict[str, Trials]:
    """Trials by their kind, such as `liu/dpr/mpnet-head/p-span`."""
    kinds: dict[str, list[Record]] = {}
    for record in records:
        if "liu/" in record.key:
            arm = arm_of(record)
            kinds.setdefault(arm[arm.index("liu/") :], []).append(record)
    return {kind: Trials(trials) for kind, trials in kinds.items()}


def common_draws(kinds: Mapping[str, Trials]) -> dict[str, list[Record]]:
    """By kind of trial those of draws that all of the paper's formalizations have on its set, and that began alike."""
    common: dict[str, list[Record]] = {}
    for place in {kind.rpartition("/")[0] for kind in kinds}:
        own = [kind for kind in kinds if kind.rpartition("/")[0] == place and kind != f"{place}/{NOT_THE_PAPERS}"]
        draws = kinds[own[0]].together(*(kinds[kind] for kind in own[1:])) if own else []
        common |= {kind: [trials[at] for trials in draws] for at, kind in enumerate(own)}
    return common


def searches(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """What the trials of each formalization come to; and those that were run again from another head."""
    kinds = by_kind(records)
    common = common_draws(kinds)
    for kind, own in kinds.items():
        yield from run_again(kind, own, sets)
    for kind, own in kinds.items():
        trials = own.latest
        on = compared_on(trials[0])
        data = sets.data[on]
        best = sorted(trials, key=lambda trial: (-_where_chosen(trial), trial.key))
        rows = [*spread_rows(trials, common.get(kind, ()), on, data), *best_rows(best, on, data)]
        if not kind.endswith(f"/{COMPARED}"):
            rows += lead_rows(kinds.get(f"{kind.rpartition('/')[0]}/{COMPARED}", Trials(())), own, sets)
        about = {"trials": len(trials), "draws": " ".join(map(seed_of, trials)), "best": best[0].key}
        yield Record(f"search/{kind.removeprefix('liu/')}", about, tuple(rows))


def spread_rows(trials: Sequence[Record], common: Sequence[Record], on: str, data: Dataset) -> Iterator[Metric]:
    """How trials are spread, what the commonest answer has, and what the best is worth if that was luck."""
    from winokit.answers import Answers
    from winokit.answers import TrialName as AnswerTrial
    from winokit.methods.formalizations.cases import guesses
    from winokit.methods.metrics.accuracy import chance, majority_class
    from winokit.methods.metrics.judge_best import judge_best
    from winokit.stages.search.luck import spread

    answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
    earned = np.array([credits_of(trial, on, data) for trial in trials])
    shape = spread(earned.mean(axis=1).tolist())
    guess = fmean(guesses(data, trials[0].settings["formalization"]) or [chance(sizes)])
    for name in SPREAD:
        if (value := getattr(shape, name)) is not None:
            yield row(on, "search", "all", name, value, shape.n, chance=guess)
    if common:
        shared = [float(credits_of(trial, on, data).mean()) for trial in common]
        yield row(on, "search", COMMON, "median_common", float(median(shared)), len(shared))
    floor = majority_class(answers) if all(problem.query is not None for problem in data) else chance(sizes)
    yield row(on, "search", "all", "floor", floor, len(data))
    if on == trials[0].settings["chosen_on"]:  # a test set knows of no luck
        choices = {
            AnswerTrial(name=trial.key): chosen(trial.predictions[f"{on}@{last(trial, on)}"]) for trial in trials
        }
        lucky = judge_best(Answers.of_trials(data, choices))
        ends = {"low": lucky.low, "high": lucky.high}
        yield row(on, "luck", "all", "corrected", lucky.corrected or 0.0, len(data), **ends)
        yield row(on, "luck", "all", "best_of_guessers", lucky.guessing, len(data))
        yield row(on, "luck", "all", "p_best_of_guessers", lucky.p_guessing, len(data))


def best_rows(best: Sequence[Record], on: str, data: Dataset) -> Iterator[Metric]:
    """What the best trial gets, and the best few together."""
    from winokit.methods.scoring.scorer import Prediction
    from winokit.methods.training.evaluation import rows as evaluation_rows
    from winokit.stages.search.findings import voted

    spec = best[0].settings["formalization"]
    ballots = [
        [
            Prediction(problem.id, "original", "", spec, None, choice, problem.answer)
            for problem, choice in zip(data, chosen(trial.predictions[f"{on}@{last(trial, on)}"]), strict=True)
        ]
        for trial in best[:TOP]
    ]
    for subset, sheet in (("chosen", ballots[0]), ("ensemble", voted(data, ballots, ""))):
        for metric in evaluation_rows(data, sheet, subset):
            if metric.metric in KEPT_ROWS:
                ends = {"low": metric.low, "high": metric.high}
                yield row(on, "search", subset, metric.metric, metric.value, metric.n, **ends)


def _where_chosen(trial: Record) -> float:
    """How much was right where a trial's epoch was chosen, as the record has it."""
    metric = score(trial, trial.settings["chosen_on"])
    assert metric is not None
    return metric.value


def lead_rows(compared: Trials, others: Trials, sets: Sets) -> Iterator[Metric]:
    """By how much MC-MLM is ahead: over draws that began alike, over all that both have, and by their epochs.

    Of trials that were run again since, once more what they had said: it must not depend on which run is the last.
    """
    from winokit.methods.metrics.compare import p_paired

    pairs = compared.whatever(others)
    parts: dict[str, Sequence[Sequence[Record]]] = {COMMON: compared.together(others), ANY: pairs}
    parts[EARLIER] = compared.earlier.together(others.earlier)
    for epochs in sorted({trial.settings["epochs"] for trial, _ in pairs}):
        parts[f"{epochs} epochs"] = [pair for pair in pairs if pair[0].settings["epochs"] == epochs]
    for subset, own in parts.items():
        if own:
            on, first, second = _earned(own, sets)
            place = (on, "difference", subset, COMPARED)
            whole, by_draw = difference(place, first, second, sets.data[on].units, len(own))
            yield whole
            yield from with_runs(whole, by_draw)
            if subset == COMMON:
                p = p_paired(np.mean(first, axis=0), np.mean(second, axis=0), sets.data[on].units)
                yield row(*place[:3], P_VALUE, p, len(own))


def run_again(kind: str, trials: Trials, sets: Sets) -> Iterator[Record]:
    """Draws that were run from several heads: by how much the last run differs from the one before, and any two.

    Runs are compared where the same problems were held out to choose an epoch on.
    """
    couples, last_two = [], []
    for runs in trials.by_draw.values():
        own = [pair for pair in combinations(runs.values(), 2) if len({run.settings["chosen_on"] for run in pair}) == 1]
        couples += own
        last_two += [pair for pair in own if pair[0] is next(iter(runs.values()))][:1]
    if last_two:
        on, later, earlier = _earned(last_two, sets)
        place = (on, "again", "other head", "accuracy")
        whole, by_draw = difference(place, later, earlier, sets.data[on].units, len(last_two))
        _, *both = _earned(couples, sets)
        sizes = [abs(float((first - second).mean())) for first, second in zip(*both, strict=True)]
        apart = row(*place[:3], "apart", fmean(sizes), len(sizes), low=min(sizes), high=max(sizes))
        rows = (whole, apart, *with_runs(whole, by_draw))
        yield Record(f"again/{kind.removeprefix('liu/')}", {"trials": len(last_two)}, rows)


def _earned(pairs: Sequence[Sequence[Record]], sets: Sets) -> tuple[str, list[Credits], list[Credits]]:
    """The set that pairs of trials are compared on; and, for either side, what its problems earned in each trial."""
    on = compared_on(pairs[0][0])
    first, second = ([credits_of(trial, on, sets.data[on]) for trial in side] for side in zip(*pairs, strict=True))
    return on, first, second
