"""Russian: words are found in any case and number, by stems."""

import re
from functools import lru_cache

from winokit.text.language import Language, word_lists

WORDS = word_lists("words_ru.toml")
FLEETING = re.compile(r"(?<=[^аеиоуыэюяйь])[ое](?=[^аеиоуыэюяйь]$)")
SHORTEST = 2
"""Letters of a stem: "пёс" and "пса" have two in common."""


class Russian(Language, data="words_ru.toml"):
    """The rules of Russian for reading, grouping and scoring."""

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Start and end of each place where a text has some words.

        Any case is found.
        """
        return sorted({*super().occurrences(text, words), *self.inflected(text, words)})

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one word.

        They are if they have a stem in common. A name keeps its capital.

        >>> [Russian("ru").same_word("кубок", other) for other in ("кубка", "кубками", "куба", "кубы")]
        [True, True, False, False]
        """
        if word.casefold() == other.casefold():
            return True
        if word[:1].isupper() and not other[:1].isupper():
            return False
        return not _find_stems(word).isdisjoint(_find_stems(other))


@lru_cache(1 << 16)
def _find_stems(word: str) -> frozenset[str]:
    """The stems that a word may have.

    A vowel that other forms lose is also left out: the о of "кубок" is not in "кубка".
    """
    word = word.casefold().replace("ё", "е")
    shortest = max(SHORTEST, len(word) - 4)
    possible_stems = {word.removesuffix(ending) for ending in ("", *WORDS["endings"])}
    stems = {stem for stem in possible_stems if len(stem) >= shortest}
    long_stems = [stem for stem in stems if len(word) - len(stem) < 2]
    for stem in long_stems:
        stems.add(FLEETING.sub("", stem))
        stems.add(FLEETING.sub("ь", stem))
    return frozenset(stems)
