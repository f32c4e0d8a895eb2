"""The verdict on a search: sentences on its best trial, made from its rows."""

from collections.abc import Iterator

from winokit.drawing import decision
from winokit.drawing.decision import BAD, EACH, GOOD, PLAIN, SEVERAL, SMALL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.wording import percent, plural, probability
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.search.findings import CHOSEN, SearchFindings

WIDE = 0.1
"""Range of accuracies within a formalization from which it counts against the score."""
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
    """Return the facts of a search, which decide its verdict."""
    luck = findings.overall
    test_rows = [findings.best.score(CHOSEN, name) for name in findings.tests]
    test_standings = [decision.standing(row, len(test_rows)) for row in test_rows]
    corrected = UNKNOWN
    if luck.low is not None and luck.high is not None:
        corrected = where_lies(luck.low, luck.high, luck.level)
    return {
        GUESSERS: ABOVE if luck.p_guessing < SMALL else AT,
        EQUALS: ABOVE if luck.p_equal < SMALL else AT,
        CORRECTED: corrected,
        TEST: decision.together(test_standings),
        DEGENERATE: _find_degenerate_share(findings),
    }


def _find_degenerate_share(findings: SearchFindings) -> str:
    """Return NONE, SOME or ALL, by the number of degenerate trials."""
    degenerate_count = sum(finding.degenerate for finding in findings.found)
    if degenerate_count == 0:
        return NONE
    return ALL if degenerate_count == len(findings.trials) else SOME


def where_lies(low: float, high: float, level: float) -> str:
    """Return ABOVE or BELOW if an interval is above or below a level, else AT."""
    if low > level:
        return ABOVE
    return BELOW if high < level else AT


def verdict_of_search(findings: SearchFindings) -> Verdict:
    """Return the verdict on a search: headline, text and findings."""
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
    """Yield the findings below the headline, in the order of the page."""
    yield from _compare_with_luck(findings, state)
    yield from _compare_formalizations(findings)
    yield _describe_degenerate_trials(findings, state[DEGENERATE])
    yield from _describe_tests(findings)


def _compare_with_luck(findings: SearchFindings, state: dict[str, str]) -> Iterator[VerdictPoint]:
    """Yield points that compare the best trial with guessers and with equal trials."""
    luck = findings.overall
    guessing = percent(luck.guessing)
    p_guessing = probability(luck.p_guessing)
    yield VerdictPoint(
        f"The best of as many guessers that prefer what these trials prefer would reach {guessing}, "
        f"and with probability {p_guessing} what was reached here.",
        BAD if state[GUESSERS] == AT else GOOD,
        {GUESSERS: state[GUESSERS]},
    )
    if luck.trials > 1:
        is_ahead = state[EQUALS] == ABOVE
        ahead = "is ahead by more than that" if is_ahead else "cannot be distinguished from such luck"
        p = probability(luck.p_equal) if luck.p_equal < 0.001 else f"= {probability(luck.p_equal)}"
        equal = percent(luck.equal)
        yield VerdictPoint(
            f"Were all trials as good as the middle one, the best would reach {equal}; the best here {ahead} (p {p}).",
            PLAIN,
            {EQUALS: state[EQUALS]},
        )


def _compare_formalizations(findings: SearchFindings) -> Iterator[VerdictPoint]:
    """Yield points on formalizations' medians, and on the range within one.

    The first needs two formalizations with a finished trial. The second is on the formalization with the widest range.
    """
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
    """Return a point on the number of degenerate trials. `kind` is NONE, SOME or ALL."""
    if kind == NONE:
        return VerdictPoint("No trial is degenerate.", GOOD, {DEGENERATE: NONE})
    degenerate_count = sum(finding.degenerate for finding in findings.found)
    are = "is" if degenerate_count == 1 else "are"
    luck = "; whether a run succeeds depends on settings and seed" if kind == SOME else ""
    share = f"{degenerate_count:,} of {plural(len(findings.trials), 'trial')} {are} degenerate{luck}"
    return VerdictPoint(f"{share}. The table of trials says by which sign.", BAD, {DEGENERATE: kind})


def _describe_tests(findings: SearchFindings) -> Iterator[VerdictPoint]:
    """Yield a point for each test set, on the score of the chosen trial."""
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
