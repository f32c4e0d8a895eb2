"""Identity from signed cookies, and the tokens that protect forms (CSRF).

A token is only in pages that were shown to its reader.

| cookie | content | lasts |
|---|---|---|
| `worker` | a worker's code and the version of their sessions | 60 days |
| `requester` | an account and the version of its sessions | 12 hours |
| `visitor` | only a random number, for forms before somebody has signed in | a day |
| `notice` | a line to show on the next page | a minute |

A form's token is a keyed hash of its reader's cookie. So another person's token, or one from before a login, opens
nothing. Every cookie is HttpOnly and SameSite, so that no other site can make one. Every form is checked in this way.
Then its fields are cleaned, and read by pydantic if they are more than texts.
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
    """Reads and writes the app's signed cookies.

    A cookie is named by a `role`: worker, requester, visitor or notice.
    """

    def __init__(self, signer: Signer, *, secure: bool) -> None:
        self._signer = signer
        self._secure = secure

    def raw(self, request: Request, role: str) -> str | None:
        """The signed value of a request's cookie.

        None if it is missing, forged or too old.
        """
        if self.read(request, role) is None:
            return None
        return request.cookies[self._get_cookie_name(role)]

    def read(self, request: Request, role: str) -> Any:
        """The content of a request's cookie.

        None if it is missing, forged or too old.
        """
        contents: dict[str, Any] = request.scope.setdefault("winokit.cookies", {})
        if role not in contents:  # A page asks more than once, and verifying a signature takes a while.
            try:
                raw = request.cookies[self._get_cookie_name(role)]
                contents[role] = self._signer.read(f"{role}-session", raw, SECONDS[role])
            except (KeyError, Refused):
                contents[role] = None
        return contents[role]

    def sign(self, role: str, value: Any) -> str:
        """Sign the content of a cookie."""
        return self._signer.sign(f"{role}-session", value)

    def set(self, response: Response, role: str, raw: str) -> None:
        """Add a cookie with a signed value to a response."""
        name = self._get_cookie_name(role)
        seconds = SECONDS[role]
        response.set_cookie(name, raw, max_age=seconds, path="/", secure=self._secure, httponly=True, samesite="lax")

    def give(self, response: Response, role: str, value: Any) -> None:
        """Sign a value and add it as a cookie to a response."""
        self.set(response, role, self.sign(role, value))

    def take(self, response: Response, role: str) -> None:
        """Delete a cookie from the browser."""
        response.delete_cookie(
            self._get_cookie_name(role), path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def form_token(self, role: str, raw: str) -> str:
        """CSRF token for the forms shown to a cookie's holder.

        `raw` is the cookie's signed value.
        """
        return self._signer.digest("csrf", f"{role}:{raw}")

    def is_own_form(self, request: Request, role: str, token: str) -> bool:
        """Whether a form's CSRF token belongs to the cookie of this request."""
        raw = self.raw(request, role)
        if raw is None:
            return False
        own_token = self.form_token(role, raw)
        return hmac.compare_digest(own_token.encode(), token.encode())

    def _get_cookie_name(self, role: str) -> str:
        # Browsers let nobody but the host itself, over TLS, set a cookie with this prefix.
        return f"__Host-winokit-{role}" if self._secure else f"winokit-{role}"


class Pages(APIRouter):
    """Router of one role's pages, which checks forms' CSRF tokens."""

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
            is_from_elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
            if is_from_elsewhere or not cookies.is_own_form(request, role, token):
                raise NotAllowed(STALE[role])
            request.state.fields = fields

        super().__init__(dependencies=[Depends(guard)])

    def form(self, path: str, *names: str) -> Callable[[Endpoint], Endpoint]:
        """Decorator for an endpoint that receives a form by POST.

        Typed fields are parameters with a `Form`. `names` lists the fields that come as plain texts in `Fields`.
        """
        properties = {name: {"type": "string"} for name in (TOKEN_FIELD, *names)}
        form = {"schema": {"type": "object", "properties": properties, "required": [TOKEN_FIELD]}}
        body = {"requestBody": {"content": {"application/x-www-form-urlencoded": form}}}

        def add(endpoint: Endpoint) -> Endpoint:
            hints = get_type_hints(endpoint, include_extras=True).values()
            has_typed_fields = any(_is_form_field(hint) for hint in hints)
            extra = None if has_typed_fields else body
            self.post(path, openapi_extra=extra)(endpoint)
            return endpoint

        return add


def _is_form_field(hint: Any) -> bool:
    """Whether a type hint is of a typed form field."""
    return any(isinstance(part, FormField) for part in get_args(hint))


async def sent_fields(request: Request) -> dict[str, str]:
    """The fields of a form, after its CSRF token was checked."""
    fields: dict[str, str] = request.state.fields
    return fields


def plain(text: str) -> str:
    """Drop NUL and lone surrogates, which databases cannot store."""
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")


def expected(what: str, **bounds: Any) -> Any:
    """Declare a typed form field.

    `what` is the message if the field is missing or out of bounds.
    """
    return Form(description=what, **bounds)


def whole(low: int, high: int) -> Any:
    """Declare a form field for a whole number from `low` to `high`."""
    return expected(f"a whole number from {low:,} to {high:,} expected", ge=low, le=high)


Fields = Annotated[dict[str, str], Depends(sent_fields)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
Text = Annotated[str, AfterValidator(plain), Form()]
Line = Annotated[Text, AfterValidator(lambda text: " ".join(text.split())[:500])]
Why = Annotated[Line, expected("please say why, in a few words", min_length=1)]
Tick = Annotated[bool, expected("yes or no expected")]
"""Types of form fields: any text, a text in one line, a required reason, and a box to tick."""


def misfits(request: Request, error: RequestValidationError) -> Refused:
    """Make the error for values that are not valid.

    Incomplete for fields of a form, NotFound for parts of an address.
    """
    wrong_names = {str(problem["loc"][-1]) for problem in error.errors() if problem["loc"][0] == "body"}
    complaints = {}
    for field in request.scope["route"].dependant.body_params:
        if field.name in wrong_names:
            complaints[field.name] = field.field_info.description or "something expected"
    return Incomplete(complaints) if complaints else NotFound(NO_ADDRESS)
