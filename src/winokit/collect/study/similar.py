"""Texts that were handed in before, and how near a new one comes to them.

The measure is that of `winokit check`: edit distance over words, whatever their case and punctuation.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from sqlalchemy import bindparam, select

from winokit.collect.study.schema import PROBLEMS, WRITTEN

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

EDGES = ".,;:!?\"'“”‘’()"
FIRST = 0x10000
UNKNOWN = chr(FIRST - 1)
PATIENCE = timedelta(minutes=1)
"""How long a number that was passed over is looked for: no transaction takes longer."""
MOST_MISSING = 500
# By their numbers alone: asked for those that were written, PostgreSQL would go through all of them.
_TEXTS = select(PROBLEMS.c.id, PROBLEMS.c.origin, PROBLEMS.c.before, PROBLEMS.c.after).order_by(PROBLEMS.c.id)
_NEW = _TEXTS.where(PROBLEMS.c.id > bindparam("last"))
_MISSING = _TEXTS.where(PROBLEMS.c.id.in_(bindparam("missing", expanding=True)))


class EarlierText:
    """The texts of a study's problems, kept in memory and brought up to date by what is new since the last look."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._texts: list[str] = []
        self._last = 0
        self._missing: dict[int, datetime] = {}
        self._lock = threading.Lock()

    def nearest(self, study: Study, texts: Iterable[str]) -> float:
        """The similarity, 0 to 1, of the nearest two of some texts and those that were handed in before."""
        with self._lock:
            self._look(study)
            return max((self._nearest(text) for text in texts), default=0.0)

    def _nearest(self, text: str) -> float:
        found = process.extractOne(
            self._coded(text, known_only=True),
            self._texts,
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=0.5,
        )
        return found[1] if found else 0.0

    def _look(self, study: Study) -> None:
        """Read what is new; and what was passed over, since a row with a lower number may be committed later."""
        now = study.now()
        self._missing = {row: since for row, since in self._missing.items() if now - since < PATIENCE}
        with study.store.read() as session:
            late = session.execute(_MISSING, {"missing": list(self._missing)}).all() if self._missing else []
            new = session.execute(_NEW, {"last": self._last}).all()
        for row in late:
            del self._missing[row.id]
        for row in new:
            self._missing |= dict.fromkeys(range(max(self._last + 1, row.id - MOST_MISSING), row.id), now)
            self._last = row.id
        written = [row for row in (*late, *new) if row.origin == WRITTEN]
        self._texts += [self._coded(f"{row.before}_{row.after}") for row in written]

    def _coded(self, text: str, *, known_only: bool = False) -> str:
        """One character a word, the fastest thing to compare; words that no text has share one where asked.

        Only what was handed in is remembered: whatever people type on the way there would use up the characters.
        """
        words = [word for word in (word.strip(EDGES) for word in text.casefold().split()) if word]
        if known_only:
            return "".join(self._codes.get(word, UNKNOWN) for word in words)
        return "".join(self._codes.setdefault(word, chr(FIRST + len(self._codes))) for word in words)
