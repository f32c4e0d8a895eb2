"""The rows of one scorer by name, and the values of the facts of a verdict."""

from collections.abc import Iterable
from functools import cached_property

from winokit.drawing.wording import percent
from winokit.results import Metric

NONE = "none"
SOME = "some"
ALL = "all"
"""Whether none, some or all problems are left undecided."""
ONE = "one"
SEVERAL = "several"
FIXED = "fixed"
"""Number of places in which right answers are. Fixed if there are several and right answers cannot change them."""
FEW = "few"
ENOUGH = "enough"
"""Whether fewer pairs are right than a coin gets."""
FALLS = "falls"
HOLDS = "holds"
"""Whether accuracy falls by more than five points when the candidates change places."""
WITHOUT = {
    "no-cands": "the text without its candidates (no-cands)",
    "part-sent": "the clause with the blank alone (part-sent)",
    "local-context": "the words next to the blank (local-context)",
}
"""Descriptions of the artifact baselines, by variant."""
GENDER = {("female", "delta"): "ΔF", ("male", "delta"): "ΔM", ("all", "pro_minus_anti"): "pro − anti"}
"""Names of the gender differences, by subset and metric."""


class MetricRows:
    """The rows of one scorer by protocol, subset and metric."""

    def __init__(self, rows: Iterable[Metric]) -> None:
        self.rows = list(rows)
        self._by_name = {(row.protocol, row.subset, row.metric): row for row in reversed(self.rows)}

    def find(self, protocol: str, subset: str, metric: str = "accuracy") -> Metric | None:
        """Find the first row of a protocol, subset and metric, or None."""
        return self._by_name.get((protocol, subset, metric))

    @property
    def single(self) -> Metric | None:
        """Row of the accuracy over all problems, or None."""
        return self.find("accuracy", "all")

    @property
    def tied(self) -> float:
        """Share of problems that are left undecided because candidates tie.

        Answers that change when the candidates switch places count too. 0 if no problem is undecided.
        """
        row = self.find("accuracy", "all", "abstained")
        return 0.0 if row is None else float(row.details.get("tied") or 0)

    @property
    def told_apart(self) -> Metric | None:
        """Row of the share of pairs with different choices for the twins.

        None without pairs.
        """
        return self.find("groups", "complete", "told_apart")

    @property
    def whole_groups(self) -> Metric | None:
        """Row of the share of groups that are fully right, or None.

        Only complete groups count.
        """
        return self.find("groups", "complete", "group_accuracy")

    @property
    def groups_word(self) -> str:
        """Word for complete groups: "pair" if all are pairs, else "group".

        Runs of earlier versions do not count pairs. There, groups are taken for pairs if a coin gets a quarter of them.
        """
        whole_row = self.whole_groups
        told_row = self.told_apart
        if whole_row is None:
            return "group"
        are_pairs = whole_row.chance == 0.25
        if told_row is not None:
            are_pairs = whole_row.n == told_row.n
        return "pair" if are_pairs else "group"

    @cached_property
    def twins(self) -> Metric | None:
        """Row that tells whether twins are understood, or None without groups.

        It is the share of pairs with both twins right, among those whose twins get different choices. If there are no
        pairs, or in a run of an earlier version, it is the share of complete groups that are right.
        """
        if self.told_apart is None:
            return self.whole_groups
        return self.find("groups", "complete", "right_way_round")

    @cached_property
    def headline(self) -> dict[str, Metric | None]:
        """The two rows of the headline, by the names of their facts.

        They are one family of tests.
        """
        return {"single": self.single, "twins": self.twins}

    @cached_property
    def tested(self) -> dict[str, Metric | None]:
        """Rows that findings compare with chance, by the names of facts.

        They are one family of tests.
        """
        tested = {f"artifacts {subset}": self.find("artifacts", subset) for subset in WITHOUT}
        tested |= {f"gender {subset} {metric}": self.find("gender", subset, metric) for subset, metric in GENDER}
        return tested | {
            "told": self.told_apart,
            "alone": self.find("groups", "all", "single_minus_grouped"),
            "switched": self.find("switching", "switchable", "unswitched_minus_switched"),
            "consistency": self.find("switching", "switchable", "consistency"),
            "association": self.find("association", "all", "associative_minus_others"),
            "place": self.find("position", "all", "first_minus_second"),
        }


def before_and_after(row: Metric) -> str:
    """Phrase with the accuracies before and after switching candidates."""
    before = float(row.details.get("first") or 0)
    after = float(row.details.get("second") or 0)
    return f"{percent(before)} before, {percent(after)} after"
