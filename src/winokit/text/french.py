"""French: articles and what they contract to, elision, plurals."""

import re

from winokit.text.language import Filling, Language, contracted

VOWEL = re.compile(r"[aeiouyàâäéèêëîïôöûüœæh]", re.IGNORECASE)
ELIDED = re.compile(r"\b((?:lors|puis|jus|quoi)?qu|[djlmnst])['’]$", re.IGNORECASE)
ELIDES = re.compile(r"\b((?:lors|puis|jus|quoi)?qu|d)e\s+$", re.IGNORECASE)
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


class French(Language, data="words_fr.toml"):
    """The rules of French for reading, grouping and scoring."""

    def singular(self, word: str) -> str:
        """The singular of a word in lower case.

        >>> [French("fr").same_word("manteau", other) for other in ("manteau", "manteaux", "menteur")]
        [True, True, False]
        """
        without_aux = re.sub(r"(?<!e)aux$", "al", word)
        return re.sub(r"(?<=\w{3})[sx]$", "", without_aux)

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate in the place of a pronoun.

        Returns the text before it, the candidate and the text after it. A word before the candidate is elided,
        contracted or written out as the candidate requires.

        >>> put = lambda before, name: "".join(French("fr").fill(before, "il", " dort.", name, clause=False))
        >>> put("Je crois qu'", "Le chat"), put("Je crois qu'", "Anne"), put("s'", "Anne"), put("près de ", "Le roi")
        ('Je crois que le chat dort.', "Je crois qu'Anne dort.", 'si Anne dort.', 'près du roi dort.')
        """
        elided_article = re.match(r"l['’]", candidate, re.IGNORECASE)
        if elided_article and not self.opens_sentence(before):
            candidate = candidate[:1].lower() + candidate[1:]
        before, candidate, after = super().fill(before, pronoun, after, candidate, clause=clause)
        before = _fit_elision(before, pronoun, candidate)
        return *contracted(before, candidate, CONTRACTED), after


def _fit_elision(before: str, pronoun: str | None, candidate: str) -> str:
    """The text before a candidate, with its last word fitted to it.

    The word is elided, or written out.
    """
    elided = ELIDED.search(before)
    elidable = ELIDES.search(before)
    vowel = VOWEL.match(candidate)
    is_il = (pronoun or "").casefold() in ("il", "ils")
    if elided and elided[1].casefold() == "s" and is_il:
        return f"{before[: elided.end(1)]}i "
    if elided and not vowel:
        return f"{before[: elided.end(1)]}e "
    if elidable and vowel:
        return f"{before[: elidable.end(1)]}'"
    return before
