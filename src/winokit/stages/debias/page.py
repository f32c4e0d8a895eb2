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
    """Counts of one arm: [answer, second component, first component], and [answer, first component]."""

    arm: str
    title: str
    n: int
    plane: Ints
    line: Ints

    @property
    def fullest_share(self) -> float:
        """Share of the arm's rows in its fullest cell."""
        return float(self.plane.sum(axis=0).max()) / self.n


@dataclass(frozen=True)
class Pictures:
    """The paper's Figure 1: both answers along the first two components, per arm."""

    arms: tuple[Picture, ...]
    shares: tuple[float, float]
    """How much of the variance each component has."""

    @property
    def axes(self) -> tuple[str, ...]:
        """Titles of the two axes, with their shares of the variance."""
        names = zip(("first", "second"), self.shares, strict=True)
        return tuple(f"{name} component, {percent(share, 0)} of the variance" for name, share in names)

    def shades(self, picture: Picture) -> list[tuple[int, float, str]]:
        """Cells by colour: per cent of the first answer, depth, and their path.

        A path has all cells of one colour, in units of cells.
        """
        total = picture.plane.sum(axis=0)
        first = np.divide(picture.plane[0], total, out=np.full(total.shape, 0.5), where=total > 0)
        # The largest share of an arm's rows in one cell: every arm is as dense as its share of rows says.
        fullest = max(each.fullest_share for each in self.arms)
        depth = np.sqrt(total / picture.n / fullest)  # the root lets the thin be seen
        squares: list[tuple[tuple[int, int], str]] = []
        for y, x in np.argwhere(depth > 0).tolist():
            mix = round(first[y, x] * MIXES)
            shade = max(1, round(depth[y, x] * DEPTHS))
            top = len(first) - 1 - y
            squares.append(((mix, shade), f"M{x} {top}h1v1h-1z"))
        cells = []
        for (mix, shade), path in sorted(grouped(squares).items()):
            cells.append((100 * mix // MIXES, round(shade / DEPTHS, 3), "".join(path)))
        return cells

    def outlines(self, picture: Picture) -> Iterator[str]:
        """The steps of both histograms as paths, 100 wide and 100 high, closed along the bottom."""
        highest = max(float(each.line.max()) / each.n for each in self.arms)
        for heights in picture.line / picture.n / highest:
            edges = np.linspace(0, 100, len(heights) + 1)[1:]
            steps = (f"V{100 - 100 * height:.2f}H{edge:.2f}" for height, edge in zip(heights, edges, strict=True))
            yield f"M0 100{''.join(steps)}V100z"


def pictures_of(arms: Sequence[DebiasArm], rows: DebiasRows, components: Components, bins: int) -> Pictures:
    """Count every arm's rows along the components of all rows."""
    assert rows.x is not None
    places = components.project(rows.x)
    first_ends = _find_ends(places[:, 0])
    second_ends = _find_ends(places[:, 1])
    pictures = []
    for arm in arms:
        planes = []
        lines = []
        for answer in (0, 1):
            part = places[arm.keep & (rows.y == answer)]
            plane, *_ = np.histogram2d(part[:, 1], part[:, 0], CELLS, (second_ends, first_ends))
            line, _ = np.histogram(part[:, 0], bins, first_ends)
            planes.append(plane)
            lines.append(line)
        n = int(arm.keep.sum())
        pictures.append(Picture(arm.name, title_of(arm.name), n, np.array(planes, np.int64), np.array(lines, np.int64)))
    shares = (float(components.shares[0]), float(components.shares[1]))
    return Pictures(tuple(pictures), shares)


def _find_ends(values: Doubles) -> tuple[float, float]:
    low, high = map(float, np.quantile(values, (OUTSIDE, 1 - OUTSIDE)))
    if high > low:
        return low, high
    return low - 0.5, high + 0.5


def probe_forest(filtering: "Debiased") -> Forest:
    """The probe before and after, on an axis around chance that holds every interval."""
    lines: list[ForestLine] = []
    farthest = 0.0
    for arm in filtering.arms:
        row = filtering.find(arm.name, "probe_accuracy")
        if row is None:
            continue
        lines.append(ForestLine(title_of(arm.name), (ForestMark(0, row, standing(row)),)))
        ends = [end for end in (row.value, row.low, row.high) if end is not None]
        farthest = max(farthest, *(abs(end - 0.5) for end in ends))
    reach = next((reach for reach in (0.05, 0.1, 0.25) if farthest <= reach), 0.5)
    blocks = (ForestBlock("Linear probe", "", tuple(lines)),) if lines else ()
    return Forest(blocks, 0.5 - reach, 0.5 + reach)


def phase_charts(history: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Charts of rows left and their predictability by phase.

    No charts if there was only one phase.
    """
    if len(history) < 2:
        return ()
    phases = tuple(range(1, len(history) + 1))
    rows_at_start = float(history[0]["rows"])
    rows_left = (rows_at_start, *(float(phase["rows"] - phase["removed"]) for phase in history))
    accuracy = tuple(float(phase["accuracy"]) for phase in history)
    over = tuple(phase["at_threshold"] / phase["rows"] for phase in history)
    removed = tuple(float(phase["removed"]) for phase in history)
    accuracy_axis = tenths_around((*accuracy, 0.45, 0.55))
    over_axis_end = max(0.1, tenths_around(over)[1])
    cutoff = float(settings["cutoff"])
    train = float(settings["train_size"])
    return (
        Chart("Problems left", rows_left, (0, *phases), 0.0, rows_at_start, mark=train, mark_name="train size"),
        Chart("Removed in each phase", removed, phases, 0.0, max(*removed, cutoff), mark=cutoff, mark_name="cutoff"),
        Chart("Share at or over the threshold", over, phases, 0.0, over_axis_end, percent=True),
        Chart("Held-out accuracy", accuracy, phases, *accuracy_axis, percent=True, mark=0.5, mark_name="chance"),
    )


MOST_WORDS = 20
FEWEST_WORDS = 5


class RemovedExample(NamedTuple):
    """A removed problem, and whether its twin is kept or removed, or there is none."""

    problem: Problem
    phase: int | None
    score: float | None
    twin: str


def write_debias_page(filtering: "Debiased", folder: Path) -> Path:
    """Write the page of a debiasing and return it."""
    page = debias_page(filtering)
    values = {"page": page, "word_of": word_of, "before_of": before_of}
    return write_page(folder / INDEX, "stages/debias/page.html.j2", filtering=filtering, **values)


def debias_page(filtering: "Debiased") -> dict[str, Any]:
    """Values that the page shows beside those of the debiasing."""
    chosen = filtering.chosen
    dataset = filtering.dataset
    traits = list(_select_trait_tables(filtering))
    is_in_phases = bool(chosen.history)
    method = METHODS.get(filtering.method)
    seeds: tuple[DebiasArm, ...] = ()
    keeping: list[tuple[int, int]] = []
    if len(filtering.seeds) > 1:
        seeds = filtering.seeds
        problem_counts = np.bincount(filtering.seeds_keeping, minlength=len(seeds) + 1).tolist()
        keeping = list(enumerate(problem_counts))
    return {
        "card": dataset.card,
        "method": title_of(filtering.method, within=True),
        "n": len(dataset),
        "kept": int(chosen.keep.sum()),
        "verdict": verdict_of(filtering),
        "tiles": tuple(_make_tiles(filtering)),
        # Each arm with its divergences, by every estimator both ways; `.refit` is how the subsets of such rows end.
        "divergences": {
            "Component of all problems": _select_divergences(filtering, ""),
            "Component of the kept problems": _select_divergences(filtering, ".refit"),
        },
        "probe": probe_forest(filtering),
        "charts": phase_charts(chosen.history, chosen.settings),
        # Whether phases may have trained on a problem's twin.
        "apart": is_in_phases and chosen.settings.get("twins") == "apart" and bool(dataset.groups),
        "score": "" if method is None else method.score_title,
        "seeds": seeds,
        # The number of problems that each number of seeds keeps, the largest number of seeds first.
        "keeping": tuple(reversed(keeping)),
        "majority": filtering.settings["majority"],
        "sure": _count_sure_removals(filtering),
        "traits": traits,
        "scale": _log_odds_axis([table for *_, table in traits]),
        "removed": tuple(_select_examples(filtering)),
        "settings": tuple(flat(filtering.settings)),
        "sources": [CITATIONS[name] for name in ("SAKAGUCHI_FIRST", "SAKAGUCHI", "GURURANGAN")],
    }


def _select_divergences(filtering: "Debiased", ending: str) -> list[tuple[str, list[Metric]]]:
    """Each arm with its divergences, by every estimator both ways; none if there are no pictures."""
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
    """Number of removed problems with a small q-value; 0 without relabelled runs."""
    if filtering.null is None:
        return 0
    removed_q_values = filtering.null.q_values[~filtering.chosen.keep]
    return int((removed_q_values <= SMALL).sum())


def _log_odds_axis(tables: Sequence[Sequence[Overuse]]) -> Forest:
    """An axis for log odds, as wide as the values and most of their intervals need."""
    farthest = 0.0
    for trait in chain.from_iterable(tables):
        half_width = (trait.high - trait.low) / 2
        farthest = max(farthest, abs(trait.log_odds) + 0.5 * half_width)
    reach = next((reach for reach in (0.5, 1.0, 2.0, 3.0) if farthest <= reach), 4.0)
    return Forest((), -reach, reach)


def _make_tiles(filtering: "Debiased") -> Iterator[tuple[str, str, str]]:
    """Kept, probe and divergence before and after, and removals beyond chance: label, value, and what is small."""
    chosen = filtering.chosen
    n = len(filtering.dataset)
    kept_count = int(chosen.keep.sum())
    yield ("Kept", f"{kept_count:,}", f"of {n:,}, {percent(kept_count / n)}")
    for label, metric in (("Linear probe", "probe_accuracy"), ("Divergence (KL)", "kl_histogram")):
        before = filtering.find("all", metric)
        after = filtering.find(filtering.method, metric)
        if before is not None and after is not None:
            yield (label, say(after), f"before {say(before)}, chance {say_chance(after)}")
    removed = filtering.find(filtering.method, "n_removed")
    if removed is not None:
        yield ("Removed", say(removed), f"by chance {say_chance(removed)}")


def _select_trait_tables(filtering: "Debiased") -> Iterator[tuple[str, str, Sequence[Overuse]]]:
    """Yield the tables of over-used traits, each with a sentence on how to read it.

    Of words those that are found, at least the first few.
    """
    words = filtering.overused.words
    over = filtering.overused
    overused_words = [word for word in words if word.q <= SMALL and word.log_odds > 0][:MOST_WORDS]
    underused_words = [word for word in words if word.q <= SMALL and word.log_odds < 0][-(MOST_WORDS // 2) :]
    if len(overused_words) < FEWEST_WORDS:
        overused_words = list(words[:FEWEST_WORDS])
    shown_words = [*overused_words, *underused_words]
    tables = (
        ("Words", f"The most significant of {len(words):,} words that occur in ten problems or more.", shown_words),
        ("Lengths in words", "In about equally frequent bins.", over.lengths),
        ("Polarity", "Texts with a negation: not, never, no, without and the like.", over.polarity),
    )
    yield from (each for each in tables if each[-1])


def _select_examples(filtering: "Debiased") -> Iterator[RemovedExample]:
    """Yield the problems that were removed first."""
    arm = filtering.chosen
    dataset = filtering.dataset
    members = grouped((problem.group, row) for row, problem in enumerate(dataset) if problem.group is not None)
    for row in arm.removal_order[:8].tolist():
        problem = dataset[row]
        others = [other for other in members.get(problem.group or "", []) if other != row]
        twin = "none"
        if others:
            twin = "kept" if arm.keep[others].any() else "removed"
        score = None
        if arm.scores is not None and np.isfinite(arm.scores[row]):
            score = float(arm.scores[row])
        phase = None if arm.phase is None else int(arm.phase[row])
        yield RemovedExample(problem, phase, score, twin)
