"""The verdict follows from the rows, and says no more than they do: every state of its tables is enumerated."""

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


def row(
    name: str, value: float, low: float | None = None, high: float | None = None, chance: float | None = None, **more
):
    protocol, subset, metric = name.split("/")
    note = more.pop("note", None)
    n = more.pop("n", 284)
    return Metric("d", "m", "s", None, protocol, subset, metric, value, n, low, high, chance, note, more)


def standing(name: str, where: str, chance: float = 0.5) -> list[Metric]:
    """A row that stands there; none if nothing is known."""
    if where == UNKNOWN:
        return []
    value = chance + {ABOVE: 0.2, AT: 0.01, BELOW: -0.2}[where]
    return [row(name, value, value - 0.05, value + 0.05, chance, p=UNSURE if where == AT else SURE)]


def told_twins(where: str, told: float = 0.33) -> list[Metric]:
    """Pairs told apart, and of those the right way round as many as stands there."""
    rows = [row("groups/complete/told_apart", told, told - 0.05, told + 0.05, 0.5)]
    return rows + standing("groups/complete/right_way_round", where)


def whole_pairs(value: float, chance: float = 0.25) -> Metric:
    """So many pairs right."""
    return row("groups/complete/group_accuracy", value, value - 0.05, value + 0.05, chance, null=value / 2, p=SURE)


ABOVE_CHANCE = row("accuracy/all/accuracy", 0.7624, 0.735, 0.788, 0.5, p=SURE)
AT_CHANCE = row("accuracy/all/accuracy", 0.514, 0.467, 0.561, 0.5, p=UNSURE)
BELOW_CHANCE = row("accuracy/all/accuracy", 0.41, 0.37, 0.46, 0.5, p=SURE)
TWINS_ABOVE = told_twins(ABOVE)
TWINS_AT = told_twins(AT)
TWINS_BELOW = told_twins(BELOW)
SWITCHED = "switching/switchable/unswitched_minus_switched"
A_FALL = row(SWITCHED, 0.5, 0.4, 0.6, 0.0, p=SURE, first=0.885, second=0.385)
A_SMALL_FALL = row(SWITCHED, 0.04, 0.01, 0.07, 0.0, p=SURE, first=0.885, second=0.845)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def said(*rows: Metric) -> str:
    found = verdict(rows)
    return plain(" ".join([found.word, found.headline, *(point.text for point in found.points)]))


def headline(*rows: Metric) -> str:
    return plain(verdict(rows).headline)


def tone_of(start: str, *rows: Metric) -> str:
    return next(point.tone for point in verdict(rows).points if plain(point.text).startswith(start))


def headline_rows(state: dict[str, str]) -> list[Metric]:
    """Rows of which this is the state."""
    rows = standing("accuracy/all/accuracy", state["single"])
    if state["places"] == ONE:
        rows = [row("accuracy/all/accuracy", 0.7, 0.6, 0.8, 0.5, null=0.7, in_one_place=True)]
    if state["places"] == FIXED:
        rows = [row("accuracy/all/accuracy", 0.7, 0.6, 0.8, 0.5, null=0.7, in_one_place=False)]
    if state["twins"] != UNKNOWN:
        rows += told_twins(state["twins"])
        rows += [whole_pairs(0.2)] if state["pairs"] == FEW else []
    rows += {FALLS: [A_FALL], HOLDS: [A_SMALL_FALL], UNKNOWN: []}[state["fall"]]
    share = {NONE: 0.0, SOME: 0.12, ALL: 1.0}[state["abstained"]]
    return [*rows, row("accuracy/all/abstained", share)]


def is_possible(state: dict[str, str]) -> bool:
    """Whether rows can be so: single problems tell nothing if right answers cannot change places."""
    has_pairs = state["twins"] != UNKNOWN
    return (state["places"] == SEVERAL or state["single"] == UNKNOWN) and (has_pairs or state["pairs"] == ENOUGH)


STATES = [state for state in states_of(HEADLINE) if is_possible(state)]
every_state = pytest.mark.parametrize("state", STATES, ids=lambda state: "-".join(state.values()))

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
"""What a reader takes each word to say."""


def test_every_word_of_the_table_has_a_meaning_here():
    assert {case.word for case in HEADLINE.cases} == set(MEANING)


def test_every_state_has_one_deciding_case_and_every_case_decides_some_state():
    deciding = [HEADLINE.decide(state) for state in states_of(HEADLINE)]
    assert all(case in deciding for case in HEADLINE.cases)
    for case in HEADLINE.cases:
        assert set(case.when) <= set(HEADLINE.facts)
        for fact, values in case.when.items():
            assert {values} if isinstance(values, str) else set(values) <= set(HEADLINE.facts[fact])


@every_state
def test_rows_give_their_state_back_and_the_word_means_it(state):
    rows = headline_rows(state)
    found = headline_state(MetricRows(rows))
    assert {fact: found[fact] for fact in HEADLINE.facts} == state
    word = verdict(rows).word
    assert all(state[fact] == value for fact, value in MEANING[word].items())


@every_state
def test_every_point_claims_what_is_so_and_says_no_more(state):
    rows = headline_rows(state)
    found = verdict(rows)
    whole = headline_state(MetricRows(rows))
    for point in found.points:
        assert all(whole[fact] == value for fact, value in point.claims.items()), point
        assert point.claims, point
        check_words(plain(point.text), [whole[fact] for fact in point.claims])
    claimed = [state[fact] for fact in ("single", "twins")]
    check_words(found.word, claimed)
    check_words(plain(found.headline), claimed)


def check_words(text: str, claimed: list[str]) -> None:
    """Of what is claimed, something is above where a text says so, below where it says so, at where it says so."""
    for pattern, needed in (
        (r"(?<!not )\babove (chance|it)", ABOVE),
        (r"\bbelow (chance|it)", BELOW),
        (r"indistinguishable|cannot be distinguished|might (get|do)|no better than|as chance may", AT),
        (r"(?<!no )better than", ABOVE),
        (r"A coin would follow more often|worse than|wrong way round more often", BELOW),
    ):
        text_says = re.search(pattern, text, re.IGNORECASE)
        denies = "say little about a scorer that is not above chance" in text or text.startswith("No artifact")
        if text_says and not denies:
            assert needed in claimed, (text, claimed)


@every_state
def test_good_is_said_only_of_what_no_test_denies(state):
    found = verdict(headline_rows(state))
    if found.tone == GOOD:
        assert (state["single"], state["twins"], state["pairs"]) == (ABOVE, ABOVE, ENOUGH)
        assert state["fall"] != FALLS


@every_state
def test_a_headline_has_the_numbers_of_the_rows_its_word_is_about(state):
    text = plain(verdict(headline_rows(state)).headline)
    decided = state["abstained"] != ALL and state["places"] == SEVERAL
    for one in standing("accuracy/all/accuracy", state["single"]):
        assert f"{100 * one.value:.1f} %" in text
        assert (f"({100 * one.chance:.1f} %)" in text) is decided
    for one in standing("groups/complete/right_way_round", state["twins"]):
        assert (f"33.0 % of 284 pairs, and then has them the right way round in {100 * one.value:.1f} %" in text) is (
            decided
        )
    assert ("since all are left undecided" in text) is (
        state["abstained"] == ALL and state["places"] == SEVERAL and state["single"] != UNKNOWN
    )
    loses = state["fall"] == FALLS and state["single"] == ABOVE
    assert text.startswith("It loses 50.0 points when the candidates change places") is loses


FACTS = {
    **{f"artifacts {subset}": f"artifacts/{subset}/accuracy" for subset in WITHOUT},
    **{f"gender {subset} {metric}": f"gender/{subset}/{metric}" for subset, metric in GENDER},
    "told": "groups/complete/told_apart",
    "alone": "groups/all/single_minus_grouped",
    "switched": SWITCHED,
    "consistency": "switching/switchable/consistency",
    "association": "association/all/associative_minus_others",
    "place": "position/all/first_minus_second",
}
GROUPED = row("groups/grouped/accuracy", 0.688, 0.643, 0.736, 0.5)
BESIDE = [
    GROUPED,
    row("groups/single/accuracy", 0.823),
    row("switching/switchable/accuracy", 0.7),
    row("switching/switchable/switched_accuracy", 0.6),
    row("association/associative/accuracy", 0.8),
    row("association/non_associative/accuracy", 0.6),
    row("position/answer_first/accuracy", 0.8),
    row("position/answer_second/accuracy", 0.6),
]
SAYINGS = [
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


@pytest.mark.parametrize("single", [ABOVE, AT, BELOW])
@pytest.mark.parametrize(("fact", "where"), list(product(FACTS, [ABOVE, AT, BELOW, UNKNOWN])))
def test_a_finding_says_where_its_row_stands_and_nothing_else(single, fact, where):
    level = 0.5 if fact.split()[0] in ("artifacts", "consistency", "told") else 0.0
    rows = [*standing("accuracy/all/accuracy", single), *BESIDE, *standing(FACTS[fact], where, level)]
    state = headline_state(MetricRows(rows))
    falls = {ABOVE: FALLS, AT: HOLDS, BELOW: HOLDS, UNKNOWN: UNKNOWN}[where] if fact == "switched" else UNKNOWN
    assert state == {**dict.fromkeys(FACTS, UNKNOWN), fact: where} | {
        "single": single, "twins": UNKNOWN, "abstained": NONE, "places": SEVERAL, "fall": falls, "pairs": ENOUGH
    }  # fmt: skip
    points = verdict(rows).points
    for point in points:
        assert all(state[name] == value for name, value in point.claims.items())
        check_words(plain(point.text), [state[name] for name in point.claims])
    text = plain(" ".join(point.text for point in points))
    for kind, pattern, states in SAYINGS:
        assert bool(re.search(pattern, text)) is (fact.split()[0] == kind and where in states), (pattern, text)


@pytest.mark.parametrize("states", list(product([ABOVE, AT, BELOW], repeat=3)))
def test_only_the_artifact_baselines_above_chance_are_said_to_reach_anything(states):
    rows = [ABOVE_CHANCE]
    for subset, where in zip(WITHOUT, states, strict=True):
        rows += standing(f"artifacts/{subset}/accuracy", where)
    text = said(*rows)
    for subset, where in zip(WITHOUT, states, strict=True):
        assert (f"70.0 % (chance: 50.0 %) from {WITHOUT[subset]}" in text) is (where == ABOVE)
    assert ("No artifact baseline is significantly above chance" in text) is (ABOVE not in states)


def test_p_values_of_findings_are_corrected_for_their_number():
    """At 0.02 one row of ten tested ones is nothing; alone it is significant."""
    easy = [row("association/associative/accuracy", 0.9), row("association/non_associative/accuracy", 0.7)]
    gap = row("association/all/associative_minus_others", 0.2, 0.03, 0.33, 0.0, p=0.02)
    others = [one for name in FACTS.values() if "assoc" not in name for one in standing(name, AT, 0.5)]
    assert "Word association carries" in said(ABOVE_CHANCE, *easy, gap)
    assert "the difference is not significant" in said(ABOVE_CHANCE, *easy, gap, *others)


def test_the_two_rows_of_a_headline_share_its_level():
    single = row("accuracy/all/accuracy", 0.56, 0.505, 0.61, 0.5, p=0.02)
    assert verdict([single]).word == "Above chance"
    assert verdict([single, *TWINS_AT]).word == f"Indistinguishable from chance{NEARLY}"
    # However clear the twins are: what is said of problems has its own half of the level.
    assert verdict([single, *TWINS_ABOVE]).word == (
        f"Indistinguishable from chance on problems, above it on twins{NEARLY}"
    )


@pytest.mark.parametrize(("value", "how"), [(0.56, "better"), (0.44, "worse")])
def test_a_score_that_a_single_test_would_tell_from_chance_is_said_to_be_near(value, how):
    single = row("accuracy/all/accuracy", value, value - 0.055, value + 0.055, 0.5, p=0.021)
    assert f"right, not clearly {how} than chance (50.0 %; p 0.021)" in headline(single, *TWINS_AT)


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
        ([row("accuracy/all/accuracy", 0.9)], "No accuracy to judge", "plain"),
        (TWINS_ABOVE, "Above chance on twins", "plain"),
        ([], "No accuracy to judge", "plain"),
    ],
)
def test_the_word_follows_tests_and_not_values(rows, word, tone):
    found = verdict(rows)
    assert (found.word, found.tone) == (word, tone)


def test_a_run_without_p_values_is_judged_by_its_intervals():
    """As one that was written before there were any, and before pairs were told apart."""
    old = [
        row("accuracy/all/accuracy", 0.7624, 0.735, 0.788, 0.5),
        row("groups/complete/group_accuracy", 0.28, 0.22, 0.34, 0.25),
    ]
    assert verdict(old).word == "Above chance on problems, indistinguishable from it on twins"


def test_a_run_that_was_held_against_the_commonest_answer_still_is():
    old = row("accuracy/all/accuracy", 0.64, 0.6, 0.68, 0.5, floor=0.65, p=0.7)
    assert verdict([old]).word == "Indistinguishable from chance"
    assert "no better than chance (65.0 %)" in headline(old)


def test_a_score_above_chance_that_may_be_chance_is_not_called_no_better():
    assert "51.4 % of 284 problems right, as chance may get too (50.0 %)" in headline(AT_CHANCE)
    lower = row("accuracy/all/accuracy", 0.486, 0.44, 0.53, 0.5, p=UNSURE)
    assert "48.6 % of 284 problems right, no better than chance (50.0 %)" in headline(lower)


def test_a_score_that_shows_nothing_says_what_could_have_been_seen():
    single = row("accuracy/all/accuracy", 0.514, 0.46, 0.57, 0.5, p=UNSURE, null_error=0.03)
    assert "as chance may get too (50.0 %); less than 59.0 % would usually have been missed;" in headline(single)
    turned = row("groups/complete/right_way_round", 0.55, 0.4, 0.7, 0.5, p=UNSURE, null_error=0.1)
    told = row("groups/complete/told_apart", 0.2, 0.15, 0.25, 0.5)
    both = headline(single, told, turned)
    # The two tests of a headline share its level.
    assert "less than 59.8 % would usually have been missed. It tells" in both
    assert "55.0 %, as chance may do too (less than 80.9 % would usually have been missed)" in both


def test_nothing_could_have_been_seen_of_a_scorer_that_says_too_little():
    single = row("accuracy/all/accuracy", 0.03, 0.0, 0.1, 0.025, p=UNSURE, null_error=0.015)
    abstained = row("accuracy/all/abstained", 0.95)
    assert "no better than chance" not in headline(single, abstained)
    assert "chance may get too (2.5 %); no score would usually have been found" in headline(single, abstained)


def test_nothing_could_have_been_seen_where_the_best_score_of_these_choices_would_show_nothing():
    """One answer in 400 differs: were it right, the score would still be chance's one time in three."""
    single = row("accuracy/all/accuracy", 0.652, 0.6, 0.7, 0.649, p=UNSURE, null_error=0.0012, p_most=0.35)
    assert "; no score would usually have been found" in headline(single)
    assert "missed" not in headline(single)


def test_twins_are_unknown_where_too_few_are_told_apart_to_show_anything():
    """Six pairs, all of them the right way round, have p = 0.016; two tests share 0.03."""
    told = row("groups/complete/told_apart", 0.06, 0.03, 0.1, 0.5, n=100)
    turned = {"value": 1.0, "low": 0.6, "high": 1.0, "chance": 0.5, "null_error": 0.2}
    few = row("groups/complete/right_way_round", **turned, p=1 / 64, n=6, p_most=1 / 64)
    found = verdict([ABOVE_CHANCE, told, few])
    assert (found.word, found.tone) == ("Above chance", PLAIN)
    text = plain(found.headline)
    assert "the right way round in 100.0 %, but these are too few to tell anything from" in text
    more = row("groups/complete/right_way_round", **turned, p=1 / 128, n=7, p_most=1 / 128)
    assert verdict([ABOVE_CHANCE, told, more]).word == "Above chance, on twins too"


def test_twins_of_which_one_is_answered_are_not_held_against_independent_answers():
    unheard = row("groups/complete/told_apart", 0.0, 0.0, 0.02)
    independent = row("dependence/complete/independent_group_accuracy", 0.25)
    whole = row("groups/complete/group_accuracy", 0.0, 0.0, 0.02, 0.0)
    assert "answered independently" not in said(ABOVE_CHANCE, unheard, whole, independent)
    deaf = row("groups/complete/told_apart", 0.0, 0.0, 0.02, 0.5)
    assert "answered independently" in said(ABOVE_CHANCE, deaf, whole, independent)


def test_a_score_that_shows_something_does_not_say_what_would_have_been_missed():
    above = row("accuracy/all/accuracy", 0.9, 0.85, 0.95, 0.5, p=SURE, null_error=0.03)
    assert "missed" not in headline(above)
    assert "missed" not in headline(row("accuracy/all/accuracy", 0.514, 0.46, 0.57, 0.5, p=UNSURE))


def test_a_finding_says_why_chance_is_not_excluded_although_the_interval_excludes_it():
    stricter = "the verdict's tests share a level of 3 %, below the interval's 5 %"
    near = row("accuracy/all/accuracy", 0.537, 0.501, 0.574, 0.5, p=0.046)
    finding = "cannot be distinguished from chance: the interval is 50.1 % to 57.4 %, chance is 50.0 %"
    assert f"{finding}; {stricter}." in said(near)
    assert stricter in said(row("accuracy/all/accuracy", 0.463, 0.426, 0.499, 0.5, p=0.046))
    assert stricter not in said(AT_CHANCE)
    assert stricter not in said(ABOVE_CHANCE)


def test_a_margin_says_whether_the_effect_matters():
    assert verdict([ABOVE_CHANCE], margin=5).word == "Above chance, by more than 5 points"
    little = row("accuracy/all/accuracy", 0.505, 0.502, 0.508, 0.5, p=SURE)
    assert verdict([little], margin=5).word == "Above chance, by less than 5 points"
    wide = row("accuracy/all/accuracy", 0.56, 0.52, 0.6, 0.5, p=SURE)
    assert verdict([wide], margin=5).word == "Above chance, perhaps by less than 5 points"
    assert verdict([AT_CHANCE], margin=5).word == "Indistinguishable from chance"


def test_a_margin_is_said_of_the_score_over_all_problems_and_of_nothing_else():
    words = {
        "Above chance, by more than 5 points, on twins too": TWINS_ABOVE,
        "Above chance on problems, by more than 5 points, indistinguishable from it on twins": TWINS_AT,
        "It may have seen these texts": [A_FALL],
    }
    for word, others in words.items():
        assert verdict([ABOVE_CHANCE, *others], margin=5).word == word


def test_the_sentence_says_by_how_much_too_since_a_terminal_shows_no_word():
    found = verdict([ABOVE_CHANCE, *TWINS_AT], margin=5)
    assert "right, better than chance (50.0 %), by more than 5 points. It tells" in plain(found.headline)
    little = row("accuracy/all/accuracy", 0.505, 0.502, 0.508, 0.5, p=SURE, n=150_000)
    assert plain(verdict([little], margin=5).headline).startswith(
        "50.5 % of 150,000 problems right, better than chance (50.0 %), by less than 5 points; twins"
    )


def test_the_accuracies_before_and_after_a_switch_are_told_once():
    switched = [
        row("switching/switchable/accuracy", 0.885, 0.8, 0.95, 0.5, p=SURE),
        row("switching/switchable/switched_accuracy", 0.385, 0.3, 0.45, 0.5, p=SURE),
        row("switching/switchable/consistency", 0.4, 0.3, 0.5, 0.5, p=UNSURE),
    ]
    assert "accuracy goes from 88.5 % to 38.5 %" in said(ABOVE_CHANCE, *switched)
    assert "accuracy goes from" not in said(ABOVE_CHANCE, A_FALL, *switched)


def test_twins_are_told_by_two_numbers_and_their_product():
    assert headline(ABOVE_CHANCE, *TWINS_ABOVE, whole_pairs(0.231)) == (
        "76.2 % of 284 problems right, better than chance (50.0 %). It tells the twins apart in 33.0 % of 284 pairs, "
        "and then has them the right way round in 70.0 %: 23.1 % of pairs are right (a coin: 25.0 %)."
    )


def test_a_scorer_that_never_tells_twins_apart_is_unknown_on_them():
    deaf = row("groups/complete/told_apart", 0.0, 0.0, 0.02, 0.5)
    whole = row("groups/complete/group_accuracy", 0.0, 0.0, 0.02, 0.25, null=0.0)
    found = verdict([ABOVE_CHANCE, deaf, whole])
    assert found.word == "Above chance"
    assert "It never tells the twins of a pair apart (284 pairs): of pairs nothing can be told." in found.headline


def test_whole_groups_below_a_coin_are_never_above_chance():
    whole = row("groups/complete/group_accuracy", 0.231, 0.18, 0.29, 0.25, null=0.165, p=SURE)
    bigger = row("groups/complete/group_accuracy", 0.331, 0.28, 0.39, 0.25, null=0.165, p=SURE)
    assert [winokit.results.stands(one) for one in (whole, bigger)] == [AT, ABOVE]


def test_who_has_fewer_pairs_right_than_a_coin_is_above_chance_only_where_it_tells_pairs_apart():
    """As RoBERTa-large without training: 15 % told apart, 82 % of them the right way round, 12.5 % of pairs right."""
    found = verdict([ABOVE_CHANCE, *told_twins(ABOVE, 0.15), whole_pairs(0.125)])
    assert (found.word, found.tone) == ("Above chance on problems, and on the pairs it tells apart", PLAIN)
    assert "12.5 % of pairs are right (a coin: 25.0 %)" in plain(found.headline)
    assert all(point.tone != GOOD for point in found.points if "twins" in point.claims)
    # Silence lowers what a coin with the same silences gets, and not what the papers hold pairs against.
    silent = verdict([ABOVE_CHANCE, *told_twins(ABOVE, 0.15), whole_pairs(0.125, chance=0.04)])
    assert silent.word == found.word
    enough = verdict([ABOVE_CHANCE, *TWINS_ABOVE, whole_pairs(0.26)])
    assert (enough.word, enough.tone) == ("Above chance, on twins too", GOOD)


def test_a_coin_is_never_said_of_more_than_two_candidates():
    """Four candidates give guessing a quarter of the problems, as a coin gets a quarter of the pairs."""
    four = row("accuracy/all/accuracy", 0.4, 0.35, 0.45, 0.25)
    pairs_of_three = row("groups/complete/group_accuracy", 0.4, 0.35, 0.45, 1 / 9)
    two = row("accuracy/all/accuracy", 0.6, 0.55, 0.65, 0.5)
    pairs = whole_pairs(0.4)
    assert [name_coin(one) for one in (four, pairs_of_three, None)] == ["guessing"] * 3
    assert [name_coin(one) for one in (two, pairs)] == ["a coin"] * 2
    text = headline(row("accuracy/all/accuracy", 0.6, 0.55, 0.65, 1 / 3, p=SURE), *TWINS_ABOVE, pairs_of_three)
    assert "(guessing: 11.1 %)" in text
    assert "coin" not in text


def test_right_answers_that_cannot_change_places_are_not_said_to_be_in_one_place():
    fixed = row("accuracy/all/accuracy", 1.0, 0.6, 1.0, 0.5, null=1.0, in_one_place=False)
    found = verdict([fixed])
    assert found.word == "Nothing can be told: right answers cannot change places"
    assert "no two units are alike" in found.headline
    assert "same place" not in found.headline


def test_who_never_answers_both_twins_is_not_said_to_give_them_the_same_answer():
    unheard = row("groups/complete/told_apart", 0.0, 0.0, 0.02)
    text = headline(ABOVE_CHANCE, unheard)
    assert "It answers both twins of no pair (284 pairs): of pairs nothing can be told." in text


def test_one_that_always_gives_the_same_answer_is_said_to():
    same = row("accuracy/all/accuracy", 0.65, 0.6, 0.7, 0.5, null=0.65, one_choice=True)
    found = verdict([same])
    assert found.word == "Indistinguishable from chance"
    assert "it always gives the same answer, which gets as much whatever the texts say" in found.headline


def test_one_answer_is_said_only_of_those_that_give_one():
    """One pair among 455 problems does not explain the score of the others."""
    same = {"value": 0.65, "low": 0.6, "high": 0.7, "chance": 0.5, "null": 0.65}
    deaf = row("groups/complete/told_apart", 0.0, 0.0, 0.95, 0.5, n=1)
    alone = row("groups/single/accuracy", **same, n=282)
    assert "right: it always gives the same answer, which gets" in headline(
        row("accuracy/all/accuracy", **same, one_choice=True), deaf, alone
    )
    varied = row("accuracy/all/accuracy", **same, one_choice=False)
    assert "65.0 % of 284 problems right: its choices get as much wherever the right answers are." in headline(
        varied, deaf, alone
    )


def test_one_that_gives_twins_the_same_answer_is_not_said_to_give_one_answer_always():
    same = row("accuracy/all/accuracy", 0.45, 0.4, 0.5, 0.5, null=0.45)
    deaf = row("groups/complete/told_apart", 0.0, 0.0, 0.02, 0.5)
    text = headline(same, deaf)
    assert "right: it gives twins the same answer, which gets as much whatever the texts say." in text
    assert "always gives" not in text


def test_groups_that_are_no_pairs_are_called_groups():
    text = headline(row("accuracy/all/accuracy", 0.4, 0.35, 0.45, 1 / 3, p=SURE),
                    row("groups/complete/group_accuracy", 0.2, 0.15, 0.25, 0.11, p=SURE))  # fmt: skip
    assert "better than chance (33.3 %). 20.0 % of 284 groups are fully right (chance: 11.0 %)." in text
    assert "coin" not in text


def test_pairs_are_called_pairs_whoever_abstains():
    """A coin with the same abstentions gets less than a quarter of them."""
    told = [
        row("groups/complete/told_apart", 0.158, 0.12, 0.2, 0.5),
        *standing("groups/complete/right_way_round", ABOVE),
    ]
    whole = row("groups/complete/group_accuracy", 0.148, 0.11, 0.19, 0.067, null=0.08, p=SURE)
    assert MetricRows([*told, whole]).groups_word == "pair"
    assert "14.8 % of 284 pairs are fully right" in said(ABOVE_CHANCE, *told, whole)
    more = row("groups/complete/group_accuracy", 0.148, 0.11, 0.19, 0.067, null=0.08, p=SURE, n=300)
    assert MetricRows([*told, more]).groups_word == "group"


def test_a_scorer_at_chance_is_told_how_often_chance_does_as_well():
    text = said(AT_CHANCE, *TWINS_AT, row("luck/all/p_null", 0.41), row("luck/all/p_null_best_of_10", 0.9974))
    assert (
        "Its own choices would score this high by chance 41 % of the time, the best of ten tries more than 99 %" in text
    )


def test_a_score_that_needs_more_problems_is_told_how_many():
    luck = row("luck/all/p_null", 0.41)
    assert "would take about 9,000 problems" in said(AT_CHANCE, luck, row("luck/all/n_to_beat_chance", 9000))
    assert "would take" not in said(ABOVE_CHANCE, luck, row("luck/all/n_to_beat_chance", 26))


def test_an_artifact_baseline_above_chance_counts_against_the_score():
    reached = row("artifacts/part-sent/accuracy", 0.6312, 0.6, 0.66, 0.5, p=SURE)
    silent = row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5, p=UNSURE)
    text = said(ABOVE_CHANCE, reached, silent)
    assert "63.1 % (chance: 50.0 %) from the clause with the blank alone (part-sent)" in text
    assert "no-cands" not in text
    assert tone_of("It finds answers in text", ABOVE_CHANCE, reached) == "bad"


def test_artifact_baselines_at_chance_speak_for_the_score_only_if_it_is_above_chance():
    silent = row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5, p=UNSURE)
    assert tone_of("No artifact baseline is significantly above", ABOVE_CHANCE, silent) == "good"
    assert "say little about a scorer that is not above chance itself" in said(AT_CHANCE, silent)


@pytest.mark.parametrize(
    ("value", "p", "words"),
    [(0.9, SURE, "."), (0.52, UNSURE, ". A coin might follow as often."), (0.2, SURE, "more often.")],
)
def test_consistency_is_held_against_a_coin(value, p, words):
    text = said(ABOVE_CHANCE, row("switching/switchable/consistency", value, value - 0.1, value + 0.05, 0.5, p=p))
    assert f"its answer follows in {100 * value:.1f} % of 284 problems" in text
    assert text.endswith(words)


def test_order_of_candidates_and_abstentions_are_told_where_they_matter():
    """An abstention in one of the two orders is no turned choice: what was turned has its own row."""
    assert "with the order of" not in said(ABOVE_CHANCE, row("position/all/order_turned", 0.0))
    assert "In 3.0 % of problems its choice changes with the order of the candidates" in said(
        ABOVE_CHANCE, row("position/all/order_turned", 0.03)
    )
    assert "not answered" not in said(ABOVE_CHANCE, row("accuracy/all/abstained", 0.0))
    assert "12.0 % of problems are left undecided" in said(ABOVE_CHANCE, row("accuracy/all/abstained", 0.12))


def test_a_model_that_decides_nothing_is_told_why_on_the_terminal_too():
    """There only what is bad is shown: one that says A in either order has decided nothing."""
    none = row("accuracy/all/accuracy", 0.0, 0.0, 0.1, 0.0), row("accuracy/all/abstained", 1.0)
    assert tone_of("100.0 % of problems are left undecided", *none) == BAD
    assert tone_of("12.0 %", ABOVE_CHANCE, row("accuracy/all/abstained", 0.12)) == PLAIN


def test_gender_differences_keep_their_sign_and_say_which_are_significant():
    female = row("gender/female/delta", 0.042, -0.03, 0.11, 0.0, p=UNSURE)
    male = row("gender/male/delta", -0.175, -0.26, -0.09, 0.0, p=SURE)
    assert "ΔF +4.2 and ΔM −17.5. Significant: ΔM." in said(ABOVE_CHANCE, female, male)
    assert "ΔF +4.2. None is significant." in said(ABOVE_CHANCE, female)
    unknown = row("gender/female/delta", 0.042, -0.03, 0.11)
    assert "significant" not in said(ABOVE_CHANCE, unknown)


def test_strict_scores_are_told():
    assert "11.0 % of 284 groups are right in every version" in said(row("strict/complete/group_accuracy", 0.11))


def test_twins_that_were_not_looked_at_are_not_said_to_be_missing():
    only = winokit.audit("open", "random", limit=20, protocol="accuracy", cache="off")
    assert verdict(only.metrics).headline.endswith("; twins were not looked at.")
    alone = [problem.replace(group=None) for problem in list(winokit.load("open"))[:20:2]]
    without = winokit.audit(Dataset(alone), "random", protocol=["accuracy", "groups"], cache="off")
    assert verdict(without.metrics).headline.endswith("; there are no twins to look at.")
