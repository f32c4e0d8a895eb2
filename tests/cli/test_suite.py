"""`winokit suite` as it is typed: exit codes, what is shown."""

import json

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.errors import BadInput, UnknownName

QUICK = ["--protocol", "accuracy", "--protocol", "groups", "--limit", "10", "--set", "cache=off"]


def typed(*words):
    return CliRunner().invoke(app, ["suite", *words])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["open", "--models", "random"], "--models is called --model now"),
        (["open", "--model", "random", "--scorings", "partial"], "--scorings is called --scoring now"),
        (["--model", "random", "--data", "open"], "--data: type DATA without it"),
    ],
)
def test_former_options_name_the_present_ones(words, said):
    error = typed(*words).exception
    assert isinstance(error, BadInput)
    assert str(error).startswith(said)


def test_several_models_meet_several_datasets(tmp_path):
    models = ["--model", "random", "--model", "random?seed=1"]
    result = typed("open", "synthetic-9", *models, *QUICK, "--out", str(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    cells = json.loads(result.stdout)["cells"]
    assert [(cell["model"], cell["state"]) for cell in cells] == [("random", "done")] * 2 + [
        ("random?seed=1", "done")
    ] * 2
    assert "suite 4 of 4: random?seed=1 on synthetic-9" in result.stderr


def test_a_file_says_it_all(tmp_path):
    file = tmp_path / "suite.toml"
    file.write_text('models = ["random"]\ndata = ["open"]\nlimit = 10\nprotocol = ["accuracy"]')
    result = typed(str(file), "--set", "cache=off", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert f"page: {tmp_path / 'out' / 'index.html'}" in result.stdout


def test_a_failed_cell_makes_the_exit_code_1(tmp_path):
    result = typed(
        "open", "--model", "random", "--model", "builtin", "--scoring", "partial", *QUICK, "--out", str(tmp_path)
    )
    assert result.exit_code == 1
    assert "failed: builtin on open, 10 of 428: scoring 'partial' does not fit 'builtin'" in result.stdout
    assert (tmp_path / "index.html").exists()


def test_a_dry_run_prices_the_whole():
    result = typed("open", "synthetic-9", "--model", "builtin", *QUICK, "--dry-run", "--set", "price_in=2")
    assert result.exit_code == 0, result.output
    assert "cost at most" in result.stdout
    assert "synthetic-9" in result.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["open", "--model", "random", "--model", "random"], BadInput),
        (["open", "--model", "rnadom"], UnknownName),
        (["missing.jsonl", "--model", "random"], BadInput),
        (["missing.toml"], BadInput),
        ([], BadInput),
    ],
)
def test_bad_input_starts_nothing(words, error, tmp_path):
    result = typed(*words, "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, error)
    assert not (tmp_path / "out").exists()


def test_a_name_with_colons_stays_as_it_is(tmp_path):
    result = typed("open", "--model", "random?seed=1&name=tiny:m:large", *QUICK, "--out", str(tmp_path))
    assert "suite 1 of 1: tiny:m:large on open" in result.stderr
