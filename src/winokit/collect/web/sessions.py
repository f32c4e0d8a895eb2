"""Who somebody is, from signed cookies; and tokens that only pages shown to them have (CSRF).

| cookie | says | lasts |
|---|---|---|
| `worker` | a worker's code and the version of their sessions | 60 days |
| `requester` | an account and the version of its sessions | 12 hours |
| `visitor` | nothing but a random number, for forms that come before one is anybody | a day |
| `notice` | a line to show on the next page | a minute |

A form's token is a keyed hash of the cookie that vouches for whoever it was shown to. So another person's token, or
one from before a login, opens nothing; and since every cookie is HttpOnly and SameSite, no other site can make one.
"""

from __future__ import annotations

import hmac
from typing import Any

from fastapi import Request, Response

from winokit.collect.study.refusals import Refused
from winokit.collect.study.tokens import Signer

WORKER, REQUESTER, VISITOR, NOTICE = "worker", "requester", "visitor", "notice"
HOUR = 3600
SECONDS = {WORKER: 60 * 24 * HOUR, REQUESTER: 12 * HOUR, VISITOR: 24 * HOUR, NOTICE: 60}


class Cookies:
    """Reads and writes the app's cookies."""

    def __init__(self, signer: Signer, *, secure: bool) -> None:
        self._signer, self._secure = signer, secure

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
