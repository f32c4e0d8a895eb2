"""The papers' protocols as data, what is run here beside them, and the word that follows.

A file of `runs/protocols` holds one paper; a section of it one table or figure, under its name on the command line
without the paper's:

    title, essential     what it is; the fields that must be the same for a row to be the paper's experiment
    paper, source        the paper's settings, and the lines of the source they are from
    here                 what is run here, or `not_run` with a reason
    stored               fields of `here` that differ in what is stored until the protocol itself has been run
    claims               what the paper says, as a comparison of stored rows

Five words are possible. They are computed: from the essential fields, and from the intervals of the stored rows.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from runs.store import Record, Store
from runs.tables import RESULTS, grid, number
from winokit.drawing.wording import plural
from winokit.errors import BadInput
from winokit.results import Metric

FOLDER = Path(__file__).parent / "protocols"
PAPERS = {
    "winogrande": "WinoGrande, first version (2019)",
    "winogrande-aaai": "WinoGrande, AAAI (2020)",
    "trichelair": "On the Evaluation of Common-Sense Reasoning (2018)",
    "liu": "Precise Task Formalization Matters (2020)",
    "square-one": "Back to Square One (2021)",
}
"""Papers by the names of their files, in the order of the page."""
HOLDS, IN_KIND, DOES_NOT_HOLD = "holds", "in kind", "does not hold"
ANOTHER, NOT_RUN = "another experiment", "not run"
WORDS = (HOLDS, IN_KIND, DOES_NOT_HOLD, ANOTHER, NOT_RUN)
UNKNOWN = "unknown"
"""A field that neither the paper nor its code says: it cannot be seen to differ."""
ALIKE = 0.01
"""Sizes and counts are the same if they differ by at most this share."""
SIDES = ("above", "below", "near", "equal")
LEVEL = 0.975
"""Of Student's distribution, for an interval of 95 % over seeds."""


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds for one row, and the numbers that say so."""

    name: str
    holds: bool
    said: str


@dataclass(frozen=True)
class Claim:
    """A comparison that the paper's table makes, asked of stored rows.

    `rows` is a pattern of record names. With `less` each row is compared with the row of the record in which the part
    before the bar is replaced; over several seeds the mean of the differences is. The side is of the value `than`
    (chance, if it is not given); `near` means that the whole interval is within `within` of it.
    """

    rows: str
    metric: str
    side: str
    subset: str = "all"
    protocol: str | None = None
    dataset: str | None = None
    less: str | None = None
    less_dataset: str | None = None
    than: float | None = None
    within: float = 0.0
    store: str | None = None
    without: tuple[str, ...] = ()

    def findings(self, store: Store) -> list[Finding]:
        """What every row that the pattern names says; the mean over seeds where the pattern ends in `/*`."""
        names = [
            name
            for name in store.records
            if fnmatchcase(name, self.rows) and not any(fnmatchcase(name, other) for other in self.without)
        ]
        if self.rows.endswith("/*") and self.less is not None:
            return self._over_seeds(store, names)
        return [self._of_one(store, store[name]) for name in names]

    def _row(self, record: Record, dataset: str | None) -> Metric:
        for row in record.rows:
            is_asked = row.metric == self.metric and row.subset == self.subset
            if is_asked and self.protocol in (None, row.protocol) and dataset in (None, row.dataset):
                return row
        raise BadInput(f"{record.key}: no {self.metric} of {self.subset}, which a claim of runs/protocols asks for")

    def _of_one(self, store: Store, record: Record) -> Finding:
        row = self._row(record, self.dataset)
        value, low, high = row.value, row.low, row.high
        name = record.key.partition(" | ")[2] or self._what(record)
        if self.less is not None:
            other = self._row(store[f"{self.less} | {name}"], self.less_dataset or self.dataset)
            value, low, high = difference_of(row, other)
            return self._judged(name, value, low, high, 0.0)
        level = self.than if self.than is not None else row.chance
        return self._judged(name, value, low, high, level)

    def _what(self, record: Record) -> str:
        """What is compared in a record of no model: the metric, and the part it is of."""
        part = record.key if self.subset == "all" else self.subset
        return f"{self.metric.replace('_', ' ')} of {part}"

    def _over_seeds(self, store: Store, names: list[str]) -> list[Finding]:
        """One finding: the mean of the seeds' differences, with Student's interval."""
        from scipy import special

        differences = []
        for name in names:
            other = f"{str(self.less).removesuffix('/*')}/{name.rpartition('/')[2]}"
            if other in store.records:
                first = self._row(store[name], self.dataset)
                second = self._row(store[other], self.less_dataset or self.dataset)
                differences.append(first.value - second.value)
        if not differences:
            return []
        mean = sum(differences) / len(differences)
        half = math.inf
        if len(differences) > 1:
            spread = sum((value - mean) ** 2 for value in differences) / (len(differences) - 1)
            half = float(special.stdtrit(len(differences) - 1, LEVEL)) * math.sqrt(spread / len(differences))
        return [self._judged(f"{len(differences)} seeds", mean, mean - half, mean + half, 0.0)]

    def _judged(self, name: str, value: float, low: float | None, high: float | None, level: float | None) -> Finding:
        low = value if low is None else low
        high = value if high is None else high
        level = 0.0 if level is None else level
        if self.side == "above":
            holds = low > level
        elif self.side == "below":
            holds = high < level
        elif self.side == "near":
            holds = level - self.within <= low and high <= level + self.within
        else:
            holds = abs(value - level) <= self.within * max(abs(level), 1e-12)
        said = number(value, 0 if value == round(value) else 3)
        if low < high:
            said += f" [{number(low, 3)}, {number(high, 3)}]"
        if self.side == "equal":
            said += f", not {number(level, 0 if level == round(level) else 3)}"
        return Finding(name, holds, said)


def difference_of(first: Metric, second: Metric) -> tuple[float, float, float]:
    """The difference of two shares of different problems, with Zou and Donner's interval (2008)."""
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return value, value, value
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return value, low, high


@dataclass(frozen=True)
class Protocol:
    """One table or figure: the paper's settings, ours, and what the paper says."""

    paper_name: str
    number: str
    title: str
    essential: tuple[str, ...] = ()
    paper: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    here: Mapping[str, Any] = field(default_factory=dict)
    stored: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    accuracies: tuple[Mapping[str, Any], ...] = ()
    """How `runs denominators` reads the paper's table: label, file, by, tests, runs, cut."""

    @property
    def name(self) -> str:
        """As on the command line: square-one-4."""
        return f"{self.paper_name}-{self.number}"

    def ours(self, results: Path = RESULTS) -> Mapping[str, Any]:
        """What is run here; until its own records are there, what other runs are stored."""
        return self.here if not self.stored or self._is_run(results) else {**self.here, **self.stored}

    def _is_run(self, results: Path) -> bool:
        return store_of(self.name, results) is not None

    def differing(self, ours: Mapping[str, Any]) -> list[str]:
        """The essential fields in which what was run is not what the paper ran."""
        return [name for name in self.essential if not is_same(self.paper.get(name, UNKNOWN), ours.get(name, UNKNOWN))]

    def verdict(self, results: Path = RESULTS) -> tuple[str, str]:
        """One of the five words, and why."""
        if "not_run" in self.here and not self.stored:
            return NOT_RUN, str(self.here["not_run"])
        if self.here.get("trains") and not self.stored and not self._is_run(results):
            return NOT_RUN, f"`python -m runs {self.name}` makes it"
        differing = self.differing(self.ours(results))
        if differing:
            return ANOTHER, f"differs in {', '.join(name.replace('_', ' ') for name in differing)}"
        findings = self.findings(results)
        if not findings:
            return NOT_RUN, f"no result is stored; `python -m runs {self.name}` makes it"
        failing = [finding for finding in findings if not finding.holds]
        if failing:
            said = "; ".join(f"{finding.name} {finding.said}" for finding in failing[:2])
            return DOES_NOT_HOLD, f"not in {len(failing)} of {plural(len(findings), 'comparison')}: {said}"
        has_model = "encoder" in self.paper or "model" in self.paper
        return (IN_KIND if has_model else HOLDS), f"in {plural(len(findings), 'comparison')}"

    def findings(self, results: Path = RESULTS) -> list[Finding]:
        """What every claim says of every row it names."""
        found = []
        for claim in self.claims:
            store = store_of(claim.store or self.name, results)
            if store is not None:
                found += claim.findings(store)
        return found

    def settings_table(self, ours: Mapping[str, Any] | None = None) -> str:
        """Both columns of settings, and what differs; by default ours are those of what is stored."""
        ours = self.ours() if ours is None else ours
        lines = []
        for name in dict.fromkeys([*self.paper, *ours]):
            if name in ("jobs", "not_run", "results", "trains"):
                continue
            theirs = self.paper.get(name, "")
            mine = ours.get(name, "")
            differs = "" if is_same(theirs, mine) or "" in (theirs, mine) else "differs"
            if name in self.essential:
                differs = f"**{differs}**" if differs else "same"
            lines.append((name.replace("_", " "), shown_value(theirs), shown_value(mine), differs))
        return grid(["", "paper", "here", "essential fields in bold or same"], lines)


def is_same(theirs: Any, ours: Any) -> bool:
    """Whether two fields are the same: numbers within one in a hundred, what is unknown with anything.

    >>> is_same(40_398, 40_348), is_same([8, 16], [8, 16]), is_same("unknown", 3), is_same(1e-5, 2e-5)
    (True, True, True, False)
    """
    if UNKNOWN in (theirs, ours):
        return True
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        return theirs.keys() == ours.keys() and all(is_same(theirs[name], ours[name]) for name in theirs)
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(is_same, theirs, ours))
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)):
        return abs(theirs - ours) <= ALIKE * max(abs(theirs), abs(ours))
    return bool(theirs == ours)


def shown_value(value: Any) -> str:
    """A field as a cell.

    >>> shown_value([100, 16000]), shown_value(1e-5), shown_value({"WSC": 272})
    ('100, 16,000', '1e-05', 'WSC 272')
    """
    if isinstance(value, list):
        return ", ".join(map(shown_value, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {shown_value(each)}" for name, each in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


@cache
def store_of(name: str, results: Path) -> Store | None:
    """The stored results of a table; None if there are none."""
    path = results / f"{name}.json"
    return Store(path) if path.exists() else None


@cache
def protocols() -> dict[str, Protocol]:
    """Every protocol by its table's name, paper by paper."""
    found = {}
    for paper_name in PAPERS:
        for protocol in read_protocols(FOLDER / f"{paper_name}.toml"):
            found[protocol.name] = protocol
    return found


def read_protocols(path: Path) -> Iterator[Protocol]:
    """The protocols of a file. Raises BadInput if a section has an unknown field or side."""
    content = tomllib.loads(path.read_text("utf-8"))
    for number_text, section in content.items():
        if not isinstance(section, dict):
            continue
        claims = []
        for given in section.pop("claims", ()):
            try:
                claim = Claim(**{**given, "without": tuple(given.get("without", ()))})
            except TypeError as error:
                raise BadInput(f"{path}: [{number_text}] claim: {error}") from None
            if claim.side not in SIDES:
                raise BadInput(
                    f"{path}: [{number_text}] claim: side: expected {' or '.join(SIDES)}, found {claim.side!r}"
                )
            claims.append(claim)
        essential = tuple(section.pop("essential", ()))
        section.pop("results", None)
        try:
            yield Protocol(path.stem, number_text, essential=essential, claims=tuple(claims), **section)
        except TypeError as error:
            raise BadInput(f"{path}: [{number_text}]: {error}") from None


def overview(results: Path = RESULTS) -> str:
    """Every table with its word, and why."""
    lines = []
    for protocol in protocols().values():
        word, why = protocol.verdict(results)
        link = f"[{protocol.title}](paper-{PAGES[protocol.paper_name]}.md#{anchor_of(protocol)})"
        lines.append((protocol.name, link, f"**{word}**", why))
    return grid(["table", "what", "word", "why"], lines)


PAGES = {
    "winogrande": "winogrande-2019",
    "winogrande-aaai": "winogrande-2020",
    "trichelair": "trichelair-2018",
    "liu": "liu-2020",
    "square-one": "elazar-2021",
}
"""The papers' pages, docs/evidence/paper-….md."""


def anchor_of(protocol: Protocol) -> str:
    """The anchor of a table's heading on its page, as Markdown pages have it."""
    return re.sub(r"[^\w\- ]", "", protocol.title.lower()).replace(" ", "-")
