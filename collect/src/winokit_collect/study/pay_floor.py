"""Hourly pay of a study, and the minimum that the platform or study.toml sets.

The prices of the papers are below most minimum wages, which is easy to overlook in cents per task.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from winokit_collect import PLATFORMS
from winokit_collect.study.config import StudyConfig
from winokit_collect.study.schema import VOTES, WRITE

OWN = "pay.least_per_hour"
ASSUMED_SECONDS: Mapping[str, float] = {WRITE: 255.0} | dict.fromkeys(VOTES, 24.0)
"""Seconds that a task is assumed to take, until enough submissions were timed. They are those of the example study
(`demo.py`)."""


@dataclass(frozen=True)
class PayFloor:
    """The minimum hourly pay of a study, and who sets it."""

    cents: int
    """Hundredths of the study's currency. Zero if no minimum is known in it."""
    reason: str
    """Name of the minimum, for messages."""


@dataclass(frozen=True)
class PriceCheck:
    """Price of one kind of task, and the hourly pay it gives."""

    kind: str
    cents: int
    seconds: float
    is_measured: bool
    """Whether these seconds were measured in the study, or are an assumption."""
    hourly_cents: int
    needed_cents: int
    """Lowest price that reaches the minimum hourly pay."""

    @property
    def is_low(self) -> bool:
        """Whether the price is below the one that reaches the minimum hourly pay."""
        return self.cents < self.needed_cents


def pay_floor(config: StudyConfig) -> PayFloor:
    """The minimum hourly pay that applies to a study.

    `pay.least_per_hour` replaces a platform's recommended minimum, but not one that the platform enforces.
    """
    platform = PLATFORMS[config.platform.name]
    own_cents = int(config.pay.least_per_hour * 100)
    platform_cents = platform.hourly_minimums.get(config.pay.currency, 0)
    is_overruled = own_cents > 0 and not platform.enforces_minimum
    if is_overruled or own_cents >= platform_cents:
        return PayFloor(own_cents, OWN)
    return PayFloor(platform_cents, platform.minimum_of)


def check_prices(config: StudyConfig, measured: Mapping[str, float]) -> list[PriceCheck]:
    """Compute the hourly pay at each price of a study.

    `measured` has the median seconds of a task by kind. Kinds that are missing in it get an assumed time.
    """
    floor = pay_floor(config)
    checks = []
    for kind in config.tasks.kinds:
        seconds = measured.get(kind, ASSUMED_SECONDS[kind])
        cents = config.pay.cents(kind)
        milliseconds = round(1000 * seconds)
        needed_cents = -(-floor.cents * milliseconds // 3_600_000)  # rounded up
        hourly_cents = round(cents * 3600 / seconds)
        checks.append(PriceCheck(kind, cents, seconds, kind in measured, hourly_cents, needed_cents))
    return checks
