"""People's answers as predictions, so that `winokit audit --predictions` runs every protocol on them.

Sakaguchi et al. (2019) take human performance from the majority of three workers for each question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from winokit.collect.study.provenance import Records
from winokit.collect.study.schema import EVALUATE, IMPORTED, ProblemRow, Vote
from winokit.methods.scoring.scorer import Prediction

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

MODEL = "people"


def people_predictions(study: Study, records: Records) -> tuple[list[Prediction], list[str]]:
    """One prediction for each problem and variant that has all its votes, and notes on those that have not."""
    made, waiting = [], 0
    for row in records.problems:
        if row.origin == IMPORTED:
            votes = records.complete(row, EVALUATE)
            if votes is None:
                waiting += 1
            else:
                made.append(majority(row, votes, study.config.tasks.votes))
    notes = [f"{waiting:,} problems do not have all their votes yet and are left out"] if waiting else []
    return made, notes


def majority(row: ProblemRow, votes: list[Vote], asked: int) -> Prediction:
    """What most say, with shares of the votes as scores; a tie, or nobody who can tell, is an abstention."""
    cast = [vote.choice for vote in votes if vote.choice is not None]
    named = (row.family, row.variant, MODEL, f"majority-of-{asked}")
    if not cast:
        return Prediction(*named, None, None, row.answer, "nobody could tell")
    shares = tuple(cast.count(place) / len(cast) for place in range(len(row.candidates)))
    best = [place for place, share in enumerate(shares) if share == max(shares)]
    tie = len(best) > 1
    return Prediction(*named, shares, None if tie else best[0], row.answer, "a tie" if tie else None)
