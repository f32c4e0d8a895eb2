"""What the score is worth, in sentences made from the rows.

Nothing is said that a row does not say: a protocol that was not run is not mentioned, and a difference counts as one
only where an interval excludes chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.report.decision import BAD, GOOD, PLAIN, SMALL, Verdict
from winokit.report.findings import FINDINGS, Rows
from winokit.report.wording import percent, plural
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric, stands


def verdict(metrics: Sequence[Metric]) -> Verdict:
    """The verdict on one scorer from its rows."""
    rows = Rows(metrics)
    single, twins = rows.find("accuracy", "all"), rows.find("groups", "complete", "group_accuracy")
    word, tone = _word(single, twins, rows)
    found = [point for say in FINDINGS for point in [say(rows)] if point is not None]
    return Verdict(word, tone, _headline(single, twins), tuple(found))


def _word(single: Metric | None, twins: Metric | None, rows: Rows) -> tuple[str, str]:
    if single is None:
        return "No accuracy to judge", PLAIN
    where, luck = stands(single), rows.find("luck", "all", "p_chance")
    if where == UNKNOWN and luck is not None:
        where = ABOVE if luck.value < SMALL else AT
    if where == BELOW:
        return "Worse than guessing", BAD
    if where == AT:
        return "Not distinguishable from chance", BAD
    if where == UNKNOWN:
        return "Nothing says whether this beats chance", PLAIN
    if luck is not None and luck.value >= SMALL:
        return "Borderline: the interval excludes chance, the exact test does not", BAD
    if twins is None or stands(twins) == UNKNOWN:
        return "Above chance", PLAIN
    if stands(twins) == ABOVE:
        return "Above chance, on twins too", GOOD
    return "Above chance on single problems, not on twins", BAD


def _headline(single: Metric | None, twins: Metric | None) -> str:
    if single is None:
        return "The run has no accuracy over all problems, so there is no score to judge."
    chance = f" (chance: {100 * single.chance:.0f})" if single.chance is not None else ""
    if twins is None:
        return f"{percent(single.value)} of {plural(single.n, 'problem')} are right{chance}; twins were not scored."
    twin_chance = f" (chance: {100 * twins.chance:.0f})" if twins.chance is not None else ""
    if stands(single) in (AT, BELOW):
        guessing = "Guessing gives as much." if stands(single) == AT else "Guessing does better."
        return (
            f"{percent(single.value)} of problems are right{chance}, and {percent(twins.value)} of groups as a "
            f"whole{twin_chance}. {guessing}"
        )
    return (
        f"Of {100 * single.value:.1f} points of accuracy{chance}, {100 * twins.value:.1f} survive when every twin "
        f"must be right{twin_chance}."
    )
