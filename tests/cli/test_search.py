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
    """What the command printed; what the library refuses is raised."""
    found = CliRunner().invoke(app, ["search", *(str(argument) for argument in arguments)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, Path]:
    """The bundled twins in three files that have nothing in common, and one without answers."""
    folder = tmp_path_factory.mktemp("parts")
    data = load("open")
    places = {"train": data[:40], "dev": data[40:60], "test": data[60:80]}
    places["hidden"] = [problem.replace(answer=None) for problem in data[80:100]]
    for name, part in places.items():
        write(Dataset(part, Card(name)), folder / f"{name}.jsonl", "jsonl")
    return {name: folder / f"{name}.jsonl" for name in places}


@pytest.fixture(scope="module")
def asked(bert, parts, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "search"
    names = ("--formalization", "mc-sent", "--formalization", "mc-mlm?loss=margin")
    sets = ("--dev", parts["dev"], "--test", parts["test"], "--test", parts["hidden"])
    return (parts["train"], "--model", bert, *sets, *names, "--out", out, *QUICK), out


@pytest.fixture(scope="module")
def shown(asked):
    return run(*asked[0], "--set", "human=90").output


def test_a_search_prints_a_table_and_what_to_hold_it_against(asked, shown):
    lines = shown.splitlines()
    assert lines[0].split()[:3] == ["formalization", "trials", "degenerate"]
    assert [line.split()[:2] for line in lines[1:3]] == [["mc-sent", "2"], ["mc-mlm?loss=margin", "2"]]
    assert "dev: guessing 50.0\u00a0%, commonest answer 50.0\u00a0%, people 90.0\u00a0%" in shown
    assert "best of 4 trials" in shown
    assert f"page: {asked[1] / 'report' / 'index.html'}" in shown.replace("\n", "")


def test_the_folder_has_a_table_results_a_study_and_a_page(asked, shown):
    out = asked[1]
    for name in ("trials.csv", "results.json", "study.db", "report/index.html"):
        assert (out / name).stat().st_size > 500
    assert (out / "ensembles/mc-mlm-loss-margin/hidden.jsonl").read_text().count("\n") == 20


def test_json_has_the_run_and_the_rows(asked, shown):
    found = json.loads(run(*asked[0], "--json").stdout)
    assert found["run"]["formalizations"] == ["mc-sent", "mc-mlm?loss=margin"]
    assert {row["subset"] for row in found["metrics"]} == {"dev", "test"}
    assert [row["value"] for row in found["metrics"] if row["metric"] == "n_trials"] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--learning-rate", "fast"), "--learning-rate fast: expected numbers with commas between"),
        (("--set", "sampler=grid", "--epochs", "3..9"), "a grid needs single values"),
        (("--formalization", "mc-mln"), "Did you mean 'mc-mlm'"),
        (("--dev", "dev", "--holdout", "5"), "one dev set is enough"),
        (("--dev", "dev", "--test", "dev"), "dev, to choose on, overlaps dev: 20 same, 0 near, 0 twin"),
        ((), "a search needs a dev set"),
    ],
)
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, said):
    named = [str(parts.get(argument, argument)) for argument in arguments]
    with pytest.raises(WinokitError, match=said) as refused:
        run(parts["train"], "--model", bert, "--out", tmp_path / "out", *named)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_without_optuna_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: name != "optuna")
    with pytest.raises(MissingExtra, match=r"winokit search needs the 'train' extra: pip install 'winokit\[train\]'"):
        run(parts["train"])
