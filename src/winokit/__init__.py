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
    from winokit.data.checks.checkup import check
    from winokit.data.checks.duplicates import find_duplicates
    from winokit.data.checks.groups import find_groups
    from winokit.data.checks.leaks import find_leaks
    from winokit.data.checks.statistics import statistics
    from winokit.data.formats import write
    from winokit.data.loading import load
    from winokit.data.runs import Run
    from winokit.data.synthetic import synthetic
    from winokit.errors import WinokitError
    from winokit.methods.aflite.aflite import AFLite
    from winokit.models.registry import load_model
    from winokit.problem import Card, Dataset, Problem
    from winokit.stages.audit.run import audit
    from winokit.stages.compare.run import compare
    from winokit.stages.debias.run import filter_problems
    from winokit.stages.report import report
    from winokit.stages.score import score

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
    "compare",
    "filter_problems",
    "find_duplicates",
    "find_groups",
    "find_leaks",
    "load",
    "load_model",
    "report",
    "score",
    "statistics",
    "synthetic",
    "write",
]

# Imported when first used: `winokit --help` must not wait for SciPy.
_HOMES = {
    "AFLite": "winokit.methods.aflite.aflite",
    "Card": "winokit.problem",
    "Dataset": "winokit.problem",
    "Problem": "winokit.problem",
    "Run": "winokit.data.runs",
    "WinokitError": "winokit.errors",
    "audit": "winokit.stages.audit.run",
    "check": "winokit.data.checks",
    "compare": "winokit.stages.compare.run",
    "find_duplicates": "winokit.data.checks",
    "find_groups": "winokit.data.checks",
    "find_leaks": "winokit.data.checks",
    "filter_problems": "winokit.stages.debias.run",
    "load": "winokit.data.loading",
    "load_model": "winokit.models.registry",
    "report": "winokit.stages.report",
    "score": "winokit.stages.score",
    "statistics": "winokit.data.checks",
    "synthetic": "winokit.data.synthetic",
    "write": "winokit.data.formats",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'winokit' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
