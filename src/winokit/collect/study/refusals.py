"""What a worker, a requester or a stranger may not do, each with the HTTP status a page answers with.

Refused
├── NotFound          there is no such thing, or it is not theirs: the two look the same from outside (404)
├── NotAllowed        blocked, screened out, not yet qualified, a wrong password (403)
├── NotNow            the study is paused, or nothing is left to do for this worker (409)
├── LinkExpired       a link that was used up, revoked or is too old (410)
├── Incomplete        a form with something missing or wrong; `problems` says what for each field (422)
└── TooMany           too many tries; `wait` says for how many seconds to stop (429)
"""

from __future__ import annotations

from collections.abc import Mapping

from winokit.errors import BadInput


class Refused(BadInput):
    """Something that is not done, said in one line that may be shown to the person who asked."""

    status = 400


class NotFound(Refused):
    """No such thing, or not theirs."""

    status = 404


class NotAllowed(Refused):
    """The person may not do this at all."""

    status = 403


class NotNow(Refused):
    """It could be done at another time."""

    status = 409


class LinkExpired(Refused):
    """A link that opens nothing any more."""

    status = 410


class Incomplete(Refused):
    """A form that cannot be taken as it is."""

    status = 422

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{name}: {why}" for name, why in self.problems.items()))


class TooMany(Refused):
    """Too many tries in too short a time."""

    status = 429

    def __init__(self, message: str, wait: int) -> None:
        self.wait = wait
        super().__init__(message)
