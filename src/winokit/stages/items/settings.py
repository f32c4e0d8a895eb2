"""The settings of `winokit items`: families of models, and lengths of lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from winokit.settings import Help, Settings

AGREEMENT = "agreement"
NAME = "name"
"""The ways to find families of models. Any other value of the setting is a file that has them."""


@dataclass(frozen=True)
class ItemSettings(Settings):
    """The families of models, and how many suspects are listed."""

    families: Annotated[
        str | Path | Mapping[str, str],
        Help(
            "Models of one origin, which count once: agreement (right and wrong on the same items), name (the base in "
            "the name), or a csv file with columns model and family.",
            typed=str,
        ),
    ] = AGREEMENT
    bank: Annotated[
        str | Path | None,
        Help("Parameters of the items (columns row, a1, d, g, u): the board has bounds for pairs.", metavar="FILE"),
    ] = None
    top: Annotated[int, Help("How many suspects the terminal and the page list.", least=1)] = 30
