"""The dashboard: progress, cost and agreement at a glance, kept fresh; pausing; and Dawid and Skene's estimate.

Its charts are 600 units wide and 160 high; a template draws them as SVG, and a page scales them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

from fastapi import Response

from winokit.collect.study import progress, quality
from winokit.collect.study.progress import StudyDay
from winokit.collect.study.refusals import NotFound
from winokit.collect.study.schema import VOTES
from winokit.collect.web.forms import Fields, Pages
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import DASHBOARD, ARequester, RequesterVisit
from winokit.errors import WinokitError

router = Pages(REQUESTER)
WIDTH, HEIGHT = 600.0, 160.0
MOST_DAYS = 60
WIDEST = 60.0


@router.get("/requester")
def dashboard(visit: ARequester) -> Response:
    """Everything at a glance."""
    return visit.page("requester_dashboard", **_now(visit))


@router.get("/requester/live")
def live(visit: ARequester) -> Response:
    """The part of it that changes, asked for every few seconds."""
    return visit.piece("requester_live", **_now(visit))


@router.form("/requester/pause", "paused")
def pause(visit: ARequester, fields: Fields) -> Response:
    """Stop giving out tasks, or go on."""
    paused = fields.get("paused") == "yes"
    visit.study.pause(paused, visit.actor)
    notice = "The study is paused. Work under way can be handed in." if paused else "The study goes on."
    return visit.go(DASHBOARD, notice)


@router.get("/requester/agreement/{kind}")
def estimate(visit: ARequester, kind: str) -> Response:
    """Answers and workers' reliability by Dawid and Skene's model, which takes a moment."""
    if kind not in VOTES or kind not in visit.study.config.tasks.kinds:
        raise NotFound("there are no votes of this kind in the study")
    try:
        found, why_not = quality.dawid_skene(visit.study, kind), ""
    except WinokitError as error:
        found, why_not = None, str(error)
    return visit.page("requester_agreement", kind=kind, found=found, why_not=why_not)


def _now(visit: RequesterVisit) -> dict[str, Any]:
    now = progress.snapshot(visit.study)
    days = drawn_days(now.days)
    return {
        "snapshot": now,
        "days": days,
        "most": most_in_a_day(days),
        "columns": day_columns(days, [kind.kind for kind in now.kinds]),
        "cost": cost_curve(days, now.expected_cents),
    }


@dataclass(frozen=True)
class ChartBox:
    """A rectangle; `series` is the place of what it stands for, which has a colour."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


@dataclass(frozen=True)
class CostCurve:
    """Cost so far, as the points of a line up to the right edge, with a level to be reached."""

    points: str
    end_y: float
    level_y: float


def drawn_days(days: Sequence[StudyDay]) -> list[StudyDay]:
    """The days between the first and the last, those without work included; the last sixty of them."""
    if not days:
        return []
    known = {day.date: day for day in days}
    last = date.fromisoformat(max(known))
    first = max(date.fromisoformat(min(known)), last - timedelta(days=MOST_DAYS - 1))
    dates = [str(first + timedelta(days=number)) for number in range((last - first).days + 1)]
    return [known.get(day) or StudyDay(day, {}, 0) for day in dates]


def most_in_a_day(days: Sequence[StudyDay]) -> int:
    """The submissions of the fullest day, to which columns are drawn; at least one."""
    return max([1, *(sum(day.submissions.values()) for day in days)])


def day_columns(days: Sequence[StudyDay], kinds: Sequence[str]) -> list[ChartBox]:
    """Submissions of each day as a column, with a layer for each kind."""
    most, step = most_in_a_day(days), WIDTH / max(1, len(days))
    width = min(0.8 * step, WIDEST)
    boxes = []
    for place, day in enumerate(days):
        below = 0
        for series, kind in enumerate(kinds):
            count = day.submissions.get(kind, 0)
            if count:
                below += count
                x, y = (place + 0.5) * step - width / 2, HEIGHT - HEIGHT * below / most
                boxes.append(ChartBox(x, y, width, HEIGHT * count / most, series, f"{day.date}: {count:,} {kind}"))
    return boxes


def cost_curve(days: Sequence[StudyDay], expected_cents: int) -> CostCurve | None:
    """What the study has cost by the end of each day, against what it is expected to; None while nothing is owed."""
    total = list(accumulate((day.cents for day in days), initial=0))
    top = max(expected_cents, *total)
    if not days or top <= 0:
        return None
    heights = [HEIGHT - HEIGHT * max(cents, 0) / top for cents in total]
    points = " ".join(f"{WIDTH * place / len(days):.1f},{y:.1f}" for place, y in enumerate(heights))
    return CostCurve(points, heights[-1], HEIGHT - HEIGHT * expected_cents / top)
