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

from winokit.drawing import decision
from winokit.drawing.decision import BAD, EACH, GOOD, PLAIN, SEVERAL, SMALL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import percent, plural, probability
from winokit.methods.metrics.judge_best import DRAWS
from winokit.methods.training.finetune import DEV
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.search.findings import CHOSEN, SearchFindings, tries_up_to
from winokit.stages.search.luck import best_of
from winokit.stages.search.trials import DIVERGED, FAILED, Trial

CLOSE, ROOM = 1.1, 4
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
    low, high = math.floor(min(values) / STEP) * STEP, math.ceil(max(values) / STEP) * STEP
    return Forest((), max(0.0, low), min(1.0, max(high, low + 2 * STEP)))


def ticks(scale: Forest) -> tuple[float, ...]:
    """Round numbers along an axis, about five.

    >>> ticks(Forest((), 0.45, 1.0))
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    """
    between = next(step for step in (0.05, 0.1, 0.2) if (scale.high - scale.low) / step < 6 or step == 0.2)
    first, last = math.ceil(scale.low / between - 1e-9), math.floor(scale.high / between + 1e-9)
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
    lucky, trials = findings.overall, findings.trials
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


WIDE = 0.1
"""Trials of one formalization that lie further apart than this are said to."""
GUESSERS, EQUALS, CORRECTED, TEST, DEGENERATE = "guessers", "equals", "corrected", "test", "degenerate"
NONE, SOME, ALL = "none", "some", "all"

SEARCH = DecisionTable.of_stage(
    "search",
    {GUESSERS: (ABOVE, AT), EQUALS: (ABOVE, AT), CORRECTED: EACH, TEST: SEVERAL, DEGENERATE: (NONE, SOME, ALL)},
)


def state_of(findings: SearchFindings) -> dict[str, str]:
    """The facts of a search."""
    lucky, degenerate = findings.overall, sum(finding.degenerate for finding in findings.found)
    tests = [findings.best.score(CHOSEN, name) for name in findings.tests]
    corrected = UNKNOWN
    if lucky.low is not None and lucky.high is not None:
        corrected = where_lies(lucky.low, lucky.high, lucky.level)
    return {
        GUESSERS: ABOVE if lucky.p_guessing < SMALL else AT,
        EQUALS: ABOVE if lucky.p_equal < SMALL else AT,
        CORRECTED: corrected,
        TEST: decision.together(decision.standing(row, len(tests)) for row in tests),
        DEGENERATE: NONE if not degenerate else ALL if degenerate == len(findings.trials) else SOME,
    }


def where_lies(low: float, high: float, level: float) -> str:
    """Where an interval lies against a level."""
    if low > level:
        return ABOVE
    return BELOW if high < level else AT


def verdict_of_search(findings: SearchFindings) -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(findings)
    case = SEARCH.decide(state)
    word = case.word.format(trials=plural(findings.overall.trials, "trial"))
    lucky, best = findings.overall, findings.best
    assert best.chosen is not None
    which = f"number {best.chosen.number} of {best.formalization}"
    headline = f"The best of {plural(lucky.trials, 'trial')}, {which}, has {percent(lucky.best)} of the dev set."
    if lucky.corrected is not None:
        headline += f" On problems it was not chosen on, {percent(lucky.corrected)} may be expected."
    return Verdict(word, case.tone, headline, tuple(_points(findings, state)))


def _points(findings: SearchFindings, state: dict[str, str]) -> Iterator[VerdictPoint]:
    lucky = findings.overall
    yield VerdictPoint(
        f"The best of as many guessers that prefer what these trials prefer would reach {percent(lucky.guessing)}, "
        f"and with probability {probability(lucky.p_guessing)} what was reached here.",
        BAD if state[GUESSERS] == AT else GOOD,
        {GUESSERS: state[GUESSERS]},
    )
    if lucky.trials > 1:
        ahead = "is ahead by more than that" if state[EQUALS] == ABOVE else "cannot be distinguished from such luck"
        yield VerdictPoint(
            f"Were all trials as good as the middle one, the best would reach {percent(lucky.equal)}; the best here "
            f"{ahead} (p {'' if lucky.p_equal < 0.001 else '= '}{probability(lucky.p_equal)}).",
            PLAIN,
            {EQUALS: state[EQUALS]},
        )
    yield from _formalizations(findings)
    yield from _degenerate(findings, state[DEGENERATE])
    yield from _tests(findings)


def _formalizations(findings: SearchFindings) -> Iterator[VerdictPoint]:
    """How far the medians of formalizations lie apart, and within which of them settings and seeds matter most."""
    spreads = {finding.formalization: finding.spread for finding in findings.found if finding.spread is not None}
    if len(spreads) > 1:
        medians = {name: spread.median for name, spread in spreads.items()}
        high, low = max(medians, key=medians.__getitem__), min(medians, key=medians.__getitem__)
        yield VerdictPoint(
            f"Between formalizations: the middle trial has {percent(medians[high])} under {high} and "
            f"{percent(medians[low])} under {low}, on the same settings and seeds."
        )
    apart = {name: spread.best - spread.worst for name, spread in spreads.items() if spread.n > 1}
    if apart:
        widest = max(apart, key=apart.__getitem__)
        ends = f"{percent(spreads[widest].worst)} to {percent(spreads[widest].best)}"
        text = f"Within one: by settings and seed alone, trials of {widest} run from {ends}."
        yield VerdictPoint(text, BAD if apart[widest] > WIDE else PLAIN)


def _degenerate(findings: SearchFindings, kind: str) -> Iterator[VerdictPoint]:
    degenerate, of = sum(finding.degenerate for finding in findings.found), len(findings.trials)
    if kind == NONE:
        yield VerdictPoint("No trial is degenerate.", GOOD, {DEGENERATE: NONE})
        return
    are = "is" if degenerate == 1 else "are"
    luck = "; whether a run succeeds depends on settings and seed" if kind == SOME else ""
    text = f"{degenerate:,} of {plural(of, 'trial')} {are} degenerate{luck}. The table of trials says by which sign."
    yield VerdictPoint(text, BAD, {DEGENERATE: kind})


def _tests(findings: SearchFindings) -> Iterator[VerdictPoint]:
    """What the trial chosen on the dev set does on each test set."""
    for name, dataset in findings.tests.items():
        row = findings.best.score(CHOSEN, name)
        if row is None:
            yield VerdictPoint(
                f"{dataset.card.name} has no answers; the ensembles' predictions for it are in ensembles/."
            )
            continue
        place = decision.standing(row, len(findings.tests))
        text = (
            f"On {dataset.card.name}, which had no say in the choice, the chosen trial has {decision.said(row, place)}."
        )
        yield decision.point_of(f"{name}/{TEST}", place, text)
