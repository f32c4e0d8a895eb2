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
    from winokit.data.checks.checkup import find_duplicates
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
    from winokit.stages.check import check
    from winokit.stages.compare.run import compare
    from winokit.stages.convert import convert
    from winokit.stages.curve.run import curve
    from winokit.stages.datasets import datasets
    from winokit.stages.debias.run import debias
    from winokit.stages.embed import embed
    from winokit.stages.evolve.run import release
    from winokit.stages.grade.run import grade
    from winokit.stages.hunt import hunt
    from winokit.stages.release.verify import verify
    from winokit.stages.report import report
    from winokit.stages.score import score
    from winokit.stages.search.run import search
    from winokit.stages.stats import stats
    from winokit.stages.suite.run import suite
    from winokit.stages.tasks.run import tasks
    from winokit.stages.train.run import train
    from winokit.stages.transfer.run import transfer
    from winokit.stages.variants import variants

__version__ = "0.1.0"

# Imported when first used: `winokit --help` must not wait for SciPy. A test holds this against the imports above.
_HOMES = {
    name: f"winokit.{module}"
    for module, names in {
        "data.checks.checkup": "find_duplicates",
        "data.checks.groups": "find_groups",
        "data.checks.leaks": "find_leaks",
        "data.checks.statistics": "statistics",
        "data.formats": "write",
        "data.loading": "load",
        "data.runs": "Run",
        "data.synthetic": "synthetic",
        "errors": "WinokitError",
        "methods.aflite.aflite": "AFLite",
        "models.registry": "load_model",
        "problem": "Card Dataset Problem",
        "stages.audit.run": "audit",
        "stages.check": "check",
        "stages.compare.run": "compare",
        "stages.convert": "convert",
        "stages.datasets": "datasets",
        "stages.debias.run": "debias",
        "stages.report": "report",
        "stages.score": "score",
        "stages.stats": "stats",
        "stages.suite.run": "suite",
        "stages.tasks.run": "tasks",
        "stages.variants": "variants",
        "stages.search.run": "search",
        "stages.train.run": "train",
        "stages.curve.run": "curve",
        "stages.transfer.run": "transfer",
        "stages.hunt": "hunt",
        "stages.evolve.run": "release",
        "stages.release.verify": "verify",
        "stages.grade.run": "grade",
        "stages.embed": "embed",
    }.items()
    for name in names.split()
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'winokit' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
