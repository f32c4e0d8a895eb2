"""Maximum attention score (Klein and Nabi, 2019): to which candidate's mention does the pronoun attend most?

With A_c(l, h) the attention of the pronoun to candidate c in layer l and head h, and M_c(l, h) = 1 where c has the
largest of all candidates, else 0:

    score(c) = sum_{l,h} A_c M_c / sum_{c'} sum_{l,h} A_c' M_c'

Written from the paper; how several word pieces are reduced (mean over the pronoun's, max over the candidate's) was
not checked against the authors' code. The pronoun must be known and every candidate mentioned; where one is mentioned
more than once, its first mention counts.
"""

from collections.abc import Sequence

import numpy as np

from winokit.methods.scoring.base import Abstain, Scoring, Setting
from winokit.models.base import Answer, Attention, Request
from winokit.problem import Problem
from winokit.text.language import language_of


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the attention from the pronoun to each candidate's first mention.

    Raises Abstain without a pronoun, or if a candidate is not mentioned.
    """
    if problem.pronoun is None:
        raise Abstain("no pronoun is known for the blank, so there is nothing to attend from")
    text = problem.sentence
    blank = len(problem.before)
    spans = []
    for candidate in problem.candidates:
        places = language_of(problem.language).mention_places(text, candidate)
        if not places:
            raise Abstain(f"{candidate!r} is not mentioned in the text")
        spans.append(places[0])
    return (Attention(text, (blank, blank + len(problem.pronoun)), tuple(spans)),)


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Share of attention of each candidate, over heads where it has most."""
    attention = np.asarray(answers[0], dtype=np.float64)
    largest = attention * (attention == attention.max(axis=0, keepdims=True))
    sums = largest.reshape(len(attention), -1).sum(axis=1)
    total = max(float(sums.sum()), 1e-12)
    return tuple(float(share) for share in sums / total)


ATTENTION = Scoring(
    "attention",
    "maximum attention score from the pronoun to each mention",
    (Attention,),
    ask,
    judge,
    substitutes=False,
    needs_blank=True,
)
