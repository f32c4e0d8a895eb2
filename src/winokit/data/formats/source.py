"""A file as readers see it: lines, cells, JSON values or XML elements.

Each has its line number.

Reading is strict, or lenient with a count of errors. `FileRecords` has the places of a file's records.
"""

import csv
import gzip
import io
import json
import lzma
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from winokit.errors import BadInput, Malformed
from winokit.problem import Card, Dataset, Problem

R = TypeVar("R")
Place = int | str
"""The number of a line, or another name: "element 3" of a JSON array, "row 3" of a table without lines."""
HEAD_BYTES = 65_536
DELIMITERS = ",;\t|"
LOST = "nothing from there on is read"
SEPARATOR = re.compile(r"sep=(.)\r?\n")
"""Excel's line above a table with the character between its cells."""
HALF = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
"""JSON's spelling of half of a character. Two in a row make one, but no file can hold one alone."""


def name_place(place: Place) -> str:
    """A position in a file in words.

    A line number becomes "line 12", and a text such as "element 3" stays.

    >>> name_place(12), name_place("element 3")
    ('line 12', 'element 3')
    """
    return f"line {place}" if isinstance(place, int) else place


@dataclass
class FileBeginning:
    """Limits reading to a file's first problems, and counts other records.

    `most` is the number of problems that are parsed, `unread` the number of records after them.
    """

    most: int
    unread: int = 0


_BEGINNING: ContextVar[FileBeginning | None] = ContextVar("beginning", default=None)


@contextmanager
def reading_beginnings(most: int) -> Iterator[FileBeginning]:
    """Context manager that parses only the first `most` problems of each file.

    It gives the object in which the records after them are counted.
    """
    beginning = FileBeginning(most)
    token = _BEGINNING.set(beginning)
    try:
        yield beginning
    finally:
        _BEGINNING.reset(token)


class Source:
    """A file that is being read, with notes and errors.

    A malformed record is raised as an error. In lenient mode it is stored in `skipped` instead.

    Parameters
    ----------
    path
        The file, which may be compressed with gzip or xz.
    lenient
        Store malformed records instead of raising.
    limit
        How many bytes of it to read, up to the last complete line. None for all.
    """

    def __init__(self, path: Path, *, lenient: bool = False, limit: int | None = None) -> None:
        self.path = path
        self.lenient = lenient
        self.limit = limit
        self.skipped: list[Malformed] = []
        self.places: list[Place] = []
        """Place of each problem's record: a line, or an element of an array."""
        self.beginning = _BEGINNING.get()
        self.unread = 0
        """Records after those that were parsed, if only the beginning of files is."""
        self.notes: list[str] = []
        self.card: Card | None = None
        self.sample_hint = ""
        """How to say that several rows about each problem are samples, if that is likely."""
        self.roles: dict[str, str] = {}
        """The column of each role in a table of predictions."""
        self.readings: dict[str, float] = {}
        """Shares of right replies by each way to read them."""

    def each(self, records: Iterable[tuple[Place, R]], parse: Callable[[R], Problem]) -> Iterator[Problem]:
        """Yield the problem in each record.

        A malformed record is raised, or stored in lenient mode. If only the beginning of the file is read, later
        records are counted and not parsed.

        Parameters
        ----------
        records
            Position of each record, a line number or "element 3", and its content.
        parse
            Makes a problem of a record's content, or raises Malformed.
        """
        for line, record in records:
            if self.beginning is not None and len(self.places) >= self.beginning.most:
                self.unread += 1
                continue
            try:
                problem = parse(record)
            except Malformed as error:
                self.reject(error, line)
            else:
                self.places.append(line)
                yield problem

    def reject(self, error: Malformed, line: Place | None = None) -> None:
        """Raise a malformed record's error, or store it in lenient mode.

        The file and the position, `line`, are added to the error.
        """
        placed = error.at(str(self.path), line)
        if not self.lenient:
            raise placed from None
        self.skipped.append(placed)

    @property
    def first_skipped(self) -> Malformed:
        """The error of the first malformed record.

        It is the one with the lowest line.
        """

        def line_of(error: Malformed) -> int:
            return error.line if isinstance(error.line, int) else 0

        return min(self.skipped, key=line_of)

    def note(self, sentence: str) -> None:
        """Store a sentence about the file, to be shown to the user."""
        self.notes.append(f"{self.path}: {sentence}")

    def raw(self) -> bytes:
        """The bytes of the file, decompressed, up to the limit."""
        data = read_bytes(self.path, self.limit)
        if self.limit is None or len(data) < self.limit:
            return data
        last_line_end = data.rfind(b"\n") + 1
        return data[:last_line_end]

    def text(self) -> str:
        """The file as text.

        A byte that cannot be decoded raises Malformed with its line. In lenient mode its line becomes empty.
        """
        return "\n".join(self._split_lines())

    def _split_lines(self) -> Iterable[str]:
        """The lines of the file, including blank ones."""
        data = self.raw()
        try:
            return self._decode_text(data).split("\n")
        except Malformed:
            if not self.lenient or encoding_of(data) != "utf-8":
                raise
            return self._decode_lines(data)

    def _decode_text(self, data: bytes, first_line: int = 1) -> str:
        """Decode bytes as text.

        Raises Malformed with the line of a byte that cannot be decoded. `first_line` is the number of the first line.
        """
        encoding = encoding_of(data)
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = first_line + data.count(b"\n", 0, error.start)
            message = f"expected {encoding[:6].upper()} text, found byte 0x{data[error.start]:02x}"
            raise Malformed(f"{message}; save the file as UTF-8", file=str(self.path), line=line) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line that is not blank.

        Only a newline ends a line, since JSON may contain other separators such as U+2028.
        """
        for number, line in enumerate(self._split_lines(), 1):
            if line and not line.isspace():
                yield number, line.rstrip("\r")

    def _decode_lines(self, data: bytes) -> Iterator[str]:
        """Yield each line as text, empty if it cannot be decoded.

        It is used in lenient mode only.
        """
        for number, raw in enumerate(data.split(b"\n"), 1):
            try:
                yield self._decode_text(raw, number)
            except Malformed as error:
                self.reject(error)
                yield ""

    def json_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the line number and the object of each line of JSON.

        A line that is no JSON object is raised as malformed, or stored in lenient mode.
        """
        for number, line in self.lines():
            try:
                row = _load_json(line)
            except (ValueError, RecursionError) as error:
                self.reject(Malformed(f"expected a JSON object ({_describe_error(error)})"), number)
                continue
            # Half of a character needs a backslash, so most lines need no further test.
            is_plain_object = row.__class__ is dict and "\\" not in line
            if is_plain_object or self.is_sound(row, line, number):
                yield number, row

    def is_sound(self, row: object, written: str, line: Place) -> bool:
        """Whether a JSON value is an object that only has whole characters.

        A value that is not is raised as malformed, or stored in lenient mode. `written` is its JSON text.
        """
        if not isinstance(row, dict):
            self.reject(Malformed(f"expected a JSON object, found {type(row).__name__}"), line)
            return False
        may_have_half = "\\" in written and HALF.search(written)
        half = _find_half_character(row) if may_have_half else None
        if half is not None:
            self.reject(Malformed(f"expected whole characters, found {half}, which is half of one"), line)
            return False
        return True

    def csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the cells of each row, header first.

        The delimiter is found from the content. A broken row is raised as malformed, or stored in lenient mode.
        """
        reader = csv_reader(self.text())
        for row_index, (line, cells) in enumerate(_read_rows(reader)):
            if not isinstance(cells, csv.Error):
                yield line, cells
                continue
            self.reject(Malformed(f"expected a well-formed row ({cells})"), line)
            is_header = row_index == 0
            if is_header:  # without a header nobody knows what the cells are
                return

    def json_array(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield position and object of each element of a JSON array.

        A position is "element 3" or "element 3 (line 12)". An element that is no object is raised as malformed, or
        stored in lenient mode. After an element that is no JSON, nothing more is read.
        """
        text = self.text()
        decoder = json.JSONDecoder()
        at = _skip_white_space(text, 0)
        line = 1
        counted_to = 0
        number = 0
        is_one_line = "\n" not in text.strip()
        if not text.startswith("[", at):
            raise Malformed("expected a JSON array '[…]'", file=str(self.path), line=1)
        at = _skip_white_space(text, at + 1)
        while not text.startswith("]", at):
            line += text.count("\n", counted_to, at)
            counted_to = at
            number += 1
            place = f"element {number}" if is_one_line else f"element {number} (line {line})"
            try:
                row, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                # Nobody can know where the next element starts, so the rest is lost even if lenient.
                self.reject(Malformed(f"expected a JSON object ({_describe_error(error)}); {LOST}"), place)
                return
            if self.is_sound(row, text[counted_to:at], place):
                yield place, row
            at = _skip_white_space(text, at)
            if text.startswith(",", at):
                at = _skip_white_space(text, at + 1)
            elif not text.startswith("]", at):
                self.reject(Malformed(f"expected ',' or ']' after an element (is the file cut off?); {LOST}"), place)
                return
        after_array = _skip_white_space(text, at + 1)
        if after_array < len(text):
            line += text.count("\n", counted_to, after_array)
            self.reject(Malformed("expected the end of the file after the array's ']'"), line)

    def xml_elements(self, tag: str) -> Iterator[tuple[int, Element]]:
        """Yield line number and element of each `tag` below the root.

        Only elements directly below it count. If the XML breaks off, that is raised as malformed, or in lenient mode
        the complete elements before it are yielded. Expat resolves no external entities and limits entity expansion.
        """
        content = self.raw()
        parser = expat.ParserCreate()
        builder = TreeBuilder()
        lines: dict[Element, int] = {}
        ended: set[Element] = set()

        def start(name: str, attributes: dict[str, str]) -> None:
            lines[builder.start(name, attributes)] = parser.CurrentLineNumber

        def end(name: str) -> None:
            ended.add(builder.end(name))

        parser.StartElementHandler = start
        parser.CharacterDataHandler = builder.data
        parser.EndElementHandler = end
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            fault = f"{expat.ErrorString(error.code)}; is the file cut off?"
            self.reject(Malformed(f"expected well-formed XML ({fault})"), error.lineno)
        except (LookupError, ValueError) as error:  # an encoding the declaration names but nobody knows
            self.reject(Malformed(f"expected well-formed XML ({error})"), 1)
        if not lines:
            return
        root = next(iter(lines))  # it began first
        for element in root:
            if element.tag == tag and element in ended:
                yield lines[element], element


def text_at(element: Element, path: str) -> str:
    """The text of an XML element at a path.

    It has the text of inner elements too. Empty if there is no such element.
    """
    node = element.find(path)
    return "" if node is None else "".join(node.itertext())


def words(element: Element, path: str) -> str:
    """The text of an XML element at a path, with single spaces."""
    return " ".join(text_at(element, path).split())


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file, or its first `limit` bytes.

    Files compressed with gzip or xz are decompressed. Raises BadInput if the file cannot be read.
    """
    size = -1 if limit is None else limit
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            if magic.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=file) as unzipped:
                    return unzipped.read(size)
            if magic == b"\xfd7zXZ\x00":
                with lzma.LZMAFile(file) as unpacked:
                    return unpacked.read(size)
            return file.read(size)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise BadInput(f"{path}: cannot be decompressed ({error})") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None


def encoding_of(data: bytes) -> str:
    """The encoding of a file from its first bytes, UTF-8 or UTF-16.

    UTF-16 is recognised with and without byte order mark.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    # Half of the bytes of plain letters are zero in UTF-16.
    has_zeros_first = data[:4:2] == b"\0\0"
    has_zeros_second = data[1:4:2] == b"\0\0"
    if has_zeros_first == has_zeros_second:
        return "utf-8"
    return "utf-16-be" if has_zeros_first else "utf-16-le"


def decode_head(data: bytes) -> str:
    """The first bytes of a file as text.

    The last character may be incomplete and is dropped. Bytes that are not UTF-8 are read as latin-1.
    """
    decoder = getincrementaldecoder(encoding_of(data))()
    try:
        return decoder.decode(data).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return data.decode("latin-1").removeprefix("\xef\xbb\xbf")


def delimiter_of(text: str) -> str:
    """The character between the cells of a table.

    It is the one that gives most rows as many cells as the header. If several do, the one with more cells wins.
    """
    head = text[:HEAD_BYTES]
    is_cut = len(text) > HEAD_BYTES

    def fit(delimiter: str) -> tuple[float, int]:
        widths = _measure_widths(_make_reader(head, delimiter))
        if is_cut and len(widths) > 1:
            widths.pop()
        if not widths or widths[0] < 2:
            return 0.0, 0
        header_width = widths[0]
        return widths.count(header_width) / len(widths), header_width

    return max(DELIMITERS, key=fit)


def _make_reader(text: str, delimiter: str, quotes: bool = True) -> Any:
    """A csv reader of a text with one delimiter.

    With `quotes` they enclose cells, otherwise they are plain characters.
    """
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    file = io.StringIO(text, newline="")
    return csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)


def _read_rows(reader: Any) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield line and cells of each row of a csv reader.

    A broken row has its error in place of the cells.
    """
    while True:
        line = reader.line_num + 1
        try:
            row: list[str] | csv.Error = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = error
        yield line, row


def _measure_widths(reader: Any) -> list[int]:
    """Number of cells of each row that is not empty.

    It is 0 for a broken row.
    """
    widths = []
    for _, row in _read_rows(reader):
        if isinstance(row, csv.Error):
            widths.append(0)
        elif row:
            widths.append(len(row))
    return widths


def csv_reader(text: str) -> Any:
    """A csv reader of a table's rows, header first.

    The delimiter is found from the content. In tables with tabs or bars, quotes are plain characters if only then all
    rows have the same number of cells.
    """
    separator = SEPARATOR.match(text)
    quotes = True
    delimiter = separator[1] if separator else delimiter_of(text)
    if delimiter in "\t|" and '"' in text:
        quoted_widths = set(_measure_widths(_make_reader(text, delimiter, True)))
        plain_widths = set(_measure_widths(_make_reader(text, delimiter, False)))
        quotes = len(quoted_widths) == 1 or len(plain_widths) > 1
    reader = _make_reader(text, delimiter, quotes)
    if separator:
        next(reader)
    return reader


def _skip_white_space(text: str, at: int) -> int:
    """Index of the next character that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _find_half_character(value: object) -> str | None:
    """The escape of the first half of a character.

    It is looked for in a JSON value. A half is a surrogate without its other half. None if there is none.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return ascii(error.object[error.start]).strip("'")
    return None


def _load_json(line: str) -> Any:
    """Parse a line of JSON, faster than `json.loads` if it is correct."""
    try:
        value, end = _scan(line, 0)
    except (StopIteration, ValueError):
        end = -1
    return value if end == len(line) else json.loads(line)


_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _describe_error(error: Exception) -> str:
    """The reason why JSON cannot be parsed, for a message."""
    if isinstance(error, json.JSONDecodeError):
        message = error.msg.removesuffix(" at")
        return f"{message} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


@dataclass
class FileRecords:
    """Positions of a file's records, and its malformed records."""

    path: Path
    places: dict[str, Place] = field(default_factory=dict)
    """The place of a problem's record, by the problem's id."""
    malformed: list[Malformed] = field(default_factory=list)


_LISTENERS: ContextVar[tuple[list[FileRecords], ...]] = ContextVar("records", default=())


def remember_records(path: Path, dataset: Dataset, places: Sequence[Place], malformed: Sequence[Malformed]) -> None:
    """Pass the positions of a file's records to whoever collects them.

    Callers collect them with `remembering_records`. No positions are passed if the dataset does not have one problem
    for each of them.

    Parameters
    ----------
    places
        The position of each problem's record, a line number or "element 3", in the order of the dataset.
    malformed
        The errors of records that are no problems.
    """
    listeners = _LISTENERS.get()
    if not listeners:
        return
    place_of_id: dict[str, Place] = {}
    if len(places) == len(dataset):
        ids = [problem.id for problem in dataset]
        place_of_id = dict(zip(ids, places, strict=True))
    for listener in listeners:
        listener.append(FileRecords(path, place_of_id, list(malformed)))


@contextmanager
def remembering_records() -> Iterator[list[FileRecords]]:
    """Context manager that collects the records of every file read.

    It gives a list, which grows in the order of reading.
    """
    files: list[FileRecords] = []
    token = _LISTENERS.set((*_LISTENERS.get(), files))
    try:
        yield files
    finally:
        _LISTENERS.reset(token)
