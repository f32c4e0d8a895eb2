"""Score how likely each candidate is in the blank, with all its pieces masked.

score(c) = mean over its pieces of log p(piece | text with every piece masked), as in Kocijan et al. (2019)'s paper
and Abdou et al. (2020)'s code. Kocijan et al.'s *code* averages over the padded length, which is the sum up to a
constant: `masked-candidate?reduce=sum`.
"""

from collections.abc import Sequence

from winokit.errors import check_known
from winokit.methods.scoring.base import Scoring, Setting, pieces, total
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Answer, Fill, Request
from winokit.problem import Problem

REDUCTIONS = ("mean", "sum")


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the log-probability of each candidate in the blank."""
    filled = [substitute(problem, candidate, setting.substitution) for candidate in problem.candidates]
    return tuple(Fill(part.before, part.candidate, part.after) for part in filled)


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Mean log-probability of each candidate's tokens, or their sum.

    The option `reduce` chooses between them.
    """
    reduce = setting.options.get("reduce", "mean")
    check_known("way to reduce", reduce, REDUCTIONS)
    if reduce == "sum":
        return tuple(map(total, answers))
    return tuple(total(answer) / len(pieces(answer)) for answer in answers)


MASKED_CANDIDATE = Scoring(
    "masked-candidate",
    "mean log p(word pieces of the candidate | text, all of them masked); ?reduce=sum",
    (Fill,),
    ask,
    judge,
    options=("reduce",),
    needs_blank=True,
)
