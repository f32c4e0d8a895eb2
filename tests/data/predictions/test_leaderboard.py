"""Right and wrong by position are joined in the order of the Open LLM Leaderboard v1, or refused with a reason."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from support.reading import read_only_part

import winokit
from winokit.data.predictions.board import ItemNames, is_board, read_board
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.leaderboard import DATASET, SIZE, leaderboard_rows
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.problem import Card, Dataset

BOARDS = Path(os.environ.get("WINOKIT_BOARDS") or Path(__file__).parents[4] / "shared" / "boards")


@pytest.fixture(scope="module")
def dev():
    """Dataset with the name of WinoGrande's dev set and as many problems."""
    problems = list(winokit.load(f"synthetic-{SIZE}"))
    return Dataset(problems[:SIZE], Card(DATASET))


def is_right(row):
    """1 if the model is right on this row of the dataset, counted from 0, else 0."""
    return int(row % 3 > 0)


RIGHT_ROWS = [bool(is_right(row)) for row in range(SIZE)]


@pytest.fixture
def verdicts(tmp_path):
    """Path of a table of nothing but right and wrong, in the order of the leaderboard."""
    path = tmp_path / "acc.csv"
    lines = "".join(f"org/a,{is_right(row)}\n" for row in leaderboard_rows())
    path.write_text("model,acc\n" + lines)
    return path


def test_the_order_is_that_of_the_shuffle_with_its_seed():
    assert leaderboard_rows()[:2] == (187, 719)
    assert sorted(leaderboard_rows()) == list(range(SIZE))


@pytest.mark.skipif(not BOARDS.is_dir(), reason="no real boards: set WINOKIT_BOARDS")
def test_the_order_is_that_of_the_file_which_was_checked_against_all_texts():
    with (BOARDS / "leaderboard_v1_order.csv").open() as file:
        dev_rows = {int(row["leaderboard_row1"]): int(row["dev_row0"]) for row in csv.DictReader(file)}
    rows_in_order = [dev_rows[number] for number in range(1, SIZE + 1)]
    assert rows_in_order == list(leaderboard_rows())


def test_rows_of_the_leaderboard_are_joined_in_its_order(dev, verdicts):
    part = read_only_part(verdicts, dev, columns=checked_columns("order=leaderboard-v1,correct=acc,model=model"))
    right_by_id = {row.id: row.prediction == row.answer for row in part.predictions}
    right_rows = [right_by_id[problem.id] for problem in dev]
    assert right_rows == RIGHT_ROWS


def test_right_and_wrong_by_position_are_refused_with_the_reason_and_both_ways_out(dev, verdicts):
    with pytest.raises(BadInput) as caught:
        read_predictions(verdicts, dev, columns=checked_columns("order=line,correct=acc"))
    message = str(caught.value)
    assert "join silently to other problems" in message
    assert "random.Random(42).shuffle(order)" in message
    assert "order=leaderboard-v1,correct=acc" in message
    assert "order=data" in message
    part = read_only_part(verdicts, dev, columns=checked_columns("order=data,correct=acc"))
    assert len(part.predictions) == SIZE


def test_without_columns_both_orders_are_proposed(dev, verdicts):
    with pytest.raises(BadInput) as caught:
        read_predictions(verdicts, dev)
    message = str(caught.value)
    assert "order=leaderboard-v1,correct=acc" in message
    assert "order=data,correct=acc" in message


def test_other_data_has_no_order_of_the_leaderboard_and_needs_none(verdicts, tmp_path):
    data = winokit.load("open")
    path = tmp_path / "acc.csv"
    lines = "".join(f"{row},{row % 2}\n" for row in range(len(data)))
    path.write_text("n,acc\n" + lines)
    with pytest.raises(BadInput, match=r"leaderboard-v1: expected winogrande/dev with its 1,267 rows, found open"):
        read_predictions(path, data, columns=checked_columns("order=leaderboard-v1,correct=acc"))
    part = read_only_part(path, data, columns=checked_columns("order=line,correct=acc"))
    assert len(part.predictions) == len(data)


def test_a_board_in_the_order_of_the_leaderboard_says_so_before_its_path(dev, tmp_path):
    items = ItemNames(dev)
    path = tmp_path / "board.csv"
    numbers = [str(number) for number in range(1, SIZE + 1)]
    cells = [str(is_right(row)) for row in leaderboard_rows()]
    path.write_text(f"model,{','.join(numbers)}\norg/a,{','.join(cells)}\n")
    assert is_board(path, items)
    with pytest.raises(BadInput, match=rf"no rows of winogrande/dev, which count from 0.*write leaderboard-v1:{path}"):
        read_board(path, items)
    versioned_path = type(path)(f"leaderboard-v1:{path}")
    assert is_board(versioned_path, items)
    answers = np.array([problem.answer for problem in dev])
    board = read_board(versioned_path, items)
    is_chosen_right = board.choices[0] == answers
    assert is_chosen_right.tolist() == RIGHT_ROWS
