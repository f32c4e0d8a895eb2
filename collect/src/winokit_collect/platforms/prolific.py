"""Prolific, https://docs.prolific.com: arrivals, completion codes, approvals and bonuses.

The study's address on Prolific is `https://…/start?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID=
{{%SESSION_ID%}}`. Its API calls the session a submission. The token comes from $PROLIFIC_API_TOKEN.
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
"""Our state for each of Prolific's statuses. Any other is open."""
PAGE = 100
"""Submissions on one page of their list."""
WAIT = 30.0
MOST_WAIT = 600.0
"""Seconds to wait after "too many requests" if Prolific does not say how long, and at most."""
LOG = logging.getLogger("winokit.collect")
OBJECT_ID = re.compile(r"[0-9a-f]{24}")
ID = re.compile(r"[0-9A-Za-z_-]{8,64}")


class NotKnown(PlatformError):
    """Prolific has no object with this id."""


@PLATFORMS.register("prolific")
class Prolific(Platform):
    """Prolific, called over HTTP with the token in the environment."""

    hourly_minimums = {"USD": 800, "GBP": 600}  # noqa: RUF012
    minimum_of = "Prolific's minimum"
    enforces_minimum = True
    title = "Prolific"
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    start = "/start?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in parameters)
    offered_by = "make the study on Prolific's pages, with the address on the page Invites"

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """The visitor named by the three parameters of Prolific's link.

        None without such parameters. Raises NotAllowed for ids that are malformed, or of another study.
        """
        if "PROLIFIC_PID" not in parameters:
            return None
        ids = [parameters.get(name, "") for name in self.parameters]
        if not all(ID.fullmatch(id_) for id_ in ids):
            raise NotAllowed(say("refusals.not_from_platform", platform=self.title))
        person, study, session = ids
        if study != self.settings.study_id:  # Also if study.toml names none: paying would approve the visit there.
            raise NotAllowed(say("refusals.other_study"))
        return Visitor(person, study, session)

    def verify(self, visitor: Visitor) -> None:
        """Check that the participant's submission to this study is under way.

        Raises NotAllowed if it is not, and NotNow if Prolific does not answer.
        """
        try:
            answer = self._call_api("GET", "/submissions/{id}/", visitor.session_id)
            submission = _read_json(answer)
        except NotKnown:
            submission = {}
        except PlatformError as error:
            LOG.error("an arrival could not be verified: %s", error)
            raise NotNow(say("refusals.platform_silent", platform=self.title)) from None
        studies = (submission.get("study_id"), submission.get("parent_study_id"))
        if submission.get("participant") != visitor.external_id or visitor.study_id not in studies:
            raise NotAllowed(say("refusals.not_from_platform", platform=self.title))
        if submission.get("status") not in UNDER_WAY:
            raise NotAllowed(say("refusals.visit_ended", platform=self.title))

    def warning(self) -> str:
        """Warning if the token or the study's id is missing.

        An empty text otherwise. Without the token nobody can be verified or paid, without the id nobody is let in.
        """
        missing = []
        if not os.environ.get(TOKEN):
            missing.append(TOKEN)
        if not self.settings.study_id:
            missing.append("[platform] study_id")
        if not missing:
            return ""
        names = ", ".join(missing)
        return f"not set: {names}; Prolific's people can be neither let in nor paid"

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """Link back to Prolific, with the code for completed or screened-out people.

        Empty if study.toml has no such code.
        """
        code = self.settings.screened_out_code if screened_out else self.settings.completion_code
        if not code:
            return Departure()
        query = urlencode({"cc": code})
        return Departure(f"{COMPLETE}?{query}", code)

    def reward(self, study_id: str | None) -> BaseReward | None:
        """The reward of a study on Prolific."""
        study = _read_json(self._call_api("GET", "/studies/{id}/", study_id))
        cents = study.get("reward")
        if not isinstance(cents, int | float):
            raise PlatformError("Prolific: the study has no reward")
        return BaseReward(round(cents), str(study.get("presentment_currency_code") or ""))

    def look(self, visitor: Visitor) -> VisitReport | None:
        """Report of the visitor's submission, with its bonuses."""
        answer = self._call_api("GET", "/submissions/{id}/", visitor.session_id)
        return _make_report(_read_json(answer))

    def visits(self, study_ids: Collection[str]) -> Iterator[VisitReport]:
        """Yield the reports of all submissions to these studies.

        Each submission is read by itself, since a list has no bonuses.
        """
        for study_id in study_ids:
            for session_id in list(self._list_submissions(study_id)):
                answer = self._call_api("GET", "/submissions/{id}/", session_id)
                yield _make_report(_read_json(answer))

    def _list_submissions(self, study_id: str) -> Iterator[str]:
        """Yield the ids of all submissions to a study."""
        seen_ids: set[str] = set()
        for page in count(1):
            path = f"/submissions/?study={{id}}&page={page}&page_size={PAGE}"
            answer = self._call_api("GET", path, study_id)
            results = _read_json(answer).get("results")
            if not isinstance(results, list):
                raise PlatformError("Prolific: expected a list of submissions")
            new_ids = [submission["id"] for submission in results if submission["id"] not in seen_ids]
            seen_ids.update(new_ids)
            yield from new_ids
            if len(results) < PAGE or not new_ids:
                return

    def approve(self, visitor: Visitor) -> None:
        """Approve the visitor's submission."""
        self._close_submission(visitor, {"action": "APPROVE"})

    def screen_out(self, visitor: Visitor) -> None:
        """Complete the submission of a person who does not fit the study.

        It gets the code for screened-out people. Raises BadInput if study.toml has no such code.
        """
        if not self.settings.screened_out_code:
            raise BadInput("study.toml: field 'platform.screened_out_code': Prolific needs a code to screen people out")
        self._close_submission(visitor, {"action": "COMPLETE", "completion_code": self.settings.screened_out_code})

    def reserve(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Set up a bonus for the visit, and return its id.

        It is set up for the visit, and not for the person, so that the submission shows it.
        """
        csv = f"{visitor.session_id},{amount(cents)}"
        body = {"study_id": visitor.study_id, "csv_bonuses": csv}
        answer = self._call_api("POST", "/submissions/bonus-payments/", body=body)
        bonus_id = str(_read_json(answer).get("id", ""))
        if not ID.fullmatch(bonus_id):
            raise PlatformError("Prolific: returned no id for the bonus")
        return bonus_id

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Pay a bonus that was set up, and return its id.

        Each call pays it again, so this is never repeated without asking.
        """
        self._call_api("POST", "/bulk-bonus-payments/{id}/pay/", reference, {}, once=True)
        return reference

    def tally(self, visitor: Visitor, cents: int) -> int | None:
        """Number of bonuses of exactly this amount that the visitor's submission shows.

        A bonus may appear some minutes after it was paid.
        """
        submission = _read_json(self._call_api("GET", "/submissions/{id}/", visitor.session_id))
        if "bonus_payments" not in submission:
            return None
        payments = [round(paid) for paid in submission["bonus_payments"] or ()]
        return payments.count(cents)

    def _close_submission(self, visitor: Visitor, body: dict[str, str]) -> None:
        """Change the state of the visitor's submission at Prolific.

        Sends a POST to its API. `body` names the change, such as approval. Raises Uncertain if it may have been made.
        """
        self._call_api("POST", "/submissions/{id}/transition/", visitor.session_id, body, once=True)

    def _call_api(
        self, method: str, path: str, about: str | None = None, body: object = None, *, once: bool = False
    ) -> Response:
        """Call Prolific's API and return its response.

        `about` is the id that fills in `{id}` in the path. Raises Busy if Prolific asks to wait, NotKnown for an
        unknown id, and PlatformError for any other failure. For a call that must not be sent twice (`once`), failures
        after which it may have been carried out raise Uncertain instead. Error messages have no ids, since the log is
        kept longer than identities. Raises BadInput without a token.
        """
        token = os.environ.get(TOKEN)
        if not token:
            raise BadInput(f"Prolific's API needs a token: set {TOKEN}")
        url = (self.settings.api or API).rstrip("/") + path.format(id=about)
        headers = {"Authorization": f"Token {token}"}
        certificates = _load_certificates()
        try:
            answer = httpx.request(method, url, json=body, headers=headers, timeout=SECONDS, verify=certificates)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise PlatformError(f"Prolific: cannot be reached ({error})") from None
        except httpx.HTTPError as error:
            kind = Uncertain if once else PlatformError
            raise kind(f"Prolific: no answer to {path} ({type(error).__name__})") from None
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise Busy(f"Prolific: {path} returned 429: too many requests", _read_wait(answer))
        if not answer.is_success:
            raise _make_error(answer, path, once=once)
        return answer


def _make_error(answer: Response, path: str, *, once: bool) -> PlatformError:
    """Make the error of a response that is not a success.

    NotKnown for status 404. With `once`, Uncertain unless Prolific refused the call, else PlatformError.
    """
    is_refusal = answer.is_client_error and answer.status_code != httpx.codes.REQUEST_TIMEOUT
    public_text = OBJECT_ID.sub("…", answer.text)
    reason = " ".join(public_text.split())[:200] or "no reason given"
    message = f"Prolific: {path} returned {answer.status_code}: {reason}"
    if answer.status_code == httpx.codes.NOT_FOUND:
        return NotKnown(message)
    if once and not is_refusal:
        return Uncertain(message)
    return PlatformError(message)


def _make_report(submission: Mapping[str, Any]) -> VisitReport:
    """Make the report of a visit from a submission in Prolific's JSON."""
    cents = tuple(round(paid) for paid in submission.get("bonus_payments") or ())
    return VisitReport(
        session_id=str(submission.get("id", "")),
        external_id=str(submission.get("participant", "")),
        state=STATES.get(str(submission.get("status")), OPEN),
        bonuses=cents,
        study_id=submission.get("study_id"),
    )


def _read_wait(answer: Response) -> float:
    """Seconds that Prolific asks to wait, from 1 up to a limit.

    A default if it names no number of seconds.
    """
    try:
        seconds = float(answer.headers.get("Retry-After", ""))
    except ValueError:  # a date, or nothing
        return WAIT
    return min(max(seconds, 1.0), MOST_WAIT)


def _read_json(answer: Response) -> dict[str, Any]:
    """The JSON object of a response. Raises PlatformError for anything else."""
    try:
        content = answer.json()
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise PlatformError("Prolific: expected a JSON object as answer")
    return content


@cache
def _load_certificates() -> ssl.SSLContext:
    """Load the trusted certificates, once for all calls."""
    return httpx.create_ssl_context()
