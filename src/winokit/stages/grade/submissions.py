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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.data.formats.tables import cell_text
from winokit.data.predictions.columns import IDS
from winokit.data.predictions.in_memory import Predictions, are_files, file_paths, is_column, values_of
from winokit.errors import BadInput, Malformed
from winokit.files import our_toml
from winokit.notebook import Frame, frame_rows
from winokit.stages.release.manifest import SIZES

ONE = "one"
"""The column of a submission that does not say how much its model was trained on."""
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
"""What has probably happened, by what stands in the place of a label."""


@dataclass(frozen=True)
class SubmittedFile:
    """Predicted candidates, from 0."""

    columns: tuple[str, ...]
    """Training sizes, or `one` where none is said."""
    predictions: NDArray[np.int64]
    """(problems, columns), problems in the order of the test."""

    @cached_property
    def sha256(self) -> str:
        """Of what is predicted for which size: the same submission is known again, whatever its files are called.

        A hash of the files alone would take columns that changed places for the same question, and answer it again.
        """
        return hashlib.sha256(json.dumps([self.columns, self.predictions.tolist()]).encode()).hexdigest()


def labels_in_memory(given: Predictions, ids: Sequence[str], sizes: Sequence[str]) -> SubmittedFile:
    """The submission in labels 1 or 2, or in two scores: in the order of the test, or by id.

    A mapping or a frame may have a column for each training size.
    """
    if isinstance(given, Frame):
        given = _read_frame(given, sizes)
    by_size = {ONE: given}
    if isinstance(given, Mapping) and given.keys() <= {*sizes}:
        by_size = {size: given[size] for size in sizes if size in given}
    columns = [_parse_column(name, labels, ids, sizes) for name, labels in by_size.items()]
    return SubmittedFile(tuple(by_size), np.column_stack(columns))


def _read_frame(frame: Frame, sizes: Sequence[str]) -> Any:
    """The labels of a frame, by training size if it has several columns.

    They are by id if there is a column of ids.
    """
    columns, rows = frame_rows(frame)
    id_column = next((name for name in columns if name.casefold() in IDS), None)
    names = [name for name in columns if name != id_column]
    if len(names) != 1 and not set(names) <= {*sizes}:
        raise BadInput(f"expected a column of predictions, or one for each training size, found {', '.join(names)}")
    if id_column is None:
        labels: dict[str, Any] = {name: [row[name] for row in rows] for name in names}
    else:
        ids = [str(row[id_column]) for row in rows]
        repeated = [each for each, count in Counter(ids).items() if count > 1]
        if repeated:
            raise BadInput(f"expected one row for each problem, found {repeated[0]} twice")
        labels = {name: {each: row[name] for each, row in zip(ids, rows, strict=True)} for name in names}
    return labels if set(names) <= {*sizes} else labels[names[0]]


def _format_label(where: Path, line: int, value: Any) -> str:
    """A label as a file has it. Of two scores, it is that of the higher one."""
    if not is_column(value):
        return cell_text(value)
    scores = values_of(value)
    are_numbers = all(isinstance(score, (int, float)) and math.isfinite(score) for score in scores)
    if len(scores) != 2 or not are_numbers or scores[0] == scores[1]:
        raise Malformed(f"expected two scores, one of them higher, found {scores}", file=str(where), line=line)
    return str(1 + scores.index(max(scores)))


def _parse_column(name: str, given: Any, ids: Sequence[str], sizes: Sequence[str]) -> NDArray[np.int64]:
    """One label per problem, from labels in order or by id."""
    where = Path("predictions" if name == ONE else f"predictions {name}")
    if isinstance(given, Mapping):
        missing = next((each for each in ids if each not in given), None)
        strange = next((each for each in given if each not in ids), None)
        if missing is not None:
            raise Malformed(f"expected a label for each problem, found none for {missing}", file=str(where))
        if strange is not None:
            raise Malformed(f"no problem of the test has the id {_shorten_cell(str(strange))}", file=str(where))
        given = [given[each] for each in ids]
    lines = [_format_label(where, line, value) for line, value in enumerate(values_of(given), 1)]
    if not lines:
        raise BadInput(f"{where}: empty")
    labels = _from_labels(where, lines, len(ids), sizes)
    return labels[:, :1]


def read_submission(given: Predictions, ids: Sequence[str], sizes: Sequence[str] = SIZES) -> SubmittedFile:
    """Read the predictions for a test whose problems have these ids, in this order.

    `given` are files, or predictions in memory. `sizes` are the training sizes of the release: as many labels may
    stand on a line.
    """
    if not are_files(given):
        return labels_in_memory(given, ids, sizes)
    paths = [Path(path) for path in file_paths(given)]
    if not paths:
        raise BadInput("no predictions to grade: name a predictions.lst, or one for each training size")
    twice = [path for at, path in enumerate(paths) if path in paths[:at]]
    if twice:
        raise BadInput(f"{twice[0]}: named twice")
    read = []
    for path in paths:
        lines = _split_lines(path)
        is_rows = lines[0].lstrip().startswith("{")
        read.append(_read_rows(path, lines, ids) if is_rows else _from_labels(path, lines, len(ids), sizes))
    if len(paths) == 1:
        return SubmittedFile((ONE,) if read[0].shape[1] == 1 else tuple(sizes), read[0])
    by_size: dict[str, tuple[Path, NDArray[np.int64]]] = {}  # the file of each training size, and its one column
    for path, labels in zip(paths, read, strict=True):
        if labels.shape[1] != 1:
            message = f"{labels.shape[1]} labels per line are a whole submission: grade this file alone"
            raise Malformed(message, file=str(path), line=1)
        size = re.split(r"[^a-z0-9]+", path.name.partition(".")[0].lower())[-1]
        if size not in sizes:
            known = f"predictions-{sizes[0]}.lst … -{sizes[-1]}.lst"
            raise BadInput(f"{path}: which training size? Of several files each is named for one: {known}")
        if size in by_size:
            raise BadInput(f"{path}: a second file for {size}, after {by_size[size][0]}")
        by_size[size] = path, labels[:, 0]
    columns = tuple(size for size in sizes if size in by_size)
    return SubmittedFile(columns, np.column_stack([by_size[size][1] for size in columns]))


def _split_lines(path: Path) -> list[str]:
    """Lines of a text file, without blank ones at its end."""
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
    """Labels, one a line or one for each size, matched by order."""
    count = lines[0].count(",") + 1
    labels = np.empty((len(lines), count), np.int64)
    for at, line in enumerate(lines):
        try:
            labels[at] = _parse_labels(line, count, sizes)
        except Malformed as error:
            raise error.at(str(path), at + 1) from None
    if len(lines) != n:
        # Said last: a header or a blank line explains a wrong count better than the count does.
        line_number = min(len(lines), n) + (1 if len(lines) > n else 0)
        message = f"expected {n:,} lines, one for each test problem, found {len(lines):,}"
        raise Malformed(message, file=str(path), line=line_number)
    return labels


def _parse_labels(line: str, count: int, sizes: Sequence[str]) -> list[int]:
    if not line.strip():
        raise Malformed("an empty line; every problem needs a prediction")
    if len(line) > LONGEST_LABELS:
        raise Malformed(f"a line of {len(line):,} characters, and labels are a few")
    cells = [cell.strip(" ") for cell in line.split(",")]
    wrong = next((cell for cell in cells if cell not in ("1", "2")), None)
    if wrong is not None:
        is_word = re.fullmatch(r"[A-Za-z_][\w -]*", wrong) and "," in line
        known = (hint for pattern, hint in our_toml(HINTS).items() if re.fullmatch(pattern, wrong))
        hint = next(known, " (is this a header?)" if is_word else "")
        raise Malformed(f"expected label 1 or 2, found {_shorten_cell(wrong)}{hint}")
    if len(cells) not in (1, len(sizes)):
        more = f", or {len(sizes)} ({', '.join(sizes)})" if len(sizes) > 1 else ""
        raise Malformed(f"expected one label per line{more}, found {len(cells)}")
    if len(cells) != count:
        raise Malformed(f"expected {count} labels, as on the first line, found {len(cells)}")
    return [int(cell) - 1 for cell in cells]


def _shorten_cell(cell: str) -> str:
    """A cell for a message: short, printable, on one line."""
    if not cell:
        return "nothing"
    return ascii(cell) if len(cell) <= 20 else f"{cell[:17]!a}…"


def _read_rows(path: Path, lines: Sequence[str], ids: Sequence[str]) -> NDArray[np.int64]:
    """Labels from rows of winokit's predictions.jsonl, matched by id.

    Rows on variants of problems are skipped.
    """
    places = {name: at for at, name in enumerate(ids)}
    predictions = np.full((len(ids), 1), -1, np.int64)
    seen: dict[str, int] = {}
    whose: str | None = None
    for number, line in enumerate(lines, 1):
        try:
            row = _parse_row(line)
            if row.get("variant") not in (None, "", ORIGINAL):
                continue
            name, chosen = _parse_prediction(row, places)
            by = " ".join(str(row[key]) for key in ("model", "scoring") if row.get(key))
            if whose is not None and by != whose:
                later = _shorten_cell(by)
                earlier = _shorten_cell(whose)
                raise Malformed(f"expected predictions of one model, found those of {later} after {earlier}")
            if name in seen:
                raise Malformed(f"a second row for {name}, after line {seen[name]:,}")
        except Malformed as error:
            raise error.at(str(path), number) from None
        whose, seen[name] = by, number
        predictions[places[name], 0] = chosen
    if len(seen) < len(ids):
        missing = next(name for name in ids if name not in seen)
        message = f"expected {len(ids):,} predictions, found {len(seen):,}; the first missing one: {missing}"
        raise Malformed(message, file=str(path), line=len(lines))
    return predictions


def _parse_row(line: str) -> Mapping[str, Any]:
    """The object of a line."""
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


def _parse_prediction(row: Mapping[str, Any], places: Mapping[str, int]) -> tuple[str, int]:
    """The id and the candidate of a row."""
    name = row.get("id")
    chosen = row.get("prediction")
    if not isinstance(name, str):
        raise Malformed("expected the id of a test problem", field="id")
    if name not in places:
        raise Malformed(f"no problem of the test has the id {_shorten_cell(name)}", field="id")
    if "prediction" not in row:
        raise Malformed("missing", field="prediction")
    if chosen is None:
        raise Malformed("null: every problem needs a prediction", field="prediction")
    if isinstance(chosen, bool) or not isinstance(chosen, int) or chosen not in (0, 1):
        raise Malformed(
            f"expected 0 or 1, the candidate's index, found {_shorten_cell(str(chosen))}", field="prediction"
        )
    return name, chosen
