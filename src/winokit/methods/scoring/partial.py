"""Partial scoring (Trinh and Le, 2018): how likely does each candidate make the rest of the text?

score(c) = log p(after | before + c). It is what lm-evaluation-harness computes for WinoGrande, token for token. Trinh
and Le score words and also those that both candidates end in; here the candidate is never scored, only what follows
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.methods.scoring.base import Abstain, Scoring, Setting, register, total
from winokit.methods.scoring.shots import shots_text
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Answer, Continuation, Request
from winokit.problem import Problem


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """One continuation a candidate."""
    if not problem.after.strip():
        raise Abstain("nothing follows the blank, so that there is nothing to score: use --scoring full")
    prefix = shots_text(setting.shots, setting.substitution)
    filled = [substitute(problem, candidate, setting.substitution) for candidate in problem.candidates]
    return tuple(Continuation(prefix + part.before + part.candidate, part.after) for part in filled)


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Summed log-probabilities."""
    return tuple(total(answer) for answer in answers)


register(
    Scoring(
        "partial",
        "log p(text after the blank | text before it with the candidate)",
        (Continuation,),
        ask,
        judge,
        takes_shots=True,
    )
)
