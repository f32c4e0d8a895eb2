"""People with cookies: those who send the forms they see, and those who send what they like."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import Response

from collect_support.crew import form
from winokit_collect.study import invites, requesters
from winokit_collect.study.study import Study

PASSWORD = "correct horse battery"
ROLES = {"worker": ("/begin", "/task", "/consent", "/screening", "/quiz"), "requester": ("/requester", "/logout")}


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
    """Somebody who sends the forms of the page they see."""

    def __init__(self, app: FastAPI, **options: Any) -> None:
        self.app = app
        self.client = TestClient(app, **options)
        self.seen = ""

    def get(self, path: str, **options: Any) -> Response:
        return self._saw(self.client.get(path, **options))

    def send(self, path: str, **fields: str) -> Response:
        return self._saw(self.client.post(path, data={"csrf": self.token_for(path), **fields}))

    def post(self, path: str, data: dict[str, str] | None = None, **options: Any) -> Response:
        """Send something by itself, token or not."""
        return self.client.post(path, data=data, **options)

    def token_for(self, path: str) -> str:
        return self.token

    @property
    def page(self) -> Page:
        return Page(self.seen)

    @property
    def token(self) -> str:
        return self.page.token

    def join(self, study: Study) -> Browser:
        """Come in, consent and pass the screening."""
        path = invites.create(study).path
        self.get(path)
        self.send(path)
        self.send("/consent", agree="yes")
        self.send("/screening", native_speaker="yes", has_seen_wsc="no")
        return self

    def set_up(self, study: Study) -> Browser:
        """Make the requester's account, and be logged in."""
        path = requesters.setup_path(study) or ""
        self.get(path)
        self.send(path, name="ann", password=PASSWORD, again=PASSWORD)
        return self

    def take(self, kind: str) -> str:
        """Take a task; its address without the last part."""
        self.get("/begin")
        return re.sub(r"/(write|vote)$", "", str(self.send(f"/begin/{kind}").url.path))

    def write(self, number: int = 0, **changes: str) -> Response:
        return self.send(f"{self.take('write')}/write", **form(number, **changes))

    def _saw(self, response: Response) -> Response:
        if "<body" in response.text:
            self.seen = response.text
        return response


class Person(Browser):
    """Somebody at an address of their own, who knows the token of every form that they might be shown."""

    def __init__(self, app: FastAPI, address: str = "10.0.0.1") -> None:
        super().__init__(app, client=(address, 4000))

    def token_for(self, path: str) -> str:
        """The token that pages around a path carry, for whoever this is now."""
        role = next((role for role, begins in ROLES.items() if path.startswith(begins)), "visitor")
        raw = self.client.cookies.get(f"winokit-{role}")
        if raw is None and role == "visitor":
            self.client.get("/nothing")
            raw = self.client.cookies.get("winokit-visitor")
        return str(self.app.state.cookies.form_token(role, raw or ""))

    def does_a_days_work(self, number: int) -> bool:
        """Whether somebody ordinary can still write a pair of twins."""
        answer = self.write(number)
        return answer.status_code == 200 and answer.url.path == "/begin" and "your work has been saved" in answer.text
