"""Imports point down the ladder of DESIGN only, and no package imports another on its own rung."""

import ast
from pathlib import Path

import winokit

ROOT = Path(winokit.__file__).parent
LADDER = [
    {"errors"},
    {"registry", "problem", "words", "names", "files", "garbage", "results"},
    {"catalogue", "planted"},
    {"known"},
    {"formats", "transforms", "metrics", "debias", "models"},
    {"measuring"},
    {"scoring", "hunting", "formalizations"},
    {"overlap"},
    {"checks"},
    {"loading"},
    {"predictions"},
    {"collect", "filtering", "training"},
    {"auditing"},
    {"report"},
    {"release"},
    {"cli"},
]
RUNG = {name: rung for rung, names in enumerate(LADDER) for name in names}


def imported(path: Path) -> set[str]:
    """First parts below winokit of what a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "winokit":
                names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("winokit.")}
    return names


def test_every_module_has_its_place_on_the_ladder():
    parts = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__", "__main__"} <= set(RUNG)


def test_imports_point_down():
    wrong = []
    for path in ROOT.rglob("*.py"):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if own in ("__init__", "__main__"):
            continue
        for name in imported(path) - {own, "__version__"}:
            if RUNG[name] >= RUNG[own]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong
