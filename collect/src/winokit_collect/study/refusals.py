"""Errors that refuse a request, each with its HTTP status."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from winokit.extend import BadInput

T = TypeVar("T")


class Refused(BadInput):
    """A request is refused, for a reason that its sender may read."""

    status = 400


class NotFound(Refused):
    """The object does not exist or belongs to somebody else.

    The two look the same from outside, on purpose.
    """

    status = 404


class NotAllowed(Refused):
    """The person may not do this.

    They are blocked, screened out or not yet qualified, or the password is wrong.
    """

    status = 403


class NotNow(Refused):
    """The request cannot be fulfilled now.

    The study is paused, or nothing is left to do.
    """

    status = 409


class AlreadyHandedIn(NotNow):
    """The task was handed in before, and can no longer be corrected.

    `stands` has the fields of the stored work and `at` its time. `sent` has the fields that were not taken.
    """

    def __init__(self, message: str, stands: Mapping[str, Any], sent: Mapping[str, Any], at: datetime) -> None:
        self.stands = stands
        self.sent = sent
        self.at = at
        super().__init__(message)


class LinkExpired(Refused):
    """The link was used up or revoked, or is too old."""

    status = 410


class Incomplete(Refused):
    """A form has fields that are missing or wrong.

    `problems` has a message for each of these fields.
    """

    status = 422

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        messages = [f"{name}: {message}" for name, message in self.problems.items()]
        super().__init__("; ".join(messages))


class TooMany(Refused):
    """There were too many tries.

    `wait` is the number of seconds until the next one is allowed.
    """

    status = 429

    def __init__(self, message: str, wait: int) -> None:
        self.wait = wait
        super().__init__(message)


def found(row: T | None, otherwise: str) -> T:
    """Return the row, unless it is None.

    Raises NotFound with the message `otherwise` for None.
    """
    if row is None:
        raise NotFound(otherwise)
    return row
