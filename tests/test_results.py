"""The one result row: its form in files, its place against chance, and how scores become a choice."""

import json
import math
from dataclasses import replace

import pytest

from winokit.results import CONTRACT, NOT_A_NUMBER, Metric, decide, rows_to_json, stands

ROW = Metric("d", "m", "full", None, "accuracy", "all", "accuracy", 0.75, 100, 0.66, 0.83, 0.5)
DETAILED = replace(ROW, note="by construction", details={"p": 0.03, "seed": 4, "kept": True, "setting": "x=1"})


BARE = replace(ROW, low=None, high=None, chance=None, formalization="mc-mlm")


@pytest.mark.parametrize("row", [ROW, DETAILED, BARE])
def test_a_row_comes_back_from_json_as_it_was(row):
    text = json.dumps(row.to_json())
    assert Metric.from_json(json.loads(text)) == row


def test_a_row_is_flat_and_begins_with_the_names_of_the_contract():
    row = DETAILED.to_json()
    names = ("dataset", "model", "scoring", "formalization", "protocol", "subset", "metric")
    numbers = ("value", "n", "low", "high", "chance")
    assert list(row) == [*CONTRACT, "p", "seed", "kept", "setting"]
    assert CONTRACT[:12] == names + numbers


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_null_and_comes_back_as_no_number(value):
    row = replace(ROW, value=value, low=value, details={"p": value})
    cells = row.to_json()
    for name in ("value", "low", "p"):
        assert cells[name] is None
    json.dumps(cells, allow_nan=False)
    row_read = Metric.from_json(cells)
    assert math.isnan(row_read.value)
    assert row_read.low is None
    assert row_read.details == {}


def test_details_that_say_nothing_are_dropped_when_rows_are_read():
    row = Metric.from_json({**ROW.to_json(), "size": None, "seed": 0})
    assert row.details == {"seed": 0}


def test_a_row_of_fewer_columns_is_read_as_one_that_does_not_know_them():
    cells = ROW.to_json()
    del cells["note"]
    del cells["formalization"]
    assert Metric.from_json(cells) == ROW


def test_rows_of_one_file_have_the_same_columns_in_the_same_places():
    rows = [ROW, replace(ROW, details={"seed": 1}), replace(ROW, details={"p": 0.5})]
    json_rows = rows_to_json(rows)
    columns = {tuple(row) for row in json_rows}
    assert len(columns) == 1
    assert set(columns.pop()) == {*CONTRACT, "seed", "p"}
    assert [row["seed"] for row in json_rows] == [None, 1, None]
    assert [row["p"] for row in json_rows] == [None, None, 0.5]
    assert [Metric.from_json(row) for row in json_rows] == rows
    assert rows_to_json([]) == []


def test_a_row_may_be_held_against_another_value():
    assert stands(ROW) == "above"
    assert stands(ROW, 0.7) == "at"
    assert stands(ROW, 0.9) == "below"
    assert stands(replace(ROW, chance=None), 0.1) == "above"
    assert stands(replace(ROW, chance=None)) == "unknown"
    assert stands(replace(ROW, low=None)) == "unknown"


@pytest.mark.parametrize(
    ("scores", "choice_and_reason"),
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
def test_scores_become_a_choice_or_an_abstention_that_says_why(scores, choice_and_reason):
    assert decide(scores) == choice_and_reason


@pytest.mark.parametrize("nudge", [5e-17, 1e-15])
def test_scores_that_differ_at_all_are_no_tie(nudge):
    is_tie = 0.1 + nudge == 0.1
    expected = (None, "a tie") if is_tie else (1, None)
    assert decide((0.1, 0.1 + nudge)) == expected
