"""Imports point down the ladder of DESIGN only: between the rooms, between the floors of a room, and to winokit.extend.

A module that is named in a string, to be imported when it is asked for, counts as imported.
"""

import ast
import re
from pathlib import Path

import winokit

COLLECT = Path(__file__).parents[1] / "collect" / "src" / "winokit_collect"
ROOT = Path(winokit.__file__).parent
ROOMS = [
    {"errors"},
    {"notebook"},
    {"units"},
    {"registry", "problem", "files", "results", "progress", "settings"},
    {"answers", "project"},
    {"text", "models"},
    {"methods"},
    {"data"},
    {"drawing"},
    {"stages"},
    {"cli"},
    {"extend"},
]
FLOORS = {
    "methods": [
        {"arrays", "cluster"},
        {"transforms", "metrics", "overlap"},
        {"aflite"},
        {"scoring"},
        {"formalizations", "hunting"},
        {"training"},
    ],
    "stages": [
        {
            "audit",
            "debias",
            "train",
            "score",
            "embed",
            "hunt",
            "stats",
            "check",
            "convert",
            "datasets",
        },
        {"report", "compare", "items", "search", "curve", "transfer", "release"},
        {"grade", "gate", "suite"},
        {"evolve"},
    ],
}
COLLECT_FLOORS = [{"study"}, {"platforms"}, {"extend", "web"}, {"rehearsal"}, {"verbs"}, {"commands", "demo"}]
FOR_OTHERS = {"winokit", "winokit.extend"}
"""What a package of its own may import of ours."""
MODULE = re.compile(r"winokit(\.[a-z_]+)+")


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of a package by its dotted name below it."""
    parts = {path: path.relative_to(root).with_suffix("").parts for path in root.rglob("*.py")}
    return {".".join(p for p in names if p != "__init__"): path for path, names in parts.items()}


def imported(path: Path, package: str = "winokit") -> set[str]:
    """Modules below a package that a file imports, wherever in the file, or names in a string of their own."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == package:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith(f"{package}.")}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            names.add(node.value)
    return {name.removeprefix(f"{package}.") for name in names}


def rungs(ladder: list[set[str]]) -> dict[str, int]:
    return {name: rung for rung, names in enumerate(ladder) for name in names}


def misplaced(ladder: list[set[str]], below: str = "", root: Path = ROOT) -> list[str]:
    """Imports that point up, or sideways to another on the same rung."""
    rung = rungs(ladder)
    wrong = []
    prefix = f"{below}." if below else ""
    for name, path in modules(root).items():
        own = name.removeprefix(prefix).split(".")[0]
        if not name.startswith(prefix) or own not in rung:
            continue
        for other in imported(path, root.name):
            target = other.removeprefix(prefix).split(".")[0]
            if other.startswith(prefix) and target in rung and target != own and rung[target] >= rung[own]:
                wrong.append(f"{name} imports {other}")
    return wrong


def imports_of_winokit(code: str) -> set[str]:
    """The modules of winokit that code imports from; what `winokit` itself lists is of `winokit`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "winokit"}
        elif isinstance(node, ast.ImportFrom) and node.module == "winokit":
            found |= {"winokit" if alias.name in winokit.__all__ else f"winokit.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "winokit":
            found.add(node.module)
    return found


def test_every_module_has_its_place_on_the_ladder():
    assert {name.split(".")[0] for name in modules()} - {"", "__main__"} == set().union(*ROOMS)
    for room, floors in FLOORS.items():
        here = {name.split(".")[1] for name in modules() if name.startswith(f"{room}.")}
        assert here == set().union(*floors)
    assert {name.split(".")[0] for name in modules(COLLECT)} - {""} == set().union(*COLLECT_FLOORS)


def test_rooms_import_down():
    assert not misplaced(ROOMS)


def test_floors_of_a_room_import_down():
    assert not [wrong for room, floors in FLOORS.items() for wrong in misplaced(floors, room)]
    assert not misplaced(COLLECT_FLOORS, root=COLLECT)


def test_winokit_collect_imports_from_winokit_extend_alone():
    found = {path: imports_of_winokit(path.read_text("utf-8")) for path in modules(COLLECT).values()}
    assert {str(path): names - FOR_OTHERS for path, names in found.items() if names - FOR_OTHERS} == {}
    assert set().union(*found.values()) == FOR_OTHERS


def test_tests_of_winokit_collect_import_no_more_than_it_does_but_the_command():
    tests = COLLECT.parents[1] / "tests"
    found = set().union(*(imports_of_winokit(path.read_text("utf-8")) for path in tests.rglob("*.py")))
    assert found == {*FOR_OTHERS, "winokit.cli.main"}


def test_the_library_knows_nothing_of_winokit_collect():
    assert [name for name, path in modules().items() if "winokit_collect" in path.read_text("utf-8")] == ["extend"]


def test_an_import_of_a_module_is_seen_however_it_is_written():
    assert imports_of_winokit("from winokit.problem import Problem") == {"winokit.problem"}
    assert imports_of_winokit("from winokit import files, load") == {"winokit.files", "winokit"}
    assert imports_of_winokit("def f():\n    import winokit.errors") == {"winokit.errors"}
