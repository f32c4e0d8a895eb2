"""Consent and screening: what comes before work."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from winokit.collect.study import workers
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import WORKER
from winokit.collect.web.visit import AWorker, GoTo, WorkerVisit

router = APIRouter(dependencies=[Depends(guard(WORKER))], tags=["consent"])
YES_NO = {"yes": True, "no": False}


@router.get("/consent")
def consent_page(visit: AWorker) -> Response:
    """What taking part means."""
    _be_at(visit, workers.CONSENT)
    return visit.page("consent")


@router.post("/consent", openapi_extra=takes("agree"))
def consent(visit: AWorker, fields: Fields) -> Response:
    """Agree; nothing else can be said here but by leaving."""
    _be_at(visit, workers.CONSENT)
    if fields.get("agree") != "yes":
        return visit.page("consent", status=422, problems={"agree": "please tick the box if you agree"})
    visit.worker = workers.consent(visit.study, visit.worker.id)
    return visit.go(visit.next_path)


@router.get("/screening")
def screening_page(visit: AWorker) -> Response:
    """The questions of screening."""
    _be_at(visit, workers.SCREENING)
    return visit.page("screening", answers={})


@router.post("/screening", openapi_extra=takes("native_speaker", "has_seen_wsc"))
def screening(visit: AWorker, fields: Fields) -> Response:
    """Answer them, once."""
    _be_at(visit, workers.SCREENING)
    asked = visit.study.config.quality
    needed = [name for name, wanted in _questions(asked.native_speaker, asked.never_seen_wsc) if wanted]
    missing = {name: "please choose yes or no" for name in needed if fields.get(name) not in YES_NO}
    if missing:
        return visit.page("screening", status=422, problems=missing, answers=fields)
    # A question that the study does not ask cannot turn anybody away.
    native = YES_NO.get(fields.get("native_speaker", ""), True)
    seen = YES_NO.get(fields.get("has_seen_wsc", ""), False)
    visit.worker = workers.screen(visit.study, visit.worker.id, native_speaker=native, has_seen_wsc=seen)
    return visit.go(visit.next_path)


def _questions(native_speaker: bool, never_seen: bool) -> list[tuple[str, bool]]:
    return [("native_speaker", native_speaker), ("has_seen_wsc", never_seen)]


def _be_at(visit: WorkerVisit, step: str) -> None:
    if visit.worker.step != step:
        raise GoTo(visit.next_path)
