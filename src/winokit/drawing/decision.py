"""Verdicts as data: a table that says, for every combination of facts, which sentence may be said.

A fact is where one row stands ("single": above, at or below chance), or the outcome of one test. A headline is a case
of its stage's table, so that it has looked at every fact it speaks of; a finding below it carries what it claims. Tests
enumerate the tables: every combination has a case, and no sentence claims what its facts deny.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

GOOD, BAD, PLAIN = "good", "bad", "plain"
"""Whether a sentence speaks for the score, against it, or neither."""
SMALL = 0.05
"""The usual level at which a probability counts as small."""
SURE = 0.03
"""The level of all tests of a verdict together: stricter than one in twenty, so that verdicts stay below that."""

State = Mapping[str, str]
"""From each fact to what was found of it."""


@dataclass(frozen=True, slots=True)
class VerdictPoint:
    """One finding, whether it speaks for or against the score, and which facts it claims."""

    text: str
    tone: str = PLAIN
    claims: State = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word, a sentence, and the findings behind them."""

    word: str
    tone: str
    headline: str
    points: tuple[VerdictPoint, ...]


@dataclass(frozen=True, slots=True)
class VerdictCase:
    """One line of a decision table: the facts it is for (others may be anything), and what is then said."""

    when: Mapping[str, str | tuple[str, ...]]
    word: str
    tone: str
    sentence: str = ""
    """The headline, with the stage's own fields in braces."""

    def fits(self, state: State) -> bool:
        """Whether every fact it names is as it says."""
        return all(state[fact] in ((one,) if isinstance(one, str) else one) for fact, one in self.when.items())


@dataclass(frozen=True, slots=True)
class DecisionTable:
    """Facts with all they may be, and the cases in the order in which they are tried."""

    facts: Mapping[str, tuple[str, ...]]
    cases: tuple[VerdictCase, ...]

    def decide(self, state: State) -> VerdictCase:
        """The first case that fits; a table that has none is a mistake in the table."""
        return next(case for case in self.cases if case.fits(state))

    def states(self) -> Iterator[dict[str, str]]:
        """Every combination of facts, for tests to enumerate."""
        for values in product(*self.facts.values()):
            yield dict(zip(self.facts, values, strict=True))
