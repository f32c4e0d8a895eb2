"""`winokit release` from the outside: its table, its JSON, and what it refuses."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.formats import write
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


def run(*arguments):
    return CliRunner().invoke(app, ["release", *map(str, arguments)])


def test_a_table_of_splits_and_where_everything_is(tmp_path):
    result = run("open", "--out", tmp_path / "out", "--name", "open-wino")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["train_xl", "322", "322", "0", "161", "0"] in rows
    assert ["test", "64", "64", "0", "32", "0"] in rows
    assert f"answers and secret of the test: {tmp_path / 'out.hidden'}" in result.stdout


def test_json_has_counts_leaks_and_places(tmp_path):
    result = run("open", "--out", tmp_path / "out", "--json", "--dev", "10%", "--test", "30", "--sizes", "40,160")
    output = json.loads(result.stdout)
    splits = output["splits"]
    training_sets = [name for name in splits if name.startswith("train_")]
    assert splits["test"] == {"problems": 30, "kept": 30, "removed": 0, "groups": 15, "single": 0}
    assert training_sets == ["train_l", "train_xl", "train_debiased"]
    assert splits["train_l"]["problems"] == 40
    assert output["hidden"] == str(tmp_path / "out.hidden")
    assert all(crossing["repeated"] == {} for crossing in output["crossings"])


def test_a_secret_is_read_also_where_no_test_is_hidden(tmp_path):
    result = run("open", "--out", tmp_path / "out", "--test", "0", "--set", f"secret={tmp_path}/lost")
    assert isinstance(result.exception, BadInput)
    assert "no such file; a lost secret" in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_missing_licence_is_said_on_standard_error(tmp_path):
    data = tmp_path / "mine.jsonl"
    write(Dataset(load("open"), Card("mine")), data)
    unlicensed = run(data, "--out", tmp_path / "out")
    assert "THE LICENCE IS NOT STATED" in unlicensed.stderr
    licensed = run(data, "--out", tmp_path / "out", "--licence", "CC BY 4.0")
    assert "LICENCE" not in licensed.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--dev", "many"], "dev: expected a share below 1 or a whole number of problems, found many"),
        (["--sizes", "1,x"], "--sizes 1,x: expected numbers with commas between"),
        (["--dev", "300", "--test", "200"], "leave nothing of 428 kept problems"),
        (["--dev", "nan"], "dev: expected a share below 1 or a whole number of problems, found nan"),
        (["--test", "inf"], "test: expected a share below 1 or a whole number of problems, found inf"),
        (["--dev", "0"], "dev: expected a number above 0, found 0"),
        (["--test", "1.5"], "test: expected a share below 1 or a whole number of problems, found 1.5"),
        (["--set", "date=2026-13-01"], "--set date: expected a date such as 2026-05-01, found '2026-13-01'"),
        (["--name", "a b"], "--name a b: expected a letter"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(arguments, reason, tmp_path):
    result = run("open", "--out", tmp_path / "out", *arguments)
    assert isinstance(result.exception, BadInput)
    assert reason in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_the_verb_starts_without_heavy_imports():
    code = "import sys, winokit.stages.release.run; print([m for m in ('pyarrow', 'mlcroissant') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
