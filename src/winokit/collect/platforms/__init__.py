"""Where workers come from: how they arrive, where they go when they are done, and how they are paid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from winokit.collect.platforms.base import Departure, Platform, PlatformError, Uncertain, Visitor
from winokit.collect.platforms.links import Links
from winokit.collect.platforms.mturk import MTurk
from winokit.collect.platforms.prolific import Prolific
from winokit.collect.study import workers
from winokit.collect.study.refusals import NotFound
from winokit.collect.study.schema import SCREENED_OUT, Identity, Worker

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

__all__ = ["Departure", "Platform", "PlatformError", "Uncertain", "Visitor", "arrive", "leave", "platform_of"]


def platform_of(study: Study) -> Platform:
    """The platform of a study."""
    settings = study.config.platform
    if settings.name == "prolific":
        return Prolific(settings)
    return MTurk(settings) if settings.name == "mturk" else Links()


def arrive(study: Study, parameters: Mapping[str, str]) -> workers.WorkerInfo:
    """The worker whom the platform has sent: a new one, or the one it sent before."""
    platform = platform_of(study)
    visitor = platform.arrival(parameters)
    if visitor is None:
        raise NotFound("please use the link you were given")
    identity = Identity(external_id=visitor.external_id, study_id=visitor.study_id, session_id=visitor.session_id)
    return workers.join(study, platform.name, identity)


def leave(study: Study, worker_id: int) -> Departure:
    """Where a worker goes from here."""
    with study.store.read() as session:
        worker = session.get_one(Worker, worker_id)
        visitor = visitor_of(session.get(Identity, worker_id))
    return platform_of(study).departure(visitor, screened_out=worker.state == SCREENED_OUT)


def visitor_of(identity: Identity | None) -> Visitor | None:
    """A worker as their platform knows them."""
    return None if identity is None else Visitor(identity.external_id, identity.study_id, identity.session_id)
