"""Guess at random: `random`, or `random?seed=7`.

This shows the chance level under every scoring.

An answer depends only on the seed and the request, so order, batches and repetition change nothing. A text is one
piece, however long, so neither a sum nor a mean over pieces prefers long or short candidates.
"""

import hashlib
from collections.abc import Iterator, Sequence
from math import inf, log
from random import Random

import numpy as np

from winokit.models import base
from winokit.models.registry import Spec

DIMENSIONS = 32
"""Length of the random vectors."""
LAYERS = 2
HEADS = 4
"""Number of layers and heads of the random attention."""


def load(spec: Spec) -> "RandomModel":
    """Make the random model with the seed of a SPEC."""
    spec.no_place()
    spec.only("seed")
    return RandomModel(spec.number("seed", 0, least=-inf), str(spec))


class RandomModel:
    """A model that answers every request at random.

    The same seed and request give the same answer.
    """

    kind = "any"
    can: frozenset[type] = frozenset(
        {
            base.Continuation,
            base.Fill,
            base.PseudoLikelihood,
            base.Attention,
            base.Ask,
            base.Embed,
            base.Choose,
            base.Lookup,
        }
    )

    def __init__(self, seed: int = 0, spec: str = "random") -> None:
        self.seed = seed
        self.spec = spec
        self.fingerprint = f"random:{seed}"

    def answer(self, requests: Sequence[base.Request]) -> Iterator[tuple[int, base.Answer]]:
        """Answer each request at random, in order."""
        for index, request in enumerate(requests):
            digest = hashlib.blake2b(repr((self.seed, request)).encode(), digest_size=16).digest()
            yield index, _guess_answer(request, Random(int.from_bytes(digest, "big")))


def _guess_answer(request: base.Request, draws: Random) -> base.Answer:
    """Draw a random answer of the type that the request needs."""
    match request:
        case base.Continuation() | base.Fill():
            return _guess_piece(request.text, 0, len(request.text), draws)
        case base.PseudoLikelihood():
            return _guess_piece(request.text, request.start, request.end, draws)
        case base.Attention():
            rows = [_draw_numbers(draws, LAYERS * HEADS) for _ in request.targets]
            return np.array(rows, np.float32).reshape(len(rows), LAYERS, HEADS)
        case base.Ask():
            shares = np.log(_draw_numbers(draws, len(request.options)))
            logprobs = tuple(float(share) for share in shares - np.logaddexp.reduce(shares))
            choice = int(np.argmax(logprobs))
            return base.Reply(logprobs, choice, request.options[choice])
        case base.Embed():
            return np.array([draws.gauss(0, 1) for _ in range(DIMENSIONS)], np.float32)
        case base.Lookup():
            return base.Found(draws.randrange(1000))
        case base.Choose():
            return base.Scores(tuple(_draw_numbers(draws, len(request.candidates))))


def _guess_piece(text: str, start: int, end: int, draws: Random) -> base.Pieces | base.Refusal:
    """Draw the log-probability of a span, as one piece.

    A span without text is refused.
    """
    if not text[start:end].strip():
        return base.NothingToScore(text[start:end]).refusal
    return (base.Piece(start, end, log(_draw_numbers(draws, 1)[0])),)


def _draw_numbers(draws: Random, count: int) -> list[float]:
    """Draw numbers above 0 and up to 1."""
    return [1.0 - draws.random() for _ in range(count)]
