"""The findings below a headline: a sentence per protocol, each with the facts that it claims.

A finding says no more of a row than its corrected test shows. Rows without a test are stated and not judged. Each
function takes the rows of one scorer and `state`, the facts of the verdict.
"""

from collections.abc import Callable

from winokit.drawing.decision import BAD, GOOD, PLAIN, SMALL, State, VerdictPoint
from winokit.drawing.wording import join, often, percent, plural, points
from winokit.results import ABOVE, AT, BELOW, SAMPLES, UNKNOWN, USUAL_LEVEL, Metric
from winokit.stages.audit.scored_rows import (
    ALL,
    FALLS,
    FEW,
    GENDER,
    NONE,
    SEVERAL,
    SOME,
    WITHOUT,
    MetricRows,
    before_and_after,
)

UNDECIDED_TO_SAY = 0.01
"""From this share of undecided problems on, the terminal always states it."""


def _find_chance(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on the score over all problems against chance.

    None if the row has no chance level or interval, if its standing is unknown, if all problems are undecided, or if
    right answers cannot change places.
    """
    row = rows.single
    where = state["single"]
    if row is None or row.level is None or row.low is None or row.high is None:
        return None
    is_judged = where != UNKNOWN and state["abstained"] != ALL and state["places"] == SEVERAL
    if not is_judged:
        return None
    between = f"the interval is {percent(row.low)} to {percent(row.high)}, chance is {percent(row.level)}"
    claims = {"single": where}
    if where == ABOVE:
        return VerdictPoint(f"Over all problems the score is above chance: {between}.", GOOD, claims)
    if where == BELOW:
        advice = "Something turns right answers into wrong ones: are the labels the right way round?"
        return VerdictPoint(f"Over all problems the score is below chance: {between}. {advice}", BAD, claims)
    text = "Over all problems the score cannot be distinguished from chance"
    return VerdictPoint(f"{text}: {between}{_explain_interval(row)}.", BAD, claims)


def _explain_interval(row: Metric) -> str:
    """Remark on a score whose interval excludes chance without being significant.

    Empty if the interval contains chance, or if one of them is missing. The caller makes sure that the score is not
    significant.
    """
    if row.level is None or row.low is None or row.high is None:
        return ""
    is_inside = row.low <= row.level <= row.high
    return "" if is_inside else "; the verdict's tests share a level of 3\u00a0%, below the interval's 5\u00a0%"


def _find_luck(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on how often chance would do as well.

    It includes the number of problems that would tell. None without the row of luck, if right answers cannot change
    places, or if all problems are undecided.
    """
    once = rows.find("luck", "all", "p_null")
    best = rows.find("luck", "all", "p_null_best_of_10")
    if once is None or state["places"] != SEVERAL or state["abstained"] == ALL:
        return None
    text = f"Its own choices would score this high by chance {often(once.value)} of the time"
    if best is not None:
        text += f", the best of ten tries {often(best.value)}"
    if state["single"] == AT:
        text += _say_problems_needed(rows)
    is_sure = state["single"] == ABOVE and (best or once).value < SMALL
    return VerdictPoint(f"{text}.", GOOD if is_sure else PLAIN)


def _say_problems_needed(rows: MetricRows) -> str:
    """Phrase on the number of problems needed to exclude chance.

    Empty if the dataset has as many, or if the number is not in the rows.
    """
    needed = rows.find("luck", "all", "n_to_beat_chance")
    if needed is None or rows.single is None or needed.value <= rows.single.n:
        return ""
    problems = plural(round(needed.value), "problem")
    return f"; to distinguish this score from chance would take about {problems}"


def _find_twins(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on groups that are right as a whole.

    None without complete groups, or if right answers cannot change places.
    """
    row = rows.whole_groups
    where = state["twins"]
    if row is None or state["places"] != SEVERAL:
        return None
    text = f"{percent(row.value)} of {plural(row.n, rows.groups_word)} are fully right"
    grouped = rows.find("groups", "grouped")
    independent = rows.find("dependence", "complete", "independent_group_accuracy")
    if grouped is not None:
        text += f", while {percent(grouped.value)} of the problems in them are"
    told_row = rows.told_apart
    is_answered = told_row is None or told_row.level is not None  # both twins of some pair
    if independent is not None and independent.n == row.n and is_answered:
        text += f"; if twins were answered independently it would be {percent(independent.value)}"
    endings = {
        ABOVE: "Twins that it tells apart are the right way round more often than chance has them",
        AT: "Of twins that it tells apart no more are the right way round than chance may have",
        BELOW: "Twins that it tells apart are the wrong way round more often than chance has them",
    }
    tones = {ABOVE: PLAIN if state["pairs"] == FEW else GOOD, AT: BAD, BELOW: BAD}
    ending = f" {endings[where]}." if where in endings else ""
    return VerdictPoint(f"{text}.{ending}", tones.get(where, PLAIN), {"twins": where})


def _find_told_apart(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on how often twins get different choices.

    None if that is neither significantly more nor significantly less often than by chance.
    """
    row = rows.told_apart
    same = rows.find("dependence", "complete", "same_option")
    if row is None or row.level is None or state["told"] not in (ABOVE, BELOW):
        return None
    level = percent(row.level)
    if state["told"] == ABOVE:
        text = f"It tells twins apart more often than choices that know nothing of each other would ({level})."
        return VerdictPoint(text, PLAIN, {"told": ABOVE})
    option = "" if same is None else f": it takes the same option for both twins in {percent(same.value)} of pairs"
    text = f"It tells twins apart less often than choices that know nothing of each other would ({level}){option}."
    return VerdictPoint(text, BAD, {"told": BELOW})


def _find_samples(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on the agreement of several samples.

    It includes the shares of problems right in all and in any of them. None without samples, or if all problems are
    undecided.
    """
    same = rows.find("samples", "all", "same_answer")
    if same is None or state["abstained"] == ALL:
        return None
    count = int(same.details.get(SAMPLES) or 0)
    if same.value == 1:
        text = f"It gives the same answer in all {count} samples on every problem: they say no more than one would."
        return VerdictPoint(text, PLAIN, is_needed=True)
    text = f"It gives the same answer in all {count} samples on {percent(same.value)} of problems"
    is_like_coin = same.p is not None and (same.p >= USUAL_LEVEL or same.value < (same.chance or 0.0))
    if is_like_coin:
        text += f", as a coin in every sample may do too ({percent(same.chance)})"
    if state["places"] == SEVERAL:
        text += _describe_samples_right(rows)
    return VerdictPoint(f"{text}.", BAD if is_like_coin else PLAIN, is_needed=True)


def _describe_samples_right(rows: MetricRows) -> str:
    """Phrase on the problems right in all samples and in any.

    Empty if the rows have no such shares.
    """
    always = rows.find("samples", "all", "all_right")
    ever = rows.find("samples", "all", "any_right")
    groups = rows.find("samples", "complete", "group_accuracy")
    if always is None or ever is None:
        return ""
    text = f": on {percent(always.value)} all are right, on {percent(ever.value)} at least one is"
    if groups is None:
        return text
    of_groups = plural(groups.n, rows.groups_word)
    return f"{text}; in {percent(groups.value)} of {of_groups} every sample of all twins is right"


def _find_fall(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding that accuracy falls when the candidates change places.

    None if the fall is not significant. A cause is named only if it is shown to exceed five points.
    """
    row = rows.tested["switched"]
    if row is None or state["switched"] != ABOVE:
        return None
    text = f"Accuracy falls by {points(row.value).removeprefix('+')} points when the candidates change places"
    cause = ""
    if state["fall"] == FALLS:
        cause = ": it goes by what it remembers of these texts, or by which candidate fits their words"
    claims = {"switched": ABOVE}
    if state["fall"] == FALLS and state["single"] == ABOVE:
        claims["fall"] = FALLS  # as the headline does
    return VerdictPoint(f"{text} ({before_and_after(row)}){cause}.", BAD, claims)


def _find_single_problems(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding that problems without a twin are easier.

    None if that is not shown.
    """
    row = rows.find("groups", "all", "single_minus_grouped")
    if row is None or state["alone"] != ABOVE:
        return None
    easier = f"Problems without a twin are easier for it ({_describe_sides(row, 'against', state)})"
    return VerdictPoint(f"{easier}: it may solve them by a shortcut that a twin would expose.", BAD, {"alone": ABOVE})


def _say_chance_level(row: Metric) -> str:
    """Chance level in brackets, or nothing if it is not known."""
    return "" if row.level is None else f" (chance: {percent(row.level)})"


def _find_artifacts(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on texts that people could not solve.

    None if no artifact baseline was compared with chance.
    """
    judged = _list_judged_artifacts(rows, state)
    if not judged:
        return None
    claims = {f"artifacts {subset}": state[f"artifacts {subset}"] for subset in judged}
    above_chance = [row for subset, row in judged.items() if state[f"artifacts {subset}"] == ABOVE]
    if above_chance:
        names = join([_describe_artifact(row) for row in above_chance])
        return VerdictPoint(f"It finds answers in text that no longer holds them: {names}.", BAD, claims)
    shares = join([f"{subset} {percent(row.value)}" for subset, row in judged.items()])
    if state["single"] != ABOVE:
        little = f"Artifact baselines ({shares}) say little about a scorer that is not above chance itself."
        return VerdictPoint(little, PLAIN, claims)
    return VerdictPoint(f"No artifact baseline is significantly above chance (corrected p): {shares}.", GOOD, claims)


def _list_judged_artifacts(rows: MetricRows, state: State) -> dict[str, Metric]:
    """Accuracies of artifact baselines that were compared with chance, by variant."""
    judged = {}
    for variant in WITHOUT:
        row = rows.find("artifacts", variant)
        if row is not None and state[f"artifacts {variant}"] != UNKNOWN:
            judged[variant] = row
    return judged


def _describe_artifact(row: Metric) -> str:
    """Phrase on an artifact baseline: accuracy, chance level and kind of text."""
    return f"{percent(row.value)}{_say_chance_level(row)} from {WITHOUT[row.subset]}"


def _find_switching(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on how often the answer follows a switch.

    None without switched problems.
    """
    consistency = rows.find("switching", "switchable", "consistency")
    where = state["consistency"]
    before = rows.find("switching", "switchable")
    after = rows.find("switching", "switchable", "switched_accuracy")
    if consistency is None:
        return None
    share = f"{percent(consistency.value)} of {plural(consistency.n, 'problem')}"
    text = f"When the candidates switch places, its answer follows in {share}"
    has_fall_sentence = state["switched"] == ABOVE
    if before is not None and after is not None and not has_fall_sentence:
        text += f", and accuracy goes from {percent(before.value)} to {percent(after.value)}"
    claims = {"consistency": where}
    worse = {AT: " A coin might follow as often.", BELOW: " A coin would follow more often."}.get(where, "")
    return VerdictPoint(f"{text}.{worse}", BAD if worse else PLAIN, claims)


def _find_association(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding that compares associative problems with all others.

    None without the labels.
    """
    row = rows.find("association", "all", "associative_minus_others")
    where = state["association"]
    if row is None:
        return None
    text = f"Associative problems against all others: {_describe_sides(row, 'and', state)}"
    claims = {"association": where}
    ends = {
        ABOVE: ". Word association carries part of the score.",
        BELOW: ". Associative problems are harder for it.",
        AT: "; the difference is not significant after correction for the number of tests.",
    }
    tone = BAD if where == ABOVE else PLAIN
    return VerdictPoint(text + ends.get(where, "."), tone, claims)


def _find_position(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding that the order in which candidates are offered matters.

    It does if accuracy differs significantly by the place in which the right candidate is offered, or if any choice
    changes with the order. None otherwise.
    """
    row = rows.find("position", "all", "first_minus_second")
    turned = rows.find("position", "all", "order_turned")
    clauses = []
    claims = {}
    if row is not None and state["place"] in (ABOVE, BELOW):
        shares = _describe_sides(row, "and", state)
        clauses.append(f"it matters whether the right candidate is offered first or second ({shares})")
        claims["place"] = state["place"]
    if turned is not None and turned.value:
        clauses.append(f"in {percent(turned.value)} of problems its choice changes with the order of the candidates")
    if not clauses:
        return None
    text = join(clauses)
    return VerdictPoint(f"{text[0].upper()}{text[1:]}.", BAD, claims)


def _describe_sides(row: Metric, word: str, state: State) -> str:
    """The two accuracies of a difference with `word` between them.

    They are shares of answered problems. Runs of earlier versions have only the difference.
    """
    first = row.details.get("first")
    second = row.details.get("second")
    if first is None or second is None:
        return f"{points(row.value)} points apart"
    among = "" if state["abstained"] == NONE else " of those answered"
    return f"{percent(float(first))} {word} {percent(float(second))}{among}"


def _find_strict(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on groups that are right in every version.

    None without the protocol `strict`.
    """
    row = rows.find("strict", "complete", "group_accuracy")
    if row is None:
        return None
    return VerdictPoint(f"{percent(row.value)} of {plural(row.n, 'group')} are right in every version that was scored.")


def _find_gender(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on gender differences, with the significant ones.

    None if the rows have no differences.
    """
    differences = _list_gender_rows(rows)
    if not differences:
        return None
    claims = {}
    for subset, metric in differences:
        fact = f"gender {subset} {metric}"
        claims[fact] = state[fact]
    significant = [
        GENDER[subset, metric]
        for subset, metric in differences
        if claims[f"gender {subset} {metric}"] in (ABOVE, BELOW)
    ]
    values = join([f"{GENDER[name]} {points(row.value)}" for name, row in differences.items()])
    notes = "; ".join(dict.fromkeys(row.note for row in differences.values() if row.note))
    text = f"Gender differences, in points: {values}"
    if notes:
        text += f" ({notes})"
    text += "."
    if significant:
        return VerdictPoint(f"{text} Significant: {join(significant)}.", BAD, claims)
    if UNKNOWN not in claims.values():
        text += " None is significant."
    return VerdictPoint(text, PLAIN, claims)


def _list_gender_rows(rows: MetricRows) -> dict[tuple[str, str], Metric]:
    """Gender differences that the rows have, by subset and metric."""
    differences = {}
    for subset, metric in GENDER:
        row = rows.find("gender", subset, metric)
        if row is not None:
            differences[subset, metric] = row
    return differences


def has_ties_to_say(rows: MetricRows, state: State) -> bool:
    """Whether the headline states the share of ties.

    It does if they are more than a few, and do not leave all problems undecided.
    """
    return state["abstained"] == SOME and rows.tied >= UNDECIDED_TO_SAY


def _find_abstained(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on the share of problems that are left undecided.

    None if there are none.
    """
    row = rows.find("accuracy", "all", "abstained")
    expected = rows.find("accuracy", "all", "expected_accuracy")
    if row is None or not row.value:
        return None
    tied = rows.tied
    ties = f" ({percent(tied)} tie, or change when candidates switch places)" if tied else ""
    text = f"{percent(row.value)} of problems are left undecided{ties}; they count as wrong, for chance too"
    if expected is not None:
        would_be = f"{percent(expected.value)} (chance: {percent(expected.level)})"
        text += f". With guesses for these the score would be {would_be}"
    tone = BAD if state["abstained"] == ALL else PLAIN
    unsaid = row.value - tied if has_ties_to_say(rows, state) else row.value
    return VerdictPoint(f"{text}.", tone, {"abstained": state["abstained"]}, is_needed=unsaid >= UNDECIDED_TO_SAY)


def _find_unfinished(rows: MetricRows, state: State) -> VerdictPoint | None:
    """Return the finding on replies that were cut off before the answer.

    None if there are none.
    """
    row = rows.find("accuracy", "all", "abstained")
    share = float(row.details.get("unfinished") or 0) if row else 0.0
    text = f"Replies to {percent(share)} of problems ended before the answer: raise max_tokens and run again."
    return VerdictPoint(text, BAD) if share else None


FINDINGS: tuple[Callable[[MetricRows, State], VerdictPoint | None], ...] = (
    _find_unfinished,
    _find_chance,
    _find_luck,
    _find_twins,
    _find_told_apart,
    _find_samples,
    _find_fall,
    _find_single_problems,
    _find_artifacts,
    _find_switching,
    _find_association,
    _find_position,
    _find_strict,
    _find_gender,
    _find_abstained,
)
"""Functions that make the findings, in the order in which a page lists them."""
