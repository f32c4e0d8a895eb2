"""The two sides of a gate: runs, models and scorings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.answers import Answers
from winokit.data.loading import DataLike, load_one
from winokit.data.predictions.in_memory import (
    Predictions,
    are_files,
    columns_of_frame,
    file_paths,
    is_folder,
    run_of_predictions,
)
from winokit.data.predictions.logs import logged_data
from winokit.data.predictions.read import PredictionFile
from winokit.data.runs import Run
from winokit.drawing.wording import plural
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import SCORINGS
from winokit.problem import Dataset
from winokit.stages.gate.settings import GateSettings

RunLike = Run | Predictions
"""A run, the path of its folder, the path of a file of predictions, or predictions in memory."""


@dataclass(frozen=True)
class GateSide:
    """One of the two runs, and the scorer to compare in it."""

    run: Run
    model: str
    scoring: str

    def answers(self, variant: str = "original") -> Answers:
        """Answers of this scorer to the original problems or a variant."""
        return self.run.answers(variant, self.model, self.scoring)

    @property
    def is_scored_by_us(self) -> bool:
        """Whether winokit scored the predictions.

        The scoring of predictions from a file is the name of its format, or a name from the file.
        """
        return self.scoring.split("?")[0] in SCORINGS


def side_of(run: Run, name: str, model: str | None, scoring: str | None) -> GateSide:
    """Select the model and the scoring of a run.

    `name` is the name of the run for errors. Raises BadInput if there are several and none is named.
    """
    if not run.predictions:
        raise BadInput(f"{name} has no predictions")
    model = _choose_only(f"{name} has several models", (row.model for row in run.predictions), model, "--of")
    model_rows = [row for row in run.predictions if row.model == model]
    scoring = _choose_only(f"{name} has several scorings", (row.scoring for row in model_rows), scoring, "--scoring")
    return GateSide(run, model, scoring)


def _choose_only(problem: str, names: Iterable[str], wanted: str | None, option: str) -> str:
    """Select the wanted name if it is there, else the only name.

    Raises BadInput if there are several, which begins with `problem` and names the `option`.
    """
    distinct_names = list(dict.fromkeys(names))
    if wanted in distinct_names:
        return wanted
    if len(distinct_names) != 1:
        raise BadInput(f"{problem}: name one with {option} ({', '.join(distinct_names)})")
    return distinct_names[0]


def read_sides(new: RunLike, old: RunLike, settings: GateSettings) -> tuple[GateSide, GateSide]:
    """Read the new and the old side.

    Raises BadInput if they differ in more than the model, and UnknownName if neither has the named model or scoring.
    """
    runs = _load_runs({"NEW": new, "--against": old}, settings.data)
    ours, theirs = (side_of(run, name, settings.of, settings.scoring) for name, run in runs.items())
    if settings.of not in (None, ours.model, theirs.model):
        raise UnknownName("model in the runs", str(settings.of), [ours.model, theirs.model])
    if settings.scoring not in (None, ours.scoring, theirs.scoring):
        raise UnknownName("scoring in the runs", str(settings.scoring), [ours.scoring, theirs.scoring])
    _check_alike(ours, theirs)
    return ours, theirs


def _load_runs(sides: Mapping[str, RunLike], data: DataLike | None) -> dict[str, Run]:
    """Load both runs, by their names.

    Predictions become a run on the problems of `data`, of the other run, or of a log that holds its own.
    """
    runs: dict[str, Run] = {}
    predictions: dict[str, Predictions] = {}
    for name, side in sides.items():
        if isinstance(side, Run):
            runs[name] = side
        elif is_folder(side, data):
            runs[name] = Run.load(Path(str(side)))
        else:
            predictions[name] = side
    dataset = _find_problems(runs, predictions, data)
    for name, side_predictions in predictions.items():
        runs[name] = run_of_predictions(columns_of_frame(side_predictions, data), dataset)
    return {name: runs[name] for name in sides}


def _find_problems(
    runs: Mapping[str, Run], predictions: Mapping[str, Predictions], data: DataLike | None
) -> Dataset | None:
    """Load the problems of `data`, of a run, or of a log.

    The first of these that there is. None if there are none.
    """
    if data is not None:
        return load_one(data)
    if runs:
        return next(iter(runs.values())).dataset
    paths: list[str | Path] = []
    for side_predictions in predictions.values():
        if are_files(side_predictions):
            paths += file_paths(side_predictions)
    return _find_logged_problems(paths)


def _find_logged_problems(paths: Iterable[str | Path]) -> Dataset | None:
    """Return the problems of the first file that holds them.

    None if no file of predictions does.
    """
    for path in paths:
        try:
            logged = logged_data([PredictionFile(Path(path))])
        except BadInput:
            continue  # such as predictions by id, which are checked when they are read
        if logged is not None:
            return logged[0]
    return None


def _check_alike(new: GateSide, old: GateSide) -> None:
    """Raise BadInput if the runs differ in more than the model.

    Besides the problems, settings such as shots and prompt must be the same, and the scorings if winokit scored both.
    Only their problems are compared if one is from a file of predictions, which has no settings.
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
    if new.run.settings and old.run.settings:
        names = ["shots", "substitution", "prompt", "style"]
        if new.run.settings.get("shots"):
            names += ["shots_from", "seed"]
        values |= {name: (new.run.settings.get(name), old.run.settings.get(name)) for name in names}
    for name, (new_value, old_value) in values.items():
        if new_value != old_value:
            raise BadInput(f"NEW has {name} {new_value}, --against {old_value}: a gate needs the same")


def scoring_notes(new: GateSide, old: GateSide) -> list[str]:
    """Note that a file does not state the scoring of its predictions.

    No note if both sides have the same scoring.
    """
    if new.scoring == old.scoring:
        return []
    sides = {"NEW": new, "--against": old}
    unscored = [f"{name} ({side.scoring})" for name, side in sides.items() if not side.is_scored_by_us]
    verb = "do" if len(unscored) > 1 else "does"
    return [f"{' and '.join(unscored)} {verb} not say how the model was scored: a difference may be one of scoring"]


def scoring_in_words(new: GateSide, old: GateSide) -> str:
    """The scoring of both sides, or both scorings if they differ."""
    return new.scoring if new.scoring == old.scoring else f"{new.scoring} against {old.scoring}"


def model_names(new: GateSide, old: GateSide, given: tuple[RunLike, RunLike]) -> tuple[str, str]:
    """Names of the new and the old model.

    If they are the same, the names of their folders or files are added. `given` are both sides as the user gave them.
    """
    new_file, old_file = (_get_file_name(side) for side in given)
    if new.model != old.model or new_file == old_file:
        return new.model, old.model
    return _add_file(new.model, new_file), _add_file(old.model, old_file)


def _get_file_name(side: RunLike) -> str:
    """Name of a side's folder or file, empty if in memory."""
    return Path(side).name if isinstance(side, (str, Path)) else ""


def _add_file(model: str, file_name: str) -> str:
    """Name of a model with that of its file, if any."""
    return f"{model} ({file_name})" if file_name else model
