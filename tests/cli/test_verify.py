"""`winokit verify` from the outside: 0 where all is well, 1 with findings, an error where there is no release."""

import json
from pathlib import Path

import pytest
from support import small
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.errors import BadInput


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


def run(*arguments: object):
    return CliRunner().invoke(app, ["verify", *(str(argument) for argument in arguments)])


def test_a_release_as_it_should_be_returns_0(release):
    result = run(release)
    assert result.exit_code == 0
    assert "17 files verified" in result.output


def test_a_changed_file_returns_1_and_is_named(release):
    (release / "README.md").write_text("# other\n")
    result = run(release)
    assert result.exit_code == 1
    assert "README.md: changed" in result.output
    assert "1 finding" in result.output


def test_json_lists_findings(release):
    (release / "README.md").unlink()
    result = run(release, "--json")
    assert result.exit_code == 1
    assert [finding["dataset"] for finding in json.loads(result.stdout) if finding["warns"]] == ["README.md"]


def test_a_folder_that_is_no_release_is_an_error(tmp_path):
    result = run(tmp_path)
    assert isinstance(result.exception, BadInput)
    assert "no manifest.json" in str(result.exception)


def test_hidden_labels_can_stand_elsewhere(release, tmp_path):
    (tmp_path / "v1.hidden").rename(tmp_path / "safe")
    assert "match the release" in run(release, "--hidden", tmp_path / "safe").output
    assert isinstance(run(release, "--hidden", tmp_path / "none").exception, BadInput)
