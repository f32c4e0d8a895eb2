"""The order of the Open LLM Leaderboard v1: right and wrong by position are joined in it, or refused with a reason."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

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
    """As many problems as WinoGrande's dev set has, under its name."""
    return Dataset(list(winokit.load(f"synthetic-{SIZE}"))[:SIZE], Card(DATASET))


def is_right(row):
    """Whether a model is right on a row of the dataset, from 0."""
    return int(row % 3 > 0)


@pytest.fixture
def judged(tmp_path):
    """A table of nothing but right and wrong, in the order of the leaderboard."""
    path = tmp_path / "acc.csv"
    path.write_text("model,acc\n" + "".join(f"org/a,{is_right(row)}\n" for row in leaderboard_rows()))
    return path


def test_the_order_is_that_of_the_shuffle_with_its_seed():
    assert leaderboard_rows()[:2] == (187, 719)
    assert sorted(leaderboard_rows()) == list(range(SIZE))


@pytest.mark.skipif(not BOARDS.is_dir(), reason="no real boards: set WINOKIT_BOARDS")
def test_the_order_is_that_of_the_file_which_was_checked_against_all_texts():
    with (BOARDS / "leaderboard_v1_order.csv").open() as file:
        rows = {int(row["leaderboard_row1"]): int(row["dev_row0"]) for row in csv.DictReader(file)}
    assert [rows[number] for number in range(1, SIZE + 1)] == list(leaderboard_rows())


def test_rows_of_the_leaderboard_are_joined_in_its_order(dev, judged):
    (read,) = read_predictions(judged, dev, columns=checked_columns("order=leaderboard-v1,correct=acc,model=model"))
    right = {made.id: made.prediction == made.answer for made in read.predictions}
    assert [right[problem.id] for problem in dev] == [bool(is_right(row)) for row in range(SIZE)]


def test_right_and_wrong_by_position_are_refused_with_the_reason_and_both_ways_out(dev, judged):
    with pytest.raises(BadInput) as caught:
        read_predictions(judged, dev, columns=checked_columns("order=line,correct=acc"))
    said = str(caught.value)
    assert "join silently to other problems" in said
    assert "random.Random(42).shuffle(order)" in said
    assert "order=leaderboard-v1,correct=acc" in said
    assert "order=data" in said
    (read,) = read_predictions(judged, dev, columns=checked_columns("order=data,correct=acc"))
    assert len(read.predictions) == SIZE


def test_without_columns_both_orders_are_proposed(dev, judged):
    with pytest.raises(BadInput) as caught:
        read_predictions(judged, dev)
    assert "order=leaderboard-v1,correct=acc" in str(caught.value)
    assert "order=data,correct=acc" in str(caught.value)


def test_other_data_has_no_order_of_the_leaderboard_and_needs_none(judged, tmp_path):
    data = winokit.load("open")
    path = tmp_path / "acc.csv"
    path.write_text("n,acc\n" + "".join(f"{at},{at % 2}\n" for at in range(len(data))))
    with pytest.raises(BadInput, match=r"leaderboard-v1: expected winogrande/dev with its 1,267 rows, found open"):
        read_predictions(path, data, columns=checked_columns("order=leaderboard-v1,correct=acc"))
    (read,) = read_predictions(path, data, columns=checked_columns("order=line,correct=acc"))
    assert len(read.predictions) == len(data)


def test_a_board_in_the_order_of_the_leaderboard_says_so_before_its_path(dev, tmp_path):
    items = ItemNames(dev)
    path = tmp_path / "board.csv"
    numbers = range(1, SIZE + 1)
    cells = [str(is_right(leaderboard_rows()[number - 1])) for number in numbers]
    path.write_text(f"model,{','.join(map(str, numbers))}\norg/a,{','.join(cells)}\n")
    assert is_board(path, items)
    with pytest.raises(BadInput, match=rf"no rows of winogrande/dev, which count from 0.*write leaderboard-v1:{path}"):
        read_board(path, items)
    named = type(path)(f"leaderboard-v1:{path}")
    assert is_board(named, items)
    right = read_board(named, items).choices[0] == np.array([problem.answer for problem in dev])
    assert right.tolist() == [bool(is_right(row)) for row in range(SIZE)]
