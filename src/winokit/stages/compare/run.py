"""Paired tests between the scorers of several runs, on the problems they share; and their page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated

from winokit.data.loading import DATA_HELP, DataLike, load_one
from winokit.data.predictions.in_memory import Predictions, columns_of_frame, run_of_predictions
from winokit.data.runs import Run
from winokit.drawing.wording import join, plural
from winokit.errors import BadInput
from winokit.methods.metrics.judge_pairs import PairMeasure
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

MARGIN = 5.0
"""Points that matter unless it is said: fewer cannot be shown on the usual test sets."""


@dataclass(frozen=True, repr=False)
class ComparedRuns(Brief):
    """Every paired test, corrected for their number, and the page on them where one was written."""

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
    metric: Annotated[
        Sequence[PairMeasure] | None,
        Help("What to compare by; repeatable. Default: accuracy, and group_accuracy where there are groups."),
    ] = None,
    data: Annotated[
        DataLike | None, Help(f"{DATA_HELP} The problems of files of predictions.", metavar="DATA", shown=False)
    ] = None,
    margin: Annotated[float, Help("The difference that matters, in points.", least=0, most=100)] = MARGIN,
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
    loaded = _runs_by_name(runs, data) if isinstance(runs, Mapping) else _named(_with_predictions(runs, data))
    columns = columns_of_named(loaded) if isinstance(runs, Mapping) else columns_of_models(loaded)
    measures = None if metric is None else tuple(dict.fromkeys(metric))
    comparisons = compare_runs(loaded, measures, columns)
    if not comparisons:
        raise BadInput(f"{join(list(loaded))} have no problem in common")
    notes = [*unpaired(loaded), *number_notes(columns), *_style_notes(loaded), *replay_notes(loaded)]
    tell(notes)
    page = None
    if out is not None:
        page = write_comparison(loaded, comparisons, Path(out), notes, margin, columns)
    return ComparedRuns(paired(comparisons, margin), page, tuple(notes))


def _runs_by_name(runs: Mapping[str, Run | Predictions], data: DataLike | None) -> dict[str, Run]:
    """The runs by their names; predictions become runs on the problems of `data`."""
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
    """The runs that have no problem in common, a sentence for each two datasets they are on."""
    ids = {name: {problem.id for problem in run.dataset} for name, run in runs.items()}
    apart = [pair for pair in combinations(runs, 2) if not ids[pair[0]] & ids[pair[1]]]
    datasets = grouped((tuple(runs[name].dataset.card.name for name in pair), pair) for pair in apart)
    return [
        f"{one} and {other} have no problem in common: "
        f"{plural(len(pairs), 'pair')} of runs not compared, such as {pairs[0][0]} and {pairs[0][1]}"
        for (one, other), pairs in datasets.items()
    ]


def _style_notes(runs: Mapping[str, Run]) -> list[str]:
    """A note if the variants of some runs were made in another style: only the problems as they are are the same."""
    styles = {name: run.settings.get("style", "default") for name, run in runs.items()}
    if len(set(styles.values())) < 2:
        return []
    named = join([f"{name} ({style})" for name, style in styles.items()])
    return [f"variants are made in different styles, so their rows are not of the same texts: {named}"]


def replay_notes(runs: Mapping[str, Run]) -> list[str]:
    """A note for each model of each run of which answers were replayed: two runs may show one and the same answers."""
    return [f"{name}: {sentence}" for name, run in runs.items() for sentence in run.replay_notes]


def _named(runs: Sequence[str | Path | Run]) -> dict[str, Run]:
    """Runs by the shortest names that tell them apart: of their folders, or of the models in them."""
    given = [run for place, run in enumerate(runs) if isinstance(run, Run) or run not in runs[:place]]
    folders = [Path(run).absolute().name for run in given if not isinstance(run, Run)]
    are_told_apart = len(set(folders)) == len(folders)
    names = []
    for run in given:
        if isinstance(run, Run):
            models = run.settings.get("models") or run.settings.get("predictions") or ("run",)
            names.append(", ".join(models))
        else:
            names.append(Path(run).absolute().name if are_told_apart else str(run))
    loaded = [run if isinstance(run, Run) else Run.load(Path(run)) for run in given]
    return dict(zip(names_apart(names), loaded, strict=True))
