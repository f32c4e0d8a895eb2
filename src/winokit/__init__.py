"""Build, check, debias, score and audit Winograd-style benchmarks.

>>> import winokit
>>> data = winokit.load("open")
>>> data[0].candidates
('the terrier', 'the spaniel')
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# What the library offers is listed once, where type checkers read it: lines of `from HOME import NAME as NAME`. A name
# is imported when it is first used: `winokit --help` must not wait for SciPy.
_LISTED = Path(__file__).with_suffix(".pyi").read_text("utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _LISTED, re.MULTILINE)}
__all__ = sorted(_HOMES)


MOVED = {
    "tasks": 'winokit.convert(data, out, to="lmeval"), or to="inspect"',
    "variants": 'winokit.convert(data, out, to="variants")',
}
"""Names that were here before, and what is called instead."""


def __getattr__(name: str) -> Any:
    if name in MOVED:
        raise AttributeError(f"winokit.{name} is gone; call {MOVED[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module 'winokit' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
