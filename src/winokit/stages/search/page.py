"""The page of a search: scores, luck and the ensemble.

A strip of dots shows the distribution of Liu et al.'s (2020) Figure 1. Beside it are the expected best of ever more
trials, and medians by setting. The sentences of the verdict are made from rows of results alone.
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
"""Dots closer than `CLOSE`, in per cent of the axis, are stacked, at most `ROOM` to either side."""
STEP = 0.05
PARTS = 3
"""Number of parts in which the values of a range are shown."""


class TrialDot(NamedTuple):
    """A trial as a dot of the chart."""

    x: float
    """Position along the axis, in per cent."""
    y: int
    """Number of dots above the axis, or below if negative."""
    score: float
    number: int
    hollow: bool
    """Whether the trial shows a sign of having learned nothing."""


def axis(findings: SearchFindings) -> Forest:
    """Return an empty chart whose axis holds all scores and reference lines."""
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
    """Yield a dot per finished trial, stacked if they would overlap."""
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
    """Yield each value of a setting, with median accuracy and number of trials per formalization.

    Values of a range are in a few parts. A formalization without finished trials of a value has None.
    """
    setting = findings.space.parts[name]
    parts = [(f"{value:g}", value, math.nextafter(value, math.inf)) for value in setting.values]
    if setting.is_range:
        lowest, highest = setting.values
        edges = np.geomspace(lowest, highest, PARTS + 1).tolist()
        titles = [f"{low:.2g} to {high:.2g}" for low, high in pairwise(edges)]
        # The last part includes its end.
        parts = list(zip(titles, edges[:-1], [*edges[1:-1], math.inf], strict=True))
    for title, low, high in parts:
        medians = []
        for finding in findings.found:
            trials = [trial for trial in finding.trials if low <= trial.drawn[name] < high]
            medians.append(_median_score(trials))
        yield title, medians


def _median_score(trials: Sequence[Trial]) -> tuple[float, int] | None:
    """Return the median accuracy of the finished trials, and their number.

    None if no trial is finished.
    """
    scores = [trial.ended.accuracy for trial in trials if trial.ended.accuracy is not None]
    if not scores:
        return None
    return float(np.median(scores)), len(scores)


def write_search_page(findings: SearchFindings, folder: Path) -> Path:
    """Write the page of a search, and return its path."""
    values = search_page(findings)
    return write_page(folder / INDEX, "stages/search/page.html.j2", **values)


def search_page(findings: SearchFindings) -> dict[str, Any]:
    """Return the values that the page's template shows, by name."""
    scale = axis(findings)
    done = [finding for finding in findings.found if finding.luck is not None]
    lucky = [(finding.formalization, finding.luck, finding) for finding in done]
    if len(done) > 1:
        lucky.append(("any of these", findings.overall, findings.best))
    most_trials = max(len(finding.scores) for finding in done)
    tries = tries_up_to(most_trials)
    sets = {DEV: f"dev: {findings.dev.card.name}"}
    for name, test in findings.answered.items():
        sets[name] = test.card.name
    expected_bests = []
    strips = []
    for finding in done:
        bests = [best_of(finding.scores, number) for number in tries]
        expected_bests.append((finding.formalization, bests))
        dots = list(dots_of(finding.trials, scale))
        strips.append((finding, dots))
    medians = {name: list(by_setting(findings, name)) for name in findings.space.varied}
    return {
        "findings": findings,
        "verdict": verdict_of_search(findings),
        "tiles": list(_make_tiles(findings)),
        "scale": scale,
        "ticks": ticks(scale),
        "strips": strips,
        "done": done,
        "lucky": lucky,
        "sets": sets,
        "tries": tries,
        "best_of": expected_bests,
        "by_setting": medians,
        "settings": flat(findings.run),
        "sources": [CITATIONS[name] for name in ("LIU", "DODGE", "TSAMARDINOS", "WHITE")],
        "draws": DRAWS,
    }


def _make_tiles(findings: SearchFindings) -> Iterator[tuple[str, str, str]]:
    """Yield the main numbers, each as label, value and small print."""
    lucky = findings.overall
    trials = findings.trials
    failed = sum(finding.count(FAILED) for finding in findings.found)
    failed_note = f", {failed} failed" if failed else ""
    formalizations = plural(len(findings.found), "formalization")
    yield ("Trials", f"{lucky.trials:,}", f"of {formalizations}{failed_note}")
    diverged = sum(finding.count(DIVERGED) for finding in findings.found)
    degenerate = sum(finding.degenerate for finding in findings.found)
    yield ("Degenerate", f"{degenerate:,}", f"of {len(trials):,}, {diverged} diverged")
    yield ("Best on dev", percent(lucky.best), f"best of guessers {percent(lucky.guessing)}")
    if lucky.corrected is not None:
        yield ("Corrected", percent(lucky.corrected), f"{percent(lucky.low)} to {percent(lucky.high)}")
    for name, dataset in findings.answered.items():
        row = findings.best.score(CHOSEN, name)
        if row is not None:
            interval = f"{percent(row.low)} to {percent(row.high)}"
            yield (f"Test: {dataset.card.name}", percent(row.value), interval)
