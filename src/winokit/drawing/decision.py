"""Verdicts as data: a table with the sentence for every combination of facts.

A fact is the position of one row ("single": above, at or below chance), or the outcome of one test. A headline is a
case of its stage's table, so that it depends on every fact that it mentions. A finding below it carries its claims.
Tests enumerate the tables: every combination has a case, and no sentence claims what its facts deny.
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
"""All positions of one row."""
SEVERAL = (ABOVE, MIXED, AT, BELOW, UNKNOWN)
"""All positions of several rows together."""
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
"""Value of each fact."""
When = Mapping[str, Sequence[str]]
"""The required value of each fact that matters, or its several possible values."""


@dataclass(frozen=True, slots=True)
class VerdictPoint:
    """One finding in words, its tone, and the facts that it claims.

    The tone is `good` if it speaks for the score, `bad` if against it, else `plain`.
    """

    text: str
    tone: str = PLAIN
    claims: State = field(default_factory=dict)
    is_needed: bool = False
    """Whether the numbers cannot be read without it: then a terminal shows it whatever its tone."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict in one word, its headline, and the findings behind it."""

    word: str
    tone: str
    headline: str
    points: tuple[VerdictPoint, ...]
    cause: VerdictPoint | None = None
    """Why it is so, if the rows say: one clause that begins with "it"."""


@dataclass(frozen=True, slots=True)
class VerdictCase:
    """One line of a decision table: required facts, and the verdict.

    Facts that it does not name may have any value.
    """

    when: When
    word: str
    tone: str
    sentence: str = ""
    """The headline, with the stage's own fields in braces."""

    def fits(self, state: State) -> bool:
        """Whether the state has a required value for each fact."""
        for fact, value in self.when.items():
            values = (value,) if isinstance(value, str) else value
            if state[fact] not in values:
                return False
        return True


class DecisionTable:
    """Facts with their possible values, and cases that are tried in order."""

    def __init__(
        self, facts: Mapping[str, tuple[str, ...]], *cases: tuple[When, str, str] | tuple[When, str, str, str]
    ) -> None:
        self.facts = facts
        self.cases = tuple(VerdictCase(*case) for case in cases)
        self.words: Mapping[str, Any] = {}
        """The words of findings by fact, if the stage has them in the same file."""

    @classmethod
    def of_stage(cls, stage: str, facts: Mapping[str, tuple[str, ...]]) -> "DecisionTable":
        """Load the decision table of a stage from `stages/STAGE/verdict.toml`."""
        words = our_toml(f"stages/{stage}/verdict.toml")
        table = cls(facts, *words.pop("cases"))
        table.words = words
        return table

    def decide(self, state: State) -> VerdictCase:
        """First case that fits the state.

        Raises StopIteration if none does, which is an error in the table.
        """
        return next(case for case in self.cases if case.fits(state))


def standing(row: Metric | None, among: int = 1) -> str:
    """Position of a row against chance: above, at, below or unknown.

    Unknown if there is no row, or nothing to compare it with. `among` is the number of rows that share a verdict's
    level (Bonferroni).

    A share of problems that is the same wherever the right answers are, as for a scorer that always chooses alike, is
    at chance. A share of whole groups is unknown then, and so is any share if all right answers are in one place.
    """
    if row is None or row.level is None:
        return UNKNOWN
    counts_problems = row.metric in SHARES_OF_PROBLEMS
    if row.is_untestable and counts_problems and not row.is_in_one_place:
        return AT
    return stands(row) if row.p is None else tested(row, row.p * among, SURE)


def together(places: Iterable[str]) -> str:
    """Summary of several positions: above, mixed, at, below or unknown.

    It is above or below if all are, mixed if only some are above, else at. Unknown positions do not count.
    """
    positions = set(places) - {UNKNOWN}
    if not positions:
        return UNKNOWN
    if ABOVE in positions:
        return ABOVE if positions == {ABOVE} else MIXED
    return BELOW if positions == {BELOW} else AT


def said(row: Metric, place: str, unit: str = "problems") -> str:
    """Describe a row and its position against chance, within a sentence.

    `place` is the position, `unit` the noun for what is counted.
    """
    level = "unknown" if row.level is None else f"{100 * row.level:.1f}"
    position = SAID[place].format(level=f"chance ({level})")
    is_above_level = row.level is not None and row.value > row.level
    if place == AT and row.is_below_coin and is_above_level:
        position = f"fewer than guessing gets ({percent(row.coin)})"
    if row.is_untestable:
        position = "which its choices get wherever the right answers are"
    return f"{say(row)} of {row.n:,} {unit}, {position}"


def point_of(fact: str, place: str, text: str) -> VerdictPoint:
    """Finding that claims a fact's position, in the position's tone."""
    return VerdictPoint(text, TONES[place], {fact: place})
