"""Partial and full scoring (Trinh and Le, "A Simple Method for Commonsense Reasoning", 2018).

Partial: how likely does each candidate make the rest of the text? score(c) = log p(after | before + c). It is what
lm-evaluation-harness computes for WinoGrande, token for token. Trinh and Le score words and also those that both
candidates end in; here the candidate is never scored, only what follows it.

Full: how likely is the whole text with each candidate in it? score(c) = log p(before + c + after). Longer candidates
pay for their length, unless it is divided by that: `full?per=token`, `full?per=character`.

Solved problems go before as filled texts with a blank line between them, as lm-evaluation-harness puts them.
"""

from winokit.methods.scoring.base import Abstain, Scoring, Setting, length_by, normalize_logprobs, sum_logprobs
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Continuation, Request
from winokit.problem import Problem


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the log-probability of the text after each candidate.

    Raises Abstain if nothing follows the blank.
    """
    if not problem.after.strip():
        raise Abstain("nothing follows the blank, so there is nothing to score: use --scoring full")
    shots = _write_shots(setting)
    filled = [substitute(problem, candidate, setting.substitution) for candidate in problem.candidates]
    return tuple(Continuation(shots + part.before + part.candidate, part.after) for part in filled)


def ask_whole(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the log-probability of the whole text with each candidate."""
    length_by(setting)
    shots = _write_shots(setting)
    filled = [substitute(problem, candidate, setting.substitution) for candidate in problem.candidates]
    return tuple(Continuation(shots, part.text) for part in filled)


def _write_shots(setting: Setting) -> str:
    """Solved problems as text to put before, empty without any."""
    filled = [substitute(shot, shot.right or "", setting.substitution) for shot in setting.shots]
    return "".join(f"{part.text}\n\n" for part in filled)


PARTIAL = Scoring(
    "partial",
    "log p(text after the blank | text before it with the candidate)",
    (Continuation,),
    ask,
    sum_logprobs,
    takes_shots=True,
    needs_blank=True,
)
FULL = Scoring(
    "full",
    "log p(whole text with the candidate); ?per=token, ?per=character",
    (Continuation,),
    ask_whole,
    normalize_logprobs,
    takes_shots=True,
    options=("per",),
)
