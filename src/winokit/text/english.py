"""English: articles and determiners, first names, plurals, stems, and a candidate in the place of a pronoun."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from winokit.text.language import (
    ABILITIES,
    Edit,
    Filling,
    Language,
    Mention,
    first_names,
    is_inside_mention,
    verbatim,
    word_lists,
)
from winokit.text.words import WORD, ptb

WORDS = {name: frozenset(words) for name, words in word_lists("words_en.toml").items()}
_APOSTROPHE = re.compile(r"['’]s?$")
LAST_WORDS = re.compile(r"(?:(?<!\S)([\w'’-]+)\s+)?(?<!\S)([\w'’-]+)\s+$")
# Only words that are always determiners. Before a pronoun's place, "that", "what", "all" and "her" begin or belong to
# something else ("told her that he", "all his"). Before the blanks of WinoGrande "that" always does.
DETERMINER_BEFORE = re.compile(r"\b(?:the|an?|my|our|your|his|its|their)\s+$", re.IGNORECASE)

AFTER_THE_NOUN = re.compile(r"\s+(?:in|with|on|at|from|who|that|near|behind|beside|under|for|to|next)\s+")
PLURAL = re.compile(r"(?:(?<=[sxzo])|(?<=[cs]h))es$|(?<=[^su])s$")
VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one|once|u[bst]i)[aeiou]|hour|honest|honou?r|heir", re.IGNORECASE)
TITLE_BEFORE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St)\.?\s+$")


def _find_words(text: str) -> list[str]:
    """The words of a text without a possessive ending."""
    return [_APOSTROPHE.sub("", word) for word in WORD.findall(text)]


class English(Language, data="words_en.toml"):
    """English, with every ability."""

    knows = frozenset(ABILITIES)

    def split(self, text: str) -> list[str]:
        """Words between spaces."""
        return text.split()

    def tokens(self, text: str) -> list[str]:
        """Penn-Treebank-like tokens."""
        return ptb(text)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Places of some words as whole words, in any case.

        If the words have a capital, places with a capital are preferred.
        """
        return verbatim(text, words)

    def mention_places(self, text: str, name: str) -> list[tuple[int, int]]:
        """Places of a candidate as whole words, in any case, with any article.

        >>> ENGLISH.mention_places("The cup hit the cups.", "a cup")
        [(4, 7)]
        """
        text = text.casefold()
        name = self.bare(name)
        places = []
        # `find` and no regular expression: one per candidate would be compiled 80,000 times.
        at = text.find(name)
        while at >= 0 and name:
            end = at + len(name)
            goes_on_before = at > 0 and _is_word(text[at - 1])
            goes_on_after = end < len(text) and _is_word(text[end])
            if not (goes_on_before or goes_on_after):
                places.append((at, end))
            at = text.find(name, at + 1)
        return places

    def is_mentioned(self, text: str, name: str, *, partly: bool = False) -> bool:
        """Whether a text names a candidate, in any inflected form.

        With `partly`, one word that says something about the candidate is enough.

        >>> ENGLISH.is_mentioned("She bought brushes.", "the brush"), ENGLISH.is_mentioned("We juggled.", "a juggler")
        (True, True)
        >>> [ENGLISH.is_mentioned("Anne gave birth to a daughter.", "Anne's daughter", partly=p) for p in (False, True)]
        [False, True]
        """
        if self.mention_places(text, name):
            return True
        words = _find_words(self.article.sub("", name.strip()))
        text_words = _find_words(text)
        if not partly:
            return self._has_words_in_a_row(text_words, words)
        telling_words = [word for word in words if word.casefold() not in WORDS["tells_nothing"]]
        return self._has_form_of_any(text_words, telling_words)

    def same_word(self, word: str, other: str) -> bool:
        """Whether two words are forms of one word.

        A name has a possessive and a plural, and no other form.
        """
        is_upper = word[:1].isupper()
        word = word.casefold()
        other = other.casefold()
        if other in (word, f"{word}s", f"{word}es"):
            return True
        return not is_upper and _remove_ending(word) == _remove_ending(other)

    def gender_of(self, name: str) -> str | None:
        """Gender of the bearers of a first name.

        It is `female`, `male` or `either` (neither gender has nine in ten bearers). None if it is no name on the
        list.

        >>> [ENGLISH.gender_of(name) for name in ("Nora", "Robin", "the plumber", "My uncle")]
        ['female', 'either', None, None]
        """
        words = name.split()
        if not words or len(words) > 2:
            return None
        if not all(word[:1].isupper() for word in words):
            return None
        genders = first_names("first_names.txt")
        return genders.get(words[0].casefold())

    def fill(self, before: str, pronoun: str | None, after: str, candidate: str, *, clause: bool) -> Filling:
        """Put a candidate in the place of a pronoun.

        It gets the pronoun's possessive, no second article and a fitting first letter.
        """
        after = re.sub(r"^\s+(?=[.,;:?!]|['’]s\b)", "", after)
        candidate = " ".join(candidate.split())
        if DETERMINER_BEFORE.search(before):
            candidate = self.article.sub("", candidate)
        candidate = self._with_case(before, candidate, clause=clause)
        if is_possessive(pronoun, after):
            candidate += _choose_possessive_ending(pronoun, candidate)
        return before, candidate, after

    def _with_case(self, before: str, candidate: str, *, clause: bool) -> str:
        """The candidate with a first letter that fits its place.

        Names and "I" keep their capital.
        """
        first, space, following = candidate.partition(" ")
        if self.opens_sentence(before):
            return candidate[:1].upper() + candidate[1:]
        lowered = first[:1].lower() + first[1:]
        is_i = first in ("I", "I'm", "I've", "I'd", "I'll")
        is_name = is_i or self.gender_of(first) is not None or first.isupper()
        if lowered in WORDS["lowered"] or (clause and not is_name):
            return lowered + space + following
        return candidate

    def find_kind_before(self, text: str, start: int) -> str:
        """Kind of the words before a noun.

        It is `article`, `determined` (his cup, the brown cup), `bare` or `unsure`.

        >>> before = ("a", "of his", "the red", "with", "took hot")
        >>> [ENGLISH.find_kind_before(f"{words} cup", len(words) + 1) for words in before]
        ['article', 'determined', 'determined', 'bare', 'unsure']
        """
        if self.article_before(text, start):
            return "article"
        words = LAST_WORDS.search(text, max(0, start - 40), start)
        if words is None:
            return "bare"  # the head of the text, or punctuation
        first = (words[1] or "").casefold()
        last = words[2].casefold()
        is_possessive_noun = last.endswith(("'s", "’s", "s'", "s’"))
        if last in self.determiners or last.isdigit() or is_possessive_noun:
            return "determined"
        if last in WORDS["before_a_phrase"]:
            return "bare"
        if first in self.determiners or first in ("the", "a", "an"):
            return "determined"
        return "unsure"

    def head(self, words: str) -> str:
        """The noun that names the kind of thing.

        That is "sack" in a sack of potatoes, "bus" in a school bus.
        """
        before_of = words.split(" of ")[0]
        return before_of.split()[-1].casefold()

    def being(self, candidate: str) -> str | None:
        """Kind of being that a candidate names, by first name, title or noun.

        >>> [ENGLISH.being(words) for words in ("Nora", "my uncle", "Aunt Mary", "the man in the hat", "two ladders")]
        ['female', 'male', 'female', 'male', 'thing']
        """
        noun_parts = AFTER_THE_NOUN.split(self.core(candidate))
        return super().being(noun_parts[0])

    def singular(self, word: str) -> str:
        """The word without a plural ending."""
        return PLURAL.sub("", re.sub(r"ies$", "y", word))

    def is_plural(self, words: str) -> bool:
        """Whether a candidate looks like more than one.

        Its head ends in s, or its words are joined by "and".

        >>> [ENGLISH.is_plural(words) for words in ("sack of potatoes", "Fred and Alice", "firemen", "bus", "cups")]
        [False, True, True, False, True]
        """
        if " and " in words:
            return True
        if self.is_proper(words):
            return False  # James is one
        word = self.head(words)
        if word in WORDS["unusual_plurals"] or word.endswith("men"):
            return True
        ends_in_plural_s = word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))
        return ends_in_plural_s and word not in WORDS["look_like_plurals"]

    def stands_in_another_form(self, text: str, words: str, mentions: Sequence[Mention]) -> bool:
        """Whether other words of the text may also mean a candidate.

        Such words are its head alone, its plural, or a part of its name.

        >>> mentions = ENGLISH.mentions("The school bus", ["school bus"])
        >>> ENGLISH.stands_in_another_form("The school bus hit a bus.", "school bus", mentions)
        True
        """
        forms, stem = _list_other_forms(words)
        lowered = text.lower()
        is_ascii = lowered.isascii()
        if stem and is_ascii and _is_only_in_mentions(lowered, stem, mentions):
            return False  # each form begins with the stem
        for form in forms:
            if is_ascii and form.lower() not in lowered:
                continue
            form_has_capital = form[:1].isupper()  # a form may be empty: "s" without its plural
            for start, end in verbatim(text, form):
                has_fitting_case = text[start].isupper() or not form_has_capital
                if has_fitting_case and not is_inside_mention(mentions, start, end):
                    return True
        return False

    def exchange(self, text: str, candidates: Sequence[str], pronoun: str | None) -> list[Edit] | str:
        """Edits that exchange two candidates, or the reason why that is impossible.

        Articles stay where they are when both candidates have one ("a gap in the wall", "a wall in the gap"), and
        travel with their noun when the other is a name or has none ("Sam fooled the con artist").
        """
        words = [self.core(candidate) for candidate in candidates]
        if words[0].casefold() == words[1].casefold():
            return "the candidates differ only in their article"
        mentions = self.mentions(text, words)
        mentioned = {mention.candidate for mention in mentions}
        if mentioned != {0, 1}:
            words = _remove_common_ending(*words)
            mentions = self.mentions(text, words)
            indices = sorted(mention.candidate for mention in mentions)
            if indices != [0, 1]:
                return "a candidate is not named in the text"
        elif any(self.stands_in_another_form(text, name, mentions) for name in words):
            return "a candidate may be meant by other words too"
        one, other = (_describe_naming(text, mentions, index, name) for index, name in enumerate(words))
        return _make_edits(text, one, other)

    def plain_exchange(self, text: str, candidates: Sequence[str]) -> list[Edit] | None:
        """Edits that exchange two simple candidates, else None.

        Both must be one-word names that appear by themselves, or both must be nouns after "the".

        This must hold for every mention, in one spelling, without endings.

        >>> ENGLISH.plain_exchange("Ann met Bo, and _ left.", ("Ann", "Bo"))
        [(0, 3, 'Bo'), (8, 10, 'Ann')]
        """
        lowered = text.lower()
        if len(candidates) != 2 or not lowered.isascii():
            return None
        one, other = map(self.core, candidates)
        plain_pair = _find_plain_pair(one, other)
        if plain_pair is None:
            return None
        are_nouns, one_stem, other_stem = plain_pair
        edits: list[Edit] = []
        for name, new, stem in ((one, other, one_stem), (other, one, other_stem)):
            at = text.find(name)
            if at < 0 or lowered.count(stem) != text.count(name):
                return None
            while at >= 0:
                end = at + len(name)
                if not self._is_plain_place(text, at, end, are_nouns):
                    return None
                edits.append((at, end, new))
                at = text.find(name, end)
        return edits

    def _is_plain_place(self, text: str, start: int, end: int, is_noun: bool) -> bool:
        """Whether a candidate at a place is a whole word without an ending.

        A noun must follow "the", and a name must not follow an article.
        """
        if text[end : end + 1] not in AFTER_A_NAME:
            return False
        if is_noun:
            return text[max(0, start - 5) : start].lower() in AFTER_THE
        follows_space = start == 0 or text[start - 1] == " "
        return follows_space and not self.article_before(text, start)


ENGLISH = English("en")
PHRASE_STARTS = ENGLISH.determiners | set("someone somebody something everyone everybody everything".split())


AFTER_A_NAME = ("", *" .,;!?")
"""Characters that end a word and are no part of it."""
AFTER_THE = ("the ", " the ")
"""Text before a noun with "the": at the head of a text, and elsewhere."""


@lru_cache(1 << 16)
def _find_plain_pair(one: str, other: str) -> tuple[bool, str, str] | None:
    """Whether two simple candidates are nouns, and the letters that find each.

    The letters are in every word that may mean the candidate. None if the candidates are not simple.

    Nouns have no word in common and are both singular or both plural, so that changing places once more undoes it.
    """
    if _is_plain_name(one) and _is_plain_name(other):
        is_same_name = one.lower() == other.lower()
        return None if is_same_name else (False, one.lower(), other.lower())
    words = [*one.split(), *other.split()]
    joined = "".join(words)
    if not (joined.isascii() and joined.isalpha() and joined.islower()):
        return None
    has_common_word = len(set(words)) < len(words)
    if has_common_word or not PHRASE_STARTS.isdisjoint(words):
        return None
    if ENGLISH.is_plural(one) != ENGLISH.is_plural(other):
        return None
    _, one_stem = _list_other_forms(one)
    _, other_stem = _list_other_forms(other)
    return True, one_stem, other_stem


@lru_cache(1 << 16)
def _list_other_forms(words: str) -> tuple[frozenset[str], str]:
    """Other words that may mean a candidate, and the letters common to them.

    The letters are empty if they are not certain.
    """
    if ENGLISH.is_proper(words):
        return frozenset(words.split()) - {words, "and", "of", "the"}, ""
    word = ENGLISH.head(words)
    stem = word.removesuffix("s")
    forms = frozenset((word, f"{word}s", f"{word}es", stem))
    return forms, stem if stem.isalpha() else ""


@lru_cache(1 << 16)
def _is_plain_name(words: str) -> bool:
    """Whether a candidate is one word that is a name in any context."""
    if not (words.isascii() and words.isalpha() and ENGLISH.is_proper(words)):
        return False
    if words.casefold() in PHRASE_STARTS:
        return False
    return not ENGLISH.article_before(f"{words} ", len(words) + 1)


def _is_only_in_mentions(text: str, letters: str, mentions: Sequence[Mention]) -> bool:
    """Whether some letters occur only inside mentions."""
    at = text.find(letters)
    while at >= 0:
        if not is_inside_mention(mentions, at, at + len(letters)):
            return False
        at = text.find(letters, at + 1)
    return True


def _remove_ending(word: str) -> str:
    """The word without its ending.

    It is enough to find "brush" in "brushes", "juggler" in "juggling" and "bark" in "barked".
    """
    word = re.sub(r"ies$", "y", word)
    word = re.sub(r"(?<=\w{3})(?:ings?|ers?|ed|es|(?<!s)s|e)$", "", word)
    return re.sub(r"(.)\1$", r"\1", word)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def is_possessive(pronoun: str | None, after: str) -> bool:
    """Whether a pronoun is a possessive.

    "his" always is. "her" is one if the thing she has follows.

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
    is_noun_in_ly = following_word in ("family", "belly", "reply", "ally")
    is_adverb = following_word.endswith("ly") and not is_noun_in_ly
    return following_word not in WORDS["after_object"] and not is_adverb


def _choose_possessive_ending(pronoun: str | None, candidate: str) -> str:
    """The ending that makes a candidate the owner in place of a pronoun."""
    if candidate.endswith("’"):
        return "’"
    is_plural = (pronoun or "").casefold() in ("their", "theirs")
    if is_plural and candidate.endswith("s"):
        return "'"
    return "'s"


@dataclass(frozen=True, slots=True)
class _Naming:
    """The way in which one candidate is named in a text.

    It has the form inside a sentence, the mentions, and the kinds of words before them.
    """

    form: str
    mentions: tuple[Mention, ...]
    kinds: frozenset[str]


def _remove_common_ending(one: str, other: str) -> list[str]:
    """The two candidates without the words at their end that they share.

    That leaves "older" and "younger" of two students.

    That leaves "older" and "younger" of two students.

    A text that says "the older students" and "the younger ones" names the second no further than that.
    """
    one_words = one.split()
    other_words = other.split()
    while one_words and other_words and one_words[-1].casefold() == other_words[-1].casefold():
        one_words = one_words[:-1]
        other_words = other_words[:-1]
    if len(one_words) == len(one.split()):
        return ["", ""]
    return [" ".join(one_words), " ".join(other_words)]


def _describe_naming(text: str, mentions: list[Mention], index: int, words: str) -> _Naming | str:
    """Describe how a candidate is named in a text, or say why that is not certain."""
    own_mentions = tuple(mention for mention in mentions if mention.candidate == index)
    inside_mentions = [m for m in own_mentions if not ENGLISH.opens_sentence(text[: m.start])]
    inside_forms = {text[m.start : m.end] for m in inside_mentions}
    if len(inside_forms) > 1:
        return "a candidate is spelled in more than one way"
    form_mention = (inside_mentions or own_mentions)[0]
    form = text[form_mention.start : form_mention.end]
    if not inside_mentions and not ENGLISH.is_proper(words):
        form = form[:1].lower() + form[1:]
    kinds = _find_kinds_before(text, own_mentions, form)
    return _Naming(form, own_mentions, frozenset(kinds))


def _find_kinds_before(text: str, mentions: Sequence[Mention], form: str) -> set[str]:
    """The kinds of the words before the mentions of one candidate."""
    if form.split()[0].casefold() in PHRASE_STARTS:
        return {"bare"}  # "my uncle" is a phrase of its own in any context
    has_article = any(ENGLISH.article_before(text, mention.start) for mention in mentions)
    if form[0].isupper() and not has_article:
        return {"name"}
    return {ENGLISH.find_kind_before(text, mention.start) for mention in mentions}


def _make_edits(text: str, one: _Naming | str, other: _Naming | str) -> list[Edit] | str:
    """The edits that exchange two candidates, or why there are none."""
    if isinstance(one, str):
        return one
    if isinstance(other, str):
        return other
    kinds = one.kinds | other.kinds
    has_one_number = ENGLISH.is_plural(one.form) == ENGLISH.is_plural(other.form)
    if not has_one_number and kinds != {"name"}:
        return "one candidate is plural, the other is not"
    if not (_has_fitting_possessives(text, one, other) and _has_fitting_possessives(text, other, one)):
        return "a possessive ending would not fit the other"
    if kinds <= {"article", "determined"} or kinds <= {"name", "bare", "unsure"}:
        return _put_in_place(text, one, other) + _put_in_place(text, other, one)
    for noun, bare in ((one, other), (other, one)):
        is_bare = bare.kinds in ({"name"}, {"bare"})
        if noun.kinds == {"article"} and is_bare:
            return _move_article(text, noun, bare)
    return "a candidate has words before it that may not fit the other"


def _has_fitting_possessives(text: str, leaving: _Naming, coming: _Naming) -> bool:
    """Whether the endings after one candidate also fit the other.

    Examples are James' hat and the men's hats.
    """
    endings = {text[mention.end : mention.end + 2].replace("’", "'") for mention in leaving.mentions}
    has_bare_apostrophe = any(ending[:1] == "'" and ending != "'s" for ending in endings)
    coming_ends_in_s = coming.form.endswith("s")
    if has_bare_apostrophe and leaving.form.endswith("s") and not coming_ends_in_s:
        return False
    comes_plural_in_s = coming_ends_in_s and ENGLISH.is_plural(coming.form)
    return not ("'s" in endings and comes_plural_in_s)


def _put_in_place(text: str, leaving: _Naming, coming: _Naming) -> list[Edit]:
    """Put one candidate where the other is named.

    "a" and "an" change to fit.
    """
    edits = []
    for mention in leaving.mentions:
        article = ENGLISH.article_before(text, mention.start)
        start = mention.start
        new = coming.form
        if article and _is_indefinite(article):
            start = article.start()
            new = _with_indefinite_article(coming.form)
        edits.append((start, mention.end, _match_capital(text, start, new)))
    return edits


def _move_article(text: str, noun: _Naming, bare: _Naming) -> list[Edit] | str:
    """Exchange a noun and its article with a name or a bare noun."""
    if any(_is_part_of_phrase(text, mention) for mention in bare.mentions):
        return "a candidate has words before it that may not fit the other"
    articles = _find_articles(text, noun.mentions)
    is_indefinite = _is_indefinite(articles[0])
    # A thing that is introduced with "a" is "the" thing from then on.
    if any(_is_indefinite(article) for article in articles[1:]):
        return "a candidate's articles vary"
    edits = []
    for article, mention in zip(articles, noun.mentions, strict=True):
        start = article.start()
        edits.append((start, mention.end, _match_capital(text, start, bare.form)))
    for mention_index, mention in enumerate(bare.mentions):
        is_introduced = is_indefinite and mention_index == 0
        new = _with_indefinite_article(noun.form) if is_introduced else f"the {noun.form}"
        edits.append((mention.start, mention.end, _match_capital(text, mention.start, new)))
    return edits


def _find_articles(text: str, mentions: Sequence[Mention]) -> list[re.Match[str]]:
    """The article directly before each mention, for the mentions that have one."""
    articles = []
    for mention in mentions:
        article = ENGLISH.article_before(text, mention.start)
        if article:
            articles.append(article)
    return articles


def _is_indefinite(article: re.Match[str]) -> bool:
    return article.group(1).casefold() != "the"


def _is_part_of_phrase(text: str, mention: Mention) -> bool:
    """Whether a title, a determiner or a first name belongs to a name."""
    before = text[: mention.start]
    last_word = before.split()[-1] if before.strip() else ""
    if last_word.casefold() in ENGLISH.determiners - {"that"}:
        return True
    return bool(TITLE_BEFORE.search(before)) or ENGLISH.gender_of(last_word) is not None


def _with_indefinite_article(words: str) -> str:
    article = "an" if VOWEL_SOUND.match(words) else "a"
    return f"{article} {words}"


def _match_capital(text: str, start: int, new: str) -> str:
    """The new words, with a capital if they begin a sentence.

    They get none if the text itself has none at that place.
    """
    if text[start].isupper() and ENGLISH.opens_sentence(text[:start]):
        return new[:1].upper() + new[1:]
    return new
