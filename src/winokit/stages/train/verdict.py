"""The verdict on a training run.

A run is judged by its test sets, which had no say in it. The dev set, on which weights are chosen, judges it only if
there is no test set. A model above chance may have been above it before training, so no sentence says "learned".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winokit.drawing import decision
from winokit.drawing.decision import BAD, EACH, SEVERAL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.wording import say
from winokit.results import Metric

TEST = "test"
GROUPS = "groups"
DEV = "dev"
SIGNS = "signs"
PLACES = "places"
YES = "yes"
NO = "no"
ONE = "one"
MORE = "several"

TRAIN = DecisionTable.of_stage(
    "train", {TEST: SEVERAL, GROUPS: SEVERAL, DEV: EACH, SIGNS: (YES, NO), PLACES: (ONE, MORE)}
)


def name_of_set(row: Metric) -> str:
    """The set of a row, as the page names it."""
    return f"dev: {row.dataset}" if row.subset == DEV else row.dataset


def judged_rows(rows: Sequence[Metric]) -> list[Metric]:
    """The rows that the verdict is about: one family of tests."""
    return [row for row in rows if row.metric in ("accuracy", "group_accuracy")]


def state_of(rows: Sequence[Metric], warnings: Sequence[str]) -> dict[str, str]:
    """The facts of a run."""
    among = len(judged_rows(rows))
    tests = [row for row in rows if row.subset != DEV]
    dev = next((row for row in rows if row.subset == DEV and row.metric == "accuracy"), None)
    return {
        TEST: decision.together(decision.standing(row, among) for row in tests if row.metric == "accuracy"),
        GROUPS: decision.together(decision.standing(row, among) for row in tests if row.metric == "group_accuracy"),
        DEV: decision.standing(dev, among),
        SIGNS: YES if warnings else NO,
        PLACES: ONE if any(row.is_in_one_place for row in rows) else MORE,
    }


def verdict_of_training(
    rows: Sequence[Metric], warnings: Sequence[str], curve: Mapping[str, Any], seed: int
) -> Verdict:
    """A word, a sentence and the findings behind them."""
    case = TRAIN.decide(state_of(rows, warnings))
    early = ", stopped early" if curve["stopped_early"] else ""
    kept_weights_note = f"; the weights of step {curve['kept_step']:,} were kept" if curve["dev"] else ""
    steps = f"{curve['steps']:,} steps over {curve['examples']:,} examples in {curve['seconds']:,.0f} seconds"
    once = f"This is one run, with seed {seed}; another seed may give another result."
    headline = " ".join(part for part in (case.sentence, f"{steps}{early}{kept_weights_note}.", once) if part)
    points = [*_describe_rows(rows), *_describe_warnings(warnings)]
    return Verdict(case.word, case.tone, headline, tuple(points))


def _describe_rows(rows: Sequence[Metric]) -> Iterator[VerdictPoint]:
    """One finding per set, problems apart from whole groups: these are different populations."""
    family = judged_rows(rows)
    for row in family:
        row_standing = decision.standing(row, len(family))
        unit = "problems" if row.metric == "accuracy" else "groups as a whole"
        result = decision.said(row, row_standing, unit)
        if row.is_in_one_place:
            result = f"{say(row)} of {row.n:,} {unit}: {row.note}"
        yield decision.point_of(f"{row.subset}/{row.metric}", row_standing, f"{name_of_set(row)}: {result}.")


def _describe_warnings(warnings: Sequence[str]) -> Iterator[VerdictPoint]:
    for warning in warnings:
        yield VerdictPoint(f"{warning[0].upper()}{warning[1:]}.", BAD, {SIGNS: YES})
