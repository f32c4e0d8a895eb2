"""Pseudo-likelihood (Salazar et al., 2020): every token masked by itself, log-probabilities summed.

score(c) = sum over the tokens t of the text with c of log p(t | all other tokens).
`pseudo-likelihood?words=left-to-right` masks the later pieces of the same word too (Kauf and Ivanova, 2023): log p(t
| tokens before t, tokens of later words), so that a long word is not made likely by its own pieces. Written from the
papers; not checked against the authors' code, but against minicons 0.3.39, which has both forms: sums over 21 sentences
agree within 1e-5.
"""

from winokit.errors import check_known
from winokit.methods.scoring.base import Scoring, Setting, length_by, normalize_logprobs
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import PseudoLikelihood, Request
from winokit.problem import Problem

WORDS = ("whole", "left-to-right")


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the pseudo-likelihood of the text with each candidate."""
    words = setting.options.get("words", "whole")
    check_known("way to read words", words, WORDS)
    length_by(setting)
    texts = [substitute(problem, candidate, setting.substitution).text.strip() for candidate in problem.candidates]
    return tuple(PseudoLikelihood(text, 0, len(text), words == "left-to-right") for text in texts)


PSEUDO_LIKELIHOOD = Scoring(
    "pseudo-likelihood",
    "sum of log p(token | all others), each masked by itself; ?words=left-to-right, ?per=token, ?per=character",
    (PseudoLikelihood,),
    ask,
    normalize_logprobs,
    options=("words", "per"),
)
