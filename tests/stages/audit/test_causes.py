"""A verdict names its cause if the rows show one, and claims nothing that they deny."""

import pytest

from winokit.drawing.decision import GOOD
from winokit.results import NULL, NULL_ERROR, ONE_CHOICE, Metric, P
from winokit.stages.audit.verdict import verdict


def row(protocol, subset, metric, value, chance=0.5, p=None, interval=(None, None), **details):
    """A row of one scorer; with a p-value it is tested against chance."""
    tested = {} if p is None else {P: p, NULL: chance, NULL_ERROR: 0.02}
    low, high = interval
    name = "open", "m", "own", None, protocol, subset, metric
    return Metric(*name, value, 200, low, high, chance, None, {**tested, **details})


def accuracy(value, p):
    return row("accuracy", "all", "accuracy", value, p=p, interval=(value - 0.04, value + 0.04))


def told_apart(value, p):
    return row("groups", "complete", "told_apart", value, p=p)


def right_way_round(value, p):
    return row("groups", "complete", "right_way_round", value, p=p, p_most=1e-9)


SAME_OPTION = row("dependence", "complete", "same_option", 0.67, chance=None)
FALL = row(
    *("switching", "switchable", "unswitched_minus_switched", 0.5, 0.0),
    p=1e-6,
    interval=(0.4, 0.6),
    first=0.9,
    second=0.4,
)
BY_PLACE = row("position", "all", "first_minus_second", 0.6, 0.0, p=1e-6, first=0.8, second=0.2)
SILENT = row("accuracy", "all", "abstained", 1.0, chance=None)
OFTEN_SILENT = row("accuracy", "all", "abstained", 0.6, chance=None)
AT_CHANCE = accuracy(0.51, 0.7)
ABOVE_CHANCE = accuracy(0.8, 1e-6)


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (
            [AT_CHANCE, told_apart(0.33, 1e-6), SAME_OPTION],
            "it takes the same option for both twins in 67.0 % of pairs",
        ),
        ([ABOVE_CHANCE, FALL], "it loses 50.0 points when the candidates change places"),
        ([accuracy(0.0, None), SILENT], "it answers none of 200 problems"),
        ([accuracy(0.2, 0.7), OFTEN_SILENT], "it leaves 60.0 % of problems undecided"),
        (
            [row("accuracy", "all", "accuracy", 0.5, **{NULL: 0.5, ONE_CHOICE: True})],
            "it always gives the same answer",
        ),
        (
            [AT_CHANCE, BY_PLACE],
            "it goes by the order of the candidates (80.0 % if the right candidate is offered first, 20.0 % if second)",
        ),
    ],
    ids=["same option", "fall", "silent", "often silent", "one answer", "order"],
)
def test_a_verdict_names_what_the_scorer_does_instead_of_reading(rows, cause):
    found = verdict(rows).cause
    assert found is not None
    assert found.text.replace("\u00a0", " ") == cause


@pytest.mark.parametrize(
    "rows",
    [
        [AT_CHANCE],
        [AT_CHANCE, told_apart(0.48, 0.6), SAME_OPTION],
        [AT_CHANCE, row("position", "all", "first_minus_second", 0.1, 0.0, p=0.3, first=0.55, second=0.45)],
        [accuracy(0.5, 0.7), row("accuracy", "all", "abstained", 0.1, chance=None)],
    ],
    ids=["nothing known", "told apart as by chance", "order does not matter", "few silences"],
)
def test_a_verdict_without_a_shown_cause_names_none(rows):
    assert verdict(rows).cause is None


def test_a_good_verdict_needs_no_cause():
    found = verdict([ABOVE_CHANCE, told_apart(0.33, 1e-6), right_way_round(0.9, 1e-6), SAME_OPTION])
    assert found.tone == GOOD
    assert found.cause is None
