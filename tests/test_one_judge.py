"""One judge: nothing but the judge knows intervals, tests and nulls, so that a unit cannot be overlooked twice."""

import ast
import re
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
DOOR = re.compile(re.escape(DOORS) + "[a-z_]*")
"""A door as a module."""
NO_TESTS = {
    "stages/search/luck.py": {"scipy.stats"},
    "stages/grade/ladder.py": {"scipy.special"},
    "methods/aflite/probe.py": {"scipy.special"},
}
"""Files that may import a library of statistics, for something that is no interval and no test.

A kurtosis, the mean of the best of equal trials, and the logistic function of a classifier.
"""
LIBRARIES = ("scipy.stats", "scipy.special", "statsmodels", "sklearn.metrics", "statistics.NormalDist")
NAMED = re.compile(r"winokit(\.[a-z_]+)+(:\w+)?")
"""A module in a string of its own, or something in it."""
RIGHT_ANSWERS = {"answer", "answers", "right", "right_answer", "right_answers"}
"""Attributes and variables that hold right answers."""
NO_CHOICES = {
    "data/runs.py": "a file's right answers beside the dataset's",
    "data/predictions/read.py": "a log's right answers beside the dataset's",
    "data/predictions/readings.py": "how many replies are right, read in other ways",
    "data/predictions/proposals.py": "a column that may be the dataset's right answers",
    "data/formats/dpr.py": "opposite answers of twins",
    "data/formats/knowref.py": "two columns of right answers",
    "data/checks/leaks.py": "guesses that read no problem",
    "data/errata.py": "people's votes on whether a label is wrong",
    "methods/aflite/inputs.py": "two right answers as 0 and 1",
    "methods/aflite/rows.py": "classifiers that choose what is removed",
    "methods/formalizations/cases.py": "what is trained on",
    "methods/scoring/scorer.py": "the one row of predictions.jsonl",
    "methods/scoring/special_word.py": "a question that is made from its answer",
    "stages/debias/page.py": "a picture for each answer",
    "stages/release/verify.py": "a release's answers beside those that it says it has",
}
"""Files that compare right answers with something else than a scorer's choice."""


def modules() -> list[Path]:
    return sorted(path for room in JUDGED for path in (ROOT / room).rglob("*.py"))


@cache
def imported_by(path: Path) -> set[str]:
    """Everything a file imports, wherever in the file: modules, and what is taken from them.

    A module that is named in a string, to be imported when it is asked for, counts as imported.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = full_name(node, path)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            found |= {node.value.partition(":")[0], node.value.replace(":", ".")}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "scipy":
            found.add(f"scipy.{node.attr}")
    return found


def full_name(node: ast.ImportFrom, path: Path) -> str:
    """The module that something is taken from; dots in front of it count up from the file."""
    if not node.level:
        return node.module or ""
    parts = path.with_suffix("").parts
    package = parts[len(parts) - 1 - parts[::-1].index("winokit") : -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


@cache
def held_whole(path: Path) -> set[str]:
    """The doors that a file holds as modules, or their room: everything behind them is then an attribute."""
    held: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            held |= {f"{full_name(node, path)}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            held |= {alias.name for alias in node.names}
    return {name for name in held if name == METRICS.rstrip(".") or DOOR.fullmatch(name)}


@cache
def functions_behind_doors(root: Path = ROOT) -> set[str]:
    """Functions that a door imports from a forbidden module, by the names under which the door has them."""
    found: set[str] = set()
    for door in (root / "methods" / "metrics").glob("judge*.py"):
        for node in ast.walk(ast.parse(door.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN:
                names = {alias.asname or alias.name for alias in node.names}
                found |= {f"{METRICS}{door.stem}.{name}" for name in names if name.islower()}
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
        refused = FORBIDDEN | held_whole(file) | functions_behind_doors()
        for name in sorted(imported_by(file)):
            if name in refused:
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
    has_answer = any(_last_name(side) in RIGHT_ANSWERS for side in sides)
    has_constant = any(isinstance(side, (ast.Constant, ast.Name)) and _is_constant(side) for side in sides)
    return has_answer and not has_constant


def _last_name(side: ast.expr) -> str:
    """The name of a variable, or that of an attribute."""
    if isinstance(side, ast.Attribute):
        return side.attr
    return side.id if isinstance(side, ast.Name) else ""


def _is_constant(side: ast.expr) -> bool:
    return isinstance(side, ast.Constant) or (isinstance(side, ast.Name) and side.id.isupper())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_stage_finds_out_by_itself_what_is_right(path):
    found = [node.lineno for node in ast.walk(ast.parse(path.read_text("utf-8"))) if compares_a_choice(node)]
    assert not found or path.relative_to(ROOT).as_posix() in NO_CHOICES


@pytest.mark.parametrize(
    "code",
    [
        "[row.prediction == problem.answer for row, problem in zip(rows, problems)]",
        "chosen != answers.answers",
        "sum(choice == answer for choice, answer in pairs)",
        "right == choices",
    ],
)
def test_a_comparison_with_a_right_answer_is_seen(code):
    assert any(compares_a_choice(node) for node in ast.walk(ast.parse(code)))


def test_a_question_about_an_answer_is_no_comparison_with_a_choice():
    assert not any(compares_a_choice(node) for node in ast.walk(ast.parse("problem.answer == 0, answer != YES")))


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


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from winokit.methods.metrics.judge import Judge, share", f"{METRICS}judge.share"),
        ("from winokit.methods.metrics.judge_pairs import Comparison, compare", f"{METRICS}judge_pairs.compare"),
        ("from winokit.methods.metrics import judge\njudge.share([], [])", f"{METRICS}judge"),
        ("import winokit.methods.metrics.judge as doors", f"{METRICS}judge"),
        ("from winokit.methods import metrics\nmetrics.intervals.share([], [])", METRICS.rstrip(".")),
        ("from importlib import import_module\nimport_module('winokit.methods.metrics.luck')", f"{METRICS}luck"),
        ("LATER = {'p': 'winokit.methods.metrics.null:right_test'}", f"{METRICS}null"),
        ("from ..methods.metrics.intervals import share", f"{METRICS}intervals"),
        ("from ..methods.metrics import null", f"{METRICS}null"),
        ("from winokit.methods.metrics.curve import crossed_share", f"{METRICS}intervals"),
    ],
)
def test_no_back_way_to_a_test_is_overlooked(tmp_path, code, found):
    """Through a door that imports it, through the door's module, by its name in a string, by dots."""
    root = tmp_path / "winokit"
    (root / "stages").mkdir(parents=True)
    (root / "methods").symlink_to(ROOT / "methods")
    path = root / "stages" / "new.py"
    path.write_text(code)
    assert way_to_a_test(path, root)[-1] == found


@pytest.mark.parametrize(
    "code",
    [
        "from winokit.methods.metrics.judge import Judge, judge",
        "from winokit.methods.metrics.judge_pairs import Comparison, compare_answers",
        "from winokit.methods.metrics.groups import all_right",
    ],
)
def test_the_doors_themselves_are_open(tmp_path, code):
    root = tmp_path / "winokit"
    (root / "stages").mkdir(parents=True)
    (root / "methods").symlink_to(ROOT / "methods")
    path = root / "stages" / "new.py"
    path.write_text(code)
    assert way_to_a_test(path, root) == []
