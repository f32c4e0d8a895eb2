"""Predictions with an index are joined by its labels, and never silently by position against them."""

import numpy as np
import pandas
import pytest

import winokit
from winokit.data.predictions.in_memory import run_of_predictions
from winokit.errors import BadInput
from winokit.progress import telling

ORDER = [3, 0, 5, 1, 4, 2]
"""Another order of the six problems than that of their index."""


@pytest.fixture
def frame(twins):
    """The problems, with a column that answers all of them right but the first."""
    right = [problem.answer + 1 for problem in twins]
    predicted = [3 - right[0], *right[1:]]
    return twins.to_frame("pandas").assign(gpt=predicted)


def accuracy(data, predictions):
    return winokit.audit(data, predictions=predictions).accuracy.value


@pytest.mark.parametrize(
    "labelled",
    [
        pytest.param(lambda frame: frame, id="numbers"),
        pytest.param(lambda frame: frame.set_index(frame["id"].rename(None)), id="texts"),
    ],
)
@pytest.mark.parametrize(
    "predict",
    [
        pytest.param(lambda frame: frame["gpt"], id="a Series"),
        pytest.param(lambda frame: frame[["gpt"]], id="a frame"),
        pytest.param(lambda frame: {"gpt": frame["gpt"]}, id="a Series by name"),
    ],
)
def test_predictions_follow_the_index_labels_of_the_data_frame(frame, labelled, predict):
    labelled_frame = labelled(frame)
    shuffled = labelled_frame.iloc[ORDER]
    assert accuracy(shuffled, predict(labelled_frame)) == 5 / 6
    assert accuracy(labelled_frame, predict(shuffled)) == 5 / 6
    assert accuracy(shuffled, predict(shuffled)) == 5 / 6


def test_a_note_says_that_the_order_changed(frame):
    notes = []
    with telling(notes.append):
        accuracy(frame.iloc[ORDER], frame["gpt"])
    assert notes == ["predictions: put into the order of the data frame by their index labels"]
    notes.clear()
    with telling(notes.append):
        accuracy(frame, frame["gpt"])
    assert notes == []


def test_every_verb_with_data_and_predictions_follows_the_labels(frame):
    shuffled = frame.iloc[ORDER]
    outcome = winokit.gate(frame["gpt"], against="gpt", data=shuffled, metric="accuracy")
    assert [(test.old, test.new) for test in outcome.tests] == [(5 / 6, 5 / 6)]
    compared = winokit.compare({"a": frame["gpt"], "b": "gpt"}, data=shuffled, metric="accuracy")
    assert compared.pairs[0].found.difference == 0
    models = {"a": frame["gpt"], "b": frame["gpt"]}
    banked = winokit.items(shuffled, predictions=models)
    assert banked.judged.matrix.right.sum() == 10


@pytest.mark.parametrize(
    ("predict", "way_out"),
    [
        pytest.param(lambda frame: frame["gpt"], r"\.to_numpy\(\)", id="a Series"),
        pytest.param(lambda frame: {"gpt": frame["gpt"]}, r"\.to_numpy\(\)", id="a Series by name"),
        pytest.param(lambda frame: frame[["gpt"]], r"\.reset_index\(drop=True\)", id="a frame"),
    ],
)
def test_an_index_of_another_order_is_refused_if_the_problems_have_none(twins, frame, predict, way_out):
    with pytest.raises(BadInput, match=rf"^predictions: the index .* 0 to 5 .* \.sort_index\(\) .* {way_out} if"):
        run_of_predictions(predict(frame.iloc[ORDER]), twins)


def test_both_ways_out_are_taken(twins, frame):
    shuffled = frame.iloc[ORDER]
    assert accuracy(twins, shuffled["gpt"].sort_index()) == 5 / 6
    shuffled_twins = winokit.Dataset.from_frame(shuffled)
    assert accuracy(shuffled_twins, shuffled["gpt"].to_numpy()) == 5 / 6
    assert accuracy(shuffled_twins, shuffled[["gpt"]].reset_index(drop=True)) == 5 / 6


def test_any_other_index_says_nothing_of_the_order(twins, frame):
    for index in (list("febdca"), [60, 50, 40, 30, 20, 10], [0, 0, 1, 1, 2, 2], np.array(ORDER) / 2):
        values = pandas.Series(frame["gpt"].to_numpy(), index=index)
        assert accuracy(twins, values) == 5 / 6
        assert accuracy(frame, values) == 5 / 6


def test_polars_has_no_index_and_keeps_its_order(twins, frame):
    polars_frame = twins.to_frame("polars")
    assert accuracy(polars_frame, frame["gpt"].to_numpy()) == 5 / 6
    with pytest.raises(BadInput, match="the problems have no such index"):
        accuracy(polars_frame, frame["gpt"].iloc[ORDER])


def test_labels_that_are_repeated_give_no_order(frame):
    frame.index = [0, 0, 1, 1, 2, 2]
    assert accuracy(frame, frame["gpt"]) == 5 / 6
    with pytest.raises(BadInput, match=r"the index label 0 is repeated; pass \.to_numpy\(\)"):
        accuracy(frame.iloc[ORDER], frame["gpt"])


def test_ids_come_before_the_index(twins, frame):
    with_ids = frame[["id", "gpt"]]
    assert accuracy(twins, with_ids.iloc[ORDER]) == 5 / 6
    relabelled = with_ids.iloc[ORDER].reset_index(drop=True)
    assert accuracy(frame, relabelled) == 5 / 6
