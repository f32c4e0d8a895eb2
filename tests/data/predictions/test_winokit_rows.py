import json

import pytest
from support.scoring import score

from winokit.data.predictions.read import read_predictions
from winokit.errors import Malformed
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.models.random_model import RandomModel
from winokit.problem import Dataset


def row(problem, prediction=0, **more):
    base = {"id": problem.id, "variant": "original", "model": "m", "scoring": "full", "scores": [-1.0, -2.0]}
    return base | {"prediction": prediction, "answer": problem.answer} | more


@pytest.fixture
def written(tmp_path):
    def write(*rows):
        path = tmp_path / "predictions.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_what_winokit_writes_comes_back_the_same(twins, tmp_path):
    made = score(twins, RandomModel(seed=3))
    write_predictions(made, tmp_path / "predictions.jsonl")
    (read,) = read_predictions(tmp_path / "predictions.jsonl", twins)
    assert read.predictions == made
    assert (read.unmatched, read.notes) == ([], [])


def test_models_scorings_and_variants_are_kept_apart(twins, written):
    path = written(
        row(twins[0]),
        row(twins[0], model="other"),
        row(twins[0], scoring="partial"),
        row(twins[0], variant="switched", answer=1),
        row(twins[1]),
    )
    reads = read_predictions(path, twins)
    assert [(read.model, read.scoring, read.variant, len(read.predictions)) for read in reads] == [
        ("m", "full", "original", 2),
        ("other", "full", "original", 1),
        ("m", "partial", "original", 1),
        ("m", "full", "switched", 1),
    ]
    assert reads[3].predictions[0].answer == 1


@pytest.mark.parametrize("variant", ["switched", "reversed", "no-cands"])
def test_a_variant_without_scores_is_held_to_the_candidates_of_its_problem(twins, written, variant):
    path = written(row(twins[0]), row(twins[0], 7, variant=variant, scores=None))
    with pytest.raises(
        Malformed, match=r"predictions.jsonl:2: field 'prediction': expected an index from 0 to 1, found 7"
    ):
        read_predictions(path, twins)


def test_predictions_come_in_the_order_of_the_dataset(twins, written):
    (read,) = read_predictions(written(*(row(problem) for problem in reversed(twins))), twins)
    assert [made.id for made in read.predictions] == [problem.id for problem in twins]


def test_an_unknown_id_is_listed_and_not_used(twins, written):
    (read,) = read_predictions(written(row(twins[0]), row(twins[1], id="nobody")), twins)
    assert [made.prediction for made in read.predictions] == [0]
    assert read.unmatched == ["line 2: no problem has the id 'nobody'"]


def test_a_row_made_with_another_order_of_candidates_is_refused(twins, written):
    turned = Dataset([twins[0].with_order((1, 0)), *twins[1:]])
    (read,) = read_predictions(written(*(row(problem) for problem in twins)), turned)
    assert len(read.predictions) == 5
    assert "the candidates were in another order" in read.unmatched[0]


def test_an_abstention_keeps_its_reason(twins, written):
    (read,) = read_predictions(written(row(twins[0], None, scores=None, why="a tie")), twins)
    assert read.predictions == [Prediction(twins[0].id, "original", "m", "full", None, None, 0, "a tie")]


def test_model_and_variant_may_be_left_out(twins, written):
    (read,) = read_predictions(written({"id": twins[0].id, "prediction": 1}), twins)
    assert (read.model, read.variant, read.predictions[0].prediction) == ("predictions", "original", 1)


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
def test_a_malformed_row_is_named_or_skipped_when_lenient(twins, written, change, says):
    path = written(row(twins[0]), row(twins[1]) | change)
    with pytest.raises(Malformed, match=says.replace("[", r"\[")) as caught:
        read_predictions(path, twins)
    assert str(caught.value).startswith(f"{path}:2: ")
    (read,) = read_predictions(path, twins, lenient=True)
    assert len(read.predictions) == 1
    assert "skipped 1 malformed rows" in read.notes[0]
