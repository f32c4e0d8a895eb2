"""`winokit curve` from the outside: its sizes, its page, and what it refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("transformers")
from winokit.cli.main import app
from winokit.data.formats import write
from winokit.data.loading import load
from winokit.errors import MissingExtra, WinokitError
from winokit.problem import Card, Dataset
from winokit.stages.curve.run import curve

QUICK = ("--epochs", 1, "--set", "batch_size=8", "--learning-rate", "1e-3", "--restarts", 2)


def run(*arguments):
    """The command's result.

    Raises what the library raised.
    """
    result = CliRunner().invoke(app, ["curve", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def parts(tmp_path) -> dict[str, Path]:
    """Files with parts of the bundled twins, of which the small one begins the large one."""
    data = load("open")
    problems = {"small": data[:20], "large": data[:60], "dev": data[60:80], "test": data[80:120]}
    paths = {name: tmp_path / f"{name}.jsonl" for name in problems}
    for name, path in paths.items():
        write(Dataset(problems[name], Card(name)), path, "jsonl")
    return paths


def row_sizes(lines):
    """The training sizes in the table, without its head."""
    return [line.split()[0] for line in lines[1:4]]


def test_a_curve_prints_sizes_and_lines_and_leaves_a_page(bert, parts, tmp_path):
    out = tmp_path / "out"
    arguments = (parts["large"], "--model", bert, "--test", parts["test"], "--sizes", "0,8,all", "--out", out, *QUICK)
    result = run(*arguments)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["trained", "on", "mc-mlm,", "single", "mc-mlm,", "group"]
    assert row_sizes(lines) == ["0", "8", "60"]
    assert "·ln x" in result.stdout
    assert f"page: {out}/report/index.html" in result.stdout
    assert len((out / "points.csv").read_text().splitlines()) == 7
    output = json.loads(run(*arguments, "--json").stdout)
    assert output["run"]["sizes"] == [0, 8, 60]
    assert {row["protocol"] for row in output["metrics"]} == {"curve"}


def test_several_files_are_the_sizes_and_formalizations_are_compared(bert, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = (parts["small"], parts["large"], "--dev", parts["dev"], "--test", parts["test"])
    formalizations = ("--formalization", "mc-mlm", "--formalization", "mc-sent")
    steps = ("--steps", 2, *QUICK, "--restarts", 1)
    result = run(*files, "--model", bert, "--sizes", "0,files", *formalizations, *steps)
    assert row_sizes(result.stdout.splitlines()) == ["0", "20", "60"]
    assert "mc-sent, group" in result.stdout
    assert "restarts differ in head, dropout and order" in result.stderr
    assert (tmp_path / "runs" / "large-curve" / "results.json").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("large",), "needs a set to score"),
        (("large", "--test", "large"), "large, to train on, overlaps large: 60 same"),
        (("large", "--test", "test", "--sizes", "8,1000"), "a size of 1,000 was requested"),
        (("large", "--test", "test", "--sizes", "eight"), "whole numbers"),
        (
            ("large", "--test", "test", "--set", "human=0.94"),
            "human: expected 100 or less and a number above 1, found 0.94",
        ),
        (
            ("large", "--test", "test", "--set", "human_group=nan"),
            "human_group: expected 100 or less",
        ),
        (
            ("large", "--test", "test", "--formalization", "mc-mlm", "--formalization", "mc-mlm?loss=softmax"),
            r"formalizations: expected one or more, each once, found mc-mlm, mc-mlm\?loss=softmax",
        ),
        (("large", "small", "--test", "test"), "from small to large"),
        (("small", "large", "--test", "test", "--sizes", "8"), "the files are the sizes"),
    ],
)
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, reason):
    bad_arguments = [parts.get(argument, argument) for argument in arguments]
    with pytest.raises(WinokitError, match=reason) as refusal:
        run(*bad_arguments, "--model", bert, "--out", tmp_path / "out", *QUICK)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_a_number_out_of_bounds_is_refused_by_the_option_and_by_the_call(parts):
    with pytest.raises(WinokitError, match="seed: expected 0 or more, found -1"):
        run(parts["large"], "--seed", "-1")
    with pytest.raises(WinokitError, match="seed: expected 0 or more, found -1"):
        curve(parts["large"], seed=-1)


def test_a_notebook_calls_what_the_command_does(bert, parts, tmp_path):
    train = load(parts["large"])
    test = load(parts["test"])
    result = curve(train, model=bert, test=[test], sizes=(8, 60), restarts=1, epochs=1, out=tmp_path / "out")
    assert [point.size for point in result.points] == [8, 60]
    assert result.page == tmp_path / "out" / "report" / "index.html"
    assert result.page.exists()


def test_without_torch_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"winokit curve needs .* pip install 'winokit\[train\]'"):
        run(parts["large"])
