"""Plain links: workers whom the requester invites and pays without a platform."""

from __future__ import annotations

from collections.abc import Mapping

from winokit.collect.platforms.base import Departure, Visitor


class Links:
    """No platform: nobody to tell, and the ledger only notes what was paid by hand."""

    name = "links"

    def arrival(self, parameters: Mapping[str, str]) -> Visitor | None:
        """Nobody: people come by invite links."""
        return None

    def departure(self, visitor: Visitor | None, *, screened_out: bool) -> Departure:
        """Nowhere: the page says goodbye itself."""
        return Departure()

    def approve(self, visitor: Visitor) -> None:
        """There is nobody to tell."""

    def screen_out(self, visitor: Visitor) -> None:
        """There is nobody to tell."""

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """The requester pays by hand, and says so by settling."""
        return "by hand"
