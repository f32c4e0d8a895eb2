"""The verdict on a search: the value of its best trial, in sentences from its rows."""

from collections.abc import Iterator

from winokit.drawing import decision
from winokit.drawing.decision import BAD, EACH, GOOD, PLAIN, SEVERAL, SMALL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.wording import percent, plural, probability
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.search.findings import CHOSEN, SearchFindings

WIDE = 0.1
"""Trials of one formalization that lie further apart than this are said to."""
GUESSERS = "guessers"
EQUALS = "equals"
CORRECTED = "corrected"
TEST = "test"
DEGENERATE = "degenerate"
NONE = "none"
SOME = "some"
ALL = "all"

SEARCH = DecisionTable.of_stage(
    "search",
    {GUESSERS: (ABOVE, AT), EQUALS: (ABOVE, AT), CORRECTED: EACH, TEST: SEVERAL, DEGENERATE: (NONE, SOME, ALL)},
)


def state_of(findings: SearchFindings) -> dict[str, str]:
    """The facts of a search."""
    luck = findings.overall
    tests = [findings.best.score(CHOSEN, name) for name in findings.tests]
    corrected = UNKNOWN
    if luck.low is not None and luck.high is not None:
        corrected = where_lies(luck.low, luck.high, luck.level)
    return {
        GUESSERS: ABOVE if luck.p_guessing < SMALL else AT,
        EQUALS: ABOVE if luck.p_equal < SMALL else AT,
        CORRECTED: corrected,
        TEST: decision.together(decision.standing(row, len(tests)) for row in tests),
        DEGENERATE: _find_degenerate_share(findings),
    }


def _find_degenerate_share(findings: SearchFindings) -> str:
    """Whether no trial is degenerate, some are, or all."""
    degenerate_count = sum(finding.degenerate for finding in findings.found)
    if degenerate_count == 0:
        return NONE
    return ALL if degenerate_count == len(findings.trials) else SOME


def where_lies(low: float, high: float, level: float) -> str:
    """Whether an interval lies above a level, below it, or contains it."""
    if low > level:
        return ABOVE
    return BELOW if high < level else AT


def verdict_of_search(findings: SearchFindings) -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(findings)
    case = SEARCH.decide(state)
    word = case.word.format(trials=plural(findings.overall.trials, "trial"))
    lucky = findings.overall
    best = findings.best
    assert best.chosen is not None
    which = f"number {best.chosen.number} of {best.formalization}"
    headline = f"The best of {plural(lucky.trials, 'trial')}, {which}, has {percent(lucky.best)} of the dev set."
    if lucky.corrected is not None:
        headline += f" On problems it was not chosen on, {percent(lucky.corrected)} may be expected."
    return Verdict(word, case.tone, headline, tuple(_make_points(findings, state)))


def _make_points(findings: SearchFindings, state: dict[str, str]) -> Iterator[VerdictPoint]:
    yield from _compare_with_luck(findings, state)
    yield from _compare_formalizations(findings)
    yield _describe_degenerate_trials(findings, state[DEGENERATE])
    yield from _describe_tests(findings)


def _compare_with_luck(findings: SearchFindings, state: dict[str, str]) -> Iterator[VerdictPoint]:
    """Points that compare the best trial with guessers and with equal trials."""
    luck = findings.overall
    yield VerdictPoint(
        f"The best of as many guessers that prefer what these trials prefer would reach {percent(luck.guessing)}, "
        f"and with probability {probability(luck.p_guessing)} what was reached here.",
        BAD if state[GUESSERS] == AT else GOOD,
        {GUESSERS: state[GUESSERS]},
    )
    if luck.trials > 1:
        is_ahead = state[EQUALS] == ABOVE
        ahead = "is ahead by more than that" if is_ahead else "cannot be distinguished from such luck"
        p = probability(luck.p_equal) if luck.p_equal < 0.001 else f"= {probability(luck.p_equal)}"
        yield VerdictPoint(
            f"Were all trials as good as the middle one, the best would reach {percent(luck.equal)}; the best here "
            f"{ahead} (p {p}).",
            PLAIN,
            {EQUALS: state[EQUALS]},
        )


def _compare_formalizations(findings: SearchFindings) -> Iterator[VerdictPoint]:
    """Points on the medians of formalizations and the spread within them."""
    spreads = {finding.formalization: finding.spread for finding in findings.found if finding.spread is not None}
    if len(spreads) > 1:
        medians = {name: spread.median for name, spread in spreads.items()}
        high = max(medians, key=medians.__getitem__)
        low = min(medians, key=medians.__getitem__)
        yield VerdictPoint(
            f"Between formalizations: the middle trial has {percent(medians[high])} under {high} and "
            f"{percent(medians[low])} under {low}, on the same settings and seeds."
        )
    ranges = {name: spread.best - spread.worst for name, spread in spreads.items() if spread.n > 1}
    if ranges:
        widest = max(ranges, key=ranges.__getitem__)
        ends = f"{percent(spreads[widest].worst)} to {percent(spreads[widest].best)}"
        text = f"Within one: by settings and seed alone, trials of {widest} run from {ends}."
        yield VerdictPoint(text, BAD if ranges[widest] > WIDE else PLAIN)


def _describe_degenerate_trials(findings: SearchFindings, kind: str) -> VerdictPoint:
    if kind == NONE:
        return VerdictPoint("No trial is degenerate.", GOOD, {DEGENERATE: NONE})
    degenerate_count = sum(finding.degenerate for finding in findings.found)
    are = "is" if degenerate_count == 1 else "are"
    luck = "; whether a run succeeds depends on settings and seed" if kind == SOME else ""
    share = f"{degenerate_count:,} of {plural(len(findings.trials), 'trial')} {are} degenerate{luck}"
    return VerdictPoint(f"{share}. The table of trials says by which sign.", BAD, {DEGENERATE: kind})


def _describe_tests(findings: SearchFindings) -> Iterator[VerdictPoint]:
    """The score of the trial chosen on the dev set on each test set."""
    for name, dataset in findings.tests.items():
        row = findings.best.score(CHOSEN, name)
        if row is None:
            yield VerdictPoint(
                f"{dataset.card.name} has no answers; the ensembles' predictions for it are in ensembles/."
            )
            continue
        row_standing = decision.standing(row, len(findings.tests))
        set_name = f"On {dataset.card.name}, which had no say in the choice"
        yield decision.point_of(
            f"{name}/{TEST}", row_standing, f"{set_name}, the chosen trial has {decision.said(row, row_standing)}."
        )
