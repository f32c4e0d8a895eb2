"""Text as it lies on disk: plain, compressed, as JSON lines, or a folder of any of these, read in blocks.

A block is about a megabyte, cut where a paragraph ends, and always cut in the same places, so that an interrupted
reading can go on at a block's number. What is no text is refused: a named file with an error, a file found in a folder
with a note.
"""

import bz2
import codecs
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from winokit.errors import BadInput, Malformed, check_known, needing

BLOCK = 1 << 20
"""Bytes of uncompressed text read at a time. Unfinished indexes go by it: another size needs another version."""
LARGEST = 4
"""Maximal length of a paragraph in blocks, before it is cut."""
SNIFF = 4096
JSON_LINES = {".jsonl", ".ndjson"}
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
LAYOUTS = ("paragraphs", "lines")
PARAGRAPH = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True, slots=True)
class CorpusBlock:
    """A part of a file's text.

    `line` is the number of its first line, `read` the number of bytes of the file read so far.
    """

    text: str
    line: int
    read: int


@dataclass(frozen=True, slots=True)
class CorpusLayout:
    """Documents of a file, its encoding, and the field of JSON lines."""

    documents: str = "paragraphs"
    """`paragraphs`: a blank line ends a document, other line breaks are spaces. `lines`: every line is a document."""
    field: str = "text"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        check_known("layout of a corpus", self.documents, LAYOUTS)
        try:
            "".encode(self.encoding)  # unlike codecs.lookup, refuses base64 and others that are not of text
        except (LookupError, ValueError):
            raise BadInput(f"no encoding named {self.encoding!r}") from None


def find_files(paths: Sequence[Path], layout: CorpusLayout) -> tuple[list[Path], list[str]]:
    """List the files of a corpus, with notes on skipped files.

    Folders are searched at any depth, in order of name. In a folder, hidden files and files that are not text are
    skipped.
    """
    files: list[Path] = []
    notes: list[str] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        whys = {p: _check_text(p, layout) for p in inside}
        text = [p for p, why in whys.items() if why is None]
        passed = [why for why in whys.values() if why is not None]
        files += text
        if passed:
            notes.append(f"{path}: {len(text)} files of text; {len(passed)} others skipped, the first: {passed[0]}")
    return list(dict.fromkeys(files)), notes


def blocks(path: Path, layout: CorpusLayout) -> Iterator[CorpusBlock]:
    """Yield the blocks of a file in order.

    Raises BadInput if the file cannot be read as text.
    """
    cut_at_lines = is_json_lines(path) or layout.documents == "lines"
    decoder = codecs.getincrementaldecoder(layout.encoding)()
    pending_text = ""
    line = 1
    position = 0
    first = True
    with readable(path), path.open("rb") as raw, closing(_open_decompressed(raw, path)) as file:
        while data := file.read(BLOCK):
            text = _decode_text(decoder, data, position, path)
            position += len(data)
            text = pending_text + (text.removeprefix("\ufeff") if first else text)
            first = False
            cut = _find_last_cut(text, cut_at_lines)
            pending_text = text[cut:]
            if cut:
                yield CorpusBlock(text[:cut].replace("\r\n", "\n"), line, raw.tell())
                line += text.count("\n", 0, cut)
        pending_text += _decode_text(decoder, b"", position, path, final=True)
        if pending_text:
            yield CorpusBlock(pending_text.replace("\r\n", "\n"), line, raw.tell())


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into BadInput, inside the context."""
    try:
        yield
    except _read_errors() as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"{path}: cannot be read ({reason})") from None


def documents(block: CorpusBlock, path: Path, layout: CorpusLayout) -> Iterable[str]:
    """Documents of a block: fields of JSON lines, lines, or paragraphs.

    Empty ones are left out. Raises Malformed for a JSON line without text in the field.
    """
    if is_json_lines(path):
        numbered = enumerate(block.text.split("\n"), block.line)
        return (_read_field(line, layout.field, path, number) for number, line in numbered if line.strip())
    pieces = block.text.split("\n") if layout.documents == "lines" else PARAGRAPH.split(block.text)
    return (document for document in pieces if document.strip())


def is_json_lines(path: Path) -> bool:
    """Whether a file's name ends like JSON lines, compressed or not.

    >>> is_json_lines(Path("stories.jsonl.gz")), is_json_lines(Path("stories.txt"))
    (True, False)
    """
    name = path.with_suffix("") if path.suffix in (*OPENERS, ".zst") else path
    return name.suffix in JSON_LINES


def _open_decompressed(raw: IO[bytes], path: Path) -> IO[bytes]:
    """Open a file's bytes without their compression, which the suffix names."""
    if path.suffix != ".zst":
        return OPENERS[path.suffix](raw) if path.suffix in OPENERS else raw
    with needing("a .zst corpus", "hunt"):
        import zstandard
    return cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False))


def _read_errors() -> tuple[type[Exception], ...]:
    """Types of errors that reading a file can raise, compressed or not."""
    errors: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
    try:
        import zstandard
    except ImportError:
        return errors
    return (*errors, zstandard.ZstdError)


def _decode_text(
    decoder: codecs.IncrementalDecoder, data: bytes, position: int, path: Path, final: bool = False
) -> str:
    """Decode bytes that begin at a position of the file.

    Raises BadInput if they are binary or in another encoding.
    """
    reason = "a binary file, not text"
    try:
        text = decoder.decode(data, final)
        if "\x00" not in text:
            return text
    except UnicodeDecodeError as error:
        if b"\x00" not in data[:SNIFF]:
            byte_position = position + error.start
            reason = f"not {error.encoding} near byte {byte_position:,}; say --encoding, or convert it"
    raise BadInput(f"{path}: {reason}")


def _find_last_cut(text: str, at_lines: bool) -> int:
    """Index in a text where a block may end, or 0.

    That is after the last line, if documents are lines, or else after the last paragraph. Text of four blocks without
    a paragraph's end is cut after a line, a sentence or a word.
    """
    if at_lines:
        return text.rfind("\n") + 1
    paragraph = text.rfind("\n\n")
    if paragraph >= 0:
        return paragraph + 2
    if len(text) < LARGEST * BLOCK:
        return 0
    return (text.rfind("\n") + 1) or (text.rfind(". ") + 1) or (text.rfind(" ") + 1)


def _read_field(line: str, field: str, path: Path, number: int) -> str:
    """Text of one JSON line.

    It is the line's field of that name, or the line's value itself if it is a string.
    """
    try:
        row: Any = json.loads(line)
    except ValueError:
        raise Malformed("expected a line of JSON", file=str(path), line=number) from None
    text = row.get(field) if isinstance(row, dict) else row
    if not isinstance(text, str):
        raise Malformed("expected text; name the field that has it with --field", field=field).at(str(path), number)
    return text


def _check_text(path: Path, layout: CorpusLayout) -> str | None:
    """Reason to skip a file in a folder, or None.

    None means that it is text.
    """
    try:
        with readable(path), path.open("rb") as raw, closing(_open_decompressed(raw, path)) as file:
            start = file.read(SNIFF)
        _decode_text(codecs.getincrementaldecoder(layout.encoding)(), start, 0, path, final=len(start) < SNIFF)
    except BadInput as why:
        return str(why)
    return None
