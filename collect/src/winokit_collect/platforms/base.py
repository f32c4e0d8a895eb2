"""The interface of a platform that sends workers and pays them.

A platform is one file with a subclass of `Platform`, which it registers under the name that study.toml has for it.
Another package adds one by an entry point of the group `winokit.platforms`.
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
    """A platform refused something, and nothing was paid."""


class Uncertain(PlatformError):
    """A platform did not say whether something was done.

    It may have been: look there before trying again.
    """


class RewardDiffers(PlatformError):
    """A platform pays another reward than study.toml says, or in another currency."""


class Busy(PlatformError):
    """A platform asks to be left alone for some `seconds`.

    Nothing was done.
    """

    def __init__(self, message: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(message)


@dataclass(frozen=True)
class Visitor:
    """Somebody as a platform knows them.

    `session_id` is the visit that is approved: a Prolific submission, an assignment.
    """

    external_id: str
    study_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True)
class VisitReport:
    """One visit, as it is on the platform's own books."""

    session_id: str
    external_id: str
    state: str
    """One of `OPEN`, `APPROVED`, `SCREENED_OUT` and `RETURNED`."""
    bonuses: tuple[int, ...] = ()
    """The bonuses it shows, in hundredths."""
    study_id: str | None = None


@dataclass(frozen=True)
class BaseReward:
    """The reward that a platform pays for a visit by itself."""

    cents: int
    currency: str = ""
    """Empty if the platform does not say."""


@dataclass(frozen=True)
class Departure:
    """The way out for a worker who is done.

    An address to open, or a form to post to one, and a code to copy.
    """

    url: str | None = None
    code: str | None = None
    form_action: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class Platform:
    """One source of workers.

    Whatever can go wrong is a PlatformError. The base class does nothing: people come by invite links, and there is
    nobody to inform.
    """

    title = ""
    """Its name on pages."""
    parameters: tuple[str, ...] = ()
    """Parameters of the address by which it sends people."""
    start = ""
    """That address below the study's own, as it is given to the platform."""
    frames = "'none'"
    """Sites that may show this address in a frame, as a Content-Security-Policy lists them."""
    hourly_minimums: Mapping[str, int] = {"USD": 725}
    """The least that an hour should pay, in hundredths, by currency."""
    minimum_of = "the federal minimum wage of the United States"
    """Name of that minimum, for messages."""
    enforces_minimum = False
    """Whether the platform refuses studies that pay less, whatever study.toml says."""
    by_hand = False
    """Whether the requester pays, and the ledger only notes it."""
    offered_by = "`winokit collect invite` makes links"
    """How people learn of the study, if not by `publish`."""

    def __init__(self, settings: PlatformConfig) -> None:
        self.settings = settings

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """The visitor whom the parameters of the first address name.

        None if this platform did not send them.
        """
        return None

    def verify(self, visitor: Visitor) -> None:
        """Raise NotAllowed if the platform did not send somebody.

        Does nothing if the platform cannot be asked.
        """

    def warning(self) -> str:
        """A warning for whoever starts the server, or an empty text."""
        return ""

    def publish(self, address: str, title: str, visits: int, minutes: int, earlier: Sequence[str] = ()) -> str:
        """Offer visits to the platform's people, who come to `address`.

        Returns the platform's id of the offer.

        `earlier` are the ids of offers that were made before: this is another.
        """
        raise BadInput(f"nothing to publish on {self.title}: {self.offered_by}")

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """The way out for somebody who is done, or screened out."""
        return Departure()

    def reward(self, study_id: str | None) -> BaseReward | None:
        """The reward of a visit to this study, or None if the platform does not tell."""
        return None

    def look(self, visitor: Visitor) -> VisitReport | None:
        """The state of a visit on the platform, or None if it does not tell."""
        return None

    def visits(self, study_ids: Collection[str]) -> Iterator[VisitReport]:
        """Every visit that the platform has of these studies, with its bonuses."""
        raise BadInput(f"{self.title} cannot be asked about visits")

    def approve(self, visitor: Visitor) -> None:
        """Accept the visit, which the platform then pays at its own rate.

        Doing it twice does no harm.
        """

    def screen_out(self, visitor: Visitor) -> None:
        """Tell the platform that the study is not for this person.

        Doing it twice does no harm.
        """

    def reserve(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """The key that a bonus is to be sent with.

        `reference`, which is ours, or the platform's own. Pays nothing.
        """
        return reference

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Pay something on top, and return the platform's receipt.

        `reference` is the key from `reserve`.

        After an `Uncertain`, or an error that is no PlatformError, it may have been paid all the same.
        """
        raise PlatformError(f"{self.title} cannot pay by itself")

    def tally(self, visitor: Visitor, cents: int) -> int | None:
        """Number of bonuses of this amount that the platform shows for the visit.

        None if it does not tell.
        """
        return None


@PLATFORMS.register("links")
class Links(Platform):
    """Plain links: the requester invites people and pays them by hand.

    The ledger only notes it.
    """

    title = "plain links"
    by_hand = True


def amount(cents: int) -> str:
    """An amount in hundredths, as platforms read it.

    >>> amount(1205)
    '12.05'
    """
    return f"{cents // 100}.{cents % 100:02}"


def platform_of(study: Study) -> Platform:
    """The platform of a study."""
    platform = PLATFORMS[study.config.platform.name]
    return platform(study.config.platform)


def visitor_from(study: Study, parameters: Mapping[str, str]) -> Visitor:
    """The visitor whom the platform has sent, by the parameters of its address.

    Raises NotFound for anybody else.
    """
    visitor = platform_of(study).arrival(parameters)
    if visitor is None:
        raise NotFound(say("refusals.use_link"))
    return visitor


def arrive(study: Study, parameters: Mapping[str, str], *, browser: str | None = None, me: int | None = None) -> Worker:
    """The worker whom the platform has sent: a new one, or the one it sent before.

    `browser` identifies their browser, `me` is who works in it already. A visit stays in the browser it began in.
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
    """The way out for a worker.

    None as long as there is something left to do in this visit.

    A visit is done after as many tasks as the study asks for, or with the last that there is, and never without any.
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
    """Number of submissions of a worker since this visit began."""
    began = select(Identity.arrived_at).where(Identity.worker_id == worker_id).scalar_subquery()
    since = or_(began.is_(None), Submission.submitted_at >= began)
    query = select(func.count()).where(Submission.worker_id == worker_id, since)
    with study.store.read() as session:
        return session.scalar(query) or 0


def visitor_of(identity: Identity, visit: PlatformVisit | None = None) -> Visitor:
    """A worker as their platform knows them, in one of their visits.

    The last visit, if none is named.
    """
    session = identity if visit is None else visit
    return Visitor(identity.external_id, session.study_id, session.session_id)


def check_reward(study: Study, platform: Platform, study_id: str | None) -> BaseReward | None:
    """The platform's reward for a visit. Raises RewardDiffers if study.toml says another.

    The bonus is the amount that is owed beyond it. A wrong reward in study.toml makes every visit's bonus wrong.
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
    """Ids that the study has on the platform, the newest last."""
    published = select(LogEntry.target).where(LogEntry.action == "publish").order_by(LogEntry.id)
    on_platform = PlatformVisit.platform == study.config.platform.name
    visited = select(PlatformVisit.study_id).where(on_platform, PlatformVisit.study_id.is_not(None))
    visited = visited.distinct()
    with study.store.read() as session:
        ids = [study.config.platform.study_id, *session.scalars(published), *session.scalars(visited)]
    return list(dict.fromkeys(filter(None, ids)))


def warn_of_reward(study: Study) -> str:
    """Reason why the reward could not be compared with the platform's.

    Raises RewardDiffers if it is wrong.
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
