"""Use a model's own scores: fine-tuned models, Python functions, retrieval."""

from collections.abc import Sequence

from winokit.methods.scoring.base import Abstain, Scoring, Setting
from winokit.models.base import Answer, Choose, Request, Scores
from winokit.problem import Problem

READ_BY = ("asks_for", "substitution", "span1_index")
"""Labels that say how a problem is read. No other is shown: some tell the answer."""


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Send the parts of the problem to the model."""
    labels = tuple((name, problem.labels[name]) for name in READ_BY if name in problem.labels)
    if problem.language != "en":
        labels += (("language", problem.language),)
    return (Choose(problem.before, problem.after, problem.candidates, problem.pronoun, problem.query, labels=labels),)


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Scores that the model gave.

    Raises Abstain if it gave none, or a wrong number of them.
    """
    (answer,) = answers
    if not isinstance(answer, Scores):
        raise TypeError(f"expected scores, found {type(answer).__name__}")
    if answer.values is None:
        raise Abstain(answer.why or "the model abstained")
    if len(answer.values) != len(problem.candidates):
        raise Abstain(f"{len(answer.values)} scores for {len(problem.candidates)} candidates")
    return answer.values


OWN = Scoring(
    "own",
    "the model's own scores (fine-tuned models, Python functions, retrieval)",
    (Choose,),
    ask,
    judge,
    substitutes=False,
)
