"""Predictions from several places: none is taken for another, and nothing that was asked is passed over in silence."""

import pytest

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.models.random_model import RandomModel
from winokit.stages.audit.run import audit


def labels(path, label):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{label}\n" * 428)
    return path


def test_two_files_of_one_name_are_not_merged(tmp_path):
    files = [labels(tmp_path / folder / "preds.lst", label) for label, folder in ((1, "a"), (2, "b"))]
    with pytest.raises(BadInput, match=r"a/preds\.lst and .*b/preds\.lst both have predictions by 'preds'"):
        audit(predictions=files, protocol="accuracy")


def test_a_model_and_its_own_predictions_are_not_merged(tmp_path):
    rows = [Prediction(p.id, "original", "random", "own", None, 0, p.answer) for p in load("open")]
    write_predictions(rows, tmp_path / "p.jsonl")
    with pytest.raises(BadInput, match=r"--model and .*p\.jsonl both have predictions by 'random' \(own\)"):
        audit(model="random", predictions=[tmp_path / "p.jsonl"], protocol="accuracy")


def test_parts_of_one_scorers_predictions_are_put_together(tmp_path):
    rows = [Prediction(p.id, "original", "one", "own", None, p.answer, p.answer) for p in load("open")]
    write_predictions(rows[:100], tmp_path / "first.jsonl")
    write_predictions(rows[100:], tmp_path / "second.jsonl")
    run = audit(predictions=[tmp_path / "first.jsonl", tmp_path / "second.jsonl"], protocol="accuracy")
    assert run.find("accuracy", "all", "accuracy").n == 428
    assert run.settings["notes"] == []


def test_a_model_or_a_scoring_named_twice_is_refused():
    with pytest.raises(BadInput, match="model 'random' is named twice"):
        audit(model=["random", "random"], protocol="accuracy")
    with pytest.raises(BadInput, match="two models are called 'random'"):
        audit(model=["random", RandomModel()], protocol="accuracy")
    with pytest.raises(BadInput, match="scoring 'own' is named twice"):
        audit(model="random", scoring=["own", "own"], protocol="accuracy")


@pytest.mark.parametrize("asked", [{"scoring": "partial"}, {"shots": 2}, {"substitution": "literal"}])
def test_what_is_asked_of_models_is_refused_where_there_is_none(tmp_path, asked):
    with pytest.raises(BadInput, match="predictions are used as they are"):
        audit(predictions=[labels(tmp_path / "p.lst", 1)], **asked)


def test_problems_without_any_answer_are_refused_before_the_work(twins):
    hidden = twins.with_problems([p.replace(answer=None) for p in twins])
    with pytest.raises(BadInput, match="no problem has an answer to compare with"):
        audit(hidden, model="random", protocol="accuracy")


def test_perturbed_versions_of_something_else_are_refused():
    with pytest.raises(BadInput, match="open: has no perturbed version of any problem of open"):
        audit(model="random", perturbed=("open",))


def test_perturbed_problems_whose_original_is_missing_are_counted(real_file):
    gender = real_file("perturbed-wsc/text_gender.jsonl")
    run = audit(
        real_file("perturbed-wsc/text_original.jsonl"),
        model="random",
        limit=60,
        protocol="stability",
        perturbed=[str(gender)],
    )
    (left,) = run.left_out
    assert left.n == len(load(gender)) - run.find("stability", "gender", "accuracy").n > 0
