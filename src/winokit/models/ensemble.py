"""Several models as one: `ensemble:SPEC+SPEC` (Trinh and Le, 2018).

`combine=probability`, the default, is Trinh and Le's: the arithmetic mean over models of each word's probability,
then the product over words. Words, since models may cut them into different tokens: a word's probability is the
product of its tokens'. `combine=logprob` takes the mean of log-probabilities. `combine=vote` lets each model predict
by itself and counts votes; that is done where predictions are made (scoring/scorer.py).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log

import numpy as np

from winokit.errors import BadInput, check_known
from winokit.models import base
from winokit.models.registry import Spec, load_model, release

COMBINE = ("probability", "logprob", "vote")
COMBINED = {base.Continuation, base.Fill, base.PseudoLikelihood, base.Choose}
WORD = re.compile(r"\s*\S+")


class EnsembleModel:
    """Several models whose answers are combined.

    `combine` is `probability`, `logprob` or `vote`. Raises BadInput if the members have no type of request in common.
    """

    def __init__(self, spec: str, members: Sequence[base.Model], combine: str = "probability") -> None:
        check_known("way to combine", combine, COMBINE)
        self.spec = spec
        self.members = members
        self.combine = combine
        kinds = {member.kind for member in members}
        self.kind = kinds.pop() if len(kinds) == 1 else "any"
        shared = frozenset.intersection(*(member.can for member in members))
        self.can = shared if combine == "vote" else shared & COMBINED
        if not self.can:
            raise BadInput(f"{spec}: the models have no kind of answer in common to combine")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all members."""
        notes: list[str] = []
        for member in self.members:
            notes += getattr(member, "notes", ())
        return tuple(notes)

    @property
    def plan(self) -> str:
        """Plans of the members that have one, each after the member's name."""
        plans = ((member.spec, getattr(member, "plan", "")) for member in self.members)
        return "; ".join(f"{spec}: {plan}" for spec, plan in plans if plan)

    @property
    def fingerprint(self) -> str:
        """Fingerprints of the members, and how they are combined."""
        return f"ensemble {self.combine} " + " + ".join(member.fingerprint for member in self.members)

    def answer(self, requests: Sequence[base.Request]) -> Iterator[tuple[int, base.Answer]]:
        """Answer requests, each as soon as all members have answered it."""
        answers: list[list[base.Answer]] = [[] for _ in requests]
        for member in self.members:
            for index, answer in member.answer(requests):
                answers[index].append(answer)
                if len(answers[index]) == len(self.members):
                    yield index, self.combined(requests[index], answers[index])

    def close(self) -> None:
        """Free the memory of all members."""
        for member in self.members:
            release(member)

    def combined(self, request: base.Request, answers: Sequence[base.Answer]) -> base.Answer:
        """Combine the members' answers to a request.

        A refusal by one of them is the answer.
        """
        for answer in answers:
            if isinstance(answer, base.Refusal):  # what one of them cannot read, they cannot read together
                return answer
        if isinstance(request, base.Choose):
            return _average_scores(answers)
        return self._combine_words(getattr(request, "text", ""), answers)

    def _combine_words(self, text: str, answers: Sequence[base.Answer]) -> base.Pieces:
        """Combine the members' pieces into one piece for each word.

        A member's log-probability of a word is the sum over its tokens. With `probability`, its log-probability is that
        of the members' mean probability, otherwise the mean of theirs.
        """
        words = [match.span() for match in WORD.finditer(text)]
        rows = [_sum_word_logprobs(answer, words) for answer in answers]
        logprobs = np.array(rows)
        combined_logprobs = logprobs.mean(axis=0)
        if self.combine == "probability":
            combined_logprobs = np.logaddexp.reduce(logprobs, axis=0) - log(len(answers))
        pieces: list[base.Piece] = []
        for (start, end), logprob in zip(words, combined_logprobs, strict=True):
            pieces.append(base.Piece(start, end, float(logprob)))
        return tuple(pieces)


def _average_scores(answers: Sequence[base.Answer]) -> base.Scores:
    """Mean of the members' scores of each candidate.

    Members that abstain are left out. If all do, the result is an abstention.
    """
    member_values = [
        answer.values for answer in answers if isinstance(answer, base.Scores) and answer.values is not None
    ]
    return base.Scores(tuple(np.mean(member_values, axis=0).tolist()) if member_values else None)


def _sum_word_logprobs(answer: base.Answer, words: Sequence[tuple[int, int]]) -> list[float]:
    """Summed log-probability of each word's span."""
    return [_sum_word_logprob(answer, span) for span in words]


def _sum_word_logprob(answer: base.Answer, span: tuple[int, int]) -> float:
    """Summed log-probability of the pieces that start within a word's span.

    The span includes the white space before the word.
    """
    pieces: base.Pieces = answer if isinstance(answer, tuple) else ()
    start, end = span
    return float(sum(piece.logprob for piece in pieces if start <= piece.start < end))


def load(spec: Spec) -> EnsembleModel:
    """Load the members of a SPEC `ensemble:SPEC+SPEC?combine=…`, and combine them."""
    members = [load_model(member) for member in members_of(spec)]
    return EnsembleModel(str(spec), members, spec.options.get("combine", COMBINE[0]))


def members_of(spec: Spec) -> list[Spec]:
    """SPECs of an ensemble's members.

    Of the options at the end, `combine` and `name` are the ensemble's, all others the last member's.
    """
    names = [name for name in spec.place_or_fail("two or more models with + between them").split("+") if name]
    if len(names) < 2:
        raise BadInput(f"{spec}: expected two or more models with + between them")
    *others, last = map(Spec.parse, names)
    options = {name: value for name, value in spec.options.items() if name not in ("combine", "name")}
    return [*others, replace(last, options=options)]
