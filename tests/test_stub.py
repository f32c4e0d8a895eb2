"""Type checkers and editors see the keywords that verbs really take."""

import json
import subprocess
import sys

import pytest
from support.pages_code import ROOT, write_package

from tools.make_stub import STUB, write_stub


def check_types(*paths, folder):
    """Errors that mypy finds in files, under the settings of the project, without the folder's path."""
    cache = ["--cache-dir", str(ROOT / ".mypy_cache")]
    command = [sys.executable, "-m", "mypy", *cache, *map(str, paths)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return [line.replace(f"{folder}/", "") for line in completed.stdout.splitlines() if ": error: " in line]


def test_the_stub_is_what_the_verbs_take():
    assert STUB.read_text("utf-8") == write_stub(), "`make docs` writes it again"


def test_python_of_readme_and_docs_has_the_types_it_shows_and_a_misspelt_keyword_is_named(tmp_path):
    package = write_package(tmp_path)
    (package / "misspelt.py").write_text('import winokit\n\nwinokit.audit("open", predicitons=["examples"])\n')
    errors = check_types(package, folder=tmp_path)
    assert len(errors) == 1, errors
    assert 'misspelt.py:3: error: Unexpected keyword argument "predicitons"' in errors[0]
    assert 'did you mean "predictions"' in errors[0]


def test_editors_see_the_types_of_these_pages_too(tmp_path):
    pytest.importorskip("basedpyright")
    package = write_package(tmp_path)
    (package / "misspelt.py").write_text('import winokit\n\nwinokit.audit("open", predicitons=["examples"])\n')
    command = [sys.executable, "-m", "basedpyright", "--outputjson", str(package)]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    diagnostics = json.loads(completed.stdout)["generalDiagnostics"]
    errors = [diagnostic["message"] for diagnostic in diagnostics if diagnostic["severity"] == "error"]
    assert errors == ['No parameter named "predicitons"']
