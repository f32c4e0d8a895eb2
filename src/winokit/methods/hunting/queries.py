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
    """One clause of a problem, as it is searched for.

    It is a phrase word for word, or a head in any form, perhaps with a special word near it.
    """

    wording: str
    """The clause as it is stored with evidence; more than one word weighs double."""
    phrase: tuple[str, ...] = ()
    """Words that follow one another; empty if a head is sought."""
    anchor: int = 0
    """Index of the head in the phrase."""
    heads: tuple[str, ...] = ()
    """Words of which one must occur, in any form; empty if a phrase is sought."""
    near_words: tuple[str, ...] = ()

    @property
    def query(self) -> str | AnyOf | Near:
        """The clause as a query for the corpus."""
        if self.phrase:
            return self.wording
        heads = any_of(any_form(self.heads))
        if not self.near_words:
            return heads
        return Near(heads, any_of(any_form(self.near_words)), BESIDE)

    def __str__(self) -> str:
        if self.phrase:
            return f'"{self.wording}"'
        text = f"{' or '.join(self.heads)} (any form)"
        if self.near_words:
            text += f" near {' or '.join(self.near_words)} (any form)"
        return text

    def find(self, tokens: Sequence[WordToken]) -> list[tuple[int, int, int]]:
        """Places of the clause in a sentence, as (head, start, end).

        They are indices of tokens, the end exclusive.
        """
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
        """Place of the head at an index, with its special word.

        Empty if the special word is not near.
        """
        if not self.near_words:
            return [(head, head, head + 1)]
        near_forms = any_form(self.near_words)
        first = max(0, head - BESIDE - 1)
        end = min(len(tokens), head + BESIDE + 2)
        for index in range(first, end):
            if index != head and tokens[index].word in near_forms:
                return [(head, min(head, index), max(head, index) + 1)]
        return []


@dataclass(frozen=True, slots=True)
class QueryPair:
    """One query of a set, which searches for both clauses."""

    set: str
    context: Sought
    query: Sought

    @property
    def corpus_query(self) -> AllOf:
        """Query for sentences that have both clauses."""
        return AllOf((self.context.query, self.query.query))

    def __str__(self) -> str:
        return f"{self.context}, and {self.query}"


def query_sets(reading: ProblemReading, synonyms: Synonyms, sets: Sequence[str] = DEFAULT_SETS) -> list[QueryPair]:
    """Queries of a problem, from strict to loose.

    `sets` are the names of the sets to use. There is no query of the set `synonyms` if no word has a synonym, and none
    of `without` if the head is the special word.
    """
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
    """Synonyms of any form of a word, each once."""
    distinct: dict[str, None] = {}
    for form in forms(word):
        distinct |= dict.fromkeys(synonyms.get(form, ()))
    return list(distinct)


def _seek_whole(predicate: Predicate) -> Sought:
    """Search for a predicate word for word."""
    words = tuple(token.word for token in tokenise(predicate.text))
    return Sought(predicate.text, words, words.index(predicate.head))


def _seek_head(*heads: str) -> Sought:
    """Search for one of several heads, in any form.

    The first is the wording in evidence.
    """
    return Sought(heads[0], heads=heads)


def _seek_special(predicate: Predicate, of_head: Sequence[str], of_special: Sequence[str]) -> Sought:
    """Search for a predicate's head near its special word.

    Synonyms of either will do.

    If head and special word are the same, it is searched for alone.
    """
    heads = (predicate.head, *of_head)
    if predicate.head == predicate.special:
        return _seek_head(*heads)
    return Sought(f"{predicate.head} {predicate.special}", heads=heads, near_words=(predicate.special, *of_special))


@cache
def any_form(words: tuple[str, ...]) -> tuple[str, ...]:
    """All forms of some words, each once."""
    all_forms = chain.from_iterable(map(forms, words))
    return tuple(dict.fromkeys(all_forms))


def load_synonyms(where: str | None) -> Synonyms:
    """Load synonyms from a file.

    None is the built-in list, `off` is no synonyms.

    Each line of a file is a set of synonyms, with commas between words.
    """
    if where == "off":
        return {}
    path = files("winokit") / "assets" / "synonyms.txt" if where is None else Path(where)
    with refusing(f"{where}: cannot be read as a list of synonyms", OSError, UnicodeDecodeError):
        text = path.read_text("utf-8")
    return parse_synonyms(text.splitlines(), where or "synonyms.txt")


def parse_synonyms(lines: Iterable[str], name: str) -> Synonyms:
    """Map each word to the other words of its lines.

    A word may be in several lines. `name` is the file's name for errors. Raises Malformed for a line with one word.

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
