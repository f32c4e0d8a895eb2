"""Predictions as Python values are read as a file of them is."""

import numpy as np
import pandas
import pytest

import winokit
from winokit.data.predictions.in_memory import run_of_predictions
from winokit.errors import BadInput, Malformed

KINDS = {
    "numbers": lambda data: [problem.answer + 1 for problem in data],
    "texts": lambda data: [problem.right for problem in data],
    "an array": lambda data: np.array([problem.answer + 1 for problem in data]),
    "scores": lambda data: np.array([[-problem.answer, problem.answer - 1] for problem in data]) + 0.5,
    "numbers by id": lambda data: {problem.id: problem.answer + 1 for problem in reversed(data.problems)},
    "scores by id": lambda data: {problem.id: [1.5 - problem.answer, problem.answer] for problem in data},
    "a pandas Series": lambda data: data.to_frame("pandas")["answer"].rename("right"),
    "a polars Series": lambda data: data.to_frame("polars")["answer"],
}


def right_count(data, predictions):
    run = run_of_predictions(predictions, data)
    assert len(run.predictions) == len(data)
    return sum(row.is_right for row in run.predictions)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_values_says_what_was_chosen(twins, kind):
    assert right_count(twins, KINDS[kind](twins)) == len(twins)


def test_a_value_that_is_missing_is_an_abstention(twins):
    labels = [problem.answer + 1 for problem in twins]
    assert right_count(twins, [None, *labels[1:]]) == len(twins) - 1
    assert right_count(twins, [float("nan"), *labels[1:]]) == len(twins) - 1


def test_columns_are_models_by_their_names(twins):
    right = [problem.answer + 1 for problem in twins]
    first = [1] * len(twins)
    frame = twins.to_frame("pandas").assign(gpt=right, llama=first)
    for predictions in (["gpt", "llama"], frame[["gpt", "llama"]], {"gpt": right, "llama": np.array(first)}):
        run = winokit.audit(frame, predictions=predictions)
        accuracy = {row.model: row.value for row in run.metrics if row.metric == "accuracy" and row.subset == "all"}
        assert accuracy == {"gpt": 1.0, "llama": 0.5}
    assert winokit.audit(frame, predictions="gpt").settings["predictions"] == ["gpt"]


def test_a_text_is_a_file_unless_the_frame_has_a_column_of_it(twins, tmp_path):
    with pytest.raises(BadInput, match=r"^gtp: no such file"):
        winokit.audit(twins.to_frame("pandas").assign(gpt=1), predictions="gtp")
    (tmp_path / "labels.lst").write_text("1\n" * len(twins))
    assert winokit.audit(twins, predictions=[tmp_path / "labels.lst"]).accuracy.value == 0.5


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
    right = [problem.answer + 1 for problem in twins]
    frame = pandas.DataFrame({"ID": [problem.id for problem in twins], "good": right, "first": 1})
    run = winokit.audit(twins, predictions=frame[::-1])
    assert run.find("accuracy", "all", "accuracy", model="good").value == 1
    assert run.find("accuracy", "all", "accuracy", model="first").value == 0.5


def test_gate_and_compare_take_values(twins):
    right = [problem.answer + 1 for problem in twins]
    first = [1] * len(twins)
    frame = twins.to_frame("pandas").assign(old=right, new=first)
    outcome = winokit.gate(frame["new"], against="old", data=frame, metric="accuracy")
    assert [(test.old, test.new) for test in outcome.tests] == [(1.0, 0.5)]
    compared = winokit.compare({"old": right, "new": "new"}, data=frame, metric="accuracy")
    assert {compared.pairs[0].first, compared.pairs[0].second} == {"old", "new"}


def test_compare_takes_files_of_predictions_with_their_problems(twins, tmp_path):
    for name, label in (("one", 1), ("two", 2)):
        (tmp_path / f"{name}.lst").write_text(f"{label}\n" * len(twins))
    compared = winokit.compare([tmp_path / "one.lst", tmp_path / "two.lst"], data=twins, metric="accuracy")
    assert len(compared.pairs) == 1
