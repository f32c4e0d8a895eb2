"""The verdict on a learning curve: does more training data help?"""

from collections.abc import Iterator, Sequence

from winokit.drawing import decision
from winokit.drawing.decision import BAD, GOOD, PLAIN, SEVERAL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.wording import PER_CENT, percent
from winokit.methods.metrics.judge_curves import ACCURACY, REACHED, CurveLevel, CurveSeries
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.curve.table import amount, doubling, end_of, titles_of

GROWTH = "growth"
END = "end"
SEEDS = "seeds"
ONE = "one"
AGREE = "agree"
NOT_SHOWN = "not_shown"
DISAGREE = "disagree"

TONES_OF_GROWTH = {ABOVE: GOOD, BELOW: BAD, AT: PLAIN, UNKNOWN: PLAIN}
CURVE = DecisionTable.of_stage("curve", {GROWTH: SEVERAL, END: SEVERAL, SEEDS: (ONE, AGREE, NOT_SHOWN, DISAGREE)})


def growth(series: CurveSeries, among: int = 1) -> str:
    """Direction of a curve's line: above, below, at, or unknown.

    It is above if a rise is shown, below if a fall is, and at if neither is. It is unknown without a line that has an
    interval. `among` is the number of curves tested together, by which the significance level is divided.
    """
    if series.fit is None or not series.sure:
        return UNKNOWN
    level = decision.SURE / among
    interval = series.fit.slope_interval(1 - level)
    if interval.low > 0:
        return ABOVE
    return BELOW if interval.high < 0 else AT


def seeds_of(series: CurveSeries, among: int = 1) -> str:
    """Agreement between restarts: one, agree, not_shown or disagree.

    Restarts agree if their lines all rise or all do not. If some rise and some fall, they disagree only if their slopes
    differ by more than single runs and test problems vary. `among` is the number of curves tested together, by which
    the significance level is divided.
    """
    slopes = series.restart_slopes
    if len(slopes) < 2:
        return ONE
    if min(slopes) > 0 or max(slopes) <= 0:
        return AGREE
    is_shown = series.p_seeds is not None and series.p_seeds * among < decision.SURE
    return DISAGREE if is_shown else NOT_SHOWN


def state_of(series: Sequence[CurveSeries]) -> dict[str, str]:
    """State of each fact of the decision table, over all curves.

    The table has a verdict for each combination of states. Of the agreement between restarts it is the worst of any
    curve, from agree over not_shown and one to disagree.
    """
    among = len(series)
    last_rows = [curve.levels[-1].mean for curve in series]
    states_of_seeds = {seeds_of(curve, among) for curve in series}
    worst_state = AGREE
    for state in (NOT_SHOWN, ONE, DISAGREE):
        if state in states_of_seeds:
            worst_state = state
    return {
        GROWTH: decision.together(growth(curve, among) for curve in series),
        END: decision.together(decision.standing(row, among) for row in last_rows),
        SEEDS: worst_state,
    }


def verdict_of_curve(series: Sequence[CurveSeries]) -> Verdict:
    """The verdict on all curves, with the findings behind it."""
    state = state_of(series)
    case = CURVE.decide(state)
    findings: list[VerdictPoint] = []
    for name, curve in zip(titles_of(series), series, strict=True):
        findings += _describe_curve(name, curve, len(series))
    return Verdict(case.word, case.tone, CURVE.words["seeds"][state[SEEDS]], tuple(findings))


def _describe_curve(name: str, curve: CurveSeries, among: int) -> Iterator[VerdictPoint]:
    """Yield findings on a curve: growth, goal and last score.

    `among` is the number of curves tested together, by which the significance level is divided.
    """
    rise = growth(curve, among)
    claims = {f"{name}/{GROWTH}": rise}
    trained = [level for level in curve.levels if level.size > 0]
    if len(trained) > 1:
        yield VerdictPoint(f"{name}: {_describe_growth(trained, curve, rise)}", TONES_OF_GROWTH[rise], claims)
    if curve.reach is not None:
        tone = PLAIN if rise == ABOVE else BAD
        yield VerdictPoint(f"{name}: {of_reach(curve)}", tone, claims)
    last = curve.levels[-1]
    end_standing = decision.standing(last.mean, among)
    if end_standing != UNKNOWN:
        result = decision.said(last.mean, end_standing, unit_of(curve))
        yield decision.point_of(f"{name}/{END}", end_standing, f"{name}: with {last.asked:,}, {result}.")


def _describe_growth(trained: Sequence[CurveLevel], curve: CurveSeries, rise: str) -> str:
    """Sentence on the first and last score, and the gain per doubling.

    `trained` are the levels with sizes above zero, and `rise` is the state of the curve's growth.
    """
    first = trained[0]
    last = trained[-1]
    smallest = f"{percent(first.mean.value)} with {first.asked:,} problems"
    largest = f"{percent(last.mean.value)} with {last.asked:,}."
    if curve.fit is None:
        return f"{smallest}, {largest}"
    doubt = CURVE.words["doubts"].get(rise, "")
    return f"{smallest}, {largest} Doubling the training data adds {doubling(curve)} points{doubt}."


def unit_of(curve: CurveSeries) -> str:
    """The unit of a curve's score: problems, or groups as a whole."""
    return "problems" if curve.measure == ACCURACY else "groups as a whole"


def of_reach(curve: CurveSeries) -> str:
    """Clause on the size at which a curve reaches its goal.

    It gives the reason if there is no such size. The curve must have a goal.
    """
    reach = curve.reach
    assert reach is not None
    goal = f"{reach.target:g}{PER_CENT}"
    if reach.kind != REACHED or reach.size is None:
        return str(CURVE.words["reach"][reach.kind]).format(goal=goal)
    ends = f"95{PER_CENT}: {end_of(reach.low)} to {end_of(reach.high)}"
    is_within = reach.size <= max(curve.fitted)
    if is_within:
        return f"the line reaches {goal} at {amount(reach.size)} problems ({ends}), within the sizes trained on."
    return f"the line would reach {goal} at {amount(reach.size)} problems ({ends}), if the trend continued."
