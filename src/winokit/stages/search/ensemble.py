"""The five best trials as one: each votes, the majority decides, as Liu et al. (2020) made their test predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.methods.scoring import Prediction
from winokit.problem import Dataset
from winokit.results import decide
from winokit.stages.search.trials import DONE, Trial

TOP = 5
NO = 0
"""The place of "no" among the candidates of a judgement."""


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that are done, the best on the dev set first; of equals, the one with the lower number."""
    done = [trial for trial in trials if trial.ended.state == DONE and trial.ended.accuracy is not None]
    return sorted(done, key=lambda trial: (-(trial.ended.accuracy or 0.0), trial.number))


def voted(dataset: Dataset, ballots: Sequence[Sequence[Prediction]], model: str) -> list[Prediction]:
    """One prediction a problem: the shares of the votes as scores, abstentions not counted.

    A tie is a "no" where problems ask yes or no, as in the authors' code, and an abstention elsewhere.
    """
    made = []
    for problem, *votes in zip(dataset, *ballots, strict=True):
        first = votes[0]
        cast = [vote.prediction for vote in votes if vote.prediction is not None]
        named = first.id, first.variant, model, first.scoring
        if not cast:
            made.append(Prediction(*named, None, None, problem.answer, "no trial decided"))
            continue
        shares = tuple(cast.count(index) / len(cast) for index in range(len(problem.candidates)))
        choice, why = decide(shares)
        if choice is None and problem.query is not None:
            choice, why = NO, None
        made.append(Prediction(*named, shares, choice, problem.answer, why))
    return made


def read_predictions(path: Path, dataset: Dataset) -> list[Prediction]:
    """What a trial predicted of a dataset, in its order."""
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        found = [_prediction(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{path}: cannot be read ({error}); remove the trial's folder and study.db to start again"
        ) from None
    if len(found) != len(dataset):
        raise BadInput(f"{path}: {len(found):,} predictions for {len(dataset):,} problems")
    return found


def _prediction(row: dict[str, Any]) -> Prediction:
    scores = None if row["scores"] is None else tuple(row["scores"])
    named = row["id"], row["variant"], row["model"], row["scoring"]
    return Prediction(*named, scores, row["prediction"], row["answer"], row.get("why"))
