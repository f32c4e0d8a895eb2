"""Slow work does not keep others from their pages."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.waiting import HANGS

from winokit_collect.study import requesters
from winokit_collect.study.adversary import AdversaryVerdict
from winokit_collect.study.refusals import NotAllowed
from winokit_collect.web import visit
from winokit_collect.web.app import THREADS

WAITING = THREADS + 4


@pytest.fixture
def begun_work(monkeypatch):
    """The list of slow pieces of work that have begun or wait for a thread, which grows with each."""
    pieces = []
    run_sync = visit.run_sync

    async def note_work(work, *arguments, **options):
        pieces.append(work)
        return await run_sync(work, *arguments, **options)

    monkeypatch.setattr(visit, "run_sync", note_work)
    return pieces


@pytest.fixture
def gate():
    """The event that slow work waits for. It is set at the end at the latest."""
    event = threading.Event()
    yield event
    event.set()


def statuses_during(worker, begun_work, gate, path, fields):
    """Status of a page asked for while slow requests wait, and the statuses of the slow requests.

    All threads are busy with the requests when the page is asked for; the gate is opened after its answer.
    """

    async def ask_for_page():
        transport = httpx.ASGITransport(worker.app)
        cookies = dict(worker.client.cookies)
        async with (
            worker.app.router.lifespan_context(worker.app),
            httpx.AsyncClient(transport=transport, base_url="http://testserver", cookies=cookies) as client,
        ):
            slow_requests = [asyncio.create_task(client.post(path, data=fields)) for _ in range(WAITING)]
            while len(begun_work) < WAITING:
                await asyncio.sleep(0.01)
            page = await asyncio.wait_for(client.get("/begin"), HANGS)
            assert not any(request.done() for request in slow_requests)
            gate.set()
            answers = await asyncio.gather(*slow_requests)
            return page.status_code, {answer.status_code for answer in answers}

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may keep a loop running in this thread
        return pool.submit(asyncio.run, ask_for_page()).result()


def test_those_who_ask_the_model_wait_by_themselves(study, worker, twins, begun_work, gate, monkeypatch):
    def judge_slowly(pair):
        gate.wait(HANGS)
        return AdversaryVerdict("slow", "", "", (True, False), True, False, "The model does not solve both.")

    monkeypatch.setattr(study.adversary, "spec", "slow")
    monkeypatch.setattr(study.adversary, "judge", judge_slowly)
    task = worker.take("write")
    fields = {"csrf": worker.token, **twins}
    assert statuses_during(worker, begun_work, gate, f"{task}/adversary", fields) == (200, {200})


def test_a_flood_of_logins_waits_by_itself(study, worker, begun_work, gate, monkeypatch):
    def refuse_slowly(study, name, password, address):
        gate.wait(HANGS)
        raise NotAllowed("wrong name or password")

    monkeypatch.setattr(requesters, "login", refuse_slowly)
    worker.get("/login")
    fields = {"csrf": worker.token, "name": "ann", "password": "wrong password"}
    worker.get("/begin")
    assert statuses_during(worker, begun_work, gate, "/login", fields) == (200, {403})
