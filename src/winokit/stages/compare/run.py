"""Paired tests between the scorers of runs, on the problems they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated

from winokit.data.loading import DataLike, load_one
from winokit.data.predictions.in_memory import Predictions, columns_of_frame, run_of_predictions
from winokit.data.runs import Run
from winokit.drawing.wording import join, plural
from winokit.errors import BadInput
from winokit.progress import tell
from winokit.results import Brief
from winokit.settings import Help, verb
from winokit.stages.compare.page import write_comparison
from winokit.stages.compare.pairs import (
    ScorerPair,
    columns_of_models,
    columns_of_named,
    compare_runs,
    names_apart,
    number_notes,
    paired,
)
from winokit.stages.compare.settings import PairSettings


@dataclass(frozen=True, repr=False)
class ComparedRuns(Brief):
    """All paired tests, corrected for their number, and their page."""

    pairs: list[ScorerPair]
    page: Path | None
    """Path of the page, or None if none was written."""
    notes: tuple[str, ...] = ()


@verb
def compare(
    runs: Annotated[
        Sequence[str | Path | Run] | Mapping[str, Run | Predictions],
        Help("Folders of runs, or files of predictions with --data.", metavar="RUN", typed=list[Path]),
    ],
    *,
    settings: PairSettings = PairSettings(),
    out: Annotated[str | Path | None, Help("The folder of the page.", otherwise=Path("comparison"))] = None,
) -> ComparedRuns:
    """Compare runs: paired tests, corrected for their number, and a page.

    Runs are compared on the problems they share; one run with several models is compared within itself. Runs
    over several datasets are paired where they share problems, and the others are named.

    Parameters
    ----------
    runs
        Folders or runs, whose scorers go by the names of their models; or, by the names they are to have, runs or
        predictions in memory of the problems of `data`.
    out
        Where the page is written; None writes none.
    """
    if isinstance(runs, Mapping):
        loaded = _load_runs(runs, settings.data)
        columns = columns_of_named(loaded)
    else:
        loaded = _name_runs(_with_predictions(runs, settings.data))
        columns = columns_of_models(loaded)
    comparisons = compare_runs(loaded, settings.measures, columns)
    if not comparisons:
        raise BadInput(f"{join(list(loaded))} have no problem in common")
    notes = [*unpaired(loaded), *number_notes(columns), *_note_styles(loaded), *replay_notes(loaded)]
    tell(notes)
    page = None
    if out is not None:
        page = write_comparison(loaded, comparisons, Path(out), notes, settings.margin, columns)
    return ComparedRuns(paired(comparisons, settings.margin), page, tuple(notes))


def _load_runs(runs: Mapping[str, Run | Predictions], data: DataLike | None) -> dict[str, Run]:
    """Return the runs by name.

    Predictions become runs on the problems of `data`.
    """
    dataset = None if data is None else load_one(data)
    loaded = {}
    for name, run in runs.items():
        if isinstance(run, Run):
            loaded[name] = run
        else:
            loaded[name] = run_of_predictions(columns_of_frame(run, data), dataset)
    return loaded


def _with_predictions(runs: Sequence[str | Path | Run], data: DataLike | None) -> list[str | Path | Run]:
    """Replace files of predictions by runs on the problems of `data`.

    Runs and folders stay as they are, and so does everything if `data` is None.
    """
    if data is None:
        return list(runs)
    dataset = load_one(data)
    loaded: list[str | Path | Run] = []
    for run in runs:
        if isinstance(run, Run) or Path(run).is_dir():
            loaded.append(run)
        else:
            loaded.append(run_of_predictions(run, dataset))
    return loaded


def unpaired(runs: Mapping[str, Run]) -> list[str]:
    """Notes on datasets whose runs have no problem in common.

    Every two datasets have one note.
    """
    pairs_by_datasets: dict[tuple[str, str], list[tuple[str, str]]] = {}
    ids = {}
    for name, run in runs.items():
        ids[name] = {problem.id for problem in run.dataset}
    for first, second in combinations(runs, 2):
        if ids[first].isdisjoint(ids[second]):
            datasets = (runs[first].dataset.card.name, runs[second].dataset.card.name)
            pairs_by_datasets.setdefault(datasets, []).append((first, second))
    notes = []
    for (first_dataset, second_dataset), pairs in pairs_by_datasets.items():
        first, second = pairs[0]
        fact = f"{first_dataset} and {second_dataset} have no problem in common"
        notes.append(f"{fact}: {plural(len(pairs), 'pair')} of runs not compared, such as {first} and {second}")
    return notes


def _note_styles(runs: Mapping[str, Run]) -> list[str]:
    """Note that runs have variants of different styles, if they do.

    Their texts differ, and only the original problems are the same.
    """
    styles = {name: run.settings.get("style", "default") for name, run in runs.items()}
    if len(set(styles.values())) < 2:
        return []
    run_styles = join([f"{name} ({style})" for name, style in styles.items()])
    return [f"variants are made in different styles, so their rows are not of the same texts: {run_styles}"]


def replay_notes(runs: Mapping[str, Run]) -> list[str]:
    """Note the models of each run whose answers were replayed.

    Replayed answers are taken from the cache. Two runs may then show the same answers.
    """
    notes = []
    for name, run in runs.items():
        notes += [f"{name}: {sentence}" for sentence in run.replay_notes]
    return notes


def _name_runs(runs: Sequence[str | Path | Run]) -> dict[str, Run]:
    """Load runs and give them short, distinct names.

    Names are those of the folders or, for runs in memory, those of their models. If two folders have the same name, all
    folders go by their paths. A run that is listed twice is loaded once.
    """
    distinct_runs: list[str | Path | Run] = []
    for run in runs:
        if isinstance(run, Run) or run not in distinct_runs:
            distinct_runs.append(run)
    folder_names = [Path(run).absolute().name for run in distinct_runs if not isinstance(run, Run)]
    are_distinct = len(set(folder_names)) == len(folder_names)
    names = []
    loaded = []
    for run in distinct_runs:
        if isinstance(run, Run):
            names.append(_describe_models(run))
            loaded.append(run)
        else:
            names.append(Path(run).absolute().name if are_distinct else str(run))
            loaded.append(Run.load(Path(run)))
    return dict(zip(names_apart(names), loaded, strict=True))


def _describe_models(run: Run) -> str:
    """Name of a run in memory: its models, else its files of predictions."""
    models = run.settings.get("models") or run.settings.get("predictions") or ("run",)
    return ", ".join(models)
