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


def lone_problems(count):
    """Problems without twins, of which every third has the second answer."""
    problems = []
    for index in range(count):
        answer = int(index % 3 == 0)
        problems.append(Problem(f"Text {index} says ", ".", ("one", "two"), answer))
    return Dataset(problems, Card("alone"))


def yes_or_no_questions(count):
    """Two questions about each of `count` texts."""
    problems = []
    for index in range(count):
        for number, query in enumerate(("Ann", "Bea"), start=index):
            answer = int(number % 3 == 0)
            problems.append(Problem(f"Text {index} says ", ".", ("no", "yes"), answer, "she", query=query))
    return Dataset(problems, Card("asked"))


def draw_choices(dataset, right, seed=0, silent=0.0):
    """Choices of which about a share `right` are right, and a share `silent` are left open."""
    rng = np.random.default_rng(seed)
    choices = []
    for problem in dataset:
        is_right = rng.random() < right
        choice = problem.answer if is_right else 1 - problem.answer
        choices.append(None if rng.random() < silent else choice)
    return choices


def predict(dataset, choices):
    """Predictions with these choices for the problems of a dataset."""
    predictions = []
    for problem, choice in zip(dataset, choices, strict=True):
        predictions.append(Prediction(problem.id, "original", "m", "mc-sent", None, choice, problem.answer))
    return predictions


DATASETS = {"twins": load("open")[:40], "alone": lone_problems(30), "asked": yes_or_no_questions(15)}


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
@pytest.mark.parametrize(("right", "silent"), [(0.5, 0.0), (0.7, 0.0), (0.7, 0.2), (0.95, 0.0), (1.0, 0.0)])
def test_no_row_of_a_trained_model_is_surer_of_copies(dataset, right, silent):
    choices = draw_choices(dataset, right, silent=silent)
    copies = thrice(dataset)
    predictions = predict(dataset, choices)
    copied_predictions = predict(copies, repeated(choices))
    rows_once = rows(dataset, predictions, "dev")
    copied_rows = rows(copies, copied_predictions, "dev")
    check_not_surer(rows_once, copied_rows)
    symptoms_once = symptoms(FALLING, GUESSING, dataset, predictions, rows_once)
    copied_symptoms = symptoms(FALLING, GUESSING, copies, copied_predictions, copied_rows)
    assert bool(copied_symptoms) or not symptoms_once


@pytest.mark.parametrize("right", [0.55, 0.65, 0.75])
def test_no_page_of_a_training_run_says_more_of_copies(right):
    dataset = load("open")[:60]
    copies = thrice(dataset)
    for seed in range(5):
        choices = draw_choices(dataset, right, seed)
        rows_once = rows(dataset, predict(dataset, choices), "test")
        copied_rows = rows(copies, predict(copies, repeated(choices)), "test")
        assert state_of(copied_rows, []) == state_of(rows_once, [])
