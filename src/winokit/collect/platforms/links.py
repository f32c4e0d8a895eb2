"""Plain links: workers whom the requester invites and pays without a platform."""

from __future__ import annotations

from winokit.collect import PLATFORMS
from winokit.collect.platforms.base import Platform, Visitor


@PLATFORMS.register("links")
class Links(Platform):
    """No platform: nobody to tell, and the ledger only notes what was paid by hand."""

    title = "plain links"
    by_hand = True

    def bonus(self, visitor: Visitor, cents: int, note: str, reference: str) -> str:
        """The requester pays by hand, and says so by settling."""
        return "by hand"
