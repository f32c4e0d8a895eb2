"""The interface for other packages that add platforms, beside `winokit.extend`."""

from winokit_collect import PLATFORMS
from winokit_collect.platforms.base import Departure, Platform, Visitor

__all__ = ["PLATFORMS", "Departure", "Platform", "Visitor"]
