"""Texts that were handed in before, and how near a new one comes to them.

The measure is that of `winokit check`: edit distance over words, whatever their case and punctuation.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from sqlalchemy import select

from winokit.collect.schema import WRITTEN, ProblemRow

if TYPE_CHECKING:
    from winokit.collect.study import Study

EDGES = ".,;:!?\"'“”‘’()"
FIRST = 0x10000
UNKNOWN = chr(FIRST - 1)


class Earlier:
    """The texts of a study's problems, kept in memory and brought up to date by what is new since the last look."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._texts: list[str] = []
        self._last = 0
        self._lock = threading.Lock()

    def nearest(self, study: Study, text: str) -> float:
        """The similarity, 0 to 1, of the most similar text that was handed in before."""
        with self._lock:
            self._look(study)
            found = process.extractOne(
                self._coded(text, known_only=True),
                self._texts,
                scorer=Levenshtein.normalized_similarity,
                score_cutoff=0.5,
            )
        return found[1] if found else 0.0

    def _look(self, study: Study) -> None:
        query = select(ProblemRow.id, ProblemRow.before, ProblemRow.after).where(
            ProblemRow.id > self._last, ProblemRow.origin == WRITTEN
        )
        with study.store.read() as session:
            for row, before, after in session.execute(query.order_by(ProblemRow.id)):
                self._texts.append(self._coded(f"{before}_{after}"))
                self._last = row

    def _coded(self, text: str, *, known_only: bool = False) -> str:
        """One character a word, the fastest thing to compare; words that no text has share one where asked.

        Only what was handed in is remembered: whatever people type on the way there would use up the characters.
        """
        words = [word for word in (word.strip(EDGES) for word in text.casefold().split()) if word]
        if known_only:
            return "".join(self._codes.get(word, UNKNOWN) for word in words)
        return "".join(self._codes.setdefault(word, chr(FIRST + len(self._codes))) for word in words)
