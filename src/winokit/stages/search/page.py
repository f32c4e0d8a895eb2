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
    """A trial: where it lies on the axis, in per cent; how far from the middle line; and whether it learned nothing."""

    x: float
    y: int
    score: float
    number: int
    hollow: bool


def axis(findings: SearchFindings) -> Forest:
    """An axis that holds every trial and every line that means something."""
    lines = [findings.chance, findings.majority, *([] if findings.human is None else [findings.human])]
    values = [*lines, *(score for finding in findings.found for score in (finding.chance, *finding.scores))]
    low = math.floor(min(values) / STEP) * STEP
    high = math.ceil(max(values) / STEP) * STEP
    return Forest((), max(0.0, low), min(1.0, max(high, low + 2 * STEP)))


def ticks(scale: Forest) -> tuple[float, ...]:
    """Round numbers along an axis, about five.

    >>> ticks(Forest((), 0.45, 1.0))
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    """
    between = next(step for step in (0.05, 0.1, 0.2) if (scale.high - scale.low) / step < 6 or step == 0.2)
    first = math.ceil(scale.low / between - 1e-9)
    last = math.floor(scale.high / between + 1e-9)
    return tuple(round(number * between, 2) for number in range(first, last + 1))


def dots_of(trials: Sequence[Trial], scale: Forest) -> Iterator[TrialDot]:
    """Dots in order of score; those that would cover one another take turns above and below."""
    last: dict[int, float] = {}
    places = [0, *(side * step for step in range(1, ROOM + 1) for side in (1, -1))]
    scored = [(trial.ended.accuracy, trial.number, trial) for trial in trials if trial.ended.accuracy is not None]
    for score, _, trial in sorted(scored, key=lambda dot: dot[:2]):
        x = scale.place(score)
        y = next(
            (place for place in places if x - last.get(place, -math.inf) >= CLOSE), places[trial.number % len(places)]
        )
        last[y] = x
        yield TrialDot(x, y, score, trial.number, trial.degenerate)


def by_setting(findings: SearchFindings, name: str) -> Iterator[tuple[str, list[tuple[float, int] | None]]]:
    """Each value of a setting, and for each formalization the median and of how many; None where no trial has it."""
    setting = findings.space.parts[name]
    parts = [(f"{value:g}", value, math.nextafter(value, math.inf)) for value in setting.values]
    if setting.is_range:
        lowest, highest = setting.values
        edges = np.geomspace(lowest, highest, PARTS + 1).tolist()
        titles = [f"{low:.2g} to {high:.2g}" for low, high in pairwise(edges)]
        # the last part has its end in it
        parts = list(zip(titles, edges[:-1], [*edges[1:-1], math.inf], strict=True))
    for title, low, high in parts:
        within = ([trial for trial in finding.trials if low <= trial.drawn[name] < high] for finding in findings.found)
        scores = [[t.ended.accuracy for t in trials if t.ended.accuracy is not None] for trials in within]
        yield title, [(float(np.median(own)), len(own)) if own else None for own in scores]


def write_search_page(findings: SearchFindings, folder: Path) -> Path:
    """Write the page of a search and return it."""
    return write_page(folder / INDEX, "stages/search/page.html.j2", **search_page(findings))


def search_page(findings: SearchFindings) -> dict[str, Any]:
    """Everything the page of a search shows, by the names its template has for it."""
    scale = axis(findings)
    done = [finding for finding in findings.found if finding.luck is not None]
    lucky = [(finding.formalization, finding.luck, finding) for finding in done]
    if len(done) > 1:
        lucky.append(("any of these", findings.overall, findings.best))
    tries = tries_up_to(max(len(finding.scores) for finding in done))
    tests = {name: test.card.name for name, test in findings.answered.items()}
    return {
        "findings": findings,
        "verdict": verdict_of_search(findings),
        "tiles": list(_tiles(findings)),
        "scale": scale,
        "ticks": ticks(scale),
        "strips": [(finding, list(dots_of(finding.trials, scale))) for finding in done],
        "done": done,
        "lucky": lucky,
        "sets": {DEV: f"dev: {findings.dev.card.name}", **tests},
        "tries": tries,
        "best_of": [(finding.formalization, [best_of(finding.scores, number) for number in tries]) for finding in done],
        "by_setting": {name: list(by_setting(findings, name)) for name in findings.space.varied},
        "settings": flat(findings.run),
        "sources": [CITATIONS[name] for name in ("LIU", "DODGE", "TSAMARDINOS", "WHITE")],
        "draws": DRAWS,
    }


def _tiles(findings: SearchFindings) -> Iterator[tuple[str, str, str]]:
    """Label, value and small print: trials, those that learned nothing, the best on dev, what is left of it, tests."""
    lucky = findings.overall
    trials = findings.trials
    failed = sum(finding.count(FAILED) for finding in findings.found)
    more = f", {failed} failed" if failed else ""
    yield ("Trials", f"{lucky.trials:,}", f"of {plural(len(findings.found), 'formalization')}{more}")
    diverged = sum(finding.count(DIVERGED) for finding in findings.found)
    degenerate = sum(finding.degenerate for finding in findings.found)
    yield ("Degenerate", f"{degenerate:,}", f"of {len(trials):,}, {diverged} diverged")
    yield ("Best on dev", percent(lucky.best), f"best of guessers {percent(lucky.guessing)}")
    if lucky.corrected is not None:
        yield ("Corrected", percent(lucky.corrected), f"{percent(lucky.low)} to {percent(lucky.high)}")
    for name, dataset in findings.answered.items():
        if (row := findings.best.score(CHOSEN, name)) is not None:
            yield (f"Test: {dataset.card.name}", percent(row.value), f"{percent(row.low)} to {percent(row.high)}")
