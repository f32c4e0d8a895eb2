"""Full scoring (Trinh and Le, 2018): how likely is the whole text with each candidate in it?

score(c) = log p(before + c + after). Longer candidates pay for their length.
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.methods.scoring.base import Scoring, Setting, register, total
from winokit.methods.scoring.shots import shots_text
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Answer, Continuation, Request
from winokit.problem import Problem


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """One whole text a candidate."""
    prefix = shots_text(setting.shots, setting.substitution)
    return tuple(
        Continuation(prefix, substitute(problem, candidate, setting.substitution).text)
        for candidate in problem.candidates
    )


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Summed log-probabilities."""
    return tuple(total(answer) for answer in answers)


register(Scoring("full", "log p(whole text with the candidate)", (Continuation,), ask, judge, takes_shots=True))
