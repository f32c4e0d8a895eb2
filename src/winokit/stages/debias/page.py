"""The page of a filtering: what was removed, whether it was more than chance, and what that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from winokit.drawing.charts import Chart
from winokit.drawing.decision import Verdict
from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.protocols import SAKAGUCHI, SAKAGUCHI_FIRST, Citation
from winokit.drawing.wording import NOTHING, PER_CENT, SAY, kind_of, percent
from winokit.methods.aflite.null import NullModel
from winokit.methods.aflite.overuse import Overuse
from winokit.problem import Card, Problem
from winokit.results import Metric
from winokit.stages.debias.figures import figures_of_filtering
from winokit.stages.debias.plots import (
    ARMS,
    SAID,
    Panel,
    axes_of,
    nats,
    panels,
    phase_charts,
    probe_forest,
)
from winokit.stages.debias.run import Debiased
from winokit.stages.debias.verdict import before_of, verdict_of, word_of

ESTIMATORS = {"kl_histogram": "histogram", "kl_knn": "nearest neighbours", "kl_gaussian": "normal"}
FOUND = 0.05
"""The q-value up to which a word is called over-used."""
MOST_WORDS, FEWEST_WORDS = 20, 5
MOST_EXAMPLES = 8
OVERLAPS = {"keeps": "kept_overlap", "removes": "removed_overlap"}
SCORES = {"aflite": "Score", "pmi": "PMI"}
GURURANGAN = Citation(
    "Gururangan et al., 2018",
    "Suchin Gururangan, Swabha Swayamdipta, Omer Levy, Roy Schwartz, Samuel R. Bowman and Noah A. Smith. 2018. "
    "Annotation Artifacts in Natural Language Inference Data. NAACL 2018.",
    "https://aclanthology.org/N18-2017",
)


@dataclass(frozen=True, slots=True)
class DebiasTile:
    """One of the few numbers at the top."""

    label: str
    value: str
    small: str


@dataclass(frozen=True, slots=True)
class ApartLine:
    """One line of the table of divergences: an arm, how components were found, and both ways of every estimator."""

    title: str
    rows: tuple[tuple[Metric, Metric], ...]


@dataclass(frozen=True, slots=True)
class SeedLine:
    """What one seed of AFLite kept, where it stands, and its verdict."""

    seed: int
    kept: int
    removed: int
    before: Metric | None
    after: Metric | None
    p_null: Metric | None
    p_random: Metric | None
    word: str


@dataclass(frozen=True, slots=True)
class OverusedTrait:
    """One trait that removed problems have more of, or less, with examples."""

    found: Overuse
    sure: bool
    examples: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class RemovedExample:
    """A problem as the page shows it."""

    problem: Problem
    phase: int | None
    score: float | None
    twin: str


@dataclass(frozen=True, slots=True)
class DebiasPage:
    """Everything the page shows."""

    card: Card
    method: str
    n: int
    kept: int
    verdict: Verdict
    tiles: tuple[DebiasTile, ...]
    panels: tuple[Panel, ...]
    axes: tuple[str, str]
    fixed: tuple[ApartLine, ...]
    refit: tuple[ApartLine, ...]
    probe: Forest
    charts: tuple[Chart, ...]
    history: tuple[dict[str, Any], ...]
    apart: bool
    """Whether phases may have trained on a problem's twin."""
    score: str
    """What the score of a removed problem is called; empty where there is none."""
    seeds: tuple[SeedLine, ...]
    keeping: tuple[tuple[int, int], ...]
    """How many problems are kept by so many of the seeds: all of them first."""
    overlaps: tuple[tuple[str, Metric], ...]
    majority: bool
    null: NullModel | None
    p_null: Metric | None
    sure: int
    traits: tuple[tuple[str, str, tuple[OverusedTrait, ...]], ...]
    """Tables of words, lengths and negations, each with a sentence that says how to read it."""
    scale: Forest
    removed: tuple[RemovedExample, ...]
    numbers: tuple[tuple[Metric, str, str, str], ...]
    settings: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    sources: tuple[Citation, ...]


def write_debias_page(filtering: Debiased, folder: Path) -> Path:
    """Write the page of a filtering, with its figures as PNG and SVG, and return it."""
    page = debias_page(filtering)
    figures = write_figures(figures_of_filtering(filtering, page.probe, page.charts), folder / "figures")
    write_page(folder / INDEX, "stages/debias/page.html.j2", page=page, figures=figures, nats=nats)
    return folder / INDEX


def debias_page(filtering: Debiased) -> DebiasPage:
    """Everything the page of a filtering shows."""
    chosen, null = filtering.chosen, filtering.null
    traits = _traits(filtering)
    return DebiasPage(
        card=filtering.dataset.card,
        method=SAID[filtering.method],
        n=len(filtering.dataset),
        kept=int(chosen.keep.sum()),
        verdict=verdict_of(filtering),
        tiles=tuple(_tiles(filtering)),
        panels=panels(filtering),
        axes=("", "") if filtering.pictures is None else axes_of(filtering.pictures),
        fixed=tuple(_apart(filtering, "")),
        refit=tuple(_apart(filtering, ".refit")),
        probe=probe_forest(filtering),
        charts=phase_charts(chosen.history, chosen.settings),
        history=chosen.history,
        apart=bool(chosen.history) and chosen.settings.get("twins") == "apart" and bool(filtering.dataset.groups),
        score=SCORES.get(filtering.method, ""),
        seeds=_seeds(filtering),
        keeping=_keeping(filtering),
        overlaps=tuple(
            (name, row) for name in ("keeps", "removes") if (row := filtering.find(filtering.method, OVERLAPS[name]))
        ),
        majority=filtering.settings["majority"],
        null=null,
        p_null=filtering.find(filtering.method, "p_null"),
        sure=0 if null is None else int((null.q_values[~chosen.keep] <= FOUND).sum()),
        traits=traits,
        scale=_scale([trait.found for _, _, some in traits for trait in some]),
        removed=tuple(_examples(filtering)),
        numbers=tuple(_numbered(row) for row in filtering.metrics),
        settings=tuple(flat(filtering.settings)),
        notes=filtering.notes,
        sources=(SAKAGUCHI_FIRST, SAKAGUCHI, GURURANGAN),
    )


def _tiles(filtering: Debiased) -> Iterator[DebiasTile]:
    """Kept, probe and divergence before and after, and removals beyond chance."""
    chosen, n = filtering.chosen, len(filtering.dataset)
    kept = int(chosen.keep.sum())
    yield DebiasTile("Kept", f"{kept:,}", f"of {n:,}, {percent(kept / n)}")
    for label, metric in (("Linear probe", "probe_accuracy"), ("Divergence (KL)", "kl_histogram")):
        before, after = filtering.find("all", metric), filtering.find(filtering.method, metric)
        if before is not None and after is not None:
            yield DebiasTile(label, _say(after), f"before {_say(before)}, chance {_say(after, after.chance)}")
    removed = filtering.find(filtering.method, "n_removed")
    if removed is not None:
        yield DebiasTile("Removed", _say(removed), f"by chance {_say(removed, removed.chance)}")


def _seeds(filtering: Debiased) -> tuple[SeedLine, ...]:
    """A line for each seed; none where there was one."""
    if len(filtering.seeds) < 2:
        return ()
    return tuple(
        SeedLine(
            seed=arm.settings["seed"],
            kept=int(arm.keep.sum()),
            removed=int((~arm.keep).sum()),
            before=before_of(filtering, arm),
            after=filtering.find(arm.name, "probe_accuracy"),
            p_null=filtering.find(arm.name, "p_null"),
            p_random=filtering.find(arm.name, "p_random_removal"),
            word=word_of(filtering, arm),
        )
        for arm in filtering.seeds
    )


def _keeping(filtering: Debiased) -> tuple[tuple[int, int], ...]:
    """From all of the seeds down to none: how many problems are kept by so many."""
    if len(filtering.seeds) < 2:
        return ()
    counts = np.bincount(filtering.seeds_keeping, minlength=len(filtering.seeds) + 1).tolist()
    return tuple(enumerate(counts))[::-1]


def _apart(filtering: Debiased, suffix: str) -> Iterator[ApartLine]:
    rows = filtering.rows
    for arm in filtering.arms:
        subset = arm.name + suffix
        if (subset, "kl_histogram") in rows:
            found = tuple((rows[subset, name], rows[subset, f"{name}_reverse"]) for name in ESTIMATORS)
            yield ApartLine(ARMS[arm.name], found)


def _traits(filtering: Debiased) -> tuple[tuple[str, str, tuple[OverusedTrait, ...]], ...]:
    """The tables of over-use: words that are found (at least the first few), lengths, negations."""
    words = filtering.overused.words
    found = [one for one in words if one.q <= FOUND and one.log_odds > 0][:MOST_WORDS]
    less = [one for one in words[::-1] if one.q <= FOUND and one.log_odds < 0][: MOST_WORDS // 2][::-1]
    shown = [*(found if len(found) >= FEWEST_WORDS else words[:FEWEST_WORDS]), *less]
    told = (
        ("Words", f"The surest of {len(words):,} words that stand in ten problems or more.", shown),
        ("Lengths in words", "In about equally frequent bins.", filtering.overused.lengths),
        ("Polarity", "Texts with a negation: not, never, no, without and the like.", filtering.overused.polarity),
    )
    return tuple((title, text, tuple(_trait(one, filtering) for one in some)) for title, text, some in told if some)


def _trait(one: Overuse, filtering: Debiased) -> OverusedTrait:
    shown = one.examples[:1] if one.log_odds > 0 else ()
    return OverusedTrait(one, one.q <= FOUND, tuple(filtering.dataset[row] for row in shown))


def _scale(found: Sequence[Overuse]) -> Forest:
    """An axis for log odds, as wide as the values and most of their intervals need."""
    ends = [abs(one.log_odds) + 0.5 * (one.high - one.low) / 2 for one in found]
    reach = next((reach for reach in (0.5, 1.0, 2.0, 3.0) if max(ends, default=0.0) <= reach), 4.0)
    return Forest((), -reach, reach)


def _examples(filtering: Debiased) -> Iterator[RemovedExample]:
    """The problems that went first, and what became of their twins."""
    arm, dataset = filtering.chosen, filtering.dataset
    members: dict[str, list[int]] = {}
    for row, problem in enumerate(dataset):
        if problem.group is not None:
            members.setdefault(problem.group, []).append(row)
    for row in arm.removal_order[:MOST_EXAMPLES].tolist():
        problem = dataset[row]
        others = [other for other in members.get(problem.group or "", []) if other != row]
        twin = "none" if not others else "kept" if arm.keep[others].any() else "removed"
        score = None if arm.scores is None or not np.isfinite(arm.scores[row]) else float(arm.scores[row])
        yield RemovedExample(problem, None if arm.phase is None else int(arm.phase[row]), score, twin)


def _numbered(row: Metric) -> tuple[Metric, str, str, str]:
    interval = ""
    if row.low is not None and row.high is not None:
        low, high = (_say(row, end).removesuffix(PER_CENT) for end in (row.low, row.high))
        interval = f"[{low}, {high}]"
    return row, _say(row), interval, NOTHING if row.chance is None else _say(row, row.chance)


def _say(row: Metric, value: float | None = None) -> str:
    """A value of a row, its own or another of the same kind; divergences are no shares, though they have a chance."""
    value = row.value if value is None else value
    return nats(value) if row.metric.startswith("kl_") else SAY[kind_of(row)](value)
