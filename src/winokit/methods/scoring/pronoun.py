"""Score how likely the pronoun itself is if the candidate is the only one named.

score(c) = log p(pronoun in its place | text in which every *other* candidate is "someone", or "something"). Unlike a
scoring that puts candidates into the blank it keeps the pronoun, and so sees its gender: for gender diagnostics. The
rule is ours; it is in none of the papers.
"""

import re
from collections.abc import Sequence

from winokit.methods.scoring.base import Abstain, Scoring, Setting, pieces, total
from winokit.models.base import Answer, Continuation, Fill, Request
from winokit.problem import Problem
from winokit.text.english import ENGLISH
from winokit.text.language import language_of

THINGS = frozenset({"it", "its", "itself"})


def ask(problem: Problem, setting: Setting) -> tuple[Request, ...]:
    """Request the pronoun's log-probability, with one named candidate each.

    The other candidates are replaced by "someone" or "something". Raises Abstain without a pronoun, if no other
    candidate is mentioned, or for a language that this scoring does not read.
    """
    if refusal := language_of(problem.language).refusal("pronoun"):
        raise Abstain(refusal)
    if problem.pronoun is None:
        raise Abstain("no pronoun is known for the blank")
    texts = []
    for candidate in problem.candidates:
        before = problem.before
        after = problem.after
        for other in problem.candidates:
            if other != candidate:
                before = _hide_name(before, other, problem.pronoun)
                after = _hide_name(after, other, problem.pronoun)
        if (before, after) == (problem.before, problem.after):
            raise Abstain("the other candidate is not mentioned in the text")
        texts.append((before, after))
    if setting.kind in ("masked", "any"):
        return tuple(Fill(before, problem.pronoun, after) for before, after in texts)
    return tuple(Continuation(before.rstrip(), f" {problem.pronoun}{after}") for before, after in texts)


def _hide_name(text: str, name: str, pronoun: str) -> str:
    """Replace mentions of a name by "someone" or "something".

    Its article or possessive goes too.
    """
    word = "something" if pronoun.casefold() in THINGS and ENGLISH.gender_of(name) is None else "someone"
    for start, end in reversed(ENGLISH.mention_places(text, name)):
        head = text[:start]
        tail = text[end:]
        head = re.sub(r"\b(?:the|an?|my|our|your|his|her|their)\s+$", "", head, flags=re.IGNORECASE)
        replacement = word.capitalize() if ENGLISH.opens_sentence(head) else word
        text = head + replacement + tail
    return text


def judge(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Log-probability of the pronoun in the text of each candidate.

    It is all of a masked model's answer, and the first word of a causal model's.
    """
    if setting.kind in ("masked", "any"):
        return tuple(total(answer) for answer in answers)
    end = len(problem.pronoun or "") + 1
    scores: list[float] = []
    for answer in answers:
        logprobs = [piece.logprob for piece in pieces(answer) if piece.start < end]
        scores.append(float(sum(logprobs)))
    return tuple(scores)


PRONOUN = Scoring(
    "pronoun",
    "log p(the pronoun | the other candidate made nameless), for gender diagnostics",
    (Fill, Continuation),
    ask,
    judge,
    substitutes=False,
    needs_blank=True,
)
