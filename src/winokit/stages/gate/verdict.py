"""The test of one metric: old minus new, against the allowed drop.

The gate fails where the interval lies wholly above the margin; a strict gate passes only where it lies wholly below.
"""

from dataclasses import dataclass

from winokit.drawing.wording import points
from winokit.errors import BadInput
from winokit.methods.metrics.judge_pairs import POWER, Comparison, compare_answers, keys_of
from winokit.methods.metrics.pair_measures import PairMeasure
from winokit.results import Brief
from winokit.stages.compare.pairs import SWITCHED
from winokit.stages.gate.sides import GateSide

PASSED = "passed"
FAILED = "failed"
OPEN = "open"


@dataclass(frozen=True)
class DropTest:
    """One metric of two models on the same problems, as shares.

    The drop is old minus new, with its interval.
    """

    metric: str
    old: float
    new: float
    drop: float
    low: float
    high: float
    n: int
    """Problems, or groups where the metric counts those."""
    found: float | None
    """The smallest drop that would have failed the gate with 80 % power; None where none would have."""
    verdict: str
    """`failed`: dropped by more than is allowed, or answers nothing; `passed`: by less; `open`: may be either."""
    answers_nothing: bool = False
    """Whether the new model abstains everywhere: it never passes."""

    def sentence(self, margin: float) -> str:
        """A sentence on the drop and on what the test could have found."""
        change = f"{self.metric.replace('_', ' ')} {self._describe_change()}"
        if self.answers_nothing:
            return f"{change}, and the new model answers nothing"
        if self.verdict == FAILED:
            return f"{change}, more than the {margin:.1f} allowed"
        if self.verdict == OPEN:
            change += f", not shown to be more or less than the {margin:.1f} allowed"
        drop = "no drop" if self.found is None else f"a drop of {100 * self.found:.1f}"
        return f"{change}; {drop} would have been found with {100 * POWER:.0f} % power"

    def _describe_change(self) -> str:
        """The change of the metric with its interval."""
        low = self.low
        high = self.high
        moved = "stayed the same"
        if self.drop > 0:
            moved = f"fell by {100 * self.drop:.1f}"
        elif self.drop < 0:
            moved = f"rose by {-100 * self.drop:.1f}"
            low, high = (-self.high, -self.low)
        ends = [points(end).removeprefix("+") for end in (low, high)]
        return f"{moved} [{', '.join(ends)}]"


@dataclass(frozen=True, repr=False)
class GateOutcome(Brief):
    """Whether the new model may pass, and the tests behind that.

    `margin`, the allowed drop, is in points.
    """

    passed: bool
    tests: tuple[DropTest, ...]
    new: str
    old: str
    dataset: str
    scoring: str
    margin: float
    level: float
    strict: bool
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """One per metric."""
        return [test.sentence(self.margin) for test in self.tests]

    @property
    def verdict(self) -> str:
        """The whole in one line."""
        strictly = " (--strict)" if self.strict else ""
        word = "passed" if self.passed else "failed"
        return f"{word}{strictly}: {self.new} against {self.old} on {self.dataset}, scored by {self.scoring}"


def judge_drop(metric: PairMeasure, new: GateSide, old: GateSide, allowed: float, level: float) -> DropTest:
    """Test whether a metric dropped by more or less than allowed."""
    comparison = _compare_sides(metric, new, old, level)
    least_drop = comparison.resolution.gap_to_find(1 - level, POWER, allowed=allowed, most=comparison.first)
    interval = comparison.interval
    answers_nothing = comparison.second_refuses
    verdict = OPEN
    if answers_nothing or interval.low > allowed:
        verdict = FAILED
    elif interval.high < allowed:
        verdict = PASSED
    means = (comparison.first, comparison.second)
    ends = (interval.low, interval.high)
    return DropTest(metric, *means, comparison.difference, *ends, comparison.n, least_drop, verdict, answers_nothing)


def _compare_sides(metric: PairMeasure, new: GateSide, old: GateSide, level: float) -> Comparison:
    """Compare old with new by one metric.

    Raises BadInput if they did not answer the same problems.
    """
    _check_same_problems(metric, new, old)
    switched = None
    if metric == "consistency":
        switched = (old.answers(SWITCHED), new.answers(SWITCHED))
    comparison = compare_answers(old.answers(), new.answers(), [metric], switched=switched, level=level)
    if metric not in comparison:
        raise BadInput(f"{metric}: {new.run.dataset.card.name} has nothing to take it from")
    return comparison[metric]


def _check_same_problems(metric: PairMeasure, new: GateSide, old: GateSide) -> None:
    """Refuse predictions for different problems, and a metric without its predictions."""
    answered = []
    for side in (new, old):
        ids = {name for _, name in keys_of(side.answers())}
        if metric == "consistency":
            ids &= {name for _, name in keys_of(side.answers(SWITCHED))}
        if not ids:
            raise BadInput(f"{metric}: {side.model} has no predictions to take it from")
        answered.append(ids)
    ours, theirs = answered
    if ours != theirs:
        counts = f"{len(ours):,} and {len(theirs):,}, {len(ours & theirs):,} in common"
        raise BadInput(f"{metric}: NEW and --against answer different problems ({counts}): a gate needs the same")
