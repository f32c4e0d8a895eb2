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
    from winokit.auditing.auditor import audit
    from winokit.auditing.run import Run
    from winokit.checks import check, find_duplicates, find_groups, find_leaks, statistics
    from winokit.debias.aflite import AFLite
    from winokit.errors import WinokitError
    from winokit.filtering.filtering import filter_problems
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
    "AFLite": "winokit.debias.aflite",
    "Card": "winokit.problem",
    "Dataset": "winokit.problem",
    "Problem": "winokit.problem",
    "Run": "winokit.auditing.run",
    "WinokitError": "winokit.errors",
    "audit": "winokit.auditing.auditor",
    "check": "winokit.checks",
    "find_duplicates": "winokit.checks",
    "find_groups": "winokit.checks",
    "find_leaks": "winokit.checks",
    "filter_problems": "winokit.filtering.filtering",
    "load": "winokit.loading",
    "load_model": "winokit.models.registry",
    "score": "winokit.scoring",
    "statistics": "winokit.checks",
    "synthetic": "winokit.planted",
    "write": "winokit.formats",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'winokit' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
