"""The answers of many models, and the families of the models."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from winokit.answers import ORIGINAL, Answers
from winokit.data.predictions.board import UNASKED, Board, ItemNames, is_board, join_boards, read_board
from winokit.data.predictions.in_memory import Predictions, are_files, file_paths, tables_in_memory
from winokit.data.predictions.logs import prediction_files
from winokit.data.predictions.read import ReadPredictions, read_files
from winokit.drawing.wording import plural
from winokit.errors import BadInput
from winokit.files import read_text
from winokit.methods.arrays import IntArray
from winokit.methods.metrics.families import FEWEST_ITEMS, families_by_agreement, families_by_name, family_numbers
from winokit.methods.metrics.judge_items import AnswerMatrix
from winokit.methods.scoring.majority import refuse_samples
from winokit.problem import Dataset
from winokit.stages.items.settings import AGREEMENT, NAME


@dataclass(frozen=True, eq=False)
class ItemAnswers:
    """The answers of many models to the problems of a dataset."""

    answers: Answers
    """The answers, with a scorer per model."""
    languages: Mapping[str, IntArray]
    """The indices of the scorers that answered in each language. Empty if no board says it."""
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=())
    """The names of the scorers."""


def read_answers(dataset: Dataset, predictions: Predictions) -> ItemAnswers:
    """Read the answers of many models to a dataset.

    `predictions` are paths of boards, of folders of boards or logs, or of files of predictions. They may be tables in
    memory too. Raises BadInput if the dataset has no answers, or if there are no predictions.
    """
    items = ItemNames(dataset)
    if not len(items.asked):
        raise BadInput(f"{dataset.card.name}: no problem has an answer, so right and wrong mean nothing")
    board_paths, other_paths, notes = _sort_files(predictions, items)
    boards = [(path, read_board(path, items)) for path in board_paths]
    sources = prediction_files(other_paths) if are_files(predictions) else tables_in_memory(predictions, dataset)
    if sources:
        parts_by_path, read_notes = read_files(sources, dataset)
        notes += read_notes
        for path, parts in parts_by_path.items():
            boards.append((path, _make_board(parts, items)))
    if not boards:
        raise BadInput("no predictions: name boards or files of predictions after --predictions")
    boards = _rename_repeated(boards)
    answers, languages = join_boards(boards, items)
    return ItemAnswers(answers, languages, tuple(notes), tuple(scorer.model for scorer in answers.scorers))


def _sort_files(predictions: Predictions, items: ItemNames) -> tuple[list[Path], list[Path], list[str]]:
    """Return the paths of boards, the other paths, and notes.

    Of a folder with boards only these are read, and a note counts the others. A folder without boards is one of the
    other paths.
    """
    boards: list[Path] = []
    others: list[Path] = []
    notes: list[str] = []
    for path in map(Path, file_paths(predictions)):
        if not path.is_dir():
            target = boards if is_board(path, items) else others
            target.append(path)
            continue
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        boards_inside = [file for file in files if is_board(file, items)]
        if not boards_inside:
            others.append(path)
            continue
        boards += boards_inside
        skipped_count = len(files) - len(boards_inside)
        if skipped_count:
            skipped = plural(skipped_count, "other file")
            notes.append(f"{path}: {plural(len(boards_inside), 'board')} read; {skipped} skipped")
    return boards, others, notes


def _make_board(parts: Sequence[ReadPredictions], items: ItemNames) -> Board:
    """Make a board of a file's predictions, a row per model.

    Only predictions for problems as they are count. A choice is -1 for an abstention, and UNASKED for items without a
    prediction.
    """
    originals = [part for part in parts if part.variant == ORIGINAL]
    choices = np.full((len(originals), len(items.asked)), UNASKED, np.int8)
    for number, part in enumerate(originals):
        refuse_samples(part.predictions, "items")
        for row in part.predictions:
            item_index = items.row_of_id.get(row.id)
            if item_index is not None:
                choices[number, item_index] = -1 if row.prediction is None else row.prediction
    scorings = {part.scoring for part in originals}
    if len(scorings) > 1:
        names = [f"{part.model} ({part.scoring})" for part in originals]
    else:
        names = [part.model for part in originals]
    return Board(tuple(names), choices)


def _rename_repeated(boards: Sequence[tuple[Path, Board]]) -> list[tuple[Path, Board]]:
    """Return the boards with their paths, names of models made unique.

    If boards of a single model each have the same name, each name gets the path as a suffix.
    """
    single_names = [board.names[0] for _, board in boards if len(board.names) == 1]
    repeated_names = {name for name, count in Counter(single_names).items() if count > 1}
    renamed_boards = []
    for path, board in boards:
        if len(board.names) == 1 and board.names[0] in repeated_names:
            name = f"{board.names[0]} ({path})"
            renamed_boards.append((path, Board((name,), board.choices)))
        else:
            renamed_boards.append((path, board))
    return renamed_boards


def families_of(item_answers: ItemAnswers, families: str | Path | Mapping[str, str]) -> tuple[IntArray, list[str]]:
    """Return the number of the family of each scorer, and notes.

    `families` is the way to find them ("agreement" or "name"), the path of a csv file, or the family of each model by
    name. By agreement, answers in several languages are families of their own.
    """
    names = item_answers.names
    if isinstance(families, Mapping):
        return _match_families(names, families, "the mapping")
    if families == NAME:
        return family_numbers(families_by_name(names)), []
    if families != AGREEMENT:
        return _match_families(names, _read_families(Path(families)), str(families))
    if item_answers.languages:
        return np.arange(len(names)), ["each language is a family of its own"]
    matrix = AnswerMatrix.of(item_answers.answers)
    numbers = families_by_agreement(matrix.right, matrix.is_asked)
    asked_count = int(matrix.is_asked.any(axis=0).sum())
    notes = []
    if asked_count < FEWEST_ITEMS:
        notes.append(
            f"{asked_count} items are too few to find families by agreement: each model is a family of its own"
        )
    return numbers, notes


def _match_families(names: Sequence[str], families: Mapping[str, str], source: str) -> tuple[IntArray, list[str]]:
    """Number of each model's family by a mapping, and notes.

    `families` has the family of each model by name, and `source` names the mapping in messages. A model that is not in
    the mapping is its own family. Raises BadInput if no model is in it.
    """
    missing = [name for name in names if name not in families]
    if len(missing) == len(names):
        raise BadInput(f"{source}: no family of {names[0]}, and of none of the other models")
    notes = []
    if missing:
        notes.append(f"{source}: no family of {len(missing):,} models, such as {missing[0]}: each is one of its own")
    labels = [families.get(name, f"\0{name}") for name in names]  # \0 keeps names and families apart
    return family_numbers(labels), notes


def _read_families(path: Path) -> dict[str, str]:
    """Read the family of each model from a csv file.

    The file has columns model and family. Raises BadInput for any other.
    """
    if not path.is_file():
        raise BadInput(f"--families {path}: expected agreement, name, or a csv file with columns model and family")
    reader = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")))
    if not {"model", "family"} <= set(reader.fieldnames or ()):
        columns_found = ", ".join(reader.fieldnames or ()) or "nothing"
        raise BadInput(f"{path}: expected columns model and family, found {columns_found}")
    return {row["model"]: row["family"] for row in reader}
