"""What we ask of a platform that sends workers and pays them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from winokit.errors import WinokitError


class PlatformError(WinokitError, RuntimeError):
    """A platform refused something; nothing was paid."""


class Uncertain(PlatformError):
    """A platform did not say whether something was done. It may have been: look there before trying again."""


@dataclass(frozen=True)
class Visitor:
    """Somebody as a platform knows them. `session_id` is what is approved: a Prolific submission, an assignment."""

    external_id: str
    study_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True)
class Departure:
    """Where a worker goes when they are done: an address to open, or a form to post to one, and a code to copy."""

    url: str | None = None
    code: str | None = None
    form_action: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


class Platform(Protocol):
    """One source of workers. Whatever can go wrong is a PlatformError."""

    name: str

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """Who the parameters of the first address say has come; None where this platform did not send them."""

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """Where to send somebody who is done, or whom the study is not for."""

    def approve(self, visitor: Visitor) -> None:
        """Accept the visit, which the platform then pays at its own rate. Doing it twice does no harm."""

    def screen_out(self, visitor: Visitor) -> None:
        """Tell the platform that the study is not for this person."""

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """Pay something on top; the platform's receipt. `reference` is ours, the same if the same is tried again."""
