"""What stands before every form: it must be one of ours, shown to the person who sends it; and its fields, cleaned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from winokit.collect.study.refusals import Incomplete, NotAllowed
from winokit.collect.web.sessions import REQUESTER, VISITOR, WORKER, Cookies

NO_ADDRESS = "this is not an address that any page here leads to"
READING = ("GET", "HEAD", "OPTIONS")
TOKEN_FIELD, TOKEN_HEADER = "csrf", "x-csrf-token"
STALE = {
    VISITOR: "this page has been open too long, or cookies are off; please open it anew and send it again",
    WORKER: "this page is out of date; please open it anew from your home page (your draft is kept)",
    REQUESTER: "this page is out of date; please log in, open it anew and send it again",
}


class ForeignForm(NotAllowed):
    """A form that was not shown to whoever sends it, as far as can be told."""


class Pages(APIRouter):
    """Pages for a role: every form among them must carry the token of its reader."""

    def __init__(self, role: str) -> None:
        async def guard(request: Request) -> None:
            # Not request.url: the Host header has a say in it.
            if "\x00" in request.scope["path"] or b"%00" in request.scope["query_string"]:
                raise NotAllowed(NO_ADDRESS)
            if request.method in READING:
                return
            form = await request.form(max_files=0, max_fields=100)
            fields = {plain(name): plain(value) for name, value in form.items() if isinstance(value, str)}
            token = request.headers.get(TOKEN_HEADER) or fields.pop(TOKEN_FIELD, "")
            cookies: Cookies = request.app.state.cookies
            elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
            if elsewhere or not cookies.is_own_form(request, role, token):
                raise ForeignForm(STALE[role])
            request.state.fields = fields

        super().__init__(dependencies=[Depends(guard)])

    def form(self, path: str, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """What takes a form, and the names of its fields, which the app's OpenAPI description tells."""
        properties = {name: {"type": "string"} for name in (TOKEN_FIELD, *names)}
        form = {"schema": {"type": "object", "properties": properties, "required": [TOKEN_FIELD]}}
        body = {"content": {"application/x-www-form-urlencoded": form}}
        return self.post(path, openapi_extra={"requestBody": body})


async def sent_fields(request: Request) -> dict[str, str]:
    """The fields of the form that was let through."""
    fields: dict[str, str] = request.state.fields
    return fields


Fields = Annotated[dict[str, str], Depends(sent_fields)]


def plain(text: str) -> str:
    """A text without what databases choke on: NUL, and halves of characters."""
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")


def is_number(text: str, digits: int) -> bool:
    """Whether a text is a whole number of so many digits at most."""
    return text.isascii() and text.isdecimal() and len(text) <= digits


def whole(fields: Mapping[str, str], name: str, low: int, high: int) -> int:
    """A whole number within bounds.

    >>> whole({"uses": " 3 "}, "uses", 1, 9)
    3
    """
    text = fields.get(name, "").strip()
    if not (is_number(text, 9) and low <= int(text) <= high):
        raise Incomplete({name: f"a whole number from {low:,} to {high:,} expected"})
    return int(text)


def cents(fields: Mapping[str, str], name: str) -> int:
    """An amount of money, written with up to two decimals, in hundredths.

    >>> cents({"amount": "-1.5"}, "amount")
    -150
    """
    try:
        amount = Decimal(fields.get(name, "").strip()[:20])
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or abs(amount) > 1_000_000 or amount * 100 != int(amount * 100):
        raise Incomplete({name: "an amount such as 1.50 expected"})
    return int(amount * 100)


def reason(fields: Mapping[str, str]) -> str:
    """Why, in words, which must not be empty."""
    why = " ".join(fields.get("why", "").split())
    if not why:
        raise Incomplete({"why": "please say why, in a few words"})
    return why[:500]
