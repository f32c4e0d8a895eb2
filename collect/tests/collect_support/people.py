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
PATH_STARTS = {
    "worker": ("/begin", "/task", "/consent", "/screening", "/quiz"),
    "requester": ("/requester", "/logout"),
}


class Page(HTMLParser):
    """The elements of an HTML page, in their order, as (tag, attributes)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        """Attributes of each element with this tag and at least the wanted attributes.

        A name that is a keyword of Python ends in an underscore, as in `class_`.
        """
        wanted_items = {(name.rstrip("_"), value) for name, value in wanted.items()}
        return [
            attributes
            for tag_name, attributes in self.elements
            if tag_name == tag and wanted_items <= attributes.items()
        ]

    @property
    def token(self) -> str:
        """The token of the forms on the page."""
        return self.all("input", name="csrf")[0]["value"] or ""


class Browser:
    """A client that keeps cookies and sends the forms of the page it shows."""

    def __init__(self, app: FastAPI, **options: Any) -> None:
        self.app = app
        self.client = TestClient(app, **options)
        self.seen = ""

    def get(self, path: str, **options: Any) -> Response:
        return self._remember_page(self.client.get(path, **options))

    def send(self, path: str, **fields: str) -> Response:
        return self._remember_page(self.client.post(path, data={"csrf": self.token_for(path), **fields}))

    def post(self, path: str, data: dict[str, str] | None = None, **options: Any) -> Response:
        """Send exactly these fields, without a token unless they hold one."""
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
        """Come in by a new invite, consent and pass the screening."""
        path = invites.create(study).path
        self.get(path)
        self.send(path)
        self.send("/consent", agree="yes")
        self.send("/screening", native_speaker="yes", has_seen_wsc="no")
        return self

    def set_up(self, study: Study) -> Browser:
        """Make the requester's account, which logs this browser in."""
        path = requesters.setup_path(study) or ""
        self.get(path)
        self.send(path, name="ann", password=PASSWORD, again=PASSWORD)
        return self

    def take(self, kind: str) -> str:
        """Take a task and return its address without the last part, `/task/…`."""
        self.get("/begin")
        task_path = str(self.send(f"/begin/{kind}").url.path)
        return re.sub(r"/(write|vote)$", "", task_path)

    def write(self, number: int = 0, **changes: str) -> Response:
        """Take a writing task and hand in the twins of a number."""
        task_path = self.take("write")
        return self.send(f"{task_path}/write", **form(number, **changes))

    def _remember_page(self, response: Response) -> Response:
        if "<body" in response.text:
            self.seen = response.text
        return response


class Person(Browser):
    """A browser at an address of its own that finds the token of any form without opening its page."""

    def __init__(self, app: FastAPI, address: str = "10.0.0.1") -> None:
        super().__init__(app, client=(address, 4000))

    def token_for(self, path: str) -> str:
        """The form token that the app would give this browser on a page at this path."""
        roles = [role for role, path_starts in PATH_STARTS.items() if path.startswith(path_starts)]
        role = roles[0] if roles else "visitor"
        cookie = self.client.cookies.get(f"winokit-{role}")
        if cookie is None and role == "visitor":
            self.client.get("/nothing")
            cookie = self.client.cookies.get("winokit-visitor")
        return str(self.app.state.cookies.form_token(role, cookie or ""))

    def does_a_days_work(self, number: int) -> bool:
        """Whether this browser can still hand in a pair of twins and is thanked for it."""
        answer = self.write(number)
        is_back_at_the_start = answer.status_code == 200 and answer.url.path == "/begin"
        return is_back_at_the_start and "your work has been saved" in answer.text
