"""Everything that depends on a language, in one class.

That is words, articles, names, the places where a candidate is named, and the way in which it fills a blank.

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
from itertools import product
from typing import Any, ClassVar

from winokit.errors import BadInput, Message
from winokit.files import our_toml
from winokit.registry import Registry
from winokit.text.words import MARKS

BEINGS = ("female", "male", "person", "thing")
"""Kinds of beings that a noun may name."""
ABILITIES: Mapping[str, str] = our_toml("assets/abilities.toml")
"""Abilities of a pack, and the names of the analyses that are left out without them."""
CODE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
UNDETERMINED = "und"
SEVERAL = "mul"
"""BCP 47 for "we do not know" and for "several languages"."""

NOTHING = re.compile(r"(?!)")
# Scripts without spaces between words: each character is a piece, except runs of katakana and of Latin.
UNSPACED = (
    r"[\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff]"
)
LETTER = rf"[\w\u0300-\u036f{MARKS}]"
MARK = re.compile(f"[{MARKS}]")
_LETTERS = re.compile(r"[^\W\d_]")


Edit = tuple[int, int, str]
"""Start and end of the characters that are replaced, and the new words."""
Filling = tuple[str, str, str]
"""The text before a blank, the text in it, and the text after it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a text names a candidate, without its article.

    `candidate` is an index, `start` and `end` are offsets in the text.
    """

    candidate: int
    start: int
    end: int


class Language:
    """The rules of a language, here those for one without a pack.

    Words are between spaces, candidates are found to the letter, and everything else is refused.

    A subclass is a pack. Its attributes are data, and `knows` lists its abilities. It sets the attributes itself, or
    names the asset that has them: `class French(Language, data="words_fr.toml")`.
    """

    name: ClassVar[str] = ""
    """Its English name, for messages."""
    knows: ClassVar[frozenset[str]] = frozenset({"length", "local-context"})
    spaced: ClassVar[bool] = True
    """Whether there are spaces between words."""
    common: ClassVar[frozenset[str]] = frozenset()
    """Words that nearly every text of the language has, and other languages have not. They identify the language."""
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
    """Connectives that join words as often as clauses."""
    cutting: ClassVar[frozenset[str]] = frozenset()
    """The connectives at which part-sent cuts."""
    abbreviations: ClassVar[str] = r"[^\W\d_]"
    """Pattern of the words after which a full stop does not end a sentence."""
    pronoun_gender: ClassVar[dict[str, str]] = {}
    """Pronouns of people of one gender."""
    thing_pronouns: ClassVar[frozenset[str]] = frozenset()
    people: ClassVar[tuple[frozenset[str], ...]] = ()
    """Words for people of one gender that say nothing else about them: a man may do what a boy does."""
    beings: ClassVar[Mapping[str, frozenset[str]]] = {}
    """Nouns by what they name: `female`, `male`, `person` or `thing`."""
    person_endings: ClassVar[tuple[str, ...]] = ()
    """Endings of nouns that most often name a person."""
    small: ClassVar[frozenset[str]] = frozenset()
    """Words that say nothing by themselves."""
    turning: ClassVar[frozenset[str]] = frozenset()
    """Small words that can reverse the meaning of a sentence."""

    undone_by_itself: ClassVar[bool] = True
    """Whether a second exchange must restore the text. It cannot if a case is visible in one direction only."""

    def __init_subclass__(cls, data: str = "") -> None:
        """Set the attributes of a pack from an asset.

        They are patterns, words with spaces between them, or plain values.
        """
        asset = our_toml(f"assets/{data}") if data else {}
        for name in asset.keys() & Language.__annotations__.keys():
            setattr(cls, name, _convert_attribute(name, asset[name]))
        if set(BEINGS) <= asset.keys():
            cls.beings = {kind: frozenset(asset[kind].split()) for kind in BEINGS}

    def __init__(self, code: str) -> None:
        self.code = code

    def __str__(self) -> str:
        return f"{self.name} ({self.code})" if self.name else f"{self.code!r}"

    def refusal(self, what: str) -> str | None:
        """Reason why this language lacks an ability, or None.

        `what` is a name of `ABILITIES`.
        """
        if what in self.knows:
            return None
        return f"not for this language: no rules for {ABILITIES[what]} in {self}"

    def split(self, text: str) -> list[str]:
        """The words of a text, to compare two texts.

        They are cut at spaces. A text with letters of a script without spaces is cut into characters instead, with
        runs of katakana or Latin letters whole, and marks apart.
        """
        if self.spaced and not _has_unspaced_letters(text):
            return text.split()
        return self.piece.findall(text)

    def tokens(self, text: str) -> list[str]:
        """The words and marks of a text, to count them.

        They are the characters if there are no spaces between words.
        """
        if self.spaced:
            return self.piece.findall(text)
        return [letter for letter in text if not letter.isspace()]

    def unit(self, text: str) -> str:
        """Name of what `tokens` counts: "words", or "characters" without spaces between words."""
        has_spaces = self.spaced and (self.name or not _has_unspaced_letters(text))
        return "words" if has_spaces else "characters"

    def core(self, candidate: str) -> str:
        """The candidate without its article, with single spaces."""
        return _remove_article(self, candidate)

    def bare(self, name: str) -> str:
        """The candidate without its article, in lower case, for comparisons."""
        return self.core(name).casefold()

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words have the same singular.

        A name, which is a word with a capital, has only one form.
        """
        if word[:1].isupper():
            return word.casefold() == other.casefold()
        return self.singular(word.casefold()) == self.singular(other.casefold())

    def singular(self, word: str) -> str:
        """The singular of a word in lower case.

        Here it is the word itself, since the rules are those of packs.
        """
        return word

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Start and end of each place where a text has some words.

        If they do not occur as they are, inflected forms are searched.
        """
        return verbatim(text, words, whole=self.spaced) or self.inflected(text, words)

    def inflected(self, text: str, words: str) -> list[tuple[int, int]]:
        """Start and end of each place where a text has inflected words.

        Each word may have any form.
        """
        sought = self.piece.findall(words)
        pieces = list(self.piece.finditer(text))
        if not sought:
            return []
        places = []
        for index in range(len(pieces) - len(sought) + 1):
            run = pieces[index : index + len(sought)]
            if all(self.same_word(word, piece.group()) for word, piece in zip(sought, run, strict=True)):
                places.append((run[0].start(), run[-1].end()))
        return places

    def mentions(self, text: str, candidates: Sequence[str]) -> list[Mention]:
        """Every mention of every candidate, in the order of the text.

        If two overlap, the longer candidate counts.
        """
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
        """Start and end of each place where a text names a candidate.

        Case, article and inflection may differ.
        """
        return self.occurrences(text, self.core(name))

    def is_mentioned(self, text: str, name: str, *, partly: bool = False) -> bool:
        """Whether a text names a candidate, in any inflected form.

        With `partly`, one word of the candidate is enough.
        """
        if self.mention_places(text, name):
            return True
        if not partly:
            return False
        for word in self.piece.findall(self.core(name)):
            # One character alone says nothing in a script without spaces.
            is_telling = _LETTERS.search(word) and (self.spaced or len(word) > 1)
            if is_telling and self.occurrences(text, word):
                return True
        return False

    def _has_words_in_a_row(self, text_words: Sequence[str], words: Sequence[str]) -> bool:
        """Whether a text has some words in a row, however inflected."""
        if not words:
            return False
        for index in range(len(text_words) - len(words) + 1):
            run = text_words[index : index + len(words)]
            if all(map(self.same_word, words, run)):
                return True
        return False

    def _has_form_of_any(self, text_words: Sequence[str], words: Sequence[str]) -> bool:
        """Whether a text has one of some words, however inflected."""
        return any(self.same_word(word, other) for word, other in product(words, text_words))

    def gender_of(self, name: str) -> str | None:
        """Gender of a first name: `female`, `male` or `either`.

        None if the name is not on the language's list. Here there is no list, so it is always None.
        """
        return None

    def being(self, candidate: str) -> str | None:
        """Kind of being that a candidate names, or None.

        It is `female`, `male`, `person` or `thing`. A first name of either gender is a `person`, and other names are
        known only by a title. None if the candidate is on no list.
        """
        gender = self.gender_of(candidate)
        words = self.core(candidate)
        if gender or not words:
            return "person" if gender == "either" else gender
        if self.is_proper(words):
            # "Aunt Mary" is known by its title; nothing is known of other names.
            noun = words.split()[0].casefold()
            kinds: Sequence[str] = ("female", "male")
        else:
            noun = self.head(words)
            kinds = BEINGS
        forms = {noun, self.singular(noun)}
        for kind in kinds:
            nouns = self.beings.get(kind, frozenset())
            if forms & nouns:
                return kind
        return None

    def is_proper(self, words: str) -> bool:
        """Whether a candidate is a name, with a capital in any place.

        It is if it begins with a capital and its first word is no determiner.
        """
        if not words[:1].isupper():
            return False
        first_word = words.split()[0]
        return first_word.casefold() not in self.determiners

    def head(self, words: str) -> str:
        """The word that says what kind of thing a candidate is.

        Here it is the last one, in lower case.
        """
        return words.split()[-1].casefold()

    def stands_in_another_form(self, text: str, words: str, mentions: Sequence[Mention]) -> bool:
        """Whether a text may mean a candidate by other words too.

        Here always false: packs have the rules.

        Parameters
        ----------
        words
            The candidate without its article.
        mentions
            Mentions of the candidates, which do not count.
        """
        return False

    def article_before(self, text: str, start: int) -> re.Match[str] | None:
        """The article that ends directly before a place, or None.

        Its space is a part of it. `start` is the offset of that place.
        """
        return self.article_before_place.search(text, max(0, start - 12), start)

    def opens_sentence(self, before: str) -> bool:
        """Whether the word after a text is the first of a sentence.

        The sentence may begin with a quotation mark.
        """
        last = before.rstrip()[-1:]
        if last.isalnum():
            return False
        if last == "." and re.search(rf"\b(?:{self.abbreviations})\.\s*$", before):
            return False
        return bool(SENTENCE_END.search(before) or OPENING_QUOTE.search(before))

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate where a pronoun was.

        Returns the text before it, the candidate as it is written there, and the text after it. A candidate that
        opens a sentence gets a capital, and elsewhere its determiner loses one. Here the pronoun and `clause` make no
        difference.

        Parameters
        ----------
        before
            The text before the pronoun.
        pronoun
            The pronoun, or None if it is not known.
        after
            The text after the pronoun.
        clause
            Whether the candidate is a whole clause (COPA), which begins with a capital of its own.
        """
        candidate = " ".join(candidate.split())
        after = re.sub(r"^\s+(?=[.,])", "", after)
        first, space, following = candidate.partition(" ")
        lowered = first[:1].lower() + first[1:]
        if self.opens_sentence(before):
            candidate = candidate[:1].upper() + candidate[1:]
        elif lowered in self.determiners:
            candidate = lowered + space + following
        return before, candidate, after

    def misfit(self, candidates: Sequence[str], pronoun: str | None) -> Message | None:
        """Reason why a pronoun's form gives the answer away, or None.

        Here always None: packs have the rules.
        """
        return None

    def exchange(self, text: str, candidates: Sequence[str], pronoun: str | None) -> list[Edit] | str:
        """The edits that exchange two candidates in a text with a blank.

        If that is impossible, the reason is returned as a text. Here it always is: packs have the rules.
        """
        return self.refusal("switched") or "the pack does not say how candidates change places"

    def plain_exchange(self, text: str, candidates: Sequence[str]) -> list[Edit] | None:
        """The edits of `exchange`, if a second exchange certainly undoes them.

        None otherwise, and here always: packs have the rules.
        """
        return None


def _convert_attribute(name: str, written: Any) -> Any:
    """Convert a value in a pack's asset to its attribute's type."""
    default = getattr(Language, name)
    if isinstance(written, list):
        return tuple(frozenset(words.split()) for words in written)
    if isinstance(default, re.Pattern):
        return re.compile(written)
    if isinstance(default, (frozenset, tuple)):
        return type(default)(written.split())
    return written


SENTENCE_END = re.compile(r"(?:^|[.!?…][\"'”’)»]*|[。！？]|:\s*[\"“„«])\s*[\"'“‘(„«「]*$")
OPENING_QUOTE = re.compile(r"(?:^|\s)[\"“„«「]$")


@lru_cache(1 << 16)
def _remove_article(language: Language, candidate: str) -> str:
    """The candidate without its article, with single spaces."""
    folded = " ".join(candidate.split())
    return language.article.sub("", folded)


@cache
def first_names(file: str) -> dict[str, str]:
    """Gender of each first name in an asset.

    The names are in lower case. It is the gender of most bearers: `female`, `male` or `either`.
    """
    genders = {"f": "female", "m": "male", "e": "either"}
    names = {}
    for line in _read_asset_lines(file):
        name, letter = line.split()
        names[name] = genders[letter]
    return names


def _read_asset_lines(file: str) -> list[str]:
    """The lines of a text file among the assets, without comments."""
    path = files("winokit") / "assets" / file
    lines = path.read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


@cache
def word_lists(file: str) -> dict[str, tuple[str, ...]]:
    """The word lists in an asset, by name."""
    lists = our_toml(f"assets/{file}").items()
    return {name: tuple(words.split()) for name, words in lists if isinstance(words, str)}


def contracted(before: str, candidate: str, joined: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    """Contract the preposition before a candidate with the candidate's article.

    Returns the text before and the candidate. Both are unchanged if the two words are not contracted.

    Parameters
    ----------
    joined
        The contracted word for each preposition and article.
    """
    preposition = re.search(r"\b(\w+)\s+$", before)
    article, _, noun = candidate.partition(" ")
    if preposition is None or not noun:
        return before, candidate
    joined_word = joined.get((preposition[1].casefold(), article))
    if not joined_word:
        return before, candidate
    return before[: preposition.start()], f"{joined_word} {noun}"


def verbatim(text: str, words: str, *, whole: bool = True) -> list[tuple[int, int]]:
    """Start and end of each place where words occur, in any case.

    If the words have a capital, places with a capital are preferred.

    Parameters
    ----------
    whole
        Whether they must be whole words.

    >>> verbatim("Will will come.", "Will")
    [(0, 4)]
    """
    lowered = _lower_in_place(text)
    sought = _lower_in_place(words)
    places = []
    at = lowered.find(sought)
    while at >= 0 and sought:
        end = at + len(sought)
        if not whole or _is_whole_word(text, at, end):
            places.append((at, end))
        at = lowered.find(sought, at + 1)
    if not words[:1].isupper():
        return places
    places_with_capital = [place for place in places if text[place[0]].isupper()]
    return places_with_capital or places


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether a place in a text is not inside a longer word."""
    # The tests for a space are only for speed.
    if start and text[start - 1] != " " and _is_inside_word(text, start - 1, -1):
        return False
    return not (end < len(text) and text[end] != " " and _is_inside_word(text, end, 1))


def is_inside_mention(mentions: Sequence[Mention], start: int, end: int) -> bool:
    """Whether a place in a text is inside one of some mentions."""
    return any(mention.start <= start and end <= mention.end for mention in mentions)


@lru_cache(64)  # the same text is searched for several words in a row
def _lower_in_place(text: str) -> str:
    """The text in lower case, with every letter at the same index.

    Letters that become two in lower case lose the second.
    """
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # İ alone is i and a dot
    return "".join(letter.lower()[0] for letter in text)


def _is_inside_word(text: str, at: int, step: int) -> bool:
    """Whether a word continues with the character at an index.

    It does with a letter, or with a hyphen and a letter after it in the direction of `step`, 1 or -1.
    """
    if not 0 <= at < len(text) or text[at] == " ":
        return False
    if text[at] == "-":
        next_at = at + step
        return 0 <= next_at < len(text) and text[next_at].isalnum()
    if text[at].isalnum() or text[at] == "_":
        return True
    return not text.isascii() and MARK.match(text, at) is not None


def _has_unspaced_letters(text: str) -> bool:
    """Whether a text has letters of a script without spaces between words."""
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
    """The rules of the language with a BCP 47 code.

    They are those of its pack, or of `Language` itself if there is no pack.

    >>> language_of("en-GB").name, language_of("sw").refusal("switched")
    ('English', "not for this language: no rules for switched in 'sw'")
    """
    primary = code.partition("-")[0].lower()
    return LANGUAGES[primary](code) if primary in LANGUAGES else Language(code)


def check_code(code: str) -> str:
    """A BCP 47 code with its usual capitals.

    Raises BadInput if the text is no such code.
    """
    if not CODE.fullmatch(code):
        raise BadInput(f"language {code!r}: expected a BCP 47 code, such as en, de or pt-BR")
    primary, *other_parts = code.split("-")
    spellings = {2: str.upper, 4: str.title}  # pt-BR, zh-Hant
    parts = [primary.lower()]
    for part in other_parts:
        spell = spellings.get(len(part), str)
        parts.append(spell(part))
    return "-".join(parts)


LOOKED_AT = 200
ENOUGH = 30
"""Number of texts that are read, and number of words below which English is assumed without evidence against it."""
SPOKEN = 0.05
STRANGE = 0.03
"""Shares of a text's words. So many of the commonest show a language, and so many of a neighbour's words, or words with
foreign letters, show that it is another."""


@dataclass(frozen=True, slots=True)
class LanguageSigns:
    """The attributes of a pack by which a text's language is recognised."""

    common: frozenset[str]
    script: re.Pattern[str]
    letters: re.Pattern[str]


@cache
def _load_signs(code: str) -> LanguageSigns:
    """The attributes by which a language is recognised.

    They are read from an asset, so that winokit's own packs are not imported.
    """
    if code not in LANGUAGES.homes:
        pack = LANGUAGES[code]
        return LanguageSigns(pack.common, pack.script, pack.letters)
    asset = our_toml(f"assets/words_{code}.toml")
    signs = {}
    for field in fields(LanguageSigns):
        if field.name in asset:
            signs[field.name] = _convert_attribute(field.name, asset[field.name])
        else:
            signs[field.name] = getattr(Language, field.name)
    return LanguageSigns(**signs)


class _SampleText:
    """Letters and words of the texts whose language is to be recognised."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.letter_count = len(_LETTERS.findall(text))
        normalized = unicodedata.normalize("NFC", text).casefold()
        self.words = Counter(re.findall(r"[^\W\d_]+", normalized))
        self.word_count = max(self.words.total(), 1)
        self.is_short = self.words.total() < ENOUGH
        self.has_no_latin = self.letter_count > 0 and not re.search(r"[A-Za-z]", text)

    def count_words(self, words: Iterable[str]) -> int:
        """Number of the text's words that are in a list of words."""
        return sum(self.words[word] for word in words)

    def share_of(self, words: Iterable[str]) -> float:
        """Share of the text's words that are in a list of words."""
        return self.count_words(words) / self.word_count

    def is_written_in(self, script: re.Pattern[str]) -> bool:
        """Whether more than a tenth of the letters are of a script."""
        return len(script.findall(self.text)) > 0.1 * max(self.letter_count, 1)

    def count_foreign(self, letters: re.Pattern[str]) -> int:
        """Number of words with a letter that a language does not use.

        `letters` matches a word in letters of the language.
        """
        return sum(count for word, count in self.words.items() if not letters.fullmatch(word))


def detect(texts: Sequence[str]) -> str:
    """Code of the language of some texts.

    It is found by their letters and most frequent words. It is `und` if the language has no pack, or cannot be
    recognised.

    A related language without a pack (Dutch, Galician, Ukrainian) is recognised by its own words. Texts in two
    languages are `und` too. A text that is too short to decide is taken for English if nothing in it is foreign.
    """
    step = max(1, len(texts) // LOOKED_AT)
    sample = _SampleText(" ".join(texts[::step]))
    packs = {code: _load_signs(code) for code in LANGUAGES}
    shares = {code: sample.share_of(pack.common) for code, pack in packs.items()}
    written_codes = [code for code, pack in packs.items() if sample.is_written_in(pack.script)]
    if written_codes:
        is_mixed = max(shares.values()) >= SPOKEN
        return UNDETERMINED if is_mixed else written_codes[0]

    best = max(shares, key=lambda code: shares[code])
    is_neighbour = _is_neighbour(sample, best, packs, is_spoken=shares[best] >= SPOKEN)
    foreign_count = sample.count_foreign(packs[best].letters)
    if is_neighbour or shares[best] < SPOKEN:
        is_unlike_english = is_neighbour or foreign_count > 1 or not sample.is_short or sample.has_no_latin
        return UNDETERMINED if is_unlike_english else "en"
    is_foreign = foreign_count > 1 and foreign_count > 2 * STRANGE * sample.word_count
    return UNDETERMINED if is_foreign or _is_mixed(sample, best, shares) else best


def _is_mixed(sample: _SampleText, best: str, shares: Mapping[str, float]) -> bool:
    """Whether a text is in a second language besides the best one.

    It is if a second language has a share of 5 % or more, and more than half of the best one's. A short English text
    never is. `shares` has, for each language, the share of the text's words that are among its most frequent words.
    """
    if best == "en" and sample.is_short:
        return False
    second_share = max(share for code, share in shares.items() if code != best)
    return second_share >= SPOKEN and second_share > shares[best] / 2


def _is_neighbour(sample: _SampleText, best: str, packs: Mapping[str, LanguageSigns], *, is_spoken: bool) -> bool:
    """Whether a text looks like a related language that has no pack.

    Parameters
    ----------
    best
        Code of the language with a pack that fits best.
    packs
        The signs of each language with a pack.
    is_spoken
        Whether enough words of the text are frequent in that language.
    """
    common = packs[best].common
    neighbours = [words - common for words in _load_neighbours(tuple(packs))]
    nearest = max(neighbours, key=sample.count_words)
    if sample.count_words(nearest) <= STRANGE * sample.word_count:
        return False
    if best == "en" and is_spoken and sample.is_short:
        # "con", "ale", "car": one such word in an English sentence proves nothing.
        return len(nearest & sample.words.keys()) > 1
    return True


@cache
def _load_neighbours(known: tuple[str, ...]) -> list[frozenset[str]]:
    """The particular words of each related language without a pack.

    `known` are the codes of the languages with a pack.
    """
    neighbours = []
    for line in _read_asset_lines("neighbours.txt"):
        code, *words = line.split()
        if code not in known:
            neighbours.append(frozenset(words))
    return neighbours


def languages_of(codes: Iterable[str]) -> str:
    """The code that some language codes share, or `mul` if they differ.

    `und` if there are none.
    """
    distinct_codes = list(dict.fromkeys(codes))
    if not distinct_codes:
        return UNDETERMINED
    return distinct_codes[0] if len(distinct_codes) == 1 else SEVERAL


def left_out(codes: Iterable[str], what: Iterable[str] = ABILITIES) -> list[str]:
    """For each language without some abilities, a sentence about that.

    Parameters
    ----------
    what
        The abilities that are needed.

    >>> left_out(["en", "sw"], ["switched", "local-context"])
    ["'sw' has no rules for these, so they are left out: switched"]
    """
    sentences = []
    abilities = list(what)
    for language in map(language_of, dict.fromkeys(codes)):
        gaps = [ABILITIES[ability] for ability in abilities if language.refusal(ability)]
        if gaps:
            sentences.append(f"{language} has no rules for these, so they are left out: {', '.join(gaps)}")
    return sentences
