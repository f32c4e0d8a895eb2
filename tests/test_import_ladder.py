"""Imports point down the ladder of DESIGN only: between the rooms, between the floors of a room, and to winokit.extend.

A module that is named in a string, to be imported when it is asked for, counts as imported.
"""

import ast
import re
from collections.abc import Iterable
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
"""Modules of winokit that another package may import."""
MODULE = re.compile(r"winokit(\.[a-z_]+)+")


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Path of every module of a package, by its dotted name below the package."""
    paths = {}
    for path in root.rglob("*.py"):
        module_path = path.relative_to(root).with_suffix("")
        parts = [part for part in module_path.parts if part != "__init__"]
        paths[".".join(parts)] = path
    return paths


def names_in_room(module_names: Iterable[str], room: str) -> set[str]:
    """First names below a room, of modules given by their dotted names."""
    return {name.split(".")[1] for name in module_names if name.startswith(f"{room}.")}


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
    """Rung of every name of a ladder, from 0 at the bottom."""
    rung_of_name = {}
    for rung, names in enumerate(ladder):
        rung_of_name |= dict.fromkeys(names, rung)
    return rung_of_name


def misplaced(ladder: list[set[str]], below: str = "", root: Path = ROOT) -> list[str]:
    """Imports that point up, or sideways to another on the same rung.

    With `below`, the ladder is that of the floors of a room.
    """
    rung_of_name = rungs(ladder)
    wrong_imports = []
    prefix = f"{below}." if below else ""

    def name_on_ladder(module: str) -> str | None:
        if not module.startswith(prefix):
            return None
        first_name = module.removeprefix(prefix).split(".")[0]
        return first_name if first_name in rung_of_name else None

    for module, path in modules(root).items():
        source = name_on_ladder(module)
        if source is None:
            continue
        for target_module in imported(path, root.name):
            target = name_on_ladder(target_module)
            if target not in (None, source) and rung_of_name[target] >= rung_of_name[source]:
                wrong_imports.append(f"{module} imports {target_module}")
    return wrong_imports


def imports_of_winokit(code: str) -> set[str]:
    """Modules of winokit that code imports from; names in its `__all__` are of `winokit` itself."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if is_of_winokit(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module == "winokit":
            names |= {module_of_name(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and is_of_winokit(node.module):
            names.add(node.module)
    return names


def is_of_winokit(module: str) -> bool:
    return module.split(".")[0] == "winokit"


def module_of_name(name: str) -> str:
    """Module of a name that is imported from `winokit`."""
    return "winokit" if name in winokit.__all__ else f"winokit.{name}"


def test_every_module_has_its_place_on_the_ladder():
    first_names = {name.split(".")[0] for name in modules()}
    assert first_names - {"", "__main__"} == set().union(*ROOMS)
    for room, floors in FLOORS.items():
        assert names_in_room(modules(), room) == set().union(*floors)
    first_names_of_collect = {name.split(".")[0] for name in modules(COLLECT)}
    assert first_names_of_collect - {""} == set().union(*COLLECT_FLOORS)


def test_rooms_import_down():
    assert not misplaced(ROOMS)


def test_floors_of_a_room_import_down():
    for room, floors in FLOORS.items():
        assert not misplaced(floors, room)
    assert not misplaced(COLLECT_FLOORS, root=COLLECT)


def test_winokit_collect_imports_from_winokit_extend_alone():
    all_names = set()
    for path in modules(COLLECT).values():
        names = imports_of_winokit(path.read_text("utf-8"))
        assert names <= FOR_OTHERS, path
        all_names |= names
    assert all_names == FOR_OTHERS


def test_tests_of_winokit_collect_import_no_more_than_it_does_but_the_command():
    tests = COLLECT.parents[1] / "tests"
    names = set()
    for path in tests.rglob("*.py"):
        names |= imports_of_winokit(path.read_text("utf-8"))
    assert names == {*FOR_OTHERS, "winokit.cli.main"}


def test_the_library_knows_nothing_of_winokit_collect():
    names = [name for name, path in modules().items() if "winokit_collect" in path.read_text("utf-8")]
    assert names == ["extend"]


def test_an_import_of_a_module_is_seen_however_it_is_written():
    assert imports_of_winokit("from winokit.problem import Problem") == {"winokit.problem"}
    assert imports_of_winokit("from winokit import files, load") == {"winokit.files", "winokit"}
    assert imports_of_winokit("def f():\n    import winokit.errors") == {"winokit.errors"}
