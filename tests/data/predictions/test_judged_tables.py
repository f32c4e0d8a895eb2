"""Tables that say whether they are right: checked against what is read, or all that there is."""

import csv

import pytest

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput


@pytest.fixture(scope="module")
def data():
    problems = load("open")[:24]
    return problems.with_problems(p.replace(provenance={"idx": f"p{at}"}) for at, p in enumerate(problems))


@pytest.fixture
def written(data, tmp_path):
    def write(**columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["idx", *columns])
            for at, problem in enumerate(data):
                table.writerow([f"p{at}", *(cell(at, problem) for cell in columns.values())])
        return path

    return write


def one(path, data, columns=None):
    (read,) = read_predictions(path, data, columns=columns and checked_columns(columns))
    return read


def right(read):
    return sum(made.prediction == made.answer for made in read.predictions)


def choice(at, problem):
    """Right three times in four."""
    return 1 + (problem.answer if at % 4 else 1 - problem.answer)


def reply(at, problem):
    """A choice in words."""
    return f"It must be {problem.candidates[choice(at, problem) - 1]}, I think."


def test_a_file_that_says_other_things_of_its_rows_than_we_read_is_told_so(data, written):
    read = one(written(prediction=choice, correct=lambda at, problem: int(at % 4 != 0 or at < 8)), data)
    assert right(read) == 18
    assert "we read 18 right, the file says 20: 2 rows differ, the first: line 2" in read.notes[-1]


@pytest.mark.parametrize("words", [("1", "0"), ("True", "False"), ("1.0", "0.0"), ("correct", "incorrect")])
def test_a_file_that_says_the_same_of_its_rows_needs_no_note(data, written, words):
    read = one(written(prediction=choice, is_correct=lambda at, problem: words[at % 4 == 0]), data)
    assert read.notes == []


def test_a_column_called_correct_may_have_the_answers(data, written):
    read = one(written(prediction=choice, correct=lambda at, problem: problem.answer + 1), data)
    assert right(read) == 18
    assert read.notes == []


def test_of_rows_that_are_only_right_or_wrong_the_choice_is_known(data, written):
    path = written(gpt=lambda at, problem: int(at % 4 != 0))
    read = one(path, data, "id=idx,correct=gpt")
    assert [made.prediction for made in read.predictions] == [choice(at, p) - 1 for at, p in enumerate(data)]
    assert "in 24 rows only right or wrong is known" in read.notes[0]


def test_right_or_wrong_says_nothing_of_problems_without_answers(data, written):
    hidden = data.with_problems(problem.replace(answer=None, group=None) for problem in data)
    with pytest.raises(BadInput, match="nothing says what is"):
        one(written(gpt=lambda at, problem: int(at % 4 != 0)), hidden, "id=idx,correct=gpt")


def test_replies_are_read_in_three_other_ways_too(data, written):
    path = written(prediction=lambda at, problem: reply(at, problem) if at % 2 else choice(at, problem))
    read = one(path, data)
    assert right(read) == 18
    assert "of 24 replies 18 are right" in read.notes[0]
    assert "6 as exact labels, 6 by what they begin with (strict), 18 by the first option" in read.notes[0]
    assert "moves the number by 50.0 points" in read.notes[0]


def test_labels_have_one_reading(data, written):
    assert one(written(prediction=choice), data).notes == []


def test_a_role_selects_rows(data, written):
    path = written(
        Split=lambda at, problem: "dev" if at < 6 else "test", prediction=choice, note=lambda at, problem: "n"
    )
    assert len(one(path, data, "where=Split=dev").predictions) == 6
    assert len(one(path, data, "id=idx,prediction=prediction,where=split=DEV").predictions) == 6
    assert len(one(path, data, "id=idx,prediction=prediction,where=Split=dev|test").predictions) == 24


def test_a_selection_that_selects_nothing_says_what_there_is(data, written):
    path = written(Split=lambda at, problem: "dev" if at < 6 else "test", prediction=choice)
    with pytest.raises(BadInput, match="no row has 'train' in column 'Split'; there are dev, test"):
        one(path, data, "where=Split=train")
    with pytest.raises(BadInput, match="where: expected COLUMN=VALUE"):
        one(path, data, "where=Split")
