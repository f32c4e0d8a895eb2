"""A corpus in one SQLite file: sentences under a full-text index (FTS5), with their files.

Words are cut as FTS5's unicode61 tokenizer cuts them: at everything that is neither letter nor figure, case folded,
accents kept. Phrases and nearness are FTS5's own, ranking is bm25. How an index is made: `building.py`.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote
from weakref import finalize

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput
from winokit.methods.hunting.search import AllOf, AnyOf, Hit, Near, Phrase, Query

APPLICATION = 0x77696E6F
"""Marks a SQLite file as ours."""
VERSION = 1
"""Of the tables below. An index of another version is refused, never guessed at."""
SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, hash TEXT NOT NULL, size INTEGER NOT NULL,
    modified INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE blocks (
    file INTEGER NOT NULL, number INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    sentences INTEGER NOT NULL, PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX blocks_by_sentence ON blocks (first);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE sentences USING fts5 (text, tokenize = 'unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE places USING fts5vocab (sentences, instance);
"""
POSTINGS = 2048
"""How many words' lists of sentences are kept in memory."""
WIDTH = 1 << 32
"""Room for the words of a sentence where a place is one number."""

Rows: TypeAlias = npt.NDArray[np.int64]


class SentenceIndex:
    """An index opened for searching."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        if not self.path.is_file():
            raise BadInput(f"{path}: no such index; make one with `winokit hunt index CORPUS --out {path}`")
        self._db = sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True, check_same_thread=False)
        finalize(self, self._db.close)
        try:
            with reading(self.path):
                _check_whole(self._db, self.path)
                self.sentences = int(_row(self._db, "SELECT coalesce(sum(sentences), 0) FROM blocks")[0])
                hashes = [row[0] for row in self._db.execute("SELECT hash FROM files ORDER BY hash")]
        except BaseException:
            self._db.close()
            raise
        content = "\n".join([str(VERSION), str(self.sentences), *hashes])
        self.fingerprint = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        self._rows = lru_cache(POSTINGS)(self._read_rows)
        self._places = lru_cache(POSTINGS)(self._read_places)
        self.count = lru_cache(100_000)(self._count)

    def __enter__(self) -> SentenceIndex:
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
        if isinstance(query, AllOf) and len(query.parts) == 2:
            # Words are asked for in many pairs: lists in memory are met faster than FTS5 walks them again.
            fewer, more = sorted((self._rows(part) for part in query.parts), key=len)
            return int(np.isin(fewer, more, assume_unique=True).sum()) if len(fewer) else 0
        return len(self._rows(query))

    def count_before(self, first: AnyOf, then: AnyOf, within: int) -> int:
        """How many sentences have one phrase, followed within some words by another there or in the next sentence.

        Sentences of one document have consecutive numbers, and documents have a gap between them.
        """
        return _followed(self._places(first), self._places(then), within)

    def _read_rows(self, query: Query) -> Rows:
        return self._numbers("SELECT rowid FROM sentences WHERE sentences MATCH ?", fts5(query))

    def _read_places(self, phrases: AnyOf) -> Rows:
        """Where phrases begin, sorted: the number of the sentence times `WIDTH`, plus that of the word."""
        return np.unique(np.concatenate([self._phrase_places(phrase) for phrase in phrases.phrases]))

    def _phrase_places(self, phrase: Phrase) -> Rows:
        """Of several words, the places of the first in the sentences that have them all in a row."""
        words = tokens(phrase.text)
        if not words:
            return np.empty(0, np.int64)
        places = self._numbers(f"SELECT doc * {WIDTH} + offset FROM places WHERE term = ?", words[0])
        return places if len(words) == 1 else places[np.isin(places // WIDTH, self._rows(phrase))]

    def _numbers(self, statement: str, sought: str) -> Rows:
        """The one column of a result."""
        with reading(self.path):
            return np.fromiter((row[0] for row in self._db.execute(statement, (sought,))), np.int64)


def _followed(first: Rows, then: Rows, within: int) -> int:
    """How many sentences have a place of the first list that one of the second follows, there or in the next."""
    same = np.searchsorted(then, first, "right") < np.searchsorted(then, first + within, "right")
    upcoming = (first // WIDTH + 1) * WIDTH
    following = np.searchsorted(then, upcoming, "left") < np.searchsorted(then, upcoming + within, "left")
    return len(np.unique(first[same | following] // WIDTH))


def tokens(text: str) -> list[str]:
    """The words of a text as the index has them.

    >>> tokens("She couldn’t lift Zoë's box.")
    ['she', 'couldn', 't', 'lift', 'zoë', 's', 'box']
    """
    return "".join(letter if letter.isalnum() else " " for letter in text).lower().split()


def fts5(query: Query) -> str:
    """A query in FTS5's words.

    >>> fts5(AllOf((Phrase("could not"), AnyOf((Phrase("lift"), Phrase("carry"))))))
    '("could not") AND ("lift" OR "carry")'
    """
    match query:
        case Phrase():
            return '"' + query.text.replace('"', '""') + '"'
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


def _row(db: sqlite3.Connection, statement: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] = db.execute(statement).fetchone()
    return row
