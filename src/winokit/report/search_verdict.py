"""What a search is worth, in sentences made from its rows: nothing is said that a row does not say."""

from __future__ import annotations

from collections.abc import Iterator

from winokit.report.decision import BAD, GOOD, PLAIN, SMALL, Point, Verdict
from winokit.report.wording import percent, plural, probability
from winokit.training.searching.findings import CHOSEN, Findings

WIDE = 0.1
"""Trials of one formalization that lie further apart than this are said to."""


def verdict_of_search(findings: Findings) -> Verdict:
    """A word, a sentence and the findings behind them."""
    word, tone = _word(findings)
    return Verdict(word, tone, _headline(findings), tuple(_points(findings)))


def _word(findings: Findings) -> tuple[str, str]:
    lucky = findings.overall
    if lucky.p_guessing >= SMALL:
        return f"The best of {plural(lucky.trials, 'trial')} is what the best of as many guessers reaches", BAD
    if lucky.low is None:
        return "Too few problems to say what the best trial is worth", PLAIN
    if lucky.low <= lucky.floor:
        return "The best trial may be no better than guessing on other problems", BAD
    return "The best trial is above guessing, even counting that it was chosen", GOOD


def _headline(findings: Findings) -> str:
    lucky, best = findings.overall, findings.best
    assert best.chosen is not None
    which = f"number {best.chosen.number} of {best.formalization}"
    said = f"The best of {plural(lucky.trials, 'trial')}, {which}, has {percent(lucky.best)} of the dev set."
    if lucky.corrected is None:
        return said
    return f"{said} On problems it was not chosen on, {percent(lucky.corrected)} may be expected."


def _points(findings: Findings) -> Iterator[Point]:
    lucky = findings.overall
    yield Point(
        f"The best of as many guessers would reach {percent(lucky.guessing)}, and with probability "
        f"{probability(lucky.p_guessing)} what was reached here.",
        BAD if lucky.p_guessing >= SMALL else GOOD,
    )
    yield from _formalizations(findings)
    yield from _settings(findings)
    yield from _degenerate(findings)
    yield from _tests(findings)


def _formalizations(findings: Findings) -> Iterator[Point]:
    """How far the medians lie apart."""
    spreads = {one.formalization: one.spread for one in findings.found if one.spread is not None}
    if len(spreads) < 2:
        return
    medians = {name: spread.median for name, spread in spreads.items()}
    high, low = max(medians, key=medians.__getitem__), min(medians, key=medians.__getitem__)
    yield Point(
        f"Between formalizations: the middle trial has {percent(medians[high])} under {high} and "
        f"{percent(medians[low])} under {low}, on the same settings and seeds."
    )


def _settings(findings: Findings) -> Iterator[Point]:
    """Within which formalization settings and seeds matter most."""
    widest = max(
        (one for one in findings.found if one.spread is not None and one.spread.n > 1),
        key=lambda one: one.spread.best - one.spread.worst if one.spread else 0.0,
        default=None,
    )
    if widest is None or widest.spread is None:
        return
    apart = widest.spread.best - widest.spread.worst
    yield Point(
        f"Within one: by settings and seed alone, trials of {widest.formalization} run from "
        f"{percent(widest.spread.worst)} to {percent(widest.spread.best)}.",
        BAD if apart > WIDE else PLAIN,
    )


def _degenerate(findings: Findings) -> Iterator[Point]:
    some, of = sum(one.degenerate for one in findings.found), len(findings.trials)
    if some:
        are = "is" if some == 1 else "are"
        yield Point(f"{some:,} of {plural(of, 'trial')} {are} degenerate; the table of trials says by which sign.", BAD)
    else:
        yield Point("No trial is degenerate.", GOOD)


def _tests(findings: Findings) -> Iterator[Point]:
    """What the trial chosen on the dev set does on each test set."""
    for name, dataset in findings.tests.items():
        row = findings.best.score(CHOSEN, name)
        if row is None:
            yield Point(f"{dataset.card.name} has no answers; the ensembles' predictions for it are in ensembles/.")
            continue
        above = row["low"] is not None and row["low"] > row["chance"]
        yield Point(
            f"On {dataset.card.name}, which had no say in the choice, the chosen trial has {percent(row['value'])} "
            f"({percent(row['low'])} to {percent(row['high'])}).",
            GOOD if above else BAD,
        )
