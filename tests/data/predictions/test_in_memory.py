"""Predictions as Python values are read as a file of them is."""

import numpy as np
import pandas
import pytest

import winokit
from winokit.data.predictions.in_memory import run_of_predictions
from winokit.errors import BadInput, Malformed


def count_right(data, predictions):
    """Number of problems that are answered right by predictions of each."""
    run = run_of_predictions(predictions, data)
    assert len(run.predictions) == len(data)
    return sum(row.is_right for row in run.predictions)


def right_numbers(data):
    return [problem.answer + 1 for problem in data]


def right_scores(data):
    """Array of scores, of which the higher is the answer's."""
    return np.array([[-problem.answer, problem.answer - 1] for problem in data]) + 0.5


@pytest.mark.parametrize(
    "predict",
    [
        pytest.param(right_numbers, id="numbers"),
        pytest.param(lambda data: [problem.right for problem in data], id="texts"),
        pytest.param(lambda data: np.array(right_numbers(data)), id="an array"),
        pytest.param(right_scores, id="scores"),
        pytest.param(lambda data: {p.id: p.answer + 1 for p in reversed(data.problems)}, id="numbers by id"),
        pytest.param(lambda data: {p.id: [1.5 - p.answer, p.answer] for p in data}, id="scores by id"),
        pytest.param(lambda data: data.to_frame("pandas")["answer"].rename("right"), id="a pandas Series"),
        pytest.param(lambda data: data.to_frame("polars")["answer"], id="a polars Series"),
    ],
)
def test_each_kind_of_values_says_what_was_chosen(twins, predict):
    assert count_right(twins, predict(twins)) == len(twins)


def test_a_value_that_is_missing_is_an_abstention(twins):
    labels = right_numbers(twins)
    labels_with_none = [None, *labels[1:]]
    assert count_right(twins, labels_with_none) == len(twins) - 1
    labels_with_nan = [float("nan"), *labels[1:]]
    assert count_right(twins, labels_with_nan) == len(twins) - 1


def test_columns_are_models_by_their_names(twins):
    right = right_numbers(twins)
    first = [1] * len(twins)
    frame = twins.to_frame("pandas").assign(gpt=right, llama=first)
    columns = ["gpt", "llama"]
    by_model = {"gpt": right, "llama": np.array(first)}
    for predictions in (columns, frame[columns], by_model):
        run = winokit.audit(frame, predictions=predictions)
        rows = [row for row in run.metrics if row.metric == "accuracy" and row.subset == "all"]
        accuracies = {row.model: row.value for row in rows}
        assert accuracies == {"gpt": 1.0, "llama": 0.5}


def test_a_model_is_named_by_its_column(twins):
    frame = twins.to_frame("pandas").assign(gpt=right_numbers(twins))
    run = winokit.audit(frame, predictions="gpt")
    assert run.settings["predictions"] == ["gpt"]


def test_a_text_is_a_file_unless_the_frame_has_a_column_of_it(twins, tmp_path):
    frame = twins.to_frame("pandas").assign(gpt=1)
    with pytest.raises(BadInput, match=r"^gtp: no such file"):
        winokit.audit(frame, predictions="gtp")
    path = tmp_path / "labels.lst"
    path.write_text("1\n" * len(twins))
    run = winokit.audit(twins, predictions=[path])
    assert run.accuracy.value == 0.5


@pytest.mark.parametrize(
    ("predictions", "says"),
    [
        ([1, 2], "predictions: 2 rows for the 6 problems of .*the counts must agree"),
        ([1.5] * 6, "numbers with fractions in 6 of 6 rows"),
        ({"strange": 1}, "no problem with the id 'strange'"),
        (np.zeros((6, 3)), "predictions:row 1: .*2 scores"),
        ([["a", "b"]] * 6, r"expected a score for each candidate, found \['a', 'b'\]"),
        ([[]] * 6, r"expected a score for each candidate, found \[\]"),
    ],
)
def test_values_that_are_no_predictions_are_refused_with_their_place(twins, predictions, says):
    with pytest.raises((BadInput, Malformed), match=says):
        winokit.audit(twins, predictions=predictions)


def test_values_need_their_problems():
    with pytest.raises(BadInput, match="predictions in memory belong to problems: name these as data"):
        winokit.audit(predictions=[1, 2])
    with pytest.raises(BadInput, match="predictions without their problems"):
        winokit.gate([1, 2], against=[1, 1])


def test_an_empty_scoring_asks_nobody_and_is_refused(twins):
    with pytest.raises(BadInput, match="scoring: expected a name or several, found none"):
        winokit.audit(twins, model="random", scoring=())


@pytest.mark.parametrize("predictions", [[], {}, np.zeros((0, 2)), pandas.Series(dtype=int), pandas.DataFrame()])
def test_predictions_without_one_are_refused_and_no_model_is_asked_instead(twins, predictions):
    with pytest.raises(BadInput, match="predictions: expected one for each problem, found none"):
        winokit.audit(twins, predictions=predictions)


def test_a_frame_with_ids_is_matched_by_them(twins):
    right = right_numbers(twins)
    ids = [problem.id for problem in twins]
    frame = pandas.DataFrame({"ID": ids, "good": right, "first": 1})
    run = winokit.audit(twins, predictions=frame[::-1])
    good = run.find("accuracy", "all", "accuracy", model="good")
    assert good.value == 1
    first = run.find("accuracy", "all", "accuracy", model="first")
    assert first.value == 0.5


def test_gate_and_compare_take_values(twins):
    right = right_numbers(twins)
    first = [1] * len(twins)
    frame = twins.to_frame("pandas").assign(old=right, new=first)
    outcome = winokit.gate(frame["new"], against="old", data=frame, metric="accuracy")
    differences = [(test.old, test.new) for test in outcome.tests]
    assert differences == [(1.0, 0.5)]
    compared = winokit.compare({"old": right, "new": "new"}, data=frame, metric="accuracy")
    (pair,) = compared.pairs
    assert {pair.first, pair.second} == {"old", "new"}


def test_compare_takes_files_of_predictions_with_their_problems(twins, tmp_path):
    for name, label in (("one", 1), ("two", 2)):
        lines = f"{label}\n" * len(twins)
        (tmp_path / f"{name}.lst").write_text(lines)
    files = [tmp_path / "one.lst", tmp_path / "two.lst"]
    compared = winokit.compare(files, data=twins, metric="accuracy")
    assert len(compared.pairs) == 1
