"""What can be asked of a corpus of sentences: in a SQLite file under a full-text index (FTS5).

Words are cut as FTS5's unicode61 tokenizer cuts them: at everything that is neither letter nor figure, case
folded, accents kept. Phrases and nearness are FTS5's own, ranking is bm25. How an index is made: `building.py`.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote
from weakref import finalize

from winokit.errors import BadInput

APPLICATION = 0x77696E6F
"""Marks a SQLite file as ours."""
VERSION = 1
"""Of the tables in the schema. An index of another version is refused, never guessed at."""
SCHEMA = (files("winokit") / "assets" / "index.sql").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of some phrases: the forms of a word, or its synonyms."""

    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """Two phrases with at most `within` words between them, in either order."""

    one: AnyOf
    other: AnyOf
    within: int


@dataclass(frozen=True, slots=True)
class AllOf:
    """Everything in one sentence."""

    parts: tuple[str | AnyOf | Near, ...]


Query: TypeAlias = str | AnyOf | Near | AllOf
"""A string is a phrase: words that follow each other, cut and lower-cased by the index."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence found, and the file it came from where that is known."""

    text: str
    source: str | None = None


def any_of(texts: Sequence[str]) -> AnyOf:
    """One of some phrases, each named once, in order."""
    return AnyOf(tuple(dict.fromkeys(texts)))


class SentenceIndex:
    """An index opened for searching."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        if not self.path.is_file():
            raise BadInput(f"{path}: no such index; make one with `winokit hunt index CORPUS --out {path}`")
        self._db = sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True, check_same_thread=False)
        finalize(self, self._db.close)
        with reading(self.path):
            _check_whole(self._db, self.path)
            self.sentences = int(_row(self._db, "SELECT coalesce(sum(sentences), 0) FROM blocks")[0])
            hashes = [row[0] for row in self._db.execute("SELECT hash FROM files ORDER BY hash")]
        content = "\n".join([str(VERSION), str(self.sentences), *hashes])
        self.fingerprint = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        self.count = lru_cache(100_000)(self._count)

    def __enter__(self) -> "SentenceIndex":
        return self

    def __exit__(self, *error: object) -> None:
        self._db.close()

    def search(self, query: Query, limit: int) -> list[Hit]:
        """The best sentences for a query by bm25, best first; those that say the same count once."""
        with reading(self.path):
            rows = self._db.execute(
                "SELECT text, (SELECT name FROM blocks JOIN files ON files.id = file WHERE first <= sentences.rowid "
                "ORDER BY first DESC LIMIT 1) FROM sentences WHERE sentences MATCH ? ORDER BY rank LIMIT ?",
                (fts5(query), limit),
            ).fetchall()
        return list({text.casefold(): Hit(text, source) for text, source in rows}.values())

    def _count(self, query: Query) -> int:
        """In how many sentences a query is found."""
        with reading(self.path):
            return int(_row(self._db, "SELECT count(*) FROM sentences WHERE sentences MATCH ?", fts5(query))[0])


def fts5(query: Query) -> str:
    """A query in FTS5's words.

    >>> fts5(AllOf(("could not", AnyOf(("lift", "carry")))))
    '("could not") AND ("lift" OR "carry")'
    """
    match query:
        case str():
            return '"' + query.replace('"', '""') + '"'
        case AnyOf():
            return " OR ".join(map(fts5, query.phrases))
        case Near():
            pairs = product(query.one.phrases, query.other.phrases)
            return " OR ".join(f"NEAR({fts5(one)} {fts5(other)}, {query.within})" for one, other in pairs)
        case AllOf():
            return " AND ".join(f"({fts5(part)})" for part in query.parts)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What SQLite complains of, as one line."""
    try:
        yield
    except sqlite3.Error as error:
        why = str(error)
        if "locked" in why:
            raise BadInput(f"{path}: in use by another process") from None
        if path.with_name(f"{path.name}-journal").exists():
            raise BadInput(f"{path}: not finished; run `winokit hunt index` again to go on") from None
        if "not a database" in why:
            raise BadInput(f"{path}: no index of winokit's ({why})") from None
        raise BadInput(f"{path}: a damaged index ({why}); make it again with `winokit hunt index`") from None


def check_version(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is no index, or one of another version."""
    (version,) = _row(db, "PRAGMA user_version")
    if _row(db, "PRAGMA application_id") != (APPLICATION,):
        raise BadInput(f"{path}: a SQLite file, but no index of winokit's")
    if version != VERSION:
        raise BadInput(f"{path}: an index of version {version}, where {VERSION} is read; make it again")


def _check_whole(db: sqlite3.Connection, path: Path) -> None:
    """Refuse an index that cannot be searched: no index, of another version, not finished, or cut short."""
    check_version(db, path)
    done, files = _row(db, "SELECT coalesce(sum(done), 0), count(*) FROM files")
    if done < files:
        raise BadInput(f"{path}: not finished ({done} of {files} files); run `winokit hunt index` again to go on")
    (pages,), (size,) = _row(db, "PRAGMA page_count"), _row(db, "PRAGMA page_size")
    if path.stat().st_size < pages * size:
        raise BadInput(f"{path}: a damaged index (its end is missing); make it again with `winokit hunt index`")


def _row(db: sqlite3.Connection, statement: str, *values: str) -> tuple[Any, ...]:
    return tuple(db.execute(statement, values).fetchone())
