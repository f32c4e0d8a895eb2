"""A file as readers see it: lines, cells, JSON values or XML elements, each with its line number.

Reading is strict, or lenient and counting. Who wants to know where the records of a file stand asks for its
`FileRecords`.
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
"""The number of a line, or what else tells a record: "element 3" of a JSON array, "row 3" of a table without lines."""
HEAD_BYTES = 65_536
DELIMITERS = ",;\t|"
LOST = "nothing from there on is read"
SEPARATOR = re.compile(r"sep=(.)\r?\n")
"""What Excel writes above a table to say what stands between its cells."""
HALF = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
"""How JSON spells half of a character: two in a row make one, and one alone no file can hold."""


def name_place(place: Place) -> str:
    """A place as it is called in a sentence.

    >>> name_place(12), name_place("element 3")
    ('line 12', 'element 3')
    """
    return f"line {place}" if isinstance(place, int) else place


@dataclass
class FileBeginning:
    """Of a file only the beginning is parsed: so many problems at most, and how many records come after them."""

    most: int
    unread: int = 0


_BEGINNING: ContextVar[FileBeginning | None] = ContextVar("beginning", default=None)


@contextmanager
def reading_beginnings(most: int) -> Iterator[FileBeginning]:
    """Parse only the first `most` problems of each file that is read in the block, and count the records after them."""
    beginning = FileBeginning(most)
    token = _BEGINNING.set(beginning)
    try:
        yield beginning
    finally:
        _BEGINNING.reset(token)


class Source:
    """One file being read. In lenient mode malformed records are remembered in `skipped` instead of raised."""

    def __init__(self, path: Path, *, lenient: bool = False, limit: int | None = None) -> None:
        self.path = path
        self.lenient = lenient
        self.limit = limit
        self.skipped: list[Malformed] = []
        self.places: list[Place] = []
        """Where the record of each problem stands that was read: a line, or an element of an array."""
        self.beginning = _BEGINNING.get()
        self.unread = 0
        """Records after those that were parsed, if only the beginning of files is."""
        self.notes: list[str] = []
        self.card: Card | None = None
        self.sample_hint = ""
        """How to say that several rows about each problem are samples, if that is likely."""
        self.roles: dict[str, str] = {}
        """What the columns of a table of predictions were taken for."""
        self.readings: dict[str, float] = {}
        """Shares of right replies by each way to read them."""

    def each(self, records: Iterable[tuple[Place, R]], parse: Callable[[R], Problem]) -> Iterator[Problem]:
        """Parse each record; a malformed one gets its place and is raised, or skipped when lenient."""
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
        """Raise the error with its place, or remember it when lenient."""
        placed = error.at(str(self.path), line)
        if not self.lenient:
            raise placed from None
        self.skipped.append(placed)

    @property
    def first_skipped(self) -> Malformed:
        """The malformed record that stands first in the file."""
        return min(self.skipped, key=lambda error: error.line if isinstance(error.line, int) else 0)

    def note(self, sentence: str) -> None:
        """Remember something the reader had to decide, to be told to the user."""
        self.notes.append(f"{self.path}: {sentence}")

    def raw(self) -> bytes:
        """The whole file, decompressed; where there is a limit, the lines up to it."""
        data = read_bytes(self.path, self.limit)
        return data if self.limit is None or len(data) < self.limit else data[: data.rfind(b"\n") + 1]

    def text(self) -> str:
        """The whole file as text; a byte that does not decode is named with its line.

        When lenient, the other lines of the file are kept, and its line is empty.
        """
        data = self.raw()
        try:
            return self._decoded(data)
        except Malformed:
            if not self.lenient or encoding_of(data) != "utf-8":
                raise
            return "\n".join(self._salvaged(data))

    def _decoded(self, data: bytes, first_line: int = 1) -> str:
        encoding = encoding_of(data)
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = first_line + data.count(b"\n", 0, error.start)
            message = f"expected {encoding[:6].upper()} text, found byte 0x{data[error.start]:02x}"
            raise Malformed(f"{message}; save the file as UTF-8", file=str(self.path), line=line) from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line that is not blank. Only newlines end a line: U+2028 may stand inside JSON."""
        data = self.raw()
        try:
            lines: Iterable[str] = self._decoded(data).split("\n")
        except Malformed:
            if not self.lenient or encoding_of(data) != "utf-8":
                raise
            lines = self._salvaged(data)
        for number, line in enumerate(lines, 1):
            if line and not line.isspace():
                yield number, line.rstrip("\r")

    def _salvaged(self, data: bytes) -> Iterator[str]:
        """Each line decoded by itself, for lenient reading of a file with some bad bytes."""
        for number, raw in enumerate(data.split(b"\n"), 1):
            try:
                yield self._decoded(raw, number)
            except Malformed as error:
                self.reject(error)
                yield ""

    def json_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and object of each line of JSON."""
        for number, line in self.lines():
            try:
                row = _loaded(line)
            except (ValueError, RecursionError) as error:
                self.reject(Malformed(f"expected a JSON object ({_reason(error)})"), number)
                continue
            if (row.__class__ is dict and "\\" not in line) or self.is_sound(row, line, number):
                yield number, row

    def is_sound(self, row: object, written: str, line: Place) -> bool:
        """Whether a JSON value is an object of whole characters; if not, it is rejected."""
        half = _half(row) if "\\" in written and HALF.search(written) else None
        if not isinstance(row, dict):
            self.reject(Malformed(f"expected a JSON object, found {type(row).__name__}"), line)
        elif half is not None:
            self.reject(Malformed(f"expected whole characters, found {half}, which is half of one"), line)
        return isinstance(row, dict) and half is None

    def csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of each row, the header's among them; a broken row is rejected.

        What stands between cells (comma, semicolon, tab, bar) is told from the content.
        """
        for place, (line, cells) in enumerate(_rows(csv_reader(self.text()))):
            if not isinstance(cells, csv.Error):
                yield line, cells
                continue
            self.reject(Malformed(f"expected a well-formed row ({cells})"), line)
            if not place:  # without a header nobody knows what the cells are
                return

    def json_array(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Place and object of each element of one JSON array: its number, from 1, and its line if there are several."""
        text = self.text()
        decoder = json.JSONDecoder()
        at = _skip(text, 0)
        line = 1
        counted = 0
        number = 0
        is_one_line = "\n" not in text.strip()
        if not text.startswith("[", at):
            raise Malformed("expected a JSON array '[…]'", file=str(self.path), line=1)
        at = _skip(text, at + 1)
        while not text.startswith("]", at):
            line = line + text.count("\n", counted, at)
            counted = at
            number = number + 1
            place = f"element {number}" if is_one_line else f"element {number} (line {line})"
            try:
                row, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                # There is no telling where the next element starts: what follows is lost even when lenient.
                self.reject(Malformed(f"expected a JSON object ({_reason(error)}); {LOST}"), place)
                return
            if self.is_sound(row, text[counted:at], place):
                yield place, row
            at = _skip(text, at)
            if text.startswith(",", at):
                at = _skip(text, at + 1)
            elif not text.startswith("]", at):
                self.reject(Malformed(f"expected ',' or ']' after an element (is the file cut off?); {LOST}"), place)
                return
        if _skip(text, at + 1) < len(text):
            line += text.count("\n", counted, _skip(text, at + 1))
            self.reject(Malformed("expected the end of the file after the array's ']'"), line)

    def xml_elements(self, tag: str) -> Iterator[tuple[int, Element]]:
        """Line and tree of each `tag` element that stands directly below the root.

        Expat resolves no external entities and limits entity expansion. When lenient, the elements before the place
        where the XML breaks are still given.
        """
        content = self.raw()
        parser, builder = expat.ParserCreate(), TreeBuilder()
        lines: dict[Element, int] = {}
        ended: set[Element] = set()

        def start(name: str, attributes: dict[str, str]) -> None:
            lines[builder.start(name, attributes)] = parser.CurrentLineNumber

        parser.StartElementHandler, parser.CharacterDataHandler = start, builder.data
        parser.EndElementHandler = lambda name: ended.add(builder.end(name))
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            broken = Malformed(f"expected well-formed XML ({expat.ErrorString(error.code)}; is the file cut off?)")
            self.reject(broken, error.lineno)
        except (LookupError, ValueError) as error:  # an encoding the declaration names but nobody knows
            self.reject(Malformed(f"expected well-formed XML ({error})"), 1)
        for element in next(iter(lines), ()):  # of the root, which began first
            if element.tag == tag and element in ended:
                yield lines[element], element


def text_at(element: Element, path: str) -> str:
    """The text at a path below an XML element, with that of elements inside; empty when there is nothing there."""
    return "".join(text for node in element.findall(path)[:1] for text in node.itertext())


def words(element: Element, path: str) -> str:
    """The same with white space folded."""
    return " ".join(text_at(element, path).split())


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """Read a file, or its first `limit` bytes, through gzip or xz if its first bytes say so."""
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            if magic.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=file) as unzipped:
                    return unzipped.read(-1 if limit is None else limit)
            if magic == b"\xfd7zXZ\x00":
                with lzma.LZMAFile(file) as unpacked:
                    return unpacked.read(-1 if limit is None else limit)
            return file.read(-1 if limit is None else limit)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise BadInput(f"{path}: cannot be decompressed ({error})") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None


def encoding_of(data: bytes) -> str:
    """UTF-8, unless the first bytes are those of UTF-16, with a byte order mark or without."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    return {(False, True): "utf-16-le", (True, False): "utf-16-be"}.get(
        (data[:4:2] == b"\0\0", data[1:4:2] == b"\0\0"), "utf-8"
    )


def decode_head(data: bytes) -> str:
    """The first bytes of a file as text, the last character perhaps cut off; what is no UTF-8 is taken for latin-1."""
    try:
        return getincrementaldecoder(encoding_of(data))().decode(data).removeprefix("\ufeff")
    except UnicodeDecodeError:
        return data.decode("latin-1").removeprefix("\xef\xbb\xbf")


def delimiter_of(text: str) -> str:
    """The character between the cells of a table: the one for which rows are as wide as their header, and wide."""

    def fit(delimiter: str) -> tuple[float, int]:
        widths = _widths(_cells(text[:HEAD_BYTES], delimiter))
        if len(widths) > 1 and len(text) > HEAD_BYTES:
            widths.pop()
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(DELIMITERS, key=fit)


def _cells(text: str, delimiter: str, quotes: bool = True) -> Any:
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting, strict=True)


def _rows(reader: Any) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Line and cells of each row, or what is wrong with it."""
    while True:
        line = reader.line_num + 1
        try:
            row: list[str] | csv.Error = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = error
        yield line, row


def _widths(reader: Any) -> list[int]:
    """How many cells each row has that is not empty; 0 for one that is broken."""
    return [0 if isinstance(row, csv.Error) else len(row) for _, row in _rows(reader) if row]


def csv_reader(text: str) -> Any:
    """Reads the rows of a table with whatever stands between its cells, the header first.

    Between tabs and bars a quote may be just that, where only so all rows are equally wide.
    """
    separator = SEPARATOR.match(text)
    quotes = True
    delimiter = separator[1] if separator else delimiter_of(text)
    if delimiter in "\t|" and '"' in text:
        quoted, plain = ({*_widths(_cells(text, delimiter, quotes))} for quotes in (True, False))
        quotes = len(quoted) == 1 or len(plain) > 1
    reader = _cells(text, delimiter, quotes)
    if separator:
        next(reader)
    return reader


def _skip(text: str, at: int) -> int:
    """The next position that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _half(value: object) -> str | None:
    """The first half of a character in a JSON value, as JSON spells it; None where there is none."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return ascii(error.object[error.start]).strip("'")
    return None


def _loaded(line: str) -> Any:
    """What `json.loads` makes of a line, in less time where nothing is wrong with it."""
    try:
        value, end = _scan(line, 0)
    except (StopIteration, ValueError):
        end = -1
    return value if end == len(line) else json.loads(line)


_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


@dataclass
class FileRecords:
    """The records of one file that was read."""

    path: Path
    places: dict[str, Place] = field(default_factory=dict)
    """By the id of a problem, where its record stands."""
    malformed: list[Malformed] = field(default_factory=list)


_LISTENERS: ContextVar[tuple[list[FileRecords], ...]] = ContextVar("records", default=())


def remember_records(path: Path, dataset: Dataset, places: Sequence[Place], malformed: Sequence[Malformed]) -> None:
    """Tell whoever wants to know where the records of a file stand; where there are other problems, of none."""
    if not _LISTENERS.get():
        return
    is_one_to_one = len(places) == len(dataset)
    by_id = dict(zip((problem.id for problem in dataset), places, strict=True)) if is_one_to_one else {}
    for listener in _LISTENERS.get():
        listener.append(FileRecords(path, by_id, list(malformed)))


@contextmanager
def remembering_records() -> Iterator[list[FileRecords]]:
    """The records of every file that is read in the block, in order."""
    files: list[FileRecords] = []
    token = _LISTENERS.set((*_LISTENERS.get(), files))
    try:
        yield files
    finally:
        _LISTENERS.reset(token)
