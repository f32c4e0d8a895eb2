"""Build, check, debias, score and audit Winograd-style benchmarks.

>>> import winokit
>>> data = winokit.load("open")
>>> data[0].candidates
('the terrier', 'the spaniel')
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

HOMES = {
    "AFLite": "winokit.methods.aflite.aflite",
    "Card": "winokit.problem",
    "Dataset": "winokit.problem",
    "Problem": "winokit.problem",
    "Run": "winokit.data.runs",
    "WinokitError": "winokit.errors",
    "audit": "winokit.stages.audit.run",
    "check": "winokit.stages.check",
    "compare": "winokit.stages.compare.run",
    "convert": "winokit.stages.convert.run",
    "curve": "winokit.stages.curve.run",
    "datasets": "winokit.stages.datasets",
    "debias": "winokit.stages.debias.run",
    "embed": "winokit.stages.embed.run",
    "evolve": "winokit.stages.evolve.run",
    "find_duplicates": "winokit.data.checks.checkup",
    "find_groups": "winokit.data.checks.groups",
    "find_leaks": "winokit.data.checks.leaks",
    "from_frame": "winokit.data.frames",
    "gate": "winokit.stages.gate.run",
    "grade": "winokit.stages.grade.run",
    "hunt": "winokit.stages.hunt",
    "items": "winokit.stages.items.run",
    "load": "winokit.data.loading",
    "load_model": "winokit.models.registry",
    "read_predictions": "winokit.stages.check",
    "release": "winokit.stages.release.run",
    "report": "winokit.stages.report",
    "score": "winokit.stages.score.run",
    "search": "winokit.stages.search.run",
    "statistics": "winokit.data.checks.statistics",
    "stats": "winokit.stages.stats",
    "suite": "winokit.stages.suite.run",
    "synthetic": "winokit.data.synthetic",
    "train": "winokit.stages.train.run",
    "transfer": "winokit.stages.transfer.run",
    "verify": "winokit.stages.release.verify",
    "write": "winokit.data.formats.files",
}
"""The module of each name that the library offers. It is imported when the name is first used."""
MOVED = {
    "tasks": 'winokit.convert(data, out, to="lmeval"), or to="inspect"',
    "variants": 'winokit.convert(data, out, to="variants")',
}
"""Names that were here before, and what is called instead."""
__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name in MOVED:
        raise AttributeError(f"winokit.{name} is gone; call {MOVED[name]}")
    if name not in HOMES:
        raise AttributeError(f"module 'winokit' has no attribute {name!r}")
    public = getattr(import_module(HOMES[name]), name)
    if name == "Run":
        # A stored run may be shown before the audit is imported, which sets this too.
        public.shown_by = "winokit.stages.audit.table"
    return public


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
