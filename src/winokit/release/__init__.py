"""From filtered twins to a benchmark that others can use: splits, sizes, card, formats, hidden test.

Names are found when they are asked for: grading a submission takes less time than importing what makes a release.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winokit.release.build import Extras, Release, release
    from winokit.release.evolve import Evolution, EvolveSettings
    from winokit.release.evolve_pool import pool_of
    from winokit.release.grading import Graded, grade
    from winokit.release.leaderboard import Leaderboard
    from winokit.release.manifest import verify
    from winokit.release.reading import read_release
    from winokit.release.settings import Settings

HOMES = {
    "Evolution": "evolve",
    "EvolveSettings": "evolve",
    "Extras": "build",
    "Graded": "grading",
    "Leaderboard": "leaderboard",
    "Release": "build",
    "Settings": "settings",
    "grade": "grading",
    "pool_of": "evolve_pool",
    "read_release": "reading",
    "release": "build",
    "verify": "manifest",
}

__all__ = [
    "Evolution",
    "EvolveSettings",
    "Extras",
    "Graded",
    "Leaderboard",
    "Release",
    "Settings",
    "grade",
    "pool_of",
    "read_release",
    "release",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
