"""A verdict names its cause if the rows show one, and claims nothing that they deny."""

import pytest

from winokit.drawing.decision import GOOD
from winokit.results import NULL, NULL_ERROR, ONE_CHOICE, Metric, P
from winokit.stages.audit.verdict import verdict


def make_row(protocol, subset, metric, value, chance=0.5, p=None, interval=(None, None), **details):
    """Make a row of one scorer, which is tested against chance if it has a p-value."""
    test = {} if p is None else {P: p, NULL: chance, NULL_ERROR: 0.02}
    low, high = interval
    name = ("open", "m", "own", None, protocol, subset, metric)
    return Metric(*name, value, 200, low, high, chance, None, {**test, **details})


def make_accuracy(value, p):
    interval = (value - 0.04, value + 0.04)
    return make_row("accuracy", "all", "accuracy", value, p=p, interval=interval)


def make_told_apart(value, p):
    return make_row("groups", "complete", "told_apart", value, p=p)


def make_right_way_round(value, p):
    return make_row("groups", "complete", "right_way_round", value, p=p, p_most=1e-9)


SAME_OPTION = make_row("dependence", "complete", "same_option", 0.67, chance=None)
SWITCHED = ("switching", "switchable", "unswitched_minus_switched")
FALL = make_row(*SWITCHED, 0.5, 0.0, p=1e-6, interval=(0.4, 0.6), first=0.9, second=0.4)
BY_PLACE = make_row("position", "all", "first_minus_second", 0.6, 0.0, p=1e-6, first=0.8, second=0.2)
SILENT = make_row("accuracy", "all", "abstained", 1.0, chance=None)
OFTEN_SILENT = make_row("accuracy", "all", "abstained", 0.6, chance=None)
AT_CHANCE = make_accuracy(0.51, 0.7)
ABOVE_CHANCE = make_accuracy(0.8, 1e-6)


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (
            [AT_CHANCE, make_told_apart(0.33, 1e-6), SAME_OPTION],
            "it takes the same option for both twins in 67.0 % of pairs",
        ),
        ([ABOVE_CHANCE, FALL], "it loses 50.0 points when the candidates change places"),
        ([make_accuracy(0.0, None), SILENT], "it answers none of 200 problems"),
        ([make_accuracy(0.2, 0.7), OFTEN_SILENT], "it leaves 60.0 % of problems undecided"),
        (
            [make_row("accuracy", "all", "accuracy", 0.5, **{NULL: 0.5, ONE_CHOICE: True})],
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
    point = verdict(rows).cause
    assert point is not None
    assert point.text.replace("\u00a0", " ") == cause


@pytest.mark.parametrize(
    "rows",
    [
        [AT_CHANCE],
        [AT_CHANCE, make_told_apart(0.48, 0.6), SAME_OPTION],
        [AT_CHANCE, make_row("position", "all", "first_minus_second", 0.1, 0.0, p=0.3, first=0.55, second=0.45)],
        [make_accuracy(0.5, 0.7), make_row("accuracy", "all", "abstained", 0.1, chance=None)],
    ],
    ids=["nothing known", "told apart as by chance", "order does not matter", "few silences"],
)
def test_a_verdict_without_a_shown_cause_names_none(rows):
    assert verdict(rows).cause is None


def test_a_good_verdict_needs_no_cause():
    told_apart = make_told_apart(0.33, 1e-6)
    right_way_round = make_right_way_round(0.9, 1e-6)
    result = verdict([ABOVE_CHANCE, told_apart, right_way_round, SAME_OPTION])
    assert result.tone == GOOD
    assert result.cause is None
