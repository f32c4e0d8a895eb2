"""`winokit score`, `embed`, `audit`, `compare` and `report` where something is in the way: one line, nothing lost."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.data.predictions.logs import EXAMPLES
from winokit.errors import WinokitError

ROOT = Path(__file__).parents[2]
runner = CliRunner()


def run(*arguments):
    """The command in this process, through the same door as the shell."""
    return runner.invoke(app, [str(argument) for argument in arguments])


def refused(*arguments):
    """What the command says when it refuses."""
    result = run(*arguments)
    assert isinstance(result.exception, WinokitError), result.output
    return str(result.exception)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of one's own to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "cache.sqlite"))
    return tmp_path


def labels(path, label, count=428):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{label}\n" * count)
    return path


def test_score_writes_over_its_own_predictions_only(here):
    data = here / "data.jsonl"
    run("convert", "open", data)
    before = data.read_bytes()
    assert "no predictions, and would be overwritten" in refused("score", data, "--model", "random", "--out", data)
    assert data.read_bytes() == before
    for model in ("random", "random?seed=1"):
        assert run("score", data, "--model", model, "--out", "p.jsonl").exit_code == 0
    assert json.loads((here / "p.jsonl").read_text().splitlines()[0])["model"] == "random?seed=1"


def test_a_cache_without_a_name_is_the_users_own(here):
    assert run("score", "open", "--limit", 2, "--model", "random", "--set", "cache=").exit_code == 0
    assert (here / "cache.sqlite").exists()


def test_score_says_at_once_that_out_is_a_folder(here):
    assert "a folder; name a file" in refused("score", "open", "--model", "python:nowhere:f", "--out", here)


def test_embed_writes_over_its_own_files_only(here):
    (here / "study.json").write_text('{"mine": true}')
    assert "study.json: not written by `winokit embed`" in refused(
        "embed", "open", "--model", "random", "--out", "study.npy"
    )
    assert (here / "study.json").read_text() == '{"mine": true}'
    (here / "notes.txt").write_text("mine")
    assert "notes.txt: not written by" in refused("embed", "open", "--model", "random", "--out", "notes.txt")
    for limit in (3, 5):
        assert run("embed", "open", "--model", "random", "--limit", limit, "--out", "x.npy").exit_code == 0
    assert len(np.load("x.npy")) == len(json.loads((here / "x.json").read_text())["ids"]) == 5


def test_embed_does_not_write_features_and_settings_into_one_file():
    assert "name a .npy file" in refused("embed", "open", "--model", "random", "--out", "x.json")


def test_audit_takes_the_place_of_an_audit_and_of_nothing_else(here):
    folder = here / "study"
    folder.mkdir()
    (folder / "predictions.jsonl").write_text("mine\n")
    asked = ("audit", "--limit", 20, "--protocol", "switching", "--out", folder)
    assert "predictions.jsonl: is not part of an audit" in refused(*asked, "--model", "random")
    (folder / "predictions.jsonl").unlink()
    (folder / "results.json").write_text('{"run": {"formalization": "mc-sent"}, "metrics": []}')
    assert "results.json: is not part of an audit" in refused(*asked, "--model", "random")
    (folder / "results.json").unlink()
    assert run(*asked, "--model", "random").exit_code == 0
    assert list((folder / "variants").iterdir())
    assert run(*asked, "--predictions", labels(here / "all.lst", 1)).exit_code == 0
    assert not list((folder / "variants").iterdir()), "variants that this audit does not have"


def test_audit_says_whose_audit_it_replaces(here):
    one = labels(here / "one.lst", 1)
    other = labels(here / "other.lst", 2)
    assert "replaced" not in run("audit", "open", "--predictions", one).stderr
    assert "replaced" not in run("audit", "open", "--predictions", one, "--predictions", other).stderr
    said = run("audit", "open", "--predictions", other).stderr
    assert "open: the audit of one.lst that was there is replaced; another --out keeps both" in said
    assert "the audit of other.lst that was there" in run("audit", "open", "--model", "random").stderr
    assert "the audit of random that was there" in run("audit", "open", "--predictions", one).stderr


def test_chance_beside_several_models_is_not_that_of_one_that_abstains(here):
    """Guessing with its abstentions gets less, and others would look better than they are."""
    shy = labels(here / "shy.lst", "?")
    shy.write_text("?\n1\n" * 214)
    said = run("audit", "open", "--predictions", labels(here / "one.lst", 1), "--predictions", shy).stdout
    (coin,) = [line for line in said.splitlines() if line.startswith(("a coin", "guessing"))]
    assert coin.split()[:4] == ["a", "coin", "50.0", "%"]


def test_audit_says_how_many_problems_have_no_prediction_and_which_protocol_found_nothing(here):
    run("score", "open", "--model", "random", "--limit", 6)
    result = run("audit", "--predictions", "predictions.jsonl", "--protocol", "accuracy", "--protocol", "switching")
    assert "random (own): no prediction for 422 of 428 problems" in result.stderr
    assert "protocol switching: the data and predictions have nothing for it" in result.stderr
    assert "protocol accuracy" not in result.stderr


def test_the_luck_of_two_scorings_of_one_model_is_told_apart(here):
    result = run("audit", "--model", "random", "--scoring", "own", "--scoring", "partial", "--limit", 40, "--all")
    rows = json.loads((here / "runs/open/results.json").read_text())["metrics"]
    first, second = (f"{100 * row['value']:.0f}" for row in rows if row["metric"] == "p_chance")
    assert first != second
    assert [first, second] == result.stdout.split("a coin scores this high")[1].replace("%", "").split()[:2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "open", "--model", "random", "--scoring", "partial", "--shots", 1),
        ("audit", "--model", "random", "--limit", 4),
        ("compare", "one", "other"),
    ],
)
def test_a_seed_below_0_is_refused(arguments):
    words = ("--seed", -1) if arguments[0] == "compare" else ("--set", "seed=-1")
    result = run(*arguments, *words)
    assert result.exit_code != 0
    assert "seed" in f"{result.output}{result.exception}"


@pytest.mark.parametrize("verb", ["compare", "report"])
def test_a_file_is_no_run(verb, here):
    (here / "a.txt").write_text("x")
    assert "a.txt: no run there" in refused(verb, "a.txt")


@pytest.mark.parametrize("results", ['{"run": {}, "metrics": ["x"]}', '{"run": 5, "metrics": []}'])
def test_a_run_with_damaged_results_is_refused(results, here):
    run("audit", "--model", "random", "--limit", 4, "--protocol", "accuracy", "--out", "one")
    (here / "one/results.json").write_text(results)
    assert "not a run that can be read" in refused("report", "one")


def test_the_terminal_says_the_verdict_then_seven_rows_then_the_path(here):
    result = run("audit", "--limit", 40)
    shown = result.stdout.replace("\u00a0", " ").splitlines()
    assert shown[0].startswith("builtin on open")
    assert "of 40 problems right, as chance may get too (50.0 %); no score would usually have been found." in shown[0]
    table = shown[shown.index("") + 2 : -3]
    starts = [
        "Accuracy",
        "Pairs right",
        "Told apart",
        "Right way round",
        "Follows a switch",
        "Artifacts (",
        "Chance scores",
    ]
    assert all(line.startswith(start) for line, start in zip(table, starts, strict=True))
    assert shown[-2:] == ["Every row: --all", "Full report: runs/open/report/index.html"]
    every = run("audit", "--limit", 40, "--all").stdout
    assert len(every.splitlines()) > len(shown) + 15
    assert "--all" not in every


def test_bundled_predictions_are_audited_beside_a_model_in_one_table(here):
    result = run("audit", "open", "--model", "random", "--predictions", "examples")
    models = sorted(path.name.removesuffix(".jsonl.gz") for path in EXAMPLES.glob("*.jsonl.gz"))
    shown = result.stdout.replace("\u00a0", " ").splitlines()
    rows = {line.split("  ")[0]: line for line in shown[shown.index("") :]}
    assert {"random", "a coin", *models} <= set(rows)
    assert rows["a coin"].split()[2::2] == ["50.0", "25.0", "50.0", "50.0", "50.0", "50.0"]
    headlines = [line for line in shown[: shown.index("")] if not line.startswith("  ")]  # causes are indented
    assert [line.partition(" on open: ")[0] for line in headlines] == ["random", *models]


def test_each_bundled_file_of_predictions_has_a_card_with_its_own_numbers():
    files = sorted(EXAMPLES.glob("*.jsonl.gz"))
    assert files
    for path in files:
        card = json.loads(path.with_name(path.name.replace(".jsonl.gz", ".card.json")).read_text("utf-8"))
        assert {"model", "licence", "source", "made_by"} <= set(card)
        run_of = winokit.audit("open", predictions=[path], protocol=["accuracy", "groups"])
        assert round(run_of.find("accuracy", "all", "accuracy").value, 4) == card["accuracy"]
        assert round(run_of.find("groups", "complete", "group_accuracy").value, 4) == card["group_accuracy"]
        assert card["dataset"] == f"open {run_of.dataset.content_hash}", "open has changed: make the predictions again"
        assert path.stat().st_size < 25_000


def test_predictions_of_a_run_on_another_machine_become_an_example(here, monkeypatch):
    run("score", "open", "--model", "random", "--out", "predictions.jsonl")
    spec = importlib.util.spec_from_file_location("make_examples", ROOT / "tools" / "make_examples.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    monkeypatch.setattr(tool, "FOLDER", here / "examples")
    about = ["--licence", "CC0-1.0", "--source", "a coin"]
    monkeypatch.setattr(sys, "argv", ["make_examples", "coin", "--from", "predictions.jsonl", *about])
    tool.main()
    card = json.loads((here / "examples" / "coin.card.json").read_text("utf-8"))
    (row,) = winokit.audit("open", predictions=["examples/coin.jsonl.gz"], protocol=["accuracy"]).metrics[:1]
    assert (row.model, round(row.value, 4)) == ("coin", card["accuracy"])
    assert card["licence"] == "CC0-1.0"
