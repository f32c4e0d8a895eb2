"""Read `winokit.toml`, the settings for a folder.

Beside data it says how these are read. In the folder where commands are typed it has the settings that are no options:

    language = "de"

    [columns]
    text = "satz"
    options = "auswahl"

    [training]
    weight_decay = 0.01
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winokit.errors import BadInput, check_known, refusing
from winokit.files import PROJECT_FILE, our_toml, read_text

READING = ("language", "as", "columns")
"""Keys that describe the data in the same folder."""
SECTIONS: Mapping[str, Sequence[str]] = our_toml("assets/sections.toml")
"""The sections of settings, and the settings that each may have."""


def read_project(folder: Path) -> Mapping[str, Any]:
    """Read the winokit.toml of a folder.

    Empty if there is none. Raises BadInput if it cannot be read or has an unknown key, and UnknownName for an unknown
    setting.
    """
    path = folder / PROJECT_FILE
    if not path.is_file():
        return {}
    with refusing(f"{path}: cannot be read", tomllib.TOMLDecodeError):
        table = tomllib.loads(read_text(path).removeprefix("\ufeff"))
    for key, value in table.items():
        if key in SECTIONS and isinstance(value, dict):
            for name in value:
                check_known(f"setting of [{key}] in {path}", name, SECTIONS[key])
        elif key not in READING:
            raise BadInput(
                f'{path}: expected language = "…", as = "…", [columns] or [{"], [".join(SECTIONS)}], found {key}'
            )
    return table
