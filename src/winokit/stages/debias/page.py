"""The page of a debiasing: removed problems, comparison with chance, and changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from winokit.drawing.decision import SMALL, standing
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Chart, Forest, ForestBlock, ForestLine, ForestMark, tenths_around
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import percent, say, say_chance
from winokit.methods.aflite.divergence import Components
from winokit.methods.aflite.inputs import Doubles, Ints
from winokit.methods.aflite.methods import METHODS, DebiasArm, DebiasRows
from winokit.methods.aflite.overuse import Overuse
from winokit.problem import Problem, grouped
from winokit.results import Metric
from winokit.stages.debias.verdict import before_of, title_of, verdict_of, word_of

if TYPE_CHECKING:
    from winokit.stages.debias.filtering import Debiased

CELLS = 32
OUTSIDE = 0.001
"""Share of rows left out of the picture at each end: a few outliers would squeeze all others into a corner."""
MIXES = 10
DEPTHS = 6
"""Shades of a cell on the page: how much of it is the first answer, and how full it is."""


@dataclass(frozen=True)
class Picture:
    """Histograms of one arm's kept problems along the first two components, per answer."""

    arm: str
    title: str
    n: int
    """Number of kept problems."""
    plane: Ints
    """Counts by answer, second component and first component."""
    line: Ints
    """Counts by answer and first component."""

    @property
    def fullest_share(self) -> float:
        """Share of the arm's rows in its fullest cell."""
        return float(self.plane.sum(axis=0).max()) / self.n


@dataclass(frozen=True)
class Pictures:
    """The paper's Figure 1: both answers along the first two components, per arm."""

    arms: tuple[Picture, ...]
    shares: tuple[float, float]
    """Share of the variance along each of the two components."""

    @property
    def axes(self) -> tuple[str, ...]:
        """Titles of the two axes, with their shares of the variance."""
        names = zip(("first", "second"), self.shares, strict=True)
        return tuple(f"{name} component, {percent(share, 0)} of the variance" for name, share in names)

    def shades(self, picture: Picture) -> list[tuple[int, float, str]]:
        """Colours of a picture, each with one SVG path around all of its cells.

        A colour is the percentage of the first answer and a depth from 0 to 1. One unit of the path is one cell.
        """
        total = picture.plane.sum(axis=0)
        first = np.divide(picture.plane[0], total, out=np.full(total.shape, 0.5), where=total > 0)
        # The largest share of an arm's rows in one cell: every arm is as dense as its share of rows says.
        fullest = max(each.fullest_share for each in self.arms)
        depth = np.sqrt(total / picture.n / fullest)  # the root makes sparse cells visible
        squares: list[tuple[tuple[int, int], str]] = []
        for y, x in np.argwhere(depth > 0).tolist():
            mix = round(first[y, x] * MIXES)
            shade = max(1, round(depth[y, x] * DEPTHS))
            colour = (mix, shade)
            top = len(first) - 1 - y
            squares.append((colour, f"M{x} {top}h1v1h-1z"))
        colours = []
        for (mix, shade), paths in sorted(grouped(squares).items()):
            percentage = 100 * mix // MIXES
            relative_depth = round(shade / DEPTHS, 3)
            colours.append((percentage, relative_depth, "".join(paths)))
        return colours

    def outlines(self, picture: Picture) -> Iterator[str]:
        """Yield each answer's histogram as an SVG path, 100 wide and high.

        The highest bar of all arms is 100 high. The path is closed along the bottom.
        """
        highest = max(float(each.line.max()) / each.n for each in self.arms)
        for heights in picture.line / picture.n / highest:
            right_edges = np.linspace(0, 100, len(heights) + 1)[1:]
            steps = []
            for height, edge in zip(heights, right_edges, strict=True):
                top = 100 - 100 * height
                steps.append(f"V{top:.2f}H{edge:.2f}")
            yield f"M0 100{''.join(steps)}V100z"


def pictures_of(arms: Sequence[DebiasArm], rows: DebiasRows, components: Components, bins: int) -> Pictures:
    """Count each arm's kept rows along the first two principal components.

    `components` are those of all rows. `bins` is the number of bins of the histogram along the first component.
    """
    assert rows.x is not None
    coordinates = components.project(rows.x)
    first_ends = _find_ends(coordinates[:, 0])
    second_ends = _find_ends(coordinates[:, 1])
    pictures = []
    for arm in arms:
        planes = []
        lines = []
        for answer in (0, 1):
            is_shown = arm.keep & (rows.y == answer)
            first = coordinates[is_shown, 0]
            second = coordinates[is_shown, 1]
            plane, *_ = np.histogram2d(second, first, CELLS, (second_ends, first_ends))
            line, _ = np.histogram(first, bins, first_ends)
            planes.append(plane)
            lines.append(line)
        title = title_of(arm.name)
        n = int(arm.keep.sum())
        plane_counts = np.array(planes, np.int64)
        line_counts = np.array(lines, np.int64)
        pictures.append(Picture(arm.name, title, n, plane_counts, line_counts))
    first_share = float(components.shares[0])
    second_share = float(components.shares[1])
    return Pictures(tuple(pictures), (first_share, second_share))


def _find_ends(values: Doubles) -> tuple[float, float]:
    """Range of an axis: all values except a few at each end."""
    low, high = map(float, np.quantile(values, (OUTSIDE, 1 - OUTSIDE)))
    if high > low:
        return low, high
    return low - 0.5, high + 0.5


def probe_forest(filtering: "Debiased") -> Forest:
    """Chart of the probe's accuracy for every arm.

    The axis has 0.5 in its middle and holds all intervals.
    """
    lines: list[ForestLine] = []
    farthest = 0.0
    for arm in filtering.arms:
        row = filtering.find(arm.name, "probe_accuracy")
        if row is None:
            continue
        title = title_of(arm.name)
        mark = ForestMark(0, row, standing(row))
        lines.append(ForestLine(title, (mark,)))
        for end in (row.value, row.low, row.high):
            if end is not None:
                farthest = max(farthest, abs(end - 0.5))
    reach = next((reach for reach in (0.05, 0.1, 0.25) if farthest <= reach), 0.5)
    blocks = (ForestBlock("Linear probe", "", tuple(lines)),) if lines else ()
    return Forest(blocks, 0.5 - reach, 0.5 + reach)


def phase_charts(history: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Charts of AFLite's phases: problems left, removed, over the threshold, and accuracy.

    `history` has one mapping per phase, and `settings` the train size and the cutoff. There are no charts if there was
    only one phase.
    """
    if len(history) < 2:
        return ()
    phases = tuple(range(1, len(history) + 1))
    start = float(history[0]["rows"])
    rows_after = tuple(float(phase["rows"] - phase["removed"]) for phase in history)
    rows_left = (start, *rows_after)
    rows_removed = tuple(float(phase["removed"]) for phase in history)
    accuracy = tuple(float(phase["accuracy"]) for phase in history)
    over = tuple(phase["at_threshold"] / phase["rows"] for phase in history)
    accuracy_axis = tenths_around((*accuracy, 0.45, 0.55))
    over_end = max(0.1, tenths_around(over)[1])
    cutoff = float(settings["cutoff"])
    removed_end = max(*rows_removed, cutoff)
    train = float(settings["train_size"])
    return (
        Chart("Problems left", rows_left, (0, *phases), 0.0, start, mark=train, mark_name="train size"),
        Chart("Removed in each phase", rows_removed, phases, 0.0, removed_end, mark=cutoff, mark_name="cutoff"),
        Chart("Share at or over the threshold", over, phases, 0.0, over_end, percent=True),
        Chart("Held-out accuracy", accuracy, phases, *accuracy_axis, percent=True, mark=0.5, mark_name="chance"),
    )


MOST_WORDS = 20
MOST_UNDERUSED_WORDS = MOST_WORDS // 2
FEWEST_WORDS = 5


class RemovedExample(NamedTuple):
    """A removed problem, with the phase and score of its removal.

    Phases count from 1. If the majority of several seeds decides, phase and score are those of the first seed, and the
    phase is lower than 1 if that seed keeps the problem.
    """

    problem: Problem
    phase: int | None
    score: float | None
    twin: str
    """`kept`, `removed`, or `none` if the problem has no twin."""


def write_debias_page(filtering: "Debiased", folder: Path) -> Path:
    """Write the page of a debiasing into the folder, and return its path."""
    page = debias_page(filtering)
    values = {"page": page, "word_of": word_of, "before_of": before_of}
    return write_page(folder / INDEX, "stages/debias/page.html.j2", filtering=filtering, **values)


def debias_page(filtering: "Debiased") -> dict[str, Any]:
    """Return the values that the page's template shows, by name."""
    chosen = filtering.chosen
    dataset = filtering.dataset
    traits = list(_select_trait_tables(filtering))
    trait_values = [table for *_, table in traits]
    method = METHODS.get(filtering.method)
    is_apart = chosen.settings.get("twins") == "apart"
    # Phases may have trained on a problem's twin.
    trains_on_twins = bool(chosen.history) and is_apart and bool(dataset.groups)
    # Each arm with its divergences, by every estimator both ways; `.refit` is how the subsets of such rows end.
    divergences = {
        "Component of all problems": _select_divergences(filtering, ""),
        "Component of the kept problems": _select_divergences(filtering, ".refit"),
    }
    return {
        "card": dataset.card,
        "method": title_of(filtering.method, within=True),
        "n": len(dataset),
        "kept": int(chosen.keep.sum()),
        "verdict": verdict_of(filtering),
        "tiles": tuple(_make_tiles(filtering)),
        "divergences": divergences,
        "probe": probe_forest(filtering),
        "charts": phase_charts(chosen.history, chosen.settings),
        "apart": trains_on_twins,
        "score": "" if method is None else method.score_title,
        **_collect_seed_values(filtering),
        "majority": filtering.settings["majority"],
        "sure": _count_sure_removals(filtering),
        "traits": traits,
        "scale": _log_odds_axis(trait_values),
        "removed": tuple(_select_examples(filtering)),
        "settings": tuple(flat(filtering.settings)),
        "sources": [CITATIONS[name] for name in ("SAKAGUCHI_FIRST", "SAKAGUCHI", "GURURANGAN")],
    }


def _collect_seed_values(filtering: "Debiased") -> dict[str, Any]:
    """Return the page's values on seeds, by name.

    `seeds` are their arms. `keeping` has pairs of a number of seeds and the number of problems that so many seeds keep,
    the largest number of seeds first. Both are empty if there is only one seed.
    """
    seeds = filtering.seeds
    if len(seeds) < 2:
        return {"seeds": (), "keeping": ()}
    problem_counts = np.bincount(filtering.seeds_keeping, minlength=len(seeds) + 1)
    counts_by_seeds = list(enumerate(problem_counts.tolist()))
    return {"seeds": seeds, "keeping": tuple(reversed(counts_by_seeds))}


def _select_divergences(filtering: "Debiased", ending: str) -> list[tuple[str, list[Metric]]]:
    """Pair each arm's title with its rows of divergence, for every estimator and direction.

    `ending` is what the rows' subsets have after the arm's name. If the features were not assessed, the lists of rows
    are empty.
    """
    names = []
    if filtering.pictures:
        for estimator in ("histogram", "knn", "gaussian"):
            names += [f"kl_{estimator}", f"kl_{estimator}_reverse"]
    lines = []
    for arm in filtering.arms:
        rows = [filtering.rows[arm.name + ending, name] for name in names]
        lines.append((title_of(arm.name), rows))
    return lines


def _count_sure_removals(filtering: "Debiased") -> int:
    """Number of removed problems with a small q-value.

    It is 0 if there are no relabelled runs.
    """
    if filtering.null is None:
        return 0
    removed_q_values = filtering.null.q_values[~filtering.chosen.keep]
    return int((removed_q_values <= SMALL).sum())


def _log_odds_axis(tables: Sequence[Sequence[Overuse]]) -> Forest:
    """An empty chart whose axis fits the log odds of all tables.

    It holds all values, and half of each interval.
    """
    farthest = 0.0
    for trait in chain.from_iterable(tables):
        half_width = (trait.high - trait.low) / 2
        end = abs(trait.log_odds) + 0.5 * half_width
        farthest = max(farthest, end)
    reach = next((reach for reach in (0.5, 1.0, 2.0, 3.0) if farthest <= reach), 4.0)
    return Forest((), -reach, reach)


def _make_tiles(filtering: "Debiased") -> Iterator[tuple[str, str, str]]:
    """Yield the main numbers, each as label, value and small print."""
    chosen = filtering.chosen
    n = len(filtering.dataset)
    kept_count = int(chosen.keep.sum())
    kept_share = percent(kept_count / n)
    yield ("Kept", f"{kept_count:,}", f"of {n:,}, {kept_share}")
    for label, metric in (("Linear probe", "probe_accuracy"), ("Divergence (KL)", "kl_histogram")):
        before = filtering.find("all", metric)
        after = filtering.find(filtering.method, metric)
        if before is not None and after is not None:
            yield (label, say(after), f"before {say(before)}, chance {say_chance(after)}")
    removed = filtering.find(filtering.method, "n_removed")
    if removed is not None:
        yield ("Removed", say(removed), f"by chance {say_chance(removed)}")


def _select_trait_tables(filtering: "Debiased") -> Iterator[tuple[str, str, Sequence[Overuse]]]:
    """Yield each table of traits: its title, an explanation and its rows.

    Tables without rows are left out.
    """
    overused = filtering.overused
    word_count = len(overused.words)
    tables = (
        (
            "Words",
            f"The most significant of {word_count:,} words that occur in ten problems or more.",
            _select_words(overused.words),
        ),
        ("Lengths in words", "In about equally frequent bins.", overused.lengths),
        ("Polarity", "Texts with a negation: not, never, no, without and the like.", overused.polarity),
    )
    for title, explanation, traits in tables:
        if traits:
            yield title, explanation, traits


def _select_words(words: Sequence[Overuse]) -> list[Overuse]:
    """Return the significantly over-used words, then the significantly under-used ones.

    They are 20 and 10 at most. With fewer than five over-used words, the first five of all words take their place,
    significant or not.
    """
    significant_words = [word for word in words if word.q <= SMALL]
    overused_words = [word for word in significant_words if word.log_odds > 0][:MOST_WORDS]
    underused_words = [word for word in significant_words if word.log_odds < 0]
    if len(overused_words) < FEWEST_WORDS:
        overused_words = list(words[:FEWEST_WORDS])
    return [*overused_words, *underused_words[-MOST_UNDERUSED_WORDS:]]


def _select_examples(filtering: "Debiased") -> Iterator[RemovedExample]:
    """Yield the problems that were removed first, at most eight."""
    arm = filtering.chosen
    dataset = filtering.dataset
    members = grouped((problem.group, row) for row, problem in enumerate(dataset) if problem.group is not None)
    for row in arm.removal_order[:8].tolist():
        problem = dataset[row]
        group_rows = members.get(problem.group or "", [])
        twin_rows = [other for other in group_rows if other != row]
        twin = "none"
        if twin_rows:
            twin = "kept" if arm.keep[twin_rows].any() else "removed"
        score = None
        if arm.scores is not None and np.isfinite(arm.scores[row]):
            score = float(arm.scores[row])
        phase = None if arm.phase is None else int(arm.phase[row])
        yield RemovedExample(problem, phase, score, twin)
