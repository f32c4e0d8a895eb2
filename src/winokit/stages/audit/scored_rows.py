"""The rows of one scorer as the verdict asks for them, and the facts it speaks of."""

from collections.abc import Iterable
from functools import cached_property

from winokit.drawing.wording import percent
from winokit.results import Metric

NONE = "none"
SOME = "some"
ALL = "all"
"""How many problems are left undecided."""
ONE = "one"
SEVERAL = "several"
FIXED = "fixed"
"""In how many places right answers are; fixed if they are in several and cannot change them."""
FEW = "few"
ENOUGH = "enough"
"""Whether fewer pairs are right than a coin gets."""
FALLS = "falls"
HOLDS = "holds"
"""Whether accuracy falls when the candidates change places."""
WITHOUT = {
    "no-cands": "the text without its candidates (no-cands)",
    "part-sent": "the clause with the blank alone (part-sent)",
    "local-context": "the words next to the blank (local-context)",
}
GENDER = {("female", "delta"): "ΔF", ("male", "delta"): "ΔM", ("all", "pro_minus_anti"): "pro − anti"}


class MetricRows:
    """The rows of one scorer by protocol, subset and metric."""

    def __init__(self, rows: Iterable[Metric]) -> None:
        self.rows = list(rows)
        self._by_name = {(row.protocol, row.subset, row.metric): row for row in reversed(self.rows)}

    def find(self, protocol: str, subset: str, metric: str = "accuracy") -> Metric | None:
        """The first row of that name."""
        return self._by_name.get((protocol, subset, metric))

    @property
    def single(self) -> Metric | None:
        """Accuracy over all problems."""
        return self.find("accuracy", "all")

    @property
    def told_apart(self) -> Metric | None:
        """Share of pairs whose twins get different choices."""
        return self.find("groups", "complete", "told_apart")

    @property
    def whole_groups(self) -> Metric | None:
        """The share of complete groups whose every member is right."""
        return self.find("groups", "complete", "group_accuracy")

    @property
    def groups_word(self) -> str:
        """Word for whole groups: pairs if all of them are.

        For runs of earlier versions the chance level tells.

        A coin gets a quarter of pairs, and less with abstentions.
        """
        whole_row = self.whole_groups
        told_row = self.told_apart
        if whole_row is None:
            return "group"
        are_pairs = whole_row.chance == 0.25 if told_row is None else whole_row.n == told_row.n
        return "pair" if are_pairs else "group"

    @cached_property
    def twins(self) -> Metric | None:
        """The row that says whether twins are understood.

        Of the pairs told apart, how many are the right way round. Whole groups, if there are no pairs or the run was
        written before pairs were looked at so.
        """
        if self.told_apart is None:
            return self.whole_groups
        return self.find("groups", "complete", "right_way_round")

    @cached_property
    def headline(self) -> dict[str, Metric | None]:
        """The two rows of the headline: one family of tests."""
        return {"single": self.single, "twins": self.twins}

    @cached_property
    def tested(self) -> dict[str, Metric | None]:
        """The rows of which a finding says where they stand, by the name of the fact: one family of tests."""
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
    """The two accuracies of which a row of switching is the difference."""
    first, second = (row.details.get(side) for side in ("first", "second"))
    return f"{percent(float(first or 0))} before, {percent(float(second or 0))} after"
