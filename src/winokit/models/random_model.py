"""Guessing: `random`, or `random?seed=7`. What chance looks like under every scoring.

A number depends on the seed and on the request alone, so that order, batches and repetition change nothing. A text is
one piece, however long: neither a sum nor a mean over pieces then prefers long or short candidates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from math import inf, log
from random import Random

import numpy as np

from winokit.models.base import (
    Answer,
    Ask,
    Attention,
    Choose,
    Continuation,
    Embed,
    Fill,
    NothingToScore,
    Piece,
    Pieces,
    PseudoLikelihood,
    Refusal,
    Reply,
    Request,
    Scores,
)
from winokit.models.registry import Spec

DIMENSIONS = 32
"""Length of the vectors that stand for texts."""
LAYERS, HEADS = 2, 4
"""Shape of the attention that a guesser pays."""


def load(spec: Spec) -> RandomModel:
    """The guesser with the seed of the SPEC."""
    spec.no_place()
    spec.only("seed")
    return RandomModel(spec.number("seed", 0, least=-inf), str(spec))


class RandomModel:
    """Answers anything, at random."""

    kind = "any"
    can: frozenset[type] = frozenset({Continuation, Fill, PseudoLikelihood, Attention, Ask, Embed, Choose})

    def __init__(self, seed: int = 0, spec: str = "random") -> None:
        self.seed = seed
        self.spec = spec

    @property
    def fingerprint(self) -> str:
        """The seed is all there is."""
        return f"random:{self.seed}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Guess, in the order asked."""
        for index, request in enumerate(requests):
            yield index, _guess(request, self._draws(request))

    def _draws(self, request: Request) -> Random:
        """Random numbers that belong to this request."""
        digest = hashlib.blake2b(repr((self.seed, request)).encode(), digest_size=16).digest()
        return Random(int.from_bytes(digest, "big"))


def _guess(request: Request, draws: Random) -> Answer:
    match request:
        case Continuation() | Fill():
            return _one_piece(request.text, 0, len(request.text), draws)
        case PseudoLikelihood():
            return _one_piece(request.text, request.start, request.end, draws)
        case Attention():
            return np.array([_numbers(draws, LAYERS * HEADS) for _ in request.targets], np.float32).reshape(
                len(request.targets), LAYERS, HEADS
            )
        case Ask():
            shares = np.log(_numbers(draws, len(request.options)))
            logprobs = tuple(float(share) for share in shares - np.logaddexp.reduce(shares))
            choice = int(np.argmax(logprobs))
            return Reply(logprobs, choice, request.options[choice])
        case Embed():
            return np.array([draws.gauss(0, 1) for _ in range(DIMENSIONS)], np.float32)
        case Choose():
            return Scores(tuple(_numbers(draws, len(request.candidates))))


def _one_piece(text: str, start: int, end: int, draws: Random) -> Pieces | Refusal:
    if not text[start:end].strip():
        return NothingToScore(text[start:end]).refusal
    return (Piece(start, end, log(_numbers(draws, 1)[0])),)


def _numbers(draws: Random, count: int) -> list[float]:
    """Numbers above 0 and up to 1, which have a logarithm."""
    return [1.0 - draws.random() for _ in range(count)]
