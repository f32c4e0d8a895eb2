"""Imports point down the ladder of DESIGN only: between the rooms, and between the floors of a room.

A module that is named in a string, to be imported when it is asked for, counts as imported.
"""

import ast
import re
from pathlib import Path

import winokit

ROOT = Path(winokit.__file__).parent
ROOMS = [
    {"errors"},
    {"notebook"},
    {"units"},
    {"registry", "problem", "files", "results", "progress", "settings"},
    {"answers"},
    {"text", "models"},
    {"methods"},
    {"data"},
    {"drawing"},
    {"stages", "collect"},
    {"cli"},
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
            "tasks",
            "variants",
        },
        {"report", "compare", "search", "curve", "transfer", "release"},
        {"grade", "gate", "suite"},
        {"evolve"},
    ],
    "collect": [{"study"}, {"platforms"}, {"web"}, {"verbs"}, {"demo"}],
}
MODULE = re.compile(r"winokit(\.[a-z_]+)+")


def modules() -> dict[str, Path]:
    """Every module by its dotted name below winokit."""
    parts = {path: path.relative_to(ROOT).with_suffix("").parts for path in ROOT.rglob("*.py")}
    return {".".join(p for p in names if p != "__init__"): path for path, names in parts.items()}


def imported(path: Path) -> set[str]:
    """Modules below winokit that a file imports, wherever in the file, or names in a string of their own."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "winokit":
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("winokit.")}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            names.add(node.value)
    return {name.removeprefix("winokit.") for name in names}


def rungs(ladder: list[set[str]]) -> dict[str, int]:
    return {name: rung for rung, names in enumerate(ladder) for name in names}


def misplaced(ladder: list[set[str]], below: str = "") -> list[str]:
    """Imports that point up, or sideways to another on the same rung."""
    rung, wrong = rungs(ladder), []
    prefix = f"{below}." if below else ""
    for name, path in modules().items():
        own = name.removeprefix(prefix).split(".")[0]
        if not name.startswith(prefix) or own not in rung:
            continue
        for other in imported(path):
            target = other.removeprefix(prefix).split(".")[0]
            if other.startswith(prefix) and target in rung and target != own and rung[target] >= rung[own]:
                wrong.append(f"{name} imports {other}")
    return wrong


def test_every_module_has_its_place_on_the_ladder():
    assert {name.split(".")[0] for name in modules()} - {"", "__main__"} == set().union(*ROOMS)
    for room, floors in FLOORS.items():
        here = {name.split(".")[1] for name in modules() if name.startswith(f"{room}.")}
        assert here == set().union(*floors)


def test_rooms_import_down():
    assert not misplaced(ROOMS)


def test_floors_of_a_room_import_down():
    assert not [wrong for room, floors in FLOORS.items() for wrong in misplaced(floors, room)]
