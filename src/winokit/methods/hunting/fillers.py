"""What fills a role in a sentence, and which pronouns could stand for it."""

from __future__ import annotations

from dataclasses import dataclass

from winokit.text.grammar import PRONOUNS, WordToken
from winokit.text.mentions import is_plural
from winokit.text.names import gender_of

MEN = frozenset(
    "man boy father son brother uncle husband king prince gentleman guy fellow grandfather nephew lad sir mr".split()
)
WOMEN = frozenset(
    "woman girl mother daughter sister aunt wife queen princess lady grandmother niece maid mrs ms miss".split()
)
MANY_AS_ONE = frozenset("team company police crowd family council government army group band class".split())


@dataclass(frozen=True, slots=True)
class Filler:
    """What fills a role: a pronoun's kind, or a noun and the pronouns that could stand for it."""

    word: str
    kinds: frozenset[str]
    pronoun: bool = False
    place: int | None = None
    """Which word of its sentence it is, where a parser knows that one word has a part in several clauses."""

    def may_be(self, other: Filler) -> bool:
        """Whether two fillers may be the same person or thing."""
        if self.pronoun or other.pronoun:
            return bool(self.kinds & other.kinds)
        return self.word == other.word


def pronoun(word: str) -> Filler:
    """A pronoun as a filler, whatever its case."""
    return Filler(PRONOUNS[word], frozenset({PRONOUNS[word]}), pronoun=True)


def noun(token: WordToken) -> Filler:
    """A noun with the pronouns that could stand for it."""
    word = token.word
    gender = gender_of(word.title()) if token.capital else None
    if gender is not None:
        kinds = {"female": {"she"}, "male": {"he"}, "either": {"he", "she"}}[gender]
    elif word in MEN or word in WOMEN:
        kinds = {"he"} if word in MEN else {"she"}
    elif word in MANY_AS_ONE:
        kinds = {"it", "they"}
    else:
        kinds = {"they"} if is_plural(word) else {"it", "he", "she"}
    return Filler(word, frozenset(kinds))
