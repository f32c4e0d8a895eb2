"""Build, check, debias, score and audit Winograd-style benchmarks.

>>> import winokit
>>> data = winokit.load("open")
>>> data[0].candidates
('the terrier', 'the spaniel')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winokit.auditing import Run, audit
    from winokit.checks import check, find_duplicates, find_groups, find_leaks, statistics
    from winokit.debias.aflite import AFLite
    from winokit.errors import WinokitError
    from winokit.filtering import filter_problems
    from winokit.formats import write
    from winokit.loading import load
    from winokit.models.registry import load_model
    from winokit.planted import synthetic
    from winokit.problem import Card, Dataset, Problem
    from winokit.scoring import score

__version__ = "0.1.0"
__all__ = [
    "AFLite",
    "Card",
    "Dataset",
    "Problem",
    "Run",
    "WinokitError",
    "audit",
    "check",
    "filter_problems",
    "find_duplicates",
    "find_groups",
    "find_leaks",
    "load",
    "load_model",
    "score",
    "statistics",
    "synthetic",
    "write",
]

# Imported when first used: `winokit --help` must not wait for SciPy.
_HOMES = {
    "AFLite": "debias.aflite",
    "Card": "problem",
    "Dataset": "problem",
    "Problem": "problem",
    "Run": "auditing",
    "WinokitError": "errors",
    "audit": "auditing",
    "check": "checks",
    "find_duplicates": "checks",
    "find_groups": "checks",
    "find_leaks": "checks",
    "filter_problems": "filtering",
    "load": "loading",
    "load_model": "models.registry",
    "score": "scoring",
    "statistics": "checks",
    "synthetic": "planted",
    "write": "formats",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'winokit' has no attribute {name!r}")
    return getattr(import_module(f"winokit.{_HOMES[name]}"), name)
