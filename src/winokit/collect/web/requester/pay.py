"""The pay ledger: what is owed, what was paid, and paying."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from winokit.collect.platforms import settling
from winokit.collect.study import ledger
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import REQUESTER
from winokit.collect.web.visit import ARequester, RequesterVisit

router = APIRouter(dependencies=[Depends(guard(REQUESTER))], tags=["requester: pay"])
SHOWN = 200


@router.get("/requester/pay")
def pay(visit: ARequester) -> Response:
    """Balances, and the newest lines of the ledger."""
    return _page(visit)


@router.post("/requester/pay/settle", openapi_extra=takes("worker"))
def settle(visit: ARequester, fields: Fields) -> Response:
    """Pay what is open, of one worker or of all; what became of it is shown at once."""
    code = fields.get("worker", "")
    return _page(visit, settling.settle(visit.study, visit.actor, [code] if code else None))


def _page(visit: RequesterVisit, settled: list[settling.Settled] | None = None) -> Response:
    lines = ledger.entries(visit.study)
    return visit.page(
        "requester_pay",
        balances=ledger.balances(visit.study),
        lines=lines[: -SHOWN - 1 : -1],
        total=len(lines),
        settled=settled,
    )
