"""Submissions as they came in, the export, and the audit log."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from winokit.collect.study import browse, export, log
from winokit.collect.web.guard import guard, plain
from winokit.collect.web.requester.problems import PageNumber, Wanted
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import ARequester

router = APIRouter(dependencies=[Depends(guard(REQUESTER))], tags=["requester: records"])
LOG_LINES = 100
COUNTED = {"yes": True, "no": False}


@router.get("/requester/submissions")
def submissions(
    visit: ARequester, worker: Wanted = "", kind: Wanted = "", counted: Wanted = "", page: PageNumber = 1
) -> Response:
    """Submissions, newest first."""
    asked = {"worker": plain(worker), "kind": plain(kind), "counted": counted}
    found = browse.submissions(
        visit.study, worker=asked["worker"], kind=asked["kind"], counted=COUNTED.get(counted), page=page
    )
    return visit.page("requester_submissions", found=found, asked=asked)


@router.get("/requester/export")
def export_page(visit: ARequester) -> Response:
    """What an export holds."""
    return visit.page("requester_export")


@router.get("/requester/export.zip")
def download(visit: ARequester) -> Response:
    """Everything as one file."""
    log.write(visit.study, visit.actor, "export")
    name = re.sub(r"[^a-z0-9]+", "-", visit.study.config.title.lower()).strip("-") or "study"
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(export.archive(visit.study), media_type="application/zip", headers=headers)


@router.get("/requester/log")
def audit_log(
    visit: ARequester, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None, action: Wanted = ""
) -> Response:
    """Who did what, newest first."""
    lines = log.entries(visit.study, LOG_LINES, before=before, action=plain(action) or None)
    older = lines[-1].id if len(lines) == LOG_LINES else None
    return visit.page("requester_log", lines=lines, action=action, older=older)
