"""What a score is worth: a headline from one decision table over all the rows it mentions, and the findings behind it.

Facts come from tests, not from looking at intervals one by one. The headline speaks of two rows, all problems and whole
groups, which share one level; the findings below it are a family of their own. Fewer than one verdict in twenty is then
bolder than it should be (`benchmarks/verdicts.py` measures it).
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.drawing.decision import BAD, GOOD, PLAIN, SURE, DecisionTable, State, Verdict, VerdictCase
from winokit.drawing.wording import percent, plural
from winokit.results import ABOVE, AT, BELOW, FLOOR, UNKNOWN, Metric
from winokit.stages.audit.findings import FINDINGS, MetricRows, states

NONE, SOME, ALL = "none", "some", "all"
LARGE = "large"
RARE = "small"

HEADLINE = DecisionTable(
    facts={
        "single": (ABOVE, AT, BELOW, UNKNOWN),
        "group": (ABOVE, AT, BELOW, UNKNOWN),
        "luck": (RARE, LARGE, UNKNOWN),
        "abstained": (NONE, SOME, ALL),
    },
    cases=(
        VerdictCase({"abstained": ALL}, "Nothing was decided", BAD),
        VerdictCase({"single": UNKNOWN, "group": UNKNOWN}, "No accuracy to judge", PLAIN),
        VerdictCase({"single": UNKNOWN, "group": ABOVE}, "Above chance on whole groups", PLAIN),
        VerdictCase({"single": UNKNOWN, "group": AT}, "Whole groups are not distinguishable from guessing", BAD),
        VerdictCase({"single": UNKNOWN, "group": BELOW}, "Below chance on whole groups", BAD),
        # The interval over groups and the exact test of guessing disagree: nothing is claimed of single problems.
        VerdictCase(
            {"single": ABOVE, "luck": LARGE, "group": ABOVE}, "Borderline on problems, above chance on groups", PLAIN
        ),
        VerdictCase(
            {"single": ABOVE, "luck": LARGE, "group": BELOW}, "Borderline on problems, below chance on groups", BAD
        ),
        VerdictCase(
            {"single": ABOVE, "luck": LARGE}, "Borderline: one test excludes guessing, the other does not", BAD
        ),
        VerdictCase(
            {"single": AT, "luck": RARE, "group": BELOW}, "Borderline on problems, below chance on groups", BAD
        ),
        VerdictCase(
            {"single": AT, "luck": RARE, "group": ABOVE}, "Borderline on problems, above chance on groups", PLAIN
        ),
        VerdictCase({"single": AT, "luck": RARE}, "Borderline: one test excludes guessing, the other does not", BAD),
        VerdictCase({"single": ABOVE, "group": ABOVE}, "Above chance, on whole groups too", GOOD),
        VerdictCase({"single": ABOVE, "group": AT}, "Above chance on problems, whole groups not told from it", BAD),
        VerdictCase({"single": ABOVE, "group": BELOW}, "Above chance on problems, below it on whole groups", BAD),
        VerdictCase({"single": ABOVE}, "Above chance", PLAIN),
        VerdictCase(
            {"single": AT, "group": ABOVE}, "Not told from guessing on problems, above chance on groups", PLAIN
        ),
        VerdictCase({"single": AT, "group": BELOW}, "Not told from guessing on problems, below chance on groups", BAD),
        VerdictCase({"single": AT}, "Not distinguishable from guessing", BAD),
        VerdictCase({"single": BELOW, "group": ABOVE}, "Below chance on problems, above it on whole groups", BAD),
        VerdictCase({"single": BELOW}, "Below chance", BAD),
    ),
)


def verdict(metrics: Sequence[Metric]) -> Verdict:
    """The verdict on one scorer from its rows."""
    rows = MetricRows(metrics)
    state = headline_state(rows)
    case = HEADLINE.decide(state)
    found = [point for say in FINDINGS for point in [say(rows, state)] if point is not None]
    return Verdict(case.word, case.tone, _headline(rows, state), tuple(found))


def headline_state(rows: MetricRows) -> dict[str, str]:
    """What is known of single problems, groups, luck and abstentions, and of every finding."""
    single, group = rows.find("accuracy", "all"), rows.find("groups", "complete", "group_accuracy")
    luck, silent = rows.find("luck", "all", "p_chance"), rows.find("accuracy", "all", "abstained")
    found = states({"single": single, "group": group})
    # Of yes/no questions guessing is not the question: the commonest answer has more.
    asks = single is not None and FLOOR in single.details
    found["luck"] = UNKNOWN if luck is None or asks else RARE if luck.value < SURE / 2 else LARGE
    found["abstained"] = NONE if silent is None or not silent.value else ALL if silent.value >= 1 else SOME
    return found | states(rows.tested)


def _headline(rows: MetricRows, state: State) -> str:
    """The numbers behind the word; those of one sentence are of the same problems."""
    single, group = rows.find("accuracy", "all"), rows.find("groups", "complete", "group_accuracy")
    grouped = rows.find("groups", "grouped")
    same = " with the same abstentions" if state["abstained"] == SOME else ""
    whole = "" if group is None else f"{plural(group.n, 'group')} as a whole{_beside(group)}"
    if single is None and group is not None:
        return f"{percent(group.value)} of {whole} are right; the run has no accuracy over all problems."
    if single is None:
        return "The run has no accuracy over all problems, so there is no score to judge."
    start = f"{percent(single.value)} of {plural(single.n, 'problem')} are right{_beside(single, f'guessing{same}')}"
    if group is None or grouped is None:
        return f"{start}; there are no twins to look at."
    whole = f"{percent(group.value)} of their {whole}"
    if grouped.n == single.n:
        return f"{start}, and {whole}."
    return f"{start}. Of the {grouped.n:,} with twins, {percent(grouped.value)} are right, and {whole}."


def _beside(row: Metric, what: str = "guessing") -> str:
    if row.level is None:
        return ""
    return f" ({'the commonest answer' if FLOOR in row.details else what}: {100 * row.level:.1f})"
