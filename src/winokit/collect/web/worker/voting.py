"""Judging: the form of every kind of vote, and handing it in. The next task of the kind follows by itself."""

from __future__ import annotations

from fastapi import Response

from winokit.collect.study import submissions, workers
from winokit.collect.study.refusals import Incomplete, NotAllowed
from winokit.collect.study.voting import VoteTask
from winokit.collect.web.forms import Fields, Pages
from winokit.collect.web.rendering import money
from winokit.collect.web.sessions import WORKER
from winokit.collect.web.visit import AtWork, AWorker
from winokit.collect.web.worker.home import Token, go_to_next, own_task

router = Pages(WORKER)


@router.get("/task/{token}/vote")
def form(visit: AtWork, token: Token) -> Response:
    """What is to be judged."""
    return visit.page("vote", task=own_task(visit, token, VoteTask), answers={})


@router.form("/task/{token}/vote", "choice", "equally_plausible", "local_decides")
def hand_in(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Take the vote and go on to the next, or say what is missing."""
    try:
        receipt = submissions.submit(visit.study, visit.worker.id, token, fields)
    except Incomplete as error:
        task = own_task(visit, token, VoteTask)
        return visit.page("vote", status=422, task=task, answers=fields, problems=error.problems)
    earned = f" {money(receipt.cents, visit.study.config.pay.currency)} earned." if receipt.cents else ""
    try:
        return go_to_next(visit, receipt.kind, receipt.message + earned)
    except NotAllowed:  # a gold question may have been one too many
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.go(visit.next_path, receipt.message)
