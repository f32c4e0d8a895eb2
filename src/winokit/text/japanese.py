"""Japanese: no spaces, so that words are runs of one script, and a short name is not sought inside a longer one.

Where the pronoun of a problem has particles with it, they stay where they are.
"""

import re

from winokit.text.language import Filling, Language, verbatim

KATAKANA = re.compile(r"[\u30a1-\u30faー]")
LONG = 4
"""Letters of a name that may be a part of a compound: ピザハット of ピザハットピザ."""
PRONOUN = re.compile(r"(?:彼女|彼|それ|これ|あれ)(?:ら|たち)?")


class Japanese(Language, data="words_ja.toml"):
    """The rules of Japanese for reading, grouping and scoring."""

    def split(self, text: str) -> list[str]:
        """The characters of a text.

        Runs of katakana or Latin letters are one.
        """
        return Language.piece.findall(text)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Start and end of each place where some words occur.

        A short name is not found in a longer one: アン is not in アンディ. Four letters or more are, if
        they are nowhere else.
        """
        places = verbatim(text, words, whole=False)
        separate_places = []
        for start, end in places:
            if not (_is_katakana_continued(text, start - 1) or _is_katakana_continued(text, end - 1)):
                separate_places.append((start, end))
        if not separate_places and len(words) >= LONG:
            return places
        return separate_places

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate in the place of a pronoun.

        Returns the text before it, the candidate and the text after it. Particles that belong to the pronoun stay:
        only the first word of 彼を or 彼は彼 is replaced.

        >>> "".join(Japanese("ja").fill("教師は", "彼を", "呼んだ。", "少年", clause=False))
        '教師は少年を呼んだ。'
        """
        candidate = "".join(candidate.split())
        word = PRONOUN.match(pronoun or "")
        if word is None:
            return before, candidate, after
        particles = (pronoun or "")[word.end() :]
        return before, candidate, particles + after


def _is_katakana_continued(text: str, at: int) -> bool:
    """Whether the character at an index and the next are both katakana."""
    if at < 0:
        return False
    is_katakana = KATAKANA.fullmatch(text[at : at + 1])
    return bool(is_katakana and KATAKANA.fullmatch(text[at + 1 : at + 2]))
