"""What to look for: four sets of queries, from strict to loose.

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
from pathlib import Path

from winokit.errors import Malformed, refusing
from winokit.methods.hunting.reading import Predicate, ProblemReading
from winokit.methods.hunting.search import AllOf, AnyOf, Near, any_of
from winokit.text.grammar import WordToken, forms, tokenise

SETS = ("whole", "heads", "synonyms", "without")
DEFAULT_SETS = SETS[:3]
BESIDE = 5
"""How many words may stand between a head and its special word."""

Synonyms = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Sought:
    """One clause as something that can be found in a sentence: a phrase, or a head and perhaps a word beside it."""

    said: str
    """The clause as the decision knows it; more than one word weighs double."""
    phrase: tuple[str, ...] = ()
    anchor: int = 0
    """Where the head stands in the phrase."""
    heads: tuple[str, ...] = ()
    """Words of which one is sought, in any form."""
    beside: tuple[str, ...] = ()

    @property
    def query(self) -> str | AnyOf | Near:
        """What the corpus is asked."""
        if self.phrase:
            return self.said
        heads = any_of(any_form(self.heads))
        return Near(heads, any_of(any_form(self.beside)), BESIDE) if self.beside else heads

    def __str__(self) -> str:
        if self.phrase:
            return f'"{self.said}"'
        heads = " or ".join(self.heads)
        beside = " or ".join(self.beside)
        return f"{heads} (any form)" + (f" near {beside} (any form)" if beside else "")

    def find(self, tokens: Sequence[WordToken]) -> list[tuple[int, int, int]]:
        """Where it stands among the tokens of a sentence: (head, start, end) of each place."""
        if self.phrase:
            words = [token.word for token in tokens]
            size = len(self.phrase)
            starts = (i for i in range(len(words) - size + 1) if tuple(words[i : i + size]) == self.phrase)
            return [(start + self.anchor, start, start + size) for start in starts]
        heads = any_form(self.heads)
        return [place for i, token in enumerate(tokens) if token.word in heads for place in self._at(tokens, i)]

    def _at(self, tokens: Sequence[WordToken], head: int) -> list[tuple[int, int, int]]:
        if not self.beside:
            return [(head, head, head + 1)]
        beside = any_form(self.beside)
        near = range(max(0, head - BESIDE - 1), min(len(tokens), head + BESIDE + 2))
        other = next((i for i in near if i != head and tokens[i].word in beside), None)
        return [] if other is None else [(head, min(head, other), max(head, other) + 1)]


@dataclass(frozen=True, slots=True)
class QueryPair:
    """One query of a set: something of the context clause and something of the query clause, in one sentence."""

    set: str
    context: Sought
    query: Sought

    @property
    def asked(self) -> AllOf:
        """What the corpus is asked."""
        return AllOf((self.context.query, self.query.query))

    def __str__(self) -> str:
        return f"{self.context}, and {self.query}"


def query_sets(reading: ProblemReading, synonyms: Synonyms, sets: Sequence[str] = DEFAULT_SETS) -> list[QueryPair]:
    """The queries of a problem, strict before loose."""
    context = reading.context
    query = reading.query
    of_context, of_head, of_special = (
        list(dict.fromkeys(other for form in forms(word) for other in synonyms.get(form, ())))
        for word in (context.head, query.head, query.special)
    )
    pairs = [
        QueryPair("whole", _whole(context), _whole(query)),
        QueryPair("heads", _head(context.head), _special(query, (), ())),
    ]
    if of_context or of_head or of_special:
        pairs.append(QueryPair("synonyms", _head(context.head, *of_context), _special(query, of_head, of_special)))
    if query.head != query.special:
        pairs.append(QueryPair("without", _head(context.head), _head(query.head)))
    return [pair for pair in pairs if pair.set in sets]


def _whole(predicate: Predicate) -> Sought:
    words = tuple(token.word for token in tokenise(predicate.text))
    return Sought(predicate.text, words, words.index(predicate.head))


def _head(*heads: str) -> Sought:
    return Sought(heads[0], heads=heads)


def _special(predicate: Predicate, of_head: Sequence[str], of_special: Sequence[str]) -> Sought:
    """A predicate's head with its special word beside it, or alone where they are one, each with its synonyms."""
    heads = (predicate.head, *of_head)
    if predicate.head == predicate.special:
        return _head(*heads)
    return Sought(f"{predicate.head} {predicate.special}", heads=heads, beside=(predicate.special, *of_special))


@cache
def any_form(words: tuple[str, ...]) -> tuple[str, ...]:
    """The forms of some words, each once."""
    return tuple(dict.fromkeys(form for word in words for form in forms(word)))


def load_synonyms(where: str | None) -> Synonyms:
    """The synonyms of a file (one set a line, words with commas between), of the built-in list, or none (`off`)."""
    if where == "off":
        return {}
    with refusing(f"{where}: cannot be read as a list of synonyms", OSError, UnicodeDecodeError):
        text = (files("winokit") / "assets" / "synonyms.txt" if where is None else Path(where)).read_text("utf-8")
    return parse_synonyms(text.splitlines(), where or "synonyms.txt")


def parse_synonyms(lines: Iterable[str], name: str) -> Synonyms:
    """Each word to the others of its set; a word may be in several.

    >>> parse_synonyms(["big, large", "# a remark", "large, roomy"], "list")["large"]
    ['big', 'roomy']
    """
    synonyms: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        words = [word.strip().casefold() for word in line.split("#")[0].split(",") if word.strip()]
        if len(words) == 1:
            raise Malformed("expected two or more words with commas between", file=name, line=number)
        for word in words:
            synonyms.setdefault(word, []).extend(other for other in words if other != word)
    return synonyms
