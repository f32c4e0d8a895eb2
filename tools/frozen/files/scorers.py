"""Scorers of known nature, for `python:scorers:NAME`."""

import hashlib
import json
from pathlib import Path


def coin(before, after, candidates, pronoun):
    """A number for each candidate that follows from the text alone."""
    return [_number(f"{before}_{after} {candidate}") for candidate in candidates]


def first(before, after, candidates, pronoun):
    """The first candidate, always."""
    return [1.0] + [0.0] * (len(candidates) - 1)


def silent(before, after, candidates, pronoun):
    """No answer, ever."""
    return None


def sometimes(before, after, candidates, pronoun):
    """A coin that speaks half of the time."""
    if _number(f"speak {before}{after}") < 0.5:
        return None
    return coin(before, after, candidates, pronoun)


def by_heart(before, after, candidates, pronoun):
    """The right answer of nine in ten texts of pool.jsonl, a coin's elsewhere."""
    answer = ANSWERS.get((f"{before}_{after}", tuple(candidates)))
    if answer is None or _number(f"forgotten {before}") < 0.1:
        return coin(before, after, candidates, pronoun)
    return [float(candidate == answer) for candidate in candidates]


def _number(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32


def _known_answers():
    answers = {}
    for line in Path(__file__).with_name("pool.jsonl").read_text("utf-8").splitlines():
        problem = json.loads(line)
        if "text" in problem:
            answers[problem["text"], tuple(problem["candidates"])] = problem["candidates"][problem["answer"]]
    return answers


ANSWERS = _known_answers()
