"""Word association in a corpus: `association:INDEX`, a baseline that reads nothing but the blank's own clause.

A problem is associative (Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language
Understanding", 2018, https://arxiv.org/abs/1811.01778) if the words around its blank go with one candidate more than
with the other, whatever happens in the text. They asked people; this counts. A candidate's score is the mean, over the
content words of the part with the blank (part-sent), of

    log((n(candidate and word) + 1/2) / (n(candidate) + 1)),

which differs from pointwise mutual information by a constant that all candidates share. People's names go with no word,
so that problems about people are abstained from.
"""

from collections.abc import Iterator, Sequence
from math import fsum, log

from winokit.methods.hunting.hunter import problem_of
from winokit.methods.hunting.ngram_corpus import NgramCorpus, lookups_of, open_corpus, split_spec
from winokit.methods.hunting.search import AllOf, AnyOf, Corpus, Query
from winokit.methods.hunting.served import ServedByCorpus
from winokit.methods.transforms.part_sent import part_sent
from winokit.models.base import Answer, Choose, Lookup, Request, Scores, cannot
from winokit.models.registry import Spec
from winokit.problem import NO_BLANK, Problem
from winokit.text import grammar
from winokit.text.english import ENGLISH
from winokit.text.language import language_of

COUNTING = 1
"""Part of the fingerprint: to be raised whenever the same counts are used differently."""


class Association:
    """A model that counts which words go together."""

    kind = "any"
    can: frozenset[type] = frozenset({Choose})

    def __init__(self, corpus: Corpus, *, spec: str = "association") -> None:
        self.corpus, self.spec = corpus, spec
        self.fingerprint = f"association {COUNTING} {corpus.fingerprint}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Count for each problem, in the order asked."""
        for index, request in enumerate(requests):
            if not isinstance(request, Choose):
                raise cannot(self, request)
            yield index, self.judge(problem_of(request))

    def judge(self, problem: Problem) -> Scores:
        """How much each candidate goes with the words of the blank's clause, or why nothing can be said."""
        asked = read_association(problem)
        if isinstance(asked, str):
            return Scores(None, asked)
        names, words = asked
        alone = [self.corpus.count(name) for name in names]
        together = [[self.corpus.count(both_of(name, word)) for word in words] for name in names]
        if not all(alone):
            return Scores(None, f"the corpus does not have {names[alone.index(0)]!r}")
        if not any(map(any, together)):
            return Scores(None, "no word around the blank goes with any candidate")
        return Scores(tuple(association(own, counts) for own, counts in zip(alone, together, strict=True)))


def association(alone: int, together: Sequence[int]) -> float:
    """Mean logarithm of the share of a candidate's occurrences that are near a word.

    >>> round(association(99, [0, 9]), 2)
    -3.77
    """
    return fsum(log((count + 0.5) / (alone + 1)) for count in together) / len(together)


def read_association(problem: Problem) -> tuple[list[str], list[str]] | str:
    """The candidates as they are counted and the content words of the part with the blank, or why there are none."""
    refusal = NO_BLANK if problem.is_whole else language_of(problem.language).refusal("hunting")
    if refusal or problem.query is not None:
        return refusal or "a yes/no judgement"
    names = [ENGLISH.core(candidate) for candidate in problem.candidates]
    if any(ENGLISH.gender_of(name) for name in names):
        return "a person's name goes with no word"
    part = part_sent(problem)
    text = problem.text if isinstance(part, str) else part.text
    own = {word.word for name in names for word in grammar.tokenise(name)}
    found = [token.word for token in grammar.tokenise(text) if token.word not in own and token.word != "_"]
    words = [word for word in dict.fromkeys(found) if word not in grammar.EMPTY and not grammar.is_adverb(word)]
    return (names, words) if words else "no content word stands around the blank"


def both_of(name: str, word: str) -> Query:
    """A candidate and any form of a word, in one sentence."""
    return AllOf((name, AnyOf(grammar.forms(word))))


class ServedAssociation(ServedByCorpus, Association):
    """Word association in a corpus behind a server."""

    corpus: NgramCorpus

    def lookups_for(self, request: Choose) -> list[Lookup]:
        """What is looked up for a problem."""
        asked = read_association(problem_of(request))
        if isinstance(asked, str):
            return []
        names, words = asked
        queries: list[Query] = [*names, *(both_of(name, word) for name in names for word in words)]
        return [lookup for query in queries for lookup in lookups_of(query)]


def load(spec: Spec) -> Association:
    """The model that the SPEC names: `association:INDEX`, or `association:infinigram:INDEX@URL?rate=5`."""
    place, _ = split_spec(spec)
    corpus = open_corpus(place)
    kind = ServedAssociation if isinstance(corpus, NgramCorpus) else Association
    return kind(corpus, spec=str(spec))
