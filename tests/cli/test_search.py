"""`winokit search` from the outside: its table, its folder, its JSON, and what it refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("optuna")
from winokit.cli.main import app
from winokit.data.formats import write
from winokit.data.loading import load
from winokit.errors import MissingExtra, WinokitError
from winokit.problem import Card, Dataset

QUICK = ("--trials", 2, "--set", "steps=4", "--learning-rate", "1e-4,3e-3", "--batch-size", "8,16", "--epochs", 1)


def run(*arguments):
    """The command's result.

    Raises what the library raised.
    """
    result = CliRunner().invoke(app, ["search", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, Path]:
    """The bundled twins in three files that have nothing in common, and one without answers."""
    folder = tmp_path_factory.mktemp("parts")
    data = load("open")
    problems = {"train": data[:40], "dev": data[40:60], "test": data[60:80]}
    problems["hidden"] = [problem.replace(answer=None) for problem in data[80:100]]
    paths = {name: folder / f"{name}.jsonl" for name in problems}
    for name, path in paths.items():
        write(Dataset(problems[name], Card(name)), path, "jsonl")
    return paths


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """The folder of the search."""
    return tmp_path_factory.mktemp("out") / "search"


@pytest.fixture(scope="module")
def search(bert, parts, out):
    """Arguments of a search over two formalizations."""
    names = ("--formalization", "mc-sent", "--formalization", "mc-mlm?loss=margin")
    sets = ("--dev", parts["dev"], "--test", parts["test"], "--test", parts["hidden"])
    return (parts["train"], "--model", bert, *sets, *names, "--out", out, *QUICK)


@pytest.fixture(scope="module")
def output(search):
    """The output of the search, which is done."""
    return run(*search, "--set", "human=90").output


def test_a_search_prints_a_table_and_what_to_hold_it_against(out, output):
    rows = [line.split() for line in output.splitlines()]
    assert rows[0][:3] == ["formalization", "trials", "degenerate"]
    assert rows[1][:2] == ["mc-sent", "2"]
    assert rows[2][:2] == ["mc-mlm?loss=margin", "2"]
    assert "dev: guessing 50.0\u00a0%, commonest answer 50.0\u00a0%, people 90.0\u00a0%" in output
    assert "best of 4 trials" in output
    assert f"page: {out / 'report' / 'index.html'}" in output.replace("\n", "")


@pytest.mark.usefixtures("output")
def test_the_folder_has_a_table_results_a_study_and_a_page(out):
    for name in ("trials.csv", "results.json", "study.db", "report/index.html"):
        assert (out / name).stat().st_size > 500
    assert (out / "ensembles/mc-mlm-loss-margin/hidden.jsonl").read_text().count("\n") == 20


@pytest.mark.usefixtures("output")
def test_json_has_the_run_and_the_rows(search):
    results = json.loads(run(*search, "--json").stdout)
    metrics = results["metrics"]
    trial_counts = [row["value"] for row in metrics if row["metric"] == "n_trials"]
    assert results["run"]["formalizations"] == ["mc-sent", "mc-mlm?loss=margin"]
    assert {row["subset"] for row in metrics} == {"dev", "test"}
    assert trial_counts == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--learning-rate", "fast"), "--learning-rate fast: expected numbers with commas between"),
        (("--set", "sampler=grid", "--epochs", "3..9"), "a grid needs single values"),
        (("--formalization", "mc-mln"), "Did you mean 'mc-mlm'"),
        (("--dev", "dev", "--holdout", "5"), "one dev set is enough"),
        (("--dev", "dev", "--test", "dev"), "dev, to choose on, overlaps dev: 20 same, 0 near, 0 twin"),
        ((), "a search needs a dev set"),
    ],
)
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, reason):
    bad_arguments = [parts.get(argument, argument) for argument in arguments]
    with pytest.raises(WinokitError, match=reason) as refusal:
        run(parts["train"], "--model", bert, "--out", tmp_path / "out", *bad_arguments)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_without_optuna_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: name != "optuna")
    with pytest.raises(MissingExtra, match=r"winokit search needs the 'train' extra: pip install 'winokit\[train\]'"):
        run(parts["train"])
