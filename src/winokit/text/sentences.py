"""Sentences of running text: a small splitter of our own, fast enough to be no bottleneck.

A sentence ends at . ! ? or … (and closing quotes) where white space and a capital, a figure or an opening quote follow.
A period after an abbreviation, an initial or a title ends nothing. In text that was taken apart into tokens, with a
space before each mark, a mark ends a sentence whatever follows. What is longer than `LONGEST` is cut at line breaks, or
where it must be: tables and code are not sentences, and should not become documents of a thousand words.
"""

from __future__ import annotations

import re

LONGEST = 1000
"""Characters of a sentence."""
END = re.compile(r"""[.!?…]+["'”’)\]]*\s+(?=(["'“‘(\[]*)(\S))""")
ABBREVIATION = re.compile(
    r"(?:\b(?:Mrs?|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|Corp|etc|Rev|Gen|Col|Capt|Lt|Sgt|Hon|Mt|No|Vol|Fig|cf|viz"
    r"|Jan|Feb|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|[ap]\.m|[A-Z])|\b(?:[A-Za-z]\.)+[A-Za-z])\.$"
)
LONGER_THAN_ANY = 5
"""Letters of a word that is no abbreviation for sure: most words need no closer look."""
HAS_WORD = re.compile(r"\w")


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph or document, white space folded.

    >>> sentences('Dr. Hale sat down. "Why not?" she asked. Nobody knew.')
    ['Dr. Hale sat down.', '"Why not?" she asked.', 'Nobody knew.']
    """
    parts: list[str] = []
    start = 0
    for end in END.finditer(text):
        if _ends_a_sentence(text, end, start):
            parts.append(text[start : end.end()])
            start = end.end()
    parts.append(text[start:])
    return [sentence for part in parts for sentence in _of_bearable_length(part)]


def _ends_a_sentence(text: str, end: re.Match[str], start: int) -> bool:
    at, following = end.start(), end[2]
    if at > start and text[at - 1].isspace():
        return True
    if not (following.isupper() or following.isdigit() or end[1]):
        return False
    if text[at] != "." or text[at - LONGER_THAN_ANY : at].isalpha():
        return True
    return ABBREVIATION.search(text, max(start, at - 12), at + 1) is None


def _of_bearable_length(part: str) -> list[str]:
    if len(part) <= LONGEST:
        folded = " ".join(part.split())
        return [folded] if HAS_WORD.search(folded) else []
    lines = part.split("\n")
    if len(lines) > 1:
        return [sentence for line in lines for sentence in _of_bearable_length(line)]
    words, pieces, length = part.split(), [""], 0
    for word in words:
        length += len(word) + 1
        if length > LONGEST:
            pieces.append("")
            length = len(word)
        pieces[-1] += f" {word[:LONGEST]}"
    return [piece.strip() for piece in pieces if HAS_WORD.search(piece)]
