"""English: articles and determiners, first names, plurals, stems, and a candidate in the place of a pronoun."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from winokit.text.language import ABILITIES, Edit, Filling, Language, Mention, first_names, verbatim, word_lists
from winokit.text.words import WORD, ptb

WORDS = {name: frozenset(words) for name, words in word_lists("words_en.toml").items()}
_APOSTROPHE = re.compile(r"['’]s?$")
LAST_WORDS = re.compile(r"(?:(?<!\S)([\w'’-]+)\s+)?(?<!\S)([\w'’-]+)\s+$")
# Only what can be nothing but a determiner: before a place where a pronoun stood, "that", "what", "all" and "her" begin
# or belong to something else ("told her that he", "all his"), and before every blank of WinoGrande "that" does too.
DETERMINER_BEFORE = re.compile(r"\b(?:the|an?|my|our|your|his|its|their)\s+$", re.IGNORECASE)

AFTER_THE_NOUN = re.compile(r"\s+(?:in|with|on|at|from|who|that|near|behind|beside|under|for|to|next)\s+")
PLURAL = re.compile(r"(?:(?<=[sxzo])|(?<=[cs]h))es$|(?<=[^su])s$")
VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one|once|u[bst]i)[aeiou]|hour|honest|honou?r|heir", re.IGNORECASE)
TITLE_BEFORE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St)\.?\s+$")


class English(Language, data="words_en.toml"):
    """Everything is known."""

    knows = frozenset(ABILITIES)

    def split(self, text: str) -> list[str]:
        """Words between spaces."""
        return text.split()

    def tokens(self, text: str) -> list[str]:
        """Penn-Treebank-like tokens."""
        return ptb(text)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Where some words stand as whole words, whatever their case; a capital, where they have one, is preferred."""
        return verbatim(text, words)

    def mention_places(self, text: str, name: str) -> list[tuple[int, int]]:
        """Where a candidate occurs in a text as whole words, whatever its case and article.

        >>> ENGLISH.mention_places("The cup hit the cups.", "a cup")
        [(4, 7)]
        """
        text = text.casefold()
        name = self.bare(name)
        places, at = [], text.find(name)  # by hand: one regular expression a candidate would be compiled 80,000 times
        while at >= 0 and name:
            end = at + len(name)
            if not (at and _is_word(text[at - 1])) and not (end < len(text) and _is_word(text[end])):
                places.append((at, end))
            at = text.find(name, at + 1)
        return places

    def is_mentioned(self, text: str, name: str, *, partly: bool = False) -> bool:
        """Whether a text names a candidate, its words perhaps inflected; partly: has any word that tells of it.

        >>> ENGLISH.is_mentioned("She bought brushes.", "the brush"), ENGLISH.is_mentioned("We juggled.", "a juggler")
        (True, True)
        >>> [ENGLISH.is_mentioned("Anne gave birth to a daughter.", "Anne's daughter", partly=p) for p in (False, True)]
        [False, True]
        """
        if self.mention_places(text, name):
            return True
        words = [_APOSTROPHE.sub("", word) for word in WORD.findall(self.article.sub("", name.strip()))]
        stood = [_APOSTROPHE.sub("", word) for word in WORD.findall(text)]
        if partly:
            telling = [word for word in words if word.casefold() not in WORDS["tells_nothing"]]
            return any(self.same_word(word, other) for word in telling for other in stood)
        runs = (stood[at : at + len(words)] for at in range(len(stood) - len(words) + 1))
        return bool(words) and any(all(map(self.same_word, words, run)) for run in runs)

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one; a name has a possessive or a plural and no other form."""
        is_upper = word[:1].isupper()
        word = word.casefold()
        other = other.casefold()
        return other in (word, f"{word}s", f"{word}es") or (not is_upper and _stem(word) == _stem(other))

    def gender_of(self, name: str) -> str | None:
        """`female`, `male`, `either` (neither has nine in ten bearers), or None for what is no name on the list.

        >>> [ENGLISH.gender_of(name) for name in ("Nora", "Robin", "the plumber", "My uncle")]
        ['female', 'either', None, None]
        """
        words = name.split()
        if not words or len(words) > 2 or not all(word[:1].isupper() for word in words):
            return None
        return first_names("first_names.txt").get(words[0].casefold())

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """A candidate in the place of a pronoun: with its possessive, no second article, a fitting first letter."""
        after = re.sub(r"^\s+(?=[.,;:?!]|['’]s\b)", "", after)
        candidate = " ".join(candidate.split())
        if DETERMINER_BEFORE.search(before):
            candidate = self.article.sub("", candidate)
        candidate = self._with_case(before, candidate, clause=clause)
        if is_possessive(pronoun, after):
            plural = (pronoun or "").casefold() in ("their", "theirs") and candidate.endswith("s")
            candidate += "’" if candidate.endswith("’") else "'" if plural else "'s"
        return before, candidate, after

    def _with_case(self, before: str, candidate: str, *, clause: bool) -> str:
        """The candidate with a first letter that fits its place; names and "I" keep theirs."""
        first, space, rest = candidate.partition(" ")
        if self.opens_sentence(before):
            return candidate[:1].upper() + candidate[1:]
        lowered = first[:1].lower() + first[1:]
        is_name = first in ("I", "I'm", "I've", "I'd", "I'll") or self.gender_of(first) is not None or first.isupper()
        if lowered in WORDS["lowered"] or (clause and not is_name):
            return lowered + space + rest
        return candidate

    def how_it_stands(self, text: str, start: int) -> str:
        """What a noun has before it: `article`, `determined` (his cup, the brown cup), `bare`, or `unsure`.

        >>> before = ("a", "of his", "the red", "with", "took hot")
        >>> [ENGLISH.how_it_stands(f"{words} cup", len(words) + 1) for words in before]
        ['article', 'determined', 'determined', 'bare', 'unsure']
        """
        if self.article_before(text, start):
            return "article"
        words = LAST_WORDS.search(text, max(0, start - 40), start)
        if words is None:
            return "bare"  # the head of the text, or punctuation
        first, last = ((word or "").casefold() for word in words.groups())
        if last in self.determiners or last.isdigit() or last.endswith(("'s", "’s", "s'", "s’")):
            return "determined"
        if last in WORDS["before_a_phrase"]:
            return "bare"
        return "determined" if first in self.determiners or first in ("the", "a", "an") else "unsure"

    def head(self, words: str) -> str:
        """The word that says what kind of thing is meant: "sack" of a sack of potatoes, "bus" of a school bus."""
        return words.split(" of ")[0].split()[-1].casefold()

    def being(self, candidate: str) -> str | None:
        """What a candidate names, by a first name, a title or its noun.

        >>> [ENGLISH.being(words) for words in ("Nora", "my uncle", "Aunt Mary", "the man in the hat", "two ladders")]
        ['female', 'male', 'female', 'male', 'thing']
        """
        return super().being(AFTER_THE_NOUN.split(self.core(candidate))[0])

    def singular(self, word: str) -> str:
        """A word without the ending of a plural."""
        return PLURAL.sub("", re.sub(r"ies$", "y", word))

    def is_plural(self, words: str) -> bool:
        """Whether a candidate's words look like more than one: their head ends in s, or they are joined by "and".

        >>> [ENGLISH.is_plural(words) for words in ("sack of potatoes", "Fred and Alice", "firemen", "bus", "cups")]
        [False, True, True, False, True]
        """
        if " and " in words or self.is_proper(words):
            return " and " in words  # James is one
        word = self.head(words)
        if word in WORDS["unusual_plurals"] or word.endswith("men"):
            return True
        ends_like_one = word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))
        return ends_like_one and word not in WORDS["look_like_plurals"]

    def stands_in_another_form(self, text: str, words: str, mentions: Sequence[Mention]) -> bool:
        """Whether the text may mean a candidate in other words too: its head alone, its plural, a part of its name.

        >>> mentions = ENGLISH.mentions("The school bus", ["school bus"])
        >>> ENGLISH.stands_in_another_form("The school bus hit a bus.", "school bus", mentions)
        True
        """
        forms, stem = _other_forms(words)
        lowered = text.lower()
        is_ascii = lowered.isascii()
        if stem and is_ascii and _stands_inside(lowered, stem, mentions):
            return False  # each form begins with it
        return any(
            text[start].isupper() >= form[0].isupper() and not any(m.start <= start and end <= m.end for m in mentions)
            for form in forms
            if not is_ascii or form.lower() in lowered
            for start, end in verbatim(text, form)
        )

    def exchange(self, text: str, candidates: Sequence[str], pronoun: str | None) -> list[Edit] | str:
        """What to put where so that two candidates change places, or why that cannot be done.

        Articles stay where they are when both candidates have one ("a gap in the wall", "a wall in the gap"), and
        travel with their noun when the other is a name or has none ("Sam fooled the con artist").
        """
        words = [self.core(candidate) for candidate in candidates]
        if words[0].casefold() == words[1].casefold():
            return "the candidates differ only in their article"
        mentions = self.mentions(text, words)
        if {mention.candidate for mention in mentions} != {0, 1}:
            words = _difference(*words)
            mentions = self.mentions(text, words)
            if sorted(mention.candidate for mention in mentions) != [0, 1]:
                return "a candidate is not named in the text"
        elif any(self.stands_in_another_form(text, name, mentions) for name in words):
            return "a candidate may be meant by other words too"
        return _edits(text, *(_naming(text, mentions, index, name) for index, name in enumerate(words)))

    def plain_exchange(self, text: str, candidates: Sequence[str]) -> list[Edit] | None:
        """What to put where if both are names of one word that stand by themselves, or both nouns that "the" precedes.

        They stand so wherever they are named, in one spelling, without endings.

        >>> ENGLISH.plain_exchange("Ann met Bo, and _ left.", ("Ann", "Bo"))
        [(0, 3, 'Bo'), (8, 10, 'Ann')]
        """
        lowered, (one, other, *more) = text.lower(), map(self.core, candidates)
        plain = None if more or not lowered.isascii() else _plain_pair(one, other)
        if plain is None:
            return None
        edits, (are_nouns, *stems) = [], plain
        for name, new, stem in ((one, other, stems[0]), (other, one, stems[1])):
            at = text.find(name)
            if at < 0 or lowered.count(stem) != text.count(name):
                return None
            while at >= 0:
                end = at + len(name)
                if text[end : end + 1] not in AFTER_A_NAME:
                    return None
                if are_nouns:
                    if lowered[max(0, at - 5) : at] not in AFTER_THE:
                        return None
                elif (at and text[at - 1] != " ") or self.article_before(text, at):
                    return None
                edits.append((at, end, new))
                at = text.find(name, end)
        return edits


ENGLISH = English("en")
PHRASE_STARTS = ENGLISH.determiners | set("someone somebody something everyone everybody everything".split())


AFTER_A_NAME = ("", *" .,;!?")
"""What ends a word and is no part of it."""
AFTER_THE = ("the ", " the ")
"""What stands before a noun with "the": at the head of a text, and elsewhere."""


@lru_cache(1 << 16)
def _plain_pair(one: str, other: str) -> tuple[bool, str, str] | None:
    """Whether two candidates are nouns or names of one word, and letters in all that may stand for each; else None.

    Nouns have no word in common and are both singular or both plural, so that changing places once more undoes it.
    """
    if _is_plain_name(one) and _is_plain_name(other):
        return (False, one.lower(), other.lower()) if one.lower() != other.lower() else None
    words = [*one.split(), *other.split()]
    joined = "".join((one + other).split())
    if not (joined.isascii() and joined.isalpha() and joined.islower()) or len(set(words)) < len(words):
        return None
    if not PHRASE_STARTS.isdisjoint(words) or ENGLISH.is_plural(one) != ENGLISH.is_plural(other):
        return None
    return True, _other_forms(one)[1], _other_forms(other)[1]


@lru_cache(1 << 16)
def _other_forms(words: str) -> tuple[frozenset[str], str]:
    """What may stand for a candidate in a text, and the letters that all of it has in common where these are known."""
    if ENGLISH.is_proper(words):
        return frozenset(words.split()) - {words, "and", "of", "the"}, ""
    word = ENGLISH.head(words)
    stem = word.removesuffix("s")
    return frozenset((word, f"{word}s", f"{word}es", stem)), stem if stem.isalpha() else ""


@lru_cache(1 << 16)
def _is_plain_name(words: str) -> bool:
    """Whether a candidate is a single word that is a name wherever it stands and whatever stands beside it."""
    if not (words.isascii() and words.isalpha() and ENGLISH.is_proper(words)):
        return False
    return words.casefold() not in PHRASE_STARTS and not ENGLISH.article_before(f"{words} ", len(words) + 1)


def _stands_inside(text: str, letters: str, mentions: Sequence[Mention]) -> bool:
    """Whether some letters stand nowhere but in mentions."""
    at = text.find(letters)
    while at >= 0 and any(mention.start <= at and at + len(letters) <= mention.end for mention in mentions):
        at = text.find(letters, at + 1)
    return at < 0


def _stem(word: str) -> str:
    """A word without its ending: enough to tell "brush" in "brushes", "juggler" in "juggling", "bark" in "barked"."""
    word = re.sub(r"ies$", "y", word)
    word = re.sub(r"(?<=\w{3})(?:ings?|ers?|ed|es|(?<!s)s|e)$", "", word)
    return re.sub(r"(.)\1$", r"\1", word)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def is_possessive(pronoun: str | None, after: str) -> bool:
    """Whether a pronoun says whose: always for "his", for "her" when what she has follows.

    >>> is_possessive("her", " hand."), is_possessive("her", " to go."), is_possessive("her", ".")
    (True, False, False)
    """
    word = (pronoun or "").casefold()
    if word != "her":
        return word in WORDS["possessives"]
    following = re.match(r"\s+([A-Za-z]+)", after)
    if following is None:
        return False
    following_word = following.group(1).casefold()
    is_adverb = following_word.endswith("ly") and following_word not in ("family", "belly", "reply", "ally")
    return following_word not in WORDS["after_object"] and not is_adverb


@dataclass(frozen=True, slots=True)
class _Naming:
    """How one candidate is named in a text: its form in the middle of a sentence, its mentions, what is before them."""

    form: str
    mentions: tuple[Mention, ...]
    stands: frozenset[str]


def _difference(one: str, other: str) -> list[str]:
    """What is left of two candidates without the words they end in alike: "older" and "younger" of two students.

    A text that says "the older students" and "the younger ones" names the second no further than that.
    """
    ones = one.split()
    others = other.split()
    while ones and others and ones[-1].casefold() == others[-1].casefold():
        ones = ones[:-1]
        others = others[:-1]
    return [" ".join(ones), " ".join(others)] if len(ones) < len(one.split()) else ["", ""]


def _naming(text: str, mentions: list[Mention], index: int, words: str) -> _Naming | str:
    own = tuple(mention for mention in mentions if mention.candidate == index)
    opening = [ENGLISH.opens_sentence(text[: mention.start]) for mention in own]
    inside = {text[m.start : m.end] for m, opens in zip(own, opening, strict=True) if not opens}
    if len(inside) > 1:
        return "a candidate is spelled in more than one way"
    form = inside.pop() if inside else text[own[0].start : own[0].end]
    if all(opening) and not ENGLISH.is_proper(words):
        form = form[:1].lower() + form[1:]
    if form.split()[0].casefold() in PHRASE_STARTS:
        stands = {"bare"}  # "my uncle" is a phrase of its own wherever it stands
    elif form[:1].isupper() and not any(ENGLISH.article_before(text, m.start) for m in own):
        stands = {"name"}
    else:
        stands = {ENGLISH.how_it_stands(text, m.start) for m in own}
    return _Naming(form, own, frozenset(stands))


def _edits(text: str, one: _Naming | str, other: _Naming | str) -> list[Edit] | str:
    """What to put where, or why not."""
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(one, str) else str(other)
    stands = one.stands | other.stands
    if ENGLISH.is_plural(one.form) != ENGLISH.is_plural(other.form) and stands != {"name"}:
        return "one candidate is plural, the other is not"
    if not (_possessives_fit(text, one, other) and _possessives_fit(text, other, one)):
        return "a possessive ending would not fit the other"
    if stands <= {"article", "determined"} or stands <= {"name", "bare", "unsure"}:
        return _in_place(text, one, other) + _in_place(text, other, one)
    for noun, bare in ((one, other), (other, one)):
        if noun.stands == {"article"} and bare.stands in ({"name"}, {"bare"}):
            return _carrying_the_article(text, noun, bare)
    return "a candidate has words before it that may not fit the other"


def _possessives_fit(text: str, leaving: _Naming, coming: _Naming) -> bool:
    """Whether what a candidate has after it would also be right after the other: James' hat, the men's hats."""
    endings = {text[mention.end : mention.end + 2].replace("’", "'") for mention in leaving.mentions}
    only_apostrophe = leaving.form.endswith("s") and any(e[:1] == "'" and e != "'s" for e in endings)
    if only_apostrophe and not coming.form.endswith("s"):
        return False
    return not ("'s" in endings and ENGLISH.is_plural(coming.form) and coming.form.endswith("s"))


def _in_place(text: str, leaving: _Naming, coming: _Naming) -> list[Edit]:
    """One candidate put where the other is named; a or an changes to fit."""
    edits = []
    for mention in leaving.mentions:
        article = ENGLISH.article_before(text, mention.start)
        start = mention.start
        new = coming.form
        if article and article.group(1).casefold() != "the":
            start = article.start()
            new = f"{_a_or_an(coming.form)} {coming.form}"
        edits.append((start, mention.end, _cased(text, start, new)))
    return edits


def _carrying_the_article(text: str, noun: _Naming, bare: _Naming) -> list[Edit] | str:
    """A noun and its article change places with a name, or with a noun that has none."""
    if any(_is_part_of_more(text, mention) for mention in bare.mentions):
        return "a candidate has words before it that may not fit the other"
    articles = [article for mention in noun.mentions if (article := ENGLISH.article_before(text, mention.start))]
    indefinite = articles[0].group(1).casefold() != "the"
    if any((article.group(1).casefold() != "the") != (indefinite and not i) for i, article in enumerate(articles)):
        return "a candidate's articles vary"
    edits = [
        (article.start(), mention.end, _cased(text, article.start(), bare.form))
        for article, mention in zip(articles, noun.mentions, strict=True)
    ]
    for i, mention in enumerate(bare.mentions):
        article_text = _a_or_an(noun.form) if indefinite and not i else "the"
        edits.append((mention.start, mention.end, _cased(text, mention.start, f"{article_text} {noun.form}")))
    return edits


def _is_part_of_more(text: str, mention: Mention) -> bool:
    before = text[: mention.start]
    last = before.split()[-1] if before.strip() else ""
    determined = last.casefold() in ENGLISH.determiners - {"that"}
    return determined or bool(TITLE_BEFORE.search(before)) or ENGLISH.gender_of(last) is not None


def _a_or_an(words: str) -> str:
    return "an" if VOWEL_SOUND.match(words) else "a"


def _cased(text: str, start: int, new: str) -> str:
    """New words with a capital at the head of a sentence, unless the text has none there."""
    return new[:1].upper() + new[1:] if text[start].isupper() and ENGLISH.opens_sentence(text[:start]) else new
