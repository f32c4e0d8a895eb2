"""A text as a tokenizer of Hugging Face reads it: which tokens, where each stands, and in which word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from winokit.errors import UnknownName
from winokit.models.base import Embed, NothingToScore, TooLong

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextReading:
    """Token ids, and of each the place and the word; both are None for [CLS] and its like."""

    text: str
    ids: list[int]
    places: list[tuple[int, int] | None]
    words: list[int | None]
    most: int
    """How many tokens the model reads."""

    def check(self) -> None:
        """Raise where the model cannot read it."""
        if len(self.ids) > self.most:
            raise TooLong(self.text, len(self.ids), self.most)

    def own(self) -> list[int]:
        """Positions of the text's own tokens, all but [CLS] and its like; without any there is nothing to score."""
        found = [position for position, place in enumerate(self.places) if place is not None]
        if not found:
            raise NothingToScore(self.text)
        return found

    def inside(self, start: int, end: int) -> list[int]:
        """Positions of the tokens that reach into `text[start:end]`; without any there is nothing to score."""
        found = [
            position
            for position, place in enumerate(self.places)
            if place is not None and place[0] < end and max(place[1], place[0] + 1) > start
        ]
        if not found or not self.text[start:end].strip():
            raise NothingToScore(self.text[start:end])
        return found

    def rest_of_word(self, position: int) -> list[int]:
        """The position and those of the later pieces of its word."""
        word = self.words[position]
        return [later for later in range(position, len(self.ids)) if self.words[later] == word]

    def masked(self, positions: Sequence[int], mask: int) -> Ids:
        """The ids with some of them masked."""
        ids = list(self.ids)
        for position in positions:
            ids[position] = mask
        return tuple(ids)


def read(tokenizer: Any, texts: Sequence[str], most: int, *, as_target: bool = False) -> list[TextReading]:
    """Readings of texts, special tokens included; one of more tokens than `most` says so when it is used.

    Some tokenizers read what a decoder is to write (`as_target`) in another way than what an encoder reads.
    """
    if not texts:
        return []
    side = "text_target" if as_target else "text"
    encodings = tokenizer(**{side: list(texts)}, return_special_tokens_mask=True, verbose=False).encodings
    return [_reading(text, encoding, most) for text, encoding in zip(texts, encodings, strict=True)]


def _reading(text: str, encoding: Any, most: int) -> TextReading:
    special = [bool(mark) for mark in encoding.special_tokens_mask]
    places = [None if out else bare(text, *place) for place, out in zip(encoding.offsets, special, strict=True)]
    words = encoding.word_ids
    if len({word for word, out in zip(words, special, strict=True) if not out}) < 2:
        # A tokenizer that does not cut a text into words first takes all of it for one.
        starts = [word.start() for word in re.finditer(r"\S+", text)]
        words = [None if place is None else bisect_right(starts, place[0]) for place in places]
    return TextReading(text, encoding.ids, places, words, most)


def bare(text: str, start: int, end: int) -> tuple[int, int]:
    """A place without the spaces around it.

    Byte-level and sentencepiece tokens bring along the space before a word, and some tokenizers count it in. A token of
    nothing but space gets an empty place where the next word starts: it belongs to what it leads to.

    >>> bare("a cup", 1, 5), bare("a  cup", 1, 2)
    ((2, 5), (3, 3))
    """
    while start < len(text) and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, max(start, end)


def pooled_positions(request: Embed, reading: TextReading) -> list[int]:
    """The tokens a vector is the mean of."""
    match request.pooling:
        case "mean":
            return list(range(len(reading.ids)))
        case "first":
            return [0]
        case "span":
            return reading.inside(request.start, request.end)
    raise UnknownName("pooling", request.pooling, ("mean", "first", "span"))
