"""The verdict follows from the rows, and says no more than they do: every state of its tables is enumerated."""

import re
from itertools import product

import pytest
from support.verdicts import states_of

import winokit
from winokit.drawing.decision import BAD, GOOD, PLAIN, DecisionTable
from winokit.methods.metrics.compare import Comparison
from winokit.methods.metrics.intervals import Interval
from winokit.problem import Dataset
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric
from winokit.stages.audit.verdict import GENDER, HEADLINE, WITHOUT, MetricRows, headline_state, verdict
from winokit.stages.compare.run import COMPARED, ComparePage, ScorerPair

SURE, UNSURE = 1e-9, 0.6


def row(
    name: str, value: float, low: float | None = None, high: float | None = None, chance: float | None = None, **more
):
    protocol, subset, metric = name.split("/")
    p = {} if "p" not in more else {"p": more["p"]}
    note = more.get("note")
    return Metric("d", "m", "s", None, protocol, subset, metric, value, 284, low, high, chance, note, p)


def standing(name: str, where: str, chance: float = 0.5) -> list[Metric]:
    """A row that stands there; none where nothing is known."""
    if where == UNKNOWN:
        return []
    value = chance + {ABOVE: 0.2, AT: 0.01, BELOW: -0.2}[where]
    return [row(name, value, value - 0.05, value + 0.05, chance, p=UNSURE if where == AT else SURE)]


ABOVE_CHANCE = row("accuracy/all/accuracy", 0.7624, 0.735, 0.788, 0.5, p=SURE)
AT_CHANCE = row("accuracy/all/accuracy", 0.514, 0.467, 0.561, 0.5, p=UNSURE)
BELOW_CHANCE = row("accuracy/all/accuracy", 0.41, 0.37, 0.46, 0.5, p=SURE)
TWINS_ABOVE = row("groups/complete/group_accuracy", 0.5739, 0.518, 0.63, 0.25, p=SURE)
TWINS_AT = row("groups/complete/group_accuracy", 0.28, 0.22, 0.34, 0.25, p=UNSURE)
TWINS_BELOW = row("groups/complete/group_accuracy", 0.056, 0.028, 0.089, 0.25, p=SURE)
GROUPED = row("groups/grouped/accuracy", 0.688, 0.643, 0.736, 0.5)
UNLIKELY, LIKELY = row("luck/all/p_chance", 1e-9), row("luck/all/p_chance", 0.41)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def said(*rows: Metric) -> str:
    found = verdict(rows)
    return plain(" ".join([found.word, found.headline, *(point.text for point in found.points)]))


def tone_of(start: str, *rows: Metric) -> str:
    return next(point.tone for point in verdict(rows).points if plain(point.text).startswith(start))


def headline_rows(state: dict[str, str]) -> list[Metric]:
    """Rows of which this is the state."""
    rows = standing("accuracy/all/accuracy", state["single"])
    rows += standing("groups/complete/group_accuracy", state["group"], 0.25)
    rows += [] if state["group"] == UNKNOWN else [GROUPED]
    rows += {"small": [UNLIKELY], "large": [LIKELY], UNKNOWN: []}[state["luck"]]
    share = {"none": 0.0, "some": 0.12, "all": 1.0}[state["abstained"]]
    return [*rows, row("accuracy/all/abstained", share)]


STATES = list(states_of(HEADLINE))
every_state = pytest.mark.parametrize("state", STATES, ids=lambda state: "-".join(state.values()))

MEANING = {
    "Nothing was decided": {"abstained": "all"},
    "No accuracy to judge": {"single": UNKNOWN, "group": UNKNOWN},
    "Above chance on whole groups": {"single": UNKNOWN, "group": ABOVE},
    "Whole groups are indistinguishable from guessing": {"single": UNKNOWN, "group": AT},
    "Below chance on whole groups": {"single": UNKNOWN, "group": BELOW},
    "Borderline on problems, above chance on groups": {"group": ABOVE},
    "Borderline on problems, below chance on groups": {"group": BELOW},
    "Borderline: one test excludes guessing, the other does not": {},
    "Above chance, on whole groups too": {"single": ABOVE, "group": ABOVE},
    "Above chance on problems, indistinguishable from it on whole groups": {"single": ABOVE, "group": AT},
    "Above chance on problems, below it on whole groups": {"single": ABOVE, "group": BELOW},
    "Above chance": {"single": ABOVE, "group": UNKNOWN},
    "Indistinguishable from guessing on problems, above chance on groups": {"single": AT, "group": ABOVE},
    "Indistinguishable from guessing on problems, below chance on groups": {"single": AT, "group": BELOW},
    "Indistinguishable from guessing": {"single": AT},
    "Below chance on problems, above it on whole groups": {"single": BELOW, "group": ABOVE},
    "Below chance": {"single": BELOW},
}
"""What a reader takes each word to say."""


def test_every_word_of_the_table_has_a_meaning_here():
    assert {case.word for case in HEADLINE.cases} == set(MEANING)


@pytest.mark.parametrize("table", [HEADLINE, COMPARED])
def test_every_state_has_one_deciding_case_and_every_case_decides_some_state(table: DecisionTable):
    deciding = [table.decide(state) for state in states_of(table)]
    assert all(case in deciding for case in table.cases)
    for case in table.cases:
        assert set(case.when) <= set(table.facts)
        for fact, values in case.when.items():
            assert {values} if isinstance(values, str) else set(values) <= set(table.facts[fact])


@every_state
def test_rows_give_their_state_back_and_the_word_means_it(state):
    rows = headline_rows(state)
    found = headline_state(MetricRows(rows))
    assert {fact: found[fact] for fact in HEADLINE.facts} == state
    word = verdict(rows).word
    assert all(state[fact] == value for fact, value in MEANING[word].items())
    borderline = (state["single"], state["luck"]) in ((ABOVE, "large"), (AT, "small"))
    assert word.startswith("Borderline") is (borderline and state["abstained"] != "all")


@every_state
def test_every_point_claims_what_is_so_and_says_no_more(state):
    rows = headline_rows(state)
    found, whole = verdict(rows), headline_state(MetricRows(rows))
    for point in found.points:
        assert all(whole[fact] == value for fact, value in point.claims.items()), point
        assert point.claims or "in every version" in point.text, point
        check_words(plain(point.text), [whole[fact] for fact in point.claims])
    claimed = [state[fact] for fact in ("single", "group")]
    check_words(found.word, claimed)
    check_words(plain(found.headline), claimed)


def check_words(text: str, claimed: list[str]) -> None:
    """Of what is claimed, something is above where a text says so, below where it says so, at where it says so."""
    for pattern, needed in (
        (r"(?<!not )\babove (chance|it)", ABOVE),
        (r"\bbelow (chance|it)", BELOW),
        (r"indistinguishable|cannot be distinguished|might (get|do)", AT),
        (r"better than", ABOVE),
        (r"A coin would follow more often|worse than|so only", BELOW),
    ):
        text_says = re.search(pattern, text, re.IGNORECASE)
        if text_says and "say little about a scorer that is not above chance" not in text:
            assert needed in claimed, (text, claimed)


@every_state
def test_good_is_said_only_of_what_no_test_denies(state):
    found = verdict(headline_rows(state))
    if found.tone == GOOD:
        assert (state["single"], state["group"]) == (ABOVE, ABOVE)
        assert state["luck"] != "large"
        assert not any(point.tone == "bad" for point in found.points)
    luck = [point for point in found.points if "luck" in point.claims]
    assert all(point.tone != GOOD for point in luck) or state["single"] == ABOVE


@every_state
def test_a_headline_has_the_numbers_of_the_rows_its_word_is_about(state):
    text = plain(verdict(headline_rows(state)).headline)
    for fact, where in (("accuracy/all/accuracy", state["single"]), ("groups/complete/group_accuracy", state["group"])):
        for one in standing(fact, where, 0.25 if "group" in fact else 0.5):
            assert f"{100 * one.value:.1f} %" in text
            assert f"{100 * one.chance:.1f} %)" in text or ("group" not in fact and state["abstained"] == "all")
    assert ("since all are left undecided" in text) is (state["abstained"] == "all" and state["single"] != UNKNOWN)
    assert ("no score to judge" in text) is (state["single"] == state["group"] == UNKNOWN)
    assert ("with the same abstentions" in text) is (state["abstained"] == "some" and state["single"] != UNKNOWN)


FACTS = {
    **{f"artifacts {subset}": f"artifacts/{subset}/accuracy" for subset in WITHOUT},
    **{f"gender {subset} {metric}": f"gender/{subset}/{metric}" for subset, metric in GENDER},
    "alone": "groups/all/single_minus_grouped",
    "consistency": "switching/switchable/consistency",
    "association": "association/all/associative_minus_others",
    "place": "position/all/first_minus_second",
}
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
    ("artifacts", r"No artifact baseline is significantly above guessing|say little about a scorer", {AT, BELOW}),
    ("consistency", r"A coin might do the same", {AT}),
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
    level = 0.5 if fact.split()[0] in ("artifacts", "consistency") else 0.0
    rows = [*standing("accuracy/all/accuracy", single), *BESIDE, *standing(FACTS[fact], where, level)]
    state = headline_state(MetricRows(rows))
    assert state == {**dict.fromkeys(FACTS, UNKNOWN), fact: where} | {
        "single": single, "group": UNKNOWN, "luck": UNKNOWN, "abstained": "none"
    }  # fmt: skip
    points = verdict(rows).points
    for point in points:
        assert all(state[name] == value for name, value in point.claims.items())
        check_words(plain(point.text), [state[name] for name in point.claims])
    text = plain(" ".join(point.text for point in points))
    for kind, pattern, states in SAYINGS:
        assert bool(re.search(pattern, text)) is (fact.split()[0] == kind and where in states), (pattern, text)


@pytest.mark.parametrize("states", list(product([ABOVE, AT, BELOW], repeat=3)))
def test_only_the_artifact_baselines_above_guessing_are_said_to_reach_anything(states):
    rows = [ABOVE_CHANCE]
    for subset, where in zip(WITHOUT, states, strict=True):
        rows += standing(f"artifacts/{subset}/accuracy", where)
    text = said(*rows)
    for subset, where in zip(WITHOUT, states, strict=True):
        assert (f"70.0 % (a coin: 50.0 %) from {WITHOUT[subset]}" in text) is (where == ABOVE)
    assert ("No artifact baseline is significantly above guessing" in text) is (ABOVE not in states)


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
    assert verdict([single, TWINS_AT, GROUPED]).word == "Indistinguishable from guessing, but only just"
    assert "below the interval's 5" in said(single, TWINS_AT, GROUPED)
    # However clear the groups are: what is said of problems has its own half of the level.
    assert (
        verdict([single, TWINS_ABOVE, GROUPED]).word
        == "Indistinguishable from guessing on problems, above chance on groups"
    )


def test_a_headline_says_where_an_interval_excludes_guessing_and_its_tests_do_not():
    """Pairs whose 95 % interval ends below 25 % are not said to be like any others."""
    single = row("accuracy/all/accuracy", 0.52, 0.47, 0.57, 0.5, p=0.5)
    pairs = row("groups/complete/group_accuracy", 0.187, 0.139, 0.244, 0.25, p=0.03)
    found = verdict([single, pairs, GROUPED])
    assert found.word == "Indistinguishable from guessing, but only just"
    assert plain(found.headline).endswith(
        "18.7 % of 284 pairs fully right (a coin: 25.0 %, just outside the 95 % interval)."
    )
    assert "right, as a coin might get (50.0 %)" in plain(found.headline)


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (
            0.56,
            0.505,
            0.61,
            "56.0 % of 284 problems right, not clearly better than a coin (50.0 %, just outside the 95 %",
        ),
        (
            0.44,
            0.39,
            0.495,
            "44.0 % of 284 problems right, not clearly worse than a coin (50.0 %, just outside the 95 %",
        ),
        (0.56, None, None, "56.0 % of 284 problems right, as a coin might get (50.0 %), and"),
    ],
)
def test_a_score_whose_interval_excludes_guessing_is_not_said_to_be_a_coins(value, low, high, said):
    """Its interval and the stricter test disagree; a row without an interval has none for guessing to be outside of."""
    found = verdict([row("accuracy/all/accuracy", value, low, high, 0.5, p=0.02), TWINS_AT, GROUPED])
    assert said in plain(found.headline)


@pytest.mark.parametrize(
    ("rows", "word", "tone"),
    [
        ([ABOVE_CHANCE, TWINS_ABOVE], "Above chance, on whole groups too", "good"),
        ([ABOVE_CHANCE, TWINS_AT], "Above chance on problems, indistinguishable from it on whole groups", "bad"),
        ([ABOVE_CHANCE, TWINS_BELOW], "Above chance on problems, below it on whole groups", "bad"),
        ([ABOVE_CHANCE], "Above chance", "plain"),
        ([ABOVE_CHANCE, LIKELY], "Borderline: one test excludes guessing, the other does not", "bad"),
        ([AT_CHANCE, TWINS_ABOVE], "Indistinguishable from guessing on problems, above chance on groups", "plain"),
        ([AT_CHANCE, TWINS_BELOW], "Indistinguishable from guessing on problems, below chance on groups", "bad"),
        ([BELOW_CHANCE, TWINS_BELOW], "Below chance", "bad"),
        ([row("accuracy/all/accuracy", 0.9), LIKELY], "No accuracy to judge", "plain"),
        ([TWINS_ABOVE], "Above chance on whole groups", "plain"),
        ([], "No accuracy to judge", "plain"),
    ],
)
def test_the_word_follows_tests_and_not_values(rows, word, tone):
    found = verdict(rows)
    assert (found.word, found.tone) == (word, tone)


def test_a_run_without_p_values_is_judged_by_its_intervals():
    """As one that was written before there were any."""
    old = [
        row("accuracy/all/accuracy", 0.7624, 0.735, 0.788, 0.5),
        row("groups/complete/group_accuracy", 0.28, 0.22, 0.34, 0.25),
    ]
    assert verdict([*old, GROUPED]).word == "Above chance on problems, indistinguishable from it on whole groups"


def test_the_headline_sets_twins_against_the_accuracy_of_the_same_problems():
    """Of 284 problems with twins and 284 in all: one sentence; of fewer, the accuracy of those beside."""
    assert (
        "76.2 % of 284 problems right, better than a coin (50.0 %), "
        "and 57.4 % of 284 pairs fully right (a coin: 25.0 %)."
    ) in said(ABOVE_CHANCE, TWINS_ABOVE, GROUPED)
    more = Metric(
        "d", "m", "s", None, "accuracy", "all", "accuracy", 0.7624, 1267, 0.735, 0.788, 0.5, None, {"p": SURE}
    )
    text = plain(verdict([more, TWINS_ABOVE, GROUPED]).headline)
    assert text == (
        "76.2 % of 1,267 problems right, better than a coin (50.0 %). "
        "Of the 284 with twins it gets 68.8 %, and 57.4 % of 284 pairs fully right (a coin: 25.0 %)."
    )


def test_the_headline_says_why_whole_pairs_are_wrong():
    same = row("dependence/complete/same_option", 0.76, 0.71, 0.81, 0.5)
    text = plain(verdict([AT_CHANCE, TWINS_BELOW, GROUPED, same]).headline)
    assert text == (
        "51.4 % of 284 problems right, as a coin might get (50.0 %). It picks the same option for both twins in 76.0 % "
        "of 284 pairs (a coin: 50.0 %), so only 5.6 % are fully right (a coin: 25.0 %)."
    )
    for other in (row("dependence/complete/same_option", 0.52, 0.47, 0.57, 0.5), same):
        groups = TWINS_BELOW if other is not same else TWINS_ABOVE
        assert "same option" not in verdict([AT_CHANCE, groups, GROUPED, other]).headline


def test_what_is_no_pair_of_two_candidates_is_called_a_group_and_no_coin_guesses_it():
    third = row("accuracy/all/accuracy", 0.4, 0.35, 0.45, 0.3333, p=SURE)
    text = plain(verdict([third, row("groups/complete/group_accuracy", 0.2, 0.15, 0.25, 0.11, p=SURE)]).headline)
    assert "better than guessing (33.3 %), and 20.0 % of 284 groups fully right" in text


def test_a_scorer_at_chance_is_told_how_often_a_coin_does_as_well():
    text = said(AT_CHANCE, TWINS_AT, GROUPED, LIKELY)
    assert "Indistinguishable from guessing" in text
    assert "That cannot be distinguished from guessing (25.0 %)" in text
    assert "A coin scores this high 41 % of the time" in text


def test_twins_below_chance_are_called_what_they_are():
    text = said(AT_CHANCE, TWINS_BELOW, GROUPED, row("dependence/complete/same_option", 0.883, 0.83, 0.92, 0.5))
    assert "That is below chance: 88.3 % of these pairs get one option throughout" in text


def test_an_artifact_baseline_above_chance_counts_against_the_score():
    reached = row("artifacts/part-sent/accuracy", 0.6312, 0.6, 0.66, 0.5, p=SURE)
    silent = row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5, p=UNSURE)
    text = said(ABOVE_CHANCE, reached, silent)
    assert "63.1 % (a coin: 50.0 %) from the clause with the blank alone (part-sent)" in text
    assert "no-cands" not in text
    assert tone_of("It finds answers in text", ABOVE_CHANCE, reached) == "bad"


def test_artifact_baselines_at_chance_speak_for_the_score_only_if_it_is_above_chance():
    silent = row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5, p=UNSURE)
    assert tone_of("No artifact baseline is significantly above", ABOVE_CHANCE, silent) == "good"
    assert "say little about a scorer that is not above chance itself" in said(AT_CHANCE, silent)


@pytest.mark.parametrize(
    ("value", "p", "words"),
    [(0.9, SURE, "."), (0.52, UNSURE, ". A coin might do the same."), (0.2, SURE, "more often.")],
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


def test_no_coin_is_named_where_problems_have_more_than_two_candidates():
    three = row("accuracy/all/accuracy", 0.3, 0.2, 0.4, 1 / 3, p=UNSURE)
    assert "(guessing: 11.1 %)" in said(three, row("groups/complete/group_accuracy", 0.1, 0.05, 0.2, 1 / 9, p=UNSURE))
    assert "(a coin: 25.0 %)" in said(AT_CHANCE, TWINS_AT)


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


def test_a_score_that_needs_more_problems_is_told_how_many():
    assert "would take about 9,000 problems" in said(AT_CHANCE, LIKELY, row("luck/all/n_to_beat_chance", 9000))
    assert "would take" not in said(ABOVE_CHANCE, UNLIKELY, row("luck/all/n_to_beat_chance", 26))


def test_strict_scores_are_told():
    assert "11.0 % of 284 groups are right in every version" in said(row("strict/complete/group_accuracy", 0.11))


def pair_of(measure: str, where: str) -> dict[tuple[str, str, str], Comparison]:
    if where == UNKNOWN:
        return {}
    difference = {ABOVE: 0.1, AT: 0.02, BELOW: -0.1}[where]
    p = UNSURE if where == AT else SURE
    interval = Interval(difference - 0.05, difference + 0.05, 0.95, "")
    return {("one", "two", measure): Comparison(difference, interval, p, 9, 8, 100, 50)}


@pytest.mark.parametrize("state", list(states_of(COMPARED)), ids=lambda state: "-".join(state.values()))
def test_of_two_scorers_only_that_is_said_which_their_tests_say(state):
    comparisons = {name: found for fact, where in state.items() for name, found in pair_of(fact, where).items()}
    sentences = [plain(sentence) for sentence in ComparePage({}, comparisons).sentences]
    if not comparisons:
        assert sentences == []
        return
    (sentence,) = sentences
    claim, _, numbers = sentence.partition(":")
    ahead = {"one": ABOVE, "two": BELOW}
    for name, where in ahead.items():
        on_problems = state["accuracy"] == where
        on_groups = state["group_accuracy"] == where
        assert (f"{name} is ahead" in claim or claim.endswith(f", {name} on groups")) is (on_problems or on_groups)
        if claim.startswith(f"{name} is ahead") and "not significantly on problems" not in claim:
            assert on_problems
    assert ("on whole groups too" in claim) is (state["accuracy"] == state["group_accuracy"] in (ABOVE, BELOW))
    apart = {state["accuracy"], state["group_accuracy"]} & {ABOVE, BELOW}
    assert ("cannot be distinguished" in claim) is (not apart)
    assert ("not significantly on groups" in claim) is (state["accuracy"] in apart and state["group_accuracy"] == AT)
    assert ("not significantly on problems" in claim) is (
        state["group_accuracy"] in apart and state["accuracy"] not in apart
    )
    for fact, where in state.items():
        for found in pair_of(fact, where).values():
            assert f"{100 * abs(found.difference):.1f} points of {fact.replace('_', ' ')}" in numbers
    assert ("after correction for 2 tests" in numbers) is (len(comparisons) == 2)


def test_a_pair_is_ahead_only_with_a_corrected_p_value():
    found = pair_of("accuracy", ABOVE)["one", "two", "accuracy"]
    assert ScorerPair("one", "two", "accuracy", found, 0.049).ahead == "one"
    assert ScorerPair("one", "two", "accuracy", found, 0.05).ahead is None


def test_twins_that_were_not_looked_at_are_not_said_to_be_missing():
    only = winokit.audit("open", "random", limit=20, protocol="accuracy", cache="off")
    assert verdict(only.metrics).headline.endswith("; twins were not looked at.")
    alone = [problem.replace(group=None) for problem in list(winokit.load("open"))[:20:2]]
    without = winokit.audit(Dataset(alone), "random", protocol=["accuracy", "groups"], cache="off")
    assert verdict(without.metrics).headline.endswith("; there are no twins to look at.")
