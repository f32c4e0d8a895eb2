"""What a training run is worth, from its rows and its signs of trouble.

A run is judged by its test sets, which had no say in it; by the dev set, on which weights are chosen, only where there
is no other. That a model is above guessing does not say that it learned: it may have been before. So nothing here says
"learned".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winokit.drawing.decision import (
    BAD,
    EACH,
    GOOD,
    MIXED,
    PLAIN,
    SEVERAL,
    DecisionTable,
    Verdict,
    VerdictCase,
    VerdictPoint,
    point_of,
    said,
    standing,
    together,
)
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric

TEST, GROUPS, DEV, SIGNS = "test", "groups", "dev", "signs"
YES, NO = "yes", "no"

TRAIN = DecisionTable(
    {TEST: SEVERAL, GROUPS: SEVERAL, DEV: EACH, SIGNS: (YES, NO)},
    (
        VerdictCase(
            {TEST: ABOVE, SIGNS: YES},
            "Above guessing on every test set, and training shows signs of trouble",
            PLAIN,
            "What the model had before training was not measured; it may have had as much.",
        ),
        VerdictCase({TEST: ABOVE, GROUPS: ABOVE}, "Above guessing on every test set, in whole groups too", GOOD),
        VerdictCase({TEST: ABOVE, GROUPS: UNKNOWN}, "Above guessing on every test set", GOOD),
        VerdictCase({TEST: ABOVE, GROUPS: MIXED}, "Above guessing on every test set, in whole groups on some", PLAIN),
        VerdictCase({TEST: ABOVE}, "Above guessing on every test set, and on none in whole groups", PLAIN),
        VerdictCase({TEST: MIXED}, "Above guessing on some test sets, not on others", PLAIN),
        VerdictCase({TEST: AT, DEV: ABOVE}, "Above guessing on the dev set alone, where weights are chosen", BAD),
        VerdictCase({TEST: AT}, "Above guessing on no test set", BAD),
        VerdictCase({TEST: BELOW}, "Below guessing on every test set", BAD),
        VerdictCase(
            {DEV: ABOVE, SIGNS: YES}, "Above guessing on the dev set, and training shows signs of trouble", BAD
        ),
        VerdictCase(
            {DEV: ABOVE},
            "Above guessing on the dev set, where weights are chosen",
            PLAIN,
            "Only a test set says what it has elsewhere.",
        ),
        VerdictCase({DEV: AT}, "Not told from guessing on the dev set", BAD),
        VerdictCase({DEV: BELOW}, "Below guessing on the dev set", BAD),
        VerdictCase({SIGNS: YES}, "Not scored, and training shows signs of trouble", BAD),
        VerdictCase({}, "Not scored: no set with answers was given", PLAIN),
    ),
)


def state_of(rows: Sequence[Metric], warnings: Sequence[str]) -> dict[str, str]:
    """The facts of a run."""
    among = len(judged(rows))
    tests = [row for row in rows if row.subset != DEV]
    dev = next((row for row in rows if row.subset == DEV and row.metric == "accuracy"), None)
    return {
        TEST: together(standing(row, among) for row in tests if row.metric == "accuracy"),
        GROUPS: together(standing(row, among) for row in tests if row.metric == "group_accuracy"),
        DEV: standing(dev, among),
        SIGNS: YES if warnings else NO,
    }


def judged(rows: Sequence[Metric]) -> list[Metric]:
    """The rows a verdict says something of: one family of tests."""
    return [row for row in rows if row.metric in ("accuracy", "group_accuracy")]


def verdict_of_training(
    rows: Sequence[Metric], warnings: Sequence[str], curve: Mapping[str, Any], seed: int
) -> Verdict:
    """A word, a sentence and the findings behind them."""
    case = TRAIN.decide(state_of(rows, warnings))
    early = ", stopped early" if curve["stopped_early"] else ""
    kept = f"; the weights of step {curve['kept_step']:,} were kept" if curve["dev"] else ""
    steps = f"{curve['steps']:,} steps over {curve['examples']:,} examples in {curve['seconds']:,.0f} seconds"
    once = f"This is one run, with seed {seed}; another seed may do otherwise."
    headline = " ".join(part for part in (case.sentence, f"{steps}{early}{kept}.", once) if part)
    return Verdict(case.word, case.tone, headline, tuple(_points(rows, warnings)))


def _points(rows: Sequence[Metric], warnings: Sequence[str]) -> Iterator[VerdictPoint]:
    """Each set, problems and whole groups apart, since these are different populations; then what is wrong."""
    family = judged(rows)
    for row in family:
        place, unit = standing(row, len(family)), "problems" if row.metric == "accuracy" else "groups as a whole"
        yield point_of(f"{row.subset}/{row.metric}", place, f"{where(row)}: {said(row, place, unit)}.")
    for warning in warnings:
        yield VerdictPoint(f"{warning[0].upper()}{warning[1:]}.", BAD, {SIGNS: YES})


def where(row: Metric) -> str:
    """The set of a row, as the page names it."""
    return f"dev: {row.dataset}" if row.subset == DEV else row.dataset
