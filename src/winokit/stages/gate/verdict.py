"""The test of one metric: old minus new, against the allowed drop.

The gate fails if the whole interval is above the margin. A strict gate passes only if the whole interval is below it.
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
    """Test of one metric of two models on the same problems.

    Values are shares.
    """

    metric: str
    old: float
    new: float
    drop: float
    """The old value minus the new one."""
    low: float
    """Lower end of the drop's interval."""
    high: float
    n: int
    """Number of problems, or of groups if the metric counts groups."""
    found: float | None
    """Smallest drop that would have failed the gate with 80 % power, or None if no drop would have."""
    verdict: str
    """`failed` if it dropped by more than is allowed, `passed` if by less, `open` if either is possible.

    A model that answers nothing failed.
    """
    answers_nothing: bool = False
    """Whether the new model abstains on every problem. Such a model never passes."""

    def sentence(self, margin: float) -> str:
        """Sentence on the drop, and the smallest drop that could be found.

        `margin` is the allowed drop in points.
        """
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
        """Phrase on the change of the metric, with its interval in points."""
        if self.drop < 0:
            return f"rose by {-100 * self.drop:.1f} {_format_interval(-self.high, -self.low)}"
        interval = _format_interval(self.low, self.high)
        return f"fell by {100 * self.drop:.1f} {interval}" if self.drop else f"stayed the same {interval}"


def _format_interval(low: float, high: float) -> str:
    """Interval of shares as text in points, without plus signs."""
    ends = [points(end).removeprefix("+") for end in (low, high)]
    return f"[{', '.join(ends)}]"


@dataclass(frozen=True, repr=False)
class GateOutcome(Brief):
    """Whether the new model may pass, and the tests behind that.

    `margin`, the allowed drop, is in points. `level` is shared by all tests.
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
        """Sentences on the drops, one per metric."""
        return [test.sentence(self.margin) for test in self.tests]

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        strictly = " (--strict)" if self.strict else ""
        word = "passed" if self.passed else "failed"
        return f"{word}{strictly}: {self.new} against {self.old} on {self.dataset}, scored by {self.scoring}"


def judge_drop(metric: PairMeasure, new: GateSide, old: GateSide, allowed: float, level: float) -> DropTest:
    """Test whether a metric dropped by more or less than allowed.

    `allowed` is a share, and `level` the confidence of this test.
    """
    comparison = _compare_sides(metric, new, old, level)
    least_drop = comparison.resolution.gap_to_find(1 - level, POWER, allowed=allowed, most=comparison.first)
    interval = comparison.interval
    answers_nothing = comparison.second_refuses
    verdict = OPEN
    if answers_nothing or interval.low > allowed:
        verdict = FAILED
    elif interval.high < allowed:
        verdict = PASSED
    return DropTest(
        metric=metric,
        old=comparison.first,
        new=comparison.second,
        drop=comparison.difference,
        low=interval.low,
        high=interval.high,
        n=comparison.n,
        found=least_drop,
        verdict=verdict,
        answers_nothing=answers_nothing,
    )


def _compare_sides(metric: PairMeasure, new: GateSide, old: GateSide, level: float) -> Comparison:
    """Compare the old side with the new one by a metric.

    `level` is the confidence of the interval. Raises BadInput if they did not answer the same problems, or if the
    metric cannot be computed.
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
    """Raise BadInput if the sides answer different problems, or none."""
    new_ids = _list_answered(metric, new)
    old_ids = _list_answered(metric, old)
    if new_ids != old_ids:
        counts = f"{len(new_ids):,} and {len(old_ids):,}, {len(new_ids & old_ids):,} in common"
        raise BadInput(f"{metric}: NEW and --against answer different problems ({counts}): a gate needs the same")


def _list_answered(metric: PairMeasure, side: GateSide) -> set[str]:
    """Ids of the problems whose answers count for a metric.

    An abstention counts as an answer. Raises BadInput if there are none.
    """
    ids = {name for _, name in keys_of(side.answers())}
    if metric == "consistency":
        ids &= {name for _, name in keys_of(side.answers(SWITCHED))}
    if not ids:
        raise BadInput(f"{metric}: {side.model} has no predictions to take it from")
    return ids
