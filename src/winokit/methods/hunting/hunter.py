"""The Wino Knowledge Hunter on any corpus, and as a model: `hunter:INDEX`.

After Emami et al., "A Knowledge Hunting Framework for Common Sense Reasoning" (EMNLP 2018),
https://arxiv.org/abs/1810.01375: the predicates of a problem's clauses are looked for together in other people's
sentences, and whoever has the blank's part there, the agent or the patient, is chosen. Their evidence was never
released and came from a web search engine; ours comes from an index of the user's own text. Reading, queries and roles
are ours (`reading.py`, `queries.py`, `roles.py`, and `parse.py` where a file of parses is given); weights and decision
are those of their code (`roles.py`). A corpus far larger than any of one's own is asked over HTTP (`ngram_corpus.py`).

The candidates' names are never looked for, so that a hunter that answers at all keeps its choice of *role* when the
candidates change places.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from winokit.errors import check_known
from winokit.methods.hunting.ngram_corpus import NgramCorpus, open_corpus, split_spec
from winokit.methods.hunting.parse import read_parsed
from winokit.methods.hunting.queries import DEFAULT_SETS, SETS, QueryPair, Synonyms, load_synonyms, query_sets
from winokit.methods.hunting.reading import ProblemReading, read
from winokit.methods.hunting.roles import AGENT, Evidence, HuntDecision, decide, resolve
from winokit.methods.hunting.search import Corpus, Hit
from winokit.methods.hunting.served import ServedByCorpus
from winokit.models.base import Answer, Choose, Lookup, Request, Scores, cannot
from winokit.models.registry import Spec
from winokit.problem import NO_BLANK, Problem
from winokit.results import Brief
from winokit.text.english import ENGLISH
from winokit.text.language import language_of
from winokit.text.parses import open_parses
from winokit.text.words import WORD

RULES = "rules"
"""The parser that needs no file: our own grammar."""
LIMIT = 200
"""Sentences looked at for each query, best first."""
GRAMMAR = 1
"""Changes whenever reading, queries or roles do, so that answers kept from before are not taken for new ones."""
COPY = 0.8
"""Share of a problem's other words that make a sentence with both candidates a copy of the problem."""


@dataclass(repr=False)
class Hunt(Brief):
    """A problem with the queries, evidence and decision of a hunter.

    `choice` is the index of the chosen candidate. It is None for an abstention, and `why` has the reason.
    """

    problem: Problem
    reading: ProblemReading | None = None
    queries: list[tuple[QueryPair, int]] = field(default_factory=list)
    """Each query with the number of sentences it found."""
    evidence: list[Evidence] = field(default_factory=list)
    passed_over: list[tuple[Hit, str]] = field(default_factory=list)
    """Sentences that were found and are no evidence, and why."""
    decision: HuntDecision = field(default_factory=lambda: HuntDecision(0, 0))
    choice: int | None = None
    why: str | None = None
    parser: str = RULES
    examples: int = 5
    """Number of sentences to show for each side."""


def is_copy(text: str, problem: Problem) -> bool:
    """Whether a sentence is a copy of a problem.

    It names every candidate and has at least 80 % of the problem's other words.
    """
    if not all(ENGLISH.mention_places(text, candidate) for candidate in problem.candidates):
        return False
    name_words: set[str] = set()
    for candidate in problem.candidates:
        name_words.update(WORD.findall(ENGLISH.bare(candidate)))
    problem_words = WORD.findall(problem.text.casefold())
    other_words = [word for word in problem_words if word not in name_words and word != "_"]
    text_words = set(WORD.findall(text.casefold()))
    shared_count = sum(word in text_words for word in other_words)
    return shared_count >= COPY * len(other_words)


def scores(result: Hunt, candidates: int) -> tuple[float, ...]:
    """One number per candidate: the evidence for its role.

    `candidates` is the number of candidates. One with neither role has 0. The patient gets half a point more, so that
    the highest score is the choice even if both roles have equal evidence.
    """
    values = [0.0] * candidates
    if result.reading is not None:
        values[result.reading.agent] = float(result.decision.agent)
        values[result.reading.patient] = result.decision.patient + 0.5
    return tuple(values)


class Hunter:
    """A model that chooses the candidate whose role has more evidence.

    Evidence are sentences of a corpus.

    `sets` are the sets of queries to use, `limit` is the number of sentences looked at for each query, and `parser`
    is `rules` or a file of parses.
    """

    kind = "any"
    can: frozenset[type] = frozenset({Choose})

    def __init__(
        self,
        corpus: Corpus,
        *,
        spec: str = "hunter",
        sets: Sequence[str] = DEFAULT_SETS,
        synonyms: Synonyms | None = None,
        limit: int = LIMIT,
        parser: str = RULES,
    ) -> None:
        for name in sets:
            check_known("set of queries", name, SETS)
        self.corpus = corpus
        self.spec = spec
        self.sets = tuple(sets)
        self.limit = limit
        self.synonyms = load_synonyms(None) if synonyms is None else synonyms
        self.parses = None if parser == RULES else open_parses(Path(parser))
        self.reads_by = RULES if self.parses is None else self.parses.name
        settings = (GRAMMAR, self.reads_by, "evidence", self.sets, limit, sorted(map(str, self.synonyms.items())))
        self.fingerprint = f"hunter {corpus.fingerprint} {settings}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Score the candidates of each problem, in the order of the requests.

        Yields the index of a request and its scores, and scores without values say why. Raises BadInput for a request
        that is no choice.
        """
        for index, request in enumerate(requests):
            if not isinstance(request, Choose):
                raise cannot(self, request)
            problem = problem_of(request)
            result = self.hunt(problem)
            values = None if result.choice is None else scores(result, len(problem.candidates))
            yield index, Scores(values, result.why)

    def read(self, problem: Problem) -> ProblemReading | str:
        """Take a problem apart, or say why that fails."""
        unread = NO_BLANK if problem.is_whole else language_of(problem.language).refusal("hunting")
        return unread or (read(problem) if self.parses is None else read_parsed(problem, self.parses))

    def hunt(self, problem: Problem) -> Hunt:
        """Search the corpus for evidence on a problem, and decide.

        Problems are read by our own grammar, unless the hunter has a file of parses.
        """
        result = Hunt(problem, parser=self.reads_by)
        reading = self.read(problem)
        if isinstance(reading, str):
            result.why = reading
            return result
        result.reading = reading
        seen: set[str] = set()
        for pair in query_sets(reading, self.synonyms, self.sets):
            hits = self.corpus.search(pair.corpus_query, self.limit)
            result.queries.append((pair, len(hits)))
            for hit in hits:
                if hit.text.casefold() in seen:
                    continue
                seen.add(hit.text.casefold())
                copied = "a copy of the problem" if is_copy(hit.text, problem) else None
                evidence = copied or resolve(hit.text, reading, pair)
                if isinstance(evidence, str):
                    result.passed_over.append((hit, evidence))
                else:
                    result.evidence.append(replace(evidence, source=hit.source))
        result.decision = decide(result.evidence)
        if result.decision.role is None:
            result.why = "no evidence"
        else:
            result.choice = reading.agent if result.decision.role == AGENT else reading.patient
        return result


def problem_of(request: Choose) -> Problem:
    """The problem that a request asks about, without its answer."""
    return Problem(request.before, request.after, request.candidates, pronoun=request.pronoun, query=request.query)


class ServedHunter(ServedByCorpus, Hunter):
    """A hunter whose corpus is behind a server."""

    corpus: NgramCorpus

    def lookups_for(self, request: Choose) -> list[Lookup]:
        """Lookups on the server that hunting for a problem needs.

        Empty if the problem cannot be read.
        """
        reading = self.read(problem_of(request))
        if isinstance(reading, str):
            return []
        lookups: list[Lookup] = []
        for pair in query_sets(reading, self.synonyms, self.sets):
            lookups += self.corpus.searches_of(pair.corpus_query, self.limit)
        return lookups


def load(spec: Spec) -> Hunter:
    """Load the hunter of a SPEC: `hunter:INDEX?sets=whole,heads&synonyms=FILE&limit=500&parser=FILE`."""
    index, options = split_spec(spec, "sets", "synonyms", "limit", "parser")
    corpus = open_corpus(index)
    kind = ServedHunter if isinstance(corpus, NgramCorpus) else Hunter
    return kind(
        corpus,
        spec=str(spec),
        sets=options["sets"].split(",") if "sets" in options else DEFAULT_SETS,
        synonyms=load_synonyms(options.get("synonyms")),
        limit=spec.number("limit", LIMIT, least=1),
        parser=options.get("parser", RULES),
    )
