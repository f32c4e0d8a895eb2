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
    """The words of a text, without possessive endings."""
    return [_APOSTROPHE.sub("", word) for word in WORD.findall(text)]


class English(Language, data="words_en.toml"):
    """The rules of English, which has every ability."""

    knows = frozenset(ABILITIES)

    def split(self, text: str) -> list[str]:
        """The words of a text, split at spaces."""
        return text.split()

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, as in the Penn Treebank."""
        return ptb(text)

    def occurrences(self, text: str, words: str) -> list[tuple[int, int]]:
        """Start and end of each place where words occur.

        They must be whole words. Case is ignored, but if the words have a capital, places with a capital are
        preferred.
        """
        return verbatim(text, words)

    def mention_places(self, text: str, name: str) -> list[tuple[int, int]]:
        """Start and end of each place where a text names a candidate.

        Case and article are ignored. Only whole words count.

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

        With `partly`, one word of the candidate that says something is enough.

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
        """Whether two words are inflected forms of one word.

        A name has a possessive and a plural, and no other form.
        """
        is_upper = word[:1].isupper()
        word = word.casefold()
        other = other.casefold()
        if other in (word, f"{word}s", f"{word}es"):
            return True
        return not is_upper and _remove_ending(word) == _remove_ending(other)

    def gender_of(self, name: str) -> str | None:
        """Gender of a first name: `female`, `male` or `either`.

        A second word, such as a surname, may follow it. It is `either` if neither gender has nine in ten bearers, and
        None if the name is not on the list.

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

        Returns the text before it, the candidate as it is written there, and the text after it. The candidate gets a
        possessive ending if the pronoun is a possessive, no second article, and a fitting first letter.

        Parameters
        ----------
        clause
            Whether the candidate is a whole clause, which may lose its capital (COPA).
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
        """The candidate with the first letter that its place requires.

        It is in upper or lower case. Names and "I" keep their capital. `before` is the text before it. With `clause`,
        any other word loses its capital inside a sentence.
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
        """Kind of the words directly before a noun.

        It is `article`, `determined` (his cup, the brown cup), `bare` or `unsure`. `start` is where the noun begins.

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
        """The noun that says what kind of thing words name.

        It is in lower case. It is "sack" in "sack of potatoes" and "bus" in "school bus".
        """
        before_of = words.split(" of ")[0]
        return before_of.split()[-1].casefold()

    def being(self, candidate: str) -> str | None:
        """Kind of being that a candidate names, or None.

        It is `female`, `male`, `person` or `thing`, by first name, title or noun.

        >>> [ENGLISH.being(words) for words in ("Nora", "my uncle", "Aunt Mary", "the man in the hat", "two ladders")]
        ['female', 'male', 'female', 'male', 'thing']
        """
        noun_parts = AFTER_THE_NOUN.split(self.core(candidate))
        return super().being(noun_parts[0])

    def singular(self, word: str) -> str:
        """A word without its plural ending."""
        return PLURAL.sub("", re.sub(r"ies$", "y", word))

    def is_plural(self, words: str) -> bool:
        """Whether some words look like a plural.

        They do if their head ends in s, or they are joined by "and".

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
        """Whether a text may mean a candidate by other words too.

        Such words are its head alone, its plural, or a part of its name.

        Parameters
        ----------
        words
            The candidate without its article.
        mentions
            Mentions of the candidates, which do not count.

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
        """The edits that exchange two candidates in a text.

        If that is impossible, the reason is returned as a text.

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
        """The edits that exchange two simple candidates, or None.

        Simple are two one-word names without anything that belongs to them, or two nouns after "the". Every mention
        must be so, in one spelling and without endings. A second exchange undoes these edits.

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
        """Whether a candidate is a whole word without an ending.

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
    """Check that two candidates are simple, and how to find them.

    Returns whether they are nouns, and for each candidate the letters in every word that may mean it. None if they
    are not simple.

    Nouns must have no word in common and be both singular or both plural, so that a second exchange undoes the first.
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
    """Other words that may mean a candidate, and their common letters.

    They are the parts of a name, or forms of another candidate's head. The letters are empty if there are none for
    certain.
    """
    if ENGLISH.is_proper(words):
        return frozenset(words.split()) - {words, "and", "of", "the"}, ""
    word = ENGLISH.head(words)
    stem = word.removesuffix("s")
    forms = frozenset((word, f"{word}s", f"{word}es", stem))
    return forms, stem if stem.isalpha() else ""


@lru_cache(1 << 16)
def _is_plain_name(words: str) -> bool:
    """Whether a candidate is a single word that is always a name."""
    if not (words.isascii() and words.isalpha() and ENGLISH.is_proper(words)):
        return False
    if words.casefold() in PHRASE_STARTS:
        return False
    return not ENGLISH.article_before(f"{words} ", len(words) + 1)


def _is_only_in_mentions(text: str, letters: str, mentions: Sequence[Mention]) -> bool:
    """Whether some letters occur in a text only inside mentions."""
    at = text.find(letters)
    while at >= 0:
        if not is_inside_mention(mentions, at, at + len(letters)):
            return False
        at = text.find(letters, at + 1)
    return True


def _remove_ending(word: str) -> str:
    """A word without its ending, as a stem for comparisons.

    "brush" and "brushes" have the same stem, and so do "juggler" and "juggling", "bark" and "barked".
    """
    word = re.sub(r"ies$", "y", word)
    word = re.sub(r"(?<=\w{3})(?:ings?|ers?|ed|es|(?<!s)s|e)$", "", word)
    return re.sub(r"(.)\1$", r"\1", word)


def _is_word(character: str) -> bool:
    """Whether a character is part of a word."""
    return character.isalnum() or character == "_"


def is_possessive(pronoun: str | None, after: str) -> bool:
    """Whether a pronoun is a possessive.

    "his" always is. "her" is one if a noun phrase follows in the text `after` it.

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
    """The ending that makes a candidate a possessive.

    It is an apostrophe for "their" and "theirs" if the candidate ends in s, and otherwise "'s".
    """
    if candidate.endswith("’"):
        return "’"
    is_plural = (pronoun or "").casefold() in ("their", "theirs")
    if is_plural and candidate.endswith("s"):
        return "'"
    return "'s"


@dataclass(frozen=True, slots=True)
class _Naming:
    """The way in which a text names one candidate.

    It has the form inside a sentence, the mentions, and the kinds of words before them: "name" or a kind of
    `find_kind_before`.
    """

    form: str
    mentions: tuple[Mention, ...]
    kinds: frozenset[str]


def _remove_common_ending(one: str, other: str) -> list[str]:
    """Both candidates without the words that they share at their end.

    "older students" and "younger students" become "older" and "younger": a text may name the second as "the younger
    ones". Both are empty if nothing is shared.
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
    """The way in which a text names a candidate.

    If it is not certain, the reason is returned as a text.

    Parameters
    ----------
    mentions
        Mentions of both candidates.
    index
        The candidate.
    words
        The candidate without its article.
    """
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
    """Kinds of the words before the mentions of one candidate.

    `form` is the candidate as it is written inside a sentence.
    """
    if form.split()[0].casefold() in PHRASE_STARTS:
        return {"bare"}  # "my uncle" is a phrase of its own in any context
    has_article = any(ENGLISH.article_before(text, mention.start) for mention in mentions)
    if form[0].isupper() and not has_article:
        return {"name"}
    return {ENGLISH.find_kind_before(text, mention.start) for mention in mentions}


def _make_edits(text: str, one: _Naming | str, other: _Naming | str) -> list[Edit] | str:
    """The edits that exchange two candidates.

    If there are none, the reason is returned as a text. Each candidate is given by the way in which the text names
    it, or by the reason why that is not certain.
    """
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
    """Whether the possessive endings after one candidate also fit the other.

    "James' hat" and "the men's hats" have such endings.

    Parameters
    ----------
    leaving
        The candidate that is in the text.
    coming
        The candidate that is to replace it.
    """
    endings = {text[mention.end : mention.end + 2].replace("’", "'") for mention in leaving.mentions}
    has_bare_apostrophe = any(ending[:1] == "'" and ending != "'s" for ending in endings)
    coming_ends_in_s = coming.form.endswith("s")
    if has_bare_apostrophe and leaving.form.endswith("s") and not coming_ends_in_s:
        return False
    comes_plural_in_s = coming_ends_in_s and ENGLISH.is_plural(coming.form)
    return not ("'s" in endings and comes_plural_in_s)


def _put_in_place(text: str, leaving: _Naming, coming: _Naming) -> list[Edit]:
    """The edits that replace each mention of one candidate by the other.

    "a" and "an" change to fit.

    Parameters
    ----------
    leaving
        The candidate that is in the text.
    coming
        The candidate that replaces it.
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
    """The edits that exchange a noun and a bare noun or name.

    The article moves with its noun. If it cannot, the reason is returned as a text.
    """
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
    """The articles directly before some mentions, without those that have none."""
    articles = []
    for mention in mentions:
        article = ENGLISH.article_before(text, mention.start)
        if article:
            articles.append(article)
    return articles


def _is_indefinite(article: re.Match[str]) -> bool:
    """Whether an article is "a" or "an"."""
    return article.group(1).casefold() != "the"


def _is_part_of_phrase(text: str, mention: Mention) -> bool:
    """Whether the word before a name belongs to it.

    It does if it is a title, a determiner or a first name.
    """
    before = text[: mention.start]
    last_word = before.split()[-1] if before.strip() else ""
    if last_word.casefold() in ENGLISH.determiners - {"that"}:
        return True
    return bool(TITLE_BEFORE.search(before)) or ENGLISH.gender_of(last_word) is not None


def _with_indefinite_article(words: str) -> str:
    """The words with "a" or "an" in front, by their first sound."""
    article = "an" if VOWEL_SOUND.match(words) else "a"
    return f"{article} {words}"


def _match_capital(text: str, start: int, new: str) -> str:
    """New words, with a capital if they begin a sentence.

    They are unchanged if the text has no capital at this place, `start`.
    """
    if text[start].isupper() and ENGLISH.opens_sentence(text[:start]):
        return new[:1].upper() + new[1:]
    return new
