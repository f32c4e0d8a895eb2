"""Tables that say whether they are right are checked against what is read, or read by their verdicts alone."""

import csv

import pytest
from support.reading import choice_number, choices_of, count_correct, is_right, read_only_part, with_source_ids

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.errors import BadInput


@pytest.fixture(scope="module")
def data():
    return with_source_ids(load("open")[:24], "idx", "p")


@pytest.fixture
def write_table(data, tmp_path):
    """Function that writes a table with an id and some columns, each a function of a row's index and its problem."""

    def write(**columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["idx", *columns])
            for index, problem in enumerate(data):
                cells = [cell_of(index, problem) for cell_of in columns.values()]
                table.writerow([f"p{index}", *cells])
        return path

    return write


def read_table(path, data, columns=None):
    """Read a table whose columns are guessed, or named as on the command line."""
    roles = checked_columns(columns) if columns else None
    return read_only_part(path, data, columns=roles)


def reply(index, problem):
    """Choice in words."""
    name = problem.candidates[choice_number(index, problem) - 1]
    return f"It must be {name}, I think."


def choice_or_reply(index, problem):
    """Number of the choice in even rows and the choice in words in others."""
    return reply(index, problem) if index % 2 else choice_number(index, problem)


def answer_number(index, problem):
    return problem.answer + 1


def split_name(index, problem):
    return "dev" if index < 6 else "test"


def test_a_file_that_says_other_things_of_its_rows_than_we_read_is_told_so(data, write_table):
    path = write_table(prediction=choice_number, correct=lambda index, problem: int(index % 4 != 0 or index < 8))
    part = read_table(path, data)
    assert count_correct(part) == 18
    assert "we read 18 right, the file says 20: 2 rows differ, the first: line 2" in part.notes[-1]


@pytest.mark.parametrize("words", [("1", "0"), ("True", "False"), ("1.0", "0.0"), ("correct", "incorrect")])
def test_a_file_that_says_the_same_of_its_rows_needs_no_note(data, write_table, words):
    right_word, wrong_word = words

    def verdict(index, problem):
        return right_word if is_right(index, problem) else wrong_word

    path = write_table(prediction=choice_number, is_correct=verdict)
    part = read_table(path, data)
    assert part.notes == []


def test_a_column_called_correct_may_have_the_answers(data, write_table):
    path = write_table(prediction=choice_number, correct=answer_number)
    part = read_table(path, data)
    assert count_correct(part) == 18
    assert part.notes == []


def test_of_rows_that_are_only_right_or_wrong_the_choice_is_known(data, write_table):
    path = write_table(gpt=is_right)
    part = read_table(path, data, "id=idx,correct=gpt")
    expected_choices = [choice_number(index, problem) - 1 for index, problem in enumerate(data)]
    assert choices_of(part) == expected_choices
    assert "in 24 rows only right or wrong is known" in part.notes[0]


def test_right_or_wrong_says_nothing_of_problems_without_answers(data, write_table):
    hidden = data.with_problems(problem.replace(answer=None, group=None) for problem in data)
    path = write_table(gpt=is_right)
    with pytest.raises(BadInput, match="nothing says what is"):
        read_table(path, hidden, "id=idx,correct=gpt")


def test_replies_are_read_in_three_other_ways_too(data, write_table):
    path = write_table(prediction=choice_or_reply)
    part = read_table(path, data)
    assert count_correct(part) == 18
    assert "of 24 replies 18 are right" in part.notes[0]
    assert "6 as exact labels, 6 by what they begin with (strict), 18 by the first option" in part.notes[0]
    assert "moves the number by 50.0 points" in part.notes[0]


def test_labels_have_one_reading(data, write_table):
    path = write_table(prediction=choice_number)
    part = read_table(path, data)
    assert part.notes == []


@pytest.mark.parametrize(
    ("columns", "row_count"),
    [
        ("where=Split=dev", 6),
        ("id=idx,prediction=prediction,where=split=DEV", 6),
        ("id=idx,prediction=prediction,where=Split=dev|test", 24),
    ],
)
def test_a_role_selects_rows(data, write_table, columns, row_count):
    path = write_table(Split=split_name, prediction=choice_number, note=lambda index, problem: "n")
    part = read_table(path, data, columns)
    assert len(part.predictions) == row_count


def test_a_selection_that_selects_nothing_says_what_there_is(data, write_table):
    path = write_table(Split=split_name, prediction=choice_number)
    with pytest.raises(BadInput, match="no row has 'train' in column 'Split'; there are dev, test"):
        read_table(path, data, "where=Split=train")
    with pytest.raises(BadInput, match="where: expected COLUMN=VALUE"):
        read_table(path, data, "where=Split")
