"""One judge: nothing but the judge knows intervals, tests and nulls, so that a unit cannot be overlooked twice."""

import ast
from pathlib import Path

import pytest

import winokit

ROOT = Path(winokit.__file__).parent
JUDGED = ("stages", "drawing", "data", "methods/training", "methods/aflite", "methods/formalizations")
"""Rooms that write answers and draw rows."""
FORBIDDEN = {"intervals", "compare", "null", "luck"}
"""Modules of `methods.metrics` behind the judge's doors."""


def modules() -> list[Path]:
    return sorted(path for room in JUDGED for path in (ROOT / room).rglob("*.py"))


def imported_metrics(path: Path) -> set[str]:
    """The modules of `winokit.methods.metrics` that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        prefix = "winokit.methods.metrics."
        found |= {name.removeprefix(prefix).split(".")[0] for name in names if name.startswith(prefix)}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_stage_imports_an_interval_or_a_test(path):
    assert not imported_metrics(path) & FORBIDDEN


def test_the_judge_imports_them():
    assert imported_metrics(ROOT / "methods" / "metrics" / "judge.py") >= {"intervals", "null", "luck"}
