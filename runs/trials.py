"""Liu et al.'s trials, with the datasets at hand: what a search comes to, MC-MLM against the others, another head.

Trial k has the same draw under every formalization. Two trials of a draw began alike if they had the same head, and if
the same part of a training set was held out to choose an epoch on: formalizations are compared over such draws, and
beside that over all that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from runs.comparisons import Credits, credits_of, difference, with_runs
from runs.store import Record, chosen
from runs.tables import row
from runs.trained import KEPT_ROWS, arm_of, head_of, last, score, seed_of
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
COMMON, ANY = "common draws", "whatever they began with"
P_VALUE = "p"
"""Of a lead: how often it is as large if the two change places, group by group of questions."""
SPREAD = ("median", "lower_quartile", "upper_quartile", "best", "worst", "std", "excess_kurtosis")


class Trials:
    """Every trial of a formalization, one of each draw."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.by_draw = {seed_of(trial): trial for trial in records}

    @property
    def latest(self) -> list[Record]:
        """The trials, by name."""
        return sorted(self.by_draw.values(), key=lambda trial: trial.key)

    def whatever(self, other: Trials) -> list[list[Record]]:
        """Of every draw that both have, the two trials, whatever they began with."""
        return [[trial, other.by_draw[draw]] for draw, trial in self.by_draw.items() if draw in other.by_draw]

    def together(self, *others: Trials) -> list[list[Record]]:
        """Of every draw that all have and that began with the same, the trials."""
        common = []
        for draw, trial in self.by_draw.items():
            theirs = [other.by_draw.get(draw) for other in others]
            alike = [one for one in theirs if one is not None and beginning_of(one) == beginning_of(trial)]
            if len(alike) == len(others):
                common.append([trial, *alike])
        return common


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
        if record.key.startswith("liu/"):
            kinds.setdefault(arm_of(record), []).append(record)
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
    """What the trials of each formalization come to."""
    kinds = by_kind(records)
    common = common_draws(kinds)
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
    """By how much MC-MLM is ahead: over draws that began alike, over all that both have, and by their epochs."""
    from winokit.methods.metrics.compare import p_paired

    pairs = compared.whatever(others)
    parts: dict[str, Sequence[Sequence[Record]]] = {COMMON: compared.together(others), ANY: pairs}
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


def _earned(pairs: Sequence[Sequence[Record]], sets: Sets) -> tuple[str, list[Credits], list[Credits]]:
    """The set that pairs of trials are compared on; and, for either side, what its problems earned in each trial."""
    on = compared_on(pairs[0][0])
    first, second = ([credits_of(trial, on, sets.data[on]) for trial in side] for side in zip(*pairs, strict=True))
    return on, first, second
