"""The answers of many models, from boards and from files of predictions, and the families of the models."""

import csv
import io
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
    """The answers of many models to the problems of a dataset, as they were read."""

    answers: Answers
    languages: Mapping[str, IntArray]
    """By language, the places of the scorers that answered in it; empty if no board says it."""
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=())
    """What the scorers are called."""


def read_answers(dataset: Dataset, predictions: Predictions) -> ItemAnswers:
    """Read the answers of many models: boards, folders of boards or of logs, files of predictions, or values."""
    items = ItemNames(dataset)
    if not len(items.asked):
        raise BadInput(f"{dataset.card.name}: no problem has an answer, so right and wrong mean nothing")
    board_paths, other_paths, notes = _sort_files(predictions, items)
    boards = [(path, read_board(path, items)) for path in board_paths]
    sources = prediction_files(other_paths) if are_files(predictions) else tables_in_memory(predictions, dataset)
    if sources:
        reads, skipped = read_files(sources, dataset)
        notes += skipped
        for path, parts in reads.items():
            boards.append((path, _read_predictions(parts, items)))
    if not boards:
        raise BadInput("no predictions: name boards or files of predictions after --predictions")
    boards = _tell_apart(boards)
    answers, languages = join_boards(boards, items)
    return ItemAnswers(answers, languages, tuple(notes), tuple(scorer.model for scorer in answers.scorers))


def _sort_files(predictions: Predictions, items: ItemNames) -> tuple[list[Path], list[Path], list[str]]:
    """Return the boards, the other files, and notes.

    Of a folder with boards only these are read.
    """
    boards: list[Path] = []
    others: list[Path] = []
    notes: list[str] = []
    for given in file_paths(predictions):
        path = Path(given)
        if not path.is_dir():
            target = boards if is_board(path, items) else others
            target.append(path)
            continue
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        inside = [file for file in files if is_board(file, items)]
        if inside:
            boards += inside
            if len(files) > len(inside):
                others_count = plural(len(files) - len(inside), "other file")
                notes.append(f"{path}: {plural(len(inside), 'board')} read; {others_count} skipped")
        else:
            others.append(path)
    return boards, others, notes


def _read_predictions(parts: Sequence[ReadPredictions], items: ItemNames) -> Board:
    """The predictions of a file for problems as they are, a row per model."""
    originals = [part for part in parts if part.variant == ORIGINAL]
    choices = np.full((len(originals), len(items.asked)), UNASKED, np.int8)
    for number, part in enumerate(originals):
        refuse_samples(part.predictions, "items")
        for row in part.predictions:
            item_index = items.row_of_id.get(row.id)
            if item_index is not None:
                choices[number, item_index] = -1 if row.prediction is None else row.prediction
    scorings = {part.scoring for part in originals}
    names = [f"{part.model} ({part.scoring})" if len(scorings) > 1 else part.model for part in originals]
    return Board(tuple(names), choices)


def _tell_apart(boards: Sequence[tuple[Path, Board]]) -> list[tuple[Path, Board]]:
    """Return the boards. Those of one name are named by their files."""
    singles = [board.names[0] for _, board in boards if len(board.names) == 1]
    told_apart = []
    for path, board in boards:
        is_repeated = len(board.names) == 1 and singles.count(board.names[0]) > 1
        renamed = Board((f"{board.names[0]} ({path})",), board.choices) if is_repeated else board
        told_apart.append((path, renamed))
    return told_apart


def families_of(read: ItemAnswers, families: str | Path | Mapping[str, str]) -> tuple[IntArray, list[str]]:
    """The number of the family of each scorer, and notes. Languages of one model are witnesses of their own."""
    names = read.names
    if isinstance(families, Mapping):
        return _match_families(names, families, "the mapping")
    if families == NAME:
        return family_numbers(families_by_name(names)), []
    if families != AGREEMENT:
        return _match_families(names, _read_families(Path(families)), str(families))
    if read.languages:
        return np.arange(len(names)), ["each language is a family of its own"]
    matrix = AnswerMatrix.of(read.answers)
    numbers = families_by_agreement(matrix.right, matrix.is_asked)
    asked_count = int(matrix.is_asked.any(axis=0).sum())
    notes = []
    if asked_count < FEWEST_ITEMS:
        notes.append(
            f"{asked_count} items are too few to find families by agreement: each model is a family of its own"
        )
    return numbers, notes


def _match_families(names: Sequence[str], families: Mapping[str, str], source: str) -> tuple[IntArray, list[str]]:
    """Return families as given. A model without one is its own family."""
    missing = [name for name in names if name not in families]
    if len(missing) == len(names):
        raise BadInput(f"{source}: no family of {names[0]}, and of none of the other models")
    notes = []
    if missing:
        notes.append(f"{source}: no family of {len(missing):,} models, such as {missing[0]}: each is one of its own")
    return family_numbers([families.get(name, f"\0{name}") for name in names]), notes


def _read_families(path: Path) -> dict[str, str]:
    """Families by model from a csv file with columns model and family."""
    if not path.is_file():
        raise BadInput(f"--families {path}: expected agreement, name, or a csv file with columns model and family")
    reader = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")))
    if not {"model", "family"} <= set(reader.fieldnames or ()):
        columns_found = ", ".join(reader.fieldnames or ()) or "nothing"
        raise BadInput(f"{path}: expected columns model and family, found {columns_found}")
    return {row["model"]: row["family"] for row in reader}
