"""Collecting twins and judgements from people: a study is a folder with a config and a database.

`study.Study` opens one; the modules beside it do one thing each with it, and the pages in `web/` only call them.
Nothing here is imported before it is used, since it needs the `collect` extra.
"""

from __future__ import annotations

from importlib.util import find_spec

from winokit.errors import MissingExtra

NEEDED = ("sqlalchemy", "alembic", "pydantic", "argon2", "itsdangerous")


def need_extra() -> None:
    """Say which pip command is missing, before an import fails half way."""
    if any(find_spec(name) is None for name in NEEDED):
        raise MissingExtra("winokit collect", "collect")
