"""One judge: nothing but the judge knows intervals, tests and nulls, so that a unit cannot be overlooked twice."""

import ast
from functools import cache
from pathlib import Path

import pytest

import winokit

ROOT = Path(winokit.__file__).parent
JUDGED = (
    *("stages", "drawing", "data", "cli"),
    *("methods/training", "methods/aflite", "methods/formalizations", "methods/hunting", "methods/scoring"),
)
"""Rooms that write answers and draw rows."""
METRICS = "winokit.methods.metrics."
FORBIDDEN = {f"{METRICS}{name}" for name in ("intervals", "compare", "null", "luck", "trials")}
"""Modules behind the judge's doors."""
DOORS = f"{METRICS}judge"
"""How the names of the doors begin: an import of one is followed no further."""
NO_TESTS = {"stages/search/luck.py": {"scipy.stats"}}
"""Files that may import a library of statistics, for something that is no interval and no test: a kurtosis."""
LIBRARIES = ("scipy.stats", "statsmodels", "sklearn.metrics")
RIGHT_ANSWERS = {"answer", "answers"}
"""Attributes that hold right answers."""
NO_CHOICES = {
    "data/runs.py": "a file's right answers beside the dataset's",
    "data/predictions/read.py": "a log's right answers beside the dataset's",
    "data/formats/knowref.py": "two columns of right answers",
    "data/checks/leaks.py": "guesses that read no problem",
    "data/errata.py": "people's votes on whether a label is wrong",
    "methods/formalizations/cases.py": "what is trained on",
    "methods/scoring/scorer.py": "the one row of predictions.jsonl",
    "methods/scoring/special_word.py": "a question that is made from its answer",
}
"""Files that compare right answers with something else than a scorer's choice."""


def modules() -> list[Path]:
    return sorted(path for room in JUDGED for path in (ROOT / room).rglob("*.py"))


@cache
def imported_by(path: Path) -> set[str]:
    """Everything a file imports, wherever in the file: modules, and what is taken from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@cache
def module_file(name: str, root: Path) -> Path | None:
    """The file of one of our modules; None for others, and for what is no module."""
    path = root.parent / name.replace(".", "/")
    files = [path.with_suffix(".py"), path / "__init__.py"]
    return next((file for file in files if name.startswith("winokit.") and file.is_file()), None)


def way_to_a_test(path: Path, root: Path = ROOT) -> list[str]:
    """The modules by which a file reaches a forbidden one without a door; nothing if it does not."""
    ways = {path: [path.name]}
    left = [path]
    while left:
        file = left.pop()
        for name in sorted(imported_by(file)):
            if name in FORBIDDEN:
                return [*ways[file], name]
            own = module_file(name, root)
            if own is not None and own not in ways and not name.startswith(DOORS):
                ways[own] = [*ways[file], name]
                left.append(own)
    return []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_stage_reaches_an_interval_or_a_test_except_through_the_judge(path):
    assert way_to_a_test(path) == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_stage_takes_a_test_from_a_library_of_statistics(path):
    allowed = NO_TESTS.get(path.relative_to(ROOT).as_posix(), set())
    taken = {library for name in imported_by(path) for library in LIBRARIES if name.startswith(library)}
    assert taken <= allowed


def compares_a_choice(node: ast.AST) -> bool:
    """Whether it holds a right answer against anything but a number that is written there."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return False
    sides = [node.left, *node.comparators]
    has_answer = any(isinstance(side, ast.Attribute) and side.attr in RIGHT_ANSWERS for side in sides)
    has_constant = any(isinstance(side, (ast.Constant, ast.Name)) and _is_constant(side) for side in sides)
    return has_answer and not has_constant


def _is_constant(side: ast.expr) -> bool:
    return isinstance(side, ast.Constant) or (isinstance(side, ast.Name) and side.id.isupper())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_stage_finds_out_by_itself_what_is_right(path):
    found = [node.lineno for node in ast.walk(ast.parse(path.read_text("utf-8"))) if compares_a_choice(node)]
    assert not found or path.relative_to(ROOT).as_posix() in NO_CHOICES


def test_the_judge_imports_them():
    assert imported_by(ROOT / "methods" / "metrics" / "judge.py") >= {
        f"{METRICS}{name}" for name in ("intervals", "null", "luck")
    }


def test_a_test_behind_another_module_is_found(tmp_path):
    """A stage that takes an interval from a helper of its own, and one that takes it by name."""
    stage = tmp_path / "winokit" / "stages"
    stage.mkdir(parents=True)
    (stage / "helper.py").write_text("def later():\n    from winokit.methods.metrics.intervals import share\n")
    (stage / "new.py").write_text("from winokit.stages import helper\n")
    (stage / "named.py").write_text("from winokit.methods.metrics import compare\n")
    assert way_to_a_test(stage / "new.py", tmp_path / "winokit")[-1] == f"{METRICS}intervals"
    assert way_to_a_test(stage / "named.py", tmp_path / "winokit")[-1] == f"{METRICS}compare"
