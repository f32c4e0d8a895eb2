"""The noun phrases of an English text: a part of speech for each word, then patterns over them.

Parts of speech come from closed classes and verbs (`grammar.py`), a word's ending and its neighbours: no model, so that
a text has the same phrases on every machine. A phrase is determiners, adjectives, nouns and names, with whatever they
own ("Joe's uncle"). The owner is a phrase too, and so are names inside a phrase and two phrases around "of" or "and".
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
"""Changes whenever the phrases of a text do: answers kept from before are then not taken for new ones."""
NAMES = re.compile("M+")
TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|[A-Z])\.")
ADJECTIVE = re.compile(r"\w{2,}(?:ful|ous|[ai]ble|less|ish|ical|est)")
INDEFINITE = re.compile("(?:some|every|any|no)(?:one|body|thing)|none|others|whom?")
ARTICLES = frozenset("the a an every no".split())
OBJECTS = frozenset("me him her us them you it".split())
SUBJECTS = frozenset("i we you he she they it who which that".split())
HAVE = frozenset("have has had having".split())
ADJECTIVES = WORDS["adjectives"]
NO_NOUNS = WORDS["no_nouns"]
NOUNS = frozenset[str]().union(*ENGLISH.beings.values())


@lru_cache(4096)
def noun_phrases(text: str) -> tuple[str, ...]:
    """The noun phrases of a text in order of place, pronouns left out.

    >>> noun_phrases("Joe's uncle can still beat him at tennis, though he is older than the men of his old club.")
    ('Joe', "Joe's uncle", 'tennis', 'the men', 'the men of his old club', 'his old club')
    """
    tokens = _tokens(text)
    kinds = ""
    for at in range(len(tokens)):
        kinds += _kind(tokens, at, kinds)
    phrases = [match.span() for match in PHRASE.finditer(kinds)]
    spans = {*phrases, *(match.span() for match in NAMES.finditer(kinds))}
    spans |= {(start, at) for start, end in phrases for at in range(start, end) if kinds[at] == "S"}
    spans |= {(start, end) for (start, left), (right, end) in pairwise(phrases) if kinds[left:right] in ("O", "C")}
    return tuple(text[tokens[start].start : tokens[end - 1].end] for start, end in sorted(spans))


def _tokens(text: str) -> list[WordToken]:
    """The tokens of a text, the period of a title or an initial with it."""
    tokens: list[WordToken] = []
    for token in grammar.tokenise(text):
        if token.word == "." and tokens and TITLE.fullmatch(text, tokens[-1].start, token.end):
            token = WordToken(tokens[-1].word, tokens.pop().start, token.end, capital=True)
        tokens.append(token)
    return tokens


def _kind(tokens: Sequence[WordToken], at: int, kinds: str) -> str:
    """The part of speech of a token, those of the tokens before it known."""
    token = tokens[at]
    word = tokens[at].word
    last = kinds[-1:] or "."
    before, after, beyond = (_word(tokens, place) for place in (at - 1, at + 1, at + 2))
    opens = _is_open(after)
    if word == "'s" or (word == "'" and before.endswith("s") and tokens[at - 1].end == token.start):
        gerund = after.endswith("ing") and after not in NOUNS and not _is_verb(beyond)
        owns = last in "NM" and opens and not gerund and not grammar.is_participle(after)
        return "S" if owns else "V" if word == "'s" else "."
    if not word[0].isalnum():
        return "X" if word in grammar.FUNCTION else "."
    if token.capital and _is_name(tokens, at, last):
        return "M"
    if word in ("of", "and"):
        return "O" if word == "of" else "C"
    if word in grammar.POSSESSIVES or word in ("what", "which"):
        return "D" if opens and not (word == "her" and _is_verb(after)) else "P"
    if word in grammar.PRONOUNS or INDEFINITE.fullmatch(word):
        return "P"
    if word == "that":
        return "D" if opens and (last == "R" or beyond in grammar.MARKS) else "J"
    if word in grammar.DETERMINERS or word.isdigit():
        return "D" if opens or word in ARTICLES else "P"
    if last in "DA" and (grammar.is_adverb(word) or word in ADJECTIVES | NO_NOUNS):
        return (
            "A" if opens and not _is_past(after) and word not in NO_NOUNS else "X" if grammar.is_adverb(word) else "N"
        )
    if word in grammar.AUXILIARIES:
        return "V"
    if word in grammar.PREPOSITIONS:
        return "R"
    if word in grammar.CONNECTIVES:
        return "J"
    if word in grammar.FUNCTION | NO_NOUNS or grammar.is_adverb(word):
        return "X"
    return _open_kind(tokens, at, kinds)


def _open_kind(tokens: Sequence[WordToken], at: int, kinds: str) -> str:
    """The part of speech of a word of no closed class: by where it stands, then by what it looks like."""
    word = tokens[at].word
    last = kinds[-1:] or "."
    before = _word(tokens, at - 1)
    after = _word(tokens, at + 1)
    opens = _is_open(after)
    verb_follows = _is_verb(after)
    past = _is_past(word)
    lead = next((token.word for token in reversed(tokens[:at]) if not grammar.is_aside(token.word)), ".")
    if last in "DA":
        describes = grammar.is_verb_like(word) or word.endswith(("ing", "ed")) or ADJECTIVE.fullmatch(word)
        return "A" if describes and opens and not _is_past(after) else "N"
    if word in NOUNS and not grammar.is_verb_like(word):
        return "N"
    if before == "to" or (lead in SUBJECTS and last in "PXJ"):
        return "V"
    if lead in grammar.AUXILIARIES and last in "VX" and (past or lead not in HAVE):
        if _word(tokens, at - 2) == "there":
            return "N"
        return "X" if lead in grammar.BE and not past and not word.endswith("ing") else "V"
    if word in ADJECTIVES or ADJECTIVE.fullmatch(word):
        return "A" if opens and not verb_follows and last not in "NM" else "X"
    if past or grammar.is_verb_like(word) or (word.endswith("ing") and len(word) > 4):
        return "N" if not past and verb_follows and last in "NMSRO" else "V"
    if last in "NM":
        return "V" if _is_finite(tokens, at) else "N"
    if last in "SCORV":
        return "X" if last == "V" and lead in grammar.COPULAS else "N"
    if last == "P":
        return "N" if before in OBJECTS else "V"
    listed = before == "," and kinds[-2:-1] == "N"
    return "N" if last in ".J" and (opens or verb_follows or after == "and" or listed) else "X"


def _is_name(tokens: Sequence[WordToken], at: int, last: str) -> bool:
    """Whether a word with a capital is a name: inside a sentence always, at its start where it is known or acts."""
    word = tokens[at].word
    after = _word(tokens, at + 1)
    if word == "i" or word in grammar.DETERMINERS:
        return False
    titled = tokens[at].end - tokens[at].start > len(word)
    if titled or last != "." or _word(tokens, at - 1) in (",", ";", ":", "—", "–", "(", ")"):
        return True
    if word in grammar.EMPTY | NO_NOUNS | ADJECTIVES:
        return False
    acts = _is_verb(after) or after in ("'s", "and") or after.endswith("s")
    return ENGLISH.gender_of(word.title()) is not None or (acts and not grammar.is_adverb(word))


def _is_finite(tokens: Sequence[WordToken], at: int) -> bool:
    """Whether a word after a noun is its verb: "Pete envies Martin", "ants crawl over it", "wants to"."""
    word, before, after = tokens[at].word, tokens[at - 1].word, _word(tokens, at + 1)
    if (word in grammar.TAKE_AN_INFINITIVE and after == "to") or (at + 1 < len(tokens) and tokens[at + 1].capital):
        return True
    ends_in_s, follows_plural = (form.endswith("s") and not form.endswith("ss") for form in (word, before))
    opened = after in grammar.DETERMINERS or after in grammar.PRONOUNS or after in ("to", "how", "that", "why", "where")
    return ends_in_s != follows_plural and (opened or (after in grammar.PREPOSITIONS and after != "of"))


def _word(tokens: Sequence[WordToken], at: int) -> str:
    """The word at a place; a period where the text has none."""
    return tokens[at].word if 0 <= at < len(tokens) else "."


def _is_open(word: str) -> bool:
    """Whether a word may be an adjective, a noun or a verb."""
    return word[0].isalnum() and word not in grammar.EMPTY and not INDEFINITE.fullmatch(word)


def _is_past(word: str) -> bool:
    """Whether a word is the past form of a verb."""
    base = grammar.BASE_OF.get(word)
    regular = word.endswith("ed") and len(word) > 3 and not word.endswith("eed") and word not in NOUNS
    return regular or (base not in (None, word) and not word.endswith(("s", "ing")))


def _is_verb(word: str) -> bool:
    """Whether a word looks like a verb, an auxiliary or its negation."""
    return word in grammar.AUXILIARIES or word == "n't" or _is_past(word) or grammar.is_verb_like(word)
