"""Russian: words are found in any case and number, by stems."""

import re
from functools import lru_cache

from winokit.text.language import Language, word_lists

WORDS = word_lists("words_ru.toml")
FLEETING = re.compile(r"(?<=[^аеиоуыэюяйь])[ое](?=[^аеиоуыэюяйь]$)")
SHORTEST = 2
"""Letters of a stem: "пёс" and "пса" have two in common."""


class Russian(Language, data="words_ru.toml"):
    """Reading, grouping and scoring."""

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Where some words stand, in whatever case: a text may name one in two cases."""
        return sorted({*super().occurrences(text, words), *self.inflected(text, words)})

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one: without an ending they are the same. A name keeps its capital.

        >>> [Russian("ru").same_word("кубок", other) for other in ("кубка", "кубками", "куба", "кубы")]
        [True, True, False, False]
        """
        if word.casefold() == other.casefold():
            return True
        return word[:1].isupper() <= other[:1].isupper() and not _stems(word).isdisjoint(_stems(other))


@lru_cache(1 << 16)
def _stems(word: str) -> frozenset[str]:
    """What may be left of a word without its ending; the о of "кубок", which "кубка" has not, is left out too."""
    word = word.casefold().replace("ё", "е")
    bare = {word.removesuffix(ending) for ending in ("", *WORDS["endings"])}
    bare = {stem for stem in bare if len(stem) >= max(SHORTEST, len(word) - 4)}
    without = {FLEETING.sub(sign, stem) for stem in bare for sign in ("", "ь") if len(word) - len(stem) < 2}
    return frozenset(bare | without)
