"""Verdicts as data: a table that says, for every combination of facts, which sentence may be said.

A fact is where one row stands ("single": above, at or below chance), or the outcome of one test. A headline is a case
of its stage's table, so that it has looked at every fact it speaks of; a finding below it carries what it claims. Tests
enumerate the tables: every combination has a case, and no sentence claims what its facts deny.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from winokit.drawing.wording import percent, say
from winokit.files import our_toml
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric, stands, tested

GOOD = "good"
BAD = "bad"
PLAIN = "plain"
"""Whether a sentence speaks for the score, against it, or neither."""
SMALL = 0.05
"""The usual level at which a probability counts as small."""
SURE = 0.03
"""The level of all tests of a verdict together: stricter than one in twenty, so that verdicts stay below that."""

MIXED = "mixed"
EACH = (ABOVE, AT, BELOW, UNKNOWN)
"""All that one row may be."""
SEVERAL = (ABOVE, MIXED, AT, BELOW, UNKNOWN)
"""All that several may be together."""
SAID = {
    ABOVE: "above {level}",
    AT: "indistinguishable from {level}",
    BELOW: "below {level}",
    UNKNOWN: "with no interval to judge it by",
}
SHARES_OF_PROBLEMS = ("accuracy", "probe_accuracy")
"""Metrics that count the right answers of all problems one by one."""
TONES = {ABOVE: GOOD, AT: BAD, BELOW: BAD, UNKNOWN: PLAIN}
State = Mapping[str, str]
"""From each fact to what was found of it."""
When = Mapping[str, Sequence[str]]
"""From each fact that matters to what it must be, or to the several things that it may be."""


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
    cause: VerdictPoint | None = None
    """Why it is so, if the rows say: one clause that begins with "it"."""


@dataclass(frozen=True, slots=True)
class VerdictCase:
    """One line of a decision table: the facts it is for (others may be anything), and what is then said."""

    when: When
    word: str
    tone: str
    sentence: str = ""
    """The headline, with the stage's own fields in braces."""

    def fits(self, state: State) -> bool:
        """Whether every fact it names is as it says."""
        return all(state[fact] in ((value,) if isinstance(value, str) else value) for fact, value in self.when.items())


class DecisionTable:
    """Facts with all they may be, and the cases in the order in which they are tried."""

    def __init__(
        self, facts: Mapping[str, tuple[str, ...]], *cases: tuple[When, str, str] | tuple[When, str, str, str]
    ) -> None:
        self.facts, self.cases = facts, tuple(VerdictCase(*case) for case in cases)
        self.words: Mapping[str, Any] = {}
        """What findings say by a fact, where its stage has that in the same file."""

    @classmethod
    def of_stage(cls, stage: str, facts: Mapping[str, tuple[str, ...]]) -> "DecisionTable":
        """A stage's table, whose cases are written in a file of its own: its words are no code."""
        words = our_toml(f"stages/{stage}/verdict.toml")
        table = cls(facts, *words.pop("cases"))
        table.words = words
        return table

    def decide(self, state: State) -> VerdictCase:
        """The first case that fits; a table that has none is a mistake in the table."""
        return next(case for case in self.cases if case.fits(state))


def standing(row: Metric | None, among: int = 1) -> str:
    """Where a row stands, as one of so many that share a verdict's level (Bonferroni); unknown where there is none.

    Choices that get as much wherever the right answers are, are at chance, as those of a scorer that always chooses
    alike. Nothing is known of whole groups then, or if all right answers are in one place.
    """
    if row is None or row.level is None:
        return UNKNOWN
    if row.is_untestable and row.metric in SHARES_OF_PROBLEMS and not row.is_in_one_place:
        return AT
    return stands(row) if row.p is None else tested(row, row.p * among, SURE)


def together(places: Iterable[str]) -> str:
    """Several as one: above where all are, mixed where some are, below where all are, and at (none above) else."""
    known = set(places) - {UNKNOWN}
    if not known:
        return UNKNOWN
    if ABOVE in known:
        return ABOVE if known == {ABOVE} else MIXED
    return BELOW if known == {BELOW} else AT


def said(row: Metric, place: str, unit: str = "problems") -> str:
    """A row with what it was computed on and where it stands, as part of a sentence."""
    level = "unknown" if row.level is None else f"{100 * row.level:.1f}"
    where = SAID[place].format(level=f"chance ({level})")
    if place == AT and row.is_below_coin and row.level is not None and row.value > row.level:
        where = f"fewer than guessing gets ({percent(row.coin)})"
    if row.is_untestable:
        where = "which its choices get wherever the right answers are"
    return f"{say(row)} of {row.n:,} {unit}, {where}"


def point_of(fact: str, place: str, text: str) -> VerdictPoint:
    """A finding that claims where something stands, in the tone of that."""
    return VerdictPoint(text, TONES[place], {fact: place})
