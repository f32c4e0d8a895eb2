"""Collect twins and judgements from people: a study is a folder with a config and a database.

`study.Study` opens one. Each module beside it does one thing with it, and the pages in `web/` only call these
modules. This is a separate distribution, which builds on `winokit.extend`. Modules are imported only when they are
used, since registering a platform needs no database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from winokit.extend import Registry

if TYPE_CHECKING:
    from winokit_collect.platforms.base import Platform

__version__ = "0.2.0"

PLATFORMS: Registry[type[Platform]] = Registry(
    "platform",
    "winokit.platforms",
    {
        "links": "winokit_collect.platforms.base:Links",
        "prolific": "winokit_collect.platforms.prolific:Prolific",
        "mturk": "winokit_collect.platforms.mturk:MTurk",
    },
)
"""Sources of workers, by their names in study.toml. Each is imported when a study names it."""
