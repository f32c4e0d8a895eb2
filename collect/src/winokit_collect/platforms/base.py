"""The interface of a platform that sends workers and pays them.

A platform is one file with a subclass of `Platform`, registered under its name in study.toml. Another package adds
one by an entry point of the group `winokit.platforms`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import func, or_, select

from winokit import WinokitError
from winokit.extend import BadInput
from winokit_collect import PLATFORMS
from winokit_collect.study import invites, tasks, workers
from winokit_collect.study.config import PlatformConfig
from winokit_collect.study.refusals import NotFound, NotNow
from winokit_collect.study.schema import (
    ACTIVE,
    SCREENED_OUT,
    Identity,
    LogEntry,
    PlatformVisit,
    Submission,
    Worker,
)
from winokit_collect.study.study import Study
from winokit_collect.study.texts import say


class PlatformError(WinokitError, RuntimeError):
    """A request to the platform failed, and nothing was paid.

    Only after its subclass `Uncertain` something may have been paid.
    """


class Uncertain(PlatformError):
    """The platform did not say whether a request was carried out.

    It may have been: look there before you try again.
    """


class RewardDiffers(PlatformError):
    """The platform's reward, or its currency, is not the one in study.toml."""


class Busy(PlatformError):
    """The platform asks to wait some `seconds` before the next request.

    The request was not carried out.
    """

    def __init__(self, message: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(message)


@dataclass(frozen=True)
class Visitor:
    """A worker's ids on the platform: person, study and session.

    `session_id` is the visit that is approved and paid: a Prolific submission, a Mechanical Turk assignment.
    """

    external_id: str
    study_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True)
class VisitReport:
    """State and bonuses of one visit, as the platform reports them."""

    session_id: str
    external_id: str
    state: str
    """One of `OPEN`, `APPROVED`, `SCREENED_OUT` and `RETURNED`."""
    bonuses: tuple[int, ...] = ()
    """Bonuses that the platform shows for the visit, in hundredths."""
    study_id: str | None = None


@dataclass(frozen=True)
class BaseReward:
    """Reward that a platform itself pays for each visit."""

    cents: int
    currency: str = ""
    """Empty if the platform does not say."""


@dataclass(frozen=True)
class Departure:
    """Way for a worker to leave the study.

    A link, or a form to post, and a completion code. All are empty if there is no way back to a platform.
    """

    url: str | None = None
    code: str | None = None
    form_action: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class Platform:
    """Base class of a platform that sends workers and pays them.

    Methods raise PlatformError if something goes wrong. In the base class most do nothing: workers come by invite
    links, and there is nobody to inform. Its `publish` and `visits` raise BadInput, its `bonus` PlatformError.
    """

    title = ""
    """Its name on pages."""
    parameters: tuple[str, ...] = ()
    """Parameters of the link by which the platform sends workers."""
    start = ""
    """Path and query of that link below the study's address, with the platform's placeholders."""
    frames = "'none'"
    """Sites that may show the page behind that link in a frame, as a Content-Security-Policy lists them."""
    hourly_minimums: Mapping[str, int] = {"USD": 725}
    """Minimum hourly pay in hundredths, by currency."""
    minimum_of = "the federal minimum wage of the United States"
    """Name of the minimum hourly pay, for messages."""
    enforces_minimum = False
    """Whether the platform refuses studies that pay less, whatever study.toml says."""
    by_hand = False
    """Whether the requester pays workers by hand, so that the ledger only records it."""
    offered_by = "`winokit collect invite` makes links"
    """Hint for the requester on offering the study, if the platform has no `publish`."""

    def __init__(self, settings: PlatformConfig) -> None:
        self.settings = settings

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """The visitor that the parameters of the platform's link name.

        None if this platform did not send them.
        """
        return None

    def verify(self, visitor: Visitor) -> None:
        """Check with the platform that it sent this visitor.

        Raises NotAllowed if not. Does nothing if the platform cannot be asked.
        """

    def warning(self) -> str:
        """Warning about missing settings, shown when the server starts.

        An empty text if there is nothing to warn about.
        """
        return ""

    def publish(self, address: str, title: str, visits: int, minutes: int, earlier: Sequence[str] = ()) -> str:
        """Offer `visits` visits to the platform's workers, at the study's `address`.

        Returns the platform's id of the offer. A visit may take some `minutes`. `earlier` has the ids of all offers
        made before, from which this one is distinct.
        """
        raise BadInput(f"nothing to publish on {self.title}: {self.offered_by}")

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """Way back to the platform, for a visitor who is done or screened out."""
        return Departure()

    def reward(self, study_id: str | None) -> BaseReward | None:
        """The platform's reward for a visit to a study.

        None if it cannot be asked.
        """
        return None

    def look(self, visitor: Visitor) -> VisitReport | None:
        """Report of a visit as the platform has it.

        None if it cannot be asked.
        """
        return None

    def visits(self, study_ids: Collection[str]) -> Iterator[VisitReport]:
        """Yield the reports of all visits to these studies, with their bonuses."""
        raise BadInput(f"{self.title} cannot be asked about visits")

    def approve(self, visitor: Visitor) -> None:
        """Approve a visit, for which the platform then pays its own reward.

        Approving it twice does no harm.
        """

    def screen_out(self, visitor: Visitor) -> None:
        """Tell the platform that the visitor does not fit the study.

        Doing so twice does no harm.
        """

    def reserve(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Prepare a bonus, and return the key for sending it.

        The key is our `reference`, unless the platform makes its own. Nothing is paid yet. `note` is the text that the
        worker sees with it, `cents` the amount in hundredths.
        """
        return reference

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Pay a bonus to a visitor, and return the platform's receipt.

        `reference` is the key from `reserve`. After `Uncertain`, or an error that is no PlatformError, the bonus may
        have been paid.
        """
        raise PlatformError(f"{self.title} cannot pay by itself")

    def tally(self, visitor: Visitor, cents: int) -> int | None:
        """Number of equal bonuses that the platform shows for a visit.

        Equal means exactly `cents`. None if it cannot be asked.
        """
        return None


@PLATFORMS.register("links")
class Links(Platform):
    """Plain invite links: the requester invites people and pays them by hand.

    The ledger only records the payments.
    """

    title = "plain links"
    by_hand = True


def amount(cents: int) -> str:
    """Write hundredths as a decimal amount, as platforms expect it.

    >>> amount(1205)
    '12.05'
    """
    return f"{cents // 100}.{cents % 100:02}"


def platform_of(study: Study) -> Platform:
    """Make the platform that a study's settings name."""
    platform = PLATFORMS[study.config.platform.name]
    return platform(study.config.platform)


def visitor_from(study: Study, parameters: Mapping[str, str]) -> Visitor:
    """The visitor that the parameters of the platform's link name.

    Raises NotFound if the platform did not send them.
    """
    visitor = platform_of(study).arrival(parameters)
    if visitor is None:
        raise NotFound(say("refusals.use_link"))
    return visitor


def arrive(study: Study, parameters: Mapping[str, str], *, browser: str | None = None, me: int | None = None) -> Worker:
    """Let in a worker whom the platform has sent.

    The platform is asked first whether it did. Returns a new worker, or the one it sent before. `browser` identifies
    the browser, `me` is the id of the worker who is signed in there. A visit can only be continued in the browser in
    which it began. Raises NotNow if the study is closed, and NotFound if the parameters are not the platform's.
    """
    if study.why_closed:
        raise NotNow(say("refusals.not_open"))
    visitor = visitor_from(study, parameters)
    platform = platform_of(study)
    platform.verify(visitor)
    verified = type(platform).verify is not Platform.verify
    identity = Identity(external_id=visitor.external_id, study_id=visitor.study_id, session_id=visitor.session_id)
    identity.browser = invites.browser_hash(study, browser)
    return workers.join(study, study.config.platform.name, identity, me=me, verified=verified)


def leave(study: Study, worker_id: int) -> Departure | None:
    """Way for a worker to leave the study.

    None while this visit has work left. A visit is complete after the number of tasks in study.toml, or when no task is
    left and at least one was done. Workers who are screened out, or came by an invite link, may always leave. Workers
    who are not active need one task in this visit.
    """
    platform = platform_of(study)
    done = done_in_visit(study, worker_id)
    with study.store.read() as session:
        worker = session.get_one(Worker, worker_id)
        identity = session.get(Identity, worker_id)
    screened_out = worker.state == SCREENED_OUT
    may_leave = screened_out or platform.by_hand or done >= study.config.platform.tasks_per_visit
    if not may_leave:
        if not done:
            return None
        if worker.state == ACTIVE and tasks.can_go_on(study, worker_id):
            return None
    visitor = None if identity is None else visitor_of(identity)
    return platform.departure(visitor, screened_out=screened_out)


def done_in_visit(study: Study, worker_id: int) -> int:
    """Number of submissions by a worker since their present visit began.

    All their submissions if it is not known when it began.
    """
    began = select(Identity.arrived_at).where(Identity.worker_id == worker_id).scalar_subquery()
    since = or_(began.is_(None), Submission.submitted_at >= began)
    query = select(func.count()).where(Submission.worker_id == worker_id, since)
    with study.store.read() as session:
        return session.scalar(query) or 0


def visitor_of(identity: Identity, visit: PlatformVisit | None = None) -> Visitor:
    """A worker's ids on the platform, in one of their visits.

    The last visit, if none is given.
    """
    session = identity if visit is None else visit
    return Visitor(identity.external_id, session.study_id, session.session_id)


def check_reward(study: Study, platform: Platform, study_id: str | None) -> BaseReward | None:
    """Compare the platform's reward for a visit with study.toml.

    Returns the reward, or None if the platform cannot be asked. Raises RewardDiffers if amount or currency differ:
    every bonus, which is what is owed beyond the reward, would be wrong.
    """
    reward = platform.reward(study_id)
    if reward is None:
        return None
    typed = int(study.config.platform.base_reward * 100)
    if reward.cents != typed:
        raise RewardDiffers(
            f"study.toml: field 'platform.base_reward': {platform.title} pays {amount(reward.cents)} for a visit, "
            f"found {amount(typed)}; write what {platform.title} pays"
        )
    currency = study.config.pay.currency
    if reward.currency and reward.currency != currency:
        raise RewardDiffers(
            f"study.toml: field 'pay.currency': {platform.title} pays in {reward.currency}, found {currency}; "
            "write the platform's currency, and check all prices"
        )
    return reward


def offers_of(study: Study) -> list[str]:
    """Ids of the study's offers on the platform, each once.

    First that of study.toml, then those published from here, the newest last, then others that visits name.
    """
    published = select(LogEntry.target).where(LogEntry.action == "publish").order_by(LogEntry.id)
    on_platform = PlatformVisit.platform == study.config.platform.name
    visited = select(PlatformVisit.study_id).where(on_platform, PlatformVisit.study_id.is_not(None))
    visited = visited.distinct()
    with study.store.read() as session:
        ids = [study.config.platform.study_id, *session.scalars(published), *session.scalars(visited)]
    return list(dict.fromkeys(filter(None, ids)))


def warn_of_reward(study: Study) -> str:
    """Compare the reward of the newest offer with study.toml.

    Returns a warning if the platform could not be asked, else an empty text. Nothing is compared if there is no offer,
    or if the platform's own settings are incomplete. Raises RewardDiffers if they differ.
    """
    platform = platform_of(study)
    offers = offers_of(study)
    if platform.warning() or not offers:
        return ""
    try:
        check_reward(study, platform, offers[-1])
    except RewardDiffers:
        raise
    except WinokitError as error:
        return f"the reward could not be compared with that on {platform.title}: {error}"
    return ""
