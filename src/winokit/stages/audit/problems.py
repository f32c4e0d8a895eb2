"""The problems themselves, as small scripts beside the page: one for each variant, loaded when it is looked at.

A page opened from disk may not fetch a file, but it may run a script; so the rows come as a call with one literal.
Forty thousand problems then cost nothing until somebody asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.plots import Scorer
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem

ORIGINAL = "original"
RIGHT, WRONG, ABSTAINED, UNLABELLED, MISSING = "r", "w", "a", "u", "-"
DIGITS = 5


@dataclass(frozen=True, slots=True)
class ProblemScript:
    """One file of problems: its variant, its name in the report's folder, and how many it lists."""

    variant: str
    file: str
    n: int


Predictions = Mapping[tuple[str, str], Mapping[str, Prediction]]
"""By model and scoring, then by the id of the problem; a variant's row carries that of its original."""


def problem_scripts(run: Run, known: Sequence[Scorer]) -> Iterator[tuple[ProblemScript, str]]:
    """A script for the original problems and one for each variant that was predicted, one at a time."""
    predictions = _by_variant(run.predictions)
    variants = {ORIGINAL: run.dataset, **{name: run.variants[name] for name in run.variants if name in predictions}}
    outcomes = {name: _outcomes(data, predictions.get(name, {})) for name, data in variants.items() if name != ORIGINAL}
    for place, (name, dataset) in enumerate(variants.items()):
        made = predictions.get(name, {})
        keys = _ordered(made, known)
        others = outcomes if name == ORIGINAL else {}
        rows = [_row(problem, [made[key] for key in keys], _trail(problem, keys, others)) for problem in dataset]
        content = {"scorers": [_name(key, keys) for key in keys], "variants": list(others), "rows": rows}
        text = f"winokitProblems({place},{json.dumps(content, separators=(',', ':'), allow_nan=False)});\n"
        yield ProblemScript(name, f"problems/{place}.js", len(dataset)), text


def _by_variant(predictions: Iterable[Prediction]) -> dict[str, dict[tuple[str, str], dict[str, Prediction]]]:
    found: dict[str, dict[tuple[str, str], dict[str, Prediction]]] = {}
    for prediction in predictions:
        by_scorer = found.setdefault(prediction.variant, {})
        by_scorer.setdefault((prediction.model, prediction.scoring), {})[prediction.id] = prediction
    return found


def _ordered(made: Predictions, known: Sequence[Scorer]) -> list[tuple[str, str]]:
    """Scorers of the report first, then further scorings."""
    main = [(scorer.model, scorer.scoring) for scorer in known]
    return [key for key in main if key in made] + [key for key in made if key not in main]


def _name(key: tuple[str, str], keys: Sequence[tuple[str, str]]) -> str:
    return key[0] if sum(other[0] == key[0] for other in keys) == 1 else " · ".join(key)


def _outcomes(dataset: Dataset, by_scorer: Predictions) -> dict[tuple[str, str], dict[str, str]]:
    """For each scorer the outcome of the rewritten problem, by the id of its original."""
    there = {_origin(problem) for problem in dataset}
    return {
        key: {name: outcome(made) for name, made in predictions.items() if name in there}
        for key, predictions in by_scorer.items()
    }


def _origin(problem: Problem) -> str:
    of = problem.provenance.get("of")
    return problem.id if of is None else str(of)


def _trail(
    problem: Problem, keys: Sequence[tuple[str, str]], others: Mapping[str, Mapping[tuple[str, str], Mapping[str, str]]]
) -> tuple[str, ...]:
    """For each scorer a letter per variant; a variant scored in another way shows the same model's outcome."""
    if not others:
        return ()
    name = problem.id
    trails = []
    for model, scoring in keys:
        letters = []
        for outcomes in others.values():
            same_model = next((key for key in outcomes if key[0] == model), None)
            found = outcomes.get((model, scoring)) or (outcomes[same_model] if same_model else {})
            letters.append(found.get(name, MISSING))
        trails.append("".join(letters))
    return tuple(trails)


def outcome(prediction: Prediction | None) -> str:
    """One letter for what became of a problem."""
    if prediction is None:
        return MISSING
    if prediction.prediction is None:
        return ABSTAINED
    if prediction.answer is None:
        return UNLABELLED
    return RIGHT if prediction.prediction == prediction.answer else WRONG


def _row(problem: Problem, made: Sequence[Mapping[str, Prediction]], trail: Sequence[str]) -> tuple[Any, ...]:
    origin = _origin(problem)
    return (
        problem.before,
        problem.pronoun,
        problem.after,
        problem.candidates,
        problem.answer,
        problem.group,
        origin,
        tuple(_choice(predictions.get(origin)) for predictions in made),
        trail,
    )


def _choice(prediction: Prediction | None) -> tuple[Any, ...]:
    """Outcome, choice, scores and, for an abstention, why. Tuples, which the garbage collector need not watch."""
    if prediction is None:
        return (MISSING,)
    scores = None if prediction.scores is None else tuple([_short(score) for score in prediction.scores])
    row = (outcome(prediction), prediction.prediction, scores)
    return (*row, prediction.why) if prediction.why is not None else row


def _short(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if isfinite(value) else None
