"""`winokit convert`: any format to any other that can express it."""

from pathlib import Path
from typing import Annotated, Any

from winokit.data.formats import FORMATS, WriteOptions, WrittenFile, write
from winokit.data.formats.files import recognise
from winokit.data.loading import Data, Labelled, Loading, paths_of
from winokit.drawing.tables import Lines
from winokit.errors import BadInput
from winokit.files import refuse_overwriting
from winokit.progress import tell
from winokit.settings import Help, verb

DEFAULT = "jsonl"
"""The format that is written where none is named."""


@verb
def convert(
    data: Annotated[Data, Help("A bundled name (open), a file, FORMAT:file or hub:org/name.", "DATA")],
    out: Annotated[str | Path, Help("The file to write; .gz and .xz are compressed.")],
    *,
    to: Annotated[str | None, Help("The format to write; default: jsonl.", "FORMAT")] = None,
    loading: Labelled = Loading(),
    source_ids: Annotated[bool, Help("Write the source's ids, which may leak the answer.")] = False,
    labels_apart: Annotated[bool, Help("WinoGrande: write the answers to a separate label list.")] = False,
) -> WrittenFile:
    """Write a dataset in another format.

    What the format cannot express is an error, or left out and counted with --lenient.
    """
    dataset, path, lenient = loading.one(data), Path(out), loading.lenient
    if path.is_file() and path.stat().st_size:
        _check_replaceable(path, data)
    written = write(dataset, path, to or DEFAULT, WriteOptions(source_ids, labels_apart), lenient=lenient)
    if to is None and path.suffix in {known.suffix for known in FORMATS.values()} - {FORMATS[DEFAULT].suffix}:
        tell([f"{out} contains {DEFAULT}, whatever its name says; choose another format with --to"])
    if written.skipped:
        tell([f"{len(written.skipped)} problems left out; the first: {written.skipped[0]}"])
    return written


def _check_replaceable(out: Path, data: Data) -> None:
    """Refuse to write over what is read, and over a file that holds anything but problems."""
    refuse_overwriting(out, paths_of(data))
    try:
        recognise(out)
    except BadInput:
        raise BadInput(f"{out}: holds no problems, and would be overwritten; choose another OUT") from None


def lines(written: WrittenFile) -> Lines:
    """One sentence."""
    yield f"{written.problems:,} problems written to {', '.join(str(file) for file in written.files)}"


def as_json(written: WrittenFile) -> Any:
    """Files, how many problems, and those left out."""
    return {"files": [str(file) for file in written.files], "problems": written.problems, "skipped": written.skipped}
