"""The verdict follows from the rows and says no more than they do, in every state of its tables."""

import re
from itertools import product

import pytest
from support.verdicts import states_of

import winokit
from winokit.drawing.decision import BAD, GOOD, PLAIN
from winokit.drawing.wording import name_coin
from winokit.problem import Dataset
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric
from winokit.stages.audit.scored_rows import (
    ALL,
    ENOUGH,
    FALLS,
    FEW,
    FIXED,
    GENDER,
    HOLDS,
    NONE,
    ONE,
    SEVERAL,
    SOME,
    WITHOUT,
    MetricRows,
)
from winokit.stages.audit.verdict import HEADLINE, NEARLY, headline_state, verdict

SURE = 1e-9
UNSURE = 0.6


def make_row(
    name: str, value: float, low: float | None = None, high: float | None = None, chance: float | None = None, **details
) -> Metric:
    """Make a row whose name is protocol/subset/metric.

    `note` and `n` may stand among the details.
    """
    protocol, subset, metric = name.split("/")
    note = details.pop("note", None)
    n = details.pop("n", 284)
    return Metric("d", "m", "s", None, protocol, subset, metric, value, n, low, high, chance, note, details)


def make_rows_standing(name: str, where: str, chance: float = 0.5) -> list[Metric]:
    """Make a row above, at or below chance, or no row if that is unknown."""
    if where == UNKNOWN:
        return []
    distances = {ABOVE: 0.2, AT: 0.01, BELOW: -0.2}
    value = chance + distances[where]
    p = UNSURE if where == AT else SURE
    return [make_row(name, value, value - 0.05, value + 0.05, chance, p=p)]


def make_twins(where: str, told_apart: float = 0.33) -> list[Metric]:
    """Make the rows of pairs told apart and of those the right way round, which stand there."""
    told_apart_row = make_row(TOLD_APART, told_apart, told_apart - 0.05, told_apart + 0.05, 0.5)
    return [told_apart_row, *make_rows_standing(RIGHT_WAY_ROUND, where)]


def make_whole_pairs(value: float, chance: float = 0.25) -> Metric:
    """Make the row of pairs that are right, which is this share."""
    return make_row(WHOLE_GROUPS, value, value - 0.05, value + 0.05, chance, null=value / 2, p=SURE)


ACCURACY = "accuracy/all/accuracy"
ABSTAINED = "accuracy/all/abstained"
TOLD_APART = "groups/complete/told_apart"
RIGHT_WAY_ROUND = "groups/complete/right_way_round"
WHOLE_GROUPS = "groups/complete/group_accuracy"
ABOVE_CHANCE = make_row(ACCURACY, 0.7624, 0.735, 0.788, 0.5, p=SURE)
AT_CHANCE = make_row(ACCURACY, 0.514, 0.467, 0.561, 0.5, p=UNSURE)
BELOW_CHANCE = make_row(ACCURACY, 0.41, 0.37, 0.46, 0.5, p=SURE)
TWINS_ABOVE = make_twins(ABOVE)
TWINS_AT = make_twins(AT)
TWINS_BELOW = make_twins(BELOW)
NEVER_TOLD_APART = make_row(TOLD_APART, 0.0, 0.0, 0.02, 0.5)
NEVER_BOTH_ANSWERED = make_row(TOLD_APART, 0.0, 0.0, 0.02)
SWITCHED = "switching/switchable/unswitched_minus_switched"
A_FALL = make_row(SWITCHED, 0.5, 0.4, 0.6, 0.0, p=SURE, first=0.885, second=0.385)
A_SMALL_FALL = make_row(SWITCHED, 0.04, 0.01, 0.07, 0.0, p=SURE, first=0.885, second=0.845)


def use_plain_spaces(text: str) -> str:
    return text.replace("\u00a0", " ")


def join_texts(*rows: Metric) -> str:
    """All words of the verdict on these rows: word, headline and points."""
    result = verdict(rows)
    points = [point.text for point in result.points]
    return use_plain_spaces(" ".join([result.word, result.headline, *points]))


def get_headline(*rows: Metric) -> str:
    return use_plain_spaces(verdict(rows).headline)


def find_tone(start: str, *rows: Metric) -> str:
    """Tone of the first point whose text starts so."""
    points = [point for point in verdict(rows).points if use_plain_spaces(point.text).startswith(start)]
    return points[0].tone


FIXED_ANSWERS = {
    ONE: [make_row(ACCURACY, 0.7, 0.6, 0.8, 0.5, null=0.7, in_one_place=True)],
    FIXED: [make_row(ACCURACY, 0.7, 0.6, 0.8, 0.5, null=0.7, in_one_place=False)],
}
"""Rows of single problems whose right answers cannot change places."""
FALLS_OF_STATE = {FALLS: [A_FALL], HOLDS: [A_SMALL_FALL], UNKNOWN: []}
SHARES_ABSTAINED = {NONE: 0.0, SOME: 0.12, ALL: 1.0}


def make_headline_rows(state: dict[str, str]) -> list[Metric]:
    """Make rows that have this state."""
    places = state["places"]
    if places in FIXED_ANSWERS:
        rows = [*FIXED_ANSWERS[places]]
    else:
        rows = make_rows_standing(ACCURACY, state["single"])
    has_twins = state["twins"] != UNKNOWN
    if has_twins:
        rows += make_twins(state["twins"])
    if has_twins and state["pairs"] == FEW:
        rows.append(make_whole_pairs(0.2))
    rows += FALLS_OF_STATE[state["fall"]]
    share = SHARES_ABSTAINED[state["abstained"]]
    rows.append(make_row(ABSTAINED, share))
    return rows


def is_possible(state: dict[str, str]) -> bool:
    """Whether rows can be so: single problems tell nothing if right answers cannot change places."""
    can_judge_single = state["places"] == SEVERAL or state["single"] == UNKNOWN
    has_pairs = state["twins"] != UNKNOWN
    can_judge_pairs = has_pairs or state["pairs"] == ENOUGH
    return can_judge_single and can_judge_pairs


POSSIBLE_STATES = [state for state in states_of(HEADLINE) if is_possible(state)]
every_state = pytest.mark.parametrize("state", POSSIBLE_STATES, ids=lambda state: "-".join(state.values()))

MEANING = {
    "Nothing was decided": {"abstained": ALL},
    "Nothing can be told: the right answer is always in one place": {"places": ONE},
    "Nothing can be told: right answers cannot change places": {"places": FIXED},
    "Above chance on the pairs it tells apart": {"single": UNKNOWN, "twins": ABOVE, "pairs": FEW},
    "Above chance on problems, and on the pairs it tells apart": {"single": ABOVE, "twins": ABOVE, "pairs": FEW},
    "Indistinguishable from chance on problems, above it on the pairs it tells apart": {
        "single": AT,
        "twins": ABOVE,
        "pairs": FEW,
    },
    "Below chance on problems, above it on the pairs it tells apart": {"single": BELOW, "twins": ABOVE, "pairs": FEW},
    "It may have seen these texts": {"single": ABOVE, "fall": FALLS},
    "No accuracy to judge": {"single": UNKNOWN, "twins": UNKNOWN},
    "Above chance on twins": {"single": UNKNOWN, "twins": ABOVE},
    "Indistinguishable from chance on twins": {"single": UNKNOWN, "twins": AT},
    "Below chance on twins": {"single": UNKNOWN, "twins": BELOW},
    "Above chance, on twins too": {"single": ABOVE, "twins": ABOVE},
    "Above chance on problems, indistinguishable from it on twins": {"single": ABOVE, "twins": AT},
    "Above chance on problems, below it on twins": {"single": ABOVE, "twins": BELOW},
    "Above chance": {"single": ABOVE, "twins": UNKNOWN},
    "Indistinguishable from chance on problems, above it on twins": {"single": AT, "twins": ABOVE},
    "Indistinguishable from chance on problems, below it on twins": {"single": AT, "twins": BELOW},
    "Indistinguishable from chance": {"single": AT},
    "Below chance on problems, above it on twins": {"single": BELOW, "twins": ABOVE},
    "Below chance": {"single": BELOW},
}
"""Facts that a reader takes each word to say."""


def test_every_word_of_the_table_has_a_meaning_here():
    assert {case.word for case in HEADLINE.cases} == set(MEANING)


def test_every_state_has_one_deciding_case_and_every_case_decides_some_state():
    deciding_cases = [HEADLINE.decide(state) for state in states_of(HEADLINE)]
    assert all(case in deciding_cases for case in HEADLINE.cases)


@pytest.mark.parametrize("case", HEADLINE.cases, ids=lambda case: case.word)
def test_every_case_asks_for_facts_and_values_that_there_are(case):
    assert set(case.when) <= set(HEADLINE.facts)
    for fact, values in case.when.items():
        case_values = {values} if isinstance(values, str) else set(values)
        assert case_values <= set(HEADLINE.facts[fact])


@every_state
def test_rows_give_their_state_back_and_the_word_means_it(state):
    rows = make_headline_rows(state)
    state_of_rows = headline_state(MetricRows(rows))
    word = verdict(rows).word
    assert {fact: state_of_rows[fact] for fact in HEADLINE.facts} == state
    assert MEANING[word].items() <= state.items()


@every_state
def test_every_point_claims_what_is_so_and_says_no_more(state):
    rows = make_headline_rows(state)
    result = verdict(rows)
    full_state = headline_state(MetricRows(rows))
    for point in result.points:
        assert point.claims, point
        assert point.claims.items() <= full_state.items(), point
        check_words(use_plain_spaces(point.text), list(point.claims.values()))
    headline_values = [state["single"], state["twins"]]
    check_words(result.word, headline_values)
    check_words(use_plain_spaces(result.headline), headline_values)


WORDS_OF_PLACES = [
    (r"(?<!not )\babove (chance|it)", ABOVE),
    (r"\bbelow (chance|it)", BELOW),
    (r"indistinguishable|cannot be distinguished|might (get|do)|no better than|as chance may", AT),
    (r"(?<!no )better than", ABOVE),
    (r"A coin would follow more often|worse than|wrong way round more often", BELOW),
]
"""Patterns of a text that says of something that it is above, at or below chance."""


def check_words(text: str, claimed_values: list[str]) -> None:
    """Assert that something is claimed to be above, at or below chance wherever the text says so."""
    is_denial = "say little about a scorer that is not above chance" in text or text.startswith("No artifact")
    if is_denial:
        return
    for pattern, value in WORDS_OF_PLACES:
        if re.search(pattern, text, re.IGNORECASE):
            assert value in claimed_values, (text, claimed_values)


@every_state
def test_good_is_said_only_of_what_no_test_denies(state):
    result = verdict(make_headline_rows(state))
    if result.tone == GOOD:
        assert (state["single"], state["twins"], state["pairs"]) == (ABOVE, ABOVE, ENOUGH)
        assert state["fall"] != FALLS


def is_decided(state: dict[str, str]) -> bool:
    """Whether the scorer decides something, and its right answers can change places."""
    return state["abstained"] != ALL and state["places"] == SEVERAL


@every_state
def test_a_headline_has_the_numbers_of_the_rows_its_word_is_about(state):
    text = get_headline(*make_headline_rows(state))
    for row in make_rows_standing(ACCURACY, state["single"]):
        mentions_chance = f"({100 * row.chance:.1f} %)" in text
        assert f"{100 * row.value:.1f} %" in text
        assert mentions_chance is is_decided(state)
    for row in make_rows_standing(RIGHT_WAY_ROUND, state["twins"]):
        percent = f"{100 * row.value:.1f} %"
        mentions_pairs = f"33.0 % of 284 pairs, and then has them the right way round in {percent}" in text
        assert mentions_pairs is is_decided(state)
    is_undecided = state["abstained"] == ALL and state["places"] == SEVERAL and state["single"] != UNKNOWN
    assert ("since all are left undecided" in text) is is_undecided
    loses = state["fall"] == FALLS and state["single"] == ABOVE
    assert text.startswith("It loses 50.0 points when the candidates change places") is loses


ARTIFACT_FACTS = {f"artifacts {subset}": f"artifacts/{subset}/accuracy" for subset in WITHOUT}
GENDER_FACTS = {f"gender {subset} {metric}": f"gender/{subset}/{metric}" for subset, metric in GENDER}
FACTS = {
    **ARTIFACT_FACTS,
    **GENDER_FACTS,
    "told": TOLD_APART,
    "alone": "groups/all/single_minus_grouped",
    "switched": SWITCHED,
    "consistency": "switching/switchable/consistency",
    "association": "association/all/associative_minus_others",
    "place": "position/all/first_minus_second",
}
"""Row of each fact, by the fact's name."""
ROWS_BESIDE = [
    make_row("groups/grouped/accuracy", 0.688, 0.643, 0.736, 0.5),
    make_row("groups/single/accuracy", 0.823),
    make_row("switching/switchable/accuracy", 0.7),
    make_row("switching/switchable/switched_accuracy", 0.6),
    make_row("association/associative/accuracy", 0.8),
    make_row("association/non_associative/accuracy", 0.6),
    make_row("position/answer_first/accuracy", 0.8),
    make_row("position/answer_second/accuracy", 0.6),
]
SENTENCES = [
    ("artifacts", r"text that no longer holds", {ABOVE}),
    ("artifacts", r"No artifact baseline is significantly above chance|say little about a scorer", {AT, BELOW}),
    ("told", r"It tells twins apart more often", {ABOVE}),
    ("told", r"It tells twins apart less often", {BELOW}),
    ("switched", r"Accuracy falls by", {ABOVE}),
    ("consistency", r"A coin might follow as often", {AT}),
    ("consistency", r"A coin would follow more often", {BELOW}),
    ("association", r"Word association carries", {ABOVE}),
    ("association", r"the difference is not significant", {AT}),
    ("association", r"are harder for it", {BELOW}),
    ("place", r"it matters whether the right candidate|It matters whether the right candidate", {ABOVE, BELOW}),
    ("alone", r"Problems without a twin are easier", {ABOVE}),
    ("gender", r"Significant: (ΔF|ΔM|pro − anti)\.", {ABOVE, BELOW}),
    ("gender", r"None is significant", {AT}),
]


def test_every_tested_row_is_among_those_enumerated():
    assert set(MetricRows([]).tested) == set(FACTS)


FALL_OF_PLACE = {ABOVE: FALLS, AT: HOLDS, BELOW: HOLDS, UNKNOWN: UNKNOWN}
"""State of the fall, by where the row of the switched candidates stands."""


def make_expected_state(single: str, fact: str, where: str) -> dict[str, str]:
    """State of rows in which one fact is known beside the accuracy."""
    state = dict.fromkeys(FACTS, UNKNOWN)
    state[fact] = where
    state |= {"single": single, "twins": UNKNOWN, "abstained": NONE, "places": SEVERAL, "pairs": ENOUGH}
    state["fall"] = FALL_OF_PLACE[where] if fact == "switched" else UNKNOWN
    return state


@pytest.mark.parametrize("single", [ABOVE, AT, BELOW])
@pytest.mark.parametrize(("fact", "where"), list(product(FACTS, [ABOVE, AT, BELOW, UNKNOWN])))
def test_a_finding_says_where_its_row_stands_and_nothing_else(single, fact, where):
    kind = fact.split()[0]
    chance = 0.5 if kind in ("artifacts", "consistency", "told") else 0.0
    accuracy_rows = make_rows_standing(ACCURACY, single)
    fact_rows = make_rows_standing(FACTS[fact], where, chance)
    rows = [*accuracy_rows, *ROWS_BESIDE, *fact_rows]
    state = headline_state(MetricRows(rows))
    assert state == make_expected_state(single, fact, where)
    points = verdict(rows).points
    for point in points:
        assert point.claims.items() <= state.items()
        check_words(use_plain_spaces(point.text), list(point.claims.values()))
    text = use_plain_spaces(" ".join(point.text for point in points))
    for kind_of_sentence, pattern, places in SENTENCES:
        has_sentence = bool(re.search(pattern, text))
        is_expected = kind_of_sentence == kind and where in places
        assert has_sentence is is_expected, (pattern, text)


@pytest.mark.parametrize("states", list(product([ABOVE, AT, BELOW], repeat=3)))
def test_only_the_artifact_baselines_above_chance_are_said_to_reach_anything(states):
    rows = [ABOVE_CHANCE]
    for subset, where in zip(WITHOUT, states, strict=True):
        rows += make_rows_standing(f"artifacts/{subset}/accuracy", where)
    text = join_texts(*rows)
    for subset, where in zip(WITHOUT, states, strict=True):
        is_mentioned = f"70.0 % (chance: 50.0 %) from {WITHOUT[subset]}" in text
        assert is_mentioned is (where == ABOVE)
    says_none = "No artifact baseline is significantly above chance" in text
    assert says_none is (ABOVE not in states)


def test_p_values_of_findings_are_corrected_for_their_number():
    """A p-value of 0.02 is significant alone, and is not among ten tested rows."""
    easy = [make_row("association/associative/accuracy", 0.9), make_row("association/non_associative/accuracy", 0.7)]
    gap = make_row("association/all/associative_minus_others", 0.2, 0.03, 0.33, 0.0, p=0.02)
    other_rows = []
    for name in FACTS.values():
        if "assoc" not in name:
            other_rows += make_rows_standing(name, AT, 0.5)
    assert "Word association carries" in join_texts(ABOVE_CHANCE, *easy, gap)
    assert "the difference is not significant" in join_texts(ABOVE_CHANCE, *easy, gap, *other_rows)


def test_the_two_rows_of_a_headline_share_its_level():
    single = make_row(ACCURACY, 0.56, 0.505, 0.61, 0.5, p=0.02)
    assert verdict([single]).word == "Above chance"
    assert verdict([single, *TWINS_AT]).word == f"Indistinguishable from chance{NEARLY}"
    # However clear the twins are: what is said of problems has its own half of the level.
    assert verdict([single, *TWINS_ABOVE]).word == (
        f"Indistinguishable from chance on problems, above it on twins{NEARLY}"
    )


@pytest.mark.parametrize(("value", "how"), [(0.56, "better"), (0.44, "worse")])
def test_a_score_that_a_single_test_would_tell_from_chance_is_said_to_be_near(value, how):
    single = make_row(ACCURACY, value, value - 0.055, value + 0.055, 0.5, p=0.021)
    assert f"right, not clearly {how} than chance (50.0 %; p 0.021)" in get_headline(single, *TWINS_AT)


@pytest.mark.parametrize(
    ("rows", "word", "tone"),
    [
        ([ABOVE_CHANCE, *TWINS_ABOVE], "Above chance, on twins too", "good"),
        ([ABOVE_CHANCE, *TWINS_AT], "Above chance on problems, indistinguishable from it on twins", "bad"),
        ([ABOVE_CHANCE, *TWINS_BELOW], "Above chance on problems, below it on twins", "bad"),
        ([ABOVE_CHANCE], "Above chance", "plain"),
        ([ABOVE_CHANCE, *TWINS_ABOVE, A_FALL], "It may have seen these texts", "bad"),
        ([ABOVE_CHANCE, *TWINS_ABOVE, A_SMALL_FALL], "Above chance, on twins too", "good"),
        ([AT_CHANCE, A_FALL], "Indistinguishable from chance", "bad"),
        ([AT_CHANCE, *TWINS_ABOVE], "Indistinguishable from chance on problems, above it on twins", "plain"),
        ([BELOW_CHANCE, *TWINS_BELOW], "Below chance", "bad"),
        ([make_row(ACCURACY, 0.9)], "No accuracy to judge", "plain"),
        (TWINS_ABOVE, "Above chance on twins", "plain"),
        ([], "No accuracy to judge", "plain"),
    ],
)
def test_the_word_follows_tests_and_not_values(rows, word, tone):
    result = verdict(rows)
    assert (result.word, result.tone) == (word, tone)


def test_a_run_without_p_values_is_judged_by_its_intervals():
    """As one that was written before there were any, and before pairs were told apart."""
    old = [
        make_row(ACCURACY, 0.7624, 0.735, 0.788, 0.5),
        make_row(WHOLE_GROUPS, 0.28, 0.22, 0.34, 0.25),
    ]
    assert verdict(old).word == "Above chance on problems, indistinguishable from it on twins"


def test_a_run_that_was_held_against_the_commonest_answer_still_is():
    old = make_row(ACCURACY, 0.64, 0.6, 0.68, 0.5, floor=0.65, p=0.7)
    assert verdict([old]).word == "Indistinguishable from chance"
    assert "no better than chance (65.0 %)" in get_headline(old)


def test_a_score_above_chance_that_may_be_chance_is_not_called_no_better():
    assert "51.4 % of 284 problems right, as chance may get too (50.0 %)" in get_headline(AT_CHANCE)
    lower = make_row(ACCURACY, 0.486, 0.44, 0.53, 0.5, p=UNSURE)
    assert "48.6 % of 284 problems right, no better than chance (50.0 %)" in get_headline(lower)


def test_a_score_that_shows_nothing_says_what_could_have_been_seen():
    single = make_row(ACCURACY, 0.514, 0.46, 0.57, 0.5, p=UNSURE, null_error=0.03)
    assert "as chance may get too (50.0 %); less than 59.0 % would usually have been missed;" in get_headline(single)
    right_way_round = make_row(RIGHT_WAY_ROUND, 0.55, 0.4, 0.7, 0.5, p=UNSURE, null_error=0.1)
    told_apart = make_row(TOLD_APART, 0.2, 0.15, 0.25, 0.5)
    text = get_headline(single, told_apart, right_way_round)
    # The two tests of a headline share its level.
    assert "less than 59.8 % would usually have been missed. It tells" in text
    assert "55.0 %, as chance may do too (less than 80.9 % would usually have been missed)" in text


def test_nothing_could_have_been_seen_of_a_scorer_that_says_too_little():
    single = make_row(ACCURACY, 0.03, 0.0, 0.1, 0.025, p=UNSURE, null_error=0.015)
    abstained = make_row(ABSTAINED, 0.95)
    assert "no better than chance" not in get_headline(single, abstained)
    assert "chance may get too (2.5 %); no score would usually have been found" in get_headline(single, abstained)


def test_nothing_could_have_been_seen_where_the_best_score_of_these_choices_would_show_nothing():
    """One answer in 400 differs: were it right, the score would still be chance's one time in three."""
    single = make_row(ACCURACY, 0.652, 0.6, 0.7, 0.649, p=UNSURE, null_error=0.0012, p_most=0.35)
    assert "; no score would usually have been found" in get_headline(single)
    assert "missed" not in get_headline(single)


def test_twins_are_unknown_where_too_few_are_told_apart_to_show_anything():
    """Six pairs that are all the right way round have p = 0.016, and two tests share 0.03."""
    told_apart = make_row(TOLD_APART, 0.06, 0.03, 0.1, 0.5, n=100)
    all_right = {"value": 1.0, "low": 0.6, "high": 1.0, "chance": 0.5, "null_error": 0.2}
    six_pairs = make_row(RIGHT_WAY_ROUND, **all_right, p=1 / 64, n=6, p_most=1 / 64)
    result = verdict([ABOVE_CHANCE, told_apart, six_pairs])
    assert (result.word, result.tone) == ("Above chance", PLAIN)
    text = use_plain_spaces(result.headline)
    assert "the right way round in 100.0 %, but these are too few to tell anything from" in text
    seven_pairs = make_row(RIGHT_WAY_ROUND, **all_right, p=1 / 128, n=7, p_most=1 / 128)
    assert verdict([ABOVE_CHANCE, told_apart, seven_pairs]).word == "Above chance, on twins too"


def test_twins_of_which_one_is_answered_are_not_held_against_independent_answers():
    independent = make_row("dependence/complete/independent_group_accuracy", 0.25)
    whole_pairs = make_row(WHOLE_GROUPS, 0.0, 0.0, 0.02, 0.0)
    text_of_unanswered = join_texts(ABOVE_CHANCE, NEVER_BOTH_ANSWERED, whole_pairs, independent)
    text_of_answered = join_texts(ABOVE_CHANCE, NEVER_TOLD_APART, whole_pairs, independent)
    assert "answered independently" not in text_of_unanswered
    assert "answered independently" in text_of_answered


def test_a_score_that_shows_something_does_not_say_what_would_have_been_missed():
    above = make_row(ACCURACY, 0.9, 0.85, 0.95, 0.5, p=SURE, null_error=0.03)
    assert "missed" not in get_headline(above)
    without_error = make_row(ACCURACY, 0.514, 0.46, 0.57, 0.5, p=UNSURE)
    assert "missed" not in get_headline(without_error)


def test_a_finding_says_why_chance_is_not_excluded_although_the_interval_excludes_it():
    stricter = "the verdict's tests share a level of 3 %, below the interval's 5 %"
    just_above = make_row(ACCURACY, 0.537, 0.501, 0.574, 0.5, p=0.046)
    just_below = make_row(ACCURACY, 0.463, 0.426, 0.499, 0.5, p=0.046)
    finding = "cannot be distinguished from chance: the interval is 50.1 % to 57.4 %, chance is 50.0 %"
    assert f"{finding}; {stricter}." in join_texts(just_above)
    assert stricter in join_texts(just_below)
    assert stricter not in join_texts(AT_CHANCE)
    assert stricter not in join_texts(ABOVE_CHANCE)


@pytest.mark.parametrize(
    ("accuracy", "word"),
    [
        (ABOVE_CHANCE, "Above chance, by more than 5 points"),
        (make_row(ACCURACY, 0.505, 0.502, 0.508, 0.5, p=SURE), "Above chance, by less than 5 points"),
        (make_row(ACCURACY, 0.56, 0.52, 0.6, 0.5, p=SURE), "Above chance, perhaps by less than 5 points"),
        (AT_CHANCE, "Indistinguishable from chance"),
    ],
    ids=["large", "little", "wide", "at chance"],
)
def test_a_margin_says_whether_the_effect_matters(accuracy, word):
    assert verdict([accuracy], margin=5).word == word


@pytest.mark.parametrize(
    ("other_rows", "word"),
    [
        (TWINS_ABOVE, "Above chance, by more than 5 points, on twins too"),
        (TWINS_AT, "Above chance on problems, by more than 5 points, indistinguishable from it on twins"),
        ([A_FALL], "It may have seen these texts"),
    ],
    ids=["twins above", "twins at chance", "fall"],
)
def test_a_margin_is_said_of_the_score_over_all_problems_and_of_nothing_else(other_rows, word):
    assert verdict([ABOVE_CHANCE, *other_rows], margin=5).word == word


def test_the_sentence_says_by_how_much_too_since_a_terminal_shows_no_word():
    result = verdict([ABOVE_CHANCE, *TWINS_AT], margin=5)
    headline = use_plain_spaces(result.headline)
    assert "right, better than chance (50.0 %), by more than 5 points. It tells" in headline
    little = make_row(ACCURACY, 0.505, 0.502, 0.508, 0.5, p=SURE, n=150_000)
    result = verdict([little], margin=5)
    start = "50.5 % of 150,000 problems right, better than chance (50.0 %), by less than 5 points; twins"
    assert use_plain_spaces(result.headline).startswith(start)


def test_the_accuracies_before_and_after_a_switch_are_told_once():
    switched = [
        make_row("switching/switchable/accuracy", 0.885, 0.8, 0.95, 0.5, p=SURE),
        make_row("switching/switchable/switched_accuracy", 0.385, 0.3, 0.45, 0.5, p=SURE),
        make_row("switching/switchable/consistency", 0.4, 0.3, 0.5, 0.5, p=UNSURE),
    ]
    assert "accuracy goes from 88.5 % to 38.5 %" in join_texts(ABOVE_CHANCE, *switched)
    assert "accuracy goes from" not in join_texts(ABOVE_CHANCE, A_FALL, *switched)


def test_twins_are_told_by_two_numbers_and_their_product():
    headline = get_headline(ABOVE_CHANCE, *TWINS_ABOVE, make_whole_pairs(0.231))
    assert headline == (
        "76.2 % of 284 problems right, better than chance (50.0 %). It tells the twins apart in 33.0 % of 284 pairs, "
        "and then has them the right way round in 70.0 %: 23.1 % of pairs are right (a coin: 25.0 %)."
    )


def test_a_scorer_that_never_tells_twins_apart_is_unknown_on_them():
    whole_pairs = make_row(WHOLE_GROUPS, 0.0, 0.0, 0.02, 0.25, null=0.0)
    result = verdict([ABOVE_CHANCE, NEVER_TOLD_APART, whole_pairs])
    assert result.word == "Above chance"
    assert "It never tells the twins of a pair apart (284 pairs): of pairs nothing can be told." in result.headline


def test_whole_groups_below_a_coin_are_never_above_chance():
    whole_pairs = make_row(WHOLE_GROUPS, 0.231, 0.18, 0.29, 0.25, null=0.165, p=SURE)
    bigger = make_row(WHOLE_GROUPS, 0.331, 0.28, 0.39, 0.25, null=0.165, p=SURE)
    assert winokit.results.stands(whole_pairs) == AT
    assert winokit.results.stands(bigger) == ABOVE


def test_who_has_fewer_pairs_right_than_a_coin_is_above_chance_only_where_it_tells_pairs_apart():
    """As RoBERTa-large without training: 15 % told apart, 82 % of them the right way round, 12.5 % of pairs right."""
    result = verdict([ABOVE_CHANCE, *make_twins(ABOVE, 0.15), make_whole_pairs(0.125)])
    assert (result.word, result.tone) == ("Above chance on problems, and on the pairs it tells apart", PLAIN)
    assert "12.5 % of pairs are right (a coin: 25.0 %)" in use_plain_spaces(result.headline)
    tones_of_twins = {point.tone for point in result.points if "twins" in point.claims}
    assert GOOD not in tones_of_twins
    # Silence lowers what a coin with the same silences gets, and not what the papers hold pairs against.
    silent = verdict([ABOVE_CHANCE, *make_twins(ABOVE, 0.15), make_whole_pairs(0.125, chance=0.04)])
    assert silent.word == result.word
    enough = verdict([ABOVE_CHANCE, *TWINS_ABOVE, make_whole_pairs(0.26)])
    assert (enough.word, enough.tone) == ("Above chance, on twins too", GOOD)


def test_a_coin_is_never_said_of_more_than_two_candidates():
    """Four candidates give guessing a quarter of the problems, as a coin gets a quarter of the pairs."""
    four = make_row(ACCURACY, 0.4, 0.35, 0.45, 0.25)
    pairs_of_three = make_row(WHOLE_GROUPS, 0.4, 0.35, 0.45, 1 / 9)
    two = make_row(ACCURACY, 0.6, 0.55, 0.65, 0.5)
    pairs = make_whole_pairs(0.4)
    assert [name_coin(row) for row in (four, pairs_of_three, None)] == ["guessing"] * 3
    assert [name_coin(row) for row in (two, pairs)] == ["a coin"] * 2
    accuracy_of_three = make_row(ACCURACY, 0.6, 0.55, 0.65, 1 / 3, p=SURE)
    text = get_headline(accuracy_of_three, *TWINS_ABOVE, pairs_of_three)
    assert "(guessing: 11.1 %)" in text
    assert "coin" not in text


def test_right_answers_that_cannot_change_places_are_not_said_to_be_in_one_place():
    fixed = make_row(ACCURACY, 1.0, 0.6, 1.0, 0.5, null=1.0, in_one_place=False)
    result = verdict([fixed])
    assert result.word == "Nothing can be told: right answers cannot change places"
    assert "no two units are alike" in result.headline
    assert "same place" not in result.headline


def test_who_never_answers_both_twins_is_not_said_to_give_them_the_same_answer():
    text = get_headline(ABOVE_CHANCE, NEVER_BOTH_ANSWERED)
    assert "It answers both twins of no pair (284 pairs): of pairs nothing can be told." in text


def test_one_that_always_gives_the_same_answer_is_said_to():
    same = make_row(ACCURACY, 0.65, 0.6, 0.7, 0.5, null=0.65, one_choice=True)
    result = verdict([same])
    assert result.word == "Indistinguishable from chance"
    assert "it always gives the same answer, which gets as much whatever the texts say" in result.headline


def test_one_answer_is_said_only_of_those_that_give_one():
    """One pair among 455 problems does not explain the score of the others."""
    same = {"value": 0.65, "low": 0.6, "high": 0.7, "chance": 0.5, "null": 0.65}
    one_pair = make_row(TOLD_APART, 0.0, 0.0, 0.95, 0.5, n=1)
    alone = make_row("groups/single/accuracy", **same, n=282)
    constant = make_row(ACCURACY, **same, one_choice=True)
    text = get_headline(constant, one_pair, alone)
    assert "right: it always gives the same answer, which gets" in text
    varied = make_row(ACCURACY, **same, one_choice=False)
    text = get_headline(varied, one_pair, alone)
    assert "65.0 % of 284 problems right: its choices get as much wherever the right answers are." in text


def test_one_that_gives_twins_the_same_answer_is_not_said_to_give_one_answer_always():
    same = make_row(ACCURACY, 0.45, 0.4, 0.5, 0.5, null=0.45)
    text = get_headline(same, NEVER_TOLD_APART)
    assert "right: it gives twins the same answer, which gets as much whatever the texts say." in text
    assert "always gives" not in text


def test_groups_that_are_no_pairs_are_called_groups():
    accuracy = make_row(ACCURACY, 0.4, 0.35, 0.45, 1 / 3, p=SURE)
    whole_groups = make_row(WHOLE_GROUPS, 0.2, 0.15, 0.25, 0.11, p=SURE)
    text = get_headline(accuracy, whole_groups)
    assert "better than chance (33.3 %). 20.0 % of 284 groups are fully right (chance: 11.0 %)." in text
    assert "coin" not in text


def test_pairs_are_called_pairs_whoever_abstains():
    """A coin with the same abstentions gets less than a quarter of them."""
    twins = [
        make_row(TOLD_APART, 0.158, 0.12, 0.2, 0.5),
        *make_rows_standing(RIGHT_WAY_ROUND, ABOVE),
    ]
    whole_pairs = make_row(WHOLE_GROUPS, 0.148, 0.11, 0.19, 0.067, null=0.08, p=SURE)
    assert MetricRows([*twins, whole_pairs]).groups_word == "pair"
    assert "14.8 % of 284 pairs are fully right" in join_texts(ABOVE_CHANCE, *twins, whole_pairs)
    more_groups = make_row(WHOLE_GROUPS, 0.148, 0.11, 0.19, 0.067, null=0.08, p=SURE, n=300)
    assert MetricRows([*twins, more_groups]).groups_word == "group"


def test_a_scorer_at_chance_is_told_how_often_chance_does_as_well():
    luck = make_row("luck/all/p_null", 0.41)
    luck_of_ten = make_row("luck/all/p_null_best_of_10", 0.9974)
    text = join_texts(AT_CHANCE, *TWINS_AT, luck, luck_of_ten)
    sentence = "Its own choices would score this high by chance 41 % of the time, the best of ten tries more than 99 %"
    assert sentence in text


def test_a_score_that_needs_more_problems_is_told_how_many():
    luck = make_row("luck/all/p_null", 0.41)
    many_needed = make_row("luck/all/n_to_beat_chance", 9000)
    few_needed = make_row("luck/all/n_to_beat_chance", 26)
    assert "would take about 9,000 problems" in join_texts(AT_CHANCE, luck, many_needed)
    assert "would take" not in join_texts(ABOVE_CHANCE, luck, few_needed)


def test_an_artifact_baseline_above_chance_counts_against_the_score():
    reached = make_row("artifacts/part-sent/accuracy", 0.6312, 0.6, 0.66, 0.5, p=SURE)
    silent = make_row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5, p=UNSURE)
    text = join_texts(ABOVE_CHANCE, reached, silent)
    assert "63.1 % (chance: 50.0 %) from the clause with the blank alone (part-sent)" in text
    assert "no-cands" not in text
    assert find_tone("It finds answers in text", ABOVE_CHANCE, reached) == "bad"


def test_artifact_baselines_at_chance_speak_for_the_score_only_if_it_is_above_chance():
    silent = make_row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5, p=UNSURE)
    assert find_tone("No artifact baseline is significantly above", ABOVE_CHANCE, silent) == "good"
    assert "say little about a scorer that is not above chance itself" in join_texts(AT_CHANCE, silent)


@pytest.mark.parametrize(
    ("value", "p", "words"),
    [(0.9, SURE, "."), (0.52, UNSURE, ". A coin might follow as often."), (0.2, SURE, "more often.")],
)
def test_consistency_is_held_against_a_coin(value, p, words):
    consistency = make_row("switching/switchable/consistency", value, value - 0.1, value + 0.05, 0.5, p=p)
    text = join_texts(ABOVE_CHANCE, consistency)
    assert f"its answer follows in {100 * value:.1f} % of 284 problems" in text
    assert text.endswith(words)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("position/all/order_turned", 0.03, "In 3.0 % of problems its choice changes with the order of the candidates"),
        (ABSTAINED, 0.12, "12.0 % of problems are left undecided"),
    ],
    ids=["order", "abstentions"],
)
def test_order_of_candidates_and_abstentions_are_told_where_they_matter(name, value, sentence):
    """An abstention in one of the two orders is no turned choice: what was turned has its own row."""
    assert sentence in join_texts(ABOVE_CHANCE, make_row(name, value))


@pytest.mark.parametrize(
    ("name", "words"), [("position/all/order_turned", "with the order of"), (ABSTAINED, "not answered")]
)
def test_order_of_candidates_and_abstentions_are_not_told_where_there_are_none(name, words):
    assert words not in join_texts(ABOVE_CHANCE, make_row(name, 0.0))


def test_a_model_that_decides_nothing_is_told_why_on_the_terminal_too():
    """There only what is bad is shown: one that says A in either order has decided nothing."""
    none_right = make_row(ACCURACY, 0.0, 0.0, 0.1, 0.0)
    all_abstained = make_row(ABSTAINED, 1.0)
    some_abstained = make_row(ABSTAINED, 0.12)
    assert find_tone("100.0 % of problems are left undecided", none_right, all_abstained) == BAD
    assert find_tone("12.0 %", ABOVE_CHANCE, some_abstained) == PLAIN


def test_gender_differences_keep_their_sign_and_say_which_are_significant():
    female = make_row("gender/female/delta", 0.042, -0.03, 0.11, 0.0, p=UNSURE)
    male = make_row("gender/male/delta", -0.175, -0.26, -0.09, 0.0, p=SURE)
    assert "ΔF +4.2 and ΔM −17.5. Significant: ΔM." in join_texts(ABOVE_CHANCE, female, male)
    assert "ΔF +4.2. None is significant." in join_texts(ABOVE_CHANCE, female)
    unknown = make_row("gender/female/delta", 0.042, -0.03, 0.11)
    assert "significant" not in join_texts(ABOVE_CHANCE, unknown)


def test_strict_scores_are_told():
    text = join_texts(make_row("strict/complete/group_accuracy", 0.11))
    assert "11.0 % of 284 groups are right in every version" in text


def test_twins_that_were_not_looked_at_are_not_said_to_be_missing():
    run = winokit.audit("open", "random", limit=20, protocol="accuracy", cache="off")
    assert verdict(run.metrics).headline.endswith("; twins were not looked at.")


def test_twins_that_there_are_not_are_said_to_be_missing():
    first_twins = list(winokit.load("open"))[:20:2]
    singles = Dataset([problem.replace(group=None) for problem in first_twins])
    run = winokit.audit(singles, "random", protocol=["accuracy", "groups"], cache="off")
    assert verdict(run.metrics).headline.endswith("; there are no twins to look at.")
