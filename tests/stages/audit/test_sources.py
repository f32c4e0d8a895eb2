"""Predictions from several places are never taken for one another, and no option is passed over in silence."""

import pytest

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.models.random_model import RandomModel
from winokit.stages.audit.run import audit


def write_labels(path, label):
    """Write the same label for every problem of the open dataset, and return the path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{label}\n" * 428)
    return path


def test_two_files_of_one_name_are_not_merged(tmp_path):
    first = write_labels(tmp_path / "a" / "preds.lst", 1)
    second = write_labels(tmp_path / "b" / "preds.lst", 2)
    with pytest.raises(BadInput, match=r"a/preds\.lst and .*b/preds\.lst both have predictions by 'preds'"):
        audit(predictions=[first, second], protocol="accuracy")


def predict_right(model):
    """Predictions of a model that is always right on the open dataset."""
    rows = []
    for problem in load("open"):
        rows.append(Prediction(problem.id, "original", model, "own", None, problem.answer, problem.answer))
    return rows


def test_a_model_and_its_own_predictions_are_not_merged(tmp_path):
    path = tmp_path / "p.jsonl"
    write_predictions(predict_right("random"), path)
    with pytest.raises(BadInput, match=r"--model and .*p\.jsonl both have predictions by 'random' \(own\)"):
        audit(model="random", predictions=[path], protocol="accuracy")


def test_parts_of_one_scorers_predictions_are_put_together(tmp_path):
    rows = predict_right("one")
    first = tmp_path / "first.jsonl"
    second = tmp_path / "second.jsonl"
    write_predictions(rows[:100], first)
    write_predictions(rows[100:], second)
    run = audit(predictions=[first, second], protocol="accuracy")
    assert run.find("accuracy", "all", "accuracy").n == 428
    assert run.settings["notes"] == []


def test_a_model_or_a_scoring_named_twice_is_refused():
    with pytest.raises(BadInput, match="model 'random' is named twice"):
        audit(model=["random", "random"], protocol="accuracy")
    with pytest.raises(BadInput, match="two models are called 'random'"):
        audit(model=["random", RandomModel()], protocol="accuracy")
    with pytest.raises(BadInput, match="scoring 'own' is named twice"):
        audit(model="random", scoring=["own", "own"], protocol="accuracy")


@pytest.mark.parametrize("option", [{"scoring": "partial"}, {"shots": 2}, {"substitution": "literal"}])
def test_what_is_asked_of_models_is_refused_where_there_is_none(tmp_path, option):
    path = write_labels(tmp_path / "p.lst", 1)
    with pytest.raises(BadInput, match="predictions are used as they are"):
        audit(predictions=[path], **option)


def test_problems_without_any_answer_are_refused_before_the_work(twins):
    without_answers = [problem.replace(answer=None) for problem in twins]
    hidden = twins.with_problems(without_answers)
    with pytest.raises(BadInput, match="no problem has an answer to compare with"):
        audit(hidden, model="random", protocol="accuracy")


def test_perturbed_versions_of_something_else_are_refused():
    with pytest.raises(BadInput, match="open: has no perturbed version of any problem of open"):
        audit(model="random", perturbed=("open",))


def test_perturbed_problems_whose_original_is_missing_are_counted(real_file):
    original_path = real_file("perturbed-wsc/text_original.jsonl")
    gender_path = real_file("perturbed-wsc/text_gender.jsonl")
    run = audit(original_path, model="random", limit=60, protocol="stability", perturbed=[str(gender_path)])
    (note,) = run.left_out
    scored_count = run.find("stability", "gender", "accuracy").n
    assert note.n == len(load(gender_path)) - scored_count
    assert note.n > 0
