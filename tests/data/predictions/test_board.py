"""Boards are tables with the answers of many models, in the three shapes in which people publish them."""

import gzip

import numpy as np
import pytest

import winokit
from winokit.data.predictions.board import ItemNames, is_board, join_boards, read_board
from winokit.errors import BadInput


@pytest.fixture
def data():
    return winokit.load("open")


@pytest.fixture
def items(data):
    return ItemNames(data)


def write_board(folder, text, name="board.csv"):
    """Write a board, which is compressed if its name says so."""
    path = folder / name
    content = text.encode()
    if name.endswith(".gz"):
        content = gzip.compress(content)
    path.write_bytes(content)
    return path


def test_a_row_per_model_says_right_or_wrong(tmp_path, data, items):
    path = write_board(tmp_path, f"model,3,{data[0].id}\norg/a,1,0\nb,,1\n", "board.csv.gz")
    assert is_board(path, items)
    board = read_board(path, items)
    assert board.names == ("org/a", "b")
    org_choices, b_choices = board.choices[:, [3, 0]].tolist()
    assert org_choices == [data[3].answer, 1 - data[0].answer]
    assert b_choices == [-2, data[0].answer]
    assert (board.choices[:, 4:] == -2).all()


def test_a_row_per_item_has_choices_and_languages_are_noticed(tmp_path, items):
    path = write_board(tmp_path, "test_row0,en,af,zu\n0,2,1,\n1,1,1,2\n", "o1.csv")
    board = read_board(path, items)
    assert board.languages == ("en", "af", "zu")
    assert board.names[0] == "o1 in en"
    expected = [[1, 0], [0, 0], [-1, 1]]
    assert board.choices[:, :2].tolist() == expected
    _, languages = join_boards([(path, board)], items)
    assert languages["zu"].tolist() == [2]


def test_a_row_per_answer_is_a_board_too(tmp_path, items):
    path = write_board(tmp_path, "run,wsc_index0,choice\nx,0,2\nx,1,\ny,1,1.0\n")
    board = read_board(path, items)
    assert board.names == ("x", "y")
    choices = board.choices[:, :2].tolist()
    assert choices == [[1, -1], [-2, 0]]


@pytest.mark.parametrize(
    "text",
    ["id,prediction\n0,1\n", "id,prediction,answer\n0,1,2\n", "model,text,choice_text\na,b,c\n", "1\n2\n"],
    ids=["predictions", "predictions and answers", "texts", "labels"],
)
def test_predictions_of_one_model_are_no_board(tmp_path, items, text):
    path = write_board(tmp_path, text)
    assert not is_board(path, items)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model,0,1\na,1,2\n", "expected 1 for right, 0 for wrong"),
        ("model,0,1\na,1\n", "expected 3 cells, found 2"),
        ("model,0,1\na,1,1\na,0,0\n", "name of its own"),
        ("model,0,0,1\na,1,1,1\n", "two columns are about one item"),
        ("model,0,1\n", "no model"),
        ("row,a,b\n0,1,3\n", "expected a choice from 1 to 2, found '3'"),
        ("row,a,b\n9999,1,1\n", "no item '9999'"),
        ("run,row,choice\nx,0,1\nx,0,2\n", "two answers to item"),
    ],
)
def test_a_board_that_makes_no_sense_is_refused_in_one_line(tmp_path, items, text, reason):
    path = write_board(tmp_path, text)
    with pytest.raises(BadInput, match=reason):
        read_board(path, items)


def test_a_model_in_two_boards_is_one_and_must_not_contradict_itself(tmp_path, items):
    first = write_board(tmp_path, "model,0,1\na,1,0\n", "first.csv")
    second = write_board(tmp_path, "model,1,2\na,0,1\nb,1,1\n", "second.csv")
    boards = [(path, read_board(path, items)) for path in (first, second)]
    answers, _ = join_boards(boards, items)
    models = [scorer.model for scorer in answers.scorers]
    assert models == ["a", "b"]
    assert np.bincount(answers.scorer_index).tolist() == [3, 2]
    contradicting_path = write_board(tmp_path, "model,1,2\na,1,1\n", "other.csv")
    boards.append((contradicting_path, read_board(contradicting_path, items)))
    with pytest.raises(BadInput, match="otherwise than in an earlier file"):
        join_boards(boards, items)
