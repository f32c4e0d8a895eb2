"""Answers of a model that is right where a test says so, for a new version of a release to be filtered against."""

from collections.abc import Mapping

from winokit.answers import AskedProblems
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import ORIGINAL, Dataset, Problem
from winokit.stages.evolve.solved import SWITCHED, EvolveAnswers


def answers_by(
    problems: Dataset, name: str, right: Mapping[str, bool], switched: Mapping[str, bool] | None = None
) -> EvolveAnswers:
    """Answers to problems with two candidates, and to those named in `switched` with candidates switched too.

    Both mappings say by a problem's id whether its answer is right.
    """
    is_right = {ORIGINAL: right, SWITCHED: switched or {}}
    variants = {SWITCHED: Dataset(_switch_candidates(p) for p in problems if p.id in is_right[SWITCHED])}
    asked = AskedProblems.of(problems, variants)
    predictions = []
    for (variant, problem_id), row in asked.row_of.items():
        answer = asked.problems[row].answer
        choice = answer if is_right[variant][problem_id] else 1 - answer
        predictions.append(Prediction(problem_id, variant, name, "told", None, choice, answer))
    return EvolveAnswers.of(name, asked, predictions)


def _switch_candidates(problem: Problem) -> Problem:
    """Copy a problem as if its candidates had changed places, so that the other one is right."""
    return problem.replace(answer=1 - problem.answer, provenance={"of": problem.id})
