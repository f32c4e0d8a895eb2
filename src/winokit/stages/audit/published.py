"""Results that papers report for the same problems under the same protocol.

Read from the five papers: WinoGrande's first version and its AAAI version, Elazar et al., Liu et al., Trichelair et
al. WinoGrande's first version was measured on other problems than the public ones (2,863 dev problems, not 1,267), so
its own rows are left out; its results on other datasets are not. The numbers lie in `assets/published.jsonl`.

A number is shown beside a run if the variant and the count of problems, or of groups, agree. Counts are those that the
papers state, or that their released files have (no-cands 228, part-sent 242; 184 special words after the filter). If
neither has a count, as for people on WSC or one number for all of Winogender, the number is not shown.
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
    """One published number, named like a row of results.json."""

    known_set: str
    """Name of the dataset."""
    protocol: str
    subset: str
    metric: str
    system: str
    """Model or people that the number is of."""
    value: float
    source: Citation
    where: str
    """Place in the paper, such as a table."""
    people: bool = False
    """Whether the system is people."""
    n: int | None = None
    """Number of problems or groups that it was computed on, or None if it is not known."""
    styles: tuple[str, ...] = ()
    """The styles (`paper`, `code`) in which its variant is made as in the paper. Empty for original problems."""
    note: str = ""

    @property
    def variant(self) -> str:
        """The variant that it was computed on."""
        if self.protocol == "artifacts":
            return self.subset
        if self.protocol == "special-word":
            return "special-word"
        return "switched" if self.protocol == "switching" else ORIGINAL

    def is_made_so(self, style: str) -> bool:
        """Whether a style makes its variant as the paper did.

        Always true of original problems, which have no styles.
        """
        return not self.styles or style_of(self.variant, style) in self.styles

    def is_like(self, counts: Collection[int], style: str) -> bool:
        """Whether it can be compared with a run.

        The run has variants in that style, and rows with these counts of problems.
        """
        return self.n in counts and self.is_made_so(style)

    def why_unlike(self, counts: Collection[int], style: str) -> str:
        """Reason why it cannot be compared with a run.

        `is_like` describes the parameters.
        """
        here = " and ".join(f"{count:,}" for count in sorted(counts))
        if self.n is None:
            return f"on an unknown number, here {here}"
        if not self.is_made_so(style):
            return f"on {self.n:,} that --style {self.styles[0]} makes, here {here} made otherwise"
        return f"on {self.n:,}, here {here}"

    @property
    def said(self) -> str:
        """The value in words, in the metric's unit."""
        return SAY[kind(self.metric, 0.5)](self.value)


@cache
def published(known_set: str) -> tuple[PublishedFact, ...]:
    """Return the published numbers for a known dataset.

    Empty if there are none.
    """
    text = (files("winokit") / "assets" / "published.jsonl").read_text("utf-8")
    facts = []
    for row in json_lines(text):
        if row["known_set"] == known_set:
            source = CITATIONS[row["source"]]
            styles = tuple(row.get("styles", ()))
            facts.append(PublishedFact(**{**row, "source": source, "styles": styles}))
    return tuple(facts)
