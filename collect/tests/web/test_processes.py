"""One study, served by several processes on PostgreSQL: to people they are one server, and they end together."""

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from collect_support.people import Browser
from collect_support.server import Server
from collect_support.studies import studies_in
from sqlalchemy import func, select
from support.waiting import HANGS, until

from winokit.extend import BadInput
from winokit_collect import verbs
from winokit_collect.study.schema import Payment, Submission, Task, Vote
from winokit_collect.study.study import utc_now

PROBLEMS = 4
VOTES = 3
PEOPLE = 5
BALLOT = {"choice": "0"}
pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")


class Visitor(Browser):
    """Somebody whose browser opens a new line for each request, so that any process may get it."""

    def __init__(self, server):
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{server.port}",
            headers={"Connection": "close"},
            follow_redirects=True,
            timeout=HANGS,
        )
        self.seen = ""


@pytest.fixture
def study(tmp_path, postgresql):
    with studies_in(tmp_path, utc_now) as make:
        yield make(
            postgresql(),
            tasks={"kinds": ["evaluate"], "votes": VOTES, "twins": 0},
            evaluate={"data": "open", "limit": PROBLEMS},
        )


@pytest.fixture
def server(study):
    server = Server(study.folder, options=["--db", study.store.url.render_as_string(hide_password=False)])
    yield server
    if server.process.poll() is None:
        server.stop()


def servers(server):
    """The processes that serve; beside them multiprocessing has one that keeps its books."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def both_answer(server):
    """Each process answers while the other one is stopped."""
    for pid in servers(server):
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: _answers(server))
        finally:
            os.kill(pid, signal.SIGCONT)


def _answers(server):
    try:
        return httpx.get(f"http://127.0.0.1:{server.port}/health", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


def test_postgresql_is_served_by_two_processes_to_whom_one_cookie_is_good(server, study):
    assert len(servers(server)) == 2
    both_answer(server)
    one, other = servers(server)
    os.kill(one, signal.SIGSTOP)
    worker = Visitor(server).join(study)
    os.kill(one, signal.SIGCONT)
    os.kill(other, signal.SIGSTOP)
    assert "/vote" in str(worker.send("/begin/evaluate").url)  # with a cookie and a token of the other process
    os.kill(other, signal.SIGCONT)
    said = server.stop()
    assert said.count(study.config.title) == 1
    assert said.count("create the requester's account") == 1
    assert "Traceback" not in said


def test_nothing_is_lost_or_doubled_between_two_processes(server, study):
    both_answer(server)
    people = [Visitor(server).join(study) for _ in range(PEOPLE)]
    thanked = Counter()

    def work(person):
        while "/begin/evaluate" in person.get("/begin").text:
            path = person.take("evaluate")
            if path.startswith("/task/"):
                fields = {"csrf": person.token, **BALLOT}
                with ThreadPoolExecutor(2) as hands:  # a double click
                    clicks = [hands.submit(person.client.post, f"{path}/vote", data=fields) for _ in range(2)]
                assert [click.result().history[0].status_code for click in clicks] == [303, 303]
                thanked[path] += 1

    with ThreadPoolExecutor(PEOPLE) as at_once:
        list(at_once.map(work, people))
    with study.store.read() as session:
        accepted = session.scalars(select(Task.accepted).where(Task.asked.is_not(None))).all()
        rows = [session.scalar(select(func.count()).select_from(table)) for table in (Submission, Vote, Payment)]
    assert accepted == [VOTES] * PROBLEMS
    assert set(thanked.values()) == {1}
    assert rows == [len(thanked)] * 3 == [PROBLEMS * VOTES] * 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_processes_end_with_the_one_that_was_started(server, number):
    pids = servers(server)
    server.process.send_signal(number)
    until(lambda: not any(map(is_alive, pids)))
    said = server.wait_for_end()
    assert "Traceback" not in said


def test_where_one_process_ends_by_itself_all_do_and_it_is_an_error(server):
    one, other = servers(server)
    os.kill(one, signal.SIGKILL)
    said = server.wait_for_end()
    assert "a server process ended by itself" in said
    assert server.process.returncode == 2
    assert not is_alive(other)


def test_sqlite_is_served_by_one_process_alone(tmp_path):
    with studies_in(tmp_path, utc_now, twins=4) as make:
        folder = make().folder
    with pytest.raises(BadInput, match="SQLite is served by 1"):
        verbs.serve(folder, port=0, processes=2)
