"""The house is as its plan says: names are used once, the documents name what is there, the wheel has every file."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import winokit

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "winokit"
SOURCES = [SRC, ROOT / "collect" / "src" / "winokit_collect"]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))),
]
METHODS = re.findall(
    r"^\| (.+?) \| (\w+).*? \| .+? \| `(.+?)` \|$", (ROOT / "docs/methods.md").read_text("utf-8"), re.MULTILINE
)


def test_a_class_name_is_used_once():
    homes = defaultdict(list)
    for path in [path for source in SOURCES for path in source.rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_the_map_has_twenty_methods_and_more():
    assert len(METHODS) >= 20


@pytest.mark.parametrize(("method", "author", "file"), METHODS, ids=[method for method, _, _ in METHODS])
def test_a_method_has_a_file_whose_head_names_its_paper(method, author, file):
    head = ast.get_docstring(ast.parse((SRC / file).read_text("utf-8")))
    assert author in head


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_tree_of_a_page_is_the_folder(page):
    block = re.search(r"```text\nsrc/winokit/\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL).group(1)
    room = ""
    shown = {"": set()}
    for line in block.splitlines():
        if not line.startswith("  "):
            break
        name = line.split()[0]
        if line.startswith("    "):
            shown[room].add(name.rstrip("/"))
        else:
            room = name.rstrip("/")
            shown[""].add(room)
            shown.setdefault(room, set())
    assert shown.pop("") == parts_of(SRC) - {"__init__.py", "__main__.py"}
    for room, parts in shown.items():
        if parts:
            assert parts == parts_of(SRC / room) - {"__init__.py"}, room


def parts_of(folder: Path) -> set[str]:
    """Modules and folders, without what Python leaves behind."""
    return {
        path.name
        for path in folder.iterdir()
        if path.name != "__pycache__" and (path.suffix == ".py" or (path.is_dir() and any(path.iterdir())))
    }


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_document_names_exist(page):
    text = (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"`((?:src/winokit/|collect/|benchmarks/|runs/|tools/|tests/|docs/)[\w/.-]*\w)`", text))
    rooms = "|".join(sorted(part for part in parts_of(SRC) if not part.endswith(".py")))
    named |= {f"src/winokit/{name}" for name in re.findall(rf"`((?:{rooms})/[\w/.-]*\w)`", text)}
    named |= {f"collect/src/{name}" for name in re.findall(r"`(winokit_collect/[\w/.-]*\w)`", text)}
    assert not [name for name in sorted(named) if not (ROOT / name).exists() and not list(ROOT.glob(name))]


@pytest.mark.parametrize("page", PAGES)
def test_imports_that_a_document_shows_work(page):
    pytest.importorskip("torch")
    text = (ROOT / page).read_text("utf-8")
    for line in re.findall(r"^(?:>>> )?(from winokit[\w.]* import [\w, ]+)$", text, re.MULTILINE):
        exec(line, {})


def test_public_names_are_where_the_package_says():
    assert len(winokit.__all__) > 30
    for name in winokit.__all__:
        assert getattr(winokit, name).__name__ == name


def test_every_verb_of_the_command_line_is_a_call_of_the_library():
    verbs = {"load", "write", "stats", "check", "score", "embed", "audit", "compare", "debias", "train", "search"}
    verbs |= {"curve", "transfer", "hunt", "release", "verify", "grade", "report"}
    assert verbs <= set(winokit.__all__)


IMPORTERS = [
    path
    for folder in ("src", "collect/src", "tools", "benchmarks", "runs", "docs")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if re.search(r"^ *(import|from) onnxruntime", path.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", IMPORTERS, ids=[path.stem for path in IMPORTERS])
def test_whoever_imports_onnxruntime_turns_its_telemetry_off_first(path):
    before = re.split(r"^ *(?:import|from) onnxruntime", path.read_text("utf-8"), flags=re.MULTILINE)[0]
    assert 'os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")' in before
