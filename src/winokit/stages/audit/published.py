"""Results that papers report for the same problems under the same protocol.

Read from the five papers: WinoGrande's first version and its AAAI version, Elazar et al., Liu et al., Trichelair et
al. WinoGrande's first version was measured on other problems than the public ones (2,863 dev problems, not 1,267), so
its own rows are left out; its results on other datasets are not. The numbers lie in `assets/published.jsonl`.

A number stands beside a run where the variant and the count of problems, or of groups, agree. Counts are those that the
papers state, or that their released files have (no-cands 228, part-sent 242; 184 special words after the filter). Where
neither tells, as for people on WSC or one number for all of Winogender, there is none, and the number is not shown.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from winokit.drawing.protocols import CITATIONS, Citation
from winokit.drawing.wording import SAY, kind
from winokit.files import json_lines
from winokit.methods.transforms.variants import style_of
from winokit.problem import ORIGINAL


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
    """Problems, or groups, that it was computed on; None where nobody says."""
    styles: tuple[str, ...] = ()
    """The styles that make its variant as it was: `paper`, `code`; none where it is about the problems as they are."""
    note: str = ""

    @property
    def variant(self) -> str:
        """The variant that it is about."""
        if self.protocol == "artifacts":
            return self.subset
        if self.protocol == "special-word":
            return "special-word"
        return "switched" if self.protocol == "switching" else ORIGINAL

    def is_made_so(self, style: str) -> bool:
        """Whether an audit makes its variant as it was, in a style."""
        return not self.styles or style_of(self.variant, style) in self.styles

    def is_like(self, counts: Collection[int], style: str) -> bool:
        """Whether it was computed on so many problems, and on the variant that an audit makes in a style."""
        return self.n in counts and self.is_made_so(style)

    def why_unlike(self, counts: Collection[int], style: str) -> str:
        """Why it does not stand beside a run."""
        here = " and ".join(f"{count:,}" for count in sorted(counts))
        if self.n is None:
            return f"on an unknown number, here {here}"
        if not self.is_made_so(style):
            return f"on {self.n:,} that --style {self.styles[0]} makes, here {here} made otherwise"
        return f"on {self.n:,}, here {here}"

    @property
    def said(self) -> str:
        """The value, in the metric's own kind."""
        return SAY[kind(self.metric, 0.5)](self.value)


@cache
def published(known_set: str) -> tuple[PublishedFact, ...]:
    """Return published results for a known set, or none."""
    rows = json_lines((files("winokit") / "assets" / "published.jsonl").read_text("utf-8"))
    set_rows = (row for row in rows if row["known_set"] == known_set)
    complete_rows = (
        {**row, "source": CITATIONS[row["source"]], "styles": tuple(row.get("styles", ()))} for row in set_rows
    )
    return tuple(PublishedFact(**row) for row in complete_rows)
