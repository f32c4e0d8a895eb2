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
from winokit.problem import grouped
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
    """Return the runs by name. Predictions become runs on the problems of `data`."""
    dataset = None if data is None else load_one(data)
    loaded = {}
    for name, given in runs.items():
        loaded[name] = given if isinstance(given, Run) else run_of_predictions(columns_of_frame(given, data), dataset)
    return loaded


def _with_predictions(runs: Sequence[str | Path | Run], data: DataLike | None) -> list[str | Path | Run]:
    """The runs, with files of predictions read on the problems of `data`."""
    if data is None:
        return list(runs)
    dataset = load_one(data)
    loaded: list[str | Path | Run] = []
    for given in runs:
        is_file = not isinstance(given, Run) and not Path(given).is_dir()
        loaded.append(run_of_predictions(given, dataset) if is_file and not isinstance(given, Run) else given)
    return loaded


def unpaired(runs: Mapping[str, Run]) -> list[str]:
    """Sentences on runs that have no problem in common.

    There is one for every two datasets.
    """
    ids = {name: {problem.id for problem in run.dataset} for name, run in runs.items()}
    disjoint_pairs = [pair for pair in combinations(runs, 2) if not ids[pair[0]] & ids[pair[1]]]
    datasets = grouped((tuple(runs[name].dataset.card.name for name in pair), pair) for pair in disjoint_pairs)
    return [
        f"{one} and {other} have no problem in common: "
        f"{plural(len(pairs), 'pair')} of runs not compared, such as {pairs[0][0]} and {pairs[0][1]}"
        for (one, other), pairs in datasets.items()
    ]


def _note_styles(runs: Mapping[str, Run]) -> list[str]:
    """Note that runs have variants of different styles.

    Only their original problems are the same.
    """
    styles = {name: run.settings.get("style", "default") for name, run in runs.items()}
    if len(set(styles.values())) < 2:
        return []
    run_styles = join([f"{name} ({style})" for name, style in styles.items()])
    return [f"variants are made in different styles, so their rows are not of the same texts: {run_styles}"]


def replay_notes(runs: Mapping[str, Run]) -> list[str]:
    """Note the models whose answers were replayed from the cache.

    Two runs may show the same answers.
    """
    notes = []
    for name, run in runs.items():
        notes += [f"{name}: {sentence}" for sentence in run.replay_notes]
    return notes


def _name_runs(runs: Sequence[str | Path | Run]) -> dict[str, Run]:
    """Load the runs, by short names that tell them apart.

    They are named after their folders, or after the models in them.
    """
    distinct_runs = [run for place, run in enumerate(runs) if isinstance(run, Run) or run not in runs[:place]]
    folders = [Path(run).absolute().name for run in distinct_runs if not isinstance(run, Run)]
    are_told_apart = len(set(folders)) == len(folders)
    names = []
    for run in distinct_runs:
        if isinstance(run, Run):
            models = run.settings.get("models") or run.settings.get("predictions") or ("run",)
            names.append(", ".join(models))
        else:
            names.append(Path(run).absolute().name if are_told_apart else str(run))
    loaded = [run if isinstance(run, Run) else Run.load(Path(run)) for run in distinct_runs]
    return dict(zip(names_apart(names), loaded, strict=True))
