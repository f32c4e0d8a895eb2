"""One judge: stages reach intervals, tests and nulls through the judge alone, which knows the units."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import winokit

ROOT = Path(winokit.__file__).parent
JUDGED = (
    "stages",
    "drawing",
    "data",
    "cli",
    "methods/training",
    "methods/aflite",
    "methods/formalizations",
    "methods/hunting",
    "methods/scoring",
)
"""Rooms that write answers and draw rows."""
METRICS = "winokit.methods.metrics."
FORBIDDEN = {f"{METRICS}{name}" for name in ("intervals", "compare", "null", "luck", "trials")}
"""Modules behind the judge's doors."""
DOORS = f"{METRICS}judge"
"""Beginning of the names of doors: an import of one is followed no further."""
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
    """Files of the judged rooms."""
    paths = []
    for room in JUDGED:
        paths += (ROOT / room).rglob("*.py")
    return sorted(paths)


def name_below_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def nodes_of(path: Path) -> Iterator[ast.AST]:
    """Syntax nodes of a file."""
    return ast.walk(ast.parse(path.read_text("utf-8")))


@cache
def imported_by(path: Path) -> set[str]:
    """Names of everything a file imports, wherever in the file: modules, and objects taken from them.

    A module that is named in a string, to be imported later, counts as imported.
    """
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            module = full_name(node, path)
            names.add(module)
            names |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            names |= {node.value.partition(":")[0], node.value.replace(":", ".")}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "scipy":
            names.add(f"scipy.{node.attr}")
    return names


def full_name(node: ast.ImportFrom, path: Path) -> str:
    """Absolute name of the module that something is imported from.

    Dots in front of a relative name count up from the file at `path`.
    """
    if not node.level:
        return node.module or ""
    parts = path.with_suffix("").parts
    root_index = len(parts) - 1 - parts[::-1].index("winokit")
    package = ".".join(parts[root_index : -node.level])
    return f"{package}.{node.module}" if node.module else package


@cache
def doors_as_modules(path: Path) -> set[str]:
    """Doors that a file imports as modules, or their package: everything behind them is then an attribute."""
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{full_name(node, path)}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name == METRICS.rstrip(".") or DOOR.fullmatch(name)}


@cache
def functions_behind_doors(root: Path = ROOT) -> set[str]:
    """Functions that a door imports from a forbidden module, by the names under which the door has them."""
    functions: set[str] = set()
    for door in (root / "methods" / "metrics").glob("judge*.py"):
        for node in nodes_of(door):
            if isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN:
                names = {alias.asname or alias.name for alias in node.names}
                functions |= {f"{METRICS}{door.stem}.{name}" for name in names if name.islower()}
    return functions


@cache
def module_file(name: str, root: Path) -> Path | None:
    """File of a module of winokit, or None if the name is no such module."""
    if not name.startswith("winokit."):
        return None
    path = root.parent / name.replace(".", "/")
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def way_to_a_test(path: Path, root: Path = ROOT) -> list[str]:
    """Names of the modules by which a file reaches a forbidden one without a door, empty if it does not."""
    ways = {path: [path.name]}
    unread_files = [path]
    while unread_files:
        file = unread_files.pop()
        refused_names = FORBIDDEN | doors_as_modules(file) | functions_behind_doors()
        for name in sorted(imported_by(file)):
            if name in refused_names:
                return [*ways[file], name]
            next_file = module_file(name, root)
            if next_file is not None and next_file not in ways and not name.startswith(DOORS):
                ways[next_file] = [*ways[file], name]
                unread_files.append(next_file)
    return []


@pytest.mark.parametrize("path", modules(), ids=name_below_root)
def test_no_stage_reaches_an_interval_or_a_test_except_through_the_judge(path):
    assert way_to_a_test(path) == []


@pytest.mark.parametrize("path", modules(), ids=name_below_root)
def test_no_stage_takes_a_test_from_a_library_of_statistics(path):
    names = imported_by(path)
    libraries = {library for library in LIBRARIES if any(name.startswith(library) for name in names)}
    assert libraries <= NO_TESTS.get(name_below_root(path), set())


def compares_a_choice(node: ast.AST) -> bool:
    """Whether a node compares a right answer with anything but a constant."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return False
    sides = [node.left, *node.comparators]
    has_answer = any(_get_last_name(side) in RIGHT_ANSWERS for side in sides)
    has_constant = any(_is_constant(side) for side in sides)
    return has_answer and not has_constant


def _get_last_name(side: ast.expr) -> str:
    """Name of a variable or of an attribute, empty for anything else."""
    if isinstance(side, ast.Attribute):
        return side.attr
    return side.id if isinstance(side, ast.Name) else ""


def _is_constant(side: ast.expr) -> bool:
    """Whether one side of a comparison is a literal, or a name in capitals."""
    return isinstance(side, ast.Constant) or (isinstance(side, ast.Name) and side.id.isupper())


@pytest.mark.parametrize("path", modules(), ids=name_below_root)
def test_no_stage_finds_out_by_itself_what_is_right(path):
    lines = [node.lineno for node in nodes_of(path) if compares_a_choice(node)]
    assert not lines or name_below_root(path) in NO_CHOICES


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
    names = imported_by(ROOT / "methods" / "metrics" / "judge.py")
    assert names >= {f"{METRICS}intervals", f"{METRICS}null", f"{METRICS}luck"}


def test_a_test_behind_another_module_is_found(tmp_path):
    """A stage that takes an interval from a helper of its own, and one that takes it by name."""
    root = tmp_path / "winokit"
    stages = root / "stages"
    stages.mkdir(parents=True)
    (stages / "helper.py").write_text("def later():\n    from winokit.methods.metrics.intervals import share\n")
    (stages / "new.py").write_text("from winokit.stages import helper\n")
    (stages / "named.py").write_text("from winokit.methods.metrics import compare\n")
    assert way_to_a_test(stages / "new.py", root)[-1] == f"{METRICS}intervals"
    assert way_to_a_test(stages / "named.py", root)[-1] == f"{METRICS}compare"


def new_stage(folder: Path, code: str) -> Path:
    """Write a stage beside the real methods, in a package in `folder`, and return its file."""
    stages = folder / "winokit" / "stages"
    stages.mkdir(parents=True)
    (stages.parent / "methods").symlink_to(ROOT / "methods")
    path = stages / "new.py"
    path.write_text(code)
    return path


@pytest.mark.parametrize(
    ("code", "end_of_way"),
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
def test_no_back_way_to_a_test_is_overlooked(tmp_path, code, end_of_way):
    """Through a door that imports it, through the door's module, by its name in a string, by dots."""
    path = new_stage(tmp_path, code)
    assert way_to_a_test(path, tmp_path / "winokit")[-1] == end_of_way


@pytest.mark.parametrize(
    "code",
    [
        "from winokit.methods.metrics.judge import Judge, judge",
        "from winokit.methods.metrics.judge_pairs import Comparison, compare_answers",
        "from winokit.methods.metrics.groups import all_right",
    ],
)
def test_the_doors_themselves_are_open(tmp_path, code):
    path = new_stage(tmp_path, code)
    assert way_to_a_test(path, tmp_path / "winokit") == []
