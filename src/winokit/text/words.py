"""Words, tokens and sentences, the small parts of English the rules need, and first names.

A sentence ends at . ! ? or … (and closing quotes) where white space and a capital, a figure or an opening quote follow.
A period after an abbreviation, an initial or a title ends nothing. In text that was taken apart into tokens, with a
space before each mark, a mark ends a sentence whatever follows. What is longer than `LONGEST` is cut at line breaks, or
where it must be: tables and code are not sentences, and should not become documents of a thousand words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Literal

ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
WORD = re.compile(r"\w+(?:['’]\w+)*")

# Penn-Treebank-like: contractions and possessives split off, punctuation by itself, a period only at the end of the
# text or of a sentence. Abbreviations keep theirs.
_ABBREVIATION = r"(?:Mrs|Mr|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|etc|U\.S|a\.m|p\.m)\."
_PTB = re.compile(
    rf"{_ABBREVIATION}|\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b|\.\.\.|--|\d+(?:[.,:]\d+)+|\w+(?:-\w+)+|\w+|[^\w\s]",
    re.IGNORECASE,
)

GENDERS = {"f": "female", "m": "male", "e": "either"}
_POSSESSIVE = re.compile(r"['’]s?$")
_TELLS_NOTHING = frozenset("the a an of and or in on with my our your his her its their some dr mr mrs ms sir".split())
_NO_LETTERS = {code: None for code in range(128) if not chr(code).isalnum()}

LONGEST = 1000
"""Characters of a sentence."""
END = re.compile(r"""[.!?…]+["'”’)\]]*\s+(?=(["'“‘(\[]*)(\S))""")
NO_SENTENCE_END = re.compile(
    r"(?:\b(?:Mrs?|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|Corp|etc|Rev|Gen|Col|Capt|Lt|Sgt|Hon|Mt|No|Vol|Fig|cf|viz"
    r"|Jan|Feb|Aug|Sept?|Oct|Nov|Dec|e\.g|i\.e|[ap]\.m|[A-Z])|\b(?:[A-Za-z]\.)+[A-Za-z])\.$"
)
LONGER_THAN_ANY = 5
"""Letters of a word that is no abbreviation for sure: most words need no closer look."""
HAS_WORD = re.compile(r"\w")


def bare(name: str) -> str:
    """A candidate without its article, lower-cased, white space folded: what counts when two mentions are compared."""
    return ARTICLE.sub("", " ".join(name.split())).casefold()


def letters(text: str) -> str:
    """Letters and digits alone, lower-cased: what is left of a text when spacing and punctuation do not count.

    >>> letters("Ann 's 2 cups.") == letters("Ann’s 2 cups")
    True
    """
    if text.isascii():  # nearly always, and ten times faster
        return text.translate(_NO_LETTERS).lower()
    return "".join(filter(str.isalnum, text.casefold()))


def ptb(text: str) -> list[str]:
    """Penn-Treebank-like tokens: "didn't" is two, "Tom's" is two, punctuation stands alone."""
    return _PTB.findall(text)


Tokens = Literal["ptb", "whitespace"]
TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"ptb": ptb, "whitespace": str.split}


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ at most in case and punctuation."""
    return WORD.findall(one.casefold()) == WORD.findall(other.casefold())


def mention_places(text: str, name: str) -> list[int]:
    """Where a candidate occurs in a text as whole words, whatever its case and article.

    >>> mention_places("The cup hit the cups.", "a cup")
    [4]
    """
    text, name = text.casefold(), bare(name)
    places, at = [], text.find(name)  # by hand: one regular expression a candidate would be compiled 80,000 times
    while at >= 0 and name:
        end = at + len(name)
        if not (at and _is_word(text[at - 1])) and not (end < len(text) and _is_word(text[end])):
            places.append(at)
        at = text.find(name, at + 1)
    return places


def is_mentioned(text: str, name: str, *, partly: bool = False) -> bool:
    """Whether a text names a candidate, its words perhaps inflected; partly: whether it has any word that tells of it.

    >>> is_mentioned("She bought new brushes.", "the brush"), is_mentioned("We saw a man juggling.", "the juggler")
    (True, True)
    >>> [is_mentioned("Anne gave birth to a daughter.", "Anne's daughter", partly=partly) for partly in (False, True)]
    [False, True]
    """
    if mention_places(text, name):
        return True
    words = [_POSSESSIVE.sub("", word) for word in WORD.findall(ARTICLE.sub("", name.strip()))]
    stood = [_POSSESSIVE.sub("", word) for word in WORD.findall(text)]
    if partly:
        telling = [word for word in words if word.casefold() not in _TELLS_NOTHING]
        return any(_same_stem(word, other) for word in telling for other in stood)
    runs = (stood[at : at + len(words)] for at in range(len(stood) - len(words) + 1))
    return bool(words) and any(all(map(_same_stem, words, run)) for run in runs)


def _same_stem(word: str, other: str) -> bool:
    """Whether two words are forms of one; a name has a possessive or a plural and no other form."""
    one, two = word.casefold(), other.casefold()
    return two in (one, f"{one}s", f"{one}es") or (not word[:1].isupper() and _stem(one) == _stem(two))


def _stem(word: str) -> str:
    """A word without its ending: enough to tell "brush" in "brushes", "juggler" in "juggling", "bark" in "barked"."""
    word = re.sub(r"ies$", "y", word)
    word = re.sub(r"(?<=\w{3})(?:ings?|ers?|ed|es|(?<!s)s|e)$", "", word)
    return re.sub(r"(.)\1$", r"\1", word)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def gender_of(name: str) -> str | None:
    """`female`, `male`, `either` (neither has nine in ten bearers), or None for what is no name on the list.

    >>> gender_of("Nora"), gender_of("Robin"), gender_of("the plumber"), gender_of("My uncle")
    ('female', 'either', None, None)
    """
    words = name.split()
    if not words or len(words) > 2 or not all(word[:1].isupper() for word in words):
        return None
    return _genders().get(words[0].casefold())


@cache
def _genders() -> dict[str, str]:
    """The public-domain list of the US census of 1990: names and the gender most of their bearers have."""
    lines = (files("winokit") / "assets" / "first_names.txt").read_text("utf-8").splitlines()
    return {name: GENDERS[letter] for name, letter in (line.split() for line in lines if not line.startswith("#"))}


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
    return NO_SENTENCE_END.search(text, max(start, at - 12), at + 1) is None


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
