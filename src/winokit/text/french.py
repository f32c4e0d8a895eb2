"""French: articles and what they contract to, elision, plurals."""

import re

from winokit.text.language import Filling, Language, contracted

VOWEL = re.compile(r"[aeiouyàâäéèêëîïôöûüœæh]", re.IGNORECASE)
ELIDED = re.compile(r"\b((?:lors|puis|jus|quoi)?qu|[djlmnst])['’]$", re.IGNORECASE)
ELIDES = re.compile(r"\b((?:lors|puis|jus|quoi)?qu|d)e\s+$", re.IGNORECASE)
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


class French(Language, data="words_fr.toml"):
    """Reading, grouping and scoring."""

    def singular(self, word: str) -> str:
        """A word, in lower case, without what makes it a plural.

        >>> [French("fr").same_word("manteau", other) for other in ("manteau", "manteaux", "menteur")]
        [True, True, False]
        """
        return re.sub(r"(?<=\w{3})[sx]$", "", re.sub(r"(?<!e)aux$", "al", word))

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """A candidate in the place of a pronoun, words before it elided, contracted or written out as it asks for.

        >>> put = lambda before, name: "".join(French("fr").fill(before, "il", " dort.", name, clause=False))
        >>> put("Je crois qu'", "Le chat"), put("Je crois qu'", "Anne"), put("s'", "Anne"), put("près de ", "Le roi")
        ('Je crois que le chat dort.', "Je crois qu'Anne dort.", 'si Anne dort.', 'près du roi dort.')
        """
        head = re.match(r"l['’]", candidate, re.IGNORECASE)
        if head and not self.opens_sentence(before):
            candidate = candidate[:1].lower() + candidate[1:]
        before, candidate, after = super().fill(before, pronoun, after, candidate, clause=clause)
        elided = ELIDED.search(before)
        elides = ELIDES.search(before)
        vowel = VOWEL.match(candidate)
        if elided and elided[1].casefold() == "s" and (pronoun or "").casefold() in ("il", "ils"):
            before = f"{before[: elided.end(1)]}i "
        elif elided and not vowel:
            before = f"{before[: elided.end(1)]}e "
        elif elides and vowel:
            before = f"{before[: elides.end(1)]}'"
        return *contracted(before, candidate, CONTRACTED), after
