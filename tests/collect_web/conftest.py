"""A study on SQLite, its app, and browsers that fill in forms as people do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the collect extra")
pytest.importorskip("fastapi", reason="needs the collect extra")

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import Response

from winokit.collect import invites, log
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
PASSWORD = "correct horse battery"


class Clock:
    """A time that passes when a test says so; it starts with the real one, which signed tokens go by."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def pass_minutes(self, minutes: float) -> None:
        self.ahead += timedelta(minutes=minutes)


class Page(HTMLParser):
    """What a page is made of, as far as tests ask."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        named = {name.rstrip("_"): value for name, value in wanted.items()}
        return [a for t, a in self.elements if t == tag and all(a.get(n) == v for n, v in named.items())]

    @property
    def token(self) -> str:
        """The token of the forms on the page."""
        return self.all("input", name="csrf")[0]["value"] or ""


class Browser:
    """Somebody with cookies, who sends the forms of the page they see."""

    def __init__(self, app: FastAPI, **options: Any) -> None:
        self.client = TestClient(app, **options)
        self.seen = ""

    def get(self, path: str, **options: Any) -> Response:
        return self._saw(self.client.get(path, **options))

    def send(self, path: str, **fields: str) -> Response:
        return self._saw(self.client.post(path, data={"csrf": self.token, **fields}))

    def post(self, path: str, **options: Any) -> Response:
        """Send something by itself, token or not."""
        return self.client.post(path, **options)

    @property
    def page(self) -> Page:
        return Page(self.seen)

    @property
    def token(self) -> str:
        return self.page.token

    def _saw(self, response: Response) -> Response:
        if "<body" in response.text:
            self.seen = response.text
        return response

    def join(self, study: Study) -> Browser:
        """Come in, consent and pass the screening."""
        path = invites.create(study).path
        self.get(path)
        self.send(path)
        self.send("/consent", agree="yes")
        self.send("/screening", native_speaker="yes", has_seen_wsc="no")
        return self

    def take(self, kind: str) -> str:
        """Take a task; its address without the last part."""
        self.get("/begin")
        return re.sub(r"/(write|vote)$", "", str(self.send(f"/begin/{kind}").url.path))

    def write(self, **changes: str) -> Response:
        task = self.take("write")
        return self.send(f"{task}/write", **{**TWINS, **changes})

    def set_up(self, study: Study) -> Browser:
        """Make the requester's account, and be logged in."""
        path = invites.setup_path(study) or ""
        self.get(path)
        self.send(path, name="ann", password=PASSWORD, again=PASSWORD)
        return self


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_study(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Study]]:
    """Makes studies from sections of a config; no quiz and no gold questions unless asked for."""
    made: list[Study] = []

    def make(**sections: Any) -> Study:
        quality = {"quiz_pass_mark": 0, "gold_share": 0, **sections.pop("quality", {})}
        tasks = {"twins": 4, "social_share": 0, **sections.pop("tasks", {})}
        config = parse_config({"quality": quality, "tasks": tasks, **sections})
        made.append(Study.create(tmp_path / f"study-{len(made)}", config, clock=clock))
        return made[-1]

    yield make
    for study in made:
        study.close()


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    return make_study()


@pytest.fixture
def app(study: Study) -> FastAPI:
    return create_app(study)


@pytest.fixture
def stranger(app: FastAPI) -> Browser:
    return Browser(app)


@pytest.fixture
def worker(app: FastAPI, study: Study) -> Browser:
    return Browser(app).join(study)


@pytest.fixture
def requester(app: FastAPI, study: Study) -> Browser:
    return Browser(app).set_up(study)


@pytest.fixture
def refused(study: Study) -> Callable[[], list[tuple[str, str, int]]]:
    """What the audit log says was refused: who, where, with which status."""
    return lambda: [(line.actor, line.target, line.detail["status"]) for line in log.entries(study, action="refused")]


@pytest.fixture
def browser_of() -> Callable[[Study], Browser]:
    """Makes browsers for other studies than the usual one."""
    return lambda study, **options: Browser(create_app(study, **options))


@pytest.fixture
def twins() -> dict[str, str]:
    return dict(TWINS)


@pytest.fixture
def password() -> str:
    return PASSWORD
