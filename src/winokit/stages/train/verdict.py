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
    """Name of a row's set, marked if it is the dev set."""
    return f"dev: {row.dataset}" if row.subset == DEV else row.dataset


def judged_rows(rows: Sequence[Metric]) -> list[Metric]:
    """Select the rows that the verdict tests against chance.

    These are accuracy and group accuracy on every set, which share one level.
    """
    return [row for row in rows if row.metric in ("accuracy", "group_accuracy")]


def state_of(rows: Sequence[Metric], warnings: Sequence[str]) -> dict[str, str]:
    """State of each fact of the decision table.

    It is read from the rows and warnings of a run. The table has a verdict for each combination of states.
    """
    among = len(judged_rows(rows))
    dev_row = next((row for row in rows if row.subset == DEV and row.metric == "accuracy"), None)
    signs = YES if warnings else NO
    has_one_place = any(row.is_in_one_place for row in rows)
    places = ONE if has_one_place else MORE
    return {
        TEST: _find_test_standing(rows, "accuracy", among),
        GROUPS: _find_test_standing(rows, "group_accuracy", among),
        DEV: decision.standing(dev_row, among),
        SIGNS: signs,
        PLACES: places,
    }


def _find_test_standing(rows: Sequence[Metric], metric: str, among: int) -> str:
    """Standing of a metric against chance, over all test sets.

    `among` is the number of rows tested together, by which the significance level is divided.
    """
    test_rows = [row for row in rows if row.subset != DEV and row.metric == metric]
    return decision.together(decision.standing(row, among) for row in test_rows)


def verdict_of_training(
    rows: Sequence[Metric], warnings: Sequence[str], curve: Mapping[str, Any], seed: int
) -> Verdict:
    """The verdict on a training run, with the findings behind it.

    `curve` is the content of curve.json.
    """
    case = TRAIN.decide(state_of(rows, warnings))
    sentences = []
    if case.sentence:
        sentences.append(case.sentence)
    sentences.append(_describe_steps(curve))
    sentences.append(f"This is one run, with seed {seed}; another seed may give another result.")
    points = (*_describe_rows(rows), *_describe_warnings(warnings))
    return Verdict(case.word, case.tone, " ".join(sentences), points)


def _describe_steps(curve: Mapping[str, Any]) -> str:
    """Sentence on the steps, their time, and the weights kept.

    `curve` is the content of curve.json.
    """
    time = f"{curve['seconds']:,.0f} seconds"
    words = f"{curve['steps']:,} steps over {curve['examples']:,} examples in {time}"
    if curve["stopped_early"]:
        words += ", stopped early"
    if curve["dev"]:
        words += f"; the weights of step {curve['kept_step']:,} were kept"
    return f"{words}."


def _describe_rows(rows: Sequence[Metric]) -> Iterator[VerdictPoint]:
    """Yield a finding per set and metric.

    Problems and whole groups are different populations.
    """
    tested_rows = judged_rows(rows)
    for row in tested_rows:
        row_standing = decision.standing(row, len(tested_rows))
        unit = "problems" if row.metric == "accuracy" else "groups as a whole"
        result = decision.said(row, row_standing, unit)
        if row.is_in_one_place:
            result = f"{say(row)} of {row.n:,} {unit}: {row.note}"
        claim = f"{row.subset}/{row.metric}"
        sentence = f"{name_of_set(row)}: {result}."
        yield decision.point_of(claim, row_standing, sentence)


def _describe_warnings(warnings: Sequence[str]) -> Iterator[VerdictPoint]:
    """Yield a finding per warning of the run."""
    for warning in warnings:
        sentence = f"{warning[0].upper()}{warning[1:]}."
        yield VerdictPoint(sentence, BAD, {SIGNS: YES})
