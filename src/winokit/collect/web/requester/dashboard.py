"""The dashboard: progress, cost and agreement at a glance, kept fresh; pausing; and Dawid and Skene's estimate."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Response

from winokit.collect.study import agreement, progress
from winokit.collect.study.refusals import NotFound
from winokit.collect.study.schema import VOTES
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.requester import charts
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import DASHBOARD, ARequester, RequesterVisit
from winokit.errors import WinokitError

router = APIRouter(dependencies=[Depends(guard(REQUESTER))], tags=["requester: dashboard"])


@router.get("/requester")
def dashboard(visit: ARequester) -> Response:
    """Everything at a glance."""
    return visit.page("requester_dashboard", **_now(visit))


@router.get("/requester/live")
def live(visit: ARequester) -> Response:
    """The part of it that changes, asked for every few seconds."""
    return visit.piece("requester_live", **_now(visit))


@router.post("/requester/pause", openapi_extra=takes("paused"))
def pause(visit: ARequester, fields: Fields) -> Response:
    """Stop giving out tasks, or go on."""
    paused = fields.get("paused") == "yes"
    visit.study.pause(paused, visit.actor)
    told = "The study is paused. Work under way can be handed in." if paused else "The study goes on."
    return visit.go(DASHBOARD, told)


@router.get("/requester/agreement/{kind}")
def estimate(visit: ARequester, kind: str) -> Response:
    """Answers and workers' reliability by Dawid and Skene's model, which takes a moment."""
    if kind not in VOTES or kind not in visit.study.config.tasks.kinds:
        raise NotFound("there are no votes of this kind in the study")
    try:
        found, why_not = agreement.dawid_skene(visit.study, kind), ""
    except WinokitError as error:
        found, why_not = None, str(error)
    return visit.page("requester_agreement", kind=kind, found=found, why_not=why_not)


def _now(visit: RequesterVisit) -> dict[str, Any]:
    now = progress.snapshot(visit.study)
    kinds = [kind.kind for kind in now.kinds]
    return {
        "snapshot": now,
        "days": charts.day_columns(now.days, kinds),
        "cost": charts.cost_curve(now.days, now.expected_cents),
        "verdicts": charts.segments(
            [(name, now.problems.get(name, 0)) for name in ("valid", "invalid", "open", "withdrawn")]
        ),
        "bars": {
            kind.kind: charts.segments(
                [("in", kind.accepted), ("under way", kind.held), ("free", kind.asked - kind.accepted - kind.held)]
            )
            for kind in now.kinds
        },
    }
