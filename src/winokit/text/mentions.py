"""Where the candidates of a problem are named in its text, and what stands before each mention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from winokit.text.words import ARTICLE

DETERMINERS = frozenset(
    "my our your his her its their this that these those some any each every no another both all many few several "
    "one two three four five".split()
)
# After one of these a noun phrase begins; what follows it directly has no article and no adjective.
BEFORE_A_PHRASE = frozenset(
    "of to in on at by for with without from off out up upon down over under into onto about above below behind "
    "beside between after before because since so but and or when while until if as that than though although nor "
    "like near through during against toward towards among inside outside".split()
)
LAST_ARTICLE = re.compile(r"(?<![\w'’-])(the|an?)\s+$", re.IGNORECASE)
LAST_WORDS = re.compile(r"(?:(?<!\S)([\w'’-]+)\s+)?(?<!\S)([\w'’-]+)\s+$")
UNUSUAL_PLURALS = frozenset("people police children feet teeth geese mice cattle".split())
LOOK_LIKE_PLURALS = frozenset("gas canvas atlas lens series species news christmas bias pancreas".split())


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a candidate is named, its article left out."""

    candidate: int
    start: int
    end: int


@lru_cache(1 << 16)
def core(candidate: str) -> str:
    """A candidate without its article, white space folded, in its own case."""
    return ARTICLE.sub("", " ".join(candidate.split()))


def mentions(text: str, candidates: Sequence[str]) -> list[Mention]:
    """Every mention of every candidate as whole words, in order; where one lies inside another, the longer counts.

    >>> mentions("The cup fits the cup holder.", ("the cup", "the cup holder"))
    [Mention(candidate=0, start=4, end=7), Mention(candidate=1, start=17, end=27)]
    """
    places: list[Mention] = []
    for index in sorted(range(len(candidates)), key=lambda i: -len(core(candidates[i]))):
        places += [
            Mention(index, start, end)
            for start, end in occurrences(text, core(candidates[index]))
            if not any(start < other.end and other.start < end for other in places)
        ]
    return sorted(places, key=lambda mention: mention.start)


def occurrences(text: str, words: str) -> list[tuple[int, int]]:
    """Where some words stand as whole words, whatever their case; a capital, where they have one, is preferred.

    >>> occurrences("Will will come.", "Will")
    [(0, 4)]
    """
    lowered, sought = _lowered(text), _lowered(words)
    places, at = [], lowered.find(sought)
    while at >= 0 and sought:
        end = at + len(sought)
        if not _continues(text, at - 1, -1) and not _continues(text, end, 1):
            places.append((at, end))
        at = lowered.find(sought, at + 1)
    if words[:1].isupper():
        return [place for place in places if text[place[0]].isupper()] or places
    return places


@lru_cache(64)  # the same text is searched for several words in a row
def _lowered(text: str) -> str:
    """The text in lower case, every letter in its old place: a few letters change their length with their case."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _continues(text: str, at: int, step: int) -> bool:
    """Whether a word goes on at a place: with a letter, or with a hyphen and a letter."""
    if not 0 <= at < len(text):
        return False
    if text[at] == "-":
        return 0 <= at + step < len(text) and text[at + step].isalnum()
    return text[at].isalnum() or text[at] == "_"


def article_before(text: str, start: int) -> re.Match[str] | None:
    """The article directly before a place, with its space."""
    return LAST_ARTICLE.search(text, max(0, start - 12), start)


def how_it_stands(text: str, start: int) -> str:
    """What a noun has before it: `article`, `determined` (his cup, the brown cup), `bare`, or `unsure`.

    >>> [how_it_stands(f"{words} cup", len(words) + 1) for words in ("a", "of his", "the red", "with", "took hot")]
    ['article', 'determined', 'determined', 'bare', 'unsure']
    """
    if article_before(text, start):
        return "article"
    words = LAST_WORDS.search(text, max(0, start - 40), start)
    if words is None:
        return "bare"  # the head of the text, or punctuation
    first, last = ((word or "").casefold() for word in words.groups())
    if last in DETERMINERS or last.isdigit() or last.endswith(("'s", "’s", "s'", "s’")):
        return "determined"
    if last in BEFORE_A_PHRASE:
        return "bare"
    return "determined" if first in DETERMINERS or first in ("the", "a", "an") else "unsure"


def head(words: str) -> str:
    """The word that says what kind of thing is meant: "sack" of a sack of potatoes, "bus" of a school bus."""
    return words.split(" of ")[0].split()[-1].casefold()


def is_proper(words: str) -> bool:
    """Whether a candidate keeps its capital wherever it stands: "Kate" and "Dr. Adams" do, "My uncle" does not."""
    return words[:1].isupper() and words.split()[0].casefold() not in DETERMINERS


def is_plural(words: str) -> bool:
    """Whether a candidate's words look like more than one: their head ends in s, or they are joined by "and".

    >>> [is_plural(words) for words in ("sack of potatoes", "Fred and Alice", "firemen", "bus", "cups")]
    [False, True, True, False, True]
    """
    if " and " in words or is_proper(words):
        return " and " in words  # James is one
    word = head(words)
    if word in UNUSUAL_PLURALS or word.endswith("men"):
        return True
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s")) and word not in LOOK_LIKE_PLURALS


def stands_in_another_form(text: str, words: str, found: Sequence[Mention]) -> bool:
    """Whether the text may mean a candidate in other words too: its head alone, its plural, a part of its name.

    >>> stands_in_another_form("The school bus hit a bus.", "school bus", mentions("The school bus", ("school bus",)))
    True
    """
    if is_proper(words):
        forms = set(words.split()) - {words, "and", "of", "the"}
    else:
        word = head(words)
        forms = {word, f"{word}s", f"{word}es"} | ({word[:-1]} if word.endswith("s") else set())
    return any(
        text[start].isupper() >= form[0].isupper() and not any(m.start <= start and end <= m.end for m in found)
        for form in forms
        for start, end in occurrences(text, form)
    )
