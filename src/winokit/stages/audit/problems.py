"""The problems themselves, as small scripts beside the page: one for each variant, loaded when it is looked at.

A page opened from disk may not fetch a file, but it may run a script; so the rows come as a call with one literal.
Forty thousand problems then cost nothing until somebody asks for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.plots import Scorer
from winokit.methods.metrics.measuring import original_id
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.variants import ORIGINAL
from winokit.problem import Dataset, Problem

RIGHT, WRONG, ABSTAINED, UNLABELLED, MISSING = "r", "w", "a", "u", "-"
DIGITS = 5
Key = tuple[str, str]
"""Model and scoring."""
Predictions = Mapping[Key, Mapping[str, Prediction]]
"""By model and scoring, then by the id of the problem; a variant's row carries that of its original."""


@dataclass(frozen=True, slots=True)
class ProblemScript:
    """One file of problems: its variant, its name in the report's folder, and how many it lists."""

    variant: str
    file: str
    n: int


def problem_scripts(run: Run, known: Sequence[Scorer]) -> Iterator[tuple[ProblemScript, str]]:
    """A script for the original problems and one for each variant that was predicted, one at a time."""
    predictions: dict[str, dict[Key, dict[str, Prediction]]] = {ORIGINAL: {}}
    for row in run.predictions:
        predictions.setdefault(row.variant, {}).setdefault((row.model, row.scoring), {})[row.id] = row
    variants = {ORIGINAL: run.dataset, **{name: run.variants[name] for name in run.variants if name in predictions}}
    outcomes = {name: _outcomes(data, predictions[name]) for name, data in variants.items() if name != ORIGINAL}
    main = [(scorer.model, scorer.scoring) for scorer in known]
    for place, (name, dataset) in enumerate(variants.items()):
        by_scorer = predictions[name]
        # Scorers of the report first, then further scorings.
        keys = [key for key in main if key in by_scorer] + [key for key in by_scorer if key not in main]
        models = Counter(model for model, _ in keys)
        names = [key[0] if models[key[0]] == 1 else " · ".join(key) for key in keys]
        others = outcomes if name == ORIGINAL else {}
        rows = [
            _row(problem, [by_scorer[key] for key in keys], _trail(problem.id, keys, others)) for problem in dataset
        ]
        content = {"scorers": names, "variants": list(others), "rows": rows}
        text = f"winokitProblems({place},{json.dumps(content, separators=(',', ':'), allow_nan=False)});\n"
        yield ProblemScript(name, f"problems/{place}.js", len(dataset)), text


def _outcomes(dataset: Dataset, by_scorer: Predictions) -> dict[Key, dict[str, str]]:
    """For each scorer the outcome of the rewritten problem, by the id of its original."""
    there = {original_id(problem) for problem in dataset}
    return {key: {name: outcome(row) for name, row in rows.items() if name in there} for key, rows in by_scorer.items()}


def _trail(name: str, keys: Sequence[Key], others: Mapping[str, Mapping[Key, Mapping[str, str]]]) -> tuple[str, ...]:
    """For each scorer a letter per variant; a variant scored in another way shows the same model's outcome."""
    trails = []
    for model, scoring in keys if others else ():
        letters = []
        for outcomes in others.values():
            same_model = next((key for key in outcomes if key[0] == model), None)
            own = outcomes.get((model, scoring)) or (outcomes[same_model] if same_model else {})
            letters.append(own.get(name, MISSING))
        trails.append("".join(letters))
    return tuple(trails)


def outcome(prediction: Prediction) -> str:
    """One letter for what became of a problem."""
    if prediction.prediction is None:
        return ABSTAINED
    if prediction.answer is None:
        return UNLABELLED
    return RIGHT if prediction.prediction == prediction.answer else WRONG


def _row(problem: Problem, by_scorer: Sequence[Mapping[str, Prediction]], trail: Sequence[str]) -> tuple[Any, ...]:
    origin = original_id(problem)
    choices = tuple(_choice(predictions.get(origin)) for predictions in by_scorer)
    shown = problem.before, problem.pronoun, problem.after, problem.candidates, problem.answer, problem.group
    return (*shown, origin, choices, trail)


def _choice(prediction: Prediction | None) -> tuple[Any, ...]:
    """Outcome, choice, scores and, for an abstention, why. Tuples, which the garbage collector need not watch."""
    if prediction is None:
        return (MISSING,)
    scores = None if prediction.scores is None else tuple([_short(score) for score in prediction.scores])
    row = (outcome(prediction), prediction.prediction, scores)
    return (*row, prediction.why) if prediction.why is not None else row


def _short(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
