"""What depends on a language, in one class: words, articles, names, where a candidate is named, how it fills a blank.

A pack is a subclass with the language's words and the few functions in which it differs, in a file of its own, under
its BCP 47 code in `LANGUAGES`; another package adds one by an entry point. `Language` itself is what can be done for
any language: words between spaces, candidates found to the letter. What a pack does not know it refuses by name
(`refusal`), so that nothing is judged by the rules of another language.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, ClassVar

from winokit.errors import BadInput, Message
from winokit.files import our_toml
from winokit.registry import Registry
from winokit.text.words import MARKS

BEINGS = ("female", "male", "person", "thing")
"""What a noun may name."""
ABILITIES: Mapping[str, str] = our_toml("assets/abilities.toml")
"""What a pack may know, and what is left out for a language that does not."""
CODE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
UNDETERMINED = "und"
SEVERAL = "mul"
"""BCP 47 for "we do not know" and for "several languages"."""

NOTHING = re.compile(r"(?!)")
# Scripts without spaces between words: each character by itself is a piece, but for runs of katakana and of Latin.
UNSPACED = (
    r"[\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff]"
)
LETTER = rf"[\w\u0300-\u036f{MARKS}]"
MARK = re.compile(f"[{MARKS}]")
_LETTERS = re.compile(r"[^\W\d_]")


Edit = tuple[int, int, str]
"""From which character to which of a text other words are put, and these words."""
Filling = tuple[str, str, str]
"""What stands before a blank, what stands in it, and what follows."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a candidate is named, its article left out."""

    candidate: int
    start: int
    end: int


class Language:
    """A language without a pack: words stand between spaces, candidates are found to the letter, the rest is refused.

    The attributes are data of a pack; a pack that lists an ability in `knows` has what it needs. A subclass gives them
    itself, or names the asset that does: `class French(Language, data="words_fr.toml")`.
    """

    name: ClassVar[str] = ""
    """In English, as messages call it."""
    knows: ClassVar[frozenset[str]] = frozenset({"length", "local-context"})
    spaced: ClassVar[bool] = True
    """Whether words stand between spaces."""
    common: ClassVar[frozenset[str]] = frozenset()
    """Words that nearly every text of the language has and others have not: it is recognised by them."""
    script: ClassVar[re.Pattern[str]] = NOTHING
    """A letter that only texts of this language have, among those with packs."""
    piece: ClassVar[re.Pattern[str]] = re.compile(
        rf"{UNSPACED}|(?:(?!{UNSPACED}){LETTER})+(?:['’-]{LETTER}+)*|_|[^\w\s]"
    )
    """A word, the blank or a mark."""
    letters: ClassVar[re.Pattern[str]] = re.compile(r"\w*")
    """A lower-case word in letters that the language has: a text with many others is in another."""
    article: ClassVar[re.Pattern[str]] = NOTHING
    """An article at the head of a candidate, with its space."""
    article_before_place: ClassVar[re.Pattern[str]] = NOTHING
    """An article, with its space, that ends where a noun begins."""
    determiners: ClassVar[frozenset[str]] = frozenset()
    """Words that open a noun phrase and are no names: they lose their capital inside a sentence."""
    connectives: ClassVar[frozenset[str]] = frozenset()
    """Words that open a clause, for counting them."""
    joining: ClassVar[frozenset[str]] = frozenset()
    """Connectives that as often join words as clauses."""
    cutting: ClassVar[frozenset[str]] = frozenset()
    """The connectives at which part-sent cuts."""
    abbreviations: ClassVar[str] = r"[^\W\d_]"
    """What a full stop may stand after without ending a sentence, as a pattern."""
    pronoun_gender: ClassVar[dict[str, str]] = {}
    """Pronouns of people of one gender."""
    thing_pronouns: ClassVar[frozenset[str]] = frozenset()
    people: ClassVar[tuple[frozenset[str], ...]] = ()
    """Words for people of one gender that say nothing else of them: a man may do what a boy does."""
    beings: ClassVar[Mapping[str, frozenset[str]]] = {}
    """Nouns by what they name: `female`, `male`, `person` or `thing`."""
    person_endings: ClassVar[tuple[str, ...]] = ()
    """How nouns end that most often name somebody."""
    small: ClassVar[frozenset[str]] = frozenset()
    """Words that tell nothing by themselves."""
    turning: ClassVar[frozenset[str]] = frozenset()
    """Small words that can turn a sentence round."""

    undone_by_itself: ClassVar[bool] = True
    """Whether candidates that changed places must be able to change back; not where a case shows on one way only."""

    def __init_subclass__(cls, data: str = "") -> None:
        """Take attributes from an asset by their names: patterns, words with spaces between, or what stands there."""
        said = our_toml(f"assets/{data}") if data else {}
        for name in said.keys() & Language.__annotations__.keys():
            setattr(cls, name, _attribute_from(name, said[name]))
        if set(BEINGS) <= said.keys():
            cls.beings = {kind: frozenset(said[kind].split()) for kind in BEINGS}

    def __init__(self, code: str) -> None:
        self.code = code

    def __str__(self) -> str:
        return f"{self.name} ({self.code})" if self.name else f"{self.code!r}"

    def refusal(self, what: str) -> str | None:
        """Why something is not done for this language, or None where it is."""
        return None if what in self.knows else f"not for this language: no rules for {ABILITIES[what]} in {self}"

    def split(self, text: str) -> list[str]:
        """A text as the words by which two texts are compared."""
        return text.split() if self.spaced and not _unspaced_letters(text) else self.piece.findall(text)

    def tokens(self, text: str) -> list[str]:
        """A text as the words and marks that are counted; as characters where words have no spaces between them."""
        return self.piece.findall(text) if self.spaced else [letter for letter in text if not letter.isspace()]

    def unit(self, text: str) -> str:
        """What `tokens` counts in a text: words, or characters where there are no spaces between words."""
        spaced = self.spaced and (self.name or not _unspaced_letters(text))
        return "words" if spaced else "characters"

    def core(self, candidate: str) -> str:
        """A candidate without its article, white space folded, in its own case."""
        return _core(self, candidate)

    def bare(self, name: str) -> str:
        """A candidate without its article, lower-cased, white space folded: what counts when two are compared."""
        return self.core(name).casefold()

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one, by `singular`; a name has but one form."""
        if word[:1].isupper():
            return word.casefold() == other.casefold()
        return self.singular(word.casefold()) == self.singular(other.casefold())

    def singular(self, word: str) -> str:
        """A word, in lower case, without what makes it a plural."""
        return word

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Where some words stand, in a form of theirs: as they are, or else each as a form of the same word."""
        return verbatim(text, words, whole=self.spaced) or self.inflected(text, words)

    def inflected(self, text: str, words: str) -> list[tuple[int, int]]:
        """Where some words stand, each as a form of the same word."""
        sought = [m.group() for m in self.piece.finditer(words)]
        stood = list(self.piece.finditer(text))
        return [
            (stood[at].start(), stood[at + len(sought) - 1].end())
            for at in range(len(stood) - len(sought) + 1 if sought else 0)
            if all(self.same_word(word, stood[at + i].group()) for i, word in enumerate(sought))
        ]

    def mentions(self, text: str, candidates: Sequence[str]) -> list[Mention]:
        """Every mention of every candidate, in order; where one lies inside another, the longer counts."""
        places: list[Mention] = []
        cores = [self.core(candidate) for candidate in candidates]
        for index in sorted(range(len(cores)), key=lambda i: -len(cores[i])):
            longer = tuple(places)
            for start, end in self.occurrences(text, cores[index]):
                for other in longer:
                    if start < other.end and other.start < end:
                        break
                else:
                    places.append(Mention(index, start, end))
        return sorted(places, key=lambda mention: mention.start)

    def mention_places(self, text: str, name: str) -> list[tuple[int, int]]:
        """Where a candidate is named, whatever its case, article and inflection: from and to which character."""
        return self.occurrences(text, self.core(name))

    def is_mentioned(self, text: str, name: str, *, partly: bool = False) -> bool:
        """Whether a text names a candidate, its words perhaps inflected; partly: whether it has any word of it."""
        words = self.piece.findall(self.core(name))
        return bool(self.mention_places(text, name)) or (
            partly
            and any(
                self.occurrences(text, word)
                for word in words
                if _LETTERS.search(word) and (self.spaced or len(word) > 1)  # a character alone tells nothing
            )
        )

    def gender_of(self, name: str) -> str | None:
        """`female`, `male`, `either`, or None for what is no name on the language's list."""
        return None

    def being(self, candidate: str) -> str | None:
        """What a candidate names: `female`, `male`, `person` or `thing`; None for what is on no list."""
        gender = self.gender_of(candidate)
        words = self.core(candidate)
        if gender or not words:
            return "person" if gender == "either" else gender
        titled = self.is_proper(words)  # "Aunt Mary"; of other names nothing is known
        noun = words.split()[0].casefold() if titled else self.head(words)
        kinds = ("female", "male") if titled else BEINGS
        forms = {noun, self.singular(noun)}
        return next((kind for kind in kinds if forms & self.beings.get(kind, frozenset())), None)

    def is_proper(self, words: str) -> bool:
        """Whether a candidate keeps its capital wherever it stands."""
        return words[:1].isupper() and words.split()[0].casefold() not in self.determiners

    def head(self, words: str) -> str:
        """The word that says what kind of thing is meant."""
        return words.split()[-1].casefold()

    def stands_in_another_form(self, text: str, words: str, mentions: Sequence[Mention]) -> bool:
        """Whether the text may mean a candidate in other words too, outside the mentions found."""
        return False

    def article_before(self, text: str, start: int) -> re.Match[str] | None:
        """The article directly before a place, with its space."""
        return self.article_before_place.search(text, max(0, start - 12), start)

    def opens_sentence(self, before: str) -> bool:
        """Whether what comes next is the first word of a sentence, in quotes or not."""
        last = before.rstrip()[-1:]
        if last.isalnum() or (last == "." and re.search(rf"\b(?:{self.abbreviations})\.\s*$", before)):
            return False
        return bool(SENTENCE_END.search(before) or OPENING_QUOTE.search(before))

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate where a pronoun stood: what stands before it, the candidate as it stands there, what follows.

        Parameters
        ----------
        clause
            Whether the candidate is a whole clause (COPA), which begins with a capital of its own.
        """
        candidate = " ".join(candidate.split())
        after = re.sub(r"^\s+(?=[.,])", "", after)
        first, space, rest = candidate.partition(" ")
        lowered = first[:1].lower() + first[1:]
        if self.opens_sentence(before):
            candidate = candidate[:1].upper() + candidate[1:]
        elif lowered in self.determiners:
            candidate = lowered + space + rest
        return before, candidate, after

    def misfit(self, candidates: Sequence[str], pronoun: str | None) -> Message | None:
        """Why the form of a pronoun alone tells which candidate is meant, or None where it does not."""
        return None

    def exchange(self, text: str, candidates: Sequence[str], pronoun: str | None) -> list[Edit] | str:
        """What to put where so that two candidates change places in a text with a blank, or why that cannot be done."""
        return self.refusal("switched") or "the pack does not say how candidates change places"

    def plain_exchange(self, text: str, candidates: Sequence[str]) -> list[Edit] | None:
        """What `exchange` says, where exchanging once more undoes it for certain; None where that is open."""
        return None


def _attribute_from(name: str, written: Any) -> Any:
    """Return an attribute of `Language` as a pack has it, from what its asset says."""
    usual = getattr(Language, name)
    if isinstance(written, list):
        return tuple(frozenset(words.split()) for words in written)
    if isinstance(usual, re.Pattern):
        return re.compile(written)
    if isinstance(usual, (frozenset, tuple)):
        return type(usual)(written.split())
    return written


SENTENCE_END = re.compile(r"(?:^|[.!?…][\"'”’)»]*|[。！？]|:\s*[\"“„«])\s*[\"'“‘(„«「]*$")
OPENING_QUOTE = re.compile(r"(?:^|\s)[\"“„«「]$")


@lru_cache(1 << 16)
def _core(language: Language, candidate: str) -> str:
    return language.article.sub("", " ".join(candidate.split()))


@cache
def first_names(file: str) -> dict[str, str]:
    """An asset's first names, folded, and the gender that most of their bearers have."""
    lines = (files("winokit") / "assets" / file).read_text("utf-8").splitlines()
    genders = {"f": "female", "m": "male", "e": "either"}
    return {name: genders[letter] for name, letter in (line.split() for line in lines if not line.startswith("#"))}


@cache
def word_lists(file: str) -> dict[str, tuple[str, ...]]:
    """An asset's lists of words, by their names."""
    lists = our_toml(f"assets/{file}").items()
    return {name: tuple(words.split()) for name, words in lists if isinstance(words, str)}


def contracted(before: str, candidate: str, joined: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    """A text and the candidate after it, a preposition there and the candidate's article joined where they are one."""
    preposition, (article, _, rest) = re.search(r"\b(\w+)\s+$", before), candidate.partition(" ")
    both = joined.get((preposition[1].casefold(), article)) if preposition and rest else None
    return (before[: preposition.start()], f"{both} {rest}") if preposition and both else (before, candidate)


def verbatim(text: str, words: str, *, whole: bool = True) -> list[tuple[int, int]]:
    """Where some words stand whatever their case, as whole words or anywhere; a capital of theirs is preferred.

    >>> verbatim("Will will come.", "Will")
    [(0, 4)]
    """
    lowered = _lowered(text)
    sought = _lowered(words)
    places = []
    at = lowered.find(sought)
    while at >= 0 and sought:
        end = at + len(sought)
        if not whole or not (
            (at and text[at - 1] != " " and _continues(text, at - 1, -1))
            or (end < len(text) and text[end] != " " and _continues(text, end, 1))
        ):
            places.append((at, end))
        at = lowered.find(sought, at + 1)
    if words[:1].isupper():
        return [place for place in places if text[place[0]].isupper()] or places
    return places


@lru_cache(64)  # the same text is searched for several words in a row
def _lowered(text: str) -> str:
    """The text in lower case, every letter in its old place: one letter is two in lower case."""
    lowered = text.lower()
    # İ alone is i and a dot
    return lowered if len(lowered) == len(text) else "".join(letter.lower()[0] for letter in text)


def _continues(text: str, at: int, step: int) -> bool:
    """Whether a word goes on at a place: with a letter, or with a hyphen and a letter."""
    if not 0 <= at < len(text) or text[at] == " ":
        return False
    if text[at] == "-":
        return 0 <= at + step < len(text) and text[at + step].isalnum()
    return text[at].isalnum() or text[at] == "_" or (not text.isascii() and MARK.match(text, at) is not None)


def _unspaced_letters(text: str) -> bool:
    return not text.isascii() and re.search(UNSPACED, text) is not None


LANGUAGES: Registry[type[Language]] = Registry(
    "language",
    "winokit.languages",
    {
        "en": "winokit.text.english:English",
        "de": "winokit.text.german:German",
        "fr": "winokit.text.french:French",
        "ja": "winokit.text.japanese:Japanese",
        "pt": "winokit.text.portuguese:Portuguese",
        "ru": "winokit.text.russian:Russian",
        "zh": "winokit.text.chinese:Chinese",
    },
)
"""Every pack by the first part of its code."""


@cache
def language_of(code: str) -> Language:
    """The language of a BCP 47 code: its pack, or what can be done for any language.

    >>> language_of("en-GB").name, language_of("sw").refusal("switched")
    ('English', "not for this language: no rules for switched in 'sw'")
    """
    primary = code.partition("-")[0].lower()
    return LANGUAGES[primary](code) if primary in LANGUAGES else Language(code)


def check_code(code: str) -> str:
    """A language's code as BCP 47 writes it, or a complaint: "german" is none."""
    if not CODE.fullmatch(code):
        raise BadInput(f"language {code!r}: expected a BCP 47 code, such as en, de or pt-BR")
    primary, *rest = code.split("-")
    written = {2: str.upper, 4: str.title}  # pt-BR, zh-Hant
    return "-".join([primary.lower(), *(written.get(len(part), str)(part) for part in rest)])


LOOKED_AT = 200
ENOUGH = 30
"""Texts that are looked at, and words below which nothing is said against English unless something speaks for it."""
SPOKEN = 0.05
STRANGE = 0.03
"""Of a text's words: how many of the commonest show a language, and how many of a neighbour's or with foreign letters
that it is another."""


@dataclass(frozen=True, slots=True)
class LanguageSigns:
    """What shows that a text is in a language: attributes of its pack."""

    common: frozenset[str]
    script: re.Pattern[str]
    letters: re.Pattern[str]


@cache
def _signs_of(code: str) -> LanguageSigns:
    """Return what a language is recognised by; one of ours is not imported for it."""
    names = [field.name for field in fields(LanguageSigns)]
    if code in LANGUAGES.homes:
        said = our_toml(f"assets/words_{code}.toml")
        signs = [_attribute_from(name, said[name]) if name in said else getattr(Language, name) for name in names]
    else:
        signs = [getattr(LANGUAGES[code], name) for name in names]
    return LanguageSigns(*signs)


def detect(texts: Sequence[str]) -> str:
    """The language of some texts, by their letters and commonest words; `und` where it is none with a pack.

    A neighbour of a language with a pack (Dutch, Galician, Ukrainian) is told by words of its own, and texts in two
    languages are in neither. Too little text to tell, with nothing foreign in it, is taken for English.
    """
    sample = " ".join(texts[:: max(1, len(texts) // LOOKED_AT)])
    packs = {code: _signs_of(code) for code in LANGUAGES}
    letters = len(_LETTERS.findall(sample))
    words = Counter(re.findall(r"[^\W\d_]+", unicodedata.normalize("NFC", sample).casefold()))
    total = max(words.total(), 1)
    share = {code: sum(words[word] for word in pack.common) / total for code, pack in packs.items()}
    written = [code for code, pack in packs.items() if len(pack.script.findall(sample)) > 0.1 * max(letters, 1)]
    if written:
        return UNDETERMINED if max(share.values()) >= SPOKEN else written[0]
    best, second, *_ = sorted(share, key=lambda code: -share[code])
    pack, short = packs[best], words.total() < ENOUGH
    near = max(_neighbours(tuple(packs)), key=lambda own: sum(words[word] for word in own - pack.common)) - pack.common
    beside = sum(words[word] for word in near) > STRANGE * total
    if (
        best == "en" and share[best] >= SPOKEN and short
    ):  # "con", "ale", "car": in a sentence of English a word alone shows nothing
        beside &= len(near & words.keys()) > 1
    foreign = sum(count for word, count in words.items() if not pack.letters.fullmatch(word))
    if beside or share[best] < SPOKEN:
        unlike = beside or foreign > 1 or not short or (letters and not re.search(r"[A-Za-z]", sample))
        return UNDETERMINED if unlike else "en"
    mixed = share[second] >= SPOKEN and share[second] > share[best] / 2 and not (best == "en" and short)
    return UNDETERMINED if mixed or (foreign > 1 and foreign > 2 * STRANGE * total) else best


@cache
def _neighbours(known: tuple[str, ...]) -> list[frozenset[str]]:
    """The own words of each language without a pack."""
    lines = (files("winokit") / "assets" / "neighbours.txt").read_text("utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [frozenset(words) for code, *words in rows if code not in known]


def languages_of(codes: Iterable[str]) -> str:
    """One code for several: the code they share, or `mul`."""
    distinct = list(dict.fromkeys(codes))
    return distinct[0] if len(distinct) == 1 else SEVERAL if distinct else UNDETERMINED


def left_out(codes: Iterable[str], what: Iterable[str] = ABILITIES) -> list[str]:
    """What is left out for each of some languages, a sentence each; nothing for a language that has it all.

    >>> left_out(["en", "sw"], ["switched", "local-context"])
    ["'sw' has no rules for these, so they are left out: switched"]
    """
    return [
        f"{language} has no rules for these, so they are left out: {', '.join(gaps)}"
        for language in map(language_of, dict.fromkeys(codes))
        if (gaps := [ABILITIES[ability] for ability in what if language.refusal(ability)])
    ]
