"""Several processes that serve one study on PostgreSQL are one server to people, and end together."""

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
    """A browser that opens a new connection for each request, so that any process may answer it."""

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


def serving_pids(server):
    """Ids of the processes that serve, without the one in which multiprocessing tracks its resources."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


def is_alive(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    _, _, fields = status.rpartition(")")
    state = fields.split()[0]
    return state != "Z"


def assert_both_answer(server):
    """Assert that each process answers while the other one is stopped."""
    for pid in serving_pids(server):
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: _is_answering(server))
        finally:
            os.kill(pid, signal.SIGCONT)


def _is_answering(server):
    try:
        return httpx.get(f"http://127.0.0.1:{server.port}/health", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


def test_postgresql_is_served_by_two_processes_to_whom_one_cookie_is_good(server, study):
    first_pid, second_pid = serving_pids(server)
    assert_both_answer(server)
    os.kill(first_pid, signal.SIGSTOP)
    worker = Visitor(server).join(study)
    os.kill(first_pid, signal.SIGCONT)
    os.kill(second_pid, signal.SIGSTOP)
    assert "/vote" in str(worker.send("/begin/evaluate").url)  # with a cookie and a token of the other process
    os.kill(second_pid, signal.SIGCONT)
    output = server.stop()
    assert output.count(study.config.title) == 1
    assert output.count("create the requester's account") == 1
    assert "Traceback" not in output


def test_nothing_is_lost_or_doubled_between_two_processes(server, study):
    assert_both_answer(server)
    people = [Visitor(server).join(study) for _ in range(PEOPLE)]
    thanks_by_path = Counter()

    def work_until_nothing_is_left(person):
        while "/begin/evaluate" in person.get("/begin").text:
            path = person.take("evaluate")
            if path.startswith("/task/"):
                fields = {"csrf": person.token, **BALLOT}
                with ThreadPoolExecutor(2) as pool:  # a double click
                    clicks = [pool.submit(person.client.post, f"{path}/vote", data=fields) for _ in range(2)]
                statuses = [click.result().history[0].status_code for click in clicks]
                assert statuses == [303, 303]
                thanks_by_path[path] += 1

    with ThreadPoolExecutor(PEOPLE) as pool:
        list(pool.map(work_until_nothing_is_left, people))
    with study.store.read() as session:
        accepted = session.scalars(select(Task.accepted).where(Task.asked.is_not(None))).all()
        counts = [session.scalar(select(func.count()).select_from(table)) for table in (Submission, Vote, Payment)]
    assert accepted == [VOTES] * PROBLEMS
    assert set(thanks_by_path.values()) == {1}
    assert len(thanks_by_path) == PROBLEMS * VOTES
    assert counts == [PROBLEMS * VOTES] * 3


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_processes_end_with_the_one_that_was_started(server, signal_number):
    pids = serving_pids(server)
    server.process.send_signal(signal_number)
    until(lambda: not any(map(is_alive, pids)))
    output = server.wait_for_end()
    assert "Traceback" not in output


def test_where_one_process_ends_by_itself_all_do_and_it_is_an_error(server):
    first_pid, second_pid = serving_pids(server)
    os.kill(first_pid, signal.SIGKILL)
    output = server.wait_for_end()
    assert "a server process ended by itself" in output
    assert server.process.returncode == 2
    assert not is_alive(second_pid)


def test_sqlite_is_served_by_one_process_alone(tmp_path):
    with studies_in(tmp_path, utc_now, twins=4) as make:
        folder = make().folder
    with pytest.raises(BadInput, match="SQLite is served by 1"):
        verbs.serve(folder, port=0, processes=2)
