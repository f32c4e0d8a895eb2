"""German: four cases, three genders, articles that melt into prepositions, and nouns that bend with them.

A candidate is read as a nominative ("der Koffer", "eine alte Dame", "Peter"). Its article says its gender, and from
gender and case follow all its forms: it is found in "in den Koffer" and "des Koffers", takes a pronoun's case ("ihm":
"dem Koffer"), and changes places with another where the case of either place is certain. Genders are grammatical: "er"
may be a suitcase, and whether a pronoun fits a candidate is asked of the candidate's article.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from winokit.errors import Message
from winokit.files import our_toml
from winokit.text.language import Edit, Filling, Language, Mention, first_names, word_lists

WORDS = word_lists("words_de.toml")
NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = CASES = range(4)
GENDERS = {"m": "masculine", "f": "feminine", "n": "neuter", "p": "plural"}
NAMES_ARE = {"male": "m", "female": "f", "either": "mf"}

# Forms by gender, in the order of the cases. Adjectives end otherwise after nothing, after "ein" and after "der".
FORMS = our_toml("assets/words_de.toml")["forms"]
ADJECTIVES: dict[str, dict[str, str]] = FORMS["adjectives"]
LIKE_EIN = frozenset(WORDS["like_ein"])
NO_ADJECTIVE = frozenset(WORDS["no_adjectives"])
THE = "d"
POSSESSIVE = re.compile(r"(?:sein|ihr)(e[mnrs]?)?|dessen|deren")
MELTED = {form: tuple(parts.split()) for form, parts in FORMS["melted"].items()}
"""Preposition and article that are written as one unless stressed."""
GOVERNED = {
    word: frozenset(case for case in CASES if word in FORMS["governed"][case].split())
    for words in FORMS["governed"]
    for word in words.split()
}
"""Which cases may follow a preposition."""
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
"""What -in is added to: "kolleg", "arzt"."""

ADJECTIVAL = re.compile(rf"(.*(?:{'|'.join(WORDS['adjectival'])}))e[nrms]?", re.IGNORECASE)


def _determiner(stem: str, gender: str, case: int) -> str:
    """A determiner, given by the part that does not bend, in a gender and case."""
    if stem == THE:
        return str(FORMS["definite"][gender].split()[case])
    bending = FORMS["like_ein" if stem in LIKE_EIN else "like_der"][gender]
    return stem + str(bending.split()[case].replace("-", ""))


READINGS: dict[str, tuple[str, set[tuple[str, int]]]] = {}
"""A determiner's form: the part that does not bend, and the genders and cases it may have."""
for _unbent in (THE, *sorted(WORDS["like_ein"] + WORDS["like_der"])):
    for _gender in "mfn" if _unbent == "ein" else GENDERS:
        for _case in CASES:
            READINGS.setdefault(_determiner(_unbent, _gender, _case), (_unbent, set()))[1].add((_gender, _case))


@dataclass(frozen=True)
class NounPhrase:
    """A candidate taken apart: its determiner by the part that does not bend, adjectives, noun, and what follows."""

    determiner: str | None
    adjectives: tuple[str, ...]
    noun: str
    rest: tuple[str, ...]
    genders: str
    """Those it may have: letters of `GENDERS`."""
    is_name: bool

    def after(self, determiner: str | None, gender: str, case: int, apostrophe: str = "'") -> str:
        """The words without a determiner of their own, in a case, as they stand after some determiner or none."""
        kind = "bare" if determiner is None else "ein" if determiner in LIKE_EIN else "der"
        own = [_adjective(word, kind, gender, case) for word in self.adjectives]
        noun = self.noun if self.is_name else _noun(self.noun, kind, gender, case)
        if self.is_name and case == GENITIVE:
            noun += apostrophe if noun.endswith(SIBILANT) else "s"
        return " ".join([*own, noun, *self.rest])

    def whole(self, gender: str, case: int) -> str:
        """The candidate in a case, its own determiner with it."""
        own = [_determiner(self.determiner, gender, case)] if self.determiner else []
        return " ".join([*own, self.after(self.determiner, gender, case)])


class German(Language, data="words_de.toml"):
    """All but the hunter's grammar, and pronoun scoring: "jemand" is masculine, and a pronoun would answer to it."""

    determiners = frozenset([*READINGS, *WORDS["other_openings"]])

    def opens_sentence(self, before: str) -> bool:
        """Whether what comes next is the first word of a sentence; “ and « close a quotation here."""
        return super().opens_sentence(before.translate(QUOTES))

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one, in any case and number.

        >>> [GERMAN.same_word("Haus", other) for other in ("Häusern", "Hauses", "Haushalt", "haus")]
        [True, True, False, False]
        """
        folded = word.casefold()
        other_folded = other.casefold()
        if folded == other_folded or self.gender_of(word):
            return _fits((other_folded, 0, 0, other[:1].isupper()), *_slots(word)[0])
        if word[:1].isupper() and other[:1].isupper():
            return other_folded in _forms(word) or folded in _forms(other)
        return _stem(folded) is not None and _stem(folded) == _stem(other_folded)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Where some words stand in any of their cases, as whole words, without an article; not in another number.

        >>> GERMAN.occurrences("Der Weg des Koffers zum Kofferraum.", "der Koffer")
        [(12, 19)]
        """
        slots = _slots(words)
        tokens = _tokens(text)
        return [
            (tokens[at][1], tokens[at + len(slots) - 1][2])
            for at in range(len(tokens) - len(slots) + 1 if slots else 0)
            if all(_fits(tokens[at + i], *slot) for i, slot in enumerate(slots))
        ]

    def mention_places(self, text: str, name: str) -> list[tuple[int, int]]:
        """Where a candidate is named, whatever its case and article."""
        return self.occurrences(text, name)

    def mentions(self, text: str, candidates: Sequence[str]) -> list[Mention]:
        """Every mention of every candidate; where two share a place the longer counts, then the one to the letter."""
        places = [
            (start - end, text[start:end].casefold() != self.bare(candidate), index, start, end)
            for index, candidate in enumerate(candidates)
            for start, end in self.occurrences(text, candidate)
        ]
        kept: list[Mention] = []
        for *_, index, start, end in sorted(places):
            if not any(start < other.end and other.start < end for other in kept):
                kept.append(Mention(index, start, end))
        return sorted(kept, key=lambda mention: mention.start)

    def is_mentioned(self, text: str, name: str, *, partly: bool = False) -> bool:
        """Whether a text names a candidate in any case and number; partly: has any word that tells of it."""
        if self.occurrences(text, name):
            return True
        words = [word for word in self.piece.findall(self.core(name)) if word.casefold() not in self.determiners]
        stood = [text[start:end] for _, start, end, _ in _tokens(text)]
        if partly:
            return any(self.same_word(word, other) for word in words if word[0].isalpha() for other in stood)
        runs = (stood[at : at + len(words)] for at in range(len(stood) - len(words) + 1))
        return bool(words) and any(all(map(self.same_word, words, run)) for run in runs)

    def gender_of(self, name: str) -> str | None:
        """`female`, `male`, `either`, or None: of first names, with a surname or not, and of "Frau Meier"."""
        words = name.split()
        if not words or len(words) > 2 or not all(word[:1].isupper() for word in words):
            return None
        titles: dict[str, str] = FORMS["titles"] if len(words) == 2 else {}
        return titles.get(words[0]) or _names().get(words[0].casefold())

    def is_proper(self, words: str) -> bool:
        """Whether it is a name: by a list, since every noun has a capital."""
        return self.gender_of(words) is not None

    def being(self, candidate: str) -> str | None:
        """What a candidate names; of people in a role the article tells the gender, or the ending.

        >>> [GERMAN.being(words) for words in ("die Tante", "der Arzt", "die Ärztin", "die Leiter", "der Leiter")]
        ['female', 'male', 'female', 'thing', None]
        """
        kind = super().being(candidate)
        phrase = _phrase(candidate)
        stem = phrase.noun.casefold().removesuffix("in").translate(PLAIN)
        if kind is None and phrase.noun.endswith("in") and stem in ROLES:
            return "female"
        if kind == "thing" and phrase.noun == "Leiter" and phrase.genders == "m":
            return None  # who leads, not what one climbs
        return {"m": "male", "f": "female"}.get(phrase.genders, kind) if kind == "person" else kind

    def head(self, words: str) -> str:
        """The noun."""
        return _phrase(words).noun.casefold()

    def stands_in_another_form(self, text: str, words: str, mentions: Sequence[Mention]) -> bool:
        """Whether the text may mean a candidate in other words too: its noun alone, its plural, a part of its name."""
        return any(
            self.same_word(part, text[start:end]) and not any(m.start <= start and end <= m.end for m in mentions)
            for part in (words.split() if self.is_proper(words) else [_phrase(words).noun])
            for _, start, end, is_upper in _tokens(text)
            if is_upper
        )

    def misfit(self, candidates: Sequence[str], pronoun: str | None) -> Message | None:
        """Why a pronoun gives the answer away: its gender, that of a noun, is not that of every candidate."""
        word = (pronoun or "").casefold()
        spoken = {gender for gender, _ in _pronoun(word)} | ({"p"} if word == "ihr" else set())
        fitting = [
            name
            for name in candidates
            if spoken & set(_phrase(name).genders) or ("f" in spoken and name.endswith(("Mädchen", "Fräulein")))
        ]
        names = " and ".join(fitting or candidates)
        if not spoken or len(fitting) == len(candidates):
            return None
        if not fitting:
            why = "the pronoun {pronoun!r} does not fit {names}"
            key = "rules.pronoun_fits_broken"
        else:
            why = "the pronoun {pronoun!r} has the gender of {names} alone"
            key = "rules.pronoun_gender_broken"
        return Message.of(why, key, pronoun=pronoun, names=names)

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """A candidate in the place of a pronoun, in its case; where it says whose, in the genitive.

        "Sie" and "es" are nominative and accusative; only a masculine candidate, which they do not fit, would show
        which, and gets the nominative. A pronoun that is not known (darauf) leaves a candidate as it is.

        >>> "".join(GERMAN.fill("Sie sah ", "ihn", ".", "der alte Bär", clause=False))
        'Sie sah den alten Bären.'
        >>> "".join(GERMAN.fill("Da rollte ", "seine", " alte Tür zu.", "der Bus", clause=False))
        'Da rollte die alte Tür des Busses zu.'
        """
        word = (pronoun or "").casefold()
        stood = before
        readings = _pronoun((pronoun or "").casefold())
        if clause or not pronoun or not (readings or word in INSTEAD_OF_A_PRONOUN):
            return super().fill(before, pronoun, after, candidate, clause=clause)
        if is_possessive(word, after):
            before, filled, after = _owning(before, word, after, candidate)
        elif word in INSTEAD_OF_A_PRONOUN:
            preposition, case = INSTEAD_OF_A_PRONOUN[word]
            before = f"{before}{preposition} "
            filled = _in_case(candidate, [(gender, case) for gender in GENDERS])
        else:
            filled = _in_case(candidate, readings)
        if pronoun[0].isupper() or self.opens_sentence(stood):
            new = before[len(stood) :] + filled
            new = new[:1].upper() + new[1:]
            before = stood + new[: len(new) - len(filled)]
            filled = new[len(new) - len(filled) :]
        return before, filled, after

    def exchange(self, text: str, candidates: Sequence[str], pronoun: str | None) -> list[Edit] | str:
        """What to put where so that two candidates change places, or why that cannot be done.

        Determiners stay where they are and bend to the gender that comes. The case of a place is read off its
        determiner, its noun and the preposition before it; where more than one is left, and they would differ in what
        is to be written, it does not show, and nothing is guessed.
        """
        phrases = [_phrase(candidate) for candidate in candidates]
        if self.bare(candidates[0]) == self.bare(candidates[1]):
            return "the candidates differ only in their article"
        if any(" und " in candidate for candidate in candidates):
            return "a candidate is two, joined by 'und'"
        mentions = self.mentions(text, candidates)
        if {mention.candidate for mention in mentions} != {0, 1}:
            return "a candidate is not named in the text"
        if any(self.stands_in_another_form(text, self.core(name), mentions) for name in candidates):
            return "a candidate may be meant by other words too"
        places = [_place(text, mention, phrases[mention.candidate]) for mention in mentions]
        genders = [_genders(phrase, [place for place in places if place.phrase is phrase]) for phrase in phrases]
        pairs = [(one, other) for one in genders[0] for other in genders[1] if (one == "p") == (other == "p")]
        if not pairs:
            return "one candidate is plural, the other is not"
        if not set(genders[0]) & set(genders[1]):
            relative = any(RELATIVE.match(text, place.end) for place in places)
            if pronoun or relative or any(OTHER_PRONOUN.fullmatch(token[0]) for token in _tokens(text)):
                return "candidates of two genders, and a pronoun that may fit one alone"
        edits = []
        for place, mention in zip(places, mentions, strict=True):
            own = mention.candidate
            other = 1 - mention.candidate
            ways = {way for pair in pairs for way in place.ways(pair[own], pair[other], phrases[other])}
            if len(ways) != 1 or None in ways:
                shown = repr(text[place.start : place.end])
                return f"the case of {shown} is not visible" if len(ways) > 1 else f"{shown} is not understood"
            edits += [way for way in ways if way]
        return edits


GERMAN = German("de")


def is_possessive(word: str, after: str) -> bool:
    """Whether a pronoun says whose: always for "sein", for "ihr" when what she has follows.

    >>> is_possessive("ihr", " neuer Hut."), is_possessive("ihr", " Hut."), is_possessive("ihr", " der Hut gefiel.")
    (True, True, False)
    """
    if word != "ihr":
        return POSSESSIVE.fullmatch(word) is not None
    owned = OWNED.match(after)
    return owned is not None and owned[1] not in NO_ADJECTIVE


def _pronoun(word: str) -> set[tuple[str, int]]:
    """Genders and cases that a pronoun may have; a possessive has those of whoever owns."""
    if POSSESSIVE.fullmatch(word) and word != "ihr":
        return {(gender, GENITIVE) for gender in ("mn" if word.startswith(("sein", "dess")) else "fp")}
    stem, readings = READINGS.get(word, ("", set()))
    return PERSONAL.get(word, readings if stem in (THE, "dies", "jen") else set())


def _in_case(candidate: str, readings: Collection[tuple[str, int]]) -> str:
    """A candidate in the case of a pronoun, in that of its readings which fits; with each part of an "und"."""
    parts = []
    for part in candidate.split(" und "):
        phrase = _phrase(part)
        gender = next((own for own in phrase.genders if any(own == spoken for spoken, _ in readings)), None)
        cases = [case for spoken, case in readings if gender in (None, spoken)]
        parts.append(phrase.whole(gender or phrase.genders[0], min(cases)))
    return " und ".join(parts)


def _owning(before: str, word: str, after: str, candidate: str) -> tuple[str, str, str]:
    """A candidate that has what follows: "Annas Hut", "der Hut der Frau", "der Frau Zopf" where it is der or das."""
    owner = _in_case(candidate, [(gender, GENITIVE) for gender in GENDERS])
    possessive = POSSESSIVE.fullmatch(word)
    owned = POSSESSED.match(after)
    adjectives = owned[1].split() if owned else []
    if owned is None or possessive is None or not all(map(_stem, adjectives)) or word in ("dessen", "deren"):
        return before, owner, after
    ending = possessive[1]
    rest = [owned[2]]
    if _phrase(candidate).determiner is None:
        # What "seinem" says after it, "Annas" does not: the adjective has to.
        if ending in ("e", "em", "er"):
            adjectives = [f"{_stem(form)}{ending}" if form.endswith("en") else form for form in adjectives]
        return before, owner, f" {' '.join(adjectives + rest)}{after[owned.end() :]}"
    if ending is None:
        shown = adjectives[0][-1] if adjectives else {"m": "r", "n": "s"}.get(_masculine_or_neuter(owned[2]))
        article = {"r": "der", "s": "das"}.get(shown or "")
        adjectives = [f"{_stem(form)}e" for form in adjectives]
    else:
        article = {"e": "die", "em": "dem", "en": "den", "er": "der", "es": "des"}[ending]
    if article is None:
        return before, owner, after
    return f"{before}{' '.join([article, *adjectives, *rest])} ", owner, after[owned.end() :]


@dataclass(frozen=True)
class _Place:
    """A mention with what stands before it and says its case: a determiner, adjectives after it, a preposition."""

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
        """The cases in which the candidate may stand here, if it has this gender."""
        given = {case for own, case in self.readings if own == gender} if self.determiner else set(CASES)
        shown = _spelled_alike(self.text[self.noun : self.end])
        given = {case for case in given if _spelled_alike(self.phrase.after(self.determiner, gender, case)) == shown}
        return given & GOVERNED.get(self.preposition, given) or given

    def ways(self, gender: str, coming_gender: str, coming: NounPhrase) -> set[Edit | None]:
        """What would be written here, were it the other candidate: one for each case, None where nobody knows."""
        return {self._edit(gender, coming_gender, coming, case) for case in self.cases(gender)}

    def _edit(self, gender: str, coming_gender: str, coming: NounPhrase, case: int) -> Edit | None:
        apostrophe = "’" if "’" in self.text else "'"
        start = self.noun
        determiner = self.determiner
        if coming.is_name and not self.phrase.is_name:
            if determiner not in (None, THE) or self.adjectives:
                return None
            start = self.start
            words = [coming.after(None, coming_gender, case, apostrophe)]
        elif coming.is_name or (gender == coming_gender and not self.phrase.is_name):
            words = [coming.after(determiner, coming_gender, case, apostrophe)]
        elif self.adjectives and determiner is None:
            return None
        else:
            determiner = determiner or (coming.determiner if self.phrase.is_name else None)
            kind = "ein" if determiner in LIKE_EIN else "der"
            adjectives = [_adjective(word, kind, coming_gender, case) for word in self.adjectives]
            words = [*adjectives, coming.after(determiner, coming_gender, case)]
            start = self.start
            if determiner:
                words.insert(0, _determiner(determiner, coming_gender, case))
        if start < self.noun or words[0] in READINGS:
            melted = next((form for form, parts in MELTED.items() if parts == (self.preposition, words[0])), None)
            if melted:
                start, words[0] = self.preposition_at, melted
            elif self.is_melted:
                words.insert(0, self.preposition)
        new = " ".join(words)
        had_capital = self.text[start].isupper() and (start < self.noun or self.phrase.adjectives)
        opens = had_capital or GERMAN.opens_sentence(self.text[:start])
        return start, self.end, new[:1].upper() + new[1:] if opens else new


def _place(text: str, mention: Mention, phrase: NounPhrase) -> _Place:
    at = mention.start
    end = mention.end
    if phrase.determiner not in (None, THE, "ein"):  # "meine" is a part of what was found
        at = next(token[1] for token in _tokens(text) if token[1] > at)
    if phrase.is_name and text[:end].endswith(SIBILANT) and re.match(r"['’](?!\w)", text[end:]):
        end += 1
    before: list[_Token] = []
    for token in reversed([token for token in _tokens(text) if token[2] <= at][-5:]):
        if text[token[2] : before[0][1] if before else at].strip():
            break
        before.insert(0, token)
    words = [text[start:stop].lower() for _, start, stop, _ in before]
    place = next((i for i in range(len(words))[::-1] if words[i] in READINGS or words[i] in MELTED), None)
    if place is None or not all(map(_stem, words[place + 1 :])):
        adjectives = tuple(word for word in words[-1:] if _stem(word) and not phrase.is_name)
        return _Place(
            text, phrase, at, at, end, None, (), adjectives, words[-1] if words else "", before[-1][1] if before else at
        )
    if phrase.is_name:  # "der Peter", or "…, der Peter sah": only a name can follow
        return _Place(text, phrase, at, at, end, None, (), (words[place],))
    is_melted = words[place] in MELTED
    preposition, form = MELTED.get(words[place], (words[place - 1] if place else "", words[place]))
    preposition_at = before[place if is_melted or not place else place - 1][1]
    between = tuple(words[place + 1 :])
    return _Place(
        text, phrase, before[place][1], at, end, *READINGS[form], between, preposition, preposition_at, is_melted
    )


def _genders(phrase: NounPhrase, places: Sequence[_Place]) -> str:
    """The genders that a candidate may have, by itself and where it stands."""
    standing = [gender for gender in phrase.genders if phrase.is_name or all(place.cases(gender) for place in places)]
    return "".join(standing) or phrase.genders


def _spelled_alike(words: str) -> str:
    """Words as they are compared: "Balles" and "Balls", "Hans'" and "Hans’", "Peters" and "Peter's" are one."""
    return re.sub(r"(?:['’]|e)(?=s$)", "", words.casefold()).replace("’", "'")


@lru_cache(1 << 16)
def _phrase(candidate: str) -> NounPhrase:
    """A candidate taken apart; its noun is the last of the first words with a capital, or the last word."""
    words = candidate.split()
    gender = GERMAN.gender_of(candidate)
    determiner, readings = READINGS.get(words[0].casefold(), (None, set())) if len(words) > 1 else (None, set())
    rest = words[determiner is not None :]
    first = next((i for i, word in enumerate(rest) if word[0].isupper()), len(rest) - 1)
    head = next((i for i in range(first, len(rest) - 1) if not rest[i + 1][0].isupper()), len(rest) - 1)
    possible = {own for own, case in readings if case == NOMINATIVE} or {own for own, _ in readings} or set(GENDERS)
    if gender or " und " in candidate:
        possible = set(NAMES_ARE[gender] if gender else "p")
    elif possible == {"f", "p"}:
        possible = {"p" if _looks_plural(rest[head]) else "f"}
    elif possible == {"m", "n"}:
        possible = set(_masculine_or_neuter(rest[head]) or "mn")
    genders = "".join(letter for letter in GENDERS if letter in possible)
    return NounPhrase(determiner, tuple(rest[:head]), rest[head], tuple(rest[head + 1 :]), genders, gender is not None)


_Token = tuple[str, int, int, bool]


@lru_cache(64)  # the same text is searched for several candidates in a row
def _tokens(text: str) -> list[_Token]:
    """The words of a text: folded, from where to where in the text as it is, and whether with a capital."""
    return [(m.group().casefold(), m.start(), m.end(), m.group()[0].isupper()) for m in German.piece.finditer(text)]


@lru_cache(1 << 14)
def _slots(candidate: str) -> list[tuple[frozenset[str], bool]]:
    """For each word of a candidate, its article aside: the forms it may have, and whether it must have a capital."""
    if not candidate.strip():
        return []
    phrase = _phrase(candidate)
    readings = [(gender, case) for gender in phrase.genders for case in CASES]
    slots: list[tuple[set[str], bool]] = []
    if phrase.determiner not in (None, THE, "ein"):
        slots.append(({_determiner(phrase.determiner, *reading) for reading in readings}, False))
    for word in (piece for adjective in phrase.adjectives for piece in German.piece.findall(adjective)):
        forms = {word} | {_adjective(word, kind, *reading) for kind in ADJECTIVES for reading in readings}
        slots.append((forms, word[0].isupper()))
    noun = phrase.noun
    endings = ("s", "'s", "’s") if phrase.is_name else ("s", "es") if set("mn") & set(phrase.genders) else ()
    forms = {noun, *(noun + ending for ending in endings if (noun + ending).casefold() not in _names())}
    if not phrase.is_name:
        forms |= {_noun(noun, kind, *reading) for kind in ADJECTIVES for reading in readings}
    slots.append((forms, noun[0].isupper()))
    slots += [({piece}, False) for word in phrase.rest for piece in German.piece.findall(word)]
    return [(frozenset(form.casefold() for form in forms), upper) for forms, upper in slots]


def _fits(token: _Token, forms: frozenset[str], upper: bool) -> bool:
    return token[0] in forms and (token[3] or not upper)


def _stem(word: str) -> str | None:
    """An adjective without its ending; None for what is no adjective."""
    adjective = re.fullmatch(r"([^\W\d_A-ZÄÖÜ].+?)e[nmrs]?", word)
    return adjective[1] if adjective and word not in NO_ADJECTIVE else None


def _adjective(word: str, kind: str, gender: str, case: int) -> str:
    """An adjective in a gender and case; what else stands before a noun does not bend, but for "Herrn Weber"."""
    if word == "Herr" and case != NOMINATIVE:
        return "Herrn"
    stem = _stem(word)
    return word if stem is None else stem + ADJECTIVES[kind][gender].split()[case]


def _noun(noun: str, kind: str, gender: str, case: int) -> str:
    """A noun, given in the nominative, in a case."""
    word = noun.lower()
    if as_adjective := ADJECTIVAL.fullmatch(noun):
        return as_adjective[1] + ADJECTIVES[kind][gender].split()[case]
    if gender == "p":
        return noun + "n" if case == DATIVE and word.endswith(("e", "er", "el")) else noun
    if gender == "f" or case == NOMINATIVE:
        return noun
    if gender == "m" and _is_weak(word):
        bent = noun + ("n" if word.endswith(("e", *WORDS["weak_in_n"])) else "en")
        return bent + "s" if case == GENITIVE and word.endswith(WORDS["like_name"]) else bent
    return noun + _genitive(word) if case == GENITIVE else noun


def _is_weak(word: str) -> bool:
    """Whether a masculine noun has -(e)n in every case but the nominative: den Jungen, dem Studenten."""
    if word.endswith("e"):
        return not word.endswith(WORDS["strong_in_e"])
    in_ist = word.endswith("ist") and _syllables(word) > 1 and not word.endswith("geist")
    return in_ist or word == "bauer" or word.endswith(WORDS["weak"])


def _genitive(word: str) -> str:
    """The ending of the genitive of a strong noun."""
    if word.endswith(("nis", "bus")) and not word.endswith("globus"):
        return "ses"
    if _syllables(word) > 1 and re.search(r"(?<!a)us$|[^o]os$|(?<!gl)(?<!gr)as$|(?<!e)is$", word):
        return ""
    if word.endswith(("s", "ß", "x", "z", "sch", "st")):
        return "es"
    return "es" if _syllables(word) == 1 and word[-1] not in "aeiouäöüy" and word not in WORDS["loans"] else "s"


def _syllables(word: str) -> int:
    return len(re.findall(r"au|ei|ai|eu|äu|ie|aa|ee|oo|[aeiouäöüy]", word))


def _masculine_or_neuter(noun: str) -> str:
    """Which of the two a noun is that is one of them; empty for one that is not known."""
    word = noun.lower()
    if _ends(word, WORDS["masculine"]):
        return "m"
    is_neuter = _ends(word, WORDS["neuter"]) or (word.startswith("ge") and word.endswith("e"))
    if is_neuter and not word.endswith(WORDS["weak"]):
        return "n"
    return "m" if word.endswith("er") or _is_weak(word) else ""


def _looks_plural(noun: str) -> bool:
    """Whether a noun after "die" is more than one."""
    word = noun.lower()
    if word.endswith(("er", "el")):
        return not _ends(word, WORDS["feminine_in_er_or_el"])
    if word.endswith("e"):
        return _ends(word, WORDS["plural_in_e"]) and not word.endswith(WORDS["singular_in_e"])
    if word.endswith("s"):
        return not word.endswith(WORDS["singular_in_s"])
    return word.endswith(("en", "ern", "eln", "arn"))


def _ends(word: str, nouns: Sequence[str]) -> bool:
    """Whether a word is one of some nouns, or a compound that ends in one: "Haustier", but not "Bruder" for "Ruder"."""
    return any(word.endswith(noun) and len(word) - len(noun) not in (1, 2) for noun in nouns)


@lru_cache(1 << 14)
def _forms(noun: str) -> frozenset[str]:
    """Every form that a noun may have, given in the nominative singular, its gender unknown, folded."""
    word = noun.lower()
    umlaut = re.sub(r"(au|[aou])(?=[^aou]*$)", lambda m: m[1][0].translate(UMLAUTS) + m[1][1:], word, count=1)
    plurals = {f"{word}{end}" for end in ("e", "n", "en", "s")} | {f"{umlaut}e"}
    plurals |= {umlaut} if word.endswith(("er", "el", "en")) else set()
    plurals |= {f"{word}er", f"{umlaut}er"} if word.endswith(WORDS["plural_in_er"]) else set()
    plurals |= {f"{word}nen", f"{word}se"} if word.endswith(("in", "nis", "bus")) else set()
    plurals |= {f"{plural}n" for plural in plurals if plural.endswith(("e", "er", "el"))}
    own = {_noun(word, kind, gender, case) for kind in ADJECTIVES for gender in "mfn" for case in CASES}
    return frozenset(form.casefold() for form in own | plurals | {f"{word}n", f"{word}es"})


@cache
def _names() -> dict[str, str]:
    """The US census's names, but for those that are words in German, and over them what is common in Germany."""
    census = {name: gender for name, gender in first_names("first_names.txt").items() if name not in WORDS["no_names"]}
    return census | first_names("first_names_de.txt")
