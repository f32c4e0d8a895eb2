"""What is kept of a study: the pay ledger, and paying what it says is owed; the export; and the audit log."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Query, Response

from winokit.collect.platforms import payout
from winokit.collect.study import export, ledger, listings
from winokit.collect.web.forms import REQUESTER, Fields, Pages, plain
from winokit.collect.web.requester.problems import Wanted
from winokit.collect.web.visit import ARequester, RequesterVisit

router = Pages(REQUESTER)
SHOWN, LOG_LINES = 200, 100


@router.get("/requester/pay")
def pay(visit: ARequester) -> Response:
    """Balances, and the newest lines of the ledger."""
    return _pay_page(visit)


@router.form("/requester/pay/settle", "worker")
def settle(visit: ARequester, fields: Fields) -> Response:
    """Pay what is open, of one worker or of all; what became of it is shown at once."""
    code = fields.get("worker", "")
    return _pay_page(visit, payout.settle(visit.study, visit.actor, [code] if code else None))


def _pay_page(visit: RequesterVisit, settled: list[payout.WorkerPayout] | None = None) -> Response:
    lines, balances = ledger.entries(visit.study), ledger.balances(visit.study)
    shown = lines[: -SHOWN - 1 : -1]
    return visit.page("requester_pay", balances=balances, lines=shown, total=len(lines), settled=settled)


@router.get("/requester/export")
def export_page(visit: ARequester) -> Response:
    """What an export holds."""
    return visit.page("requester_export")


@router.get("/requester/export.zip")
def download(visit: ARequester) -> Response:
    """Everything as one file."""
    visit.study.note(visit.actor, "export")
    name = re.sub(r"[^a-z0-9]+", "-", visit.study.config.title.lower()).strip("-") or "study"
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(export.archive(visit.study), media_type="application/zip", headers=headers)


@router.get("/requester/log")
def audit_log(
    visit: ARequester, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None, action: Wanted = ""
) -> Response:
    """Who did what, newest first."""
    lines = listings.log_entries(visit.study, LOG_LINES, before=before, action=plain(action) or None)
    older = lines[-1].id if len(lines) == LOG_LINES else None
    return visit.page("requester_log", lines=lines, action=action, older=older)
