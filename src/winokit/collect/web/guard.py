"""What stands before every form: it must be one of ours, shown to the person who sends it; and its fields, cleaned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Request

from winokit.collect.study.refusals import NotAllowed
from winokit.collect.web.sessions import REQUESTER, VISITOR, WORKER, Cookies

READING = ("GET", "HEAD", "OPTIONS")
TOKEN_FIELD, TOKEN_HEADER = "csrf", "x-csrf-token"
STALE = {
    VISITOR: "this page has been open too long, or cookies are off; please open it anew and send it again",
    WORKER: "this page is out of date; please open it anew from your home page (your draft is kept)",
    REQUESTER: "this page is out of date; please log in, open it anew and send it again",
}


class ForeignForm(NotAllowed):
    """A form that was not shown to whoever sends it, as far as can be told."""


def guard(role: str) -> Callable[[Request], Awaitable[None]]:
    """What a router of pages for a role depends on: every form in it must carry the token of its reader."""

    async def check(request: Request) -> None:
        _refuse_nul(request)
        if request.method in READING:
            return
        request.state.fields = await _read_form(request)
        token = request.headers.get(TOKEN_HEADER) or request.state.fields.pop(TOKEN_FIELD, "")
        cookies: Cookies = request.app.state.cookies
        elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
        if elsewhere or not cookies.is_own_form(request, role, token):
            raise ForeignForm(STALE[role])

    return check


async def told_fields(request: Request) -> dict[str, str]:
    """The fields of the form that `guard` has let through."""
    fields: dict[str, str] = request.state.fields
    return fields


Fields = Annotated[dict[str, str], Depends(told_fields)]


def takes(*names: str) -> dict[str, Any]:
    """What a route says of its form in the app's OpenAPI description."""
    properties = {name: {"type": "string"} for name in (TOKEN_FIELD, *names)}
    form = {"schema": {"type": "object", "properties": properties, "required": [TOKEN_FIELD]}}
    return {"requestBody": {"content": {"application/x-www-form-urlencoded": form}}}


def plain(text: str) -> str:
    """A text without what databases choke on: NUL, and halves of characters."""
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")


async def _read_form(request: Request) -> dict[str, str]:
    form = await request.form(max_files=0, max_fields=100)
    return {plain(name): plain(value) for name, value in form.items() if isinstance(value, str)}


def _refuse_nul(request: Request) -> None:
    # Not request.url: the Host header has a say in it.
    if "\x00" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        raise NotAllowed("this is not an address that any page here leads to")
