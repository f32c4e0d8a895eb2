"""Rows as winokit writes them come back the same, and a row that cannot be one is named."""

import pytest
from support.json_rows import json_lines
from support.reading import choices_of, read_only_part
from support.scoring import score

from winokit.data.predictions.read import read_predictions
from winokit.errors import Malformed
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.models.random_model import RandomModel
from winokit.problem import Dataset


def winokit_row(problem, prediction=0, **more):
    """Row of a model m that chooses the first candidate, with some fields changed."""
    row = {"id": problem.id, "variant": "original", "model": "m", "scoring": "full", "scores": [-1.0, -2.0]}
    return row | {"prediction": prediction, "answer": problem.answer} | more


@pytest.fixture
def write_rows(tmp_path):
    def write(*rows):
        path = tmp_path / "predictions.jsonl"
        path.write_text(json_lines(rows))
        return path

    return write


def test_what_winokit_writes_comes_back_the_same(twins, tmp_path):
    predictions = score(twins, RandomModel(seed=3))
    write_predictions(predictions, tmp_path / "predictions.jsonl")
    part = read_only_part(tmp_path / "predictions.jsonl", twins)
    assert part.predictions == predictions
    assert part.unmatched == []
    assert part.notes == []


def test_models_scorings_and_variants_are_kept_apart(twins, write_rows):
    path = write_rows(
        winokit_row(twins[0]),
        winokit_row(twins[0], model="other"),
        winokit_row(twins[0], scoring="partial"),
        winokit_row(twins[0], variant="switched", answer=1),
        winokit_row(twins[1]),
    )
    parts = read_predictions(path, twins)
    row_counts = [(part.model, part.scoring, part.variant, len(part.predictions)) for part in parts]
    assert row_counts == [
        ("m", "full", "original", 2),
        ("other", "full", "original", 1),
        ("m", "partial", "original", 1),
        ("m", "full", "switched", 1),
    ]
    assert parts[3].predictions[0].answer == 1


@pytest.mark.parametrize("variant", ["switched", "reversed", "no-cands"])
def test_a_variant_without_scores_is_held_to_the_candidates_of_its_problem(twins, write_rows, variant):
    odd_row = winokit_row(twins[0], 7, variant=variant, scores=None)
    path = write_rows(winokit_row(twins[0]), odd_row)
    reason = r"predictions.jsonl:2: field 'prediction': expected an index from 0 to 1, found 7"
    with pytest.raises(Malformed, match=reason):
        read_predictions(path, twins)


def test_predictions_come_in_the_order_of_the_dataset(twins, write_rows):
    rows = [winokit_row(problem) for problem in reversed(twins)]
    path = write_rows(*rows)
    part = read_only_part(path, twins)
    dataset_ids = [problem.id for problem in twins]
    ids = [prediction.id for prediction in part.predictions]
    assert ids == dataset_ids


def test_an_unknown_id_is_listed_and_not_used(twins, write_rows):
    stranger = winokit_row(twins[1], id="nobody")
    path = write_rows(winokit_row(twins[0]), stranger)
    part = read_only_part(path, twins)
    assert choices_of(part) == [0]
    assert part.unmatched == ["line 2: no problem has the id 'nobody'"]


def test_a_row_made_with_another_order_of_candidates_is_refused(twins, write_rows):
    turned_problem = twins[0].with_order((1, 0))
    turned_data = Dataset([turned_problem, *twins[1:]])
    rows = [winokit_row(problem) for problem in twins]
    path = write_rows(*rows)
    part = read_only_part(path, turned_data)
    assert len(part.predictions) == 5
    assert "the candidates were in another order" in part.unmatched[0]


def test_an_abstention_keeps_its_reason(twins, write_rows):
    path = write_rows(winokit_row(twins[0], None, scores=None, why="a tie"))
    part = read_only_part(path, twins)
    abstention = Prediction(twins[0].id, "original", "m", "full", None, None, 0, "a tie")
    assert part.predictions == [abstention]


def test_model_and_variant_may_be_left_out(twins, write_rows):
    path = write_rows({"id": twins[0].id, "prediction": 1})
    part = read_only_part(path, twins)
    assert part.model == "predictions"
    assert part.variant == "original"
    assert part.predictions[0].prediction == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prediction": 2}, "2: field 'prediction': expected an index from 0 to 1, found 2"),
        ({"prediction": "0"}, "2: field 'prediction': expected a whole number, found '0'"),
        ({"scores": [-1.0]}, "2: field 'scores': expected a list of two or more numbers"),
        ({"scores": [-1.0, float("nan")]}, "2: field 'scores': expected a list of two or more numbers"),
        ({"scores": [1, 10**400]}, "2: field 'scores': expected a list of two or more numbers"),
        ({"scores": [-1.0, -2.0, -3.0]}, "2: field 'scores': expected 2 numbers, one per candidate, found 3"),
        ({"id": 7}, "2: field 'id': expected a string, found 7"),
        ({"model": 7}, "2: field 'model': expected a string, found 7"),
    ],
)
def test_a_malformed_row_is_named_or_skipped_when_lenient(twins, write_rows, change, says):
    changed_row = winokit_row(twins[1]) | change
    path = write_rows(winokit_row(twins[0]), changed_row)
    with pytest.raises(Malformed, match=says.replace("[", r"\[")) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message.startswith(f"{path}:2: ")
    part = read_only_part(path, twins, lenient=True)
    assert len(part.predictions) == 1
    assert "skipped 1 malformed rows" in part.notes[0]
