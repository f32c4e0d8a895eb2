"""The cause of a verdict that is not good, if one of the tested rows shows it.

A cause is what the scorer does instead of reading the text, such as always choosing the first candidate.
"""

from collections.abc import Callable

from winokit.drawing.decision import BAD, State, VerdictPoint
from winokit.drawing.wording import percent, plural, points
from winokit.results import ABOVE, BELOW, ONE_CHOICE
from winokit.stages.audit.scored_rows import ALL, FALLS, SEVERAL, SOME, MetricRows

MOSTLY = 0.5
"""From this share of undecided problems on, abstaining is the cause."""


def find_cause(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Find the first cause of a verdict that is not good.

    `rows` are those of one scorer. `state` has the facts of the verdict. None if the rows show no cause. The verdict
    itself is not looked at: the caller asks only for those that are not good.
    """
    for find in CAUSES:
        cause = find(rows, state)
        if cause is not None:
            return cause
    return None


def _find_no_answers(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return a cause if no problem is answered, else None."""
    row = rows.find("accuracy", "all", "abstained")
    if row is None or state["abstained"] != ALL:
        return None
    return VerdictPoint(f"it answers none of {plural(row.n, 'problem')}", BAD, {"abstained": ALL})


def _find_one_answer(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return a cause if all answers are the same, else None.

    Also None unless right answers are in several places and can change them.
    """
    row = rows.single
    if row is None or not row.details.get(ONE_CHOICE) or state["places"] != SEVERAL:
        return None
    return VerdictPoint("it always gives the same answer", BAD, {"single": state["single"]})


def _find_lost_points(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return a cause if switching candidates costs accuracy, else None.

    The fall must be shown to exceed five points (`state["fall"]`).
    """
    row = rows.tested["switched"]
    if row is None or state["fall"] != FALLS:
        return None
    lost = points(row.value).removeprefix("+")
    return VerdictPoint(f"it loses {lost} points when the candidates change places", BAD, {"fall": FALLS})


def _find_same_option(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return a cause if twins get the same option too often.

    That is if they are told apart significantly less often than by chance. None otherwise.
    """
    row = rows.find("dependence", "complete", "same_option")
    if row is None or state["told"] != BELOW:
        return None
    text = f"it takes the same option for both twins in {percent(row.value)} of pairs"
    return VerdictPoint(text, BAD, {"told": BELOW})


def _find_place_preference(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return a cause if the first or second candidate is preferred.

    The preference must be significant. None otherwise, and for runs of earlier versions, which lack the two shares.
    """
    row = rows.find("position", "all", "first_minus_second")
    if row is None or state["place"] not in (ABOVE, BELOW):
        return None
    first = row.details.get("first")
    second = row.details.get("second")
    if first is None or second is None:  # runs of earlier versions lack them
        return None
    shares = f"{percent(float(first))} if the right candidate is offered first, {percent(float(second))} if second"
    return VerdictPoint(f"it goes by the order of the candidates ({shares})", BAD, {"place": state["place"]})


def _find_few_answers(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return a cause if at least half of the problems are undecided.

    None otherwise, and if all of them are, which is a cause of its own.
    """
    row = rows.find("accuracy", "all", "abstained")
    if row is None or state["abstained"] != SOME or row.value < MOSTLY:
        return None
    return VerdictPoint(f"it leaves {percent(row.value)} of problems undecided", BAD, {"abstained": SOME})


CAUSES: tuple[Callable[[MetricRows, State], VerdictPoint | None], ...] = (
    _find_no_answers,
    _find_one_answer,
    _find_lost_points,
    _find_same_option,
    _find_place_preference,
    _find_few_answers,
)
"""Functions that each look for one cause, in the order in which they are tried."""
