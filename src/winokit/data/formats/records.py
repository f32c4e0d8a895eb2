"""Where the records of a file stand: the lines of those that became problems, and of those that could not."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from winokit.errors import Malformed
from winokit.problem import Dataset

Place = int | str
"""The number of a line, or what else tells a record: "element 3" of a JSON array, "row 3" of a table without lines."""


def name_place(place: Place) -> str:
    """A place as it is called in a sentence.

    >>> name_place(12), name_place("element 3")
    ('line 12', 'element 3')
    """
    return f"line {place}" if isinstance(place, int) else place


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
