"""`winokit score`, `embed`, `audit`, `compare` and `report` overwrite nothing of others and refuse in one line."""

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


def refusal_of(*arguments):
    """The message with which the command refuses."""
    result = run(*arguments)
    assert isinstance(result.exception, WinokitError), result.output
    return str(result.exception)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of one's own to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "cache.sqlite"))
    return tmp_path


def write_labels(path, label):
    """Write the same label for each problem of the bundled twins, and return the path."""
    path.write_text(f"{label}\n" * 428)
    return path


def plain_lines(text):
    """Lines of the text, with ordinary spaces."""
    return text.replace("\u00a0", " ").splitlines()


def test_score_writes_over_its_own_predictions_only(here):
    data = here / "data.jsonl"
    run("convert", "open", data)
    before = data.read_bytes()
    assert "no predictions, and would be overwritten" in refusal_of("score", data, "--model", "random", "--out", data)
    assert data.read_bytes() == before
    for model in ("random", "random?seed=1"):
        assert run("score", data, "--model", model, "--out", "p.jsonl").exit_code == 0
    assert json.loads((here / "p.jsonl").read_text().splitlines()[0])["model"] == "random?seed=1"


def test_a_cache_without_a_name_is_the_users_own(here):
    assert run("score", "open", "--limit", 2, "--model", "random", "--set", "cache=").exit_code == 0
    assert (here / "cache.sqlite").exists()


def test_score_says_at_once_that_out_is_a_folder(here):
    assert "a folder; name a file" in refusal_of("score", "open", "--model", "python:nowhere:f", "--out", here)


def test_embed_writes_over_its_own_files_only(here):
    (here / "study.json").write_text('{"mine": true}')
    refusal = refusal_of("embed", "open", "--model", "random", "--out", "study.npy")
    assert "study.json: not written by `winokit embed`" in refusal
    assert (here / "study.json").read_text() == '{"mine": true}'
    (here / "notes.txt").write_text("mine")
    assert "notes.txt: not written by" in refusal_of("embed", "open", "--model", "random", "--out", "notes.txt")


def test_embed_writes_over_its_own_earlier_files(here):
    for limit in (3, 5):
        result = run("embed", "open", "--model", "random", "--limit", limit, "--out", "x.npy")
        assert result.exit_code == 0
    ids = json.loads((here / "x.json").read_text())["ids"]
    assert len(np.load("x.npy")) == len(ids) == 5


def test_embed_does_not_write_features_and_settings_into_one_file():
    assert "name a .npy file" in refusal_of("embed", "open", "--model", "random", "--out", "x.json")


def test_audit_takes_the_place_of_an_audit_and_of_nothing_else(here):
    folder = here / "study"
    folder.mkdir()
    (folder / "predictions.jsonl").write_text("mine\n")
    arguments = ("audit", "--limit", 20, "--protocol", "switching", "--out", folder)
    assert "predictions.jsonl: is not part of an audit" in refusal_of(*arguments, "--model", "random")
    (folder / "predictions.jsonl").unlink()
    (folder / "results.json").write_text('{"run": {"formalization": "mc-sent"}, "metrics": []}')
    assert "results.json: is not part of an audit" in refusal_of(*arguments, "--model", "random")
    (folder / "results.json").unlink()
    assert run(*arguments, "--model", "random").exit_code == 0
    assert list((folder / "variants").iterdir())
    assert run(*arguments, "--predictions", write_labels(here / "all.lst", 1)).exit_code == 0
    assert not list((folder / "variants").iterdir()), "variants that this audit does not have"


def test_audit_says_whose_audit_it_replaces(here):
    first = write_labels(here / "one.lst", 1)
    second = write_labels(here / "other.lst", 2)
    alone = run("audit", "open", "--predictions", first)
    both = run("audit", "open", "--predictions", first, "--predictions", second)
    second_alone = run("audit", "open", "--predictions", second)
    model = run("audit", "open", "--model", "random")
    first_again = run("audit", "open", "--predictions", first)
    assert "replaced" not in alone.stderr
    assert "replaced" not in both.stderr
    assert "open: the audit of one.lst that was there is replaced; another --out keeps both" in second_alone.stderr
    assert "the audit of other.lst that was there" in model.stderr
    assert "the audit of random that was there" in first_again.stderr


def test_chance_beside_several_models_is_not_that_of_one_that_abstains(here):
    """Guessing with its abstentions gets less, and others would look better than they are."""
    shy = write_labels(here / "shy.lst", "?")
    shy.write_text("?\n1\n" * 214)
    decided = write_labels(here / "one.lst", 1)
    output = run("audit", "open", "--predictions", decided, "--predictions", shy).stdout
    (chance_row,) = [line for line in output.splitlines() if line.startswith(("a coin", "guessing"))]
    assert chance_row.split()[:4] == ["a", "coin", "50.0", "%"]


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
    _, _, luck_row = result.stdout.partition("a coin scores this high")
    assert luck_row.replace("%", "").split()[:2] == [first, second]


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "open", "--model", "random", "--scoring", "partial", "--shots", 1),
        ("audit", "--model", "random", "--limit", 4),
        ("compare", "one", "other"),
    ],
)
def test_a_seed_below_0_is_refused(arguments):
    seed = ("--seed", -1) if arguments[0] == "compare" else ("--set", "seed=-1")
    result = run(*arguments, *seed)
    assert result.exit_code != 0
    assert "seed" in f"{result.output}{result.exception}"


@pytest.mark.parametrize("verb", ["compare", "report"])
def test_a_file_is_no_run(verb, here):
    (here / "a.txt").write_text("x")
    assert "a.txt: no run there" in refusal_of(verb, "a.txt")


@pytest.mark.parametrize("results", ['{"run": {}, "metrics": ["x"]}', '{"run": 5, "metrics": []}'])
def test_a_run_with_damaged_results_is_refused(results, here):
    run("audit", "--model", "random", "--limit", 4, "--protocol", "accuracy", "--out", "one")
    (here / "one/results.json").write_text(results)
    assert "not a run that can be read" in refusal_of("report", "one")


VERDICT_ROWS = [
    "Accuracy",
    "Pairs right",
    "Told apart",
    "Right way round",
    "Follows a switch",
    "Artifacts (",
    "Chance scores",
]


def test_the_terminal_says_the_verdict_then_seven_rows_then_the_path(here):
    lines = plain_lines(run("audit", "--limit", 40).stdout)
    verdict = lines[0]
    table_start = lines.index("") + 2
    table = lines[table_start:-3]
    assert verdict.startswith("builtin on open")
    assert "of 40 problems right, as chance may get too (50.0 %); no score would usually have been found." in verdict
    for row, title in zip(table, VERDICT_ROWS, strict=True):
        assert row.startswith(title)
    assert lines[-2:] == ["Every row: --all", "Full report: runs/open/report/index.html"]
    all_lines = run("audit", "--limit", 40, "--all").stdout.splitlines()
    assert len(all_lines) > len(lines) + 15
    assert "--all" not in "\n".join(all_lines)


def test_bundled_predictions_are_audited_beside_a_model_in_one_table(here):
    result = run("audit", "open", "--model", "random", "--predictions", "examples")
    models = sorted(path.name.removesuffix(".jsonl.gz") for path in EXAMPLES.glob("*.jsonl.gz"))
    lines = plain_lines(result.stdout)
    table_start = lines.index("")
    rows = {line.split("  ")[0]: line for line in lines[table_start:]}
    chances = rows["a coin"].split()[2::2]
    headlines = [line for line in lines[:table_start] if not line.startswith("  ")]  # causes are indented
    assert {"random", "a coin", *models} <= set(rows)
    assert chances == ["50.0", "25.0", "50.0", "50.0", "50.0", "50.0"]
    assert [line.partition(" on open: ")[0] for line in headlines] == ["random", *models]


def test_each_bundled_file_of_predictions_has_a_card_with_its_own_numbers():
    files = sorted(EXAMPLES.glob("*.jsonl.gz"))
    assert files
    for path in files:
        card_path = path.with_name(path.name.replace(".jsonl.gz", ".card.json"))
        card = json.loads(card_path.read_text("utf-8"))
        audit = winokit.audit("open", predictions=[path], protocol=["accuracy", "groups"])
        accuracy = audit.find("accuracy", "all", "accuracy").value
        group_accuracy = audit.find("groups", "complete", "group_accuracy").value
        assert {"model", "licence", "source", "made_by"} <= set(card)
        assert round(accuracy, 4) == card["accuracy"]
        assert round(group_accuracy, 4) == card["group_accuracy"]
        assert card["dataset"] == f"open {audit.dataset.content_hash}", "open has changed: make the predictions again"
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
