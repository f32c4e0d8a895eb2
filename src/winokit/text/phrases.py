"""The noun phrases of an English text: a part of speech for each word, then patterns over them.

Parts of speech come from closed classes and verbs (`grammar.py`), a word's ending and its neighbours: no model, so that
a text has the same phrases on every machine. A phrase has determiners, adjectives, nouns and names, with
the things that they own ("Joe's uncle"). The owner is a phrase too, and so are names inside a phrase and two phrases
around "of" or "and".
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from winokit.text import grammar
from winokit.text.english import ENGLISH
from winokit.text.grammar import WORDS, WordToken

PHRASE = re.compile("(?:D+A*[NM]+|A*N+M*|M+)(?:SA*[NM]+)*")
"""Over one letter per word: Determiner, Adjective, Noun, naMe, 'S of an owner, Of, and (C), Verb, Pronoun, pReposition,
Junction (a connective), X for any other word, and a period for a mark."""
VERSION = 1
"""It changes whenever the phrases of a text change, so that stored answers are not taken for new ones."""
NAMES = re.compile("M+")
TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|[A-Z])\.")
ADJECTIVE = re.compile(r"\w{2,}(?:ful|ous|[ai]ble|less|ish|ical|est)")
INDEFINITE = re.compile("(?:some|every|any|no)(?:one|body|thing)|none|others|whom?")
ARTICLES = frozenset("the a an every no".split())
OBJECTS = frozenset("me him her us them you it".split())
SUBJECTS = frozenset("i we you he she they it who which that".split())
JOINING_KINDS = {"of": "O", "and": "C"}
HAVE = frozenset("have has had having".split())
ADJECTIVES = WORDS["adjectives"]
NO_NOUNS = WORDS["no_nouns"]
NOUNS = frozenset[str]().union(*ENGLISH.beings.values())


@lru_cache(4096)
def noun_phrases(text: str) -> tuple[str, ...]:
    """The noun phrases of an English text, in order, without pronouns.

    >>> noun_phrases("Joe's uncle can still beat him at tennis, though he is older than the men of his old club.")
    ('Joe', "Joe's uncle", 'tennis', 'the men', 'the men of his old club', 'his old club')
    """
    tokens = _join_title_periods(text)
    kinds = ""
    for index in range(len(tokens)):
        kinds += _find_kind(tokens, index, kinds)
    phrases = [match.span() for match in PHRASE.finditer(kinds)]
    names = [match.span() for match in NAMES.finditer(kinds)]
    spans = {*phrases, *names, *_find_owners(phrases, kinds)}
    for (start, left_end), (right_start, end) in pairwise(phrases):
        if kinds[left_end:right_start] in ("O", "C"):
            spans.add((start, end))
    return tuple(text[tokens[start].start : tokens[end - 1].end] for start, end in sorted(spans))


def _find_owners(phrases: Sequence[tuple[int, int]], kinds: str) -> list[tuple[int, int]]:
    """The phrases before a possessive ending: "Joe" in "Joe's uncle".

    Each is a range of tokens. `kinds` has a letter for the part of speech of each token.
    """
    owners = []
    for start, end in phrases:
        owners += [(start, index) for index in range(start, end) if kinds[index] == "S"]
    return owners


def _join_title_periods(text: str) -> list[WordToken]:
    """The tokens of a text.

    The period of a title or an initial is a part of its token.
    """
    tokens: list[WordToken] = []
    for token in grammar.tokenise(text):
        if token.word == "." and tokens:
            title = tokens[-1]
            if TITLE.fullmatch(text, title.start, token.end):
                tokens.pop()
                token = WordToken(title.word, title.start, token.end, capital=True)
        tokens.append(token)
    return tokens


def _find_kind(tokens: Sequence[WordToken], index: int, kinds: str) -> str:
    """The part of speech of a token, as one letter of `PHRASE`.

    `kinds` has the letters of the tokens before it.
    """
    token = tokens[index]
    word = token.word
    last_kind = _get_last_kind(kinds)
    if word == "'s":
        return "S" if _is_owner_mark(tokens, index, last_kind) else "V"
    if word == "'" and _is_after_plural(tokens, index):
        return "S" if _is_owner_mark(tokens, index, last_kind) else "."
    if not word[0].isalnum():
        return "X" if word in grammar.FUNCTION else "."
    if token.capital and _is_name(tokens, index, last_kind):
        return "M"
    closed_kind = _find_determiner_kind(tokens, index, last_kind) or _find_function_kind(tokens, index, last_kind)
    return closed_kind or _find_open_kind(tokens, index, kinds)


def _get_last_kind(kinds: str) -> str:
    """The last of some parts of speech.

    At the start of the text it is that of a mark.
    """
    return kinds[-1:] or "."


def _is_after_plural(tokens: Sequence[WordToken], index: int) -> bool:
    """Whether the token before, without a space between, ends in s."""
    if not _get_word(tokens, index - 1).endswith("s"):
        return False
    return tokens[index - 1].end == tokens[index].start


def _is_owner_mark(tokens: Sequence[WordToken], index: int, last_kind: str) -> bool:
    """Whether an apostrophe or 's marks a possessive.

    `last_kind` is the part of speech of the token before it.
    """
    after = _get_word(tokens, index + 1)
    beyond = _get_word(tokens, index + 2)
    if last_kind not in "NM" or not _is_open(after) or grammar.is_participle(after):
        return False
    is_noun = after in NOUNS or _is_verb(beyond)
    return is_noun or not after.endswith("ing")


def _find_determiner_kind(tokens: Sequence[WordToken], index: int, last_kind: str) -> str | None:
    """The part of speech of a determiner, a pronoun, "of" or "and".

    None for any other word.
    """
    word = tokens[index].word
    after = _get_word(tokens, index + 1)
    opens = _is_open(after)
    if word in JOINING_KINDS:
        return JOINING_KINDS[word]
    if word in grammar.POSSESSIVES or word in ("what", "which"):
        is_object = word == "her" and _is_verb(after)
        return "D" if opens and not is_object else "P"
    if word in grammar.PRONOUNS or INDEFINITE.fullmatch(word):
        return "P"
    if word == "that":
        return "D" if opens and _is_that_determiner(tokens, index, last_kind) else "J"
    if word in grammar.DETERMINERS or word.isdigit():
        return "D" if opens or word in ARTICLES else "P"
    return None


def _is_that_determiner(tokens: Sequence[WordToken], index: int, last_kind: str) -> bool:
    """Whether "that" is a determiner, by the words around it.

    It is in "in that house" and in "that house.".
    """
    follows_preposition = last_kind == "R"
    ends_clause = _get_word(tokens, index + 2) in grammar.MARKS
    return follows_preposition or ends_clause


def _find_function_kind(tokens: Sequence[WordToken], index: int, last_kind: str) -> str | None:
    """The part of speech of another word of a closed class.

    None for a word of an open class.
    """
    word = tokens[index].word
    is_adverb = grammar.is_adverb(word)
    if last_kind in "DA" and (is_adverb or word in ADJECTIVES | NO_NOUNS):
        after = _get_word(tokens, index + 1)
        if word not in NO_NOUNS and _is_open(after) and not _is_past(after):
            return "A"
        return "X" if is_adverb else "N"
    if word in grammar.AUXILIARIES:
        return "V"
    if word in grammar.PREPOSITIONS:
        return "R"
    if word in grammar.CONNECTIVES:
        return "J"
    if is_adverb or word in grammar.FUNCTION | NO_NOUNS:
        return "X"
    return None


def _find_open_kind(tokens: Sequence[WordToken], index: int, kinds: str) -> str:
    """The part of speech of a word of an open class.

    Its neighbours decide first, then its ending.
    """
    word = tokens[index].word
    last_kind = _get_last_kind(kinds)
    after = _get_word(tokens, index + 1)
    is_verb_like = grammar.is_verb_like(word)
    if last_kind in "DA":
        return "A" if _is_attribute(word, after) else "N"
    if word in NOUNS and not is_verb_like:
        return "N"
    verb_kind = _find_kind_after_verb(tokens, index, last_kind)
    if verb_kind:
        return verb_kind
    verb_follows = _is_verb(after)
    if _is_adjective(word):
        is_attribute = _is_open(after) and not verb_follows and last_kind not in "NM"
        return "A" if is_attribute else "X"
    if _has_verb_ending(word):
        is_subject = verb_follows and last_kind in "NMSRO" and not _is_past(word)
        return "N" if is_subject else "V"
    return _find_kind_by_place(tokens, index, kinds)


def _is_adjective(word: str) -> bool:
    """Whether a word is a known adjective or ends like one."""
    return word in ADJECTIVES or ADJECTIVE.fullmatch(word) is not None


def _has_verb_ending(word: str) -> bool:
    """Whether a word may be a verb by its form.

    It is a past form, an irregular one, or ends in -ing.
    """
    is_gerund = word.endswith("ing") and len(word) > 4
    return is_gerund or _is_past(word) or grammar.is_verb_like(word)


def _is_attribute(word: str, after: str) -> bool:
    """Whether a word after a determiner describes the noun that follows it.

    Its ending decides. `after` is the next word.
    """
    describes = grammar.is_verb_like(word) or word.endswith(("ing", "ed")) or ADJECTIVE.fullmatch(word)
    return bool(describes) and _is_open(after) and not _is_past(after)


def _find_lead(tokens: Sequence[WordToken], index: int) -> str:
    """The last word before a token, without negations and adverbs.

    It is a period if there is none.
    """
    for token in reversed(tokens[:index]):
        if not grammar.is_aside(token.word):
            return token.word
    return "."


def _find_kind_after_verb(tokens: Sequence[WordToken], index: int, last_kind: str) -> str | None:
    """The part of speech that a preceding verb or subject decides.

    None if they do not decide it.
    """
    word = tokens[index].word
    lead = _find_lead(tokens, index)
    if _get_word(tokens, index - 1) == "to" or (lead in SUBJECTS and last_kind in "PXJ"):
        return "V"
    is_past = _is_past(word)
    if lead not in grammar.AUXILIARIES or last_kind not in "VX" or not (is_past or lead not in HAVE):
        return None
    if _get_word(tokens, index - 2) == "there":
        return "N"
    is_predicate = lead in grammar.BE and not is_past and not word.endswith("ing")
    return "X" if is_predicate else "V"


def _find_kind_by_place(tokens: Sequence[WordToken], index: int, kinds: str) -> str:
    """The part of speech that only a word's neighbours can decide."""
    last_kind = _get_last_kind(kinds)
    before = _get_word(tokens, index - 1)
    if last_kind in "NM":
        return "V" if _is_finite(tokens, index) else "N"
    if last_kind in "SCORV":
        is_predicate = last_kind == "V" and _find_lead(tokens, index) in grammar.COPULAS
        return "X" if is_predicate else "N"
    if last_kind == "P":
        return "N" if before in OBJECTS else "V"
    is_listed = before == "," and kinds[-2:-1] == "N"
    may_begin_phrase = is_listed or _can_follow_noun(_get_word(tokens, index + 1))
    return "N" if last_kind in ".J" and may_begin_phrase else "X"


def _can_follow_noun(word: str) -> bool:
    """Whether a word may come after a noun.

    "and", a verb and another noun may.
    """
    return word == "and" or _is_open(word) or _is_verb(word)


def _is_name(tokens: Sequence[WordToken], index: int, last_kind: str) -> bool:
    """Whether a word with a capital is a name.

    Inside a sentence it always is. At the start it is one if it is a known first name, or a verb follows it.
    """
    word = tokens[index].word
    after = _get_word(tokens, index + 1)
    if word == "i" or word in grammar.DETERMINERS:
        return False
    has_title = tokens[index].end - tokens[index].start > len(word)
    is_after_mark = _get_word(tokens, index - 1) in (",", ";", ":", "—", "–", "(", ")")
    if has_title or last_kind != "." or is_after_mark:
        return True
    if word in grammar.EMPTY | NO_NOUNS | ADJECTIVES:
        return False
    if ENGLISH.gender_of(word.title()) is not None:
        return True
    acts = _is_verb(after) or after in ("'s", "and") or after.endswith("s")
    return acts and not grammar.is_adverb(word)


def _is_finite(tokens: Sequence[WordToken], index: int) -> bool:
    """Whether a word after a noun is the verb of that noun.

    It is in "Pete envies Martin", "ants crawl over it" and "wants to".
    """
    word = tokens[index].word
    before = tokens[index - 1].word
    after = _get_word(tokens, index + 1)
    if word in grammar.TAKE_AN_INFINITIVE and after == "to":
        return True
    if index + 1 < len(tokens) and tokens[index + 1].capital:
        return True
    # "Pete envies" and "ants crawl": a noun and its verb do not both end in s.
    if _ends_in_single_s(word) == _ends_in_single_s(before):
        return False
    if after in grammar.DETERMINERS or after in grammar.PRONOUNS:
        return True
    if after in ("to", "how", "that", "why", "where"):
        return True
    return after in grammar.PREPOSITIONS and after != "of"


def _ends_in_single_s(word: str) -> bool:
    """Whether a word ends in s but not in ss."""
    return word.endswith("s") and not word.endswith("ss")


def _get_word(tokens: Sequence[WordToken], index: int) -> str:
    """The word of a token by its index.

    It is a period if the index is outside the text.
    """
    return tokens[index].word if 0 <= index < len(tokens) else "."


def _is_open(word: str) -> bool:
    """Whether a word may be an adjective, a noun or a verb.

    It is if it has a letter or digit first and is in no closed class of words.
    """
    if not word[0].isalnum() or word in grammar.EMPTY:
        return False
    return not INDEFINITE.fullmatch(word)


def _is_past(word: str) -> bool:
    """Whether a word is the past form of a verb.

    It is if it ends in -ed, or is a form of an irregular verb that is not its base and does not end in -s or -ing.
    """
    base = grammar.BASE_OF.get(word)
    ends_in_ed = word.endswith("ed") and not word.endswith("eed")
    if ends_in_ed and len(word) > 3 and word not in NOUNS:
        return True
    is_other_form = base not in (None, word)
    return is_other_form and not word.endswith(("s", "ing"))


def _is_verb(word: str) -> bool:
    """Whether a word looks like a verb or an auxiliary.

    An auxiliary may be negated.
    """
    if word in grammar.AUXILIARIES or word == "n't":
        return True
    return _is_past(word) or grammar.is_verb_like(word)
