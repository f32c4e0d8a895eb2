"""The judge of many trials: luck in the best score.

The best of n scores on one dev set is high for three reasons: the trial is good, the trial suits these problems by
chance, and n is large. Four numbers tell them apart.

`guessing` is what the best of the trials would reach if right answers changed places: guessers that prefer what these
trials prefer, and agree with one another as these do (`null.py`). `equal` is what the best would reach if all trials
were as good as the middle one and differed only by which problems are in the dev set (White, 2000, "A Reality Check
for Data Snooping"). What is compared is how far the best lies above the middle trial *of the same draw*: a draw of
easy problems lifts all trials alike, and the best score by itself would move with that and hide what one trial has
over the others. `corrected` is what the chosen trial should reach on problems it was not chosen on: in each of many
draws of units with replacement the best trial is chosen on what was drawn and scored on what was not (Tsamardinos,
Greasidou and Borboudakis, 2018, "Bootstrapping the Out-of-sample Predictions for Efficient and Accurate
Cross-validation"). Draws are the same for all trials, so that what trials have in common is not counted as luck.

None of them undoes that each run's weights are those of its best evaluation on the same dev set; a test set does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winokit.answers import Answers
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.intervals import LEVEL, ROUNDING
from winokit.methods.metrics.trials import TrialTable, count_right
from winokit.units import Units

DRAWS = 2000
AT_A_TIME = 200


@dataclass(frozen=True)
class BestOfTrials:
    """Best score of some trials, and what it owes to luck.

    Abstentions count as guesses.
    """

    trials: int
    problems: int
    best: float
    level: float
    """Expected score of the best trial under its null."""
    guessing: float
    """The expected best of the trials if right answers changed places."""
    p_guessing: float
    """The probability that the best of them then does as well."""
    equal: float
    """The expected best if all trials were as good as the middle one."""
    p_equal: float
    """The probability that the best of equals does as well."""
    corrected: float | None
    """The expected score of the chosen trial on other problems; None where a draw leaves none over."""
    low: float | None
    high: float | None
    """Ends of the interval of `corrected`; None without it."""


def judge_best(answers: Answers, *, seed: int = 0, draws: int = DRAWS) -> BestOfTrials:
    """Estimate how much the best of several trials owes to luck.

    Parameters
    ----------
    answers
        The choices of one trial or more for one dev set.
    seed, draws
        Seed and number of random draws: of units with replacement, and of right answers that change places.
    """
    table = TrialTable.of(answers)
    earned = settled_credits(table)
    scores = earned.mean(axis=1)
    best = float(scores.max())
    median = float(np.median(scores))
    guessed = best_if_exchanged(table, draws, seed)
    chosen, ahead = _draw_units(earned, table.problems.units, seed, draws)
    corrected = low = high = None
    if len(chosen):
        corrected = float(chosen.mean())
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(chosen, (tail, (1 + LEVEL) / 2)).tolist()
    level = level_of(table, int(scores.argmax()))
    p_guessing = _estimate_p_as_high(guessed, best)
    equal = median + float(ahead.mean())
    p_equal = _estimate_p_as_high(ahead, best - median)
    return BestOfTrials(
        trials=len(table),
        problems=earned.shape[1],
        best=best,
        level=level,
        guessing=float(guessed.mean()),
        p_guessing=p_guessing,
        equal=min(1.0, equal),
        p_equal=p_equal,
        corrected=corrected,
        low=low,
        high=high,
    )


def settled_credits(table: TrialTable) -> FloatArray:
    """Expected credit of each trial (row) on each problem (column).

    A coin settles abstentions: 1/candidates.
    """
    is_right = table.correct.astype(np.float64)
    return np.where(table.choices < 0, 1 / table.problems.candidates, is_right)


def best_if_exchanged(table: TrialTable, draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """Best score of all trials in each draw of the null."""
    count = table.choices.shape[1]
    coin_parts = np.where(table.choices < 0, 1 / table.problems.candidates, 0.0)
    by_coin = coin_parts.sum(axis=1)
    counts = table.drawn_counts(count_right, draws, seed)
    scores = (counts + by_coin) / count
    best: FloatArray = scores.max(axis=1)
    return best


def level_of(table: TrialTable, row: int) -> float:
    """Expected score of the trial at a row under its null.

    A coin settles abstentions.
    """
    choices = table.choices[row]
    null = table.take([row]).right_test().null or 0.0
    coin_parts = np.where(choices < 0, 1 / table.problems.candidates, 0.0)
    return null + float(coin_parts.mean())


def _estimate_p_as_high(drawn: FloatArray, observed: float) -> float:
    """Share of draws at least as high as the observed score.

    The observed score counts as one more draw.
    """
    as_high = int((drawn >= observed - ROUNDING).sum())
    return (1 + as_high) / (1 + len(drawn))


def _draw_units(earned: FloatArray, units: Units, seed: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Bootstrap units, choose the best trial, and score it on the rest.

    `earned` has the credit of each trial (row) on each problem. Returns two arrays with an entry per draw: the score
    of the chosen trial on units that were not drawn, and how far the best trial is ahead of the middle one if all
    trials are equally good. Draws that leave no unit have no entry in the first.
    """
    sizes = units.sizes.astype(np.float64)
    sums = np.stack([units.sums(trial_credits) for trial_credits in earned], axis=1)  # units by trials
    equals = sums - sizes[:, None] * earned.mean(axis=1)
    rng = np.random.default_rng(seed)
    count = units.count
    chosen = []
    ahead = []
    for start in range(0, draws, AT_A_TIME):
        size = min(AT_A_TIME, draws - start)
        drawn = rng.multinomial(count, np.full(count, 1 / count), size=size)
        unit_counts = drawn.astype(np.float64)
        weight = unit_counts @ sizes
        picked_trials = np.argmax(unit_counts @ sums, axis=1)
        equal_sums = unit_counts @ equals
        ahead.append((equal_sums.max(axis=1) - np.median(equal_sums, axis=1)) / weight)
        is_left_out = (unit_counts == 0).astype(np.float64)
        left_out_sizes = is_left_out @ sizes
        right = (is_left_out @ sums)[np.arange(len(picked_trials)), picked_trials]
        chosen.append(right[left_out_sizes > 0] / left_out_sizes[left_out_sizes > 0])
    return np.concatenate(chosen), np.concatenate(ahead)
