"""`winokit grade` from the outside: its output, what it refuses, and the labels that it never shows."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from support import small
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.errors import BadInput

STATEMENT = ["--formalization", "mc-sent", "--training-data", "train_xl", "--trials", "10"]


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


@pytest.fixture
def five(release, tmp_path) -> Path:
    """A submission with a column for each size."""
    path = tmp_path / "five.lst"
    wrong_rows = [set(range(0, 28, step)) for step in (2, 3, 4, 7, 14)]
    path.write_text(small.five_columns(small.answers(release), wrong_rows))
    return path


def run(*arguments: object):
    return CliRunner().invoke(app, ["grade", *map(str, arguments)])


def count_accuracies(output: dict) -> int:
    return [score["metric"] for score in output["scores"]].count("accuracy")


@pytest.fixture
def terminal(monkeypatch):
    """Let the command believe that a person sits at a terminal."""
    stream = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("winokit.cli.options.sys", SimpleNamespace(stdin=stream, stderr=stream))


def test_a_score_that_may_be_guessed_is_not_printed(release, five):
    result = run(release, five, *STATEMENT)
    assert result.exit_code == 0
    assert "not shown: the score is below 100.0\u00a0%" in result.output
    assert "the budget is 10, 3 per name" in result.output
    assert "92.9" not in result.output


def test_a_budget_that_is_spent_ends_in_one_line_and_the_owner_can_go_on(release, five):
    rows = five.read_text().splitlines()
    for number in range(3):
        five.write_text("\n".join([*rows[number:], *rows[:number]]))
        assert run(release, five, *STATEMENT).exit_code == 0
    assert run(release, five, *STATEMENT).exit_code == 0  # the same files again
    five.write_text("\n".join(reversed(rows)))
    result = run(release, five, *STATEMENT)
    assert isinstance(result.exception, BadInput)
    assert str(result.exception).startswith("the budget of this name is spent: 3 different submissions")
    assert run(release, five, *STATEMENT, "--budget", 16).exit_code == 0


def test_the_owner_sees_scores_with_intervals_and_chance(release, five):
    result = run(release, five, *STATEMENT, "--owner")
    assert result.exit_code == 0
    assert "28 test problems, 14 groups" in result.output
    assert "xl      accuracy         92.9\u00a0%" in result.output
    assert "curve   auc" in result.output
    assert "luck-corrected" in result.output
    assert "mc-sent; trained on train_xl; 10 trials" in result.output
    assert "1 submission graded on this test so far, 1 under this name" in result.output


def test_one_label_a_line_has_no_size_and_a_model_may_be_untrained(release, tmp_path):
    path = tmp_path / "one.lst"
    path.write_text("\n".join(small.labels_with(small.answers(release), set())))
    result = run(release, path, "--formalization", "partial", "--training-data", "none", "--trials", 1)
    assert "–       accuracy        100.0\u00a0%" in result.output
    assert "one: partial; not trained for the task; 1 trial" in result.output


def test_without_a_statement_it_grades_and_says_what_is_missing(release, five):
    result = run(release, five)
    assert result.exit_code == 0
    assert "without --formalization, --training-data, --trials" in result.output
    assert "luck-corrected" not in result.stdout


def test_an_entry_without_a_statement_is_refused_before_anything_is_graded(release, five, tmp_path):
    result = run(release, five, "--trials", 3, "--out", tmp_path / "graded.json")
    assert isinstance(result.exception, BadInput)
    assert str(result.exception) == "a leaderboard entry must say --formalization, --training-data"
    assert not (tmp_path / "graded.json").exists()
    assert not (tmp_path / "v1.hidden" / "log.jsonl").exists()


def test_a_person_is_asked(release, five, tmp_path, monkeypatch, terminal):
    answers = iter(["p-span", "none", 5])
    questions = []

    def answer_prompt(question: str, **_: object):
        questions.append(question.split(" (")[0])
        return next(answers)

    monkeypatch.setattr(typer, "prompt", answer_prompt)
    entry = tmp_path / "graded.json"
    result = run(release, five, "--out", entry)
    assert result.exit_code == 0
    assert questions == ["Formalization", "Training data", "Number of trials"]
    assert json.loads(entry.read_text())["statement"]["trials"] == 5


def test_nobody_is_asked_for_what_a_board_does_not_take(release, tmp_path, monkeypatch, terminal):
    monkeypatch.setattr(typer, "prompt", lambda question, **_: pytest.fail(question))
    assert "no entry of" in str(run(release, "--board", tmp_path).exception)


def test_json_has_everything_and_no_outcome(release, five, tmp_path):
    entry = tmp_path / "graded.json"
    output = json.loads(run(release, five, *STATEMENT, "--json", "--out", entry).stdout)
    assert output == json.loads(entry.read_text())
    assert output["statement"]["name"] == "five"
    assert count_accuracies(output) == 0


def test_json_for_the_owner_has_the_accuracy_of_each_size(release, five):
    output = json.loads(run(release, five, *STATEMENT, "--json", "--owner").stdout)
    assert count_accuracies(output) == 5


def test_labels_are_never_printed(release, five):
    result = run(release, five, *STATEMENT, "--json")
    answers = "".join(str(answer + 1) for answer in small.answers(release))
    labels_in_output = "".join(character for character in result.output if character in "12")
    assert answers not in labels_in_output
    assert "g26" not in result.output


def test_a_malformed_submission_names_file_and_line(release, five):
    five.write_text("7" + five.read_text()[1:])
    result = run(release, five)
    assert isinstance(result.exception, BadInput)
    assert str(result.exception).startswith(f"{five}:1: expected label 1 or 2, found '7'")


def test_the_board_is_written(release, five, tmp_path):
    page = tmp_path / "board.html"
    run(release, five, *STATEMENT, "--out", tmp_path / "graded" / "a.json")
    result = run(release, "--board", tmp_path / "graded", "--out", page)
    assert result.exit_code == 0
    assert "1 entry written to" in result.output
    assert "<table" in page.read_text()


@pytest.mark.parametrize(("options", "rank"), [((), None), (("--owner",), 1)], ids=["public", "owner"])
def test_json_of_the_board_has_the_rank_that_is_shown(release, five, tmp_path, options, rank):
    run(release, five, *STATEMENT, "--out", tmp_path / "graded" / "a.json")
    board = run(release, "--board", tmp_path / "graded", "--out", tmp_path / "b.html", "--json", *options)
    (place,) = json.loads(board.stdout)["places"]
    assert place["rank"] == rank


def test_the_board_takes_no_predictions(release, five, tmp_path):
    result = run(release, five, "--board", tmp_path)
    assert isinstance(result.exception, BadInput)
    assert "--board takes a folder" in str(result.exception)


def test_nothing_is_graded_where_the_entry_cannot_be_written(release, five, tmp_path):
    content = five.read_text()
    reasons = {
        five: "is an input, and would be overwritten",
        tmp_path: "a folder; an entry is a file",
        five / "x.json": "cannot be written",
    }
    for out, reason in reasons.items():
        result = run(release, five, *STATEMENT, "--out", out)
        assert isinstance(result.exception, BadInput)
        assert reason in str(result.exception)
    assert five.read_text() == content
    assert not (release.with_name("v1.hidden") / "log.jsonl").exists()


def test_the_board_does_not_take_the_place_of_an_entry(release, five, tmp_path):
    entry = tmp_path / "graded" / "a.json"
    run(release, five, *STATEMENT, "--out", entry)
    before = entry.read_text()
    assert "is an input" in str(run(release, "--board", entry.parent, "--out", entry).exception)
    assert entry.read_text() == before


def test_the_board_takes_no_statement(release, tmp_path):
    result = run(release, "--board", tmp_path, "--trials", 3)
    assert "--trials: an option for grading an entry" in str(result.exception)


def test_a_folder_that_is_not_there_is_named(five, tmp_path):
    assert str(run(tmp_path / "none", five).exception) == f"{tmp_path / 'none'}: no such folder"
