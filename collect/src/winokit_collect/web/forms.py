"""Who somebody is, from signed cookies; and tokens that only pages shown to them have (CSRF).

| cookie | says | lasts |
|---|---|---|
| `worker` | a worker's code and the version of their sessions | 60 days |
| `requester` | an account and the version of its sessions | 12 hours |
| `visitor` | nothing but a random number, for forms that come before one is anybody | a day |
| `notice` | a line to show on the next page | a minute |

A form's token is a keyed hash of the cookie that vouches for whoever it was shown to. So another person's token, or
one from before a login, opens nothing; and since every cookie is HttpOnly and SameSite, no other site can make one.
This stands before every form; then its fields are cleaned, and read by pydantic where they are more than texts.
"""

import hmac
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form as FormField
from pydantic import AfterValidator
from starlette.exceptions import HTTPException

from winokit_collect.study.refusals import Incomplete, NotAllowed, NotFound, Refused
from winokit_collect.study.study import Signer
from winokit_collect.study.texts import say

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
WORKER = "worker"
REQUESTER = "requester"
VISITOR = "visitor"
NOTICE = "notice"
HOUR = 3600
SECONDS = {WORKER: 60 * 24 * HOUR, REQUESTER: 12 * HOUR, VISITOR: 24 * HOUR, NOTICE: 60}
NO_ADDRESS = say("refusals.no_address")
READING = ("GET", "HEAD", "OPTIONS")
TOKEN_FIELD = "csrf"
TOKEN_HEADER = "x-csrf-token"
STALE = {
    VISITOR: say("refusals.stale_door"),
    WORKER: say("refusals.stale"),
    REQUESTER: "this page is out of date; please log in, reload it and send it again",
}


class Cookies:
    """Reads and writes the app's cookies."""

    def __init__(self, signer: Signer, *, secure: bool) -> None:
        self._signer = signer
        self._secure = secure

    def raw(self, request: Request, role: str) -> str | None:
        """A cookie as it stands, if it is one of ours and not too old."""
        return request.cookies[self._name(role)] if self.read(request, role) is not None else None

    def read(self, request: Request, role: str) -> Any:
        """What a cookie says; None where there is none, or not one of ours."""
        known: dict[str, Any] = request.scope.setdefault("winokit.cookies", {})
        if role not in known:  # a page asks more than once, and to verify a signature takes a while
            try:
                known[role] = self._signer.read(f"{role}-session", request.cookies[self._name(role)], SECONDS[role])
            except (KeyError, Refused):
                known[role] = None
        return known[role]

    def sign(self, role: str, value: Any) -> str:
        """A cookie that says something, raw."""
        return self._signer.sign(f"{role}-session", value)

    def set(self, response: Response, role: str, raw: str) -> None:
        """Send a raw cookie along."""
        response.set_cookie(
            self._name(role), raw, max_age=SECONDS[role], path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def give(self, response: Response, role: str, value: Any) -> None:
        """Send a cookie along that says something."""
        self.set(response, role, self.sign(role, value))

    def take(self, response: Response, role: str) -> None:
        """Remove a cookie."""
        response.delete_cookie(self._name(role), path="/", secure=self._secure, httponly=True, samesite="lax")

    def form_token(self, role: str, raw: str) -> str:
        """The token of forms shown to the holder of a cookie."""
        return self._signer.digest("csrf", f"{role}:{raw}")

    def is_own_form(self, request: Request, role: str, token: str) -> bool:
        """Whether a form's token was made for the holder of this request's cookie."""
        raw = self.raw(request, role)
        return raw is not None and hmac.compare_digest(self.form_token(role, raw).encode(), token.encode())

    def _name(self, role: str) -> str:
        # Browsers let nobody but the host itself, over TLS, set a cookie with this prefix.
        return f"__Host-winokit-{role}" if self._secure else f"winokit-{role}"


class Pages(APIRouter):
    """Pages for a role: every form among them must carry the token of its reader."""

    def __init__(self, role: str) -> None:
        async def guard(request: Request) -> None:
            # Not request.url: the Host header has a say in it.
            if "\x00" in request.scope["path"] or b"%00" in request.scope["query_string"]:
                raise NotAllowed(NO_ADDRESS)
            if request.method in READING:
                return
            form = await request.form(max_files=0, max_fields=100)  # unless it was read before
            if not all(isinstance(value, str) for value in form.values()):
                raise HTTPException(400)
            fields = {plain(name): plain(str(value)) for name, value in form.items()}
            token = request.headers.get(TOKEN_HEADER) or fields.pop(TOKEN_FIELD, "")
            cookies: Cookies = request.app.state.cookies
            elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
            if elsewhere or not cookies.is_own_form(request, role, token):
                raise NotAllowed(STALE[role])
            request.state.fields = fields

        super().__init__(dependencies=[Depends(guard)])

    def form(self, path: str, *names: str) -> Callable[[Endpoint], Endpoint]:
        """What takes a form: its fields are parameters with a `Form`, or `names` that come as texts in `Fields`."""
        properties = {name: {"type": "string"} for name in (TOKEN_FIELD, *names)}
        form = {"schema": {"type": "object", "properties": properties, "required": [TOKEN_FIELD]}}
        body = {"requestBody": {"content": {"application/x-www-form-urlencoded": form}}}

        def add(endpoint: Endpoint) -> Endpoint:
            hints = get_type_hints(endpoint, include_extras=True).values()
            told_by_types = any(isinstance(part, FormField) for hint in hints for part in get_args(hint))
            self.post(path, openapi_extra=None if told_by_types else body)(endpoint)
            return endpoint

        return add


async def sent_fields(request: Request) -> dict[str, str]:
    """The fields of the form that was let through."""
    fields: dict[str, str] = request.state.fields
    return fields


def plain(text: str) -> str:
    """A text without what databases choke on: NUL, and halves of characters."""
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")


def expected(what: str, **bounds: Any) -> Any:
    """A field of a form; `what` is told where it is missing or out of bounds."""
    return Form(description=what, **bounds)


def whole(low: int, high: int) -> Any:
    """A field for a whole number within bounds."""
    return expected(f"a whole number from {low:,} to {high:,} expected", ge=low, le=high)


Fields = Annotated[dict[str, str], Depends(sent_fields)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
Text = Annotated[str, AfterValidator(plain), Form()]
Line = Annotated[Text, AfterValidator(lambda text: " ".join(text.split())[:500])]
Why = Annotated[Line, expected("please say why, in a few words", min_length=1)]
Tick = Annotated[bool, expected("yes or no expected")]
"""What pydantic reads a field as: a text as it stands, some words in one line, a reason, a box to tick."""


def misfits(request: Request, error: RequestValidationError) -> Refused:
    """What is said of an address that no page has, or of the fields of a form that do not fit."""
    wrong = {str(each["loc"][-1]) for each in error.errors() if each["loc"][0] == "body"}
    asked = {field.name: field.field_info.description for field in request.scope["route"].dependant.body_params}
    complaints = {name: what or "something expected" for name, what in asked.items() if name in wrong}
    return Incomplete(complaints) if complaints else NotFound(NO_ADDRESS)
