"""The dashboard: progress, cost and agreement, with the export and the audit log."""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import accumulate
from typing import Annotated, Any

from fastapi import Query, Response

from winokit import WinokitError
from winokit_collect.study import export, listings, quality
from winokit_collect.study.progress import StudyDay
from winokit_collect.study.refusals import NotFound
from winokit_collect.study.schema import VOTES
from winokit_collect.web.forms import REQUESTER, Pages, Tick, plain
from winokit_collect.web.problems import Wanted
from winokit_collect.web.visit import DASHBOARD, ARequester, RequesterVisit

router = Pages(REQUESTER)
MOST_DAYS = 60
LOG_LINES = 100


@router.get("/requester")
def dashboard(visit: ARequester) -> Response:
    """Page with the progress, cost and agreement of the study."""
    return visit.page("requester_dashboard", **_collect_numbers(visit))


@router.get("/requester/live")
def live(visit: ARequester) -> Response:
    """The part of the dashboard that its script reloads every few seconds."""
    return visit.piece("requester_live", **_collect_numbers(visit))


@router.form("/requester/pause")
def pause(visit: ARequester, paused: Tick) -> Response:
    """Pause the study, or resume it."""
    visit.study.pause(paused, visit.actor)
    notice = "The study is paused. Work in progress can still be submitted." if paused else "The study has resumed."
    return visit.go(DASHBOARD, notice)


@router.get("/requester/agreement/{kind}")
def reliability(visit: ARequester, kind: str) -> Response:
    """Page with answers and reliability of workers by Dawid and Skene's model."""
    if kind not in VOTES or kind not in visit.study.config.tasks.kinds:
        raise NotFound("the study has no votes of this kind")
    try:
        estimate = quality.dawid_skene(visit.study, kind)
        why_not = ""
    except WinokitError as error:
        estimate = None
        why_not = str(error)
    return visit.page("requester_agreement", kind=kind, estimate=estimate, why_not=why_not)


def _collect_numbers(visit: RequesterVisit) -> dict[str, Any]:
    """Context of the dashboard's templates."""
    snapshot = visit.request.app.state.snapshots.get()
    days = drawn_days(snapshot.days)
    counts = [sum(day.submissions.values()) for day in days]
    cents = [day.cents for day in days]
    return {
        "snapshot": snapshot,
        "paused": visit.study.paused,
        "days": days,
        "most": max([1, *counts]),
        "totals": list(accumulate(cents, initial=0)),
        "disk": visit.study.store.disk_trouble(),
    }


def drawn_days(days: Sequence[StudyDay]) -> list[StudyDay]:
    """All days from the first to the last with work.

    Days without work are included. At most the last sixty days.
    """
    if not days:
        return []
    days_by_date = {day.date: day for day in days}
    last = date.fromisoformat(max(days_by_date))
    earliest = last - timedelta(days=MOST_DAYS - 1)
    first = max(date.fromisoformat(min(days_by_date)), earliest)
    day_count = (last - first).days + 1
    dates = [str(first + timedelta(days=number)) for number in range(day_count)]
    return [days_by_date.get(day) or StudyDay(day, {}, 0) for day in dates]


@router.get("/requester/export")
def export_page(visit: ARequester) -> Response:
    """Page that describes the export."""
    return visit.page("requester_export")


@router.get("/requester/export.zip")
def download(visit: ARequester) -> Response:
    """Download the export as a zip file."""
    visit.study.note(visit.actor, "export")
    title = visit.study.config.title.lower()
    name = re.sub(r"[^a-z0-9]+", "-", title).strip("-") or "study"
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    archive = export.archive(visit.study)
    return Response(archive, media_type="application/zip", headers=headers)


@router.get("/requester/log")
def audit_log(
    visit: ARequester, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None, action: Wanted = ""
) -> Response:
    """Page of the audit log, newest lines first.

    `before` is the number of a line: only older ones are shown.
    """
    lines = listings.log_entries(visit.study, LOG_LINES, before=before, action=plain(action) or None)
    older = lines[-1].id if len(lines) == LOG_LINES else None
    return visit.page("requester_log", lines=lines, action=action, older=older)
