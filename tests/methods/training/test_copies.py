"""Problems that are written three times make nothing surer that is said of a trained model."""

import numpy as np
import pytest

pytest.importorskip("torch")
from support.copies import check_not_surer, repeated, thrice

from winokit.data.loading import load
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.evaluation import rows, symptoms
from winokit.problem import Card, Dataset, Problem
from winokit.stages.train.verdict import state_of

CURVE = {"steps": 10, "examples": 5, "seconds": 1.0, "stopped_early": False, "kept_step": 5, "dev": []}
GUESSING = 0.693
FALLING = [0.7, 0.5, 0.3, 0.2]


def alone(count):
    problems = [Problem(f"Text {at} says ", ".", ("one", "two"), int(at % 3 == 0)) for at in range(count)]
    return Dataset(problems, Card("alone"))


def asked(count):
    problems = [
        Problem(f"Text {at} says ", ".", ("no", "yes"), int((at + span) % 3 == 0), "she", query=query)
        for at in range(count)
        for span, query in enumerate(("Ann", "Bea"))
    ]
    return Dataset(problems, Card("asked"))


def chosen(dataset, right, seed=0, silent=0.0):
    """Choices of which about so many are right, and some left open."""
    rng = np.random.default_rng(seed)
    choices = []
    for problem in dataset:
        choice = problem.answer if rng.random() < right else 1 - problem.answer
        choices.append(None if rng.random() < silent else choice)
    return choices


def predicted(dataset, choices):
    return [
        Prediction(problem.id, "original", "m", "mc-sent", None, choice, problem.answer)
        for problem, choice in zip(dataset, choices, strict=True)
    ]


@pytest.mark.parametrize("dataset", [load("open")[:40], alone(30), asked(15)], ids=["twins", "alone", "asked"])
@pytest.mark.parametrize(("right", "silent"), [(0.5, 0.0), (0.7, 0.0), (0.7, 0.2), (0.95, 0.0), (1.0, 0.0)])
def test_no_row_of_a_trained_model_is_surer_of_copies(dataset, right, silent):
    choices = chosen(dataset, right, silent=silent)
    copies = thrice(dataset)
    once = predicted(dataset, choices)
    copied = predicted(copies, repeated(choices))
    own_rows = rows(dataset, once, "dev")
    copied_rows = rows(copies, copied, "dev")
    check_not_surer(own_rows, copied_rows)
    told, copied_told = (
        symptoms(FALLING, GUESSING, data, predictions, made)
        for data, predictions, made in ((dataset, once, own_rows), (copies, copied, copied_rows))
    )
    assert bool(copied_told) or not told


@pytest.mark.parametrize("right", [0.55, 0.65, 0.75])
def test_no_page_of_a_training_run_says_more_of_copies(right):
    dataset = load("open")[:60]
    for seed in range(5):
        choices = chosen(dataset, right, seed)
        once = rows(dataset, predicted(dataset, choices), "test")
        copied = rows(thrice(dataset), predicted(thrice(dataset), repeated(choices)), "test")
        assert state_of(copied, []) == state_of(once, [])
