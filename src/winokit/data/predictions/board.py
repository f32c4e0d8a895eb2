"""Boards: one table with the answers of many models, as leaderboards and papers publish them.

Three shapes are read, and recognised by their headings. `model` may be called `run` or `scorer`:

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
from collections.abc import Iterable, Mapping, Sequence
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
    """The choices of several models about the labelled problems of a dataset.

    `choices` has a row for each model in `names`, and a column for each problem with a known answer. A choice is the
    index of a candidate from 0, ABSTAINED, or UNASKED.
    """

    names: tuple[str, ...]
    choices: StateArray
    languages: tuple[str, ...] = ()
    """The language that each answered in, if the board says it."""


class ItemNames:
    """Finds the labelled problem that a table means by a name.

    A name is a problem's id, the id of its source, or its row in the dataset counted from 0.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.asked = AskedProblems.of(dataset)
        self.size = len(dataset)
        labelled = [position for position, problem in enumerate(dataset) if problem.answer is not None]
        self.row_of_place = {position: row for row, position in enumerate(labelled)}
        self.row_of_id: dict[str, int] = {}
        for row, problem in enumerate(self.asked.problems):
            self.row_of_id[original_id(problem)] = row
            for key in SOURCE_IDS:
                if key in problem.provenance:
                    source_id = str(problem.provenance[key])
                    self.row_of_id.setdefault(source_id, row)

    def is_item(self, name: str) -> bool:
        """Whether a name may be an item's.

        A number may be as high as the number of problems, because a leaderboard counts from 1.
        """
        if name in self.row_of_id:
            return True
        return name.isdecimal() and int(name) <= self.size

    def of_leaderboard(self) -> "ItemNames":
        """The same problems, named as on the Open LLM Leaderboard v1.

        Their names are rows counted from 1. Raises BadInput if the dataset is not the one of that leaderboard.
        """
        check_leaderboard_data(self.dataset)
        return LeaderboardNames(self.dataset)

    def row(self, name: str, path: Path) -> int:
        """Index of an item among the problems with a known answer.

        Raises BadInput if there is no such item, or its answer is hidden. `path` is named in the message.
        """
        if name in self.row_of_id:
            return self.row_of_id[name]
        is_past_end = name == str(self.size)
        if is_past_end and has_leaderboard_order(self.dataset):
            raise BadInput(
                f"{path}: item {name}: the numbers are no rows of {DATASET}, which count from 0: {REASON}; if they are "
                f"rows of that leaderboard, write {LEADERBOARD}:{path}"
            )
        if not name.isdecimal() or int(name) >= self.size:
            raise BadInput(f"{path}: no item {name!r}: expected an id, or a row from 0 to {self.size - 1:,}")
        position = int(name)
        if position not in self.row_of_place:
            raise BadInput(f"{path}: item {name}: its right answer is hidden, so right and wrong mean nothing")
        return self.row_of_place[position]


class LeaderboardNames(ItemNames):
    """Finds problems by their rows on the Open LLM Leaderboard v1.

    The rows count from 1.
    """

    def row(self, name: str, path: Path) -> int:
        """Index of the leaderboard's item among the problems with a known answer."""
        if not name.isdecimal() or not 1 <= int(name) <= self.size:
            raise BadInput(f"{path}: no item {name!r}: expected a row of the leaderboard from 1 to {self.size:,}")
        leaderboard_index = int(name) - 1
        dataset_row = leaderboard_rows()[leaderboard_index]
        return super().row(str(dataset_row), path)


def split_order(path: Path, items: ItemNames) -> tuple[Path, ItemNames]:
    """Split a prefix such as "leaderboard-v1:" from the path of a board.

    Returns the path without it, and the items as the prefix numbers them. Without a prefix, both arguments are
    returned.
    """
    text = str(path)
    prefix = f"{LEADERBOARD}:"
    if not text.startswith(prefix):
        return path, items
    bare_path = Path(text.removeprefix(prefix))
    return bare_path, items.of_leaderboard()


def is_board(path: Path, items: ItemNames) -> bool:
    """Whether a file is a table of the answers of many models.

    Its path may have a prefix such as "leaderboard-v1:".
    """
    path, items = split_order(path, items)
    if not path.is_file():
        return False
    head = decode_head(read_bytes(path, HEAD_BYTES))
    headings = _split_headings(head)
    return shape_of(headings, items) is not None


def _split_headings(text: str) -> list[str]:
    """The headings in the first line of a table.

    The last heading may be incomplete, since only the beginning of the file was read.
    """
    lines = text.lstrip("\ufeff").split("\n", 1)
    first = lines[0].rstrip("\r")
    delimiter = max(DELIMITERS, key=first.count)
    cells = first.split(delimiter)
    return [cell.strip().strip('"') for cell in cells]


def shape_of(headings: Sequence[str], items: ItemNames) -> str | None:
    """The layout of a table with many models' answers.

    In `columns` each item is a column, in `rows` each item is a row, and in `long` each answer is a row. None if the
    table has no such layout. It has none with fewer than three headings, or if other headings say that it is about
    one model or has the parameters of items.
    """
    if len(headings) < 3:
        return None
    first, *others = headings
    if first.casefold() in MODELS:
        last_is_choice = others[-1].casefold() in CHOICES
        if len(headings) == 3 and last_is_choice:
            return "long"
        # The last heading may be cut off where only the beginning of a file was read.
        are_items = all(items.is_item(name) for name in others[:-1])
        return "columns" if are_items else None
    if ROW.fullmatch(first) is None:
        return None
    has_roles = any(name.casefold() in ROLES for name in others)
    is_bank = set(PARAMETERS) <= set(others)
    return None if has_roles or is_bank else "rows"


def read_board(path: Path, items: ItemNames) -> Board:
    """Read the answers of many models from one table.

    Raises BadInput if the file is no board, or a cell cannot be read.
    """
    path, items = split_order(path, items)
    rows = iter(Source(path).csv_rows())
    _, first_cells = next(rows)
    headings = [heading.strip() for heading in first_cells]
    shape = shape_of(headings, items)
    if shape is None:
        found = ", ".join(headings[:4])
        raise BadInput(f"{path}: expected a column `model` and a column per item, found {found}")
    readers = {"columns": _read_columns, "rows": _read_rows, "long": _read_long}
    board = readers[shape](path, headings, rows, items)
    if not board.names:
        raise BadInput(f"{path}: the table has no model")
    return board


def _read_columns(
    path: Path, headings: Sequence[str], rows: Iterable[tuple[int, list[str]]], items: ItemNames
) -> Board:
    """Read a table with models as rows and items as columns.

    Its cells are 1 for right and 0 for wrong, from which the choices between two candidates follow. An empty cell
    means that the model was not asked. Raises BadInput if an item has more than two candidates.
    """
    item_rows = [items.row(name, path) for name in headings[1:]]
    columns = np.array(item_rows, np.int64)
    if len(set(item_rows)) < len(item_rows):
        raise BadInput(f"{path}: two columns are about one item")
    names = []
    lines = []
    for line, cells in rows:
        _check_width(path, line, cells, len(headings))
        names.append(cells[0].strip())
        lines.append(_read_right_or_wrong(path, line, cells[1:]))
    _refuse_repeated(path, names)
    right = np.array(lines, np.int8).reshape(len(names), len(columns))
    answers = items.asked.answers[columns].astype(np.int8)
    are_two = items.asked.candidates[columns] == 2
    if not are_two.all():
        first_other = int(np.argmin(are_two))
        where = headings[1 + first_other]
        raise BadInput(
            f"{path}: item {where} has more than two candidates: right or wrong does not say what was chosen"
        )
    stated_choices = np.where(right == 1, answers, 1 - answers)
    choices = np.full((len(names), len(items.asked)), UNASKED, np.int8)
    choices[:, columns] = np.where(right < 0, UNASKED, stated_choices)
    return Board(tuple(names), choices)


def _check_width(path: Path, line: int, cells: Sequence[str], width: int) -> None:
    """Raise BadInput if a row is longer or shorter than the header."""
    if len(cells) != width:
        raise BadInput(f"{path}, line {line}: expected {width:,} cells, found {len(cells):,}")


def _read_right_or_wrong(path: Path, line: int, cells: list[str]) -> StateArray:
    """Read the cells of a model as an array of numbers.

    1 is right, 0 is wrong, and -1 means that the model was not asked.
    """
    digits = "".join([cell or "-" for cell in cells])
    if len(digits) == len(cells):
        # Most boards have one character a cell: "-" is 45 and "0" is 48.
        codes = np.frombuffer(digits.encode("latin-1", "replace"), np.uint8)
        numbers = codes.astype(np.int8) - 48
        if np.isin(numbers, (0, 1, 45 - 48)).all():
            return np.where(numbers < 0, -1, numbers)
    states = [CELLS.get(cell.strip().casefold()) for cell in cells]
    if None in states:
        first_wrong = states.index(None)
        raise BadInput(
            f"{path}, line {line}: expected 1 for right, 0 for wrong or an empty cell, found {cells[first_wrong]!r}"
        )
    return np.array(states, np.int8)


def _read_rows(path: Path, headings: Sequence[str], rows: Iterable[tuple[int, list[str]]], items: ItemNames) -> Board:
    """Read a table with items as rows and models as columns.

    Its cells are choices, counted from 1. An empty cell is an abstention, and an item without a row was not asked. If
    all headings of models are codes of languages, the columns are one model in several languages.
    """
    models = tuple(headings[1:])
    _refuse_repeated(path, models)
    choices = np.full((len(models), len(items.asked)), UNASKED, np.int8)
    for line, cells in rows:
        _check_width(path, line, cells, len(headings))
        row = items.row(cells[0].strip(), path)
        for model, cell in enumerate(cells[1:]):
            choices[model, row] = _read_choice(path, line, cell, items, row)
    are_languages = all(LANGUAGE.fullmatch(name) for name in models)
    if not are_languages:
        return Board(models, choices)
    stem = path.name.partition(".")[0]
    names = tuple(f"{stem} in {language}" for language in models)
    return Board(names, choices, models)


def _read_long(path: Path, headings: Sequence[str], rows: Iterable[tuple[int, list[str]]], items: ItemNames) -> Board:
    """Read a table with a row for each answer of each model.

    The row has the model, the item and the choice, counted from 1. Raises BadInput if a model has two different
    answers to an item. Items without an answer were not asked.
    """
    numbers: dict[str, int] = {}
    answers = []
    for line, cells in rows:
        _check_width(path, line, cells, 3)
        name, item, cell = (text.strip() for text in cells)
        row = items.row(item, path)
        model = numbers.setdefault(name, len(numbers))
        choice = _read_choice(path, line, cell, items, row)
        answers.append((model, row, choice))
    choices = np.full((len(numbers), len(items.asked)), UNASKED, np.int8)
    for model, row, choice in answers:
        if choices[model, row] not in (UNASKED, choice):
            name = list(numbers)[model]
            item = items.asked.ids[row]
            raise BadInput(f"{path}: {name} has two answers to item {item}: keep the one that counts")
        choices[model, row] = choice
    return Board(tuple(numbers), choices)


def _read_choice(path: Path, line: int, cell: str, items: ItemNames, row: int) -> int:
    """Index of the candidate in a cell that counts candidates from 1.

    The index counts from 0. For an empty cell it is ABSTAINED. Raises BadInput for anything else. `row` is the item's
    index among the problems with a known answer.
    """
    text = cell.strip().removesuffix(".0")
    if not text:
        return ABSTAINED
    count = int(items.asked.candidates[row])
    if not text.isdecimal() or not 1 <= int(text) <= count:
        raise BadInput(f"{path}, line {line}: expected a choice from 1 to {count}, found {cell!r}")
    return int(text) - 1


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Raise BadInput if a model's name is missing or there twice."""
    has_repeated = len(set(names)) < len(names)
    if has_repeated or "" in names:
        repeated = next((name for name in names if names.count(name) > 1), "")
        raise BadInput(f"{path}: expected a name of its own for each model, found {repeated!r} twice or empty")


def join_boards(boards: Sequence[tuple[Path, Board]], items: ItemNames) -> tuple[Answers, dict[str, IntArray]]:
    """Join tables of many models' answers.

    Returns the answers, and for each language the indices of the scorers that answered in it.

    A model that is in several tables is one scorer. Raises BadInput if it answers an item in two ways.
    """
    numbers: dict[str, int] = {}
    for _, board in boards:
        for name in board.names:
            numbers.setdefault(name, len(numbers))
    choices = np.full((len(numbers), len(items.asked)), UNASKED, np.int8)
    for path, board in boards:
        rows = np.array([numbers[name] for name in board.names], np.int64)
        earlier_choices = choices[rows]
        _refuse_conflicts(path, board, earlier_choices, items)
        choices[rows] = np.where(board.choices == UNASKED, earlier_choices, board.choices)
    scorer_index, problem_index = np.nonzero(choices != UNASKED)
    asked_choices = choices[scorer_index, problem_index].astype(np.int64)
    scorers = tuple(Scorer(name) for name in numbers)
    answers = Answers(items.asked, problem_index, asked_choices, scorers, scorer_index=scorer_index)
    return answers, _group_by_language(boards, numbers)


def _refuse_conflicts(path: Path, board: Board, earlier_choices: StateArray, items: ItemNames) -> None:
    """Raise BadInput if a table's answers contradict an earlier one's.

    `earlier_choices` has the choices of earlier tables, with the rows and columns of this table's choices.
    """
    are_both = np.minimum(earlier_choices, board.choices) > UNASKED
    nothing = np.zeros_like(are_both)
    conflicts = np.not_equal(earlier_choices, board.choices, where=are_both, out=nothing)
    if conflicts.any():
        model, row = np.argwhere(conflicts)[0].tolist()
        raise BadInput(
            f"{path}: {board.names[model]} answers item {items.asked.ids[row]} otherwise than in an earlier file"
        )


def _group_by_language(boards: Sequence[tuple[Path, Board]], numbers: Mapping[str, int]) -> dict[str, IntArray]:
    """For each language, the indices of the scorers that answered in it.

    `numbers` has the index of each scorer by its name. Tables that state no languages are left out.
    """
    scorers: dict[str, list[int]] = {}
    for _, board in boards:
        for name, language in zip(board.names, board.languages, strict=False):
            scorers.setdefault(language, []).append(numbers[name])
    return {language: np.array(members, np.int64) for language, members in scorers.items()}
