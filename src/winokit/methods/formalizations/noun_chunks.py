"""Noun phrases of a sentence as rivals of a judgement's query, found by a spaCy model; needs the `nlp` extra.

As Liu et al.'s code mines them: noun chunks and runs of nouns or of names, pronouns left out, and whatever overlaps
with the query. We compare whole words ("he" does not exclude "the heart") and keep the order of the text, where theirs
changes from run to run.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any

from winokit.errors import BadInput, MissingExtra
from winokit.methods.formalizations.cases import Rivals, without
from winokit.problem import Problem
from winokit.text.mentions import core, occurrences

NOUNS = ("NOUN", "PROPN")


def noun_phrases(name: str) -> Rivals:
    """The noun phrases a spaCy model finds in a judgement's sentence, its query aside."""
    language = _language(name)
    found = cache(lambda text: spans(language(text)))

    def of(problem: Problem) -> tuple[str, ...]:
        query = problem.query or ""
        return without(query, [span for span in found(problem.sentence) if not _overlap(span, query)])

    return of


def spans(doc: Any) -> list[str]:
    """Noun chunks and runs of nouns or names, in order of place, those made of pronouns alone left out."""
    chunks = {(chunk.start, chunk.end) for chunk in doc.noun_chunks}
    for kind, run in groupby(doc, key=lambda token: token.pos_):
        if kind in NOUNS:
            tokens = list(run)
            chunks.add((tokens[0].i, tokens[-1].i + 1))
    return [
        doc[start:end].text
        for start, end in sorted(chunks)
        if not all(token.pos_ == "PRON" for token in doc[start:end])
    ]


def _overlap(one: str, other: str) -> bool:
    """Whether one is part of the other, word by word."""
    return bool(occurrences(one, core(other)) or occurrences(other, core(one)))


def _language(name: str) -> Any:
    try:
        spacy = import_module("spacy")
    except ImportError:
        raise MissingExtra("rivals from noun phrases", "nlp") from None
    try:
        return spacy.load(name)
    except OSError:
        raise BadInput(
            f"rivals={name}: no such spaCy model is installed; `python -m spacy download en_core_web_sm` gets one, "
            "and rivals=siblings needs none"
        ) from None
