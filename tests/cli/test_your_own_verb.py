"""The verb of docs/your-own-verb.md, installed as the page says."""

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from winokit.cli import main
from winokit.errors import BadInput

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-verb.md").read_text("utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
ENTRY_POINT = re.search(r"(words = \"my_words:words\")", PAGE)[1].replace('"', "")


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """A call of `winokit words` with the package of the page installed."""
    package = tmp_path / "my_words-1.0.dist-info"
    package.mkdir()
    metadata = "Metadata-Version: 2.1\nName: my-words\nVersion: 1.0\nSummary: List special words.\n"
    (package / "METADATA").write_text(metadata)
    (package / "entry_points.txt").write_text(f"[winokit.commands]\n{ENTRY_POINT}\n")
    (tmp_path / "my_words.py").write_text(CODE, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_words", raising=False)
    main.other_commands.cache_clear()
    yield lambda *words: CliRunner().invoke(main.app, list(words), prog_name="winokit")
    main.other_commands.cache_clear()


def test_it_is_listed_and_has_help(typed):
    assert "words     List special words." in typed("--help").stdout
    output = typed("words", "--help").stdout
    assert "How many words to show." in output
    assert "x>=1" in output
    assert "--limit" in output


def test_it_shows_a_table_json_and_a_page(typed):
    assert "the commonest special words" in typed("words", "open", "--top", "3").stdout
    result = typed("words", "open", "--top", "3", "--json", "--out", "words.html")
    assert len(json.loads(result.stdout)["words"]) == 3
    assert "note: 0 problems have no twin" in result.stderr
    page = Path("words.html").read_text("utf-8")
    assert "Special words of open" in page
    assert "<th>word</th>" in page


def test_wrong_input_is_one_line(typed):
    assert isinstance(typed("words", "synthetic-3", "--limit", "1").exception, BadInput)
    assert typed("words", "open", "--top", "0").exit_code != 0
    assert "--top" in typed("words", "open", "--tp", "3").output


def test_a_command_that_is_no_verb_is_named(typed, tmp_path):
    (tmp_path / "my_words.py").write_text("words = 3\n")
    refused = typed("words", "open").exception
    assert isinstance(refused, BadInput)
    assert "command 'words': expected a verb" in str(refused)
