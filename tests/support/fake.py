"""A model whose answers are written down beforehand, for tests: what is not listed is an error, not a guess."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from winokit.errors import WinokitError
from winokit.models.base import Answer, Request


class NotListed(WinokitError, LookupError):
    """A fake model was asked something it has no answer to."""


class FakeModel:
    """Answers from a table, in the order asked, and remembers what it was asked.

    Parameters
    ----------
    answers
        Every request that may come, with its answer.
    kind
        What it pretends to be.
    """

    def __init__(self, answers: Mapping[Request, Answer], kind: str = "causal") -> None:
        self.answers = dict(answers)
        self.kind = kind
        self.spec = "fake"
        self.asked: list[Request] = []

    @property
    def can(self) -> frozenset[type]:
        """The kinds of requests that have an answer in the table."""
        return frozenset(type(request) for request in self.answers)

    @property
    def fingerprint(self) -> str:
        """A hash of the table: two tables never share a cache."""
        table = repr(sorted((repr(request), repr(answer)) for request, answer in self.answers.items()))
        return f"fake:{hashlib.blake2b(table.encode(), digest_size=16).hexdigest()}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Look each request up."""
        for index, request in enumerate(requests):
            self.asked.append(request)
            if request not in self.answers:
                raise NotListed(f"this fake model has no answer to {request!r}")
            yield index, self.answers[request]
