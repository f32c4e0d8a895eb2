"""Findings of a search: spread of scores, chosen trial, ensemble, and luck.

The ensemble is the five best trials: each votes and the majority decides, as Liu et al. (2020) made their test
predictions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from winokit.answers import Answers, TrialName
from winokit.errors import BadInput
from winokit.files import json_lines
from winokit.methods.metrics.accuracy import chance, majority_class
from winokit.methods.metrics.judge_best import BestOfTrials, judge_best
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.data import TrainingData
from winokit.methods.training.evaluation import chances_of_guessing, rows
from winokit.methods.training.finetune import DEV, PREDICTIONS, file_name
from winokit.problem import Dataset
from winokit.results import Brief, Metric, decide
from winokit.stages.search.luck import Spread, best_of, spread
from winokit.stages.search.space import SearchSpace
from winokit.stages.search.trials import DIVERGED, DONE, FAILED, Trial

CHOSEN = "chosen"
ENSEMBLE = "ensemble"
ANY = "any"
TRIES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
TOP = 5
NO = 0
"""Index of "no" among the candidates of a judgement."""


@dataclass(frozen=True)
class SearchFinding:
    """Findings of the trials under one formalization."""

    formalization: str
    trials: tuple[Trial, ...]
    chance: float
    """Expected accuracy on the dev set of guessing among the options of the formalization."""
    spread: Spread | None = None
    """Spread of the finished trials' accuracies on the dev set; None if no trial is finished."""
    luck: BestOfTrials | None = None
    """Share of luck in the best trial's accuracy; None if no trial is finished."""
    ensemble: tuple[Trial, ...] = ()
    """The best trials on the dev set, the chosen one first."""
    metrics: tuple[Metric, ...] = ()
    voted: dict[str, list[Prediction]] = field(default_factory=dict)
    """The ensemble's predictions by set."""

    @property
    def chosen(self) -> Trial | None:
        """The best trial on the dev set, or None if no trial is finished."""
        return self.ensemble[0] if self.ensemble else None

    @property
    def scores(self) -> list[float]:
        """Accuracies of the finished trials on the dev set."""
        return [trial.ended.accuracy for trial in self.trials if trial.ended.accuracy is not None]

    @property
    def best_first(self) -> list[Trial]:
        """All trials, the best on the dev set first.

        Those without a score come last.
        """
        return sorted(self.trials, key=lambda trial: (-(trial.ended.accuracy or -1.0), trial.number))

    def count(self, state: str) -> int:
        """Number of trials that ended in a state: `done`, `diverged` or `failed`."""
        return sum(trial.ended.state == state for trial in self.trials)

    @property
    def degenerate(self) -> int:
        """Number of trials that show a sign of having learned nothing.

        Diverged trials are among them.
        """
        return sum(trial.degenerate for trial in self.trials)

    def row(self, protocol: str, subset: str, metric: str) -> Metric | None:
        """Return the row of `metrics` with these names, or None."""
        names = (protocol, subset, metric)
        for row in self.metrics:
            if (row.protocol, row.subset, row.metric) == names:
                return row
        return None

    def score(self, protocol: str, subset: str) -> Metric | None:
        """Return the accuracy row of the chosen trial or the ensemble on a set, or None.

        `protocol` is `chosen` or `ensemble`. Undecided problems count as guesses.
        """
        return self.row(protocol, subset, "expected_accuracy") or self.row(protocol, subset, "accuracy")


@dataclass(frozen=True, repr=False)
class SearchFindings(Brief):
    """Findings of a search, for all formalizations.

    `chance` is the accuracy of guessing on the dev set, among the candidates of each problem.
    """

    shown_by = "winokit.stages.search.table"
    folder: Path
    run: dict[str, Any]
    space: SearchSpace
    dev: Dataset
    tests: dict[str, Dataset]
    """Test sets by the names of their files, which are the subsets of their rows."""
    found: tuple[SearchFinding, ...]
    chance: float
    majority: float
    """Accuracy on the dev set of always choosing the most frequent answer."""
    human: float | None
    """Accuracy of people, as a share; None if it is unknown."""
    overall: BestOfTrials
    """Share of luck in the best of all trials, whatever their formalization."""
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> SearchFinding:
        """Finding with the best trial on the dev set, the first of equals."""
        findings = [finding for finding in self.found if finding.ensemble]
        return max(findings, key=lambda finding: finding.scores and max(finding.scores))

    @property
    def answered(self) -> dict[str, Dataset]:
        """Test sets with answers, by their names in `tests`."""
        answered = {}
        for name, test in self.tests.items():
            if any(problem.answer is not None for problem in test):
                answered[name] = test
        return answered

    @property
    def metrics(self) -> list[Metric]:
        """Rows of each formalization, then those of all together."""
        metrics: list[Metric] = []
        for finding in self.found:
            metrics += finding.metrics
        if len(self.found) > 1:
            row = partial(_make_row, self.dev.card.name, self.run["model"], ANY)
            metrics += _make_luck_rows(self.overall, self.chance, row)
        return metrics

    @property
    def trials(self) -> list[Trial]:
        """All trials, formalization by formalization."""
        trials: list[Trial] = []
        for finding in self.found:
            trials += finding.trials
        return trials


class TrialPredictions:
    """Reads the predictions of trials on dev and test sets.

    `out` is the folder of the search.
    """

    def __init__(self, data: TrainingData, out: Path) -> None:
        assert data.dev is not None
        self.out = out
        self.dev = data.dev
        self.tests = {file_name(test, index, data.tests): test for index, test in enumerate(data.tests)}
        candidate_counts = [len(problem.candidates) for problem in self.dev]
        answers = [problem.answer or 0 for problem in self.dev]
        self.chance = chance(candidate_counts)
        self.majority = majority_class(answers)

    def predictions(self, trial: Trial, name: str) -> list[Prediction]:
        """Return the predictions of a trial on a set, by its file name.

        Raises BadInput if they cannot be read, or are not one per problem.
        """
        path = self.out / trial.folder / PREDICTIONS / f"{name}.jsonl"
        dataset = self.dev if name == DEV else self.tests[name]
        try:
            records = json_lines(path.read_text("utf-8"))
            predictions = [Prediction.from_json(record) for record in records]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"{path}: cannot be read ({error}); remove the trial's folder and study.db to start again"
            ) from None
        if len(predictions) != len(dataset):
            raise BadInput(f"{path}: {len(predictions):,} predictions for {len(dataset):,} problems")
        return predictions

    def luck(self, trials: Sequence[Trial], seed: int) -> BestOfTrials:
        """Judge the share of luck in the best trial's accuracy.

        `seed` is for simulated guessers.
        """
        choices = {}
        for trial in trials:
            trial_name = TrialName(name=str(trial.folder))
            predictions = self.predictions(trial, DEV)
            choices[trial_name] = [prediction.prediction for prediction in predictions]
        answers = Answers.of_trials(self.dev, choices)
        return judge_best(answers, seed=seed)


def search_findings(
    run: dict[str, Any],
    data: TrainingData,
    out: Path,
    space: SearchSpace,
    ended: Mapping[str, Sequence[Trial]],
    human: float | None = None,
) -> SearchFindings:
    """Summarise the trials of every formalization.

    `run` describes the search, `out` is its folder, and `ended` has the ended trials by formalization. `human` is the
    accuracy of people, or None for that on the dev set's card. Raises BadInput if no trial is finished.
    """
    sets = TrialPredictions(data, out)
    model = run["model"]
    seed = run["seed"]
    findings = tuple(finding(name, trials, sets, model, seed) for name, trials in ended.items())
    trials = list(chain.from_iterable(ended.values()))
    if not any(finding.ensemble for finding in findings):
        reason = next((trial.ended.why for trial in trials if trial.ended.why), "")
        raise BadInput(f"no trial finished (the first: {reason})")
    done = [trial for trial in trials if trial.ended.state == DONE]
    if human is None:
        human = sets.dev.card.human_accuracy
    return SearchFindings(
        folder=out,
        run=run,
        space=space,
        dev=sets.dev,
        tests=sets.tests,
        found=findings,
        chance=sets.chance,
        majority=sets.majority,
        human=human,
        overall=sets.luck(done, seed),
        notes=tuple(_collect_notes(trials)),
    )


def _collect_notes(trials: Sequence[Trial]) -> list[str]:
    """Return the distinct notes of all trials, and one on failures."""
    notes = list(dict.fromkeys(chain.from_iterable(trial.ended.notes for trial in trials)))
    failed = [trial for trial in trials if trial.ended.state == FAILED]
    if failed:
        first = failed[0]
        notes.append(
            f"{len(failed):,} trials failed; the same command tries them again "
            f"(the first, {first.formalization} {first.number}: {first.ended.why})"
        )
    return notes


def finding(
    formalization: str, trials: Sequence[Trial], predictions: TrialPredictions, model: str, seed: int
) -> SearchFinding:
    """Summarise the ended trials of one formalization.

    `model` is its name in rows, and `seed` that of the search.
    """
    best_first = ranked(trials)
    dev = predictions.dev
    guess, _ = chances_of_guessing(dev, formalization)
    row = partial(_make_row, dev.card.name, model, formalization)
    metrics = list(_count_states(trials, row))
    if not best_first:
        return SearchFinding(formalization, tuple(trials), guess, metrics=tuple(metrics))
    accuracies = [trial.ended.accuracy or 0.0 for trial in best_first]
    spread_of_scores = spread(accuracies)
    finished_trials = sorted(best_first, key=lambda trial: trial.number)
    luck = predictions.luck(finished_trials, seed)
    ensemble = best_first[:TOP]
    metrics += _make_spread_rows(spread_of_scores, best_first, guess, row)
    metrics.append(row("search", "majority_class", predictions.majority, len(dev)))
    metrics += _make_luck_rows(luck, guess, row)
    for tries in tries_up_to(spread_of_scores.n):
        expected = best_of(accuracies, tries)
        metrics.append(row("luck", f"best_of_{tries}_accuracy", expected, spread_of_scores.n, chance=guess))
    ensemble_name = f"ensemble of {len(ensemble)} of {len(best_first)} trials"
    votes = {}
    for name, dataset in {DEV: dev, **predictions.tests}.items():
        ballots = [predictions.predictions(trial, name) for trial in ensemble]
        votes[name] = voted(dataset, ballots, ensemble_name)
        for protocol, answered in ((CHOSEN, ballots[0]), (ENSEMBLE, votes[name])):
            note = "chosen on this set" if name == DEV else None
            for metric in rows(dataset, answered, name):
                metrics.append(replace(metric, model=model, protocol=protocol, note=note))
    return SearchFinding(
        formalization,
        tuple(trials),
        guess,
        spread=spread_of_scores,
        luck=luck,
        ensemble=tuple(ensemble),
        metrics=tuple(metrics),
        voted=votes,
    )


def _make_spread_rows(scores: Spread, trials: Sequence[Trial], guess: float, row: Any) -> Iterator[Metric]:
    """Yield rows on the spread of scores on the dev set.

    `row` makes a row from protocol, metric, value and n.
    """
    for name in ("median", "lower_quartile", "upper_quartile", "best", "worst"):
        yield row("search", f"{name}_accuracy", getattr(scores, name), scores.n, chance=guess)
    for name in ("std", "excess_kurtosis"):
        value = getattr(scores, name)
        if value is not None:
            yield row("search", name, value, scores.n)
    group_accuracies = [trial.ended.group_accuracy for trial in trials if trial.ended.group_accuracy is not None]
    if group_accuracies:
        median = float(np.median(group_accuracies))
        yield row("search", "median_group_accuracy", median, len(group_accuracies))


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Return the finished trials, the best on the dev set first.

    Of equals, the one with the lower number comes first.
    """
    done = [trial for trial in trials if trial.ended.state == DONE and trial.ended.accuracy is not None]
    return sorted(done, key=lambda trial: (-(trial.ended.accuracy or 0.0), trial.number))


def voted(dataset: Dataset, ballots: Sequence[Sequence[Prediction]], model: str) -> list[Prediction]:
    """Return the majority vote of several trials on each problem.

    `ballots` has the predictions of each trial, and `model` is the name of the ensemble. Scores are shares of the
    votes, without abstentions. A tie is "no" for a yes/no judgement, as in the authors' code, and otherwise an
    abstention.
    """
    predictions = []
    for problem, *votes in zip(dataset, *ballots, strict=True):
        choices = [vote.prediction for vote in votes if vote.prediction is not None]
        question = (votes[0].id, votes[0].variant, model, votes[0].scoring)
        if not choices:
            predictions.append(Prediction(*question, None, None, problem.answer, "no trial decided"))
            continue
        candidate_indices = range(len(problem.candidates))
        shares = tuple(choices.count(index) / len(choices) for index in candidate_indices)
        choice, reason = decide(shares)
        if choice is None and problem.query is not None:
            choice = NO
            reason = None
        predictions.append(Prediction(*question, shares, choice, problem.answer, reason))
    return predictions


def tries_up_to(most: int) -> list[int]:
    """Return the numbers of trials for which the expected best is reported.

    They are those of `TRIES` (1, 2, 5, 10 and so on) below `most`, and `most` itself, the number of finished trials.
    """
    return [*(tries for tries in TRIES if tries < most), most]


def _make_luck_rows(lucky: BestOfTrials, guess: float, row: Any) -> Iterator[Metric]:
    """Yield rows on the share of luck in the best trial.

    `guess` is the accuracy of guessing, and `row` makes a row from protocol, metric, value and n.
    """
    n = lucky.trials
    yield row("luck", "best_accuracy", lucky.best, n, chance=guess)
    yield row("luck", "best_of_guessers_accuracy", lucky.guessing, n, chance=guess)
    yield row("luck", "p_best_of_guessers", lucky.p_guessing, n)
    yield row("luck", "best_of_equals_accuracy", lucky.equal, n, chance=guess)
    yield row("luck", "p_best_of_equals", lucky.p_equal, n)
    if lucky.corrected is not None:
        ends = {"low": lucky.low, "high": lucky.high, "chance": guess}
        yield row("luck", "corrected_accuracy", lucky.corrected, lucky.problems, **ends)


def _count_states(trials: Sequence[Trial], row: Any) -> Iterator[Metric]:
    """Yield rows with the numbers of trials by outcome.

    `row` makes a row from protocol, metric, value and n.
    """
    states = [trial.ended.state for trial in trials]
    yield row("search", "n_trials", states.count(DONE), len(trials))
    yield row("search", "n_degenerate", sum(trial.degenerate for trial in trials), len(trials))
    yield row("search", "n_diverged", states.count(DIVERGED), len(trials))
    yield row("search", "n_failed", states.count(FAILED), len(trials))


def _make_row(
    dataset: str, model: str, formalization: str, protocol: str, metric: str, value: float, n: int, **more: Any
) -> Metric:
    """Return a row of the dev set. `more` are its other fields."""
    return Metric(dataset, model, formalization, formalization, protocol, DEV, metric, value, n, **more)
