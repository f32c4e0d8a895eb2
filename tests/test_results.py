"""The one result row: what files hold of it, where it stands, and how scores become a choice."""

import json
import math
from dataclasses import replace

import pytest

from winokit.results import CONTRACT, NOT_A_NUMBER, Metric, decide, rows_to_json, stands

ROW = Metric("d", "m", "full", None, "accuracy", "all", "accuracy", 0.75, 100, 0.66, 0.83, 0.5)
DETAILED = replace(ROW, note="by construction", details={"p": 0.03, "seed": 4, "kept": True, "setting": "x=1"})


@pytest.mark.parametrize("row", [ROW, DETAILED, replace(ROW, low=None, high=None, chance=None, formalization="mc-mlm")])
def test_a_row_comes_back_from_json_as_it_was(row):
    assert Metric.from_json(json.loads(json.dumps(row.to_json()))) == row


def test_a_row_is_flat_and_begins_with_the_names_of_the_contract():
    row = DETAILED.to_json()
    assert list(row) == [*CONTRACT, "p", "seed", "kept", "setting"]
    assert CONTRACT[:12] == (
        *("dataset", "model", "scoring", "formalization", "protocol", "subset", "metric"),
        *("value", "n", "low", "high", "chance"),
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_null_and_comes_back_as_no_number(value):
    row = replace(ROW, value=value, low=value, details={"p": value})
    written = row.to_json()
    assert (written["value"], written["low"], written["p"]) == (None, None, None)
    json.dumps(written, allow_nan=False)
    again = Metric.from_json(written)
    assert math.isnan(again.value)
    assert (again.low, again.details) == (None, {})


def test_details_that_say_nothing_are_dropped_when_rows_are_read():
    row = Metric.from_json({**ROW.to_json(), "size": None, "seed": 0})
    assert row.details == {"seed": 0}


def test_a_row_of_fewer_columns_is_read_as_one_that_does_not_know_them():
    old = {name: value for name, value in ROW.to_json().items() if name not in ("note", "formalization")}
    assert Metric.from_json(old) == ROW


def test_rows_of_one_file_have_the_same_columns_in_the_same_places():
    rows = [ROW, replace(ROW, details={"seed": 1}), replace(ROW, details={"p": 0.5})]
    written = rows_to_json(rows)
    assert {frozenset(row) for row in written} == {frozenset([*CONTRACT, "seed", "p"])}
    assert [(row["seed"], row["p"]) for row in written] == [(None, None), (1, None), (None, 0.5)]
    assert [Metric.from_json(row) for row in written] == rows
    assert rows_to_json([]) == []
    assert len({tuple(row) for row in written}) == 1


def test_a_row_may_be_held_against_another_value():
    assert stands(ROW) == "above"
    assert stands(ROW, 0.7) == "at"
    assert stands(ROW, 0.9) == "below"
    assert stands(replace(ROW, chance=None), 0.1) == "above"
    assert stands(replace(ROW, chance=None)) == stands(replace(ROW, low=None)) == "unknown"


@pytest.mark.parametrize(
    ("scores", "choice"),
    [
        ((-3.0, -2.5), (1, None)),
        ((-2.0, -2.0), (None, "a tie")),
        ((1.0, 3.0, 3.0), (None, "a tie")),
        ((3.0, 1.0, 1.0), (0, None)),
        ((0.0, -0.0), (None, "a tie")),
        ((math.nan, 1.0), (None, NOT_A_NUMBER)),
        ((1.0, math.nan), (None, NOT_A_NUMBER)),
        ((-math.inf, -1e30), (1, None)),
        ((-math.inf, -math.inf), (None, "a tie")),
        ((math.inf, 0.0), (0, None)),
    ],
)
def test_scores_become_a_choice_or_an_abstention_that_says_why(scores, choice):
    assert decide(scores) == choice


@pytest.mark.parametrize("nudge", [5e-17, 1e-15])
def test_scores_that_differ_at_all_are_no_tie(nudge):
    assert decide((0.1, 0.1 + nudge)) == ((1, None) if 0.1 + nudge != 0.1 else (None, "a tie"))
