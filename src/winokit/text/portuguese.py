"""Portuguese: articles, what they contract to with prepositions, plurals."""

import re

from winokit.text.language import Filling, Language, contracted

# "de" and "o" are "do", "em" and "a" are "na": each preposition has a form that joins an article's o, a, os or as.
WRITTEN = {"de": "d", "em": "n", "por": "pel"}
CONTRACTED = {(word, article): start + article for word, start in WRITTEN.items() for article in ("o", "a", "os", "as")}
CONTRACTED |= {("a", "o"): "ao", ("a", "a"): "à", ("a", "os"): "aos", ("a", "as"): "às"}
OF_PRONOUN = re.compile(r"([dn])el[ae]s?", re.IGNORECASE)
PLURALS = ((r"(?:õe|ãe|ão)s$", "ão"), (r"([aeo])is$", r"\1l"), (r"éis$", "el"), (r"óis$", "ol"), (r"ns$", "m"))


class Portuguese(Language, data="words_pt.toml"):
    """The rules of Portuguese for reading, grouping and scoring."""

    def singular(self, word: str) -> str:
        """The singular of a word in lower case.

        >>> [Portuguese("pt").same_word("limão", other) for other in ("limões", "limão", "limoeiro")]
        [True, True, False]
        """
        for ending, singular in PLURALS:
            if re.search(ending, word):
                return re.sub(ending, singular, word)
        return re.sub(r"(?<=\w{3})(?:(?<=[rz])es|s)$", "", word)

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate in the place of a pronoun.

        Returns the text before it, the candidate and the text after it. "dela" becomes "de" and the candidate, and a
        preposition contracts with the candidate's article.

        >>> put = lambda before, pronoun, name: "".join(Portuguese("pt").fill(before, pronoun, ".", name, clause=False))
        >>> put("atrás ", "dela", "a parede"), put("por ", "ele", "O rei")
        ('atrás da parede.', 'pelo rei.')
        """
        match = OF_PRONOUN.fullmatch(pronoun or "")
        if match:
            preposition = "de" if match[1].casefold() == "d" else "em"
            before = f"{before}{preposition} "
        before, candidate, after = super().fill(before, pronoun, after, candidate, clause=clause)
        return *contracted(before, candidate, CONTRACTED), after
