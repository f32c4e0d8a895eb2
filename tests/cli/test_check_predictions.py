"""Predictions are read from a table, a frame or values: winokit.read_predictions, and check with --data."""

import csv
import json

import pytest
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.errors import BadInput


def run(*arguments):
    """The command in this process."""
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def data():
    return winokit.load("open")[:24]


@pytest.fixture
def table(data, tmp_path):
    """A table of replies: one abstains, one is about nothing, and two contradict each other."""
    path = tmp_path / "replies.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sentence", "model answer", "correct"])
        for index, problem in enumerate(data):
            reply = "Hm." if index == 3 else f"It must be {problem.right}."
            rows.writerow([problem.text, reply, 1])
        rows.writerow(["No such text has _ in it.", "It is nobody.", 0])
        contradicted = data[5]
        wrong_candidate = contradicted.candidates[1 - contradicted.answer]
        rows.writerow([contradicted.text, f"It must be {wrong_candidate}.", 0])
    return path


def test_read_predictions_returns_what_was_understood(table, data):
    understood = winokit.read_predictions(table, data)
    assert understood.roles == {"text": "sentence", "prediction": "model answer", "correct": "correct"}
    assert (understood.kind, understood.matched) == ("table", 23)
    assert len(understood.unmatched) == len(understood.abstentions) == len(understood.contradictions) == 1
    assert understood.abstentions[0].startswith(f"{data[3].id}: no answer could be read")
    assert understood.models[0].right == 22
    assert understood.readings["exact"] == 0
    assert any("we read 23 right, the file says 24: 1 row differs, the first: line 5" in n for n in understood.notes)


def test_a_frame_is_read_as_a_file_is(data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"sentence": [p.text for p in data], "gpt": [p.candidates[0] for p in data], "n": range(len(data))}
    )
    with pytest.raises(BadInput, match="prediction=gpt"):
        winokit.read_predictions(frame, data)
    understood = winokit.read_predictions(frame, data, columns="text=sentence,prediction=gpt")
    assert (understood.kind, understood.matched, understood.unmatched) == ("values in memory", 24, [])


def test_values_in_memory_are_understood_too(data):
    assert winokit.read_predictions([problem.answer + 1 for problem in data], data).models[0].right == 24


def test_several_files_are_refused(table, data):
    with pytest.raises(BadInput, match="one file, one data frame or the values of one model"):
        winokit.read_predictions([str(table), str(table)], data)


def test_a_notebook_shows_roles_and_counts(table, data):
    html = winokit.read_predictions(table, data)._repr_html_()
    assert "model answer" in html
    assert "23 of 24" in html


def test_check_prints_what_is_understood_of_predictions(table):
    result = run("check", str(table), "--data", "open")
    assert result.exit_code == 1  # a row is about no problem
    for count in ("prediction  model answer", "23 of 428", "1 unmatched", "1 abstentions", "1 contradictions"):
        assert count in result.output
    output = json.loads(run("check", str(table), "--data", "open", "--json").stdout)
    assert output["models"][0]["right"] == 22


def test_check_takes_the_columns_of_predictions(table):
    columns = "text=sentence,prediction=model answer"
    result = run("check", str(table), "--data", "open", "--prediction-columns", columns)
    assert "1 contradictions" in result.output


def test_check_takes_no_columns_without_data(table):
    columns = "text=sentence,prediction=model answer"
    result = run("check", "open", "--prediction-columns", columns)
    assert "name them with --data" in str(result.exception)
