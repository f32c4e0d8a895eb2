"""Prolific, https://docs.prolific.com: its address parameters, completion codes, approvals, bonuses, screening out.

The study's address on Prolific is `https://…/start?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID=
{{%SESSION_ID%}}`; the session is what its API calls a submission. The token comes from $PROLIFIC_API_TOKEN.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from winokit.collect import PLATFORMS
from winokit.collect.platforms.base import Departure, Platform, PlatformError, Uncertain, Visitor
from winokit.collect.study.refusals import NotAllowed
from winokit.errors import BadInput

API = "https://api.prolific.com/api/v1"
COMPLETE = "https://app.prolific.com/submissions/complete"
TOKEN = "PROLIFIC_API_TOKEN"
ID = re.compile(r"[0-9A-Za-z_-]{8,64}")


@PLATFORMS.register("prolific")
class Prolific(Platform):
    """The platform, spoken to over HTTP."""

    title = "Prolific"
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    start = "/start?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in parameters)

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """Who has come, by the three parameters of Prolific's address."""
        if "PROLIFIC_PID" not in parameters:
            return None
        ids = [parameters.get(name, "") for name in self.parameters]
        if not all(ID.fullmatch(id_) for id_ in ids):
            raise NotAllowed("this is not an address that Prolific makes")
        person, study, session = ids
        if self.settings.study_id and study != self.settings.study_id:
            raise NotAllowed("this address belongs to another study")
        return Visitor(person, study, session)

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """Back to Prolific with the code that says how it went."""
        code = self.settings.screened_out_code if screened_out else self.settings.completion_code
        return Departure(f"{COMPLETE}?{urlencode({'cc': code})}", code) if code else Departure()

    def approve(self, visitor: Visitor) -> None:
        """Approve the visit; Prolific ignores a second time."""
        self._transition(visitor, {"action": "APPROVE"})

    def screen_out(self, visitor: Visitor) -> None:
        """Complete the visit with the code for people the study is not for."""
        if not self.settings.screened_out_code:
            raise BadInput("study.toml: field 'platform.screened_out_code': Prolific needs a code to screen people out")
        self._transition(visitor, {"action": "COMPLETE", "completion_code": self.settings.screened_out_code})

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Set a bonus up, then pay it; Prolific would pay a second request again, so it is sent once."""
        amount = f"{visitor.external_id},{cents / 100:.2f}"
        bonus = self._post("/submissions/bonus-payments/", {"study_id": visitor.study_id, "csv_bonuses": amount})
        number = str(bonus.get("id", ""))
        if not ID.fullmatch(number):
            raise PlatformError("Prolific: no id came back for the bonus that was set up")
        self._post(f"/bulk-bonus-payments/{number}/pay/", {}, once=True)
        return number

    def _transition(self, visitor: Visitor, body: dict[str, str]) -> None:
        self._post(f"/submissions/{visitor.session_id}/transition/", body)

    def _post(self, path: str, body: dict[str, Any], *, once: bool = False) -> dict[str, Any]:
        """Post to the API. What may be sent `once` only leaves a doubt where no answer comes."""
        token = os.environ.get(TOKEN)
        if not token:
            raise BadInput(f"Prolific's API needs a token: set {TOKEN}")
        url = (self.settings.api or API).rstrip("/") + path
        try:
            answer = httpx.post(url, json=body, headers={"Authorization": f"Token {token}"}, timeout=20)
        except httpx.ConnectError as error:
            raise PlatformError(f"Prolific: cannot be reached ({error})") from None
        except httpx.HTTPError as error:
            doubt = Uncertain if once else PlatformError
            raise doubt(f"Prolific: no answer to {path} ({type(error).__name__})") from None
        if answer.is_error:
            doubt = Uncertain if once and answer.is_server_error else PlatformError
            reason = " ".join(answer.text.split())[:200] or "no reason given"
            raise doubt(f"Prolific: {path} was answered with {answer.status_code}: {reason}")
        content = answer.json() if answer.headers.get("content-type", "").startswith("application/json") else {}
        return content if isinstance(content, dict) else {}
