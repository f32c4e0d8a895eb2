"""German: four cases, three genders, inflected articles, adjectives and nouns.

A candidate is read as a nominative ("der Koffer", "eine alte Dame", "Peter"). Its article says its gender, and from
gender and case follow all its forms: it is found in "in den Koffer" and "des Koffers", takes a pronoun's case ("ihm":
"dem Koffer"), and changes places with another where the case of either place is certain. Genders are grammatical:
"er" may be a suitcase, and whether a pronoun fits a candidate is asked of the candidate's article.

In this module a gender is a letter of `GENDERS` and a case an index in `CASES`. A reading of a word is one pair of
gender and case that it may have.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

from winokit.errors import Message
from winokit.files import our_toml
from winokit.text.language import Edit, Filling, Language, Mention, first_names, is_inside_mention, word_lists

WORDS = word_lists("words_de.toml")
NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = CASES = range(4)
GENDERS = {"m": "masculine", "f": "feminine", "n": "neuter", "p": "plural"}
NAMES_ARE = {"male": "m", "female": "f", "either": "mf"}

# Forms by gender, in the order of the cases. Adjectives have other endings after no determiner, "ein" and "der".
FORMS = our_toml("assets/words_de.toml")["forms"]
ADJECTIVES: dict[str, dict[str, str]] = FORMS["adjectives"]
LIKE_EIN = frozenset(WORDS["like_ein"])
NO_ADJECTIVE = frozenset(WORDS["no_adjectives"])
THE = "d"
POSSESSIVE = re.compile(r"(?:sein|ihr)(e[mnrs]?)?|dessen|deren")
MELTED: dict[str, tuple[str, ...]] = {form: tuple(parts.split()) for form, parts in FORMS["melted"].items()}
"""Preposition and article of each word that joins them."""
GOVERNED: dict[str, frozenset[int]] = {}
"""The cases that may follow a preposition."""
for _case, _prepositions in zip(CASES, FORMS["governed"], strict=True):
    for _preposition in _prepositions.split():
        GOVERNED[_preposition] = GOVERNED.get(_preposition, frozenset()) | {_case}
INSTEAD_OF_A_PRONOUN = {word: (prep, max(GOVERNED[prep])) for word, prep in FORMS["instead_of_a_pronoun"].items()}
PERSONAL = {word: {(gender, int(case)) for gender, case in said.split()} for word, said in FORMS["personal"].items()}
OTHER_PRONOUN = re.compile(r"(?:er|ihn|ihm|sie|es|ihr|ihnen|(?:sein|ihr)e[mnrs]?|sein|dessen|deren)", re.IGNORECASE)
RELATIVE = re.compile(r",\s+(?:\w+\s+)?(?:d(?:er|ie|as|en|em|essen|eren|enen)|welche[mnrs]?)\b")
# After "ihr": what she has, or something that was given to her? "ihr neuer Hund" and "ihr Hund", but "ihr der Hund".
OWNED = re.compile(r"\s+(?:([a-zäöüß-]+e[rs])\s+)?[A-ZÄÖÜ]")
POSSESSED = re.compile(r"\s+((?:[a-zäöüß-]+\s+){0,3})([A-ZÄÖÜ][\w-]*)")
QUOTES = str.maketrans("“‘«»", "”’»«")
UMLAUTS = str.maketrans("aou", "äöü")
PLAIN = str.maketrans("äöü", "aou")
SIBILANT = ("s", "ß", "x", "z", "ce")
ROLES = frozenset(word.translate(PLAIN).removesuffix("e") for word in (*WORDS["person"], *WORDS["male"]))
"""Stems of nouns that take -in: "kolleg", "arzt"."""

ADJECTIVAL = re.compile(rf"(.*(?:{'|'.join(WORDS['adjectival'])}))e[nrms]?", re.IGNORECASE)


def _inflect_determiner(stem: str, gender: str, case: int) -> str:
    """A determiner in a gender and case.

    `stem` is the determiner without ending, `gender` a letter of `GENDERS`, and `case` an index in `CASES`.
    """
    if stem == THE:
        return str(FORMS["definite"][gender].split()[case])
    kind = "like_ein" if stem in LIKE_EIN else "like_der"
    endings = FORMS[kind][gender].split()
    return stem + str(endings[case].replace("-", ""))


READINGS: dict[str, tuple[str, set[tuple[str, int]]]] = {}
"""The stem of each determiner's form, and the genders and cases that it may have."""
for _unbent in (THE, *sorted(WORDS["like_ein"] + WORDS["like_der"])):
    for _gender in "mfn" if _unbent == "ein" else GENDERS:
        for _case in CASES:
            READINGS.setdefault(_inflect_determiner(_unbent, _gender, _case), (_unbent, set()))[1].add((_gender, _case))


def _find_declension(determiner: str | None) -> str:
    """The kind of endings that adjectives have after a determiner.

    It is "bare" without a determiner, and otherwise "ein" or "der".
    """
    if determiner is None:
        return "bare"
    return "ein" if determiner in LIKE_EIN else "der"


@dataclass(frozen=True)
class NounPhrase:
    """A candidate as determiner, adjectives, noun and following words.

    The determiner is its stem, without ending, or None.
    """

    determiner: str | None
    adjectives: tuple[str, ...]
    noun: str
    rest: tuple[str, ...]
    genders: str
    """The genders that it may have: letters of `GENDERS`."""
    is_name: bool

    def after(self, determiner: str | None, gender: str, case: int, apostrophe: str = "'") -> str:
        """The candidate in a case, without its own determiner.

        Parameters
        ----------
        determiner
            The determiner that will stand before it, on which adjective endings depend. None for none.
        gender
            One letter of `GENDERS`.
        case
            Index of the case in `CASES`.
        apostrophe
            The apostrophe of a genitive such as "Hans'".
        """
        kind = _find_declension(determiner)
        adjectives = [_inflect_adjective(word, kind, gender, case) for word in self.adjectives]
        if not self.is_name:
            noun = _inflect_noun(self.noun, kind, gender, case)
        elif case == GENITIVE:
            ending = apostrophe if self.noun.endswith(SIBILANT) else "s"
            noun = self.noun + ending
        else:
            noun = self.noun
        return " ".join([*adjectives, noun, *self.rest])

    def whole(self, gender: str, case: int) -> str:
        """The candidate in a case, with its own determiner."""
        inflected = self.after(self.determiner, gender, case)
        if not self.determiner:
            return inflected
        determiner = _inflect_determiner(self.determiner, gender, case)
        return f"{determiner} {inflected}"


class German(Language, data="words_de.toml"):
    """The rules of German.

    It has no grammar for the hunter and no pronoun scoring. Pronoun scoring would put "jemand" in the sentence, which
    is masculine, and a pronoun would refer to it.
    """

    determiners = frozenset([*READINGS, *WORDS["other_openings"]])

    def opens_sentence(self, before: str) -> bool:
        """Whether the word after a text is the first of a sentence.

        In German “ and « close a quotation.
        """
        return super().opens_sentence(before.translate(QUOTES))

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one word.

        Any case and number count.

        >>> [GERMAN.same_word("Haus", other) for other in ("Häusern", "Hauses", "Haushalt", "haus")]
        [True, True, False, False]
        """
        folded = word.casefold()
        other_folded = other.casefold()
        if folded == other_folded or self.gender_of(word):
            token = (other_folded, 0, 0, other[:1].isupper())
            first_slot = _make_slots(word)[0]
            return _is_form_of_slot(token, *first_slot)
        if word[:1].isupper() and other[:1].isupper():
            return other_folded in _list_noun_forms(word) or folded in _list_noun_forms(other)
        stem = _remove_adjective_ending(folded)
        return stem is not None and stem == _remove_adjective_ending(other_folded)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Start and end of each place where a text has some words.

        Any case is found. Their article is left out, and their number must be the same.

        >>> GERMAN.occurrences("Der Weg des Koffers zum Kofferraum.", "der Koffer")
        [(12, 19)]
        """
        slots = _make_slots(words)
        tokens = _find_tokens(text)
        if not slots:
            return []
        places = []
        for index in range(len(tokens) - len(slots) + 1):
            run = tokens[index : index + len(slots)]
            if all(_is_form_of_slot(token, *slot) for token, slot in zip(run, slots, strict=True)):
                start = run[0][1]
                end = run[-1][2]
                places.append((start, end))
        return places

    def mention_places(self, text: str, name: str) -> list[tuple[int, int]]:
        """Start and end of each place where a text names a candidate.

        Any case and article are found.
        """
        return self.occurrences(text, name)

    def mentions(self, text: str, candidates: Sequence[str]) -> list[Mention]:
        """Every mention of every candidate, in the order of the text.

        If two overlap, the longer counts, or else the one that is not inflected.
        """
        places = []
        for index, candidate in enumerate(candidates):
            for start, end in self.occurrences(text, candidate):
                is_inflected = text[start:end].casefold() != self.bare(candidate)
                places.append((start - end, is_inflected, index, start, end))
        mentions: list[Mention] = []
        for _, _, index, start, end in sorted(places):
            if not any(start < other.end and other.start < end for other in mentions):
                mentions.append(Mention(index, start, end))
        return sorted(mentions, key=lambda mention: mention.start)

    def is_mentioned(self, text: str, name: str, *, partly: bool = False) -> bool:
        """Whether a text names a candidate, in any case and number.

        With `partly`, one word of the candidate is enough.
        """
        if self.occurrences(text, name):
            return True
        pieces = self.piece.findall(self.core(name))
        words = [word for word in pieces if word.casefold() not in self.determiners]
        text_words = [text[start:end] for _, start, end, _ in _find_tokens(text)]
        if not partly:
            return self._has_words_in_a_row(text_words, words)
        telling_words = [word for word in words if word[0].isalpha()]
        return self._has_form_of_any(text_words, telling_words)

    def gender_of(self, name: str) -> str | None:
        """Gender of a first name: `female`, `male` or `either`.

        A surname may follow it, or a title stand before it, as in "Frau Meier". None if it is no name on the list.
        """
        words = name.split()
        if not words or len(words) > 2:
            return None
        if not all(word[:1].isupper() for word in words):
            return None
        titles: dict[str, str] = FORMS["titles"] if len(words) == 2 else {}
        first_word = words[0]
        return titles.get(first_word) or _load_names().get(first_word.casefold())

    def is_proper(self, words: str) -> bool:
        """Whether some words are a name, by lists of names.

        Titles are on the lists too. A capital does not show it, since every noun has one.
        """
        return self.gender_of(words) is not None

    def being(self, candidate: str) -> str | None:
        """Kind of being that a candidate names, or None.

        It is `female`, `male`, `person` or `thing`. For people in a role, the article or the ending shows the gender.

        >>> [GERMAN.being(words) for words in ("die Tante", "der Arzt", "die Ärztin", "die Leiter", "der Leiter")]
        ['female', 'male', 'female', 'thing', None]
        """
        kind = super().being(candidate)
        phrase = _parse_phrase(candidate)
        ends_in_in = phrase.noun.endswith("in")
        stem = phrase.noun.casefold().removesuffix("in").translate(PLAIN)
        if kind is None and ends_in_in and stem in ROLES:
            return "female"
        is_leader = phrase.noun == "Leiter" and phrase.genders == "m"
        if kind == "thing" and is_leader:
            return None  # who leads, not what one climbs
        if kind != "person":
            return kind
        genders = {"m": "male", "f": "female"}
        return genders.get(phrase.genders, kind)

    def head(self, words: str) -> str:
        """The noun of some words, in lower case."""
        return _parse_phrase(words).noun.casefold()

    def stands_in_another_form(self, text: str, words: str, mentions: Sequence[Mention]) -> bool:
        """Whether a text may mean a candidate by other words too.

        Such words are its noun alone, its plural, or a part of its name.

        Parameters
        ----------
        words
            The candidate without its article.
        mentions
            Mentions of the candidates, which do not count.
        """
        parts = words.split() if self.is_proper(words) else [_parse_phrase(words).noun]
        for _, start, end, is_upper in _find_tokens(text):
            if not is_upper or is_inside_mention(mentions, start, end):
                continue
            if any(self.same_word(part, text[start:end]) for part in parts):
                return True
        return False

    def misfit(self, candidates: Sequence[str], pronoun: str | None) -> Message | None:
        """Reason why a pronoun's gender gives the answer away, or None.

        It is compared with the grammatical gender of the candidates' nouns. A pronoun that fits no candidate is a
        reason too. None if it fits all, or is not known.
        """
        word = (pronoun or "").casefold()
        pronoun_genders = {gender for gender, _ in _list_pronoun_readings(word)}
        if word == "ihr":
            pronoun_genders.add("p")
        fitting = [name for name in candidates if _has_fitting_gender(name, pronoun_genders)]
        if not pronoun_genders or len(fitting) == len(candidates):
            return None
        names = " and ".join(fitting or candidates)
        if fitting:
            text = "the pronoun {pronoun!r} has the gender of {names} alone"
            key = "rules.pronoun_gender_broken"
        else:
            text = "the pronoun {pronoun!r} does not fit {names}"
            key = "rules.pronoun_fits_broken"
        return Message.of(text, key, pronoun=pronoun, names=names)

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate in the place of a pronoun, in its case.

        Returns the text before it, the candidate and the text after it. For a possessive pronoun the candidate is in
        the genitive.

        "Sie" and "es" are nominative and accusative. Only for a masculine candidate would the case be visible, and it
        does not fit them: it gets the nominative. A pronoun that is not known (darauf) leaves a candidate as it is.

        >>> "".join(GERMAN.fill("Sie sah ", "ihn", ".", "der alte Bär", clause=False))
        'Sie sah den alten Bären.'
        >>> "".join(GERMAN.fill("Da rollte ", "seine", " alte Tür zu.", "der Bus", clause=False))
        'Da rollte die alte Tür des Busses zu.'
        """
        word = (pronoun or "").casefold()
        readings = _list_pronoun_readings(word)
        is_known = readings or word in INSTEAD_OF_A_PRONOUN
        if clause or not pronoun or not is_known:
            return super().fill(before, pronoun, after, candidate, clause=clause)
        text_before = before
        if is_possessive(word, after):
            before, filled, after = _put_owner(before, word, after, candidate)
        elif word in INSTEAD_OF_A_PRONOUN:
            preposition, case = INSTEAD_OF_A_PRONOUN[word]
            before = f"{before}{preposition} "
            filled = _put_in_case(candidate, [(gender, case) for gender in GENDERS])
        else:
            filled = _put_in_case(candidate, readings)
        if pronoun[0].isupper() or self.opens_sentence(text_before):
            # The first new word may be a preposition or an article in `before`.
            new = before[len(text_before) :] + filled
            new = new[:1].upper() + new[1:]
            filled_start = len(new) - len(filled)
            before = text_before + new[:filled_start]
            filled = new[filled_start:]
        return before, filled, after

    def exchange(self, text: str, candidates: Sequence[str], pronoun: str | None) -> list[Edit] | str:
        """The edits that exchange two candidates in a text.

        If that is impossible, the reason is returned as a text.

        Determiners stay where they are and change to the gender of the other candidate. The case is read from the
        determiner, the noun and the preposition before it. If several cases are possible and differ in what would be
        written, nothing is guessed.
        """
        phrases = [_parse_phrase(candidate) for candidate in candidates]
        if self.bare(candidates[0]) == self.bare(candidates[1]):
            return "the candidates differ only in their article"
        if any(" und " in candidate for candidate in candidates):
            return "a candidate is two, joined by 'und'"
        mentions = self.mentions(text, candidates)
        mentioned = {mention.candidate for mention in mentions}
        if mentioned != {0, 1}:
            return "a candidate is not named in the text"
        if any(self.stands_in_another_form(text, self.core(name), mentions) for name in candidates):
            return "a candidate may be meant by other words too"
        places = [_read_place(text, mention, phrases[mention.candidate]) for mention in mentions]
        genders = [_list_genders(phrase, places) for phrase in phrases]
        gender_pairs = _pair_genders(*genders)
        if not gender_pairs:
            return "one candidate is plural, the other is not"
        has_common_gender = bool(set(genders[0]) & set(genders[1]))
        if not has_common_gender and _has_pronoun(text, places, pronoun):
            return "candidates of two genders, and a pronoun that may fit one alone"
        return _make_edits(places, mentions, phrases, gender_pairs)


def _has_fitting_gender(name: str, pronoun_genders: set[str]) -> bool:
    """Whether a candidate may have one of a pronoun's genders.

    "Mädchen" and "Fräulein" may be feminine too.
    """
    if pronoun_genders & set(_parse_phrase(name).genders):
        return True
    return "f" in pronoun_genders and name.endswith(("Mädchen", "Fräulein"))


def _pair_genders(ones: str, others: str) -> list[tuple[str, str]]:
    """Pairs of a gender of each candidate that agree in number.

    `ones` and `others` have the possible genders of two candidates, as letters.
    """
    pairs = []
    for one, other in product(ones, others):
        is_one_plural = one == "p"
        is_other_plural = other == "p"
        if is_one_plural == is_other_plural:
            pairs.append((one, other))
    return pairs


def _has_pronoun(text: str, places: "Sequence[_Place]", pronoun: str | None) -> bool:
    """Whether a text has a pronoun that may fit one candidate alone.

    It may be the problem's own pronoun, a relative pronoun after a mention, or another one.
    """
    if pronoun or any(RELATIVE.match(text, place.end) for place in places):
        return True
    return any(OTHER_PRONOUN.fullmatch(token[0]) for token in _find_tokens(text))


def _make_edits(
    places: "Sequence[_Place]",
    mentions: Sequence[Mention],
    phrases: Sequence[NounPhrase],
    gender_pairs: Sequence[tuple[str, str]],
) -> list[Edit] | str:
    """The edits that exchange two candidates.

    If they are not certain, the reason is returned as a text.

    Parameters
    ----------
    places
        The place of each mention.
    mentions
        All mentions of both candidates.
    phrases
        Both candidates.
    gender_pairs
        Possible pairs of the genders of the candidates.
    """
    edits: list[Edit] = []
    for place, mention in zip(places, mentions, strict=True):
        leaving = mention.candidate
        coming = 1 - leaving
        ways: set[Edit | None] = set()
        for pair in gender_pairs:
            ways |= place.ways(pair[leaving], pair[coming], phrases[coming])
        place_text = repr(place.text[place.start : place.end])
        if len(ways) > 1:
            return f"the case of {place_text} is not visible"
        edit = next(iter(ways), None)
        if edit is None:
            return f"{place_text} is not understood"
        edits.append(edit)
    return edits


GERMAN = German("de")


def is_possessive(word: str, after: str) -> bool:
    """Whether a pronoun in lower case is a possessive.

    "sein" always is. "ihr" is one if a noun phrase follows in the text `after` it.

    >>> is_possessive("ihr", " neuer Hut."), is_possessive("ihr", " Hut."), is_possessive("ihr", " der Hut gefiel.")
    (True, True, False)
    """
    if word != "ihr":
        return POSSESSIVE.fullmatch(word) is not None
    owned = OWNED.match(after)
    return owned is not None and owned[1] not in NO_ADJECTIVE


def _list_pronoun_readings(word: str) -> set[tuple[str, int]]:
    """The genders and cases that a pronoun may have, as pairs.

    A gender is a letter of `GENDERS`, and a case an index in `CASES`. For a possessive they are those of the
    owner. Empty for an unknown word.
    """
    if POSSESSIVE.fullmatch(word) and word != "ihr":
        owner_genders = "mn" if word.startswith(("sein", "dess")) else "fp"
        return {(gender, GENITIVE) for gender in owner_genders}
    if word in PERSONAL:
        return PERSONAL[word]
    stem, readings = READINGS.get(word, ("", set()))
    return readings if stem in (THE, "dies", "jen") else set()


def _put_in_case(candidate: str, readings: Collection[tuple[str, int]]) -> str:
    """The candidate in the case that a pronoun had.

    Each part of a candidate with "und" is put in that case. The first of its genders that the pronoun may have
    counts, and of several cases the first in `CASES`.

    Parameters
    ----------
    readings
        The genders and cases that the pronoun may have.
    """
    pronoun_genders = {gender for gender, _ in readings}
    parts = []
    for part in candidate.split(" und "):
        phrase = _parse_phrase(part)
        gender = next((gender for gender in phrase.genders if gender in pronoun_genders), None)
        cases = [case for pronoun_gender, case in readings if gender in (None, pronoun_gender)]
        parts.append(phrase.whole(gender or phrase.genders[0], min(cases)))
    return " und ".join(parts)


def _put_owner(before: str, word: str, after: str, candidate: str) -> tuple[str, str, str]:
    """Put a candidate where a possessive pronoun was.

    Returns the text before it, the candidate and the text after it. Together they are "Annas Hut" or "der Hut der
    Frau", or "der Frau Zopf" if the article of the owned thing is not certain.
    """
    owner = _put_in_case(candidate, [(gender, GENITIVE) for gender in GENDERS])
    possessive = POSSESSIVE.fullmatch(word)
    owned = POSSESSED.match(after)
    if owned is None or possessive is None or word in ("dessen", "deren"):
        return before, owner, after
    adjectives = owned[1].split()
    if not all(map(_remove_adjective_ending, adjectives)):
        return before, owner, after
    ending = possessive[1]
    noun = owned[2]
    after_noun = after[owned.end() :]
    if _parse_phrase(candidate).determiner is None:
        # "seinem" shows the case and "Annas" does not, so the adjective has to show it.
        if ending in ("e", "em", "er"):
            adjectives = [_replace_weak_ending(word, ending) for word in adjectives]
        owned_words = " ".join([*adjectives, noun])
        return before, owner, f" {owned_words}{after_noun}"
    if ending is None:
        article = _find_nominative_article(adjectives, noun)
        adjectives = [f"{_remove_adjective_ending(word)}e" for word in adjectives]
    else:
        article = {"e": "die", "em": "dem", "en": "den", "er": "der", "es": "des"}[ending]
    if article is None:
        return before, owner, after
    owned_words = " ".join([article, *adjectives, noun])
    return f"{before}{owned_words} ", owner, after_noun


def _replace_weak_ending(adjective: str, ending: str) -> str:
    """An adjective with another ending in place of -en.

    Without -en it is unchanged.
    """
    if not adjective.endswith("en"):
        return adjective
    return f"{_remove_adjective_ending(adjective)}{ending}"


def _find_nominative_article(adjectives: Sequence[str], noun: str) -> str | None:
    """The article of a noun after "sein" or "ihr", or None.

    It is "der" or "das", by the ending of the first adjective, or else by the noun.
    """
    if adjectives:
        last_letter = adjectives[0][-1]
        return {"r": "der", "s": "das"}.get(last_letter)
    gender = _guess_masculine_or_neuter(noun)
    return {"m": "der", "n": "das"}.get(gender)


@dataclass(frozen=True)
class _Place:
    """A candidate's mention, with the words that show its case."""

    text: str
    phrase: NounPhrase
    start: int
    """Where the determiner begins, or else the mention."""
    noun: int
    end: int
    determiner: str | None = None
    readings: Collection[tuple[str, int]] = ()
    """Genders and cases that the determiner may have."""
    adjectives: tuple[str, ...] = ()
    """Words of the text that would have to bend, or, without a determiner, may have to."""
    preposition: str = ""
    preposition_at: int = -1
    is_melted: bool = False

    def cases(self, gender: str) -> set[int]:
        """The cases that a candidate of a gender may have here.

        The determiner must allow them, and the noun be spelled so. Those that the preposition governs are preferred if
        there are any.
        """
        cases = set(CASES)
        if self.determiner:
            cases = {case for reading_gender, case in self.readings if reading_gender == gender}
        spelling = _normalize_spelling(self.text[self.noun : self.end])
        cases = {case for case in cases if self._spell_phrase(gender, case) == spelling}
        governed_cases = cases & GOVERNED.get(self.preposition, cases)
        return governed_cases or cases

    def _spell_phrase(self, gender: str, case: int) -> str:
        """The candidate in a case, spelled for comparisons."""
        return _normalize_spelling(self.phrase.after(self.determiner, gender, case))

    def ways(self, gender: str, coming_gender: str, coming: NounPhrase) -> set[Edit | None]:
        """The edits that may put the other candidate here.

        There is one for each possible case. None is among them if it is not clear what to write.

        Parameters
        ----------
        gender
            Gender of the candidate that is here.
        coming_gender
            Gender of the other candidate.
        coming
            The other candidate.
        """
        return {self._make_edit(gender, coming_gender, coming, case) for case in self.cases(gender)}

    def _make_edit(self, gender: str, coming_gender: str, coming: NounPhrase, case: int) -> Edit | None:
        """The edit that puts the other candidate here in a case.

        None if it is not clear what to write. Parameters are those of `ways`.
        """
        words = self._inflect_coming(gender, coming_gender, coming, case)
        if words is None:
            return None

        start, new_words = words
        if start < self.noun or new_words[0] in READINGS:
            melted = self._find_melted(new_words[0])
            if melted:
                start = self.preposition_at
                new_words[0] = melted
            elif self.is_melted:
                new_words.insert(0, self.preposition)
        new = " ".join(new_words)
        had_capital = self.text[start].isupper() and (start < self.noun or self.phrase.adjectives)
        if had_capital or GERMAN.opens_sentence(self.text[:start]):
            new = new[:1].upper() + new[1:]
        return start, self.end, new

    def _inflect_coming(
        self, gender: str, coming_gender: str, coming: NounPhrase, case: int
    ) -> tuple[int, list[str]] | None:
        """Start of the edit, and the other candidate's words.

        None if it is not clear what to write. Parameters are those of `ways`.
        """
        apostrophe = "’" if "’" in self.text else "'"
        if coming.is_name and not self.phrase.is_name:
            if self.determiner not in (None, THE) or self.adjectives:
                return None
            return self.start, [coming.after(None, coming_gender, case, apostrophe)]
        has_same_gender = gender == coming_gender and not self.phrase.is_name
        if coming.is_name or has_same_gender:
            return self.noun, [coming.after(self.determiner, coming_gender, case, apostrophe)]
        if self.adjectives and self.determiner is None:
            return None
        return self.start, self._inflect_with_determiner(coming_gender, coming, case)

    def _inflect_with_determiner(self, gender: str, coming: NounPhrase, case: int) -> list[str]:
        """Words that replace this candidate: determiner, adjectives, and the other candidate.

        The determiner and adjectives of this place are inflected for the gender and case of `coming`, the other
        candidate, which is the last word. A name has no determiner, so the candidate that replaces it keeps its own.
        """
        determiner = self.determiner
        if not determiner and self.phrase.is_name:
            determiner = coming.determiner
        kind = "ein" if determiner in LIKE_EIN else "der"
        words = [_inflect_adjective(word, kind, gender, case) for word in self.adjectives]
        words.append(coming.after(determiner, gender, case))
        if determiner:
            words.insert(0, _inflect_determiner(determiner, gender, case))
        return words

    def _find_melted(self, determiner: str) -> str | None:
        """The contraction of the preposition here and a determiner, or None.

        For "in" and "dem" it is "im".
        """
        for form, parts in MELTED.items():
            if parts == (self.preposition, determiner):
                return form
        return None


def _read_place(text: str, mention: Mention, phrase: NounPhrase) -> _Place:
    """The place of a mention, with the words before it.

    `phrase` is the candidate that is mentioned.
    """
    at, end = _find_span(text, mention, phrase)
    tokens = _find_tokens_before(text, at)
    words = [text[start:stop].lower() for _, start, stop, _ in tokens]
    determiner_index = _find_last_determiner(words)
    if determiner_index is None or not all(map(_remove_adjective_ending, words[determiner_index + 1 :])):
        last_words = words[-1:]
        adjectives = tuple(word for word in last_words if _remove_adjective_ending(word) and not phrase.is_name)
        preposition = words[-1] if words else ""
        preposition_at = tokens[-1][1] if tokens else at
        return _Place(text, phrase, at, at, end, None, (), adjectives, preposition, preposition_at)
    word = words[determiner_index]
    if phrase.is_name:  # "der Peter", or "…, der Peter sah": only a name can follow
        return _Place(text, phrase, at, at, end, None, (), (word,))
    is_melted = word in MELTED
    has_word_before = determiner_index > 0
    if is_melted:
        preposition, form = MELTED[word]
    else:
        preposition = words[determiner_index - 1] if has_word_before else ""
        form = word
    preposition_index = determiner_index - 1 if has_word_before and not is_melted else determiner_index
    start = tokens[determiner_index][1]
    determiner, readings = READINGS[form]
    adjectives = tuple(words[determiner_index + 1 :])
    preposition_at = tokens[preposition_index][1]
    return _Place(
        text, phrase, start, at, end, determiner, readings, adjectives, preposition, preposition_at, is_melted
    )


def _find_span(text: str, mention: Mention, phrase: NounPhrase) -> tuple[int, int]:
    """Start and end of a mention without its determiner.

    The apostrophe of a genitive is a part of it.
    """
    start = mention.start
    end = mention.end
    if phrase.determiner not in (None, THE, "ein"):  # "meine" is a part of the mention
        start = next(token_start for _, token_start, _, _ in _find_tokens(text) if token_start > start)
    has_apostrophe = re.match(r"['’](?!\w)", text[end:])
    if phrase.is_name and text[:end].endswith(SIBILANT) and has_apostrophe:
        end += 1
    return start, end


def _find_tokens_before(text: str, at: int) -> "list[_Token]":
    """The words directly before a place, at most five.

    Only white space may be between them.
    """
    tokens: list[_Token] = []
    earlier_tokens = [token for token in _find_tokens(text) if token[2] <= at]
    next_start = at
    for token in reversed(earlier_tokens[-5:]):
        _, start, end, _ = token
        if text[end:next_start].strip():
            break
        tokens.insert(0, token)
        next_start = start
    return tokens


def _find_last_determiner(words: Sequence[str]) -> int | None:
    """Index of the last determiner, or None.

    It may be contracted with a preposition, as in "im".
    """
    for index in reversed(range(len(words))):
        if words[index] in READINGS or words[index] in MELTED:
            return index
    return None


def _list_genders(phrase: NounPhrase, places: Sequence[_Place]) -> str:
    """The genders that a candidate may have at its mentions.

    They are letters of `GENDERS`: those with a possible case at each mention, or else all that the candidate has.
    `places` are the places of both candidates.
    """
    if phrase.is_name:
        return phrase.genders
    own_places = [place for place in places if place.phrase is phrase]
    possible = ""
    for gender in phrase.genders:
        if all(place.cases(gender) for place in own_places):
            possible += gender
    return possible or phrase.genders


def _normalize_spelling(words: str) -> str:
    """Words in a spelling for comparisons.

    "Balles" and "Balls" become the same, as do "Hans'" and "Hans’", "Peters" and "Peter's".
    """
    without_ending = re.sub(r"(?:['’]|e)(?=s$)", "", words.casefold())
    return without_ending.replace("’", "'")


@lru_cache(1 << 16)
def _parse_phrase(candidate: str) -> NounPhrase:
    """Parse a candidate into determiner, adjectives, noun and following words.

    The noun is the last of the first words with a capital, or else the last word.
    """
    words = candidate.split()
    gender = GERMAN.gender_of(candidate)
    determiner: str | None = None
    readings: set[tuple[str, int]] = set()
    if len(words) > 1:
        determiner, readings = READINGS.get(words[0].casefold(), (None, set()))
    if determiner is not None:
        words = words[1:]
    noun_index = _find_noun(words)
    noun = words[noun_index]
    if gender or " und " in candidate:
        possible = set(NAMES_ARE[gender] if gender else "p")
    else:
        possible = _guess_genders(noun, readings)
    return NounPhrase(
        determiner=determiner,
        adjectives=tuple(words[:noun_index]),
        noun=noun,
        rest=tuple(words[noun_index + 1 :]),
        genders="".join(letter for letter in GENDERS if letter in possible),
        is_name=gender is not None,
    )


def _find_noun(words: Sequence[str]) -> int:
    """Index of the noun among the words of a candidate.

    It is the last of the first words with a capital, or the last word if none has one.
    """
    last_index = len(words) - 1
    has_capital = [word[0].isupper() for word in words]
    if True not in has_capital:
        return last_index
    first_index = has_capital.index(True)
    for index in range(first_index, last_index):
        if not has_capital[index + 1]:
            return index
    return last_index


def _guess_genders(noun: str, readings: set[tuple[str, int]]) -> set[str]:
    """The genders that a noun may have after a determiner.

    `readings` has the genders and cases of the determiner, as pairs. Only its nominatives count if it has any.
    Without readings all genders are possible. Between feminine and plural, or masculine and neuter, the noun decides
    if it can.
    """
    nominative_genders = {gender for gender, case in readings if case == NOMINATIVE}
    possible = nominative_genders or {gender for gender, _ in readings} or set(GENDERS)
    if possible == {"f", "p"}:
        return {"p"} if _is_plural(noun) else {"f"}
    if possible == {"m", "n"}:
        return set(_guess_masculine_or_neuter(noun) or "mn")
    return possible


_Token = tuple[str, int, int, bool]


@lru_cache(64)  # the same text is searched for several candidates in a row
def _find_tokens(text: str) -> list[_Token]:
    """The words of a text in lower case.

    Each has its start, its end, and whether it has a capital.
    """
    tokens = []
    for match in German.piece.finditer(text):
        word = match.group()
        tokens.append((word.casefold(), match.start(), match.end(), word[0].isupper()))
    return tokens


@lru_cache(1 << 14)
def _make_slots(candidate: str) -> list[tuple[frozenset[str], bool]]:
    """For each word of a candidate, its possible forms in lower case.

    Its article is left out. Each set of forms has a flag: whether the word must have a capital.
    """
    if not candidate.strip():
        return []
    phrase = _parse_phrase(candidate)
    readings = list(product(phrase.genders, CASES))
    slots: list[tuple[set[str], bool]] = []
    if phrase.determiner not in (None, THE, "ein"):
        determiners = {_inflect_determiner(phrase.determiner, gender, case) for gender, case in readings}
        slots.append((determiners, False))
    for word in _split_pieces(phrase.adjectives):
        forms = {_inflect_adjective(word, kind, *reading) for kind, reading in product(ADJECTIVES, readings)}
        slots.append((forms | {word}, word[0].isupper()))
    slots.append((_list_forms_of_head(phrase), phrase.noun[0].isupper()))
    for word in _split_pieces(phrase.rest):
        slots.append(({word}, False))
    return [(frozenset(form.casefold() for form in forms), is_upper) for forms, is_upper in slots]


def _split_pieces(words: Iterable[str]) -> list[str]:
    """Words split at hyphens and the like: "alt-neu" becomes three pieces."""
    pieces: list[str] = []
    for word in words:
        pieces += German.piece.findall(word)
    return pieces


def _list_forms_of_head(phrase: NounPhrase) -> set[str]:
    """The forms of a candidate's noun or name.

    There is one for each of its genders and cases.
    """
    noun = phrase.noun
    endings: tuple[str, ...] = ()
    if phrase.is_name:
        endings = ("s", "'s", "’s")
    elif "m" in phrase.genders or "n" in phrase.genders:
        endings = ("s", "es")
    genitives = {noun + ending for ending in endings}
    forms = {noun} | {form for form in genitives if form.casefold() not in _load_names()}
    if not phrase.is_name:
        for kind, gender, case in product(ADJECTIVES, phrase.genders, CASES):
            forms.add(_inflect_noun(noun, kind, gender, case))
    return forms


def _is_form_of_slot(token: _Token, forms: frozenset[str], upper: bool) -> bool:
    """Whether a word of a text has one of some forms.

    `upper` says that it must have a capital.
    """
    word, _, _, has_capital = token
    return word in forms and (has_capital or not upper)


def _remove_adjective_ending(word: str) -> str | None:
    """An adjective without its ending, or None for other words.

    Any word in lower case with such an ending is taken for one, unless a list says that it is none.
    """
    match = re.fullmatch(r"([^\W\d_A-ZÄÖÜ].+?)e[nmrs]?", word)
    if match is None or word in NO_ADJECTIVE:
        return None
    return match[1]


def _inflect_adjective(word: str, kind: str, gender: str, case: int) -> str:
    """An adjective in a gender and case.

    Other words before a noun do not change, except in "Herrn Weber".

    Parameters
    ----------
    kind
        The kind of endings, from `_find_declension`.
    """
    if word == "Herr" and case != NOMINATIVE:
        return "Herrn"
    stem = _remove_adjective_ending(word)
    if stem is None:
        return word
    endings = ADJECTIVES[kind][gender].split()
    return stem + endings[case]


def _inflect_noun(noun: str, kind: str, gender: str, case: int) -> str:
    """A noun in a case, from its nominative.

    Parameters
    ----------
    kind
        The kind of endings that a noun like "Angestellter" has, from `_find_declension`.
    """
    word = noun.lower()
    adjectival = ADJECTIVAL.fullmatch(noun)
    if adjectival:
        endings = ADJECTIVES[kind][gender].split()
        return adjectival[1] + endings[case]
    if gender == "p":
        takes_n = case == DATIVE and word.endswith(("e", "er", "el"))
        return noun + "n" if takes_n else noun
    if gender == "f" or case == NOMINATIVE:
        return noun
    if gender == "m" and _is_weak(word):
        return _inflect_weak_noun(noun, case)
    return noun + _find_genitive_ending(word) if case == GENITIVE else noun


def _inflect_weak_noun(noun: str, case: int) -> str:
    """A weak masculine noun in a case other than the nominative."""
    word = noun.lower()
    ending = "n" if word.endswith(("e", *WORDS["weak_in_n"])) else "en"
    if case == GENITIVE and word.endswith(WORDS["like_name"]):
        ending += "s"
    return noun + ending


def _is_weak(word: str) -> bool:
    """Whether a masculine noun has -(e)n in all cases except the nominative.

    "den Jungen" and "dem Studenten" are such nouns.
    """
    if word.endswith("e"):
        return not word.endswith(WORDS["strong_in_e"])
    in_ist = word.endswith("ist") and _count_syllables(word) > 1 and not word.endswith("geist")
    return in_ist or word == "bauer" or word.endswith(WORDS["weak"])


def _find_genitive_ending(word: str) -> str:
    """The genitive ending of a strong noun in lower case."""
    syllable_count = _count_syllables(word)
    if word.endswith(("nis", "bus")) and not word.endswith("globus"):
        return "ses"
    if syllable_count > 1 and re.search(r"(?<!a)us$|[^o]os$|(?<!gl)(?<!gr)as$|(?<!e)is$", word):
        return ""
    if word.endswith(("s", "ß", "x", "z", "sch", "st")):
        return "es"
    ends_in_consonant = word[-1] not in "aeiouäöüy"
    if syllable_count == 1 and ends_in_consonant and word not in WORDS["loans"]:
        return "es"
    return "s"


def _count_syllables(word: str) -> int:
    """Number of vowels and diphthongs in a word in lower case."""
    return len(re.findall(r"au|ei|ai|eu|äu|ie|aa|ee|oo|[aeiouäöüy]", word))


def _guess_masculine_or_neuter(noun: str) -> str:
    """The gender of a noun that is masculine or neuter.

    It is "m", "n", or "" if it is not known.
    """
    word = noun.lower()
    if _is_compound_of_any(word, WORDS["masculine"]):
        return "m"
    is_neuter = _is_compound_of_any(word, WORDS["neuter"]) or (word.startswith("ge") and word.endswith("e"))
    if is_neuter and not word.endswith(WORDS["weak"]):
        return "n"
    return "m" if word.endswith("er") or _is_weak(word) else ""


def _is_plural(noun: str) -> bool:
    """Whether a noun after "die" is a plural.

    Its ending and lists of words decide.
    """
    word = noun.lower()
    if word.endswith(("er", "el")):
        return not _is_compound_of_any(word, WORDS["feminine_in_er_or_el"])
    if word.endswith("e"):
        return _is_compound_of_any(word, WORDS["plural_in_e"]) and not word.endswith(WORDS["singular_in_e"])
    if word.endswith("s"):
        return not word.endswith(WORDS["singular_in_s"])
    return word.endswith(("en", "ern", "eln", "arn"))


def _is_compound_of_any(word: str, nouns: Sequence[str]) -> bool:
    """Whether a word is one of some nouns, or their compound.

    "Haustier" is a compound of "Tier", but "Bruder" is none of "Ruder".
    """
    for noun in nouns:
        length_before = len(word) - len(noun)
        if word.endswith(noun) and length_before not in (1, 2):
            return True
    return False


@lru_cache(1 << 14)
def _list_noun_forms(noun: str) -> frozenset[str]:
    """All forms that a noun of unknown gender may have.

    They are in lower case. `noun` is the nominative singular.
    """
    word = noun.lower()
    forms = _list_plurals(word) | {f"{word}n", f"{word}es"}
    for kind, gender, case in product(ADJECTIVES, "mfn", CASES):
        forms.add(_inflect_noun(word, kind, gender, case))
    return frozenset(form.casefold() for form in forms)


def _list_plurals(word: str) -> set[str]:
    """The plural forms that a noun in lower case may have."""
    umlaut = _add_umlaut(word)
    plurals = {f"{word}{ending}" for ending in ("e", "n", "en", "s")}
    plurals.add(f"{umlaut}e")
    if word.endswith(("er", "el", "en")):
        plurals.add(umlaut)
    if word.endswith(WORDS["plural_in_er"]):
        plurals |= {f"{word}er", f"{umlaut}er"}
    if word.endswith(("in", "nis", "bus")):
        plurals |= {f"{word}nen", f"{word}se"}
    datives = {f"{plural}n" for plural in plurals if plural.endswith(("e", "er", "el"))}
    return plurals | datives


def _add_umlaut(word: str) -> str:
    """A word with an umlaut on its last vowel.

    That is a, o, u or au.
    """
    match = re.search(r"(au|[aou])(?=[^aou]*$)", word)
    if match is None:
        return word
    vowel = match.start()
    return word[:vowel] + word[vowel].translate(UMLAUTS) + word[vowel + 1 :]


@cache
def _load_names() -> dict[str, str]:
    """Gender of each first name in lower case.

    The names are those of the US census without German words, and common German ones, which come first.
    """
    census_names = first_names("first_names.txt")
    names = {name: gender for name, gender in census_names.items() if name not in WORDS["no_names"]}
    return names | first_names("first_names_de.txt")
