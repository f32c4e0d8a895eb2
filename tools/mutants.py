"""Break the judge's code in small ways, one at a time, and count how often its tests notice.

    python -m tools.mutants [--sample 60] [--seed 0] [--seconds 60] [NAME ...]

Each mutant changes one place of one module: a comparison, an operator, a number, a condition, a statement left out. The
module's own tests run against it in a process of its own, and nothing on disk changes. A mutant is killed if a test
fails, or if the tests use more than so many seconds of processor time. Survivors are printed: read each, and either
write a test or know why the change makes no difference.

For developers, by hand: it takes minutes to hours.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
METRICS_TESTS = "tests/methods/metrics"
COPIES_TESTS = "tests/stages/audit/test_copies.py"
TARGETS: dict[str, tuple[str, ...]] = {
    "units": (
        "tests/test_units.py",
        *(f"{METRICS_TESTS}/test_{name}.py" for name in ("null", "intervals", "judge", "compare")),
    ),
    "methods/metrics/null": (
        *(f"{METRICS_TESTS}/test_{name}.py" for name in ("null", "judge", "judge_solved", "text_order", "trials")),
    ),
    "methods/metrics/intervals": (
        "tests/test_units.py",
        *(f"{METRICS_TESTS}/test_{name}.py" for name in ("intervals", "compare", "judge")),
    ),
    "methods/metrics/judge": (
        *(f"{METRICS_TESTS}/test_{name}.py" for name in ("judge", "gender", "null")),
        "tests/stages/audit/test_rows_are_metrics.py",
        COPIES_TESTS,
    ),
    "methods/metrics/judge_pairs": (
        *(f"{METRICS_TESTS}/test_{name}.py" for name in ("judge_pairs", "compare")),
        "tests/stages/compare",
    ),
    "methods/metrics/judge_best": (f"{METRICS_TESTS}/test_judge_best.py",),
    "methods/metrics/judge_curves": (*(f"{METRICS_TESTS}/test_{name}.py" for name in ("judge_curves", "curve")),),
    "methods/metrics/judge_graded": ("tests/test_units.py", "tests/stages/grade/test_units.py"),
    "methods/metrics/compare": (*(f"{METRICS_TESTS}/test_{name}.py" for name in ("compare", "judge_pairs")),),
}
"""Tests that are to notice mutants, by module."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
FLOORS = {"floor": "ceil", "ceil": "floor", "logical_and": "logical_or", "logical_or": "logical_and"}
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib --strict-markers")
"""Of pytest: one process, the first failure is enough, no doctests."""
KILLED, SURVIVED, TOO_LONG, BROKEN = "killed", "survived", "too long", "broken"
EXIT_BY_OUTCOME = {SURVIVED: 0, KILLED: 1, BROKEN: 3}


Steps = tuple[tuple[str, int | None], ...]
"""The way to a node: names of fields and indices in lists."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    line: int
    function: str
    change: str
    original: ast.Module
    steps: Steps
    """The way to the changed node."""
    changed: ast.AST

    @property
    def tree(self) -> ast.Module:
        """The module with the change."""
        tree = copy.deepcopy(self.original)
        _replace_node(tree, self.steps, self.changed)
        return ast.fix_missing_locations(tree)

    def __str__(self) -> str:
        return f"{self.line}, {self.function}: {self.change}"


def mutants_of(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module, in the order of its lines.

    Types, decorators, messages of errors, docstrings and `__repr__` stay as they are.
    """
    module = ast.parse(source)
    for place in list(_find_places(module, (), "module")):
        node = _find_node(module, place.steps)
        line = getattr(node, "lineno", 0)
        for changed_node, text in _describe_changes(node):
            change = f"{_write_first_line(node)} -> {text}"
            yield Mutant(line, place.function, change, module, place.steps, changed_node)


@dataclass(frozen=True)
class _Place:
    """A node by the steps to it: names of fields and indices in lists."""

    steps: Steps
    function: str


KEPT_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "bases"}


def _find_places(node: ast.AST, steps: Steps, function: str) -> Iterator[_Place]:
    """Yield the nodes that may be changed, with the function they are in."""
    if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.FunctionDef):
        if node.name == "__repr__":
            return
        function = node.name
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if is_docstring:
        return
    yield _Place(steps, function)
    for name, value in ast.iter_fields(node):
        if name in KEPT_FIELDS:
            continue
        if isinstance(value, ast.AST):
            yield from _find_places(value, (*steps, (name, None)), function)
        elif isinstance(value, list):
            for index, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield from _find_places(child, (*steps, (name, index)), function)


def _find_node(tree: ast.AST, steps: Steps) -> ast.AST:
    """Return the node at the end of the steps."""
    node = tree
    for name, index in steps:
        child = getattr(node, name)
        node = child if index is None else child[index]
    return node


def _replace_node(tree: ast.Module, steps: Steps, changed: ast.AST) -> None:
    """Put another node at the end of the steps."""
    parent = _find_node(tree, steps[:-1])
    name, index = steps[-1]
    if index is None:
        setattr(parent, name, changed)
    else:
        getattr(parent, name)[index] = changed


def _describe_changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that may replace one, each with its source."""
    for changed in _change_node(node):
        yield changed, _write_first_line(changed)


def _change_node(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may replace one: another operator, constant or name, or a condition turned round."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[index] = COMPARISONS[type(operator)]()
            yield other
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        changed = copy.deepcopy(node)
        changed.op = OPERATORS[type(node.op)]()
        yield changed
    elif isinstance(node, ast.BoolOp):
        joined = copy.deepcopy(node)
        joined.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield joined
    elif isinstance(node, ast.UnaryOp):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant):
        yield from _change_constant(node)
    elif isinstance(node, (ast.Name, ast.Attribute)):
        yield from _change_name(node)
    elif isinstance(node, (ast.IfExp, ast.If)):
        turned = copy.deepcopy(node)
        turned.test = ast.UnaryOp(ast.Not(), turned.test)
        yield turned
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))
    if isinstance(node, (ast.AugAssign, ast.Expr, ast.Continue, ast.Break)):
        yield ast.Pass()


def _change_constant(node: ast.Constant) -> Iterator[ast.AST]:
    """Yield the other truth value, or a number plus one, and nothing for other constants."""
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, (int, float)):
        yield ast.Constant(node.value + 1)


def _change_name(node: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
    """Yield the opposite of a function's name, such as `max` for `min`, and nothing for other names."""
    opposites = NAMES | FLOORS
    if not isinstance(node.ctx, ast.Load):
        return
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.Name) and changed.id in opposites:
        changed.id = opposites[changed.id]
        yield changed
    elif isinstance(changed, ast.Attribute) and changed.attr in opposites:
        changed.attr = opposites[changed.attr]
        yield changed


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _write_first_line(node: ast.AST) -> str:
    """Return the first line of a node's source."""
    return ast.unparse(node).splitlines()[0]


class MutatedModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed tree, whatever is on disk."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name = name
        self.path = path
        self.tree = tree

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the changed module, and None for every other."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def outcome_of(name: str, path: Path, tree: ast.Module, tests: Sequence[str], seconds: int) -> str:
    """Run tests against a changed module in a process of its own, and return one of the four outcomes.

    `seconds` is the processor time after which the process is ended.
    """
    child = os.fork()
    if child == 0:
        _run_tests(name, path, tree, tests, seconds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return TOO_LONG
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code == EXIT_BY_OUTCOME[SURVIVED]:
        return SURVIVED
    return BROKEN if exit_code == EXIT_BY_OUTCOME[BROKEN] else KILLED


def _run_tests(name: str, path: Path, tree: ast.Module, tests: Sequence[str], seconds: int) -> None:
    """Run tests and leave the process with an exit code.

    0 if all passed, 1 if one failed or none could begin, 3 if there are none.
    """
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    sys.meta_path.insert(0, MutatedModule(name, path, tree))
    code = 1
    try:
        code = int(pytest.main([*OPTIONS, *tests]))
    finally:
        no_tests = code in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR)
        os._exit(EXIT_BY_OUTCOME[BROKEN] if no_tests else min(code, 1))


def prepare() -> None:
    """Import what every test imports, so that child processes need not, and keep arithmetic in one thread."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[variable] = "1"
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    from scipy import optimize, signal, special, stats  # noqa: F401


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def drawn_sample(mutants: Sequence[Mutant], sample: int | None, seed: int) -> list[Mutant]:
    """Draw `sample` mutants at random, in the order of lines, or return all if it is None or too many."""
    if sample is None or sample >= len(mutants):
        return list(mutants)
    indices = random.Random(seed).sample(range(len(mutants)), sample)
    return [mutants[index] for index in sorted(indices)]


def try_module(name: str, tests: Sequence[str], sample: int | None, seed: int, seconds: int) -> tuple[int, int]:
    """Try a sample of a module's mutants, print survivors, and return the numbers killed and tried.

    Raises SystemExit if the tests fail without any change, or if there are none.
    """
    path = ROOT / "src" / "winokit" / f"{name}.py"
    module = "winokit." + name.replace("/", ".")
    source = path.read_text("utf-8")
    if outcome_of(module, path, ast.parse(source), tests, 10 * seconds) != SURVIVED:
        raise SystemExit(f"{name}: its tests fail without any change: {' '.join(tests)}")
    mutants = list(mutants_of(source))
    tried = drawn_sample(mutants, sample, seed)
    killed = 0
    for mutant in tried:
        outcome = outcome_of(module, path, mutant.tree, tests, seconds)
        if outcome == BROKEN:
            raise SystemExit(f"{name}: no tests were found: {' '.join(tests)}")
        if outcome == SURVIVED:
            say(f"  survived: {name}.py:{mutant}")
        else:
            killed += 1
    say(f"{name}: {killed} of {len(tried)} killed, {killed / len(tried):.0%} ({len(mutants)} mutants)")
    return killed, len(tried)


def main() -> None:
    """Try the mutants of the named modules, and print how many were killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules, as in TARGETS; by default all of them")
    parser.add_argument("--sample", type=int, help="so many mutants of each module; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60, help="processor time for the tests of one mutant")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in TARGETS]
    if unknown:
        parser.error(f"no module named {unknown[0]!r}; known: {', '.join(TARGETS)}")
    os.chdir(ROOT)
    prepare()
    killed = tried = 0
    for name in options.names or TARGETS:
        module_killed, module_tried = try_module(name, TARGETS[name], options.sample, options.seed, options.seconds)
        killed += module_killed
        tried += module_tried
    say(f"all: {killed} of {tried} killed, {killed / tried:.1%}")


if __name__ == "__main__":
    main()
