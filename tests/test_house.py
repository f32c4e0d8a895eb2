"""Class names are used once, documents name files and imports that exist, and telemetry is off."""

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
    files_by_class = defaultdict(list)
    for source in SOURCES:
        for path in source.rglob("*.py"):
            for name in public_classes(path):
                files_by_class[name].append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in files_by_class.items() if len(files) > 1} == {}


def public_classes(path: Path) -> list[str]:
    """Names of the classes that a file defines, without those with an underscore in front."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def test_the_map_has_twenty_methods_and_more():
    assert len(METHODS) >= 20


@pytest.mark.parametrize(("method", "author", "file"), METHODS, ids=[method for method, _, _ in METHODS])
def test_a_method_has_a_file_whose_head_names_its_paper(method, author, file):
    module = ast.parse((SRC / file).read_text("utf-8"))
    assert author in ast.get_docstring(module)


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_tree_of_a_page_is_the_folder(page):
    text = (ROOT / page).read_text("utf-8")
    block = re.search(r"```text\nsrc/winokit/\n(.*?)```", text, re.DOTALL).group(1)
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
    """Names of the modules and folders in a folder, without empty ones and `__pycache__`."""
    names = set()
    for path in folder.iterdir():
        is_full_folder = path.is_dir() and any(path.iterdir())
        if path.suffix == ".py" or is_full_folder:
            names.add(path.name)
    return names - {"__pycache__"}


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_document_names_exist(page):
    text = (ROOT / page).read_text("utf-8")
    names = set(re.findall(r"`((?:src/winokit/|collect/|benchmarks/|runs/|tools/|tests/|docs/)[\w/.-]*\w)`", text))
    rooms = "|".join(sorted(part for part in parts_of(SRC) if not part.endswith(".py")))
    names |= {f"src/winokit/{name}" for name in re.findall(rf"`((?:{rooms})/[\w/.-]*\w)`", text)}
    names |= {f"collect/src/{name}" for name in re.findall(r"`(winokit_collect/[\w/.-]*\w)`", text)}
    for name in sorted(names):
        assert (ROOT / name).exists() or list(ROOT.glob(name)), name


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


def importers_of_onnxruntime() -> list[Path]:
    """Files that import onnxruntime, apart from tests."""
    paths = []
    for folder in ("src", "collect/src", "tools", "benchmarks", "runs", "docs"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if re.search(r"^ *(import|from) onnxruntime", path.read_text("utf-8"), re.MULTILINE):
                paths.append(path)
    return paths


IMPORTERS = importers_of_onnxruntime()


@pytest.mark.parametrize("path", IMPORTERS, ids=[path.stem for path in IMPORTERS])
def test_whoever_imports_onnxruntime_turns_its_telemetry_off_first(path):
    before_import, *_ = re.split(r"^ *(?:import|from) onnxruntime", path.read_text("utf-8"), flags=re.MULTILINE)
    assert 'os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")' in before_import
