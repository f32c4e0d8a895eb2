"""`winokit.extend` has what other packages need under the names it lists, each imported when it is asked for."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from winokit import extend

ROOT = Path(__file__).parents[1]


def test_every_listed_name_is_there():
    pytest.importorskip("torch")
    assert [name for name in extend.__all__ if getattr(extend, name, None) is None] == []


def test_each_imported_name_is_listed_once():
    code = ast.parse(Path(extend.__file__).read_text("utf-8"))
    names = []
    for node in ast.walk(code):
        if isinstance(node, ast.ImportFrom) and "winokit" in str(node.module):
            names += [alias.asname or alias.name for alias in node.names]
    assert sorted(names) == sorted(extend.__all__)
    assert dir(extend) == sorted(extend.__all__)


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match=r"module 'winokit\.extend' has no attribute 'Trophy'"):
        _ = extend.Trophy


def test_the_names_are_those_of_the_library():
    from winokit.data.checks import rules
    from winokit.methods.aflite.methods import METHODS

    assert extend.twin_rules is rules
    assert extend.DEBIAS_METHODS is METHODS


def test_importing_it_imports_nothing_else():
    code = "import sys, winokit.extend; print(*sorted(m for m in sys.modules if m.startswith(('winokit', 'numpy'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["winokit", "winokit.extend"]


def test_every_name_is_used_by_winokit_collect_or_by_an_example():
    code = "".join(path.read_text("utf-8") for path in (ROOT / "collect").rglob("*.py"))
    for page in ("docs/extending.md", "docs/your-own-verb.md"):
        code += (ROOT / page).read_text("utf-8")
    assert [name for name in extend.__all__ if not re.search(rf"\b{name}\b", code)] == []
