"""Words and tokens: the two ways of counting them, and the small parts of English the rules need."""

from __future__ import annotations

import re
from collections.abc import Callable

ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
WORD = re.compile(r"\w+(?:['’]\w+)*")

# Penn-Treebank-like: contractions and possessives split off, punctuation by itself, a period only at the end of the
# text or of a sentence. Abbreviations keep theirs.
_ABBREVIATION = r"(?:Mrs|Mr|Ms|Dr|St|Prof|Jr|Sr|vs|Inc|Ltd|Co|etc|U\.S|a\.m|p\.m)\."
_PTB = re.compile(
    rf"{_ABBREVIATION}|\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b|\.\.\.|--|\d+(?:[.,:]\d+)+|\w+(?:-\w+)+|\w+|[^\w\s]",
    re.IGNORECASE,
)

_NO_LETTERS = {code: None for code in range(128) if not chr(code).isalnum()}


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


def whitespace(text: str) -> list[str]:
    """What stands between spaces."""
    return text.split()


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"ptb": ptb, "whitespace": whitespace}


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ at most in case and punctuation."""
    return WORD.findall(one.casefold()) == WORD.findall(other.casefold())


def mention_places(text: str, name: str) -> list[int]:
    """Where a candidate occurs in a text as whole words, whatever its case and article.

    >>> mention_places("The cup hit the cups.", "a cup")
    [4]
    """
    text, name = text.casefold(), bare(name)
    places, at = (
        [],
        text.find(name),
    )  # a search by hand: one regular expression a candidate would be compiled 80,000 times
    while at >= 0 and name:
        end = at + len(name)
        if not (at and _is_word(text[at - 1])) and not (end < len(text) and _is_word(text[end])):
            places.append(at)
        at = text.find(name, at + 1)
    return places


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
