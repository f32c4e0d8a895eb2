"""Amazon Mechanical Turk, as an external question: a legacy adapter.

Mechanical Turk takes no new customers.

The defaults of the qualifications are those of Sakaguchi et al. (2019): 99 % of work approved, 5,000 approvals, and
a home in the US, Canada, the UK, Australia or New Zealand.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from http import HTTPStatus
from typing import Any
from xml.sax.saxutils import escape

from winokit.extend import BadInput, MissingExtra
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
from winokit_collect.study.refusals import NotAllowed
from winokit_collect.study.schema import APPROVED, OPEN, RETURNED
from winokit_collect.study.texts import say

SECONDS = 15
WAIT = 30.0
STATES = {"Submitted": OPEN, "Approved": APPROVED, "Rejected": RETURNED}
"""Our state for each of Mechanical Turk's states of an assignment."""
THROTTLED = ("ThrottlingException", "Throttling", "TooManyRequestsException")
SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
APPROVED_PERCENT = "000000000000000000L0"
APPROVED_NUMBER = "00000000000000000040"
LOCALE = "00000000000000000071"


@PLATFORMS.register("mturk")
class MTurk(Platform):
    """Amazon Mechanical Turk, called by boto3, which finds the credentials itself."""

    title = "Mechanical Turk"
    parameters = ("workerId", "hitId", "assignmentId")
    frames = "https://www.mturk.com https://worker.mturk.com https://workersandbox.mturk.com"

    @cached_property
    def client(self) -> Any:
        """The boto3 client, made at first use. Raises MissingExtra without boto3."""
        try:
            import boto3
        except ModuleNotFoundError:
            raise MissingExtra("Mechanical Turk", "mturk", of="./collect") from None
        from botocore.config import Config

        # boto3 must not try again: after a second try, a refusal would not mean that nothing was paid.
        config = Config(retries={"total_max_attempts": 1}, connect_timeout=SECONDS, read_timeout=SECONDS)
        url = self.settings.api or None
        return boto3.client("mturk", region_name="us-east-1", endpoint_url=url, config=config)

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """The visitor named by the parameters of an external question.

        None without such parameters. Raises NotAllowed for a preview of the task.
        """
        if "assignmentId" not in parameters:
            return None
        if parameters["assignmentId"] == "ASSIGNMENT_ID_NOT_AVAILABLE":
            raise NotAllowed(say("refusals.accept_first", platform=self.title))
        ids = [parameters.get(name, "") for name in self.parameters]
        if not all(id_.isalnum() and len(id_) <= 64 for id_ in ids):
            raise NotAllowed(say("refusals.not_from_platform", platform=self.title))
        return Visitor(*ids)

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """A form that is posted back to Mechanical Turk, which ends the assignment."""
        if visitor is None or visitor.session_id is None:
            return Departure()
        site = "workersandbox" if "sandbox" in self.settings.api else "www"
        action = f"https://{site}.mturk.com/mturk/externalSubmit"
        outcome = "screened-out" if screened_out else "done"
        return Departure(form_action=action, fields={"assignmentId": visitor.session_id, "outcome": outcome})

    def reward(self, study_id: str | None) -> BaseReward | None:
        """The reward of a HIT, in US dollars."""
        if study_id is None:
            return None
        answer = self._call_api("get_hit", HITId=study_id)
        cents = round(Decimal(answer["HIT"]["Reward"]) * 100)
        return BaseReward(cents, "USD")

    def look(self, visitor: Visitor) -> VisitReport | None:
        """Report of the visitor's assignment.

        Raises PlatformError for an assignment that was not handed in: Mechanical Turk does not know it.
        """
        assignment = self._call_api("get_assignment", AssignmentId=visitor.session_id)["Assignment"]
        bonuses = self._list_bonuses(AssignmentId=visitor.session_id)
        return self._make_report(assignment, bonuses)

    def visits(self, study_ids: Collection[str]) -> Iterator[VisitReport]:
        """Yield the reports of all assignments handed in for these HITs."""
        for study_id in study_ids:
            bonuses = self._list_bonuses(HITId=study_id)
            for assignment in self._list_entries("list_assignments_for_hit", "Assignments", HITId=study_id):
                yield self._make_report(assignment, bonuses)

    def _make_report(self, assignment: Mapping[str, Any], bonuses: Sequence[Mapping[str, Any]]) -> VisitReport:
        """Make the report of an assignment, with its own among some bonuses."""
        session_id = assignment["AssignmentId"]
        own_bonuses = [bonus for bonus in bonuses if bonus.get("AssignmentId", session_id) == session_id]
        cents = tuple(round(Decimal(bonus["BonusAmount"]) * 100) for bonus in own_bonuses)
        state = STATES.get(assignment["AssignmentStatus"], OPEN)
        return VisitReport(session_id, assignment["WorkerId"], state, cents, assignment.get("HITId"))

    def _list_bonuses(self, **about: Any) -> list[dict[str, Any]]:
        """List the bonuses that were paid for an assignment or a HIT."""
        return self._list_entries("list_bonus_payments", "BonusPayments", **about)

    def _list_entries(self, operation: str, name: str, **asked: Any) -> list[dict[str, Any]]:
        """Read all pages of a list.

        `name` is the key of its entries in an answer.
        """
        entries: list[dict[str, Any]] = []
        while True:
            answer = self._call_api(operation, **asked)
            entries += answer[name]
            if "NextToken" not in answer:
                return entries
            asked["NextToken"] = answer["NextToken"]

    def approve(self, visitor: Visitor) -> None:
        """Approve the visitor's assignment, which pays the reward of its HIT."""
        self._call_api("approve_assignment", AssignmentId=visitor.session_id, OverrideRejection=False)

    def screen_out(self, visitor: Visitor) -> None:
        """Approve the assignment: anything else would count against the worker."""
        self.approve(visitor)

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Send a bonus.

        Mechanical Turk refuses a second one with the same reference within a day. Such a refusal counts as success,
        since the first one was paid.
        """
        try:
            self._call_api(
                "send_bonus",
                WorkerId=visitor.external_id,
                AssignmentId=visitor.session_id,
                BonusAmount=amount(cents),
                Reason=note[:400],
                UniqueRequestToken=reference[:64],
            )
        except PlatformError as error:
            if "idempotency token" not in str(error):
                raise
        return reference

    def tally(self, visitor: Visitor, cents: int) -> int | None:
        """Number of bonuses of exactly this amount for the visitor's assignment."""
        payments = self._list_bonuses(AssignmentId=visitor.session_id)
        return sum(Decimal(payment["BonusAmount"]) * 100 == cents for payment in payments)

    def publish(self, address: str, title: str, visits: int, minutes: int, earlier: Sequence[str] = ()) -> str:
        """Offer the study as an external question, and return the HIT's id.

        The same call again, with the same `earlier` offers, makes no second HIT. Raises BadInput unless the address
        begins with https and study.toml has a base reward.
        """
        if not address.startswith("https://"):
            raise BadInput(f"{address}: Mechanical Turk shows https:// pages only; --url or [server] url gives another")
        if not self.settings.base_reward:
            raise BadInput("a HIT needs a reward: [platform] base_reward in study.toml")
        question = (
            f'<ExternalQuestion xmlns="{SCHEMA}"><ExternalURL>{escape(address)}/start</ExternalURL>'
            "<FrameHeight>0</FrameHeight></ExternalQuestion>"
        )
        offer = {
            "Title": title,
            "Description": title,
            "Reward": f"{self.settings.base_reward:.2f}",
            "MaxAssignments": visits,
            "AssignmentDurationInSeconds": 60 * minutes,
            "LifetimeInSeconds": int(self.settings.invite_days * 86_400),
            "Question": question,
            "QualificationRequirements": self.qualifications(),
        }
        offers_json = json.dumps([offer, *earlier])
        token = hashlib.sha256(offers_json.encode()).hexdigest()
        try:
            answer = self._call_api("create_hit", **offer, UniqueRequestToken=token)
        except Uncertain as error:
            again = "it may be offered already; the same command, given again within a day, offers nothing twice"
            raise Uncertain(f"{error}; {again}") from None
        return str(answer["HIT"]["HITId"])

    def qualifications(self) -> list[dict[str, Any]]:
        """Requirements for the workers who may take the HIT, from study.toml."""
        approved = {APPROVED_PERCENT: self.settings.least_approval, APPROVED_NUMBER: self.settings.least_approved}
        homes = [{"Country": country} for country in self.settings.countries]
        requirements: list[dict[str, Any]] = []
        for kind, least in approved.items():
            requirements.append(
                {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [least]}
            )
        requirements.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": homes})
        return requirements

    def _call_api(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Call an operation of the API.

        Raises Busy if there are too many requests, Uncertain if it may have been carried out, since there was no answer
        or a fault of the server, and PlatformError if it was refused.
        """
        client = self.client  # first, since its error names the package to install
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = getattr(client, operation)(**parameters)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            details = error.response["Error"]
            is_throttled = details.get("Code") in THROTTLED
            if is_throttled or status == HTTPStatus.TOO_MANY_REQUESTS:
                raise Busy(f"Mechanical Turk: {operation}: too many requests", WAIT) from None
            kind = Uncertain if status >= HTTPStatus.INTERNAL_SERVER_ERROR else PlatformError
            reason = details.get("Message", error)
            raise kind(f"Mechanical Turk: {reason}") from None
        except BotoCoreError as error:
            raise Uncertain(f"Mechanical Turk: no answer to {operation} ({error})") from None
        return answer
