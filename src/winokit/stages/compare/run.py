"""Paired tests between the scorers of several runs, on the problems they share."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np

from winokit.data.runs import Run
from winokit.drawing.plots import scorers
from winokit.drawing.wording import join, plural
from winokit.errors import BadInput
from winokit.methods.metrics.compare import Comparison
from winokit.methods.metrics.compare import compare as paired_test
from winokit.methods.metrics.groups import all_right_chance, complete_groups
from winokit.methods.transforms.variants import ORIGINAL
from winokit.problem import Dataset, Problem, grouped
from winokit.progress import tell
from winokit.results import Brief
from winokit.settings import Help, verb
from winokit.stages.compare.page import ScorerPair, paired, write_comparison


@dataclass(frozen=True, repr=False)
class ComparedRuns(Brief):
    """Every paired test, corrected for their number, and the page on them where one was written."""

    pairs: list[ScorerPair]
    page: Path | None
    notes: tuple[str, ...] = ()


@verb
def compare(
    runs: Annotated[
        Sequence[str | Path | Run] | Mapping[str, Run], Help("Folders of runs.", metavar="RUN", typed=list[Path])
    ],
    *,
    out: Annotated[str | Path | None, Help("The folder of the page.", otherwise=Path("comparison"))] = None,
) -> ComparedRuns:
    """Compare runs: paired tests, corrected for their number, and a page.

    Runs are compared on the problems they share; one run with several models is compared within itself. Of runs over
    several datasets those are paired that can be, and the others are named.

    Parameters
    ----------
    runs
        Folders or runs; or runs by the names they are to have.
    out
        Where the page is written; None writes none.
    """
    loaded = dict(runs) if isinstance(runs, Mapping) else _named(runs)
    comparisons = compare_runs(loaded)
    if not comparisons:
        raise BadInput(f"{join(list(loaded))} have no problem in common")
    notes = unpaired(loaded)
    tell(notes)
    page = None if out is None else write_comparison(loaded, comparisons, Path(out), notes)
    return ComparedRuns(paired(comparisons), page, tuple(notes))


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


def _named(runs: Sequence[str | Path | Run]) -> dict[str, Run]:
    """Runs by the shortest names that tell them apart: of their folders, or of the models in them."""
    folders = [Path(run) for run in runs if not isinstance(run, Run)]
    short = len({folder.name for folder in folders}) == len(folders)
    named: dict[str, Run] = {}
    for number, run in enumerate(runs, 1):
        if isinstance(run, Run):
            name = ", ".join(run.settings.get("models") or run.settings.get("predictions") or ("run",))
            named[f"{name} ({number})" if name in named else name] = run
        else:
            named[Path(run).name if short else str(run)] = Run.load(Path(run))
    return named


def compare_runs(runs: Mapping[str, Run]) -> dict[tuple[str, str, str], Comparison]:
    """Every pair of scorers on accuracy and, where there are groups, on group accuracy.

    Problems are matched by id, which depends on their text alone: runs over different files of the same problems can be
    compared. Scorers that share no problem are passed over. Abstentions are settled by guesses, on either side: who
    answers more often is not better for that.
    """
    problems: dict[str, Problem] = {p.id: p for run in runs.values() for p in run.dataset if p.answer is not None}
    right = _right(runs, problems)
    if len(right) < 2:
        raise BadInput("a comparison needs at least two scorers: name two runs, or one with two models")
    sizes = Counter(problem.group for problem in problems.values() if problem.group is not None)
    clusters = dict(zip(problems, Dataset(problems.values()).clusters, strict=True))
    found: dict[tuple[str, str, str], Comparison] = {}
    for first, second in combinations(right, 2):
        shared = [key for key in right[first] if key in right[second]]
        if not shared:
            continue
        one, other = (np.array([right[name][key] for key in shared]) for name in (first, second))
        together = np.array([clusters[key] for key in shared])
        found[first, second, "accuracy"] = paired_test(one, other, together)
        groups = [problems[key].group for key in shared]
        if members := complete_groups(groups, sizes):
            whole = [all_right_chance(values, groups, sizes) for values in (one, other)]
            together = together[[rows[0] for rows in members.values()]]
            found[first, second, "group_accuracy"] = paired_test(whole[0], whole[1], together)
    return found


def _right(runs: Mapping[str, Run], problems: Mapping[str, Problem]) -> dict[str, dict[str, float]]:
    """For each scorer, under its column's name, what it has of each problem: 1, 0, or a guess's worth if silent."""
    right: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        known = scorers(run)
        for scorer in known:
            column = name if len(known) == 1 else f"{name} · {scorer.name}"
            right[column] = {
                # A prediction is judged by the answer beside it: another run may list the candidates in another order.
                p.id: 1 / len(problems[p.id].candidates) if p.prediction is None else float(p.prediction == p.answer)
                for p in run.predictions
                if p.variant == ORIGINAL and p.id in problems and p.answer is not None and scorer.made(p)
            }
    return right
