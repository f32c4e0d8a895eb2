"""Queries for a corpus of sentences, and a corpus in a SQLite file.

The file has a full-text index (FTS5).

Words are cut as FTS5's unicode61 tokenizer cuts them: at everything that is neither letter nor figure, case folded,
accents kept. Phrases and nearness are FTS5's own, ranking is bm25. How an index is made: `building.py`. Another corpus
is behind an n-gram index: `ngram_corpus.py`.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote
from weakref import finalize

from winokit.errors import BadInput
from winokit.problem import BLANK
from winokit.text.words import WORD

APPLICATION = 0x77696E6F
"""Marks a SQLite file as ours."""
VERSION = 1
"""Version of the tables. An index of another version is refused."""
SCHEMA = (files("winokit") / "assets" / "index.sql").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A query for at least one of some phrases, such as synonyms."""

    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A query for two phrases near each other, in either order.

    At most `within` words may be between them.
    """

    one: AnyOf
    other: AnyOf
    within: int


@dataclass(frozen=True, slots=True)
class AllOf:
    """A query for sentences in which all parts occur."""

    parts: tuple[str | AnyOf | Near, ...]


Query: TypeAlias = str | AnyOf | Near | AllOf
"""A string is a phrase: words that follow each other, cut and lower-cased by the index."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence that was found, with its file or document.

    `source` is None if that is unknown.
    """

    text: str
    source: str | None = None


def any_of(texts: Sequence[str]) -> AnyOf:
    """A query for one of some phrases, without repetitions."""
    return AnyOf(tuple(dict.fromkeys(texts)))


class Corpus(Protocol):
    """A corpus of sentences that can be counted and searched."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Text that identifies the corpus: equal fingerprints give equal results."""

    def count(self, query: Query, /) -> int:
        """Number of sentences or places that match a query."""

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Up to `limit` sentences that match a query, the best first.

        Sentences with the same text, in any case, count once.
        """

    def expect(self, texts: Sequence[str]) -> None:
        """Prepare for calls of `alike` with these texts.

        A corpus behind a server is asked for all of them together.
        """

    def alike(self, text: str) -> Iterator[Hit]:
        """Sentences that may contain a text or most of it."""


def folded_words(text: str) -> list[str]:
    """Words of a text in lower case, with straight apostrophes.

    >>> folded_words("Ann’s _ fell.")
    ["ann's", '_', 'fell']
    """
    return WORD.findall(text.casefold().replace("’", "'"))


WINDOW = 10
STEP = 5
"""Words of a text that are looked for together, and words between two such windows."""
RAREST = 3
"""Words of a window that a sentence must have to be compared with the text."""
LOOK = 50
"""Sentences compared for each window."""


class SentenceIndex:
    """A corpus in a SQLite file, opened for searching.

    Raises BadInput if the file is missing, damaged, unfinished or of another version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        if not self.path.is_file():
            raise BadInput(f"{path}: no such index; make one with `winokit hunt index CORPUS --out {path}`")
        self._db = sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True, check_same_thread=False)
        finalize(self, self._db.close)
        with reading(self.path):
            _check_whole(self._db, self.path)
            self.sentences = int(_fetch_row(self._db, "SELECT coalesce(sum(sentences), 0) FROM blocks")[0])
            hashes = [row[0] for row in self._db.execute("SELECT hash FROM files ORDER BY hash")]
        content = "\n".join([str(VERSION), str(self.sentences), *hashes])
        self.fingerprint = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        self.count = lru_cache(100_000)(self._count_sentences)

    def __enter__(self) -> "SentenceIndex":
        return self

    def __exit__(self, *error: object) -> None:
        self._db.close()

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Up to `limit` sentences that match a query, best first.

        The order is that of bm25.

        Sentences with the same text, in any case, count once.
        """
        with reading(self.path):
            rows = self._db.execute(
                "SELECT text, (SELECT name FROM blocks JOIN files ON files.id = file WHERE first <= sentences.rowid "
                "ORDER BY first DESC LIMIT 1) FROM sentences WHERE sentences MATCH ? ORDER BY rank LIMIT ?",
                (fts5(query), limit),
            ).fetchall()
        return list({text.casefold(): Hit(text, source) for text, source in rows}.values())

    def expect(self, texts: Sequence[str]) -> None:
        """Do nothing: an index on this machine needs no preparation."""

    def alike(self, text: str) -> Iterator[Hit]:
        """Sentences with the rarest words of some part of a text.

        These are the three rarest of ten consecutive words.
        """
        seen: set[str] = set()
        words = [word for word in folded_words(text) if word != BLANK]
        for start in range(0, max(1, len(words) - WINDOW + STEP), STEP):
            window = dict.fromkeys(words[start : start + WINDOW])
            counts = {word: self.count(word) for word in window}
            rarest = sorted((word for word in window if counts[word]), key=lambda word: counts[word])[:RAREST]
            if len(rarest) < RAREST:
                continue
            for hit in self.search(AllOf(tuple(rarest)), LOOK):
                if hit.text not in seen:
                    seen.add(hit.text)
                    yield hit

    def _count_sentences(self, query: Query) -> int:
        """Number of sentences that match a query."""
        with reading(self.path):
            return int(_fetch_row(self._db, "SELECT count(*) FROM sentences WHERE sentences MATCH ?", fts5(query))[0])


def fts5(query: Query) -> str:
    """Write a query in the syntax of SQLite's FTS5.

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


INDEX_WORD = re.compile(r"\w+")
"""A word as FTS5 cuts them."""


def sentence_matches(query: Query, text: str) -> bool:
    """Whether a sentence matches a query, as FTS5 would say.

    >>> sentence_matches(AllOf(("could not", AnyOf(("lift", "carry")))), "He could not carry it.")
    True
    """
    return _match_words(query, INDEX_WORD.findall(text.casefold()))


def _match_words(query: Query, words: Sequence[str]) -> bool:
    """Whether a sentence, as lower-case words, matches a query."""
    match query:
        case str():
            return bool(_find_phrase(query, words))
        case AnyOf():
            return bool(_find_any(query, words))
        case AllOf():
            return all(_match_words(part, words) for part in query.parts)
        case Near():
            return _are_near(_find_any(query.one, words), _find_any(query.other, words), query.within)


def _find_phrase(phrase: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Places of a phrase in a list of words.

    Each is (start, end), the end exclusive.
    """
    phrase_words = INDEX_WORD.findall(phrase.casefold())
    size = len(phrase_words)
    starts = range(len(words) - size + 1) if size else ()
    return [(start, start + size) for start in starts if list(words[start : start + size]) == phrase_words]


def _find_any(phrases: AnyOf, words: Sequence[str]) -> list[tuple[int, int]]:
    """Places of any of some phrases, as (start, end)."""
    places: list[tuple[int, int]] = []
    for phrase in phrases.phrases:
        places += _find_phrase(phrase, words)
    return places


def _are_near(ones: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]], within: int) -> bool:
    """Whether two places have at most `within` words between.

    One is of each list, and they do not overlap.
    """
    for (start, end), (other_start, other_end) in product(ones, others):
        if max(other_start - end, start - other_end) <= within and (end <= other_start or other_end <= start):
            return True
    return False


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about an index file into BadInput, inside the context."""
    try:
        yield
    except sqlite3.Error as error:
        reason = str(error)
        if "locked" in reason:
            raise BadInput(f"{path}: in use by another process") from None
        if path.with_name(f"{path.name}-journal").exists():
            raise BadInput(f"{path}: not finished; run `winokit hunt index` again to go on") from None
        if "not a database" in reason:
            raise BadInput(f"{path}: no index of winokit's ({reason})") from None
        raise BadInput(f"{path}: a damaged index ({reason}); make it again with `winokit hunt index`") from None


def check_version(db: sqlite3.Connection, path: Path) -> None:
    """Raise BadInput unless a file is our index of this version."""
    (version,) = _fetch_row(db, "PRAGMA user_version")
    if _fetch_row(db, "PRAGMA application_id") != (APPLICATION,):
        raise BadInput(f"{path}: a SQLite file, but no index of winokit's")
    if version != VERSION:
        raise BadInput(f"{path}: an index of version {version}, where {VERSION} is read; make it again")


def _check_whole(db: sqlite3.Connection, path: Path) -> None:
    """Raise BadInput unless a file is a finished and complete index."""
    check_version(db, path)
    done, files = _fetch_row(db, "SELECT coalesce(sum(done), 0), count(*) FROM files")
    if done < files:
        raise BadInput(f"{path}: not finished ({done} of {files} files); run `winokit hunt index` again to go on")
    (pages,) = _fetch_row(db, "PRAGMA page_count")
    (size,) = _fetch_row(db, "PRAGMA page_size")
    if path.stat().st_size < pages * size:
        raise BadInput(f"{path}: a damaged index (its end is missing); make it again with `winokit hunt index`")


def _fetch_row(db: sqlite3.Connection, statement: str, *values: str) -> tuple[Any, ...]:
    """First row that a statement returns."""
    return tuple(db.execute(statement, values).fetchone())
