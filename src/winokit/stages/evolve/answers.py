"""What a model answers when a release is filtered against it: every problem, and where it makes sense, switched.

A model that only guesses, or that likes one candidate, seldom gets both twins right and both again with the candidates
in each other's place: so a group counts as solved only where every one of these answers is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.methods.transforms.variants import make_variants
from winokit.models.registry import load_model
from winokit.problem import Dataset
from winokit.progress import Progress

ORIGINAL, SWITCHED = "original", "switched"


@dataclass(frozen=True)
class EvolveAnswers:
    """Which problems a model gets right, as they are and with their candidates switched, by id."""

    model: str
    right: Mapping[str, bool]
    switched: Mapping[str, bool] = field(default_factory=dict)

    def outcomes(self, name: str) -> list[bool]:
        """Everything that was asked about a problem."""
        return [self.right[name], *([self.switched[name]] if name in self.switched else [])]


def answers_of(
    problems: Dataset,
    against: str | Path,
    *,
    scoring: str | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> list[EvolveAnswers]:
    """The answers of a model (a SPEC), or of every model in a file of predictions."""
    if Path(against).is_file():
        return _from_file(problems, Path(against))
    model = load_model(str(against))
    made = make_variants(problems, {SWITCHED})
    asked = {ORIGINAL: problems} | {name: variant.problems for name, variant in made.items()}
    rows = score_variants(asked, model, ScoringPlan(scoring), cache=cache, progress=progress)
    return [_answers(str(against), rows)]


def _answers(model: str, rows: Iterable[Prediction]) -> EvolveAnswers:
    """Right and wrong from predictions, each judged by the answer beside it; an abstention is wrong."""
    right: dict[str, dict[str, bool]] = {ORIGINAL: {}, SWITCHED: {}}
    for row in rows:
        if row.variant in right and row.answer is not None:
            right[row.variant][row.id] = row.prediction == row.answer
    return EvolveAnswers(model, right[ORIGINAL], right[SWITCHED])


def _from_file(problems: Dataset, path: Path) -> list[EvolveAnswers]:
    by_model: dict[tuple[str, str], list[Prediction]] = {}
    for read in read_predictions(path, problems):
        by_model.setdefault((read.model, read.scoring), []).extend(read.predictions)
    found = [_answers(model, rows) for (model, _), rows in by_model.items()]
    for one in found:
        missing = sum(problem.id not in one.right for problem in problems)
        if missing:
            total = f"{missing:,} of the {len(problems):,} problems to filter"
            raise BadInput(f"{path}: no prediction of {one.model} for {total}")
    return found
