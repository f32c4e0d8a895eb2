"""Four sets of queries for a problem, from strict to loose.

A query is a pair of things sought in one sentence, one from each clause of the problem:

| set | of the context clause | of the query clause |
|---|---|---|
| `whole` | the whole predicate, word for word | the whole predicate, word for word |
| `heads` | its head, in any form | its head, in any form, near the special word |
| `synonyms` | the head or a synonym of it | the head near the special word, or synonyms of either |
| `without` | the head | the head without the special word, where they differ |

Emami et al. (2018) have sets of their own: predicates with modifiers, with WordNet synonyms, filtered, and by hand;
their lists were never released. `without` finds the same for both twins, so that it can settle one of them at most; it
is only used when asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path

from winokit.errors import Malformed, refusing
from winokit.methods.hunting.reading import Predicate, ProblemReading
from winokit.methods.hunting.search import AllOf, AnyOf, Near, any_of
from winokit.text.grammar import WordToken, forms, tokenise

SETS = ("whole", "heads", "synonyms", "without")
DEFAULT_SETS = SETS[:3]
BESIDE = 5
"""Maximal number of words between a head and its special word."""

Synonyms = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Sought:
    """One clause as it can be found in a sentence.

    It is a phrase, or a head and perhaps a word near it.
    """

    said: str
    """The clause as the decision knows it; more than one word weighs double."""
    phrase: tuple[str, ...] = ()
    anchor: int = 0
    """Index of the head in the phrase."""
    heads: tuple[str, ...] = ()
    """Words of which one is sought, in any form."""
    beside: tuple[str, ...] = ()

    @property
    def query(self) -> str | AnyOf | Near:
        """The query for the corpus."""
        if self.phrase:
            return self.said
        heads = any_of(any_form(self.heads))
        if not self.beside:
            return heads
        return Near(heads, any_of(any_form(self.beside)), BESIDE)

    def __str__(self) -> str:
        if self.phrase:
            return f'"{self.said}"'
        text = f"{' or '.join(self.heads)} (any form)"
        if self.beside:
            text += f" near {' or '.join(self.beside)} (any form)"
        return text

    def find(self, tokens: Sequence[WordToken]) -> list[tuple[int, int, int]]:
        """Places among the tokens of a sentence, each as (head, start, end)."""
        places = []
        if self.phrase:
            words = tuple(token.word for token in tokens)
            size = len(self.phrase)
            for start in range(len(words) - size + 1):
                if words[start : start + size] == self.phrase:
                    places.append((start + self.anchor, start, start + size))
            return places
        heads = any_form(self.heads)
        for index, token in enumerate(tokens):
            if token.word in heads:
                places += self._find_at(tokens, index)
        return places

    def _find_at(self, tokens: Sequence[WordToken], head: int) -> list[tuple[int, int, int]]:
        """The place of a head and the word near it, or an empty list."""
        if not self.beside:
            return [(head, head, head + 1)]
        near_words = any_form(self.beside)
        first = max(0, head - BESIDE - 1)
        end = min(len(tokens), head + BESIDE + 2)
        for index in range(first, end):
            if index != head and tokens[index].word in near_words:
                return [(head, min(head, index), max(head, index) + 1)]
        return []


@dataclass(frozen=True, slots=True)
class QueryPair:
    """One query of a set: parts of both clauses in one sentence."""

    set: str
    context: Sought
    query: Sought

    @property
    def asked(self) -> AllOf:
        """The query for the corpus."""
        return AllOf((self.context.query, self.query.query))

    def __str__(self) -> str:
        return f"{self.context}, and {self.query}"


def query_sets(reading: ProblemReading, synonyms: Synonyms, sets: Sequence[str] = DEFAULT_SETS) -> list[QueryPair]:
    """The queries of a problem, strict before loose."""
    context = reading.context
    query = reading.query
    of_context = _list_synonyms(context.head, synonyms)
    of_head = _list_synonyms(query.head, synonyms)
    of_special = _list_synonyms(query.special, synonyms)
    context_head = _seek_head(context.head)
    pairs = [
        QueryPair("whole", _seek_whole(context), _seek_whole(query)),
        QueryPair("heads", context_head, _seek_special(query, (), ())),
    ]
    if of_context or of_head or of_special:
        context_synonyms = _seek_head(context.head, *of_context)
        query_synonyms = _seek_special(query, of_head, of_special)
        pairs.append(QueryPair("synonyms", context_synonyms, query_synonyms))
    if query.head != query.special:
        pairs.append(QueryPair("without", context_head, _seek_head(query.head)))
    return [pair for pair in pairs if pair.set in sets]


def _list_synonyms(word: str, synonyms: Synonyms) -> list[str]:
    """The synonyms of all forms of a word, each once."""
    found: dict[str, None] = {}
    for form in forms(word):
        found |= dict.fromkeys(synonyms.get(form, ()))
    return list(found)


def _seek_whole(predicate: Predicate) -> Sought:
    words = tuple(token.word for token in tokenise(predicate.text))
    return Sought(predicate.text, words, words.index(predicate.head))


def _seek_head(*heads: str) -> Sought:
    return Sought(heads[0], heads=heads)


def _seek_special(predicate: Predicate, of_head: Sequence[str], of_special: Sequence[str]) -> Sought:
    """A predicate's head near its special word, each with its synonyms.

    If they are the same word, it is sought alone.
    """
    heads = (predicate.head, *of_head)
    if predicate.head == predicate.special:
        return _seek_head(*heads)
    return Sought(f"{predicate.head} {predicate.special}", heads=heads, beside=(predicate.special, *of_special))


@cache
def any_form(words: tuple[str, ...]) -> tuple[str, ...]:
    """The forms of some words, each once."""
    all_forms = chain.from_iterable(map(forms, words))
    return tuple(dict.fromkeys(all_forms))


def load_synonyms(where: str | None) -> Synonyms:
    """The synonyms of a file, of the built-in list, or none (`off`).

    A file has one set a line, with commas between words.
    """
    if where == "off":
        return {}
    path = files("winokit") / "assets" / "synonyms.txt" if where is None else Path(where)
    with refusing(f"{where}: cannot be read as a list of synonyms", OSError, UnicodeDecodeError):
        text = path.read_text("utf-8")
    return parse_synonyms(text.splitlines(), where or "synonyms.txt")


def parse_synonyms(lines: Iterable[str], name: str) -> Synonyms:
    """The other words of each word's set. A word may be in several sets.

    >>> parse_synonyms(["big, large", "# a remark", "large, roomy"], "list")["large"]
    ['big', 'roomy']
    """
    synonyms: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        text, _, _ = line.partition("#")
        words = [word.strip().casefold() for word in text.split(",") if word.strip()]
        if len(words) == 1:
            raise Malformed("expected two or more words with commas between", file=name, line=number)
        for word in words:
            others = [other for other in words if other != word]
            synonyms.setdefault(word, []).extend(others)
    return synonyms
