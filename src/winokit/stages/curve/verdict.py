"""What a learning curve is worth: whether its lines rise, where they end, and whether that depends on the seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winokit.drawing.decision import (
    BAD,
    GOOD,
    MIXED,
    PLAIN,
    SAID,
    SEVERAL,
    SURE,
    TONES,
    DecisionTable,
    Verdict,
    VerdictCase,
    VerdictPoint,
    together,
)
from winokit.drawing.wording import PER_CENT, percent
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.curve.fit import CurveSeries
from winokit.stages.curve.table import BEYOND, amount, doubling, end_of, titles_of

GROWTH, END, SEEDS = "growth", "end", "seeds"
ONE, AGREE, DISAGREE = "one", "agree", "disagree"

CURVE = DecisionTable(
    {GROWTH: SEVERAL, END: SEVERAL, SEEDS: (ONE, AGREE, DISAGREE)},
    (
        VerdictCase({GROWTH: ABOVE, SEEDS: ONE}, "Every line rises, in the one restart that was run", PLAIN),
        VerdictCase({GROWTH: ABOVE, END: (ABOVE, UNKNOWN)}, "More training data helps", GOOD),
        VerdictCase(
            {GROWTH: ABOVE, END: MIXED}, "More training data helps, and not every curve ends above guessing", PLAIN
        ),
        VerdictCase({GROWTH: ABOVE}, "Every line rises, and none ends above guessing", PLAIN),
        VerdictCase({GROWTH: MIXED}, "Some lines rise, others are not shown to", PLAIN),
        VerdictCase({GROWTH: AT, SEEDS: DISAGREE}, "Whether more training data helps depends on the seed", BAD),
        VerdictCase({GROWTH: AT, END: ABOVE}, "Above guessing, and more training data is not shown to help", PLAIN),
        VerdictCase({GROWTH: AT}, "More training data is not shown to help", BAD),
        VerdictCase({GROWTH: BELOW}, "Every line falls: more training data makes it worse", BAD),
        VerdictCase({}, "Too few sizes or runs to say whether more training data helps", PLAIN),
    ),
)
SENTENCES = {
    ONE: "With one restart, how runs differ is known only from how points lie around a line; another seed may do "
    "otherwise.",
    AGREE: "Restarts agree: the line of each goes the same way.",
    DISAGREE: "Restarts disagree: of one curve, the lines of some rise and those of others fall.",
}


def growth(series: CurveSeries, among: int = 1) -> str:
    """Whether a line rises (above), falls (below), may do either (at), or nobody knows; as one of so many curves."""
    if series.fit is None or not series.sure:
        return UNKNOWN
    interval = series.fit.slope_interval(1 - SURE / among)
    return ABOVE if interval.low > 0 else BELOW if interval.high < 0 else AT


def seeds(series: CurveSeries) -> str:
    """Whether the lines of single restarts go the same way."""
    slopes = series.restart_slopes
    if len(slopes) < 2:
        return ONE
    return AGREE if min(slopes) > 0 or max(slopes) <= 0 else DISAGREE


def state_of(series: Sequence[CurveSeries]) -> dict[str, str]:
    """The facts of all curves together."""
    kinds = {seeds(one) for one in series}
    return {
        GROWTH: together(growth(one, len(series)) for one in series),
        END: together(one.levels[-1].mean.stands for one in series),
        SEEDS: next((kind for kind in (DISAGREE, ONE) if kind in kinds), AGREE),
    }


def verdict_of_curve(series: Sequence[CurveSeries]) -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(series)
    case = CURVE.decide(state)
    named = zip(titles_of(series), series, strict=True)
    findings = [point for name, one in named for point in _points(name, one, len(series))]
    return Verdict(case.word, case.tone, SENTENCES[state[SEEDS]], tuple(findings))


def _points(name: str, one: CurveSeries, among: int) -> Iterator[VerdictPoint]:
    """What may be said of one curve."""
    trained, rise = [level for level in one.levels if level.size > 0], growth(one, among)
    tone = GOOD if rise == ABOVE else BAD if rise == BELOW else PLAIN
    if len(trained) > 1:
        first, last = trained[0], trained[-1]
        text = f"{name}: {percent(first.mean.value)} with {first.asked:,} problems, {percent(last.mean.value)} with "
        yield VerdictPoint(f"{text}{last.asked:,}. {_of_slope(one, rise)}".strip(), tone, {f"{name}/{GROWTH}": rise})
    if one.reach is not None:
        text = f"{name}: {of_reach(one, max(level.size for level in one.levels))}"
        yield VerdictPoint(text, PLAIN if rise == ABOVE else BAD, {f"{name}/{GROWTH}": rise})
    last, place = one.levels[-1], one.levels[-1].mean.stands
    if place != UNKNOWN:
        said = SAID[place].format(level=f"guessing ({percent(last.mean.chance)})")
        yield VerdictPoint(
            f"{name}: {percent(last.mean.value)} with {last.asked:,} is {said}.", TONES[place], {f"{name}/{END}": place}
        )


def _of_slope(one: CurveSeries, rise: str) -> str:
    if one.fit is None:
        return ""
    if rise == UNKNOWN:
        return f"Twice as much is worth {doubling(one)} points; how sure that is two points cannot say."
    maybe = ", so that it may be worth nothing" if rise == AT else ""
    return f"Twice as much is worth {doubling(one)} points{maybe}."


def of_reach(one: CurveSeries, largest: float) -> str:
    """Where the goal is reached, as a sentence."""
    reach, fit = one.reach, one.fit
    assert reach is not None
    assert fit is not None
    goal = f"{reach.target:g}{PER_CENT}"
    if fit.slope <= 0:
        return f"the line does not rise, and never has {goal}."
    if reach.size <= largest:
        return f"the line has {goal} at {amount(reach.size)} problems, which is within what was trained on."
    if not reach.size < BEYOND:
        return f"the line rises too little to have {goal} at any number of problems there could be."
    reached = f"the line would have {goal} at {amount(reach.size)} problems"
    if not one.sure:
        return f"{reached}, give or take nobody knows how much."
    if one.rises:
        return f"{reached} (95{PER_CENT}: {end_of(reach.low)} to {end_of(reach.high)}), if it went on like that."
    return f"{reached}, but its slope may be nought: at {end_of(reach.low)} problems or at none."
