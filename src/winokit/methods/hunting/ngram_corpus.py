"""A corpus behind an n-gram index (`models.ngram_index`) that can be asked what an index of sentences can.

What is asked of sentences becomes queries of n-grams, at most four to a clause: a word in more forms than that is asked
about in several queries. The documents that come back are cut into sentences, and those that do not match are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise, product
from typing import Annotated, Any

from winokit.errors import BadInput
from winokit.methods.hunting.search import (
    AllOf,
    AnyOf,
    Corpus,
    Hit,
    Near,
    Query,
    SentenceIndex,
    folded_words,
    sentence_matches,
)
from winokit.methods.scoring.cache import Cache, CacheFile, answer_all, open_cache
from winokit.methods.scoring.ledger import Spending
from winokit.models.base import Answer, Found, Lookup
from winokit.models.ngram_index import (
    INDEX_OPTIONS,
    MOST_DOCUMENTS,
    MOST_TERMS,
    PREFIX,
    NgramIndex,
    is_askable,
    load_index,
)
from winokit.models.registry import Spec
from winokit.problem import BLANK
from winokit.settings import Settings, Without
from winokit.text.words import WORD, sentences

NEAR_TOKENS = 60
"""Tokens between two clauses of one sentence, at most."""
GRAM, GRAM_STEP, SHORTEST_GRAM = 6, 3, 3
"""Words of an n-gram that tells a text, words between two of them, and words of the shortest one."""
LONGEST_GRAM = 200
"""Characters of such an n-gram."""
COMMON = 10_000
"""An n-gram that is found more often than this tells nothing by itself."""


class LookupsExhausted(BadInput):
    """A limit on requests is reached, so that something was not looked up."""


class NgramCorpus:
    """A corpus behind an n-gram index. What was found is remembered, and kept if there is a cache."""

    def __init__(self, index: NgramIndex, cache: Cache | None = None) -> None:
        self.index, self.cache, self.name = index, cache, index.spec
        self._found: dict[Lookup, Found] = {}

    @property
    def replayed(self) -> dict[str, Any]:
        """Counts and dates of what was looked up before, as in `results.json`; empty if nothing was."""
        return {} if self.cache is None else self.cache.ledger.replays.to_json().get(self.name, {})

    @property
    def notes(self) -> list[str]:
        """What was asked, and what was kept from before, a sentence each."""
        ledger = None if self.cache is None else self.cache.ledger
        return [] if ledger is None else [*ledger.notes, *ledger.replays.notes]

    @cached_property
    def fingerprint(self) -> str:
        """Everything that determines what is found, except for what the server says of itself."""
        return f"{self.index.fingerprint} documents {self.index.documents}"

    def count(self, query: Query, /) -> int:
        """How often a query is found; an estimate where its words are very frequent."""
        lookups = lookups_of(query)
        self.look_up(lookups)
        return sum(self._found_for(lookup).count for lookup in lookups)

    def search(self, query: Query, limit: int) -> list[Hit]:
        """The sentences that match a query, of a random sample of documents."""
        lookups = self.searches_of(query, limit)
        self.look_up(lookups)
        hits = (hit for lookup in lookups for hit in self._hits(lookup) if sentence_matches(query, hit.text))
        distinct: dict[str, Hit] = {}
        for hit in hits:
            distinct.setdefault(hit.text.casefold(), hit)
        return list(distinct.values())[:limit]

    def searches_of(self, query: Query, limit: int) -> list[Lookup]:
        """What is looked up to search for a query."""
        return [drawn for lookup in lookups_of(query) for drawn in self._drawings(lookup, limit)]

    def expect(self, texts: Sequence[str]) -> None:
        """Look up what `alike` needs for many texts: the counts of all their n-grams, then the documents."""
        self.look_up([count for text in texts for count in _gram_counts(text)])
        self.look_up([search for text in texts for search in self._alike_searches(text)])

    def alike(self, text: str) -> Iterator[Hit]:
        """Sentences with one of the rarest n-grams of a text, of a random sample of documents that have them."""
        self.expect([text])
        words = [set(folded_words(gram)) for gram in grams_of(text)]
        seen: set[str] = set()
        for lookup in self._alike_searches(text):
            for hit in self._hits(lookup):
                there = set(folded_words(hit.text))
                if hit.text not in seen and any(gram <= there for gram in words):
                    seen.add(hit.text)
                    yield hit

    def look_up(self, lookups: Iterable[Lookup]) -> None:
        """Ask for everything that is not known yet, together."""
        missing = [lookup for lookup in dict.fromkeys(lookups) if lookup not in self._found]
        if not missing:
            return
        for lookup, answer in self._answers(missing):
            if isinstance(answer, Found):
                self._found[lookup] = answer

    def _answers(self, missing: Sequence[Lookup]) -> Iterator[tuple[Lookup, Answer]]:
        """What the index or the cache says; without a cache, less where a limit is reached."""
        if self.cache is None:
            yield from ((missing[place], answer) for place, answer in self.index.answer(missing))
            return
        kept = answer_all(self.index, missing, self.cache)
        yield from ((lookup, kept[lookup]) for lookup in missing)

    def _found_for(self, lookup: Lookup) -> Found:
        if lookup not in self._found:
            raise LookupsExhausted(f"{self.name}: a limit on requests is reached; raise it to go on")
        return self._found[lookup]

    def _hits(self, lookup: Lookup) -> Iterator[Hit]:
        """All sentences of the documents that a lookup shows."""
        for text, source in self._found_for(lookup).documents:
            yield from (Hit(sentence, source) for sentence in sentences(text))

    def _drawings(self, lookup: Lookup, limit: int) -> Iterator[Lookup]:
        """A lookup that shows documents, as often as that takes: each shows others."""
        wanted = min(limit, self.index.documents)
        for draw, first in enumerate(range(0, wanted, MOST_DOCUMENTS)):
            yield replace(lookup, documents=min(wanted - first, MOST_DOCUMENTS), draw=draw)

    def _alike_searches(self, text: str) -> list[Lookup]:
        """What is looked up to find sentences like a text: its rarest n-gram, and that together with the second."""
        counts = [(self._found_for(lookup).count, lookup) for lookup in _gram_counts(text)]
        found = sorted((each for each in counts if each[0]), key=lambda each: each[0])
        chosen = []
        if found and found[0][0] <= COMMON:
            chosen.append(found[0][1])
        if len(found) > 1:
            chosen.append(Lookup((*found[0][1].clauses, *found[1][1].clauses)))
        return [replace(lookup, documents=MOST_DOCUMENTS) for lookup in chosen]


def lookups_of(query: Query) -> list[Lookup]:
    """A query as n-grams: several lookups where a clause has more terms than one may have.

    >>> lookups_of(AllOf(("could not", AnyOf(("lift", "carry")))))[0].clauses
    (('could not',), ('lift', 'carry'))
    """
    chunks = [_chunks(clause) for clause in _clauses(query)]
    if not all(chunks):
        return []
    return [Lookup(clauses, NEAR_TOKENS) for clauses in product(*chunks)]


def _clauses(query: Query) -> list[tuple[str, ...]]:
    match query:
        case str():
            return [(query,)]
        case AnyOf():
            return [query.phrases]
        case Near():
            return [query.one.phrases, query.other.phrases]
        case AllOf():
            return [clause for part in query.parts for clause in _clauses(part)]


def _chunks(terms: Sequence[str]) -> list[tuple[str, ...]]:
    askable = tuple(term for term in terms if is_askable(term))
    return [askable[start : start + MOST_TERMS] for start in range(0, len(askable), MOST_TERMS)]


def grams_of(text: str) -> list[str]:
    """N-grams that tell a text, as they are written, from either side of its blank.

    >>> grams_of("I poured water from the bottle into the cup until _ was full.")[:2]
    ['I poured water from the bottle', 'from the bottle into the cup']
    """
    words = list(WORD.finditer(text))
    places = [-1, *(place for place, word in enumerate(words) if word[0] == BLANK), len(words)]
    grams = []
    for before, after in pairwise(places):
        for first, last in _windows(before + 1, after):
            gram = text[words[first].start() : words[last].end()]
            if is_askable(gram) and len(gram) <= LONGEST_GRAM:
                grams.append(gram)
    return grams


def _windows(start: int, end: int) -> list[tuple[int, int]]:
    """The first and last word of each n-gram between two places."""
    if end - start < SHORTEST_GRAM:
        return []
    if end - start <= GRAM:
        return [(start, end - 1)]
    firsts = [*range(start, end - GRAM, GRAM_STEP), end - GRAM]
    return [(first, first + GRAM - 1) for first in firsts]


def _gram_counts(text: str) -> list[Lookup]:
    return [Lookup(((gram,),)) for gram in dict.fromkeys(grams_of(text))]


@dataclass(frozen=True)
class LookupSettings(Settings):
    """How a corpus behind a server is asked."""

    spending: Annotated[Spending, Without("dry_run", "price_in", "price_out", "max_tokens_total", "max_cost")] = (
        Spending()
    )
    cache: CacheFile = None

    @contextmanager
    def opened(self, given: "str | SentenceIndex | NgramCorpus") -> Iterator[Corpus]:
        """The corpus that a user names, with the answer cache if it is behind a server."""
        if isinstance(given, str) and is_remote(given):
            with open_cache(self.cache, self.spending) as cache:
                yield open_corpus(given, cache)
            return
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                raise BadInput(f"the answer cache and its limits are for a corpus behind a server, as {EXAMPLE}")
        yield open_corpus(given) if isinstance(given, str) else given


EXAMPLE = f"{PREFIX}:INDEX@URL"


def is_remote(place: str) -> bool:
    """Whether a corpus is behind a server: its SPEC begins with `infinigram:`."""
    return place.startswith(f"{PREFIX}:")


def open_corpus(place: str, cache: Cache | None = None) -> Corpus:
    """The corpus that a user names: an index that `winokit hunt index` made, or `infinigram:INDEX@URL?rate=5`."""
    if not is_remote(place):
        return SentenceIndex(place)
    spec = Spec.parse(place)
    spec.only(*INDEX_OPTIONS, of="corpora")
    return NgramCorpus(load_index(spec), cache)


def split_spec(spec: Spec, *own: str) -> tuple[str, dict[str, str]]:
    """The corpus that a model's SPEC names, and the model's own options: those of a server go with the corpus."""
    place = spec.place_or_fail("an index")
    known = (*own, *INDEX_OPTIONS) if is_remote(place) else own
    options = dict(spec.only(*known))
    of_corpus = {name: value for name, value in options.items() if name in INDEX_OPTIONS and is_remote(place)}
    prefix, _, name = place.partition(":") if is_remote(place) else ("", "", place)
    corpus = Spec(prefix, name, of_corpus).text if prefix else place
    return corpus, {name: value for name, value in options.items() if name not in of_corpus}
