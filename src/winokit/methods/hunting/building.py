"""From a corpus to an index: files read in order, sentences split by several processes, one writer.

What has been written is committed every few seconds together with a note of how far it goes, so that a run that was
stopped, however hard, goes on where it was. A file is known by a hash of its bytes: what was read before is passed over
whatever its name, and a file that has changed is taken out and read again. Files that are not named any more stay.
"""

import hashlib
import json
import os
import signal
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import chain
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

from winokit.errors import BadInput, refusing
from winokit.methods.hunting.corpus import CorpusBlock, CorpusLayout, blocks, documents, find_files, readable
from winokit.methods.hunting.search import APPLICATION, SCHEMA, VERSION, check_version, reading
from winokit.progress import Progress
from winokit.text.words import sentences

COMMIT = 24 << 20
"""Characters of text between two commits."""
HASH_MEMORY = 32 << 20
"""Bytes that FTS5 may hold in memory before it writes a segment. Its default of 1 MB makes it merge all the time."""
SMALL = 8 << 20
"""Bytes below which processes take longer to start than they save."""
PAGE_MEMORY = 128 << 10
"""SQLite's page cache, in kB."""

AHEAD = 3
"""Blocks on their way for each process that splits sentences."""


@dataclass
class BuiltIndex:
    """Summary of a run that built an index.

    Files are listed by what was done with them. `bytes` is the size of the index. `sentences` and `files` are counts of
    the whole index, and `bytes_read` is the size of the corpus files that this run read.
    """

    out: str
    bytes: int = 0
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    sentences: int = 0
    files: int = 0
    bytes_read: int = 0
    notes: list[str] = field(default_factory=list)


def build_index(
    corpus: Sequence[str | Path],
    out: str | Path,
    *,
    layout: CorpusLayout | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> BuiltIndex:
    """Build an index of a corpus, or add to an existing one.

    The file `out` has the index. A run that was interrupted continues where it stopped. Raises BadInput if there is
    no text, or no sentence.

    Parameters
    ----------
    workers
        Processes that split sentences; 0 does it here. Default: one less than there are processors, and none for a few
        megabytes.
    """
    layout = layout or CorpusLayout()
    out = Path(out)
    files, notes = find_files([Path(path) for path in corpus], layout)
    if not files:
        raise BadInput(f"no text in {', '.join(map(str, corpus)) or 'the corpus'}")
    sizes: dict[Path, int] = {}
    for path in files:
        with readable(path):
            sizes[path] = path.stat().st_size
    is_new = not out.exists()
    writer = _Writer(out, layout, is_new)
    try:
        with closing(writer):
            writer.built.notes += notes
            writer.write(sizes, workers, progress)
            if not writer.built.sentences:
                raise BadInput(f"no sentence in {', '.join(map(str, corpus))}")
    except BadInput:
        if is_new and not writer.built.sentences:
            out.unlink(missing_ok=True)
        raise
    writer.built.bytes = out.stat().st_size
    return writer.built


@dataclass(frozen=True, slots=True)
class TextPart:
    """One block of one file on its way into the index.

    `file` is the file's number in the index, `number` the block's number in the file. `block` is None for the end of
    the file.
    """

    path: Path
    file: int
    number: int
    block: CorpusBlock | None
    done: int
    """Bytes of the corpus read so far."""


class _Writer:
    """The only writer of an index file.

    It writes in transactions. After each, an interrupted run can be continued.
    """

    def __init__(self, out: Path, layout: CorpusLayout, is_new: bool) -> None:
        self.out = out
        self.layout = layout
        self.built = BuiltIndex(str(out))
        with refusing(f"{out}: cannot be written", OSError, sqlite3.Error):
            out.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(out, isolation_level=None, timeout=1)
        try:
            with reading(out):
                self._set_up(is_new)
        except BaseException:
            self._db.close()
            raise
        self._unwritten = 0

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def _set_up(self, is_new: bool) -> None:
        """Create the tables of a new index, or check existing ones.

        Raises BadInput if the existing index has another version, or was built with another layout.
        """
        db = self._db
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute(f"PRAGMA cache_size = -{PAGE_MEMORY}")
        if is_new:
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
            db.execute("INSERT INTO sentences (sentences, rank) VALUES ('hashsize', ?)", (HASH_MEMORY,))
        check_version(db, self.out)
        layout = json.dumps(asdict(self.layout))
        db.execute("INSERT OR IGNORE INTO settings VALUES ('layout', ?)", (layout,))
        (stored_layout,) = db.execute("SELECT value FROM settings WHERE name = 'layout'").fetchone()
        if stored_layout != layout:
            was = ", ".join(f"{name} {value}" for name, value in json.loads(stored_layout).items())
            raise BadInput(f"{self.out}: was made with {was}; say the same again, or name another file")
        (last,) = db.execute("SELECT coalesce(max(last), 0) FROM blocks").fetchone()
        self._next = int(last) + 1

    def write(self, sizes: dict[Path, int], workers: int | None, progress: Progress | None) -> None:
        """Write the sentences of files that are new, changed or unfinished.

        `sizes` has the bytes of each file. `workers` is as in `build_index`; a small corpus is split without
        processes.
        """
        total = sum(sizes.values())
        workers = 0 if total < SMALL else workers
        with reading(self.out):
            self._db.execute("BEGIN IMMEDIATE")
            for part, split in split_in_order(self._list_parts(sizes), self.layout, workers):
                self._write_part(part, split)
                if progress:
                    progress(part.done, total)
            self._db.execute("COMMIT")
            if progress:
                progress(total, total)
            (self.built.sentences,) = self._db.execute("SELECT coalesce(sum(sentences), 0) FROM blocks").fetchone()
            (self.built.files,) = self._db.execute("SELECT count(*) FROM files").fetchone()

    def _list_parts(self, sizes: dict[Path, int]) -> Iterator[TextPart]:
        """Yield each block that the index lacks, file by file.

        After the last block of a file comes a part without a block.
        """
        done = 0
        for path, size in sizes.items():
            registered = self._register_file(path)
            if registered is None:
                self.built.unchanged.append(path.as_posix())
            else:
                file, start = registered
                number = -1
                for number, block in enumerate(blocks(path, self.layout)):
                    if number >= start:
                        yield TextPart(path, file, number, block, done + block.read)
                yield TextPart(path, file, number + 1, None, done + size)
                self.built.bytes_read += size
            done += size

    def _register_file(self, path: Path) -> tuple[int, int] | None:
        """Enter a file into the index, unless it is there.

        Returns its number in the index and the number of its first missing block.

        None if the index has the whole file. If a file of that name has changed, its old sentences are deleted.
        """
        name = path.as_posix()
        stat = path.stat()
        row = self._db.execute("SELECT id, size, modified, done FROM files WHERE name = ?", (name,)).fetchone()
        if row and row[3] and row[1:3] == (stat.st_size, stat.st_mtime_ns):
            return None
        with readable(path), path.open("rb") as file_bytes:
            digest = hashlib.file_digest(file_bytes, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        same = self._db.execute("SELECT id, name, done FROM files WHERE hash = ?", (digest,)).fetchone()
        if same:
            return self._resume_same_file(same, name, stat.st_mtime_ns)
        if row:  # its sentences are taken out
            for ends in self._db.execute("SELECT first, last FROM blocks WHERE file = ?", row[:1]).fetchall():
                self._db.execute("DELETE FROM sentences WHERE rowid BETWEEN ? AND ?", ends)
            self._db.execute("DELETE FROM blocks WHERE file = ?", row[:1])
            self._db.execute("DELETE FROM files WHERE id = ?", row[:1])
        (self.built.replaced if row else self.built.added).append(name)
        cursor = self._db.execute(
            "INSERT INTO files (name, hash, size, modified) VALUES (?, ?, ?, ?)",
            (name, digest, stat.st_size, stat.st_mtime_ns),
        )
        return int(cursor.lastrowid or 0), 0

    def _resume_same_file(self, known: tuple[int, str, int], name: str, modified: int) -> tuple[int, int] | None:
        """Continue a file whose content the index has begun.

        The content may have had another name.

        `known` is the stored row: number, name, and whether the file is complete. Returns the number and the first
        missing block, or None if nothing is missing.
        """
        file, known_name, done = known
        if known_name == name:
            self._db.execute("UPDATE files SET modified = ? WHERE id = ?", (modified, file))
        elif done:
            self.built.notes.append(f"{name}: the same as {known_name}, read once")
        if done:
            return None
        self.built.added.append(name)
        (blocks_done,) = self._db.execute("SELECT count(*) FROM blocks WHERE file = ?", (file,)).fetchone()
        return file, int(blocks_done)

    def _write_part(self, part: TextPart, split: Sequence[str]) -> None:
        """Write the sentences of a part.

        A part without a block marks its file as complete.
        """
        if part.block is None:
            self._db.execute("UPDATE files SET done = 1 WHERE id = ?", (part.file,))
            return
        first = self._next
        rows = list(enumerate(split, self._next))
        self._db.executemany("INSERT INTO sentences (rowid, text) VALUES (?, ?)", rows)
        last = first + max(len(rows), 1) - 1  # a block without a sentence has a number too
        self._next = last + 1
        self._db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?)", (part.file, part.number, first, last, len(rows)))
        self._unwritten += len(part.block.text)
        if self._unwritten >= COMMIT:
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            self._unwritten = 0


def split_in_order(
    parts: Iterable[TextPart], layout: CorpusLayout, workers: int | None
) -> Iterator[tuple[TextPart, list[str]]]:
    """Yield each part with its sentences, in the order of the parts.

    `workers` is the number of processes; None takes one less than there are processors, 0 uses this process.
    """
    workers = max((os.cpu_count() or 1) - 1, 0) if workers is None else workers
    if workers == 0:
        yield from ((part, split_part(part, layout)) for part in parts)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _follow_parent) as pool:
        waiting: deque[tuple[TextPart, Future[list[str]] | None]] = deque()

        def received() -> tuple[TextPart, list[str]]:
            part, future = waiting.popleft()
            return part, [] if future is None else future.result()

        try:
            for part in parts:
                waiting.append((part, None if part.block is None else pool.submit(split_part, part, layout)))
                if len(waiting) > AHEAD * workers:
                    yield received()
            while waiting:
                yield received()
        finally:
            pool.shutdown(cancel_futures=True)


def split_part(part: TextPart, layout: CorpusLayout) -> list[str]:
    """Sentences of a part, document by document.

    Empty for the end of a file.
    """
    if part.block is None:
        return []
    texts = documents(part.block, part.path, layout)
    return list(chain.from_iterable(map(sentences, texts)))


def _follow_parent() -> None:
    """Make a worker ignore Ctrl-C, and exit with its parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
