"""The page of a search: how trials lie, what the best of them owes to luck, and what the five best do together.

A strip of trials is the distribution of Liu et al.'s (2020) Figure 1; beside it the best of ever more trials, and the
medians by setting. What it is worth is said in sentences made from its rows: nothing is said that a row does not say.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import percent, plural
from winokit.methods.metrics.judge_best import DRAWS
from winokit.methods.training.finetune import DEV
from winokit.stages.search.findings import CHOSEN, SearchFindings, tries_up_to
from winokit.stages.search.luck import best_of
from winokit.stages.search.trials import DIVERGED, FAILED, Trial
from winokit.stages.search.verdict import verdict_of_search

CLOSE = 1.1
ROOM = 4
"""Dots closer than this, in per cent of the axis, stand above one another, at most so many to either side."""
STEP = 0.05
PARTS = 3
"""A range of settings is shown in so many parts."""


class TrialDot(NamedTuple):
    """A trial as a dot: its place on the axis, in per cent, and its row.

    `hollow` marks a trial that learned nothing.
    """

    x: float
    y: int
    score: float
    number: int
    hollow: bool


def axis(findings: SearchFindings) -> Forest:
    """Return an axis that holds every trial and every reference line."""
    values = [findings.chance, findings.majority]
    if findings.human is not None:
        values.append(findings.human)
    for finding in findings.found:
        values += [finding.chance, *finding.scores]
    low = math.floor(min(values) / STEP) * STEP
    high = math.ceil(max(values) / STEP) * STEP
    return Forest((), max(0.0, low), min(1.0, max(high, low + 2 * STEP)))


def ticks(scale: Forest) -> tuple[float, ...]:
    """Round numbers along an axis, about five.

    >>> ticks(Forest((), 0.45, 1.0))
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    """
    width = scale.high - scale.low
    between = next((step for step in (0.05, 0.1) if width / step < 6), 0.2)
    first = math.ceil(scale.low / between - 1e-9)
    last = math.floor(scale.high / between + 1e-9)
    return tuple(round(number * between, 2) for number in range(first, last + 1))


def dots_of(trials: Sequence[Trial], scale: Forest) -> Iterator[TrialDot]:
    """Yield dots in order of score, stacked where they would overlap."""
    last_x: dict[int, float] = {}
    heights = [0]
    for step in range(1, ROOM + 1):
        heights += [step, -step]
    scored = [(trial.ended.accuracy, trial.number, trial) for trial in trials if trial.ended.accuracy is not None]
    for score, _, trial in sorted(scored, key=lambda dot: dot[:2]):
        x = scale.place(score)
        free_heights = [height for height in heights if x - last_x.get(height, -math.inf) >= CLOSE]
        y = free_heights[0] if free_heights else heights[trial.number % len(heights)]
        last_x[y] = x
        yield TrialDot(x, y, score, trial.number, trial.degenerate)


def by_setting(findings: SearchFindings, name: str) -> Iterator[tuple[str, list[tuple[float, int] | None]]]:
    """Yield each value of a setting, with median and number of trials by formalization.

    None for a formalization without such a trial.
    """
    setting = findings.space.parts[name]
    parts = [(f"{value:g}", value, math.nextafter(value, math.inf)) for value in setting.values]
    if setting.is_range:
        lowest, highest = setting.values
        edges = np.geomspace(lowest, highest, PARTS + 1).tolist()
        titles = [f"{low:.2g} to {high:.2g}" for low, high in pairwise(edges)]
        # the last part has its end in it
        parts = list(zip(titles, edges[:-1], [*edges[1:-1], math.inf], strict=True))
    for title, low, high in parts:
        medians = []
        for finding in findings.found:
            trials = [trial for trial in finding.trials if low <= trial.drawn[name] < high]
            medians.append(_median_score(trials))
        yield title, medians


def _median_score(trials: Sequence[Trial]) -> tuple[float, int] | None:
    """Median accuracy of the trials that have one, and their number; None without such a trial."""
    scores = [trial.ended.accuracy for trial in trials if trial.ended.accuracy is not None]
    return (float(np.median(scores)), len(scores)) if scores else None


def write_search_page(findings: SearchFindings, folder: Path) -> Path:
    """Write the page of a search and return it."""
    return write_page(folder / INDEX, "stages/search/page.html.j2", **search_page(findings))


def search_page(findings: SearchFindings) -> dict[str, Any]:
    """Values of the page by the names in its template."""
    scale = axis(findings)
    done = [finding for finding in findings.found if finding.luck is not None]
    lucky = [(finding.formalization, finding.luck, finding) for finding in done]
    if len(done) > 1:
        lucky.append(("any of these", findings.overall, findings.best))
    tries = tries_up_to(max(len(finding.scores) for finding in done))
    sets = {DEV: f"dev: {findings.dev.card.name}"}
    for name, test in findings.answered.items():
        sets[name] = test.card.name
    expected_bests = []
    for finding in done:
        expected_bests.append((finding.formalization, [best_of(finding.scores, number) for number in tries]))
    return {
        "findings": findings,
        "verdict": verdict_of_search(findings),
        "tiles": list(_make_tiles(findings)),
        "scale": scale,
        "ticks": ticks(scale),
        "strips": [(finding, list(dots_of(finding.trials, scale))) for finding in done],
        "done": done,
        "lucky": lucky,
        "sets": sets,
        "tries": tries,
        "best_of": expected_bests,
        "by_setting": {name: list(by_setting(findings, name)) for name in findings.space.varied},
        "settings": flat(findings.run),
        "sources": [CITATIONS[name] for name in ("LIU", "DODGE", "TSAMARDINOS", "WHITE")],
        "draws": DRAWS,
    }


def _make_tiles(findings: SearchFindings) -> Iterator[tuple[str, str, str]]:
    """Yield label, value and small print of each tile."""
    lucky = findings.overall
    trials = findings.trials
    failed = sum(finding.count(FAILED) for finding in findings.found)
    failed_note = f", {failed} failed" if failed else ""
    yield ("Trials", f"{lucky.trials:,}", f"of {plural(len(findings.found), 'formalization')}{failed_note}")
    diverged = sum(finding.count(DIVERGED) for finding in findings.found)
    degenerate = sum(finding.degenerate for finding in findings.found)
    yield ("Degenerate", f"{degenerate:,}", f"of {len(trials):,}, {diverged} diverged")
    yield ("Best on dev", percent(lucky.best), f"best of guessers {percent(lucky.guessing)}")
    if lucky.corrected is not None:
        yield ("Corrected", percent(lucky.corrected), f"{percent(lucky.low)} to {percent(lucky.high)}")
    for name, dataset in findings.answered.items():
        row = findings.best.score(CHOSEN, name)
        if row is not None:
            yield (f"Test: {dataset.card.name}", percent(row.value), f"{percent(row.low)} to {percent(row.high)}")
