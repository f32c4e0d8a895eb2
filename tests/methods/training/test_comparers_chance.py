"""A yes/no question that is answered by comparing is guessed among its options, in every row that shows its score."""

import pytest

pytest.importorskip("torch")
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.evaluation import rows
from winokit.problem import Dataset, Problem
from winokit.stages.audit.protocols.accuracy import accuracy
from winokit.stages.audit.sheet import AuditSheet

# Jim has two rivals (Ann, Kevin), Kevin three (Jim, Jim and Ann, Ann).
ASKED = Dataset(
    [
        Problem("Jim and Ann saw Kevin because ", " was near.", ("no", "yes"), answer, "he", query=query)
        for query, answer in (("Jim", 0), ("Kevin", 1))
    ]
)


def predicted(scoring, *choices):
    return [
        Prediction(problem.id, "original", "m", scoring, None, choice, problem.answer)
        for problem, choice in zip(ASKED, choices, strict=True)
    ]


@pytest.mark.parametrize(
    ("scoring", "choices", "chance"),
    [("mc-sent", (0, 1), (2 / 3 + 1 / 4) / 2), ("mc-sent", (0, None), 2 / 3 / 2), ("p-sent", (0, 1), 1 / 2)],
)
def test_chance_is_that_of_the_options_compared(scoring, choices, chance):
    made = predicted(scoring, *choices)
    trained = next(row for row in rows(ASKED, made, "dev") if row.metric == "accuracy")
    sheet = AuditSheet(ASKED, {"original": {one.id: [one] for one in made}}, {}, "m", "own", scoring)
    audited = {row.metric: row for row in accuracy.rows(sheet)}
    assert trained.chance == audited["accuracy"].chance == pytest.approx(chance)
    if None in choices:  # which a coin settles
        assert audited["expected_accuracy"].chance == pytest.approx(chance + 1 / 4)


def test_predictions_of_no_known_formalization_are_guessed_between_yes_and_no():
    made = predicted("own", 0, 1)
    sheet = AuditSheet(ASKED, {"original": {one.id: [one] for one in made}}, {}, "m", "own")
    assert next(row for row in accuracy.rows(sheet) if row.metric == "accuracy").chance == 0.5
