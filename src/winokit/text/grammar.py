"""The part of English that the hunter knows: closed classes of words, forms of a word, and tokens with their places.

There is no tagger and no parser. The hunter has a few hundred lines that anyone can follow, and it reads the same on
every machine. It makes too many forms ("larged"). This costs nothing, because a form that nobody writes is not found.
"""

import re
from dataclasses import dataclass
from functools import cache

from winokit.text.language import word_lists

TOKEN = re.compile(r"cannot|\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b|\w+(?:-\w+)*|[^\w\s]", re.IGNORECASE)

WORDS = {name: frozenset(words) for name, words in word_lists("words_grammar.toml").items()}
BE = WORDS["be"]
AUXILIARIES = BE | WORDS["other_auxiliaries"]
NEGATIONS = WORDS["negations"]
ADVERBS = WORDS["adverbs"]
PREPOSITIONS = WORDS["prepositions"]
DETERMINERS = WORDS["determiners"]
POSSESSIVES = WORDS["possessives"]
RELATIVES = WORDS["relatives"]
_PRONOUNS = [forms.split("/") for forms in word_lists("words_grammar.toml")["pronouns"]]
PRONOUNS = {form: forms[0] for forms in _PRONOUNS for form in forms}
CONTRASTS = WORDS["contrasts"]
CONNECTIVES = CONTRASTS | WORDS["other_connectives"]
MARKS = frozenset('.,;:!?…—–()[]"“”')
FUNCTION = AUXILIARIES | NEGATIONS | ADVERBS | PREPOSITIONS | DETERMINERS | frozenset(PRONOUNS) | CONNECTIVES
"""Words that say nothing by themselves: never a head, never a special word."""
EMPTY = FUNCTION | MARKS

_VERBS = [verb.split("/") for verb in word_lists("words_grammar.toml")["irregular_verbs"]]
PARTICIPLES = frozenset(verb[-1] for verb in _VERBS)
_PAST = {verb[0]: verb[1:] for verb in _VERBS}
VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class WordToken:
    """A word or a mark of a text, in lower case.

    `start` and `end` are offsets in the text.
    """

    word: str
    start: int
    end: int
    capital: bool = False


def tokenise(text: str) -> list[WordToken]:
    """The tokens of a text.

    "couldn't" and "he's" are two each, and a mark is one.
    """
    tokens = []
    for match in TOKEN.finditer(text):
        spelling = match.group()
        word = spelling.casefold().replace("’", "'")
        tokens.append(WordToken(word, match.start(), match.end(), spelling[0].isupper()))
    return tokens


def is_verb_like(word: str) -> bool:
    """Whether a word by itself looks like a form of a verb.

    It is a known irregular one, or it ends in -ed.
    """
    return word in BASE_OF or (word.endswith("ed") and len(word) > 4)


def is_participle(word: str) -> bool:
    """Whether a word may be a past participle, as in a passive.

    It is if it is that of an irregular verb, or ends in -ed.
    """
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 3)


def is_adverb(word: str) -> bool:
    """Whether a word is an adverb, as between subject and verb.

    It is if it is on the list, or ends in -ly.
    """
    if word in ADVERBS:
        return True
    return word.endswith("ly") and len(word) > 4 and word not in ("family", "belly", "reply")


def is_aside(word: str) -> bool:
    """Whether a word is a negation or an adverb.

    Such a word may come between a verb and its object.
    """
    return word in NEGATIONS or is_adverb(word)


def goes_with_a_verb(word: str) -> bool:
    """Whether a word is an auxiliary, a negation or an adverb.

    Such a word may come between a subject and its verb.
    """
    return word in AUXILIARIES or is_aside(word)


@cache
def forms(word: str) -> tuple[str, ...]:
    """A word and its inflected forms, the word itself first.

    The plural of a noun is among them.

    >>> forms("stopped")[:4], "threw" in forms("throwing"), "carries" in forms("carry")
    (('stopped', 'stop', 'stops', 'stopping'), True, True)
    """
    word = word.casefold()
    spellings = [word]
    for base in _find_bases(word):
        past_forms = _PAST.get(base) or [_with_ed(base)]
        spellings += [base, _with_s(base), _with_ing(base), *past_forms]
    return tuple(dict.fromkeys(spellings))


def _find_bases(word: str) -> list[str]:
    """The base forms of which a word may be an inflected form.

    A word without a known ending is its own base form.
    """
    if word in BASE_OF:
        return [BASE_OF[word]]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and VOWELS & set(stem):
            return _find_bases_of_stem(stem, ending)
    if word.endswith("ies") and len(word) > 4:
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        bases = [word[:-1]]
        if word.endswith("es"):
            bases.append(word[:-2])
        return _keep_irregular(bases) or bases
    return [word]


def _find_bases_of_stem(stem: str, ending: str) -> list[str]:
    """The verbs whose forms may be a stem with -ing or -ed."""
    is_doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
    if is_doubled:
        bases = [stem[:-1]]
    elif ending == "ed" and stem[-1] == "i":
        bases = [f"{stem[:-1]}y"]
    else:
        bases = [stem]
    irregular_bases = _keep_irregular(bases)
    if irregular_bases:
        return irregular_bases
    return bases if is_doubled else [*bases, f"{stem}e"]


def _keep_irregular(words: list[str]) -> list[str]:
    """The base forms of those words that are forms of irregular verbs.

    Other words are left out.
    """
    return [BASE_OF[word] for word in words if word in BASE_OF]


def _with_s(base: str) -> str:
    """A base form with the ending -s, spelled correctly."""
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return f"{base[:-1]}ies"
    takes_es = base.endswith(("s", "x", "z", "ch", "sh", "o"))
    return f"{base}es" if takes_es else f"{base}s"


def _with_ing(base: str) -> str:
    """A base form with the ending -ing, spelled correctly."""
    if base.endswith("e") and not base.endswith(("ee", "oe")):
        return f"{base[:-1]}ing"
    return f"{_double_last_letter(base)}ing"


def _with_ed(base: str) -> str:
    """A base form with the ending -ed, spelled correctly."""
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return f"{base[:-1]}ied"
    if base.endswith("e"):
        return f"{base}d"
    return f"{_double_last_letter(base)}ed"


def _double_last_letter(base: str) -> str:
    """A short base form with its last letter doubled, as in "stopped".

    Other forms are unchanged.
    """
    has_two_consonants_first = base[0] not in VOWELS and base[1:2] not in VOWELS
    is_short = len(base) == 3 or (len(base) == 4 and has_two_consonants_first)
    ends_in_consonant = base[-1] not in "aeiouwxy"
    has_one_vowel_before = base[-2:-1] in VOWELS and base[-3:-2] not in VOWELS
    if is_short and ends_in_consonant and has_one_vowel_before:
        return base + base[-1]
    return base


BASE_OF: dict[str, str] = {}
"""The base of every form of an irregular verb."""
for _verb in _VERBS:
    _base = _verb[0]
    for _form in (_with_s(_base), _with_ing(_base), *_verb):
        BASE_OF[_form] = _base


def _list_forms_of(kind: str) -> frozenset[str]:
    """All forms of the words in one word list.

    `kind` is the list's name.
    """
    spellings: set[str] = set()
    for word in WORDS[kind]:
        spellings.update(forms(word))
    return frozenset(spellings)


TAKE_AN_INFINITIVE = _list_forms_of("take_an_infinitive")
COPULAS = _list_forms_of("copulas")
