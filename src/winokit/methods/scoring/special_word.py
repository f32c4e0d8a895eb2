"""Special-word scoring (Elazar et al., 2021): given the right candidate, which twin's special word fits?

The blank is filled with the *right* candidate, the special word becomes the blank, and the special words of the
problem and of its twin are the candidates. A model that has the knowledge gives the problem's own word the higher
probability. The answer is needed to make the question, so that this tests knowledge, not resolution; the score of a
candidate c is that of the special word that would make c right.
"""

from collections.abc import Sequence

from winokit.methods.scoring import masked_candidate, partial
from winokit.methods.scoring.base import Abstain, Scoring, Setting, sum_logprobs
from winokit.methods.transforms.special_word import special_word_problem
from winokit.models.base import Answer, Continuation, Fill, Request
from winokit.problem import Problem


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the scores of the special words of problem and twin.

    Raises Abstain without an answer, or without exactly one twin.
    """
    special_problem = _make_special_problem(problem, setting)
    return (
        masked_candidate.ask(special_problem, setting)
        if _is_filling(setting)
        else partial.ask(special_problem, setting)
    )


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Score each candidate by the special word that makes it right."""
    special_problem = _make_special_problem(problem, setting)
    judge_words = masked_candidate.judge if _is_filling(setting) else sum_logprobs
    own_score, other_score = judge_words(special_problem, setting, answers)
    scores = [other_score] * len(problem.candidates)
    if problem.answer is not None:
        scores[problem.answer] = own_score
    return tuple(scores)


def _is_filling(setting: Setting) -> bool:
    """Whether the special word itself is scored, as masked models can.

    Otherwise the text after it is scored.
    """
    return setting.kind in ("masked", "any")


def _make_special_problem(problem: Problem, setting: Setting) -> Problem:
    """Problem whose blank is the special word.

    Its candidates are the special words of the problem and its twin. Raises Abstain if it cannot be made.
    """
    if problem.answer is None:
        raise Abstain("the answer is hidden, and the question is made from it")
    if len(setting.twins) != 1:
        raise Abstain(f"one twin is needed, found {len(setting.twins)}")
    special_problem = special_word_problem(problem, setting.twins[0])
    if isinstance(special_problem, str):
        raise Abstain(special_problem)
    return special_problem


SPECIAL_WORD = Scoring(
    "special-word",
    "with the right candidate in the blank: log p of the problem's special word against its twin's",
    (Fill, Continuation),
    ask,
    judge,
    needs_blank=True,
)
