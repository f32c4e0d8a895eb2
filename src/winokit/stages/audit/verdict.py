"""The verdict on a score: a headline from a decision table, and the findings behind it.

Chance is the score that the scorer's own choices and abstentions would get if right answers changed places (the null of
METHODS M.1). The headline is about two rows, all problems and the twins with different choices, which share one level
of significance. The findings below it are a separate family of tests. `benchmarks/verdicts.py` measures how often a
verdict is bolder than it should be.
"""

from collections.abc import Mapping, Sequence

from winokit.drawing.decision import GOOD, SURE, DecisionTable, State, Verdict, standing
from winokit.drawing.wording import COIN_OF_PAIRS, COIN_OF_PROBLEMS, name_coin, percent, plural, points, probability
from winokit.methods.metrics.judge import can_be_shown, score_to_find
from winokit.results import ABOVE, AT, BELOW, NULL_ERROR, ONE_CHOICE, UNKNOWN, USUAL_LEVEL, WITHOUT_ERRATA, Metric
from winokit.stages.audit.causes import find_cause
from winokit.stages.audit.findings import FINDINGS, has_ties_to_say
from winokit.stages.audit.scored_rows import (
    ALL,
    ENOUGH,
    FALLS,
    FEW,
    FIXED,
    HOLDS,
    NONE,
    ONE,
    SEVERAL,
    SOME,
    MetricRows,
    before_and_after,
)

FALL_THAT_MATTERS = 0.05
"""Fall of accuracy after switching from which it is in the headline: five points."""
NEARLY = ", but only just"
"""Added to a word if a 5 % test excludes chance and the tests of the headline, which share 3 %, do not."""

ABOVE_CHANCE = "Above chance"
ABOVE_ON_PROBLEMS = "Above chance on problems"
"""Beginnings of the words for a score over all problems that is above chance."""

HEADLINE = DecisionTable.of_stage(
    "audit",
    {
        "places": (ONE, FIXED, SEVERAL),
        "single": (ABOVE, AT, BELOW, UNKNOWN),
        "twins": (ABOVE, AT, BELOW, UNKNOWN),
        "pairs": (FEW, ENOUGH),
        "fall": (FALLS, HOLDS, UNKNOWN),
        "abstained": (NONE, SOME, ALL),
    },
)


def verdict(metrics: Sequence[Metric], margin: float | None = None) -> Verdict:
    """Return the verdict on one scorer from its rows.

    `margin` is the smallest effect that matters, in points, or None if the user named none.
    """
    rows = MetricRows(metrics)
    state = headline_state(rows)
    case = HEADLINE.decide(state)
    possible_findings = [find(rows, state) for find in FINDINGS]
    findings = tuple(finding for finding in possible_findings if finding is not None)
    beyond = _say_beyond_margin(rows, state, margin)
    word = _with_margin(case.word, beyond) + _soften_word(case.word, rows, state)
    cause = None if case.tone == GOOD else find_cause(rows, state)
    return Verdict(word, case.tone, _make_headline(rows, state, beyond), findings, cause)


def headline_state(rows: MetricRows) -> dict[str, str]:
    """Facts on which the headline and every finding depend, by their names.

    A value is a standing (above, at or below chance, unknown) or one of the constants of `scored_rows`.
    """
    state = _find_standings(rows.headline)
    if _has_too_few_pairs(rows):
        state["twins"] = UNKNOWN
    single = rows.single
    state["places"] = _find_places(single)
    if state["places"] == FIXED:
        state["single"] = UNKNOWN
    state["pairs"] = _find_pairs(rows)
    state["abstained"] = _find_abstained(rows)
    state |= _find_standings(rows.tested)
    state["fall"] = _find_fall_state(rows, state)
    return state


def _find_places(single: Metric | None) -> str:
    """Whether right answers are in several places and can change them.

    The value is ONE, FIXED or SEVERAL. It is SEVERAL unless the row says otherwise.
    """
    in_one_place = None if single is None else single.details.get("in_one_place")
    if in_one_place is None:
        return SEVERAL
    return ONE if in_one_place else FIXED


def _has_too_few_pairs(rows: MetricRows) -> bool:
    """Whether too few pairs have different choices to show anything.

    Then the test would not be significant even if all of them were right.
    """
    row = rows.twins
    level = SURE / max(_count_tests(rows.headline), 1)
    return row is not None and not can_be_shown(row, level)


def _find_pairs(rows: MetricRows) -> str:
    """Whether fewer pairs are right than a coin gets (FEW), or not (ENOUGH).

    With few, twins are above chance only among the pairs with different choices.
    """
    whole_row = rows.whole_groups
    told_row = rows.told_apart
    right_way_row = rows.twins
    if whole_row is None or told_row is None or right_way_row is None or whole_row.chance is None:
        return ENOUGH
    # A coin that never abstains, as in the papers' rows for pairs.
    is_of_pairs = whole_row.n == told_row.n and right_way_row.chance == COIN_OF_PROBLEMS
    coin = COIN_OF_PAIRS if is_of_pairs else whole_row.chance
    return FEW if whole_row.value < coin else ENOUGH


def _find_standings(rows: Mapping[str, Metric | None]) -> dict[str, str]:
    """Standing of each row of a family of tests against chance.

    It is above, at or below, and unknown for a row that is missing or has nothing to be compared with. The level is
    corrected for the number of tests (Bonferroni). A step-down correction would find a little more, but spend the whole
    level on one row if the others are clear.
    """
    test_count = _count_tests(rows)
    return {fact: standing(row, test_count) for fact, row in rows.items()}


def _count_tests(rows: Mapping[str, Metric | None]) -> int:
    """Number of rows of a family that have a test and share its level."""
    return sum(row is not None and row.p is not None for row in rows.values())


def _find_abstained(rows: MetricRows) -> str:
    """Whether none, some or all problems are left undecided."""
    row = rows.find("accuracy", "all", "abstained")
    if row is None or not row.value:
        return NONE
    return ALL if row.value >= 1 else SOME


def _find_fall_state(rows: MetricRows, state: State) -> str:
    """Whether switching candidates is shown to lower accuracy by five points.

    FALLS if the fall is significant and its whole interval beyond five points, else HOLDS. UNKNOWN without an interval.
    """
    row = rows.tested["switched"]
    if row is None or row.low is None:
        return UNKNOWN
    is_shown = state["switched"] == ABOVE and row.low > (row.level or 0.0) + FALL_THAT_MATTERS
    return FALLS if is_shown else HOLDS


def _soften_word(word: str, rows: MetricRows, state: State) -> str:
    """Addition to a word that says that chance is not excluded.

    Empty unless a single 5 % test would exclude it.
    """
    is_cautious = word.startswith("Indistinguishable") or "indistinguishable from it" in word
    is_near = any(_is_near(row, state[fact]) for fact, row in rows.headline.items())
    return NEARLY if is_cautious and is_near else ""


def _is_near(row: Metric | None, where: str) -> bool:
    """Whether a 5 % test excludes chance although the headline's stricter test does not.

    `where` is the row's standing by the stricter test.
    """
    return row is not None and where == AT and row.p is not None and row.p < USUAL_LEVEL


def _say_beyond_margin(rows: MetricRows, state: State, margin: float | None) -> str:
    """Phrase on whether a score above chance exceeds it by the margin.

    Empty without a margin, or if the score is not above chance.
    """
    row = rows.single
    if margin is None or row is None or row.level is None or state["single"] != ABOVE:
        return ""
    threshold = row.level + margin / 100
    if row.low is not None and row.low > threshold:
        return f", by more than {margin:g} points"
    if row.high is not None and row.high < threshold:
        return f", by less than {margin:g} points"
    return f", perhaps by less than {margin:g} points"


def _with_margin(word: str, beyond: str) -> str:
    """Insert the phrase `beyond` after "above chance" at the beginning of a word.

    Other words stay as they are.
    """
    for start in (ABOVE_ON_PROBLEMS, ABOVE_CHANCE):
        if word.startswith(start):
            return start + beyond + word.removeprefix(start)
    return word


def _make_headline(rows: MetricRows, state: State, beyond: str) -> str:
    """Text with the numbers behind the word of a verdict.

    `beyond` is the phrase on the margin.
    """
    sentences = [
        _describe_fall(rows, state),
        _describe_single(rows, state, beyond),
        _describe_errata(rows),
        _describe_ties(rows, state),
        *_describe_twins(rows, state),
    ]
    headline = " ".join(sentence for sentence in sentences if sentence)
    return headline or "The run has no accuracy over all problems, so there is no score to judge."


def _describe_errata(rows: MetricRows) -> str:
    """Sentence on the score without problems that people found wrong.

    Empty if there are none.
    """
    row = rows.single
    sound = rows.find("accuracy", WITHOUT_ERRATA)
    if row is None or sound is None:
        return ""
    left_out = plural(row.n - sound.n, "problem")
    return f"{percent(row.value)}; {percent(sound.value)} without {left_out} that people found wrong (errata)."


def _describe_ties(rows: MetricRows, state: State) -> str:
    """Sentence on the share of problems that are ties.

    It has the score with guesses for all abstentions too. Empty if there are few ties, or if nothing is decided.
    """
    expected = rows.find("accuracy", "all", "expected_accuracy")
    if not has_ties_to_say(rows, state) or expected is None:
        return ""
    return f"Ties leave {percent(rows.tied)} undecided; with guesses {percent(expected.value)}."


def _describe_fall(rows: MetricRows, state: State) -> str:
    """Sentence on a fall of accuracy when the candidates change places.

    Empty unless it is large, and the score above chance.
    """
    row = rows.tested["switched"]
    if row is None or state["fall"] != FALLS or state["single"] != ABOVE:
        return ""
    lost = f"It loses {points(row.value).removeprefix('+')} points when the candidates change places"
    return f"{lost} ({before_and_after(row)}): it may have seen these texts."


def _describe_single(rows: MetricRows, state: State, beyond: str) -> str:
    """Sentence on the score over all problems and on chance.

    `beyond` is the phrase on the margin. Empty if there are rows neither of that score nor of twins.
    """
    row = rows.single
    if row is None:
        return "The run has no accuracy over all problems." if rows.twins or rows.told_apart else ""
    score = f"{percent(row.value)} of {plural(row.n, 'problem')} right"
    if state["places"] == ONE:
        return f"{score}; in all of them the right answer is in the same place, so nothing can be told from it."
    if state["places"] == FIXED:
        return f"{score}; no two units are alike, so right answers cannot change places: nothing can be told from it."
    if state["abstained"] == ALL:
        return f"{score}, since all are left undecided."
    if row.level is None:
        return f"{score}."
    if row.is_untestable:
        return f"{score}: {_describe_same_answer(rows, row)}."
    text = f"{score}, {_say_against_chance(row, state['single'])}{beyond}"
    if state["single"] == AT:
        text += _say_could_have_seen(rows, row, "; ")
    return f"{text}{_describe_missing_twins(rows)}."


def _describe_same_answer(rows: MetricRows, row: Metric) -> str:
    """Explanation of a score that stays the same if right answers change places."""
    told_row = rows.told_apart
    single_row = rows.find("groups", "single")
    has_only_twins = told_row is not None and not told_row.value and single_row is None
    if row.details.get(ONE_CHOICE):
        how = "it always gives the same answer"
    elif has_only_twins:
        how = "it gives twins the same answer"
    else:
        return "its choices get as much wherever the right answers are"
    return f"{how}, which gets as much whatever the texts say"


def _say_could_have_seen(rows: MetricRows, row: Metric, before: str) -> str:
    """Phrase on the smallest score that a test would usually find.

    It begins with the text `before`. Empty for a row of an earlier version.
    """
    if row.details.get(NULL_ERROR) is None:
        return ""
    abstained = rows.find("accuracy", "all", "abstained")
    most = 1.0
    if row is rows.single and abstained is not None:
        most -= abstained.value
    least = score_to_find(row, SURE / _count_tests(rows.headline), most)
    if least is None:
        return f"{before}no score would usually have been found"
    return f"{before}less than {percent(least)} would usually have been missed"


def _say_against_chance(row: Metric, where: str) -> str:
    """Phrase that compares a score with chance, by its standing."""
    level = percent(row.level)
    is_higher = row.level is not None and row.value > row.level
    if _is_near(row, where):
        how = "better" if is_higher else "worse"
        return f"not clearly {how} than chance ({level}; p {probability(row.p)})"
    if where == UNKNOWN:
        return f"where chance gets {level}"
    words = {ABOVE: "better than chance", AT: "no better than chance", BELOW: "worse than chance"}
    if is_higher:
        words[AT] = "as chance may get too"
    return f"{words[where]} ({level})"


def _describe_missing_twins(rows: MetricRows) -> str:
    """Phrase on missing rows of twins. Empty if there are such rows."""
    if rows.told_apart is not None or rows.whole_groups is not None:
        return ""
    has_looked = any(row.protocol == "groups" for row in rows.rows)
    return "; there are no twins to look at" if has_looked else "; twins were not looked at"


def _describe_twins(rows: MetricRows, state: State) -> list[str]:
    """Sentences on pairs: told apart, right of those, and right of all.

    They are shares. A pair is told apart if its twins get different choices. No sentences if all problems are
    undecided, or if right answers cannot change places.
    """
    told_row = rows.told_apart
    whole_row = rows.whole_groups
    if state["abstained"] == ALL or state["places"] != SEVERAL:
        return []
    if told_row is None:
        return [] if whole_row is None else [_describe_groups(whole_row, rows.groups_word)]
    pairs = plural(told_row.n, "pair")
    if told_row.level is None:
        return [f"It answers both twins of no pair ({pairs}): of pairs nothing can be told."]
    if not told_row.value:
        return [f"It never tells the twins of a pair apart ({pairs}): of pairs nothing can be told."]
    sentence = f"It tells the twins apart in {percent(told_row.value)} of {pairs}{_describe_right_way(rows, state)}"
    if whole_row is None:
        return [f"{sentence}."]
    if whole_row.n != told_row.n:
        return [f"{sentence}.", _describe_groups(whole_row, rows.groups_word)]
    coin = f"{name_coin(whole_row)}: {percent(whole_row.chance)}"
    return [f"{sentence}: {percent(whole_row.value)} of pairs are right ({coin})."]


def _describe_right_way(rows: MetricRows, state: State) -> str:
    """Phrase on the share of pairs told apart that are right, and on chance.

    Empty if the rows have no such share.
    """
    row = rows.twins
    if row is None:
        return ""
    could_have_seen = _say_could_have_seen(rows, row, " (")
    if could_have_seen:
        could_have_seen += ")"
    endings = {AT: f", as chance may do too{could_have_seen}", BELOW: ", which is worse than chance"}
    if _has_too_few_pairs(rows):
        endings[UNKNOWN] = ", but these are too few to tell anything from"
    ending = endings.get(state["twins"], "")
    return f", and then has them the right way round in {percent(row.value)}{ending}"


def _describe_groups(row: Metric, group_word: str) -> str:
    """Sentence on the share of groups that are fully right.

    `group_word` is the word for them.
    """
    chance = "" if row.level is None else f" (chance: {percent(row.level)})"
    return f"{percent(row.value)} of {plural(row.n, group_word)} are fully right{chance}."
