"""The two sides of a gate: runs, models and scorings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.answers import Answers
from winokit.data.loading import DataLike, load_one
from winokit.data.predictions.in_memory import Predictions, columns_of_frame, is_folder, run_of_predictions
from winokit.data.runs import Run
from winokit.drawing.wording import plural
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import SCORINGS
from winokit.stages.gate.settings import GateSettings

RunLike = Run | Predictions
"""A run, its folder, a file of predictions, or predictions in memory."""


@dataclass(frozen=True)
class GateSide:
    """One of the two runs, and whose answers in it are compared."""

    run: Run
    model: str
    scoring: str

    def answers(self, variant: str = "original") -> Answers:
        """The answers to the problems of a variant."""
        return self.run.answers(variant, self.model, self.scoring)

    @property
    def is_scored_by_us(self) -> bool:
        """Whether the scoring is one of ours.

        Predictions of files have the name of a format, or their own.
        """
        return self.scoring.split("?")[0] in SCORINGS


def side_of(run: Run, name: str, model: str | None, scoring: str | None) -> GateSide:
    """Select the model and the scoring of a run.

    Raises BadInput if there are several and none is named.
    """
    if not run.predictions:
        raise BadInput(f"{name} has no predictions")
    model = _choose_only(f"{name} has several models", (row.model for row in run.predictions), model, "--of")
    model_rows = [row for row in run.predictions if row.model == model]
    scoring = _choose_only(f"{name} has several scorings", (row.scoring for row in model_rows), scoring, "--scoring")
    return GateSide(run, model, scoring)


def _choose_only(several: str, names: Iterable[str], asked: str | None, option: str) -> str:
    """Select the only name, or the one that is asked for."""
    distinct_names = list(dict.fromkeys(names))
    if len(distinct_names) != 1 and asked not in distinct_names:
        raise BadInput(f"{several}: name one with {option} ({', '.join(distinct_names)})")
    return asked if asked in distinct_names else distinct_names[0]


def read_sides(new: RunLike, old: RunLike, settings: GateSettings) -> "tuple[GateSide, GateSide]":
    """Read the sides to compare.

    Raises BadInput if they differ in more than the model.
    """
    runs = _load_runs({"NEW": new, "--against": old}, settings.data)
    ours, theirs = (side_of(run, name, settings.of, settings.scoring) for name, run in runs.items())
    if settings.of not in (None, ours.model, theirs.model):
        raise UnknownName("model in the runs", str(settings.of), [ours.model, theirs.model])
    if settings.scoring not in (None, ours.scoring, theirs.scoring):
        raise UnknownName("scoring in the runs", str(settings.scoring), [ours.scoring, theirs.scoring])
    _check_alike(ours, theirs)
    return ours, theirs


def _load_runs(given: Mapping[str, RunLike], data: DataLike | None) -> dict[str, Run]:
    """Load both runs.

    Predictions are read with the problems of `data`, or of the other run.
    """
    runs: dict[str, Run] = {}
    for name, side in given.items():
        if isinstance(side, Run):
            runs[name] = side
        elif is_folder(side, data):
            runs[name] = Run.load(Path(str(side)))
    dataset = load_one(data) if data is not None else next((run.dataset for run in runs.values()), None)
    for name, side in given.items():
        if name not in runs:
            assert not isinstance(side, Run)
            runs[name] = run_of_predictions(columns_of_frame(side, data), dataset)
    return {name: runs[name] for name in given}


def _check_alike(new: GateSide, old: GateSide) -> None:
    """Refuse runs that differ in more than the model.

    A file of predictions states only its scoring.
    """
    if new.run.dataset.content_hash != old.run.dataset.content_hash:
        datasets = [side.run.dataset for side in (new, old)]
        described = [f"{dataset.card.name} ({plural(len(dataset), 'problem')})" for dataset in datasets]
        raise BadInput(
            f"NEW is over {described[0]}, --against over {described[1]}: a gate needs the same problems and answers"
        )
    values: dict[str, tuple[Any, Any]] = {}
    if new.is_scored_by_us and old.is_scored_by_us:
        values["scoring"] = (new.scoring, old.scoring)
    ours = new.run.settings
    theirs = old.run.settings
    if ours and theirs:
        names = ["shots", "substitution", "prompt", "style"]
        if ours.get("shots"):
            names += ["shots_from", "seed"]
        values |= {name: (ours.get(name), theirs.get(name)) for name in names}
    for name, (own, other) in values.items():
        if own != other:
            raise BadInput(f"NEW has {name} {own}, --against {other}: a gate needs the same")


def scoring_notes(new: GateSide, old: GateSide) -> list[str]:
    """Note that a file does not state how its predictions were scored."""
    if new.scoring == old.scoring:
        return []
    unknown = [
        f"{name} ({side.scoring})" for name, side in (("NEW", new), ("--against", old)) if not side.is_scored_by_us
    ]
    verb = "do" if len(unknown) > 1 else "does"
    return [f"{' and '.join(unknown)} {verb} not say how the model was scored: a difference may be one of scoring"]


def scoring_in_words(new: GateSide, old: GateSide) -> str:
    """The scorings of both sides in words."""
    return new.scoring if new.scoring == old.scoring else f"{new.scoring} against {old.scoring}"


def model_names(new: GateSide, old: GateSide, given: tuple[RunLike, RunLike]) -> tuple[str, str]:
    """Names of both models.

    Two of one name have that of the folder or file too.
    """
    places = [Path(each).name if isinstance(each, (str, Path)) else "" for each in given]
    if new.model == old.model and places[0] != places[1]:
        names = [f"{new.model} ({place})" if place else new.model for place in places]
        return names[0], names[1]
    return new.model, old.model
