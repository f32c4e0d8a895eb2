"""What other packages build platforms on, as they build everything else on `winokit.extend`."""

from winokit_collect import PLATFORMS
from winokit_collect.platforms.base import Departure, Platform, Visitor

__all__ = ["PLATFORMS", "Departure", "Platform", "Visitor"]
