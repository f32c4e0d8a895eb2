"""Chance that nobody can redraw from what is published.

A release says its seed. Were the order of the test, or the side on which an answer stands, drawn from the seed and the
public ids alone, anyone could draw them again and read off pairings and answers. So every draw also depends on the
whole input in its order: the candidates as they stood, the rows as they followed, the hidden answers. Who has the input
gets the same release to the byte; who has only the release cannot undo it.
"""

from __future__ import annotations

import hashlib
import json
from random import Random

from winokit.problem import Dataset


class Draws:
    """A source of generators, one for each purpose."""

    def __init__(self, problems: Dataset, kept: frozenset[str], seed: int) -> None:
        digest = hashlib.sha256(f"winokit release, seed {seed}\n".encode())
        for problem in problems:
            row = [problem.text, problem.candidates, problem.answer, problem.pronoun, problem.group, problem.id in kept]
            digest.update(json.dumps(row).encode())
        self._secret = digest.digest()

    def generator(self, purpose: str) -> Random:
        """A generator that is always the same for a purpose, and says nothing about any other."""
        return Random(hashlib.blake2b(purpose.encode(), key=self._secret).digest())
