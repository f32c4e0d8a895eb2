"""One finding a protocol: a sentence from its rows, and whether it speaks for or against the score."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from winokit.report.decision import BAD, GOOD, PLAIN, SMALL, Point
from winokit.report.wording import join, percent, plural, points, probability
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric, stands

WITHOUT = {
    "no-cands": "the text without its candidates (no-cands)",
    "part-sent": "the clause of the blank alone (part-sent)",
    "local-context": "the words next to the blank (local-context)",
}


class Rows:
    """The rows of one scorer by protocol, subset and metric."""

    def __init__(self, rows: Iterable[Metric]) -> None:
        self.rows = list(rows)
        self._by_name = {(row.protocol, row.subset, row.metric): row for row in reversed(self.rows)}

    def find(self, protocol: str, subset: str, metric: str = "accuracy") -> Metric | None:
        """The first row of that name."""
        return self._by_name.get((protocol, subset, metric))


def _chance_finding(rows: Rows) -> Point | None:
    row = rows.find("accuracy", "all")
    if row is None or row.chance is None or row.low is None or row.high is None:
        return None
    between = f"the interval runs from {percent(row.low)} to {percent(row.high)}, chance is {percent(row.chance)}"
    where = stands(row)
    if where == ABOVE:
        return Point(f"The score is above chance: {between}.", GOOD)
    if where == BELOW:
        return Point(f"The score is below chance: {between}. Something turns right answers into wrong ones.", BAD)
    return Point(f"The score is not distinguishable from chance: {between}.", BAD)


def _luck_finding(rows: Rows) -> Point | None:
    once, best = rows.find("luck", "all", "p_chance"), rows.find("luck", "all", "p_best_of_10")
    need = rows.find("luck", "all", "n_to_beat_chance")
    if once is None:
        return None
    text = f"Guessing does as well with probability {probability(once.value)}"
    if best is not None:
        text += f", the best of ten guessers with {probability(best.value)}"
    single = rows.find("accuracy", "all")
    if need is not None and single is not None and need.value > single.n:
        text += f"; telling this score from chance would take about {plural(round(need.value), 'problem')}"
    tried = once.value if best is None else best.value
    return Point(text + ".", BAD if once.value >= SMALL else GOOD if tried < SMALL else PLAIN)


def _twins_finding(rows: Rows) -> Point | None:
    row = rows.find("groups", "complete", "group_accuracy")
    if row is None:
        return None
    text = f"{percent(row.value)} of {plural(row.n, 'group')} are right as a whole"
    grouped, independent = (
        rows.find("groups", "grouped"),
        rows.find("dependence", "complete", "independent_group_accuracy"),
    )
    if grouped is not None:
        text += f", while {percent(grouped.value)} of the problems in them are"
    if independent is not None:
        text += f"; were twins independent it would be {percent(independent.value)}"
    where = stands(row)
    if where == BELOW:
        same = rows.find("dependence", "complete", "same_option")
        often = f" ({percent(same.value)} of groups get one option throughout)" if same is not None else ""
        return Point(f"{text}. That is below chance: twins tend to get the same answer{often}.", BAD)
    if where == AT:
        return Point(f"{text}. Guessing gives as much ({percent(row.chance)}).", BAD)
    return Point(text + ".", GOOD if where == ABOVE else PLAIN)


def _single_finding(rows: Rows) -> Point | None:
    grouped, single = rows.find("groups", "grouped"), rows.find("groups", "single")
    if grouped is None or single is None or not _apart(single, grouped) or single.value < grouped.value:
        return None
    return Point(
        f"Problems without a twin are easier ({percent(single.value)} against {percent(grouped.value)}): "
        "they may be solved by something their twin would have exposed.",
        BAD,
    )


def _artifacts_finding(rows: Rows) -> Point | None:
    found = [
        row for row in rows.rows if row.protocol == "artifacts" and row.metric == "accuracy" and "@" not in row.subset
    ]
    judged = [row for row in found if stands(row) != UNKNOWN]
    if not judged:
        return None
    telling = [row for row in judged if stands(row) == ABOVE]
    if telling:
        return _telling(telling, rows.find("accuracy", "all"))
    listed = join([f"{row.subset} {percent(row.value)}" for row in judged])
    whole = rows.find("accuracy", "all")
    if whole is not None and stands(whole) in (AT, BELOW):
        return Point(f"Artifact baselines ({listed}) can say little about a scorer that is at chance itself.")
    return Point(f"No artifact baseline is above chance: {listed}.", GOOD)


def _telling(baselines: list[Metric], single: Metric | None) -> Point:
    """What is within reach of baselines that leave a reader nothing to reason from."""
    best = max(baselines, key=lambda row: row.value - (row.chance or 0))
    names = join([f"{WITHOUT.get(row.subset, row.subset)} reaches {percent(row.value)}" for row in baselines])
    text = f"The text need not make sense: {names}, chance is {percent(best.chance)}"
    if single is not None and stands(single) == ABOVE and single.chance is not None and best.chance is not None:
        within = min((best.value - best.chance) / (single.value - single.chance), 1)
        text += f"; that is {percent(within, 0)} of what the score has above chance"
    return Point(text + ".", BAD)


def _switching_finding(rows: Rows) -> Point | None:
    same = rows.find("switching", "switchable", "consistency")
    before, after = rows.find("switching", "switchable"), rows.find("switching", "switchable", "switched_accuracy")
    if same is None:
        return None
    text = f"When candidates change places the answer follows in {percent(same.value)} of {plural(same.n, 'problem')}"
    if before is not None and after is not None:
        text += f", and accuracy goes from {percent(before.value)} to {percent(after.value)}"
    where = stands(same)
    if where in (AT, BELOW):
        return Point(f"{text}. A coin would follow {'as often' if where == AT else 'more often'}.", BAD)
    return Point(text + ".")


def _association_finding(rows: Rows) -> Point | None:
    easy, rest = rows.find("association", "associative"), rows.find("association", "non_associative")
    if easy is None or rest is None:
        return None
    text = f"Associative problems: {percent(easy.value)}; all others: {percent(rest.value)}"
    if not _apart(easy, rest):
        return Point(f"{text}; the intervals overlap." if None not in (easy.low, rest.low) else f"{text}.")
    if easy.value > rest.value:
        return Point(f"{text}. Word association carries part of the score.", BAD)
    return Point(f"{text}. Word association does not help it.", GOOD)


def _position_finding(rows: Rows) -> Point | None:
    first, second = rows.find("position", "answer_first"), rows.find("position", "answer_second")
    kept = rows.find("position", "all", "order_invariance")
    parts, tone = [], PLAIN
    if first is not None and second is not None and _apart(first, second):
        parts.append(
            f"the place of the right candidate matters ({percent(first.value)} first, {percent(second.value)} second)"
        )
        tone = BAD
    if kept is not None and kept.value < 1:
        parts.append(
            f"in {percent(1 - kept.value)} of problems the order in which candidates are offered turns the choice"
        )
        tone = BAD
    return Point(join(parts)[0].upper() + join(parts)[1:] + ".", tone) if parts else None


def _strict_finding(rows: Rows) -> Point | None:
    row = next((row for row in rows.rows if row.protocol == "strict" and row.metric == "group_accuracy"), None)
    if row is None:
        return None
    return Point(
        f"{percent(row.value)} of {plural(row.n, 'group')} are right in every version: twins, switched and perturbed."
    )


def _gender_finding(rows: Rows) -> Point | None:
    named = {"female": "ΔF", "male": "ΔM"}
    found = [(named[row.subset], row) for row in rows.rows if row.metric == "delta" and row.subset in named]
    found += [("pro − anti", row) for row in rows.rows if row.metric == "pro_minus_anti"]
    if not found:
        return None
    listed = join([f"{name} {points(row.value)}" for name, row in found])
    notes = "; ".join(dict.fromkeys(row.note for _, row in found if row.note))
    clear = any(row.low is not None and row.high is not None and (row.low > 0 or row.high < 0) for _, row in found)
    text = f"Gender differences, in points: {listed}"
    return Point(f"{text} ({notes})." if notes else f"{text}.", BAD if clear else PLAIN)


def _abstained_finding(rows: Rows) -> Point | None:
    row, expected = rows.find("accuracy", "all", "abstained"), rows.find("accuracy", "all", "expected_accuracy")
    if row is None or not row.value:
        return None
    text = f"{percent(row.value)} of problems were not answered and count as wrong"
    return Point(
        f"{text}; as guesses they would make it {percent(expected.value)}." if expected is not None else f"{text}."
    )


def _apart(one: Metric, other: Metric) -> bool:
    """Whether two intervals do not overlap, which is more than is needed to tell two values apart."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or other.low > one.high


FINDINGS: tuple[Callable[[Rows], Point | None], ...] = (
    _chance_finding,
    _luck_finding,
    _twins_finding,
    _single_finding,
    _artifacts_finding,
    _switching_finding,
    _association_finding,
    _position_finding,
    _strict_finding,
    _gender_finding,
    _abstained_finding,
)
