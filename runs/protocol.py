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
from collections.abc import Iterator, Mapping, Sequence
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
    """Whether a claim holds for one row, and the numbers for it in words."""

    name: str
    holds: bool
    said: str


@dataclass(frozen=True)
class Claim:
    """A comparison that the paper's table makes, to be checked on stored rows.

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
        """Check the claim on every record that the pattern names.

        Where the pattern ends in `/*` and two records are compared, there is one finding: the mean over seeds.
        """
        names = [name for name in store.records if self.names_record(name)]
        if self.rows.endswith("/*") and self.less is not None:
            return self._compare_seeds(store, names)
        return [self._check_record(store, store[name]) for name in names]

    def names_record(self, name: str) -> bool:
        """Whether the claim is about the record of a name."""
        is_excluded = any(fnmatchcase(name, pattern) for pattern in self.without)
        return fnmatchcase(name, self.rows) and not is_excluded

    def _find_row(self, record: Record, dataset: str | None) -> Metric:
        """Row of the claim's metric in a record, of any dataset if it is None. Raises BadInput if there is none."""
        for row in record.rows:
            is_metric = row.metric == self.metric and row.subset == self.subset
            if is_metric and self.protocol in (None, row.protocol) and dataset in (None, row.dataset):
                return row
        raise BadInput(f"{record.key}: no {self.metric} of {self.subset}, which a claim of runs/protocols asks for")

    def _check_record(self, store: Store, record: Record) -> Finding:
        """Compare one record with a value, or with the record that `less` names."""
        row = self._find_row(record, self.dataset)
        name = record.key.partition(" | ")[2] or self._describe_record(record)
        if self.less is not None:
            other = self._find_row(store[f"{self.less} | {name}"], self.less_dataset or self.dataset)
            return self._check_value(name, *difference_of(row, other), 0.0)
        level = self.than if self.than is not None else row.chance
        low = row.value if row.low is None else row.low
        high = row.value if row.high is None else row.high
        return self._check_value(name, row.value, low, high, level or 0.0)

    def _describe_record(self, record: Record) -> str:
        """Name of a comparison in a record of no model: the metric, and the part it is of."""
        part = record.key if self.subset == "all" else self.subset
        return f"{self.metric.replace('_', ' ')} of {part}"

    def _compare_seeds(self, store: Store, names: list[str]) -> list[Finding]:
        """Judge the mean of the seeds' differences, with Student's interval.

        One finding; none if no seed has both records. With a single seed the interval is infinite.
        """
        differences = self._collect_differences(store, names)
        if not differences:
            return []
        mean = sum(differences) / len(differences)
        half_width = half_width_of_mean(differences)
        return [self._check_value(f"{len(differences)} seeds", mean, mean - half_width, mean + half_width, 0.0)]

    def _collect_differences(self, store: Store, names: list[str]) -> list[float]:
        """Differences between each named record and the record of `less` with the same seed, if there is one."""
        differences = []
        for name in names:
            seed = name.rpartition("/")[2]
            other = f"{str(self.less).removesuffix('/*')}/{seed}"
            if other in store.records:
                first = self._find_row(store[name], self.dataset)
                second = self._find_row(store[other], self.less_dataset or self.dataset)
                differences.append(first.value - second.value)
        return differences

    def _check_value(self, name: str, value: float, low: float, high: float, level: float) -> Finding:
        """Say whether a value with its interval is on the claim's side of a level."""
        if self.side == "above":
            holds = low > level
        elif self.side == "below":
            holds = high < level
        elif self.side == "near":
            holds = level - self.within <= low and high <= level + self.within
        else:
            holds = abs(value - level) <= self.within * max(abs(level), 1e-12)
        comparison = short_number(value)
        if low < high:
            comparison += f" [{number(low, 3)}, {number(high, 3)}]"
        if self.side == "equal":
            comparison += f", not {short_number(level)}"
        return Finding(name, holds, comparison)


def short_number(value: float) -> str:
    """A whole number without decimals, any other with three."""
    return number(value, 0 if value == round(value) else 3)


def half_width_of_mean(values: Sequence[float]) -> float:
    """Half the width of Student's 95 % interval of a mean, infinite for a single value."""
    from scipy import special

    if len(values) < 2:
        return math.inf
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    quantile = float(special.stdtrit(len(values) - 1, LEVEL))
    return quantile * math.sqrt(variance / len(values))


def difference_of(first: Metric, second: Metric) -> tuple[float, float, float]:
    """Difference of two shares of different problems, with the ends of Zou and Donner's interval (2008).

    Both ends are the difference itself if a share has no interval.
    """
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return value, value, value
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return value, low, high


@dataclass(frozen=True)
class Protocol:
    """One table or figure: the paper's settings, ours, and the paper's claims."""

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
    """Options with which `runs denominators` reads the paper's tables: label, file, by, tests, runs, cut."""

    @property
    def name(self) -> str:
        """Name on the command line, such as square-one-4."""
        return f"{self.paper_name}-{self.number}"

    def ours(self, results: Path = RESULTS) -> Mapping[str, Any]:
        """Our settings: of the protocol's own runs once they are stored, until then of the runs that are."""
        if not self.stored or self._is_run(results):
            return self.here
        return {**self.here, **self.stored}

    def _is_run(self, results: Path) -> bool:
        """Whether the protocol's own results are stored."""
        return store_of(self.name, results) is not None

    def differing(self, ours: Mapping[str, Any]) -> list[str]:
        """Essential fields in which our settings are not the paper's."""
        names = []
        for name in self.essential:
            if not is_same(self.paper.get(name, UNKNOWN), ours.get(name, UNKNOWN)):
                names.append(name)
        return names

    def verdict(self, results: Path = RESULTS) -> tuple[str, str]:
        """Return one of the five words of `WORDS`, and the reason for it."""
        if not self.stored:
            if "not_run" in self.here:
                return NOT_RUN, str(self.here["not_run"])
            if self.here.get("trains") and not self._is_run(results):
                return NOT_RUN, f"`python -m runs {self.name}` makes it"
        differing = self.differing(self.ours(results))
        if differing:
            shown_names = [name.replace("_", " ") for name in differing]
            return ANOTHER, f"differs in {', '.join(shown_names)}"
        return self._determine_verdict(self.findings(results))

    def _determine_verdict(self, findings: Sequence[Finding]) -> tuple[str, str]:
        """Word and reason for a protocol that was run with the paper's essential settings."""
        if not findings:
            return NOT_RUN, f"no result is stored; `python -m runs {self.name}` makes it"
        comparisons = plural(len(findings), "comparison")
        failing = [finding for finding in findings if not finding.holds]
        if failing:
            examples = "; ".join(f"{finding.name} {finding.said}" for finding in failing[:2])
            return DOES_NOT_HOLD, f"not in {len(failing)} of {comparisons}: {examples}"
        has_model = "encoder" in self.paper or "model" in self.paper
        return (IN_KIND if has_model else HOLDS), f"in {comparisons}"

    def findings(self, results: Path = RESULTS) -> list[Finding]:
        """Check every claim on the stored results, leaving out claims without results."""
        findings = []
        for claim in self.claims:
            store = store_of(claim.store or self.name, results)
            if store is not None:
                findings += claim.findings(store)
        return findings

    def settings_table(self, ours: Mapping[str, Any] | None = None) -> str:
        """Table of the paper's settings beside ours, and which differ, by default those of stored runs."""
        ours = self.ours() if ours is None else ours
        lines = []
        for name in dict.fromkeys([*self.paper, *ours]):
            if name in ("jobs", "not_run", "results", "trains"):
                continue
            theirs = self.paper.get(name, "")
            mine = ours.get(name, "")
            lines.append(
                (
                    name.replace("_", " "),
                    shown_value(theirs),
                    shown_value(mine),
                    self._compare_field(name, theirs, mine),
                )
            )
        return grid(["", "paper", "here", "essential fields in bold or same"], lines)

    def _compare_field(self, name: str, theirs: Any, mine: Any) -> str:
        """Say whether a field differs, in bold if it is essential."""
        is_empty = theirs == "" or mine == ""
        differs = not is_empty and not is_same(theirs, mine)
        if name in self.essential:
            return "**differs**" if differs else "same"
        return "differs" if differs else ""


def is_same(theirs: Any, ours: Any) -> bool:
    """Whether two settings are the same: numbers may differ by 1 %, and "unknown" is the same as anything.

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
    """Write a setting as a cell of a table.

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
    """Open the stored results of a table, None if there are none."""
    path = results / f"{name}.json"
    return Store(path) if path.exists() else None


@cache
def protocols() -> dict[str, Protocol]:
    """Read every protocol, by its table's name, paper by paper."""
    by_name = {}
    for paper_name in PAPERS:
        for protocol in read_protocols(FOLDER / f"{paper_name}.toml"):
            by_name[protocol.name] = protocol
    return by_name


def read_protocols(path: Path) -> Iterator[Protocol]:
    """Read the protocols of a file. Raises BadInput if a section has an unknown field or side."""
    content = tomllib.loads(path.read_text("utf-8"))
    for number_text, section in content.items():
        if not isinstance(section, dict):
            continue
        section_place = f"{path}: [{number_text}]"
        claims = tuple(read_claim(f"{section_place} claim", fields) for fields in section.pop("claims", ()))
        essential = tuple(section.pop("essential", ()))
        section.pop("results", None)
        try:
            yield Protocol(path.stem, number_text, essential=essential, claims=claims, **section)
        except TypeError as error:
            raise BadInput(f"{section_place}: {error}") from None


def read_claim(place: str, fields: Mapping[str, Any]) -> Claim:
    """Make a claim of its fields. Raises BadInput, beginning with `place`, if a field or the side is unknown."""
    without = tuple(fields.get("without", ()))
    try:
        claim = Claim(**{**fields, "without": without})
    except TypeError as error:
        raise BadInput(f"{place}: {error}") from None
    if claim.side not in SIDES:
        raise BadInput(f"{place}: side: expected {' or '.join(SIDES)}, found {claim.side!r}")
    return claim


def overview(results: Path = RESULTS) -> str:
    """Write the table of all protocols, each with its word and the reason."""
    lines = []
    for protocol in protocols().values():
        word, reason = protocol.verdict(results)
        link = f"[{protocol.title}](paper-{PAGES[protocol.paper_name]}.md#{anchor_of(protocol)})"
        lines.append((protocol.name, link, f"**{word}**", reason))
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
    """Anchor of a table's heading on its page, as Markdown pages have it."""
    return re.sub(r"[^\w\- ]", "", protocol.title.lower()).replace(" ", "-")
