"""Whose numbers these are: a scorer is a model and the way it was made to score.

An audit may use further scorings of the same model for protocols that need them (the special word, the pronoun).
Those are no scorers of their own: their rows stand with the model's, under the name of the scoring.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from winokit.data.runs import Run
from winokit.methods.scoring.scorer import Prediction
from winokit.results import Metric


@dataclass(frozen=True, slots=True)
class Scorer:
    """One column of a report."""

    model: str
    scoring: str
    formalization: str | None
    name: str

    def made(self, prediction: Prediction) -> bool:
        """Whether a prediction is this scorer's."""
        return (prediction.model, prediction.scoring) == (self.model, self.scoring)


def scorers(run: Run) -> tuple[Scorer, ...]:
    """The scorers with an accuracy of their own; where nobody has one, everyone who has a row or a prediction."""
    with_accuracy = [_key(row) for row in run.metrics if row.protocol == "accuracy"]
    anyone = [_key(row) for row in run.metrics] or [(p.model, p.scoring, None) for p in run.predictions]
    keys = list(dict.fromkeys(with_accuracy or anyone))
    return tuple(Scorer(*key, _name(key, keys)) for key in keys)


def owner(row: Metric, known: Iterable[Scorer]) -> Scorer | None:
    """The scorer a row stands with: its own, else the first of the same model."""
    known = tuple(known)
    exact = [s for s in known if (s.model, s.scoring, s.formalization) == _key(row)]
    same_model = [s for s in known if s.model == row.model]
    return next(iter(exact or same_model), None)


def borrowed(row: Metric, scorer: Scorer) -> str | None:
    """The row's scoring, where it is not the scorer's own."""
    return None if row.scoring == scorer.scoring else row.scoring


def _key(row: Metric) -> tuple[str, str, str | None]:
    return row.model, row.scoring, row.formalization


def _name(key: tuple[str, str, str | None], keys: list[tuple[str, str, str | None]]) -> str:
    """The model alone where that is enough to tell scorers apart."""
    alone = sum(other[0] == key[0] for other in keys) == 1
    return key[0] if alone else " · ".join(part for part in key if part)
