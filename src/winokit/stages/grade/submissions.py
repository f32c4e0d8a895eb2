"""Submissions: what somebody predicts for the test of a release, read so strictly that nothing is ever guessed.

Three kinds of file are taken: WinoGrande's predictions.lst with one label per line, `1` or `2`, in the order of the
test; the same with five labels per line, for models trained on xs, s, m, l and xl (or on those sizes that a smaller
release has); and winokit's predictions.jsonl, matched by id. Several files are one per training size, as the end of
their names says (`predictions-xs.lst`). Everything else is refused with the file, the line and what was expected there.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.data.formats.tables import cell_text
from winokit.data.predictions.aligned import check_index_order
from winokit.data.predictions.columns import IDS
from winokit.data.predictions.in_memory import Predictions, are_files, file_paths, is_column, values_of
from winokit.errors import BadInput, Malformed
from winokit.files import our_toml
from winokit.notebook import Frame, frame_rows
from winokit.stages.release.manifest import SIZES

ONE = "one"
"""The only column of a submission that does not name a training size."""
MOST_BYTES = 256 << 20
LONGEST_LABELS = 200
LONGEST_ROW = 100_000
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstandard",
}
ORIGINAL = "original"
HINTS = "assets/submissions.toml"
"""Likely causes, for messages, by a pattern of the text found instead of a label."""


@dataclass(frozen=True)
class SubmittedFile:
    """The predictions of a submission, from files or from memory."""

    columns: tuple[str, ...]
    """The training size of each column; `one` alone if the submission names none."""
    predictions: NDArray[np.int64]
    """Predicted candidates, from 0: (problems, columns), problems in the order of the test."""

    @cached_property
    def sha256(self) -> str:
        """Hash of the columns and the predictions, whatever the files are called.

        A hash of the files alone would be the same for two sizes that changed places, which is another submission.
        """
        return hashlib.sha256(json.dumps([self.columns, self.predictions.tolist()]).encode()).hexdigest()


def labels_in_memory(given: Predictions, ids: Sequence[str], sizes: Sequence[str]) -> SubmittedFile:
    """Read a submission from predictions in memory.

    Raises BadInput or Malformed if a problem has no prediction, or one that cannot be read.

    Parameters
    ----------
    given
        A label 1 or 2, or two scores, for each problem: a sequence in the order of the test, a mapping by id, or a
        frame. A mapping or a frame may have a column for each training size instead.
    ids
        The ids of the test's problems, in order.
    sizes
        The training sizes of the release.
    """
    if isinstance(given, Frame):
        given = _read_frame(given, sizes)
    by_size = {ONE: given}
    if isinstance(given, Mapping) and given and given.keys() <= {*sizes}:
        by_size = {size: given[size] for size in sizes if size in given}
    columns = [_parse_column(name, labels, ids, sizes) for name, labels in by_size.items()]
    return SubmittedFile(tuple(by_size), np.column_stack(columns))


def _read_frame(frame: Frame, sizes: Sequence[str]) -> Any:
    """Return the labels in a frame, by training size if it names sizes.

    Otherwise, they are those of its single column. A column is a mapping by id if the frame has a column of ids, else
    a list in the order of the rows.
    """
    columns, rows = frame_rows(frame)
    id_column = next((name for name in columns if name.casefold() in IDS), None)
    names = [name for name in columns if name != id_column]
    are_sizes = set(names) <= {*sizes}
    if not names or (len(names) != 1 and not are_sizes):
        columns_found = ", ".join(names) or "none"
        raise BadInput(f"expected a column of predictions, or one for each training size, found {columns_found}")
    ids = None
    if id_column is None:
        check_index_order(frame)
    else:
        ids = [str(row[id_column]) for row in rows]
        _check_distinct(ids)
    labels: dict[str, Any] = {}
    for name in names:
        column = [row[name] for row in rows]
        labels[name] = column if ids is None else dict(zip(ids, column, strict=True))
    return labels if are_sizes else labels[names[0]]


def _check_distinct(ids: Sequence[str]) -> None:
    """Raise BadInput if an id occurs twice."""
    repeated_ids = [name for name, count in Counter(ids).items() if count > 1]
    if repeated_ids:
        raise BadInput(f"expected one row for each problem, found {repeated_ids[0]} twice")


def _format_label(where: Path, line: int, value: Any) -> str:
    """Return a prediction as the label that a file would have.

    Two scores give the label of the higher one. `where` and `line` are for messages.
    """
    if not is_column(value):
        return cell_text(value)
    scores = values_of(value)
    are_numbers = all(isinstance(score, (int, float)) and math.isfinite(score) for score in scores)
    if len(scores) != 2 or not are_numbers or scores[0] == scores[1]:
        raise Malformed(f"expected two scores, one of them higher, found {scores}", file=str(where), line=line)
    return str(1 + scores.index(max(scores)))


def _parse_column(name: str, given: Any, ids: Sequence[str], sizes: Sequence[str]) -> NDArray[np.int64]:
    """Return the predicted candidates of a column.

    The shape is (problems, 1). `name` is the training size, or `one`. `given` has labels or pairs of scores in the
    order of the test, or by id.
    """
    where = Path("predictions" if name == ONE else f"predictions {name}")
    if isinstance(given, Mapping):
        given = _order_by_ids(where, given, ids)
    lines = [_format_label(where, line, value) for line, value in enumerate(values_of(given), 1)]
    if not lines:
        raise BadInput(f"{where}: empty")
    labels = _from_labels(where, lines, len(ids), sizes)
    return labels[:, :1]


def _order_by_ids(where: Path, labels: Mapping[Any, Any], ids: Sequence[str]) -> list[Any]:
    """Return labels by id in the order of the ids.

    Raises Malformed if an id has no label, or a label has another id.
    """
    missing_id = next((name for name in ids if name not in labels), None)
    if missing_id is not None:
        raise Malformed(f"expected a label for each problem, found none for {missing_id}", file=str(where))
    unknown_id = next((name for name in labels if name not in ids), None)
    if unknown_id is not None:
        raise Malformed(f"no problem of the test has the id {_shorten_cell(str(unknown_id))}", file=str(where))
    return [labels[name] for name in ids]


def read_submission(given: Predictions, ids: Sequence[str], sizes: Sequence[str] = SIZES) -> SubmittedFile:
    """Read the predictions of a submission for a test.

    Raises BadInput or Malformed for everything that is not exactly a prediction for each problem.

    Parameters
    ----------
    given
        Paths of files, or predictions in memory (`labels_in_memory`).
    ids
        The ids of the test's problems, in order.
    sizes
        The training sizes of the release. A file may have a label for each of them on a line.
    """
    if not are_files(given):
        return labels_in_memory(given, ids, sizes)
    paths = [Path(path) for path in file_paths(given)]
    if not paths:
        raise BadInput("no predictions to grade: name a predictions.lst, or one for each training size")
    repeated_paths = [path for index, path in enumerate(paths) if path in paths[:index]]
    if repeated_paths:
        raise BadInput(f"{repeated_paths[0]}: named twice")
    predictions = [_read_file(path, ids, sizes) for path in paths]
    if len(paths) > 1:
        return _join_sizes(paths, predictions, sizes)
    column_count = predictions[0].shape[1]
    columns = (ONE,) if column_count == 1 else tuple(sizes)
    return SubmittedFile(columns, predictions[0])


def _read_file(path: Path, ids: Sequence[str], sizes: Sequence[str]) -> NDArray[np.int64]:
    """Read the predicted candidates in a file of labels or JSON rows.

    The shape is (problems, columns), with one column or one for each training size.
    """
    lines = _split_lines(path)
    has_json_rows = lines[0].lstrip().startswith("{")
    if has_json_rows:
        return _read_rows(path, lines, ids)
    return _from_labels(path, lines, len(ids), sizes)


def _join_sizes(paths: Sequence[Path], predictions: Sequence[NDArray[np.int64]], sizes: Sequence[str]) -> SubmittedFile:
    """Join the files of a submission, each named for a training size.

    `predictions` are those of each file, which must have a single column.
    """
    path_of_size: dict[str, Path] = {}
    column_of_size: dict[str, NDArray[np.int64]] = {}
    for path, labels in zip(paths, predictions, strict=True):
        if labels.shape[1] != 1:
            message = f"{labels.shape[1]} labels per line are a whole submission: grade this file alone"
            raise Malformed(message, file=str(path), line=1)
        stem = path.name.partition(".")[0]
        size = re.split(r"[^a-z0-9]+", stem.lower())[-1]
        if size not in sizes:
            examples = f"predictions-{sizes[0]}.lst … -{sizes[-1]}.lst"
            raise BadInput(f"{path}: which training size? Of several files each is named for one: {examples}")
        if size in path_of_size:
            raise BadInput(f"{path}: a second file for {size}, after {path_of_size[size]}")
        path_of_size[size] = path
        column_of_size[size] = labels[:, 0]
    columns = tuple(size for size in sizes if size in column_of_size)
    return SubmittedFile(columns, np.column_stack([column_of_size[size] for size in columns]))


def _split_lines(path: Path) -> list[str]:
    """Read the lines of a text file, without blank ones at the end.

    Raises BadInput or Malformed if the file is missing, empty, too large, or not UTF-8 text.
    """
    try:
        if path.is_dir():
            raise BadInput(f"{path}: expected a file of predictions, found a folder")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise BadInput(f"{path}: {size >> 20:,} MiB, more than any submission ({MOST_BYTES >> 20} MiB)")
        text = _decode_text(path, path.read_bytes())
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None
    if "\r" in text.replace("\r\n", ""):
        raise Malformed("expected lines that end in a newline, found a lone carriage return", file=str(path), line=1)
    lines = text.replace("\r\n", "\n").rstrip().split("\n")
    if lines == [""]:
        raise BadInput(f"{path}: empty")
    return lines


def _decode_text(path: Path, data: bytes) -> str:
    """Return a file's bytes as text.

    Raises BadInput if they are compressed or UTF-16, and Malformed if they are not UTF-8.
    """
    for magic, name in MAGIC.items():
        if data.startswith(magic):
            raise BadInput(f"{path}: compressed with {name}; unpack it first")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"{path}: UTF-16 text; save it as UTF-8")
    nul = data.find(b"\0")
    if nul >= 0:
        raise Malformed("expected text, found a NUL byte", file=str(path), line=1 + data.count(b"\n", 0, nul))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        message = f"expected UTF-8 text, found byte 0x{data[error.start]:02x}"
        raise Malformed(message, file=str(path), line=line) from None


def _from_labels(path: Path, lines: Sequence[str], n: int, sizes: Sequence[str]) -> NDArray[np.int64]:
    """Return the predicted candidates, from 0, in lines of labels: (problems, columns).

    Lines have one label, or one for each training size, and are in the order of the test's `n` problems.
    """
    count = lines[0].count(",") + 1
    labels = np.empty((len(lines), count), np.int64)
    for index, line in enumerate(lines):
        try:
            labels[index] = _parse_labels(line, count, sizes)
        except Malformed as error:
            raise error.at(str(path), index + 1) from None
    if len(lines) != n:
        # Checked last: a header or a blank line explains a wrong count better than the count does.
        line_number = min(len(lines), n + 1)
        message = f"expected {n:,} lines, one for each test problem, found {len(lines):,}"
        raise Malformed(message, file=str(path), line=line_number)
    return labels


def _parse_labels(line: str, count: int, sizes: Sequence[str]) -> list[int]:
    """Return the predicted candidates, from 0, of a line of labels.

    `count` is the number of labels on the first line. Raises Malformed, without a place, if the line is none.
    """
    if not line.strip():
        raise Malformed("an empty line; every problem needs a prediction")
    if len(line) > LONGEST_LABELS:
        raise Malformed(f"a line of {len(line):,} characters, and labels are a few")
    cells = [cell.strip(" ") for cell in line.split(",")]
    wrong = next((cell for cell in cells if cell not in ("1", "2")), None)
    if wrong is not None:
        raise Malformed(f"expected label 1 or 2, found {_shorten_cell(wrong)}{_guess_cause(wrong, line)}")
    if len(cells) not in (1, len(sizes)):
        or_sizes = f", or {len(sizes)} ({', '.join(sizes)})" if len(sizes) > 1 else ""
        raise Malformed(f"expected one label per line{or_sizes}, found {len(cells)}")
    if len(cells) != count:
        raise Malformed(f"expected {count} labels, as on the first line, found {len(cells)}")
    return [int(cell) - 1 for cell in cells]


def _guess_cause(cell: str, line: str) -> str:
    """Guess why a cell is no label, for the end of a message.

    Empty without a guess.
    """
    for pattern, hint in our_toml(HINTS).items():
        if re.fullmatch(pattern, cell):
            return str(hint)
    is_word = re.fullmatch(r"[A-Za-z_][\w -]*", cell)
    return " (is this a header?)" if is_word and "," in line else ""


def _shorten_cell(cell: str) -> str:
    """Return a cell for a message: short, printable, on one line."""
    if not cell:
        return "nothing"
    return ascii(cell) if len(cell) <= 20 else f"{cell[:17]!a}…"


def _read_rows(path: Path, lines: Sequence[str], ids: Sequence[str]) -> NDArray[np.int64]:
    """Return the predicted candidates in rows of winokit's predictions.jsonl: (problems, 1).

    Rows are matched by id, and rows on variants of problems are skipped. Raises Malformed if rows are of several
    models, or a problem has no row or two.
    """
    row_of_id = {name: index for index, name in enumerate(ids)}
    predictions = np.full((len(ids), 1), -1, np.int64)
    line_of_id: dict[str, int] = {}
    first_scorer: str | None = None
    for number, line in enumerate(lines, 1):
        try:
            row = _parse_row(line)
            if row.get("variant") not in (None, "", ORIGINAL):
                continue
            name, candidate = _parse_prediction(row, row_of_id)
            scorer = _name_scorer(row)
            if first_scorer is None:
                first_scorer = scorer
            if scorer != first_scorer:
                later = _shorten_cell(scorer)
                earlier = _shorten_cell(first_scorer)
                raise Malformed(f"expected predictions of one model, found those of {later} after {earlier}")
            if name in line_of_id:
                raise Malformed(f"a second row for {name}, after line {line_of_id[name]:,}")
        except Malformed as error:
            raise error.at(str(path), number) from None
        line_of_id[name] = number
        predictions[row_of_id[name], 0] = candidate
    if len(line_of_id) < len(ids):
        missing_id = next(name for name in ids if name not in line_of_id)
        message = f"expected {len(ids):,} predictions, found {len(line_of_id):,}; the first missing one: {missing_id}"
        raise Malformed(message, file=str(path), line=len(lines))
    return predictions


def _name_scorer(row: Mapping[str, Any]) -> str:
    """Return model and scoring of a row, if it has them."""
    return " ".join(str(row[key]) for key in ("model", "scoring") if row.get(key))


def _parse_row(line: str) -> Mapping[str, Any]:
    """Return the JSON object on a line.

    Raises Malformed, without a place, if there is none.
    """
    if not line.strip():
        raise Malformed("an empty line")
    if len(line) > LONGEST_ROW:
        raise Malformed(f"a line of {len(line):,} characters")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise Malformed("expected a JSON object") from None
    if not isinstance(row, dict):
        raise Malformed(f"expected a JSON object, found {type(row).__name__}")
    return row


def _parse_prediction(row: Mapping[str, Any], ids: Container[str]) -> tuple[str, int]:
    """Return the id and the predicted candidate (0 or 1) of a row.

    Raises Malformed, without a place, if the id is none of `ids` or the prediction is missing or no candidate.
    """
    name = row.get("id")
    candidate = row.get("prediction")
    if not isinstance(name, str):
        raise Malformed("expected the id of a test problem", field="id")
    if name not in ids:
        raise Malformed(f"no problem of the test has the id {_shorten_cell(name)}", field="id")
    if "prediction" not in row:
        raise Malformed("missing", field="prediction")
    if candidate is None:
        raise Malformed("null: every problem needs a prediction", field="prediction")
    is_index = isinstance(candidate, int) and not isinstance(candidate, bool)
    if not is_index or candidate not in (0, 1):
        cell = _shorten_cell(str(candidate))
        raise Malformed(f"expected 0 or 1, the candidate's index, found {cell}", field="prediction")
    return name, candidate
