"""`winokit grade` from the outside: what it says, what it refuses, and what it never shows."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from support import small
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.errors import BadInput

SAID = ["--formalization", "mc-sent", "--training-data", "train_xl", "--trials", "10"]


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


@pytest.fixture
def five(release, tmp_path) -> Path:
    path = tmp_path / "five.lst"
    wrong = [set(range(0, 28, step)) for step in (2, 3, 4, 7, 14)]
    path.write_text(small.five_columns(small.answers(release), wrong))
    return path


def run(*arguments: object, **more):
    return CliRunner().invoke(app, ["grade", *(str(argument) for argument in arguments)], **more)


def test_a_score_that_may_be_guessed_is_not_printed(release, five):
    found = run(release, five, *SAID)
    assert found.exit_code == 0
    assert "not shown: the score is below 100.0\u00a0%" in found.output
    assert "the budget is 10, 3 per name" in found.output
    assert "92.9" not in found.output


def test_a_budget_that_is_spent_ends_in_one_line_and_the_owner_can_go_on(release, five):
    rows = five.read_text().splitlines()
    for number in range(3):
        five.write_text("\n".join([*rows[number:], *rows[:number]]))
        assert run(release, five, *SAID).exit_code == 0
    assert run(release, five, *SAID).exit_code == 0  # the same files again
    five.write_text("\n".join(reversed(rows)))
    found = run(release, five, *SAID)
    assert isinstance(found.exception, BadInput)
    assert str(found.exception).startswith("the budget of this name is spent: 3 different submissions")
    assert run(release, five, *SAID, "--budget", 16).exit_code == 0


def test_the_owner_sees_scores_with_intervals_and_chance(release, five):
    found = run(release, five, *SAID, "--owner")
    assert found.exit_code == 0
    assert "28 test problems, 14 groups" in found.output
    assert "xl      accuracy         92.9\u00a0%" in found.output
    assert "curve   auc" in found.output
    assert "luck-corrected" in found.output
    assert "mc-sent; trained on train_xl; 10 trials" in found.output
    assert "1 submission graded on this test so far, 1 under this name" in found.output


def test_one_label_a_line_has_no_size_and_a_model_may_be_untrained(release, tmp_path):
    (tmp_path / "one.lst").write_text("\n".join(small.labels_with(small.answers(release), set())))
    found = run(release, tmp_path / "one.lst", "--formalization", "partial", "--training-data", "none", "--trials", 1)
    assert "–       accuracy        100.0\u00a0%" in found.output
    assert "one: partial; not trained for the task; 1 trial" in found.output


def test_without_a_statement_it_grades_and_says_what_is_missing(release, five):
    found = run(release, five)
    assert found.exit_code == 0
    assert "without --formalization, --training-data, --trials" in found.output
    assert "luck-corrected" not in found.stdout


def test_an_entry_without_a_statement_is_refused_before_anything_is_graded(release, five, tmp_path):
    found = run(release, five, "--trials", 3, "--out", tmp_path / "graded.json")
    assert isinstance(found.exception, BadInput)
    assert str(found.exception) == "a leaderboard entry must say --formalization, --training-data"
    assert not (tmp_path / "graded.json").exists()
    assert not (tmp_path / "v1.hidden" / "log.jsonl").exists()


def test_a_person_is_asked(release, five, tmp_path, monkeypatch):
    answers = iter(["p-span", "none", 5])
    asked = []

    def prompt(question: str, **more):
        asked.append(question)
        return next(answers)

    monkeypatch.setattr(typer, "prompt", prompt)
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("winokit.cli.options.sys", SimpleNamespace(stdin=terminal, stderr=terminal))
    found = run(release, five, "--out", tmp_path / "graded.json")
    assert found.exit_code == 0
    assert [question.split(" (")[0] for question in asked] == ["Formalization", "Training data", "Number of trials"]
    assert json.loads((tmp_path / "graded.json").read_text())["statement"]["trials"] == 5


def test_nobody_is_asked_for_what_a_board_does_not_take(release, tmp_path, monkeypatch):
    monkeypatch.setattr(typer, "prompt", lambda question, **more: pytest.fail(question))
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("winokit.cli.options.sys", SimpleNamespace(stdin=terminal, stderr=terminal))
    assert "no entry of" in str(run(release, "--board", tmp_path).exception)


def test_json_has_everything_and_no_outcome(release, five, tmp_path):
    found = run(release, five, *SAID, "--json", "--out", tmp_path / "graded.json")
    told = json.loads(found.stdout)
    assert told == json.loads((tmp_path / "graded.json").read_text())
    assert told["statement"]["name"] == "five"
    assert [score["metric"] for score in told["scores"]].count("accuracy") == 0
    owner = json.loads(run(release, five, *SAID, "--json", "--owner").stdout)
    assert [score["metric"] for score in owner["scores"]].count("accuracy") == 5


def test_labels_are_never_printed(release, five):
    found = run(release, five, *SAID, "--json")
    answers = "".join(str(answer + 1) for answer in small.answers(release))
    squeezed = "".join(character for character in found.output if character in "12")
    assert answers not in squeezed
    assert "g26" not in found.output


def test_a_malformed_submission_names_file_and_line(release, five):
    five.write_text("7" + five.read_text()[1:])
    found = run(release, five)
    assert isinstance(found.exception, BadInput)
    assert str(found.exception).startswith(f"{five}:1: expected label 1 or 2, found '7'")


def test_the_board_is_written(release, five, tmp_path):
    run(release, five, *SAID, "--out", tmp_path / "graded" / "a.json")
    found = run(release, "--board", tmp_path / "graded", "--out", tmp_path / "board.html")
    assert found.exit_code == 0
    assert "1 entry written to" in found.output
    assert "<table" in (tmp_path / "board.html").read_text()
    told = json.loads(run(release, "--board", tmp_path / "graded", "--out", tmp_path / "b.html", "--json").stdout)
    assert told["places"][0]["rank"] is None
    told = run(release, "--board", tmp_path / "graded", "--out", tmp_path / "b.html", "--json", "--owner")
    assert json.loads(told.stdout)["places"][0]["rank"] == 1


def test_the_board_takes_no_predictions(release, five, tmp_path):
    found = run(release, five, "--board", tmp_path)
    assert isinstance(found.exception, BadInput)
    assert "--board takes a folder" in str(found.exception)


def test_nothing_is_graded_where_the_entry_cannot_be_written(release, five, tmp_path):
    before = five.read_text()
    for out, said in (
        (five, "is an input, and would be overwritten"),
        (tmp_path, "a folder; an entry is a file"),
        (five / "x.json", "cannot be written"),
    ):
        found = run(release, five, *SAID, "--out", out)
        assert isinstance(found.exception, BadInput)
        assert said in str(found.exception)
    assert five.read_text() == before
    assert not (release.with_name("v1.hidden") / "log.jsonl").exists()


def test_the_board_does_not_take_the_place_of_an_entry(release, five, tmp_path):
    entry = tmp_path / "graded" / "a.json"
    run(release, five, *SAID, "--out", entry)
    before = entry.read_text()
    assert "is an input" in str(run(release, "--board", entry.parent, "--out", entry).exception)
    assert entry.read_text() == before


def test_the_board_takes_no_statement(release, tmp_path):
    assert "--trials: an option for grading an entry" in str(run(release, "--board", tmp_path, "--trials", 3).exception)


def test_a_folder_that_is_not_there_is_named(five, tmp_path):
    assert str(run(tmp_path / "none", five).exception) == f"{tmp_path / 'none'}: no such folder"
