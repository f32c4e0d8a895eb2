"""A corpus behind an n-gram index (`models.ngram_index`) that can be asked what an index of sentences can.

What is asked of sentences becomes queries of n-grams, at most four to a clause: a word in more forms than that is asked
about in several queries. The documents that come back are cut into sentences, and those that do not match are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise, product
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
from winokit.settings import Help, Settings, Without
from winokit.text.words import WORD, sentences

NEAR_TOKENS = 60
"""Tokens between two clauses of one sentence, at most."""
GRAM = 6
GRAM_STEP = 3
SHORTEST_GRAM = 3
"""Words of an n-gram that identifies a text, words between the starts of two, and words of the shortest one."""
LONGEST_GRAM = 200
"""Characters of such an n-gram."""
COMMON = 10_000
"""An n-gram that is found more often than this says nothing by itself."""


class LookupsExhausted(BadInput):
    """A limit on requests is reached, and a lookup was not made."""


class NgramCorpus:
    """A corpus behind an n-gram index on a server.

    Results of lookups are kept in memory, and on disk if there is a cache.
    """

    def __init__(self, index: NgramIndex, cache: Cache | None = None) -> None:
        self.index = index
        self.cache = cache
        self.name = index.spec
        self._found: dict[Lookup, Found] = {}

    @property
    def replayed(self) -> dict[str, Any]:
        """Counts and dates of lookups answered from the cache, as in `results.json`.

        It is empty if there were none.
        """
        return {} if self.cache is None else self.cache.ledger.replays.to_json().get(self.name, {})

    @property
    def notes(self) -> list[str]:
        """Sentences on requests made and on answers from the cache."""
        ledger = None if self.cache is None else self.cache.ledger
        return [] if ledger is None else [*ledger.notes, *ledger.replays.notes]

    @cached_property
    def fingerprint(self) -> str:
        """Text that identifies the index and the number of documents per search.

        What the server says of its version is not part of it.
        """
        return f"{self.index.fingerprint} documents {self.index.documents}"

    def count(self, query: Query, /) -> int:
        """Number of places in the corpus that match a query.

        It is an estimate if the words are very frequent, and 0 if a part of the query has no term that the index can
        look up. Raises LookupsExhausted if a limit on requests is reached.
        """
        lookups = lookups_of(query)
        self.look_up(lookups)
        return sum(self._get_found(lookup).count for lookup in lookups)

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Up to `limit` distinct sentences that match a query.

        They are from a random sample of documents. Raises LookupsExhausted if a limit on requests is reached.
        """
        lookups = self.searches_of(query, limit)
        self.look_up(lookups)
        distinct: dict[str, Hit] = {}
        for hit in chain.from_iterable(map(self._read_hits, lookups)):
            if sentence_matches(query, hit.text):
                distinct.setdefault(hit.text.casefold(), hit)
        return list(distinct.values())[:limit]

    def searches_of(self, query: Query, limit: int) -> list[Lookup]:
        """Lookups that a search for a query makes."""
        searches: list[Lookup] = []
        for lookup in lookups_of(query):
            searches += self._draw_documents(lookup, limit)
        return searches

    def expect(self, texts: Sequence[str]) -> None:
        """Make the lookups that `alike` will need for many texts, together.

        These are the counts of all their n-grams, then the documents with the rarest ones.
        """
        self.look_up(chain.from_iterable(map(_count_grams, texts)))
        self.look_up(chain.from_iterable(map(self._choose_searches, texts)))

    def alike(self, text: str) -> Iterator[Hit]:
        """Distinct sentences that may contain a text or most of it.

        They have all words of one of its n-grams, and are from a random sample of the documents with its rarest
        n-grams.
        """
        self.expect([text])
        gram_words = [set(folded_words(gram)) for gram in grams_of(text)]
        yielded_texts: set[str] = set()
        for hit in chain.from_iterable(map(self._read_hits, self._choose_searches(text))):
            hit_words = set(folded_words(hit.text))
            if hit.text not in yielded_texts and any(words <= hit_words for words in gram_words):
                yielded_texts.add(hit.text)
                yield hit

    def look_up(self, lookups: Iterable[Lookup]) -> None:
        """Make all lookups that are not known yet, and remember their results.

        They come from the cache or from the server. A lookup that a limit on requests prevents is left out.
        """
        missing = [lookup for lookup in dict.fromkeys(lookups) if lookup not in self._found]
        if not missing:
            return
        for lookup, answer in self._ask_index(missing):
            if isinstance(answer, Found):
                self._found[lookup] = answer

    def _ask_index(self, missing: Sequence[Lookup]) -> Iterator[tuple[Lookup, Answer]]:
        """Yield results from the cache or the server for lookups.

        Without a cache, lookups beyond a limit on requests have no result.
        """
        if self.cache is None:
            yield from ((missing[place], answer) for place, answer in self.index.answer(missing))
            return
        answers = answer_all(self.index, missing, self.cache)
        yield from ((lookup, answers[lookup]) for lookup in missing)

    def _get_found(self, lookup: Lookup) -> Found:
        """Result of a lookup. Raises LookupsExhausted if a limit prevented it."""
        if lookup not in self._found:
            raise LookupsExhausted(f"{self.name}: a limit on requests is reached; raise it to go on")
        return self._found[lookup]

    def _read_hits(self, lookup: Lookup) -> Iterator[Hit]:
        """Yield all sentences of the documents that a lookup returned."""
        for text, source in self._get_found(lookup).documents:
            for sentence in sentences(text):
                yield Hit(sentence, source)

    def _draw_documents(self, lookup: Lookup, limit: int) -> Iterator[Lookup]:
        """Yield copies of a lookup that together return `limit` documents.

        Each returns a different random sample, since one lookup returns few documents.
        """
        document_count = min(limit, self.index.documents)
        for draw, first in enumerate(range(0, document_count, MOST_DOCUMENTS)):
            yield replace(lookup, documents=min(document_count - first, MOST_DOCUMENTS), draw=draw)

    def _choose_searches(self, text: str) -> list[Lookup]:
        """Lookups of documents that may contain a text.

        They ask for its rarest n-gram, unless that is common, and for its two rarest together.
        """
        counts = {lookup: self._get_found(lookup).count for lookup in _count_grams(text)}
        rarest = sorted((lookup for lookup in counts if counts[lookup]), key=counts.__getitem__)[:2]
        searches = []
        if rarest and counts[rarest[0]] <= COMMON:
            searches.append(replace(rarest[0], documents=MOST_DOCUMENTS))
        if len(rarest) == 2:
            both = (*rarest[0].clauses, *rarest[1].clauses)
            searches.append(Lookup(both, documents=MOST_DOCUMENTS))
        return searches


def lookups_of(query: Query) -> list[Lookup]:
    """Convert a query to lookups of n-grams, which together cover it.

    There are several if a clause has more terms than one lookup may have, and none if a clause has no term that can
    be looked up.

    >>> lookups_of(AllOf(("could not", AnyOf(("lift", "carry")))))[0].clauses
    (('could not',), ('lift', 'carry'))
    """
    chunks = [_split_terms(clause) for clause in _take_clauses(query)]
    if not all(chunks):
        return []
    return [Lookup(clauses, NEAR_TOKENS) for clauses in product(*chunks)]


def _take_clauses(query: Query) -> list[tuple[str, ...]]:
    """Clauses of a query, each a tuple of alternative phrases.

    All clauses must occur, each with one of its phrases.
    """
    match query:
        case str():
            return [(query,)]
        case AnyOf():
            return [query.phrases]
        case Near():
            return [query.one.phrases, query.other.phrases]
        case AllOf():
            return list(chain.from_iterable(map(_take_clauses, query.parts)))


def _split_terms(terms: Sequence[str]) -> list[tuple[str, ...]]:
    """Split terms into groups that fit into one clause.

    Terms that cannot be looked up are dropped.
    """
    askable = tuple(term for term in terms if is_askable(term))
    return [askable[start : start + MOST_TERMS] for start in range(0, len(askable), MOST_TERMS)]


def grams_of(text: str) -> list[str]:
    """Overlapping n-grams of a text as written.

    They have six words, and begin every three words.

    None of them spans the blank. A side of the blank with three to six words is one n-gram.

    >>> grams_of("I poured water from the bottle into the cup until _ was full.")[:2]
    ['I poured water from the bottle', 'from the bottle into the cup']
    """
    words = list(WORD.finditer(text))
    places = [-1, *(place for place, word in enumerate(words) if word[0] == BLANK), len(words)]
    grams = []
    for before, after in pairwise(places):
        for first, last in _place_windows(before + 1, after):
            gram = text[words[first].start() : words[last].end()]
            if is_askable(gram) and len(gram) <= LONGEST_GRAM:
                grams.append(gram)
    return grams


def _place_windows(start: int, end: int) -> list[tuple[int, int]]:
    """Index of the first and the last word of each n-gram.

    `start` is the first word that n-grams may have, `end` the one after the last.
    """
    if end - start < SHORTEST_GRAM:
        return []
    if end - start <= GRAM:
        return [(start, end - 1)]
    firsts = [*range(start, end - GRAM, GRAM_STEP), end - GRAM]
    return [(first, first + GRAM - 1) for first in firsts]


def _count_grams(text: str) -> list[Lookup]:
    """Lookups that count each n-gram of a text."""
    return [Lookup(((gram,),)) for gram in dict.fromkeys(grams_of(text))]


@dataclass(frozen=True)
class CorpusSettings(Settings):
    """A corpus, with limits and the cache if it has a server."""

    corpus: Annotated[
        str | SentenceIndex | NgramCorpus | None,
        Help(
            "An index of text (`winokit hunt index`), or infinigram:INDEX@URL: which problems appear in it?",
            "INDEX",
            typed=str,
        ),
    ] = None
    spending: Annotated[Spending, Without("dry_run", "price_in", "price_out", "max_tokens_total", "max_cost")] = (
        Spending()
    )
    cache: CacheFile = None

    def __post_init__(self) -> None:
        super().__post_init__()
        is_default = self.spending == Spending() and self.cache is None
        if not is_default and not (isinstance(self.corpus, str) and is_remote(self.corpus)):
            raise BadInput(f"the answer cache and its limits are for a corpus behind a server, as --corpus {EXAMPLE}")

    @contextmanager
    def opened(self) -> Iterator[Corpus | None]:
        """Open the corpus inside the context, or yield None without one.

        A corpus behind a server uses the answer cache.
        """
        if isinstance(self.corpus, str) and is_remote(self.corpus):
            with open_cache(self.cache, self.spending) as cache:
                yield open_corpus(self.corpus, cache)
        else:
            yield open_corpus(self.corpus) if isinstance(self.corpus, str) else self.corpus


EXAMPLE = f"{PREFIX}:INDEX@URL"


def is_remote(place: str) -> bool:
    """Whether a corpus is behind a server, by its prefix `infinigram:`."""
    return place.startswith(f"{PREFIX}:")


def open_corpus(place: str, cache: Cache | None = None) -> Corpus:
    """Open the corpus that a user names.

    `place` is a file made by `winokit hunt index`, or `infinigram:INDEX@URL?rate=5`.
    """
    if not is_remote(place):
        return SentenceIndex(place)
    spec = Spec.parse(place)
    spec.only(*INDEX_OPTIONS, of="corpora")
    return NgramCorpus(load_index(spec), cache)


def split_spec(spec: Spec, *own: str) -> tuple[str, Mapping[str, str]]:
    """Split a model's SPEC into its corpus and the model's own options.

    `own` are the names of those options; options of a server stay with the corpus. Raises BadInput for any other
    option.
    """
    corpus = spec.place_or_fail("an index")
    if not is_remote(corpus):
        return corpus, spec.only(*own)
    options = spec.only(*own, *INDEX_OPTIONS)
    of_server = {name: value for name, value in options.items() if name in INDEX_OPTIONS}
    of_model = {name: value for name, value in options.items() if name not in INDEX_OPTIONS}
    prefix, _, index = corpus.partition(":")
    return Spec(prefix, index, of_server).text, of_model
