"""Paired tests between the scorers of several runs, on the problems they share; and their page.

Runs stand side by side: models by protocols, paired differences, and what is left of them after correction.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, count
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from winokit.data.runs import Run
from winokit.drawing.decision import EACH, SMALL, DecisionTable
from winokit.drawing.page import INDEX, write_page
from winokit.drawing.plots import Forest, Scorer, difference_forest, forest, owner, scorers
from winokit.drawing.protocols import TITLES
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import join, plural, points, probability
from winokit.errors import BadInput
from winokit.files import check_own_folder
from winokit.methods.metrics.compare import Comparison, holm
from winokit.methods.metrics.compare import compare as paired_test
from winokit.methods.metrics.groups import all_right_chance, complete_groups
from winokit.methods.transforms.variants import ORIGINAL
from winokit.problem import Dataset, Problem, grouped
from winokit.progress import tell
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Brief, Metric
from winokit.settings import Help, verb

Comparisons = Mapping[tuple[str, str, str], Comparison]
"""By the names of the first and the second run and what was compared: accuracy, group_accuracy …"""


@dataclass(frozen=True, slots=True)
class ScorerPair:
    """One paired test, with its p-value corrected for the number of tests on the page."""

    first: str
    second: str
    measure: str
    found: Comparison
    p_corrected: float

    @property
    def measure_title(self) -> str:
        """What was compared, in the middle of a sentence."""
        known = {name.split("/")[2]: title for name, title in TITLES.items()}
        known |= {"accuracy": "accuracy", "group_accuracy": "group accuracy"}
        title = known.get(self.measure, self.measure.replace("_", " ")).lower()
        return f"expected {title}" if self.found.expected else title

    @property
    def ahead(self) -> str | None:
        """The better of the two, where correction leaves a difference."""
        if self.p_corrected >= SMALL or self.found.difference == 0:
            return None
        return self.first if self.found.difference > 0 else self.second


class ComparePage:
    """Everything the page of several runs shows."""

    def __init__(self, runs: Mapping[str, Run], comparisons: Comparisons, notes: Sequence[str] = ()) -> None:
        self.columns, rows = _side_by_side(runs)
        self.datasets = [(name, run.dataset.card.name, len(run.dataset)) for name, run in runs.items()]
        """Each run's name, dataset and number of problems."""
        self.same_data = len({run.dataset.content_hash for run in runs.values()}) == 1
        self.pairs, self.notes = paired(comparisons), notes
        self.sentences = list(comparison_sentences(self.pairs))
        self.forest, self.differences = forest(rows, self.columns), _differences(self.pairs)


def write_comparison(
    runs: Mapping[str, Run], comparisons: Comparisons, folder: Path, notes: Sequence[str] = ()
) -> Path:
    """Write the page that compares runs into a folder and return it."""
    page = ComparePage(runs, comparisons, notes)
    ours = (folder / INDEX).is_file() and b" winokit compare</title>" in (folder / INDEX).read_bytes()
    check_own_folder(folder, [INDEX], ours=ours, of="a comparison")
    return write_page(folder / INDEX, "stages/compare/page.html.j2", page=page)


def paired(comparisons: Comparisons) -> list[ScorerPair]:
    """The tests with Holm's correction over all of them; the p-values are those over groups."""
    corrected = holm([test.p_groups for test in comparisons.values()])
    return [ScorerPair(*names, test, p) for (names, test), p in zip(comparisons.items(), corrected, strict=True)]


def _columns(runs: Mapping[str, Run]) -> Iterator[tuple[str, str, Scorer]]:
    """What each scorer's column is called, unlike any other, with its run's name and the scorer."""
    sources = [(name, scorer, len(known)) for name, run in runs.items() for known in [scorers(run)] for scorer in known]
    both = "{1}" if len(runs) == 1 else "{0} · {1}"
    columns = _apart([name if many == 1 else both.format(name, scorer.name) for name, scorer, many in sources])
    yield from ((column, name, scorer) for column, (name, scorer, _) in zip(columns, sources, strict=True))


def _apart(names: Sequence[str]) -> list[str]:
    """Names as they are, those that an earlier one has with a number that makes them unlike all others."""
    apart: list[str] = []
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        apart.append(name if name not in apart else next(own for own in numbered if own not in {*names, *apart}))
    return apart


def _side_by_side(runs: Mapping[str, Run]) -> tuple[tuple[Scorer, ...], list[Metric]]:
    """A column for each scorer of each run, and all rows under the names of their columns."""
    columns: list[Scorer] = []
    rows: list[Metric] = []
    for column, name, scorer in _columns(runs):
        columns.append(replace(scorer, model=column, name=column))
        known = scorers(runs[name])
        rows += [replace(row, model=column) for row in runs[name].metrics if owner(row, known) == scorer]
    return tuple(columns), rows


def comparison_sentences(pairs: Sequence[ScorerPair]) -> Iterator[str]:
    """What may be said of each two scorers, from every test between them."""
    many = f" after correction for {plural(len(pairs), 'test')}" if len(pairs) > 1 else ""
    for names in dict.fromkeys((pair.first, pair.second) for pair in pairs):
        tests = {pair.measure: pair for pair in pairs if (pair.first, pair.second) == names}
        state = {measure: _ahead(tests.get(measure)) for measure in COMPARED.facts}
        word = COMPARED.decide(state).word.format(first=names[0], second=names[1])
        sign = -1 if next(iter(tests.values())).found.difference < 0 else 1  # of the one with more
        more = ((points(sign * pair.found.difference + 0.0), pair) for pair in tests.values())
        numbers = join([f"{ahead} points of {pair.measure_title} ({_p(pair.p_corrected)})" for ahead, pair in more])
        yield f"{word}: {names[sign < 0]} has {numbers}{many}."


def _ahead(pair: ScorerPair | None) -> str:
    if pair is None:
        return UNKNOWN
    return AT if pair.ahead is None else ABOVE if pair.ahead == pair.first else BELOW


COMPARED = DecisionTable.of_stage("compare", {"accuracy": EACH, "group_accuracy": EACH})


def _p(value: float) -> str:
    said = probability(value).replace(" ", "\u00a0")
    return f"p\u00a0{said}" if said.startswith("<") else f"p\u00a0=\u00a0{said}"


def _differences(pairs: Sequence[ScorerPair]) -> Forest:
    rows = []
    for pair in pairs:
        name, test = (pair.measure_title, f"{pair.first} − {pair.second}", "difference"), pair.found
        rows.append(RowHead("", "", "").row(name, test.difference, test.n, test.interval.low, test.interval.high, 0.0))
    return difference_forest(rows, [Scorer("", "", None, "")], titled=lambda row: row.subset)


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

    Runs are compared on the problems they share; one run with several models is compared within itself. Runs
    over several datasets are paired where they share problems, and the others are named.

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
    notes = unpaired(loaded) + [
        f"{column} is {scorer.name} of the run {name}; without the number it would be called like another column"
        for column, name, scorer in _columns(loaded)
        if column not in (name, scorer.name, f"{name} · {scorer.name}")
    ]
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
    given = [run for place, run in enumerate(runs) if isinstance(run, Run) or run not in runs[:place]]
    folders = [Path(run).absolute().name for run in given if not isinstance(run, Run)]
    short = len({*folders}) == len(folders)
    names = [
        ", ".join(run.settings.get("models") or run.settings.get("predictions") or ("run",))
        if isinstance(run, Run)
        else (Path(run).absolute().name if short else str(run))
        for run in given
    ]
    loaded = (run if isinstance(run, Run) else Run.load(Path(run)) for run in given)
    return dict(zip(_apart(names), loaded, strict=True))


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
    comparisons: dict[tuple[str, str, str], Comparison] = {}
    for first, second in combinations(right, 2):
        shared = [key for key in right[first] if key in right[second]]
        if not shared:
            continue
        one, other = (np.array([right[name][key] for key in shared]) for name in (first, second))
        together = np.array([clusters[key] for key in shared])
        comparisons[first, second, "accuracy"] = paired_test(one, other, together)
        groups = [problems[key].group for key in shared]
        if members := complete_groups(groups, sizes):
            whole = [all_right_chance(values, groups, sizes) for values in (one, other)]
            together = together[[rows[0] for rows in members.values()]]
            comparisons[first, second, "group_accuracy"] = paired_test(whole[0], whole[1], together)
    return comparisons


def _right(runs: Mapping[str, Run], problems: Mapping[str, Problem]) -> dict[str, dict[str, float]]:
    """For each scorer, under its column's name, what it has of each problem: 1, 0, or a guess's worth if silent."""
    return {
        column: {
            # A prediction is judged by the answer beside it: another run may list the candidates in another order.
            p.id: 1 / len(problems[p.id].candidates) if p.prediction is None else float(p.prediction == p.answer)
            for p in runs[name].predictions
            if (p.model, p.scoring, p.variant) == (scorer.model, scorer.scoring, ORIGINAL)
            if p.id in problems and p.answer is not None
        }
        for column, name, scorer in _columns(runs)
    }


def lines(result: ComparedRuns) -> Lines:
    """Every test, and where the page lies."""
    heads = ("first", "second", "measure", "difference", "95 % interval", "p (Holm)", "n", "n needed")
    yield table(heads, [_row(pair) for pair in result.pairs], left=3)
    if result.page is not None:
        yield f"page: {result.page}"


def _row(pair: ScorerPair) -> tuple[str, ...]:
    test = pair.found
    return (
        pair.first,
        pair.second,
        pair.measure_title,
        f"{test.difference:+.3f}",
        f"{test.interval.low:+.3f} to {test.interval.high:+.3f}",
        probability(pair.p_corrected),
        f"{test.n:,}",
        "–" if test.n_to_tell_apart is None else f"{test.n_to_tell_apart:,}",
    )


def as_json(result: ComparedRuns) -> list[dict[str, Any]]:
    """Every test with its numbers."""
    return [asdict(pair) for pair in result.pairs]
