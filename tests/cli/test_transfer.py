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
from winokit.stages.transfer.run import transfer
from winokit.stages.transfer.selection import NamedData, TrainingArm

QUICK = ("--set", "steps=2", "--batch-size", 8, "--learning-rate", "1e-3")


def run(*arguments):
    """What the command printed; what the library refuses is raised."""
    found = CliRunner().invoke(app, ["transfer", *(str(argument) for argument in arguments)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


@pytest.fixture
def parts(tmp_path) -> dict[str, Path]:
    data = load("open")
    places = {"one": data[:20], "two": data[20:40], "choice": data[40:60], "target": data[60:100]}
    for name, part in places.items():
        write(Dataset(part, Card(name)), tmp_path / f"{name}.jsonl", "jsonl")
    return {name: tmp_path / f"{name}.jsonl" for name in places}


def test_arms_are_named_joined_and_put_in_sequence(bert, parts, tmp_path):
    out = tmp_path / "out"
    asked = (
        *("--train", f"first={parts['one']}", "--train", f"joined={parts['one']}+{parts['two']}"),
        *(
            "--train",
            f"turn={parts['one']}",
            "--train",
            f"turn={parts['two']}",
            "--test",
            f"T={parts['target']}",
            "--choose",
            parts["choice"],
        ),
        *("--model", bert, "--out", out, "--seed", 1, "--seed", 2, *QUICK),
    )
    shown = run(*asked)
    heads = [line.split()[0] for line in shown.stdout.splitlines()[2:5]]
    assert heads == ["first", "joined", "turn"]
    assert "| first |" in (out / "tables.md").read_text()
    assert (out / "report" / "index.html").exists()
    told = json.loads(run(*asked, "--json").stdout)
    assert told["run"]["arms"]["joined"] == ["one+two, 40"]
    assert told["run"]["arms"]["turn"] == ["one, 20", "two, 20"]
    assert told["run"]["chosen_on"] == {"T": "choice"}
    assert {row["subset"] for row in told["metrics"] if row["protocol"] == "choice"} == {"setting-1", "setting-2"}


def test_copa_and_winogender_are_tested_as_they_are(bert, parts, tmp_path, real_file):
    shown = run(
        *("--train", parts["one"], "--test", f"copa={real_file('copa/copa-test.xml')}"),
        *("--test", f"winogender={real_file('winogender/all_sentences.tsv')}", "--model", bert),
        *("--out", tmp_path / "out", *QUICK),
    )
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    found = {row["dataset"]: row["n"] for row in results["metrics"] if row["protocol"] == "accuracy"}
    assert found == {"copa": 500, "winogender": 720}
    assert "Gender, on winogender" in shown.stdout
    assert not any(row["metric"] == "abstained" and row["value"] == 1 for row in results["metrics"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--choose", "target"), "target, to choose on, overlaps target: 40 same, 0 near, 0 twin"),
        (("--choose", "T=target"), "target, to choose on, overlaps target: 40 same, 0 near, 0 twin"),
        (("--choose", "U=choice"), "no test set of that name; known: T"),
        (("--choose", "choice", "--choose", "two"), "several sets to choose on"),
        (("--choose", "papers"), "the papers have no rule for target"),
        (("--seed", "1", "--seed", "2"), "2 settings to choose from and nothing to choose on"),
        (("--set", "keep=best"), "weights to choose from and nothing to choose on"),
        (("--test", "T=two"), "two test sets named T"),
        (("--train", "one>two"), "have one name now: --train NAME="),
        (("--train", "nowhere.jsonl"), "no such file"),
    ],
)
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, said):
    named = [_placed(argument, parts) for argument in arguments]
    with pytest.raises(WinokitError, match=said) as refused:
        run("--train", parts["one"], "--test", f"T={parts['target']}", "--model", bert, "--out", tmp_path / "o", *named)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "o").exists()


def _placed(argument, parts):
    name, equals, data = argument.rpartition("=")
    head, arrow, tail = data.partition(">")
    return f"{name}{equals}{parts.get(head, head)}{arrow}{tail}"


def test_a_notebook_gives_datasets_and_arms_of_its_own(bert, parts, tmp_path):
    one, two, target = (load(parts[name]) for name in ("one", "two", "target"))
    arms = [one, TrainingArm("first, then second", (one, two))]
    found = transfer(train=arms, test=[NamedData("T", target)], model=bert, steps=2, out=tmp_path / "out")
    assert [(cell.arm, cell.test) for cell in found.cells] == [("one", "T"), ("first, then second", "T")]
    assert found.page == tmp_path / "out" / "report" / "index.html"
    assert found.page.exists()


def test_without_torch_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"winokit transfer needs .* pip install 'winokit\[train\]'"):
        run("--train", parts["one"], "--test", parts["two"])
