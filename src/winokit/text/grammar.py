"""The small English the hunter knows: closed classes of words, forms of a word, and tokens with their places.

No tagger, no parser: a hunter of a few hundred lines that anyone can follow, and that reads the same on every machine.
Forms are over-generated ("larged"), which costs nothing: what nobody writes is not found.
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
    """A word or a mark of a text, lower-cased, with its place there."""

    word: str
    start: int
    end: int
    capital: bool = False


def tokenise(text: str) -> list[WordToken]:
    """The tokens of a text: "couldn't" is two, "he's" is two, marks stand alone."""
    return [
        WordToken(match.group().casefold().replace("’", "'"), match.start(), match.end(), match.group()[0].isupper())
        for match in TOKEN.finditer(text)
    ]


def is_verb_like(word: str) -> bool:
    """Whether a word looks like a verb by itself: a known irregular one, or one that ends in -ed."""
    return word in BASE_OF or (word.endswith("ed") and len(word) > 4)


def is_participle(word: str) -> bool:
    """Whether a word could be a past participle, as in a passive."""
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 3)


def is_adverb(word: str) -> bool:
    """Whether a word may stand between a subject and its verb without being either."""
    return word in ADVERBS or (word.endswith("ly") and len(word) > 4 and word not in ("family", "belly", "reply"))


def is_aside(word: str) -> bool:
    """Whether a word may stand between a verb and what it goes with: a negation or an adverb."""
    return word in NEGATIONS or is_adverb(word)


def goes_with_a_verb(word: str) -> bool:
    """Whether a word may stand between a subject and its verb: an auxiliary, a negation or an adverb."""
    return word in AUXILIARIES or is_aside(word)


@cache
def forms(word: str) -> tuple[str, ...]:
    """A word and the forms it may take, itself first: those of a verb, which cover a noun's plural.

    >>> forms("stopped")[:4], "threw" in forms("throwing"), "carries" in forms("carry")
    (('stopped', 'stop', 'stops', 'stopping'), True, True)
    """
    word = word.casefold()
    spellings = [word]
    for base in _bases(word):
        past = _PAST.get(base)
        spellings += [base, _with_s(base), _with_ing(base), *(past if past else [_with_ed(base)])]
    return tuple(dict.fromkeys(spellings))


def _bases(word: str) -> list[str]:
    """What a word may be a form of."""
    if word in BASE_OF:
        return [BASE_OF[word]]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and VOWELS & set(stem):
            doubled = len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz"
            bases = [stem[:-1]] if doubled else [f"{stem[:-1]}y"] if ending == "ed" and stem[-1] == "i" else [stem]
            known = [BASE_OF[base] for base in bases if base in BASE_OF]
            return known or [*bases, *([] if doubled else [f"{stem}e"])]
    if word.endswith("ies") and len(word) > 4:
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        bases = [word[:-1], *([word[:-2]] if word.endswith("es") else [])]
        return [BASE_OF[base] for base in bases if base in BASE_OF] or bases
    return [word]


def _with_s(base: str) -> str:
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{base}s"


def _with_ing(base: str) -> str:
    if base.endswith("e") and not base.endswith(("ee", "oe")):
        return f"{base[:-1]}ing"
    return f"{_doubled(base)}ing"


def _with_ed(base: str) -> str:
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return f"{base[:-1]}ied"
    return f"{base}d" if base.endswith("e") else f"{_doubled(base)}ed"


def _doubled(base: str) -> str:
    """A short base with its last letter doubled, as in stopped."""
    short = len(base) == 3 or (len(base) == 4 and base[0] not in VOWELS and base[1] not in VOWELS)
    closed = base[-1] not in "aeiouwxy" and base[-2:-1] in VOWELS and base[-3:-2] not in VOWELS
    return base + base[-1] if short and closed else base


BASE_OF = {form: verb[0] for verb in _VERBS for form in (_with_s(verb[0]), _with_ing(verb[0]), *verb)}
"""Every form of an irregular verb to its base."""
TAKE_AN_INFINITIVE, COPULAS = (
    frozenset(form for word in WORDS[kind] for form in forms(word)) for kind in ("take_an_infinitive", "copulas")
)
