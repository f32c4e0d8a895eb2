"""How a text reads to the built-in model, which reads English: how surprising it is, and whether a word fits a topic.

Both are hints, and rules that rest on them are soft. `benchmarks/rules.py` measures how often they are wrong.
"""

from functools import cache, lru_cache

from winokit.models.base import Fill, Model, PseudoLikelihood, Request
from winokit.models.registry import load_model

READS = "en"
SURPRISING = 5.5
"""Nats per word piece. Of the bundled twins none has more than 5.2; half of the texts with shuffled words have 7."""
REPETITIVE = 0.5
"""Share of words that are new where they stand, below which a text says the same again and again."""
TALK = ("They talked about the ", " for a while.")


@cache
def reader() -> Model:
    """The built-in model, on one thread: it reads beside pages that must not wait for it."""
    return load_model("builtin?threads=1")


@lru_cache(4096)
def surprisal(text: str) -> float:
    """Mean surprisal of the pieces of a text, each masked by itself, in nats."""
    (pieces,) = _logprobs([PseudoLikelihood(text, 0, len(text))])
    return -sum(pieces) / max(len(pieces), 1)


@lru_cache(4096)
def likelier_by(word: str, topic: str) -> float:
    """By how many nats a topic makes it likelier that somebody talks about a word."""
    before, after = TALK
    about, anyhow = _logprobs([Fill(f"{topic}. {before}", word, after), Fill(before, word, after)])
    return sum(about) - sum(anyhow)


def _logprobs(requests: list[Request]) -> list[list[float]]:
    """The log-probabilities of each request's pieces; none where the model has no answer, as for a text too long."""
    answers = dict(reader().answer(requests))
    found = (answers[place] for place in range(len(requests)))
    return [[piece.logprob for piece in answer] if isinstance(answer, tuple) else [] for answer in found]
