"""Causal PMI for COPA: does one text's words lead to the other's?

After Gordon, Bejan and Sagae, "Commonsense Causal Reasoning Using Millions of Personal Stories" (AAAI 2011): the score
of an alternative is the mean PMI over all pairs of a word of the cause and a word of the effect, counting a pair where
the cause's word comes first, within 25 words. After Sasaki et al., "Handling Multi-Word Expressions in Causality
Estimation" (IWCS 2017), expressions of several words ("woke up", "ran out of") count as one; they took theirs from
lists, ours are the sequences that the corpus has far more often than chance would.

We depart from Gordon et al. in what a window is: the rest of the same sentence, and the next sentence of the same
document. A pair that never meets counts as 0: it says nothing.
"""

from math import log

from winokit.errors import CannotWrite
from winokit.methods.hunting.search import AnyOf, SentenceIndex, any_of
from winokit.problem import Problem
from winokit.text.grammar import FUNCTION, MARKS, WordToken, forms, is_adverb, tokenise

CONNECTIVES = {"cause": "because", "effect": "so"}
"""What COPA asks for, and the word between premise and alternative."""
WINDOW = 25
PARTICLES = frozenset("up down out off over away back along apart".split())
LONGEST = 3
SEEN = 5
"""How often an expression must occur."""
BOUND, BOUND_TO_A_PARTICLE = log(50), log(10)
"""How much more often than chance, as a logarithm; particles are everywhere, and less is asked of them."""
WORDS_IN_A_SENTENCE = 15
"""Roughly: two words of a sentence stand side by side by chance once in so many times."""


def premise_of(copa: Problem) -> tuple[str, str]:
    """Premise and question of a problem, from its labels or from the text itself."""
    asks_for = copa.labels.get("asks_for")
    if asks_for in CONNECTIVES and copa.labels.get("premise"):
        return str(copa.labels["premise"]), str(asks_for)
    head, _, connective = copa.before.rstrip().rpartition(" ")
    for question, word in CONNECTIVES.items():
        if connective == word and not copa.after.strip() and head:
            return head + ".", question
    raise CannotWrite("not of COPA's form: a premise, 'because' or 'so', and the blank at the end")


def causal_scores(problem: Problem, corpus: SentenceIndex) -> tuple[float, ...] | str:
    """The causal PMI of each alternative with the premise, or why there is none."""
    try:
        premise, asks_for = premise_of(problem)
    except CannotWrite as refusal:
        return str(refusal)
    given = units(premise, corpus)
    scores = []
    met = False
    for candidate in problem.candidates:
        other = units(candidate, corpus)
        cause, effect = (other, given) if asks_for == "cause" else (given, other)
        values = [causal_pmi(of_cause, of_effect, corpus) for of_cause in cause for of_effect in effect]
        met |= any(values)
        scores.append(sum(values) / len(values) if values else 0.0)
    return tuple(scores) if met else "no word of an alternative was ever seen near one of the premise"


def causal_pmi(cause: AnyOf, effect: AnyOf, corpus: SentenceIndex) -> float:
    """PMI of an expression followed by another; 0 where they never meet."""
    both = corpus.count_before(cause, effect, WINDOW)
    return log(both * corpus.sentences / (corpus.count(cause) * corpus.count(effect))) if both else 0.0


def units(text: str, corpus: SentenceIndex) -> list[AnyOf]:
    """The words of a text that mean something, in any form, expressions of several words as one."""
    tokens = [token for token in tokenise(text) if token.word not in MARKS]
    expressions: list[AnyOf] = []
    at = 0
    while at < len(tokens):
        size = _expression(tokens, at, corpus)
        if size > 1:
            expressions.append(_any_form(tokens[at : at + size]))
        elif _means_something(tokens[at]):
            expressions.append(any_of(forms(tokens[at].word)))
        at += size
    return list(dict.fromkeys(expressions))


def _means_something(token: WordToken) -> bool:
    return token.word not in FUNCTION and not is_adverb(token.word) and token.word[0].isalnum()


def _any_form(tokens: list[WordToken]) -> AnyOf:
    """An expression in any form of its first word."""
    rest = [token.word for token in tokens[1:]]
    return any_of([" ".join([form, *rest]) for form in forms(tokens[0].word)])


def _expression(tokens: list[WordToken], at: int, corpus: SentenceIndex) -> int:
    """How many words from a place on make one expression; 1 where none do."""
    if not _means_something(tokens[at]):
        return 1
    for size in range(min(LONGEST, len(tokens) - at), 1, -1):
        words = tokens[at : at + size]
        particle = words[1].word in PARTICLES
        rest = words[2:] if particle else words[1:]
        if not all(_means_something(word) or (particle and word.word == "of") for word in rest):
            continue
        count = corpus.count(_any_form(words))
        if count < SEEN:
            continue
        if _bond(words, count, corpus) >= (BOUND_TO_A_PARTICLE if particle else BOUND):
            return size
    return 1


def _bond(words: list[WordToken], count: int, corpus: SentenceIndex) -> float:
    """How much more often words follow each other than chance would have it, as a logarithm."""
    alone = [corpus.count(any_of(forms(words[0].word))), *(corpus.count(any_of([w.word])) for w in words[1:])]
    expected = log(corpus.sentences) + sum(log(max(1, n) / corpus.sentences) for n in alone)
    return log(count) - expected + (len(words) - 1) * log(WORDS_IN_A_SENTENCE)
