"""Refusals for workers, requesters and strangers, each with its HTTP status."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from winokit.extend import BadInput

T = TypeVar("T")


class Refused(BadInput):
    """Something is refused, in one line that may be shown to the person who asked."""

    status = 400


class NotFound(Refused):
    """There is no such thing, or it is not theirs: the two look the same from outside."""

    status = 404


class NotAllowed(Refused):
    """The person may not do this at all: blocked, screened out, not yet qualified, a wrong password."""

    status = 403


class NotNow(Refused):
    """The study is paused, or nothing is left to do for this worker."""

    status = 409


class AlreadyHandedIn(NotNow):
    """Something else was handed in before, and it is too late to correct it.

    `stands` is the earlier work, `sent` was not taken.
    """

    def __init__(self, message: str, stands: Mapping[str, Any], sent: Mapping[str, Any], at: datetime) -> None:
        self.stands = stands
        self.sent = sent
        self.at = at
        super().__init__(message)


class LinkExpired(Refused):
    """A link that was used up, revoked or is too old."""

    status = 410


class Incomplete(Refused):
    """A form has something missing or wrong.

    `problems` has a message for each field.
    """

    status = 422

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        messages = [f"{name}: {message}" for name, message in self.problems.items()]
        super().__init__("; ".join(messages))


class TooMany(Refused):
    """Too many tries.

    `wait` is the number of seconds to wait.
    """

    status = 429

    def __init__(self, message: str, wait: int) -> None:
        self.wait = wait
        super().__init__(message)


def found(row: T | None, otherwise: str) -> T:
    """Return a row.

    Raises NotFound with `otherwise` if there is none.
    """
    if row is None:
        raise NotFound(otherwise)
    return row
