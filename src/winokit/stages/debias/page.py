"""The page of a debiasing: what was removed, whether it was more than chance, and what that changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Pictures:
    """The paper's Figure 1: where the two answers lie along the first two components of all problems, arm by arm."""

    arms: tuple[Picture, ...]
    shares: tuple[float, float]
    """How much of the variance each component has."""

    @property
    def axes(self) -> tuple[str, ...]:
        """What the two axes are, with their shares of the variance."""
        names = zip(("first", "second"), self.shares, strict=True)
        return tuple(f"{name} component, {percent(share, 0)} of the variance" for name, share in names)

    def shades(self, picture: Picture) -> list[tuple[int, float, str]]:
        """Cells by colour: per cent of the first answer, depth, and all such cells as one path in units of cells."""
        total = picture.plane.sum(axis=0)
        first = np.divide(picture.plane[0], total, out=np.full(total.shape, 0.5), where=total > 0)
        # The largest share of an arm's rows in one cell: every arm is as dense as its share of rows says.
        fullest = max(float(each.plane.sum(axis=0).max()) / each.n for each in self.arms)
        depth = np.sqrt(total / picture.n / fullest)  # the root lets the thin be seen
        paths = grouped(
            ((round(first[y, x] * MIXES), max(1, round(depth[y, x] * DEPTHS))), f"M{x} {len(first) - 1 - y}h1v1h-1z")
            for y, x in np.argwhere(depth > 0).tolist()
        )
        return [
            (100 * mix // MIXES, round(deep / DEPTHS, 3), "".join(path)) for (mix, deep), path in sorted(paths.items())
        ]

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
    first, second = (_ends(places[:, axis]) for axis in (0, 1))
    pictures = []
    for arm in arms:
        parts = [places[arm.keep & (rows.y == answer)] for answer in (0, 1)]
        plane = [np.histogram2d(part[:, 1], part[:, 0], CELLS, (second, first))[0] for part in parts]
        line = [np.histogram(part[:, 0], bins, first)[0] for part in parts]
        counts = np.array(plane, np.int64), np.array(line, np.int64)
        pictures.append(Picture(arm.name, title_of(arm.name), int(arm.keep.sum()), *counts))
    shares = (float(components.shares[0]), float(components.shares[1]))
    return Pictures(tuple(pictures), shares)


def _ends(values: Doubles) -> tuple[float, float]:
    low, high = np.quantile(values, (OUTSIDE, 1 - OUTSIDE))
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(high) + 0.5)


def probe_forest(filtering: "Debiased") -> Forest:
    """The probe before and after, on an axis around chance that holds every interval."""
    probes = [(arm.name, row) for arm in filtering.arms if (row := filtering.find(arm.name, "probe_accuracy"))]
    lines = tuple(ForestLine(title_of(name), (ForestMark(0, row, standing(row)),)) for name, row in probes)
    ends = [abs(end - 0.5) for _, row in probes for end in (row.value, row.low, row.high) if end is not None]
    reach = next((reach for reach in (0.05, 0.1, 0.25) if max(ends, default=0.0) <= reach), 0.5)
    return Forest((ForestBlock("Linear probe", "", lines),) if lines else (), 0.5 - reach, 0.5 + reach)


def phase_charts(history: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Rows left, and how predictable they are, after each phase; nothing where there was one phase alone."""
    if len(history) < 2:
        return ()
    phases = tuple(range(1, len(history) + 1))
    left = (float(history[0]["rows"]), *(float(phase["rows"] - phase["removed"]) for phase in history))
    accuracy = tuple(float(phase["accuracy"]) for phase in history)
    over = tuple(phase["at_threshold"] / phase["rows"] for phase in history)
    removed = tuple(float(phase["removed"]) for phase in history)
    around = tenths_around((*accuracy, 0.45, 0.55))
    cutoff = float(settings["cutoff"])
    train = float(settings["train_size"])
    return (
        Chart("Problems left", left, (0, *phases), 0.0, left[0], mark=train, mark_name="train size"),
        Chart("Removed in each phase", removed, phases, 0.0, max(*removed, cutoff), mark=cutoff, mark_name="cutoff"),
        Chart("Share at or over the threshold", over, phases, 0.0, max(0.1, tenths_around(over)[1]), percent=True),
        Chart("Held-out accuracy", accuracy, phases, *around, percent=True, mark=0.5, mark_name="chance"),
    )


MOST_WORDS = 20
FEWEST_WORDS = 5


class RemovedExample(NamedTuple):
    """A problem as the page shows it, and whether its twin is kept, removed, or there is none."""

    problem: Problem
    phase: int | None
    score: float | None
    twin: str


def write_debias_page(filtering: "Debiased", folder: Path) -> Path:
    """Write the page of a debiasing and return it."""
    page = debias_page(filtering)
    shown = {"page": page, "word_of": word_of, "before_of": before_of}
    return write_page(folder / INDEX, "stages/debias/page.html.j2", filtering=filtering, **shown)


def debias_page(filtering: "Debiased") -> dict[str, Any]:
    """What the page shows and the debiasing itself does not say."""
    chosen = filtering.chosen
    null = filtering.null
    dataset = filtering.dataset
    arms = filtering.arms
    traits = list(_traits(filtering))
    ends = [abs(trait.log_odds) + 0.5 * (trait.high - trait.low) / 2 for *_, table in traits for trait in table]
    reach = next((reach for reach in (0.5, 1.0, 2.0, 3.0) if max(ends, default=0.0) <= reach), 4.0)
    ways = [f"kl_{name}{way}" for name in ("histogram", "knn", "gaussian") for way in ("", "_reverse")]
    ways = ways if filtering.pictures else []
    many = len(filtering.seeds)
    keeping = np.bincount(filtering.seeds_keeping, minlength=many + 1).tolist() if many > 1 else ()
    return {
        "card": dataset.card,
        "method": title_of(filtering.method, within=True),
        "n": len(dataset),
        "kept": int(chosen.keep.sum()),
        "verdict": verdict_of(filtering),
        "tiles": tuple(_tiles(filtering)),
        # Each arm with its divergences, by every estimator both ways; `.refit` is how the subsets of such rows end.
        "divergences": {
            title: [(title_of(arm.name), [filtering.rows[arm.name + end, way] for way in ways]) for arm in arms]
            for title, end in (("Component of all problems", ""), ("Component of the kept problems", ".refit"))
        },
        "probe": probe_forest(filtering),
        "charts": phase_charts(chosen.history, chosen.settings),
        # Whether phases may have trained on a problem's twin.
        "apart": bool(chosen.history) and chosen.settings.get("twins") == "apart" and bool(dataset.groups),
        "score": METHODS[filtering.method].score_title if filtering.method in METHODS else "",
        "seeds": filtering.seeds if many > 1 else (),
        # How many problems are kept by so many of the seeds: all of them first.
        "keeping": tuple(enumerate(keeping))[::-1],
        "majority": filtering.settings["majority"],
        "sure": 0 if null is None else int((null.q_values[~chosen.keep] <= SMALL).sum()),
        "traits": traits,
        # An axis for log odds, as wide as the values and most of their intervals need.
        "scale": Forest((), -reach, reach),
        "removed": tuple(_examples(filtering)),
        "settings": tuple(flat(filtering.settings)),
        "sources": [CITATIONS[name] for name in ("SAKAGUCHI_FIRST", "SAKAGUCHI", "GURURANGAN")],
    }


def _tiles(filtering: "Debiased") -> Iterator[tuple[str, str, str]]:
    """Kept, probe and divergence before and after, and removals beyond chance: label, value, and what is small."""
    chosen = filtering.chosen
    n = len(filtering.dataset)
    kept = int(chosen.keep.sum())
    yield ("Kept", f"{kept:,}", f"of {n:,}, {percent(kept / n)}")
    for label, metric in (("Linear probe", "probe_accuracy"), ("Divergence (KL)", "kl_histogram")):
        before = filtering.find("all", metric)
        after = filtering.find(filtering.method, metric)
        if before is not None and after is not None:
            yield (label, say(after), f"before {say(before)}, chance {say_chance(after)}")
    removed = filtering.find(filtering.method, "n_removed")
    if removed is not None:
        yield ("Removed", say(removed), f"by chance {say_chance(removed)}")


def _traits(filtering: "Debiased") -> Iterator[tuple[str, str, Sequence[Overuse]]]:
    """The tables of over-use, each with a sentence that says how to read it.

    Of words those that are found, at least the first few.
    """
    words = filtering.overused.words
    over = filtering.overused
    more = [word for word in words if word.q <= SMALL and word.log_odds > 0][:MOST_WORDS]
    less = [word for word in words[::-1] if word.q <= SMALL and word.log_odds < 0][: MOST_WORDS // 2][::-1]
    shown = [*(more if len(more) >= FEWEST_WORDS else words[:FEWEST_WORDS]), *less]
    tables = (
        ("Words", f"The most significant of {len(words):,} words that occur in ten problems or more.", shown),
        ("Lengths in words", "In about equally frequent bins.", over.lengths),
        ("Polarity", "Texts with a negation: not, never, no, without and the like.", over.polarity),
    )
    yield from (each for each in tables if each[-1])


def _examples(filtering: "Debiased") -> Iterator[RemovedExample]:
    """The problems that went first."""
    arm = filtering.chosen
    dataset = filtering.dataset
    members = grouped((problem.group, row) for row, problem in enumerate(dataset) if problem.group is not None)
    for row in arm.removal_order[:8].tolist():
        problem = dataset[row]
        others = [other for other in members.get(problem.group or "", []) if other != row]
        twin = "none" if not others else "kept" if arm.keep[others].any() else "removed"
        score = None if arm.scores is None or not np.isfinite(arm.scores[row]) else float(arm.scores[row])
        yield RemovedExample(problem, None if arm.phase is None else int(arm.phase[row]), score, twin)
