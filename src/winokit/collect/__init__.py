"""Collecting twins and judgements from people: a study is a folder with a config and a database.

`study.Study` opens one; the modules beside it do one thing each with it, and the pages in `web/` only call them.
Nothing here is imported before it is used, since it needs the `collect` extra.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from winokit.errors import MissingExtra
from winokit.registry import Registry

if TYPE_CHECKING:
    from winokit.collect.platforms.base import Platform

PLATFORMS: Registry[type[Platform]] = Registry(
    "platform",
    "winokit.platforms",
    {
        "links": "winokit.collect.platforms.base:Links",
        "prolific": "winokit.collect.platforms.prolific:Prolific",
        "mturk": "winokit.collect.platforms.mturk:MTurk",
    },
)
"""Where workers can come from, by the name that study.toml has for it; each is imported when a study names it."""


def need_extra() -> None:
    """Say which pip command is missing, before an import fails half way."""
    if any(find_spec(name) is None for name in ("sqlalchemy", "alembic", "pydantic", "argon2", "itsdangerous")):
        raise MissingExtra("winokit collect", "collect")
