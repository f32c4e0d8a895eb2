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
from dataclasses import dataclass
from itertools import chain, product, starmap
from math import fsum, log

from winokit.methods.hunting.hunter import problem_of
from winokit.methods.hunting.ngram_corpus import NgramCorpus, lookups_of, open_corpus, split_spec
from winokit.methods.hunting.search import AllOf, AnyOf, Corpus, Query
from winokit.methods.hunting.served import ServedByCorpus
from winokit.methods.transforms.part_sent import part_sent
from winokit.models.base import Answer, Choose, Lookup, Request, Scores, cannot
from winokit.models.registry import Spec
from winokit.problem import BLANK, NO_BLANK, Problem
from winokit.text import grammar
from winokit.text.english import ENGLISH
from winokit.text.language import language_of

COUNTING = 1
"""Part of the fingerprint: to be raised whenever the same counts are used differently."""


class Association:
    """A model that scores candidates by co-occurrence with nearby words."""

    kind = "any"
    can: frozenset[type] = frozenset({Choose})

    def __init__(self, corpus: Corpus, *, spec: str = "association") -> None:
        self.corpus = corpus
        self.spec = spec
        self.fingerprint = f"association {COUNTING} {corpus.fingerprint}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Score each problem, in the order of the requests.

        Yields the index of a request and its scores. Raises BadInput for a request that is no choice.
        """
        for index, request in enumerate(requests):
            if not isinstance(request, Choose):
                raise cannot(self, request)
            yield index, self.judge(problem_of(request))

    def judge(self, problem: Problem) -> Scores:
        """Score each candidate by its co-occurrence with the words around the blank.

        Scores without values say why: the problem cannot be read, a candidate is not in the corpus, or no candidate
        occurs with any of the words.
        """
        words = read_association(problem)
        if isinstance(words, str):
            return Scores(None, words)
        scores = []
        has_pairs = False
        for name in words.names:
            name_count = self.corpus.count(name)
            if not name_count:
                return Scores(None, f"the corpus does not have {name!r}")
            pair_counts = [self.corpus.count(both_of(name, word)) for word in words.around]
            has_pairs |= any(pair_counts)
            scores.append(association(name_count, pair_counts))
        return Scores(tuple(scores)) if has_pairs else Scores(None, "no word around the blank goes with any candidate")


@dataclass(frozen=True)
class AssociationWords:
    """Words of a problem that are counted in a corpus."""

    names: tuple[str, ...]
    """The candidates without their articles."""
    around: tuple[str, ...]
    """Content words of the clause with the blank."""


def association(name_count: int, pair_counts: Sequence[int]) -> float:
    """Mean log share of a candidate's sentences that also have each word.

    `name_count` is the number of sentences with the candidate, `pair_counts` the numbers with the candidate and each
    word, at least one. Half a sentence is added to these, and one to `name_count`, so that no share is 0.

    >>> round(association(99, [0, 9]), 2)
    -3.83
    """
    return fsum(log((count + 0.5) / (name_count + 1)) for count in pair_counts) / len(pair_counts)


def read_association(problem: Problem) -> AssociationWords | str:
    """Candidates and context words to count, or a refusal in words."""
    refusal = NO_BLANK if problem.is_whole else language_of(problem.language).refusal("hunting")
    if refusal or problem.query is not None:
        return refusal or "a yes/no judgement"
    names = tuple(ENGLISH.core(candidate) for candidate in problem.candidates)
    if any(map(ENGLISH.gender_of, names)):
        return "a person's name goes with no word"
    context_words = _list_context_words(problem, names)
    return AssociationWords(names, context_words) if context_words else "no content word stands around the blank"


def _list_context_words(problem: Problem, names: Sequence[str]) -> tuple[str, ...]:
    """Distinct content words of the blank's clause, without candidates' names."""
    part = part_sent(problem)
    text = problem.text if isinstance(part, str) else part.text
    name_words = {token.word for token in grammar.tokenise(" ".join(names))}
    content_words = [token.word for token in grammar.tokenise(text) if _is_content(token.word)]
    return tuple(word for word in dict.fromkeys(content_words) if word not in name_words)


def _is_content(word: str) -> bool:
    """Whether a word is no function word, adverb or blank."""
    return word != BLANK and word not in grammar.EMPTY and not grammar.is_adverb(word)


def both_of(name: str, word: str) -> Query:
    """Query for sentences with a candidate and any form of a word."""
    return AllOf((name, AnyOf(grammar.forms(word))))


class ServedAssociation(ServedByCorpus, Association):
    """An association model whose corpus is behind a server."""

    corpus: NgramCorpus

    def lookups_for(self, request: Choose) -> list[Lookup]:
        """Lookups on the server that scoring a problem needs.

        Empty if the problem cannot be scored.
        """
        words = read_association(problem_of(request))
        if isinstance(words, str):
            return []
        queries: list[Query] = [*words.names, *starmap(both_of, product(words.names, words.around))]
        return list(chain.from_iterable(map(lookups_of, queries)))


def load(spec: Spec) -> Association:
    """Load the model of a SPEC: `association:INDEX` or `association:infinigram:INDEX@URL?rate=5`."""
    corpus = open_corpus(split_spec(spec)[0])
    kind = ServedAssociation if isinstance(corpus, NgramCorpus) else Association
    return kind(corpus, spec=str(spec))
