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
    """Reading, grouping and scoring."""

    def split(self, text: str) -> list[str]:
        """Characters, and runs of katakana and of Latin letters."""
        return Language.piece.findall(text)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Where some words stand, a short name not as a part of a longer one: アン is not in アンディ."""
        places = verbatim(text, words, whole=False)
        apart = [place for place in places if not (_goes_on(text, place[0] - 1) or _goes_on(text, place[1] - 1))]
        return apart or (places if len(words) >= LONG else [])

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """A candidate in the place of a pronoun; of 彼を or 彼は彼 only the first word is taken out.

        >>> "".join(Japanese("ja").fill("教師は", "彼を", "呼んだ。", "少年", clause=False))
        '教師は少年を呼んだ。'
        """
        word = PRONOUN.match(pronoun or "")
        return before, "".join(candidate.split()), (pronoun or "")[word.end() :] + after if word else after


def _goes_on(text: str, at: int) -> bool:
    """Whether a run of katakana goes on after a place."""
    return at >= 0 and bool(KATAKANA.fullmatch(text[at : at + 1]) and KATAKANA.fullmatch(text[at + 1 : at + 2]))
