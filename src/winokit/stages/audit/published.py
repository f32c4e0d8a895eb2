"""Results that papers report for the same problems under the same protocol. Facts with sources; no other numbers.

Read from the five papers: WinoGrande's first version and its AAAI version, Elazar et al., Liu et al., Trichelair et
al. WinoGrande's first version was measured on other problems than the public ones (2,863 dev problems, not 1,267), so
its own rows are left out; its results on other datasets are not. The numbers lie in `assets/published.jsonl`.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from winokit.drawing.protocols import CITATIONS, Citation
from winokit.drawing.wording import SAY, kind
from winokit.files import json_lines


@dataclass(frozen=True, slots=True)
class PublishedFact:
    """One published number, named as a row of results.json is."""

    known_set: str
    protocol: str
    subset: str
    metric: str
    system: str
    value: float
    source: Citation
    where: str
    people: bool = False
    n: int | None = None
    note: str = ""

    @property
    def said(self) -> str:
        """The value, in the metric's own kind."""
        return SAY[kind(self.metric, 0.5)](self.value)


@cache
def published(known_set: str) -> tuple[PublishedFact, ...]:
    """What is published for a known set, by its name in `data.known`; nothing for one the papers do not have."""
    rows = json_lines((files("winokit") / "assets" / "published.jsonl").read_text("utf-8"))
    own = (row for row in rows if row["known_set"] == known_set)
    return tuple(PublishedFact(**{**row, "source": CITATIONS[row["source"]]}) for row in own)
