"""The page of a learning curve: does more training data help, how sure is that, and where would it lead?

The plot has sizes on a logarithmic axis, with a place of its own for zero. It is laid out in per cent of the width from
the left and of the height from the top.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from winokit.drawing import decision
from winokit.drawing.decision import BAD, GOOD, PLAIN, SEVERAL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.figures import COLOURS
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import PER_CENT, name_coin, percent
from winokit.methods.metrics.judge_curves import ACCURACY, GROUP, REACHED, CurveSeries
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, stands
from winokit.stages.curve.table import amount, by_size, doubling, end_of, fitted, names_of, titles_of

if TYPE_CHECKING:
    from winokit.stages.curve.run import LearningCurve

TITLES = {ACCURACY: "Single: problems right, per cent", GROUP: "Group: all twins right, per cent"}
LEFT, RIGHT, ZERO = 5.0, 96.0, 19.0
"""Where the axis begins and ends, in per cent of the width, and where it begins if zero stands at its left."""
APART = 13.0
"""Labels of sizes closer than this would run into each other."""
Place = tuple[float, float]
"""From the left and from the top."""


def write_curve_page(curve: "LearningCurve", folder: Path) -> Path:
    """Write the page of a curve and return it."""
    curves, charts = curve.series, []
    for measure, title in TITLES.items():
        own = [series for series in curves if series.measure == measure]
        if any(level.size for series in own for level in series.levels):
            charts.append(CurveChart(title, own))
    return write_page(
        folder / INDEX,
        "stages/curve/page.html.j2",
        curve=curve,
        verdict=verdict_of_curve(curves),
        tests=list(dict.fromkeys(series.dataset for series in curves)),
        restarts=max((point.restart for point in curve.points), default=1),
        charts=charts,
        columns=titles_of(curves),
        rows=by_size(curves),
        fits=fitted(curves),
        settings=flat(curve.run),
        sources=(CITATIONS["SAKAGUCHI"], CITATIONS["ELAZAR"]),
    )


class CurveDot(NamedTuple):
    """One size of one curve; hollow where it cannot be distinguished from chance."""

    x: float
    y: float
    top: float | None
    bottom: float | None
    said: str
    hollow: bool


class CurveLine(NamedTuple):
    """One curve: its colour's number, its dots, the ends of the fitted line, and every restart by itself."""

    colour: int
    name: str
    dots: list[CurveDot]
    ends: list[Place] | None
    others: list[Place]


class CurveChart:
    """All curves of single or of group accuracy, from sizes and shares to places."""

    def __init__(self, title: str, series: Sequence[CurveSeries]) -> None:
        """Sizes from the first to the last, and tenths that hold every interval, a coin and the goal."""
        self.title, levels = title, [level for curve in series for level in curve.levels]
        sizes = sorted({level.size for level in levels})
        self._start = ZERO if sizes[0] == 0 else LEFT
        self._logs = [math.log(size) for size in sizes if size > 0]
        tossed = next((level.mean for level in levels if level.mean.chance is not None), None)
        guess = None if tossed is None else tossed.chance
        self.coin = name_coin(tossed)
        goal = next((curve.reach.target / 100 for curve in series if curve.reach is not None), None)
        known = [value for level in levels for value in (*level.values, level.mean.value, level.mean.low)]
        known += [value for level in levels for value in (level.mean.high, level.mean.chance)]
        values = [value for value in known if value is not None]
        bottom, highest = math.floor(10 * min(values) - 0.2) / 10, max([*values, goal or 0.0])
        self._low = max(0.0, bottom)
        self._high = min(1.0, max(math.ceil(10 * highest + 0.2) / 10, bottom + 0.2))
        self.guess, self.goal = (None if share is None else self._y(share) for share in (guess, goal))
        self.lines = [self._line(at % len(COLOURS), name, series[at]) for at, name in enumerate(names_of(series))]
        self.hollow = any(dot.hollow for line in self.lines for dot in line.dots)
        self.ticks = self._ticks({level.asked: level.size for level in levels})
        steps = round((self._high - self._low) / 0.1)
        shares = [self._low + 0.1 * step for step in range(steps + 1) if steps <= 6 or step % 2 == 0]
        self.levels = [(self._y(share), f"{100 * share:.0f}") for share in shares]
        """Horizontal lines: places from the top and labels."""

    def _x(self, size: float) -> float:
        if size <= 0:
            return LEFT
        first, last = self._logs[0], self._logs[-1]
        return round(self._start + (RIGHT - self._start) * (math.log(size) - first) / ((last - first) or 1.0), 3)

    def _y(self, share: float) -> float:
        return round(100 - 100 * (share - self._low) / (self._high - self._low), 3)

    def _line(self, colour: int, name: str, curve: CurveSeries) -> CurveLine:
        dots, others, ends = [], [], None
        for level in curve.levels:
            mean, said = level.mean, f"{level.asked:,}: {100 * level.mean.value:.1f} %"
            top, bottom = (None if end is None else self._y(end) for end in (mean.high, mean.low))
            dots.append(CurveDot(self._x(level.size), self._y(mean.value), top, bottom, said, stands(mean) == AT))
            if len(level.values) > 1:
                others += [(self._x(at), self._y(share)) for at, share in zip(level.sizes, level.values, strict=True)]
        if curve.fit is not None:
            ends = [(self._x(size), self._y(curve.fit.at(size) / 100)) for size in (curve.fitted[0], curve.fitted[-1])]
        return CurveLine(colour, name, dots, ends, others)

    def _ticks(self, sizes: Mapping[int, float]) -> list[tuple[float, str]]:
        """Sizes under the axis: the first, the last, and of those between as many as have room."""
        first, *rest = sorted((self._x(size), f"{asked:,}") for asked, size in sizes.items())
        kept = [first]
        for place in rest[:-1]:
            if place[0] - kept[-1][0] >= APART and rest[-1][0] - place[0] >= APART:
                kept.append(place)
        return [*kept, *rest[-1:]]


GROWTH, END, SEEDS = "growth", "end", "seeds"
ONE, AGREE, NOT_SHOWN, DISAGREE = "one", "agree", "not_shown", "disagree"

CURVE = DecisionTable.of_stage("curve", {GROWTH: SEVERAL, END: SEVERAL, SEEDS: (ONE, AGREE, NOT_SHOWN, DISAGREE)})


def growth(series: CurveSeries, among: int = 1) -> str:
    """Whether a line rises (above), falls (below), may do either (at), or nobody knows; as one of so many curves."""
    if series.fit is None or not series.sure:
        return UNKNOWN
    interval = series.fit.slope_interval(1 - decision.SURE / among)
    return ABOVE if interval.low > 0 else BELOW if interval.high < 0 else AT


def seeds_of(series: CurveSeries, among: int = 1) -> str:
    """Whether the lines of single restarts go the same way; as one of so many curves.

    Lines that rise and fall disagree only if their slopes differ by more than single runs and test problems vary.
    """
    slopes = series.restart_slopes
    if len(slopes) < 2:
        return ONE
    if min(slopes) > 0 or max(slopes) <= 0:
        return AGREE
    is_shown = series.p_seeds is not None and series.p_seeds * among < decision.SURE
    return DISAGREE if is_shown else NOT_SHOWN


def state_of(series: Sequence[CurveSeries]) -> dict[str, str]:
    """The facts of all curves together."""
    among = len(series)
    kinds = {seeds_of(curve, among) for curve in series}
    return {
        GROWTH: decision.together(growth(curve, among) for curve in series),
        END: decision.together(decision.standing(curve.levels[-1].mean, among) for curve in series),
        SEEDS: next((kind for kind in (DISAGREE, ONE, NOT_SHOWN) if kind in kinds), AGREE),
    }


def verdict_of_curve(series: Sequence[CurveSeries]) -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(series)
    case = CURVE.decide(state)
    named = zip(titles_of(series), series, strict=True)
    findings = [point for name, curve in named for point in _points(name, curve, len(series))]
    return Verdict(case.word, case.tone, CURVE.words["seeds"][state[SEEDS]], tuple(findings))


def _points(name: str, curve: CurveSeries, among: int) -> Iterator[VerdictPoint]:
    """What may be said of one curve."""
    trained, rise = [level for level in curve.levels if level.size > 0], growth(curve, among)
    tone = GOOD if rise == ABOVE else BAD if rise == BELOW else PLAIN
    if len(trained) > 1:
        first, last = trained[0], trained[-1]
        text = f"{name}: {percent(first.mean.value)} with {first.asked:,} problems, {percent(last.mean.value)} with "
        doubt = CURVE.words["doubts"].get(rise, "")
        slope = f" Doubling the training data adds {doubling(curve)} points{doubt}." if curve.fit else ""
        yield VerdictPoint(f"{text}{last.asked:,}.{slope}", tone, {f"{name}/{GROWTH}": rise})
    if curve.reach is not None:
        tone = PLAIN if rise == ABOVE else BAD
        yield VerdictPoint(f"{name}: {of_reach(curve)}", tone, {f"{name}/{GROWTH}": rise})
    last = curve.levels[-1]
    place = decision.standing(last.mean, among)
    if place != UNKNOWN:
        text = f"{name}: with {last.asked:,}, {decision.said(last.mean, place, unit_of(curve))}."
        yield decision.point_of(f"{name}/{END}", place, text)


def unit_of(curve: CurveSeries) -> str:
    """What a curve is a share of."""
    return "problems" if curve.measure == ACCURACY else "groups as a whole"


def of_reach(curve: CurveSeries) -> str:
    """Where the goal is reached, as a sentence; or why no size is given."""
    reach = curve.reach
    assert reach is not None
    goal = f"{reach.target:g}{PER_CENT}"
    if reach.kind != REACHED or reach.size is None:
        return str(CURVE.words["reach"][reach.kind]).format(goal=goal)
    ends = f"95{PER_CENT}: {end_of(reach.low)} to {end_of(reach.high)}"
    if reach.size <= max(curve.fitted):
        return f"the line reaches {goal} at {amount(reach.size)} problems ({ends}), within the sizes trained on."
    return f"the line would reach {goal} at {amount(reach.size)} problems ({ends}), if the trend continued."
