"""`winokit transfer` from the outside: its arms, its test sets, and what it refuses."""

import itertools
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
    """The command's result.

    Raises what the library raised.
    """
    result = CliRunner().invoke(app, ["transfer", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def parts(tmp_path) -> dict[str, Path]:
    """Files with parts of the bundled twins that have nothing in common."""
    data = load("open")
    problems = {"one": data[:20], "two": data[20:40], "choice": data[40:60], "target": data[60:100]}
    paths = {name: tmp_path / f"{name}.jsonl" for name in problems}
    for name, path in paths.items():
        write(Dataset(problems[name], Card(name)), path, "jsonl")
    return paths


def test_arms_are_named_joined_and_put_in_sequence(bert, parts, tmp_path):
    first = parts["one"]
    second = parts["two"]
    out = tmp_path / "out"
    arms = (f"first={first}", f"joined={first}+{second}", f"turn={first}", f"turn={second}")
    training = itertools.chain.from_iterable(("--train", arm) for arm in arms)
    testing = ("--test", f"T={parts['target']}", "--choose", parts["choice"])
    arguments = (*training, *testing, "--model", bert, "--out", out, "--seed", 1, "--seed", 2, *QUICK)

    result = run(*arguments)
    row_names = [line.split()[0] for line in result.stdout.splitlines()[2:5]]
    assert row_names == ["first", "joined", "turn"]
    assert "| first |" in (out / "tables.md").read_text()
    assert (out / "report" / "index.html").exists()

    output = json.loads(run(*arguments, "--json").stdout)
    settings = output["run"]
    chosen_from = {row["subset"] for row in output["metrics"] if row["protocol"] == "choice"}
    assert settings["arms"]["joined"] == ["one+two, 40"]
    assert settings["arms"]["turn"] == ["one, 20", "two, 20"]
    assert settings["chosen_on"] == {"T": "choice"}
    assert chosen_from == {"setting-1", "setting-2"}


def test_copa_and_winogender_are_tested_as_they_are(bert, parts, tmp_path, real_file):
    copa = real_file("copa/copa-test.xml")
    winogender = real_file("winogender/all_sentences.tsv")
    testing = ("--test", f"copa={copa}", "--test", f"winogender={winogender}")
    result = run("--train", parts["one"], *testing, "--model", bert, "--out", tmp_path / "out", *QUICK)
    metrics = json.loads((tmp_path / "out" / "results.json").read_text())["metrics"]
    problem_counts = {row["dataset"]: row["n"] for row in metrics if row["protocol"] == "accuracy"}
    abstained = [row["value"] for row in metrics if row["metric"] == "abstained"]
    assert problem_counts == {"copa": 500, "winogender": 720}
    assert "Gender, on winogender" in result.stdout
    assert 1 not in abstained


@pytest.mark.parametrize(
    ("arguments", "reason"),
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
def test_bad_input_is_one_clear_line(bert, parts, tmp_path, arguments, reason):
    out = tmp_path / "o"
    usual_arguments = ("--train", parts["one"], "--test", f"T={parts['target']}", "--model", bert, "--out", out)
    bad_arguments = [replace_part_name(argument, parts) for argument in arguments]
    with pytest.raises(WinokitError, match=reason) as refusal:
        run(*usual_arguments, *bad_arguments)
    assert "\n" not in str(refusal.value)
    assert not out.exists()


def replace_part_name(argument, parts):
    """The argument with the file in the place of the part's name.

    The name is the argument as a whole, or what follows "=" and precedes ">" in it.
    """
    name, equals, data = argument.rpartition("=")
    head, arrow, tail = data.partition(">")
    return f"{name}{equals}{parts.get(head, head)}{arrow}{tail}"


def test_a_notebook_gives_datasets_and_arms_of_its_own(bert, parts, tmp_path):
    first = load(parts["one"])
    second = load(parts["two"])
    test = NamedData("T", load(parts["target"]))
    arms = [first, TrainingArm("first, then second", (first, second))]
    result = transfer(train=arms, test=[test], model=bert, steps=2, out=tmp_path / "out")
    assert [(cell.arm, cell.test) for cell in result.cells] == [("one", "T"), ("first, then second", "T")]
    assert result.page == tmp_path / "out" / "report" / "index.html"
    assert result.page.exists()


def test_without_torch_the_extra_is_named(parts, monkeypatch):
    monkeypatch.setattr("winokit.methods.training.settings.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"winokit transfer needs .* pip install 'winokit\[train\]'"):
        run("--train", parts["one"], "--test", parts["two"])
