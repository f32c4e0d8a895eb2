"""`winokit suite` as it is typed: several values after an option, exit codes, what is shown."""

import json

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.cli.options import spread
from winokit.errors import BadInput, UnknownName

QUICK = ["--protocol", "accuracy", "groups", "--limit", "10", "--set", "cache=off"]


def typed(*words):
    return CliRunner().invoke(app, ["suite", *words])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--models a b --data c", "--models a --models b --data c"),
        ("--models a --models b", "--models a --models b"),
        ("file --limit 3 --models a b", "file --limit 3 --models a --models b"),
        ("--models=a b", "--models=a b"),
        ("--models a -- b c", "--models a -- b c"),
        ("--json --models a b --json", "--json --models a --models b --json"),
    ],
)
def test_a_greedy_option_is_repeated_before_each_of_its_values(words, found):
    assert spread(words.split(), ["--models", "--data"]) == found.split()


def test_several_models_and_datasets_follow_one_option(tmp_path):
    models, data = ["--models", "random", "random?seed=1"], ["--data", "open", "synthetic-9"]
    result = typed(*models, *data, *QUICK, "--out", str(tmp_path), "--json")
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
        "--models", "random", "builtin", "--data", "open", "--scorings", "partial", *QUICK, "--out", str(tmp_path)
    )
    assert result.exit_code == 1
    assert "failed: builtin on open, 10 of 428: scoring 'partial' does not fit 'builtin'" in result.stdout
    assert (tmp_path / "index.html").exists()


def test_a_dry_run_prices_the_whole():
    result = typed("--models", "builtin", "--data", "open", "synthetic-9", *QUICK, "--dry-run", "--set", "price_in=2")
    assert result.exit_code == 0, result.output
    assert "cost at most" in result.stdout
    assert "synthetic-9" in result.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--models", "random", "random", "--data", "open"], BadInput),
        (["--models", "rnadom", "--data", "open"], UnknownName),
        (["--models", "random", "--data", "missing.jsonl"], BadInput),
        (["missing.toml"], BadInput),
        ([], BadInput),
    ],
)
def test_bad_input_starts_nothing(words, error, tmp_path):
    result = typed(*words, "--out", str(tmp_path / "out"))
    assert isinstance(result.exception, error)
    assert not (tmp_path / "out").exists()


def test_a_name_with_colons_stays_as_it_is(tmp_path):
    models = ["--models", "random?seed=1&name=tiny:m:large"]
    result = typed(*models, "--data", "open", *QUICK, "--out", str(tmp_path))
    assert "suite 1 of 1: tiny:m:large on open" in result.stderr
