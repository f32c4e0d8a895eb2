"""A yes/no question that is answered by comparing has its options' chance, in every row that shows its score."""

import pytest

pytest.importorskip("torch")
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.evaluation import rows
from winokit.problem import Dataset, Problem
from winokit.stages.audit.protocols.accuracy import accuracy
from winokit.stages.audit.sheet import AuditSheet

# Jim has two rivals (Ann, Kevin), Kevin three (Jim, Jim and Ann, Ann).
TEXT = "Jim and Ann saw Kevin because "
ABOUT_JIM = Problem(TEXT, " was near.", ("no", "yes"), 0, "he", query="Jim")
ABOUT_KEVIN = Problem(TEXT, " was near.", ("no", "yes"), 1, "he", query="Kevin")
QUESTIONS = Dataset([ABOUT_JIM, ABOUT_KEVIN])


def predict(scoring, *choices):
    """Predictions with these choices for the two questions."""
    predictions = []
    for problem, choice in zip(QUESTIONS, choices, strict=True):
        predictions.append(Prediction(problem.id, "original", "m", scoring, None, choice, problem.answer))
    return predictions


def audit_rows(predictions, *formalization):
    """Rows of an audit of the predictions, by metric."""
    by_id = {prediction.id: [prediction] for prediction in predictions}
    sheet = AuditSheet(QUESTIONS, {"original": by_id}, {}, "m", "own", *formalization)
    return {row.metric: row for row in accuracy.rows(sheet)}


@pytest.mark.parametrize(
    ("scoring", "choices", "chance"),
    [("mc-sent", (0, 1), (2 / 3 + 1 / 4) / 2), ("mc-sent", (0, None), 2 / 3 / 2), ("p-sent", (0, 1), 1 / 2)],
)
def test_chance_is_that_of_the_options_compared(scoring, choices, chance):
    predictions = predict(scoring, *choices)
    trained = {row.metric: row for row in rows(QUESTIONS, predictions, "dev")}
    audited = audit_rows(predictions, scoring)
    assert trained["accuracy"].chance == pytest.approx(chance)
    assert audited["accuracy"].chance == trained["accuracy"].chance
    if None in choices:  # which a coin settles
        expected_chance = chance + 1 / 4
        assert audited["expected_accuracy"].chance == pytest.approx(expected_chance)


def test_predictions_of_no_known_formalization_are_guessed_between_yes_and_no():
    audited = audit_rows(predict("own", 0, 1))
    assert audited["accuracy"].chance == 0.5


def test_a_trained_model_guesses_between_candidates_where_nothing_is_a_yes_no_question():
    problem = Problem("I filled the cup from the jug until ", " was full.", ("the cup", "the jug"), 0)
    prediction = Prediction(problem.id, "original", "m", "own", None, 0, 0)
    sheet = AuditSheet(Dataset([problem]), {"original": {problem.id: [prediction]}}, {}, "m", "own", "mc-mlm")
    chances = {row.metric: row.chance for row in accuracy.rows(sheet)}
    assert chances["accuracy"] == 0.5
