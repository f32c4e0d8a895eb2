"""Text as it lies on disk: plain, compressed, as JSON lines, or a folder of any of these, read in blocks.

A block is about a megabyte, cut where a paragraph ends, and always cut in the same places, so that an interrupted
reading can go on at a block's number. What is no text is refused: a named file with an error, a file found in a folder
with a note.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from winokit.errors import BadInput, Malformed, MissingExtra, UnknownName

BLOCK = 1 << 20
"""Bytes of uncompressed text read at a time. Unfinished indexes go by it: another size needs another version."""
LARGEST = 4
"""How many times that a paragraph may fill before it is cut."""
SNIFF = 4096
JSON_LINES = {".jsonl", ".ndjson"}
COMPRESSED = {".gz", ".xz", ".zst", ".bz2"}
LAYOUTS = ("paragraphs", "lines")
PARAGRAPH = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True, slots=True)
class CorpusBlock:
    """A part of a file: its text, the line it starts on, and how many bytes of the file have been read so far."""

    text: str
    line: int
    read: int


@dataclass(frozen=True, slots=True)
class CorpusLayout:
    """How text lies in the files of a corpus: what a document is, and where JSON lines keep theirs."""

    documents: str = "paragraphs"
    """`paragraphs`: a blank line ends a document, other line breaks are spaces. `lines`: every line is a document."""
    field: str = "text"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.documents not in LAYOUTS:
            raise UnknownName("layout of a corpus", self.documents, LAYOUTS)
        try:
            "".encode(self.encoding)  # unlike codecs.lookup, refuses base64 and others that are not of text
        except (LookupError, ValueError):
            raise BadInput(f"no encoding named {self.encoding!r}") from None


def find_files(paths: Sequence[Path], layout: CorpusLayout) -> tuple[list[Path], list[str]]:
    """The files of a corpus, folders expanded in order of name, and notes on what was passed over."""
    files: list[Path] = []
    notes: list[str] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        text = [p for p in inside if _why_no_text(p, layout) is None]
        files += text
        passed = [p for p in inside if p not in set(text)]
        if passed:
            why = _why_no_text(passed[0], layout)
            notes.append(f"{path}: {len(text)} files of text; {len(passed)} others passed over, the first: {why}")
    return list(dict.fromkeys(files)), notes


def blocks(path: Path, layout: CorpusLayout) -> Iterator[CorpusBlock]:
    """The blocks of a file, in order."""
    cut_at_lines = is_json_lines(path) or layout.documents == "lines"
    decoder = codecs.getincrementaldecoder(layout.encoding)()
    kept, line, position, first = "", 1, 0, True
    with readable(path), path.open("rb") as raw, closing(_opened(raw, path)) as file:
        while data := file.read(BLOCK):
            text = _decoded(decoder, data, position, path)
            _refuse_binary(text, path)
            position += len(data)
            text = kept + (text.removeprefix("\ufeff") if first else text)
            first = False
            cut = _last_cut(text, cut_at_lines)
            kept = text[cut:]
            if cut:
                yield CorpusBlock(text[:cut].replace("\r\n", "\n"), line, raw.tell())
                line += text.count("\n", 0, cut)
        kept += _decoded(decoder, b"", position, path, final=True)
        if kept:
            yield CorpusBlock(kept.replace("\r\n", "\n"), line, raw.tell())


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What is wrong with a file's bytes, as one line."""
    try:
        yield
    except _read_errors() as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{path}: cannot be read ({why})") from None


def documents(block: CorpusBlock, path: Path, layout: CorpusLayout) -> Iterable[str]:
    """The documents of a block: records of JSON lines, lines, or paragraphs."""
    if is_json_lines(path):
        return (
            _field(line, layout.field, path, number)
            for number, line in enumerate(block.text.split("\n"), block.line)
            if line.strip()
        )
    found = block.text.split("\n") if layout.documents == "lines" else PARAGRAPH.split(block.text)
    return (document for document in found if document.strip())


def is_json_lines(path: Path) -> bool:
    """Whether a file's name says that it is JSON lines, compressed or not.

    >>> is_json_lines(Path("stories.jsonl.gz")), is_json_lines(Path("stories.txt"))
    (True, False)
    """
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix in JSON_LINES


def _opened(raw: IO[bytes], path: Path) -> IO[bytes]:
    """The file's bytes without their compression."""
    match path.suffix:
        case ".gz":
            return cast(IO[bytes], gzip.open(raw))
        case ".xz":
            return cast(IO[bytes], lzma.open(raw))
        case ".bz2":
            return cast(IO[bytes], bz2.open(raw))
        case ".zst":
            return _zstandard_reader(raw)
    return raw


def _zstandard_reader(raw: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("a .zst corpus", "hunt") from None
    return cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False))


def _read_errors() -> tuple[type[Exception], ...]:
    """What can go wrong with a file's bytes."""
    errors: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
    try:
        import zstandard
    except ImportError:
        return errors
    return (*errors, zstandard.ZstdError)


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, position: int, path: Path, final: bool = False) -> str:
    try:
        return decoder.decode(data, final)
    except UnicodeDecodeError as error:
        if b"\x00" in data[:SNIFF]:
            raise BadInput(f"{path}: a binary file, not text") from None
        place = position + error.start
        raise BadInput(f"{path}: not {error.encoding} near byte {place:,}; say --encoding, or convert it") from None


def _refuse_binary(text: str, path: Path) -> None:
    if "\x00" in text:
        raise BadInput(f"{path}: a binary file, not text")


def _last_cut(text: str, at_lines: bool) -> int:
    """Where a block may end: after its last paragraph, or, in a very long one, line, sentence or word; 0: not yet."""
    if at_lines:
        return text.rfind("\n") + 1
    paragraph = text.rfind("\n\n")
    if paragraph >= 0:
        return paragraph + 2
    if len(text) < LARGEST * BLOCK:
        return 0
    return (text.rfind("\n") + 1) or (text.rfind(". ") + 1) or (text.rfind(" ") + 1)


def _field(line: str, field: str, path: Path, number: int) -> str:
    try:
        row: Any = json.loads(line)
    except ValueError:
        raise Malformed("a line of JSON expected", file=str(path), line=number) from None
    text = row.get(field) if isinstance(row, dict) else row
    if not isinstance(text, str):
        raise Malformed("text expected; name the field that has it with --field", field=field).at(str(path), number)
    return text


def _why_no_text(path: Path, layout: CorpusLayout) -> str | None:
    """Why a file in a folder is not read, or None."""
    try:
        with path.open("rb") as raw, closing(_opened(raw, path)) as file:
            start = file.read(SNIFF)
    except _read_errors() as error:
        return f"{path}: cannot be read ({error})"
    try:
        decoder = codecs.getincrementaldecoder(layout.encoding)()
        _refuse_binary(_decoded(decoder, start, 0, path, final=len(start) < SNIFF), path)
    except BadInput as why:
        return str(why)
    return None
