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
def begun(monkeypatch):
    """Slow work that is done, or waits for a thread to be done in."""
    pieces = []
    run_sync = visit.run_sync

    async def count(work, *arguments, **more):
        pieces.append(work)
        return await run_sync(work, *arguments, **more)

    monkeypatch.setattr(visit, "run_sync", count)
    return pieces


@pytest.fixture
def gate():
    """What slow work waits for; it is opened in any case at the end."""
    made = threading.Event()
    yield made
    made.set()


def answers_during(worker, begun, gate, path, fields):
    """What many slow requests and one page are answered, where the page comes last and the slow ones must wait."""

    async def run():
        transport = httpx.ASGITransport(worker.app)
        cookies = dict(worker.client.cookies)
        async with (
            worker.app.router.lifespan_context(worker.app),
            httpx.AsyncClient(transport=transport, base_url="http://testserver", cookies=cookies) as client,
        ):
            slow = [asyncio.create_task(client.post(path, data=fields)) for _ in range(WAITING)]
            while len(begun) < WAITING:
                await asyncio.sleep(0.01)
            page = await asyncio.wait_for(client.get("/begin"), HANGS)
            assert not any(one.done() for one in slow)
            gate.set()
            return page.status_code, {answer.status_code for answer in await asyncio.gather(*slow)}

    with ThreadPoolExecutor(1) as apart:  # a browser of other tests may keep a loop running in this thread
        return apart.submit(asyncio.run, run()).result()


def test_those_who_ask_the_model_wait_by_themselves(study, worker, twins, begun, gate, monkeypatch):
    def slowly(pair):
        gate.wait(HANGS)
        return AdversaryVerdict("slow", "", "", (True, False), True, False, "The model does not solve both.")

    monkeypatch.setattr(study.adversary, "spec", "slow")
    monkeypatch.setattr(study.adversary, "judge", slowly)
    task = worker.take("write")
    assert answers_during(worker, begun, gate, f"{task}/adversary", {"csrf": worker.token, **twins}) == (200, {200})


def test_a_flood_of_logins_waits_by_itself(study, worker, begun, gate, monkeypatch):
    def slowly(study, name, password, address):
        gate.wait(HANGS)
        raise NotAllowed("wrong name or password")

    monkeypatch.setattr(requesters, "login", slowly)
    worker.get("/login")
    fields = {"csrf": worker.token, "name": "ann", "password": "wrong password"}
    worker.get("/begin")
    assert answers_during(worker, begun, gate, "/login", fields) == (200, {403})
