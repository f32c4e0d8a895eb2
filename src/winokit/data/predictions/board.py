"""Boards: one table with the answers of many models, as leaderboards and papers publish them.

Three shapes are read, told by their headings; `model` may be called `run` or `scorer`:

- items in columns: `model`, then a column per item; 1 is right, 0 is wrong, an empty cell was not asked;
- items in rows: `row` (or `id`, or a heading that ends in `_row0`), then a column per model; cells are choices from 1,
  an empty one is an abstention. Columns that are all language codes are one model in several languages;
- one answer a row: `model`, the item, the choice from 1; an empty choice is an abstention.

Items are named by their ids, by those of their source, or by their row in the dataset, counted from 0. Leaderboards may
have another order than the dataset: numbers that are not the dataset's rows join silently to the wrong problems. A path
that begins with `leaderboard-v1:` is a board whose numbers are rows of the Open LLM Leaderboard v1, counted from 1, and
numbers that can only be such are refused without it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from winokit.answers import ABSTAINED, Answers, AskedProblems, Scorer, original_id
from winokit.data.formats.source import DELIMITERS, HEAD_BYTES, Source, decode_head, read_bytes
from winokit.data.predictions.columns import LEADERBOARD
from winokit.data.predictions.leaderboard import (
    DATASET,
    REASON,
    check_leaderboard_data,
    has_leaderboard_order,
    leaderboard_rows,
)
from winokit.data.predictions.match import SOURCE_IDS
from winokit.errors import BadInput
from winokit.methods.arrays import IntArray, StateArray
from winokit.problem import Dataset

UNASKED = -2
"""The choice of a model that was not asked."""
MODELS = frozenset(("model", "models", "run", "scorer", "system"))
"""Headings of the column with the names of models."""
CHOICES = frozenset(("choice", "prediction", "chosen"))
"""Headings of the column with choices, in a table of one answer a row."""
ROW = re.compile(r"(?:.*_)?(?:row|index)0?|id|item", re.IGNORECASE)
"""Headings of the column that names items."""
ROLES = CHOICES | {"answer", "label", "gold", "text", "sentence", "option1", "option2", "reason", "score1", "score2"}
"""Headings that say that a table is about one model."""
PARAMETERS = ("a1", "d", "g", "u")
"""Headings of a bank, which has parameters of items and no answers."""
LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Z][A-Za-z]+)?")
MOST_CANDIDATES = 9
CELLS = {"1": 1, "0": 0, "1.0": 1, "0.0": 0, "true": 1, "false": 0, "": -1}
"""Cells of a board of right and wrong."""


@dataclass(frozen=True, eq=False)
class Board:
    """The choices of several models, a row each, of the labelled problems of a dataset."""

    names: tuple[str, ...]
    choices: StateArray
    languages: tuple[str, ...] = ()
    """The language that each answered in, if the board says it."""


class ItemNames:
    """Which labelled problem of a dataset a board means by a name."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.asked = AskedProblems.of(dataset)
        labelled = [place for place, problem in enumerate(dataset) if problem.answer is not None]
        self.size = len(dataset)
        self.row_of_place = {place: row for row, place in enumerate(labelled)}
        self.row_of_id: dict[str, int] = {}
        for row, problem in enumerate(self.asked.problems):
            self.row_of_id[original_id(problem)] = row
            for key in SOURCE_IDS:
                if key in problem.provenance:
                    self.row_of_id.setdefault(str(problem.provenance[key]), row)

    def is_item(self, name: str) -> bool:
        """Whether a name is an item's; a leaderboard counts from 1."""
        return name in self.row_of_id or (name.isdecimal() and int(name) <= self.size)

    def of_leaderboard(self) -> "ItemNames":
        """The same items, numbered as the Open LLM Leaderboard v1 has them."""
        check_leaderboard_data(self.dataset)
        return LeaderboardNames(self.dataset)

    def row(self, name: str, path: Path) -> int:
        """The row of an item among the labelled problems."""
        if name in self.row_of_id:
            return self.row_of_id[name]
        if name == str(self.size) and has_leaderboard_order(self.dataset):
            raise BadInput(
                f"{path}: item {name}: the numbers are no rows of {DATASET}, which count from 0: {REASON}; if they are "
                f"rows of that leaderboard, write {LEADERBOARD}:{path}"
            )
        if not name.isdecimal() or int(name) >= self.size:
            raise BadInput(f"{path}: no item {name!r}: expected an id, or a row from 0 to {self.size - 1:,}")
        place = int(name)
        if place not in self.row_of_place:
            raise BadInput(f"{path}: item {name}: its right answer is hidden, so right and wrong mean nothing")
        return self.row_of_place[place]


class LeaderboardNames(ItemNames):
    """Items by their rows on the Open LLM Leaderboard v1, counted from 1."""

    def row(self, name: str, path: Path) -> int:
        """The row of an item among the labelled problems."""
        if not name.isdecimal() or not 1 <= int(name) <= self.size:
            raise BadInput(f"{path}: no item {name!r}: expected a row of the leaderboard from 1 to {self.size:,}")
        return super().row(str(leaderboard_rows()[int(name) - 1]), path)


def parted_order(path: Path, items: ItemNames) -> tuple[Path, ItemNames]:
    """The path of a board without the order that stands before it, and the names of its items."""
    text = str(path)
    if not text.startswith(f"{LEADERBOARD}:"):
        return path, items
    return Path(text.removeprefix(f"{LEADERBOARD}:")), items.of_leaderboard()


def is_board(path: Path, items: ItemNames) -> bool:
    """Whether a file is a table of the answers of many models."""
    path, items = parted_order(path, items)
    if not path.is_file():
        return False
    text = decode_head(read_bytes(path, HEAD_BYTES))
    return shape_of(_split_headings(text), items) is not None


def _split_headings(text: str) -> list[str]:
    """The headings of a table, as its first line has them; the last one may be cut off."""
    first = text.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r")
    delimiter = max(DELIMITERS, key=first.count)
    return [cell.strip().strip('"') for cell in first.split(delimiter)]


def shape_of(headings: Sequence[str], items: ItemNames) -> str | None:
    """`columns`, `rows` or `long`, after where items are; None for other tables."""
    if len(headings) < 3:
        return None
    first, *others = headings
    if first.casefold() in MODELS:
        if len(headings) == 3 and others[1].casefold() in CHOICES:
            return "long"
        # The last heading may be cut off where only the beginning of a file was read.
        return "columns" if all(items.is_item(name) for name in others[:-1]) else None
    has_roles = any(name.casefold() in ROLES for name in others)
    is_bank = set(PARAMETERS) <= set(others)
    return "rows" if ROW.fullmatch(first) and not has_roles and not is_bank else None


def read_board(path: Path, items: ItemNames) -> Board:
    """Read the answers of many models from one table."""
    path, items = parted_order(path, items)
    rows = iter(Source(path).csv_rows())
    _, headings = next(rows)
    headings = [heading.strip() for heading in headings]
    shape = shape_of(headings, items)
    readers = {"columns": _read_columns, "rows": _read_rows, "long": _read_long}
    if shape is None:
        raise BadInput(f"{path}: expected a column `model` and a column per item, found {', '.join(headings[:4])}")
    board = readers[shape](path, headings, rows, items)
    if not board.names:
        raise BadInput(f"{path}: the table has no model")
    return board


def _read_columns(
    path: Path, headings: Sequence[str], rows: Iterable[tuple[int, list[str]]], items: ItemNames
) -> Board:
    """A board with a row per model: 1 for right, 0 for wrong."""
    columns = np.array([items.row(name, path) for name in headings[1:]], np.int64)
    if len(set(columns.tolist())) < len(columns):
        raise BadInput(f"{path}: two columns are about one item")
    names = []
    lines = []
    for line, cells in rows:
        if len(cells) != len(headings):
            raise BadInput(f"{path}, line {line}: expected {len(headings):,} cells, found {len(cells):,}")
        names.append(cells[0].strip())
        lines.append(_read_right_or_wrong(path, line, cells[1:]))
    _refuse_repeated(path, names)
    right = np.array(lines, np.int8).reshape(len(names), len(columns))
    answers = items.asked.answers[columns].astype(np.int8)
    are_two = items.asked.candidates[columns] == 2
    if not are_two.all():
        where = headings[1 + int(np.argmin(are_two))]
        raise BadInput(
            f"{path}: item {where} has more than two candidates: right or wrong does not say what was chosen"
        )
    given = np.where(right == 1, answers, 1 - answers)
    choices = np.full((len(names), len(items.asked)), UNASKED, np.int8)
    choices[:, columns] = np.where(right < 0, UNASKED, given)
    return Board(tuple(names), choices)


def _read_right_or_wrong(path: Path, line: int, cells: list[str]) -> StateArray:
    """The cells of a model as 1, 0, or -1 where it was not asked."""
    digits = "".join([cell or "-" for cell in cells])
    if len(digits) == len(cells):
        # Most boards have one character a cell: "-" is 45 and "0" is 48.
        numbers = np.frombuffer(digits.encode("latin-1", "replace"), np.uint8).astype(np.int8) - 48
        if np.isin(numbers, (0, 1, 45 - 48)).all():
            return np.where(numbers < 0, -1, numbers)
    found = [CELLS.get(cell.strip().casefold()) for cell in cells]
    if None in found:
        wrong = cells[found.index(None)]
        raise BadInput(f"{path}, line {line}: expected 1 for right, 0 for wrong or an empty cell, found {wrong!r}")
    return np.array(found, np.int8)


def _read_rows(path: Path, headings: Sequence[str], rows: Iterable[tuple[int, list[str]]], items: ItemNames) -> Board:
    """A board with a row per item and a column of choices per model."""
    models = list(headings[1:])
    _refuse_repeated(path, models)
    choices = np.full((len(models), len(items.asked)), UNASKED, np.int8)
    for line, cells in rows:
        if len(cells) != len(headings):
            raise BadInput(f"{path}, line {line}: expected {len(headings):,} cells, found {len(cells):,}")
        row = items.row(cells[0].strip(), path)
        for model, cell in enumerate(cells[1:]):
            choices[model, row] = _read_choice(path, line, cell, items, row)
    if all(LANGUAGE.fullmatch(name) for name in models):
        stem = path.name.partition(".")[0]
        return Board(tuple(f"{stem} in {name}" for name in models), choices, tuple(models))
    return Board(tuple(models), choices)


def _read_long(path: Path, headings: Sequence[str], rows: Iterable[tuple[int, list[str]]], items: ItemNames) -> Board:
    """A board with a row per answer: the model, the item, the choice."""
    numbers: dict[str, int] = {}
    found = []
    for line, cells in rows:
        if len(cells) != 3:
            raise BadInput(f"{path}, line {line}: expected 3 cells, found {len(cells):,}")
        name, item, cell = (each.strip() for each in cells)
        row = items.row(item, path)
        found.append((numbers.setdefault(name, len(numbers)), row, _read_choice(path, line, cell, items, row)))
    choices = np.full((len(numbers), len(items.asked)), UNASKED, np.int8)
    for model, row, choice in found:
        if choices[model, row] not in (UNASKED, choice):
            name = list(numbers)[model]
            raise BadInput(f"{path}: {name} has two answers to item {items.asked.ids[row]}: keep the one that counts")
        choices[model, row] = choice
    return Board(tuple(numbers), choices)


def _read_choice(path: Path, line: int, cell: str, items: ItemNames, row: int) -> int:
    """A choice from 1 as the place of a candidate; an empty cell is an abstention."""
    text = cell.strip().removesuffix(".0")
    if not text:
        return ABSTAINED
    count = int(items.asked.candidates[row])
    if not text.isdecimal() or not 1 <= int(text) <= count:
        raise BadInput(f"{path}, line {line}: expected a choice from 1 to {count}, found {cell!r}")
    return int(text) - 1


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Refuse two models of one name, or one without a name."""
    if len(set(names)) < len(names) or "" in names:
        repeated = next((name for name in names if names.count(name) > 1), "")
        raise BadInput(f"{path}: expected a name of its own for each model, found {repeated!r} twice or empty")


def join_boards(boards: Sequence[tuple[Path, Board]], items: ItemNames) -> tuple[Answers, dict[str, IntArray]]:
    """The answers of all boards as one table, and by language the scorers that answered in it.

    A model that is in several boards is one scorer. Raises BadInput if it answers an item in two ways.
    """
    numbers: dict[str, int] = {}
    for _, board in boards:
        for name in board.names:
            numbers.setdefault(name, len(numbers))
    choices = np.full((len(numbers), len(items.asked)), UNASKED, np.int8)
    for path, board in boards:
        rows = np.array([numbers[name] for name in board.names], np.int64)
        before = choices[rows]
        are_both = np.minimum(before, board.choices) > UNASKED
        conflicts = np.not_equal(before, board.choices, where=are_both, out=np.zeros_like(are_both))
        if conflicts.any():
            model, row = np.argwhere(conflicts)[0].tolist()
            raise BadInput(
                f"{path}: {board.names[model]} answers item {items.asked.ids[row]} otherwise than in an earlier file"
            )
        choices[rows] = np.where(board.choices == UNASKED, before, board.choices)
    languages: dict[str, list[int]] = {}
    for _, board in boards:
        for name, language in zip(board.names, board.languages, strict=False):
            languages.setdefault(language, []).append(numbers[name])
    scorer_index, problem_index = np.nonzero(choices != UNASKED)
    answers = Answers(
        items.asked,
        problem_index,
        choices[scorer_index, problem_index].astype(np.int64),
        tuple(Scorer(name) for name in numbers),
        scorer_index=scorer_index,
    )
    return answers, {language: np.array(own, np.int64) for language, own in languages.items()}
