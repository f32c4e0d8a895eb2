"""Answers of a model that is right where a test says so, for a new version of a release to be filtered against."""

from collections.abc import Mapping

from winokit.answers import AskedProblems
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import ORIGINAL, Dataset, Problem
from winokit.stages.evolve.solved import SWITCHED, EvolveAnswers


def answers_by(
    problems: Dataset, name: str, right: Mapping[str, bool], switched: Mapping[str, bool] | None = None
) -> EvolveAnswers:
    """Answers to problems with two candidates, and to those named in `switched` with candidates switched too."""
    told = {ORIGINAL: right, SWITCHED: switched or {}}
    variants = {SWITCHED: Dataset(_switched(p) for p in problems if p.id in told[SWITCHED])}
    asked = AskedProblems.of(problems, variants)
    predictions = []
    for (variant, own_id), row in asked.row_of.items():
        answer = asked.problems[row].answer
        choice = answer if told[variant][own_id] else 1 - answer
        predictions.append(Prediction(own_id, variant, name, "told", None, choice, answer))
    return EvolveAnswers.of(name, asked, predictions)


def _switched(problem: Problem) -> Problem:
    """The problem as if its candidates had changed places: the other one is right."""
    return problem.replace(answer=1 - problem.answer, provenance={"of": problem.id})
