"""Words, tokens and sentences.

A sentence ends at . ! ? or … (and closing quotes) where white space and a capital, a figure or an opening quote follow.
A period after an abbreviation, an initial or a title ends nothing. If a text was split into tokens, with a space before
each mark, a mark ends a sentence whatever follows. A part longer than `LONGEST` is cut at line breaks, or else between
words: tables and code are not sentences, and should not become documents of a thousand words.
"""

import re
from collections.abc import Callable
from typing import Literal

MARKS = "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0980-\u0dff\u200c\u200d"
"""Marks of Hebrew, Arabic and Indian scripts that belong to a letter, such as vowels. Python sees no letters."""
WORD = re.compile(rf"[\w{MARKS}]+(?:['’][\w{MARKS}]+)*")
_MARK = re.compile(f"[{MARKS}]")

# Penn-Treebank-like: contractions and possessives split off, punctuation by itself, a period only at the end of the
# text or of a sentence. Abbreviations keep their period.
_ABBREVIATION = r"(?:Mrs|Mr|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|etc|U\.S|a\.m|p\.m)\."
_PTB = re.compile(
    rf"{_ABBREVIATION}|\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b|\.\.\.|--|\d+(?:[.,:]\d+)+|\w+(?:-\w+)+|\w+|[^\w\s]",
    re.IGNORECASE,
)

_NO_LETTERS = {code: None for code in range(128) if not chr(code).isalnum()}

LONGEST = 1000
"""Maximal number of characters in a sentence."""
END = re.compile(r"""[.!?…]+["'”’)\]]*\s+(?=(["'“‘(\[]*)(\S))""")
NO_SENTENCE_END = re.compile(
    r"(?:\b(?:Mrs?|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|Corp|etc|Rev|Gen|Col|Capt|Lt|Sgt|Hon|Mt|No|Vol|Fig|cf|viz"
    r"|Jan|Feb|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|[ap]\.m|[A-Z])|\b(?:[A-Za-z]\.)+[A-Za-z])\.$"
)
LONGER_THAN_ANY = 5
"""Letters of a word that is certainly no abbreviation. Most words are that long and need no further test."""
HAS_WORD = re.compile(r"\w")


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case.

    Two texts that differ only in spacing and punctuation have the same letters.

    >>> letters("Ann 's 2 cups.") == letters("Ann’s 2 cups")
    True
    """
    if text.isascii():  # nearly always, and ten times faster
        return text.translate(_NO_LETTERS).lower()
    return "".join(letter for letter in text.casefold() if letter.isalnum() or _MARK.match(letter))


def ptb(text: str) -> list[str]:
    """The tokens of a text, as in the Penn Treebank.

    "didn't" and "Tom's" are two each, and punctuation is separate.
    """
    return _PTB.findall(text)


Tokens = Literal["ptb", "whitespace"]
TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"ptb": ptb, "whitespace": str.split}


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ at most in case, spacing and punctuation."""
    return WORD.findall(one.casefold()) == WORD.findall(other.casefold())


def sentences(text: str) -> list[str]:
    """The sentences of a text, with single spaces between words.

    One that is longer than 1,000 characters is split. Those without a word are left out.

    >>> sentences('Dr. Hale sat down. "Why not?" she asked. Nobody knew.')
    ['Dr. Hale sat down.', '"Why not?" she asked.', 'Nobody knew.']
    """
    parts: list[str] = []
    start = 0
    for end in END.finditer(text):
        if _is_sentence_end(text, end, start):
            parts.append(text[start : end.end()])
            start = end.end()
    parts.append(text[start:])
    found: list[str] = []
    for part in parts:
        found += _split_long_part(part)
    return found


def _is_sentence_end(text: str, end: re.Match[str], start: int) -> bool:
    """Whether a sentence ends at a mark, given what follows it.

    `start` is where the sentence begins.
    """
    at = end.start()
    opening_quote = end[1]
    following = end[2]
    if at > start and text[at - 1].isspace():
        return True
    if not (following.isupper() or following.isdigit() or opening_quote):
        return False
    if text[at] != "." or text[at - LONGER_THAN_ANY : at].isalpha():
        return True
    return NO_SENTENCE_END.search(text, max(start, at - 12), at + 1) is None


def _split_long_part(part: str) -> list[str]:
    """Split a text that is longer than `LONGEST` characters into pieces.

    It is split at line breaks, or else between words. Pieces without a word are left out.
    """
    if len(part) <= LONGEST:
        folded = " ".join(part.split())
        return [folded] if HAS_WORD.search(folded) else []
    lines = part.split("\n")
    if len(lines) == 1:
        return _split_between_words(part)
    pieces: list[str] = []
    for line in lines:
        pieces += _split_long_part(line)
    return pieces


def _split_between_words(part: str) -> list[str]:
    """Split a text between words into pieces of at most `LONGEST` characters.

    Pieces without a word are left out.
    """
    pieces = [""]
    length = 0
    for word in part.split():
        length += len(word) + 1
        if length > LONGEST:
            pieces.append("")
            length = len(word)
        pieces[-1] += f" {word[:LONGEST]}"
    return [piece.strip() for piece in pieces if HAS_WORD.search(piece)]
