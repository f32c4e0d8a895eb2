"""Prolific, https://docs.prolific.com: its address parameters, completion codes, approvals, bonuses, screening out.

The study's address on Prolific is `https://…/start?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID=
{{%SESSION_ID%}}`; the session is what its API calls a submission. The token comes from $PROLIFIC_API_TOKEN.
"""

import logging
import os
import re
import ssl
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import urlencode

import httpx
from httpx import Response

from winokit.extend import BadInput
from winokit_collect import PLATFORMS
from winokit_collect.platforms.base import (
    BaseReward,
    Busy,
    Departure,
    Platform,
    PlatformError,
    Uncertain,
    Visitor,
    VisitReport,
    amount,
)
from winokit_collect.study.refusals import NotAllowed, NotNow
from winokit_collect.study.schema import APPROVED, OPEN, RETURNED, SCREENED_OUT
from winokit_collect.study.texts import say

API = "https://api.prolific.com/api/v1"
COMPLETE = "https://app.prolific.com/submissions/complete"
TOKEN = "PROLIFIC_API_TOKEN"
SECONDS = 15
UNDER_WAY = ("RESERVED", "ACTIVE")
STATES = {
    "APPROVED": APPROVED,
    "SCREENED OUT": SCREENED_OUT,
    "RETURNED": RETURNED,
    "TIMED-OUT": RETURNED,
    "REJECTED": RETURNED,
}
"""What Prolific's statuses mean here; any other is open."""
PAGE = 100
"""Submissions on one page of their list."""
WAIT = 30.0
MOST_WAIT = 600.0
"""Seconds to wait after "too many requests" if Prolific does not say how long, and at most."""
LOG = logging.getLogger("winokit.collect")
OBJECT_ID = re.compile(r"[0-9a-f]{24}")
ID = re.compile(r"[0-9A-Za-z_-]{8,64}")


class NotKnown(PlatformError):
    """There is no such thing on Prolific."""


@PLATFORMS.register("prolific")
class Prolific(Platform):
    """The platform, spoken to over HTTP."""

    hourly_minimums = {"USD": 800, "GBP": 600}  # noqa: RUF012
    minimum_of = "Prolific's minimum"
    enforces_minimum = True
    title = "Prolific"
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    start = "/start?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in parameters)
    offered_by = "make the study on Prolific's pages, with the address on the page Invites"

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """Who has come, by the three parameters of Prolific's address."""
        if "PROLIFIC_PID" not in parameters:
            return None
        ids = [parameters.get(name, "") for name in self.parameters]
        if not all(ID.fullmatch(id_) for id_ in ids):
            raise NotAllowed(say("refusals.not_from_platform", platform=self.title))
        person, study, session = ids
        if study != self.settings.study_id:  # where none is named, too: paying would approve it there
            raise NotAllowed(say("refusals.other_study"))
        return Visitor(person, study, session)

    def verify(self, visitor: Visitor) -> None:
        """Ask whether this participant has this submission under way, in this study."""
        try:
            known = _json(self._call("GET", "/submissions/{id}/", visitor.session_id))
        except NotKnown:
            known = {}
        except PlatformError as error:
            LOG.error("an arrival could not be verified: %s", error)
            raise NotNow(say("refusals.platform_silent", platform=self.title)) from None
        studies = (known.get("study_id"), known.get("parent_study_id"))
        if known.get("participant") != visitor.external_id or visitor.study_id not in studies:
            raise NotAllowed(say("refusals.not_from_platform", platform=self.title))
        if known.get("status") not in UNDER_WAY:
            raise NotAllowed(say("refusals.visit_ended", platform=self.title))

    def warning(self) -> str:
        """Without a token nobody can be verified, or paid; without the study's id, nobody is known to come for it."""
        missing = [] if os.environ.get(TOKEN) else [TOKEN]
        missing += [] if self.settings.study_id else ["[platform] study_id"]
        return f"not set: {', '.join(missing)}; Prolific's people can be neither let in nor paid" if missing else ""

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """Back to Prolific with the code that says how it went."""
        code = self.settings.screened_out_code if screened_out else self.settings.completion_code
        return Departure(f"{COMPLETE}?{urlencode({'cc': code})}", code) if code else Departure()

    def reward(self, study_id: str | None) -> BaseReward | None:
        """The reward of the study, which Prolific gives in hundredths."""
        study = _json(self._call("GET", "/studies/{id}/", study_id))
        cents = study.get("reward")
        if not isinstance(cents, int | float):
            raise PlatformError("Prolific: the study has no reward")
        return BaseReward(round(cents), str(study.get("presentment_currency_code") or ""))

    def look(self, visitor: Visitor) -> VisitReport | None:
        """The status of the submission, and its bonuses."""
        return _make_report(_json(self._call("GET", "/submissions/{id}/", visitor.session_id)))

    def visits(self, study_ids: Collection[str]) -> Iterator[VisitReport]:
        """Every submission of the studies. The list names them; each is asked for by itself, for its bonuses."""
        for study_id in study_ids:
            for session_id in list(self._list_submissions(study_id)):
                yield _make_report(_json(self._call("GET", "/submissions/{id}/", session_id)))

    def _list_submissions(self, study_id: str) -> Iterator[str]:
        """Ids of all submissions of a study, page by page."""
        seen_ids: set[str] = set()
        for page in count(1):
            path = f"/submissions/?study={{id}}&page={page}&page_size={PAGE}"
            results = _json(self._call("GET", path, study_id)).get("results")
            if not isinstance(results, list):
                raise PlatformError("Prolific: expected a list of submissions")
            new_ids = [each["id"] for each in results if each["id"] not in seen_ids]
            seen_ids.update(new_ids)
            yield from new_ids
            if len(results) < PAGE or not new_ids:
                return

    def approve(self, visitor: Visitor) -> None:
        """Approve the visit."""
        self._transition(visitor, {"action": "APPROVE"})

    def screen_out(self, visitor: Visitor) -> None:
        """Complete the visit with the code for people the study is not for."""
        if not self.settings.screened_out_code:
            raise BadInput("study.toml: field 'platform.screened_out_code': Prolific needs a code to screen people out")
        self._transition(visitor, {"action": "COMPLETE", "completion_code": self.settings.screened_out_code})

    def reserve(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Set a bonus up, for the visit and not the person, so that it is shown there; Prolific's id of it."""
        csv = f"{visitor.session_id},{amount(cents)}"
        body = {"study_id": visitor.study_id, "csv_bonuses": csv}
        number = str(_json(self._call("POST", "/submissions/bonus-payments/", body=body)).get("id", ""))
        if not ID.fullmatch(number):
            raise PlatformError("Prolific: returned no id for the bonus")
        return number

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Have a bonus paid that was set up. Prolific pays as often as it is told to, the same bonus too."""
        self._call("POST", "/bulk-bonus-payments/{id}/pay/", reference, {}, once=True)
        return reference

    def tally(self, visitor: Visitor, cents: int) -> int | None:
        """Among the bonuses that the visit's submission shows; one that was accepted may take minutes to be there."""
        submission = _json(self._call("GET", "/submissions/{id}/", visitor.session_id))
        if "bonus_payments" not in submission:
            return None
        return [round(paid) for paid in submission["bonus_payments"] or ()].count(cents)

    def _transition(self, visitor: Visitor, body: dict[str, str]) -> None:
        self._call("POST", "/submissions/{id}/transition/", visitor.session_id, body, once=True)

    def _call(
        self, method: str, path: str, about: str | None = None, body: object = None, *, once: bool = False
    ) -> Response:
        """What the API answers. What may be sent `once` only leaves a doubt, unless Prolific says no.

        Ids are not told in messages: those end up in the log, which outlives what ties a worker to a person.
        """
        token = os.environ.get(TOKEN)
        if not token:
            raise BadInput(f"Prolific's API needs a token: set {TOKEN}")
        url = (self.settings.api or API).rstrip("/") + path.format(id=about)
        headers = {"Authorization": f"Token {token}"}
        try:
            answer = httpx.request(method, url, json=body, headers=headers, timeout=SECONDS, verify=_certificates())
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise PlatformError(f"Prolific: cannot be reached ({error})") from None
        except httpx.HTTPError as error:
            doubt = Uncertain if once else PlatformError
            raise doubt(f"Prolific: no answer to {path} ({type(error).__name__})") from None
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise Busy(f"Prolific: {path} returned 429: too many requests", _read_wait(answer))
        if not answer.is_success:
            says_no = answer.is_client_error and answer.status_code != httpx.codes.REQUEST_TIMEOUT
            doubt = Uncertain if once and not says_no else PlatformError
            reason = " ".join(OBJECT_ID.sub("…", answer.text).split())[:200] or "no reason given"
            doubt = NotKnown if answer.status_code == httpx.codes.NOT_FOUND else doubt
            raise doubt(f"Prolific: {path} returned {answer.status_code}: {reason}")
        return answer


def _make_report(submission: Mapping[str, Any]) -> VisitReport:
    """A submission as a report of its visit."""
    cents = tuple(round(paid) for paid in submission.get("bonus_payments") or ())
    return VisitReport(
        session_id=str(submission.get("id", "")),
        external_id=str(submission.get("participant", "")),
        state=STATES.get(str(submission.get("status")), OPEN),
        bonuses=cents,
        study_id=submission.get("study_id"),
    )


def _read_wait(answer: Response) -> float:
    """Seconds that Prolific asks to wait."""
    try:
        seconds = float(answer.headers.get("Retry-After", ""))
    except ValueError:  # a date, or nothing
        return WAIT
    return min(max(seconds, 1.0), MOST_WAIT)


def _json(answer: Response) -> dict[str, Any]:
    try:
        content = answer.json()
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise PlatformError("Prolific: expected a JSON object as answer")
    return content


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: that takes longer than most calls."""
    return httpx.create_ssl_context()
