"""A sentence on two scorers follows from their tests, in every state of the table."""

from dataclasses import replace

import pytest
from support.verdicts import states_of

from winokit.methods.metrics.compare import Comparison, Resolution
from winokit.methods.metrics.intervals import Interval
from winokit.methods.metrics.judge_pairs import AHEAD, EQUAL, NOT_SHOWN, REFUSES, PairVerdict
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.compare.page import ComparePage
from winokit.stages.compare.pairs import ScorerPair
from winokit.stages.compare.verdict import (
    COMPARED,
    WITHIN,
    comparison_sentences,
    comparison_words,
    could_have_seen,
    state_of,
)

SURE = 1e-9
UNSURE = 0.6
MARGIN = 5


def make_comparison(difference: float, p: float, half_width: float = 0.04, **more) -> Comparison:
    """Make a comparison whose interval reaches so far to both sides of its difference."""
    narrow_half = 0.8 * half_width
    interval = Interval(difference - half_width, difference + half_width, 0.95, "")
    narrow = Interval(difference - narrow_half, difference + narrow_half, 0.9, "")
    resolution = Resolution(difference, half_width / 2, 100, 0.01, narrow_half, 0.9)
    shares = (0.5 + difference / 2, 0.5 - difference / 2)
    return Comparison(difference, interval, p, 9, 8, 100, 50, *shares, narrow, 50, resolution, **more)


COMPARISONS = {
    ABOVE: make_comparison(0.1, SURE),
    BELOW: make_comparison(-0.1, SURE),
    AT: make_comparison(0.02, UNSURE, half_width=0.08),
    WITHIN: make_comparison(0.001, UNSURE),
}
"""A comparison by where it has the first scorer."""


def make_verdict(comparison: Comparison, p: float, margin: float | None = 0.05) -> PairVerdict:
    """Make the verdict on a comparison with this corrected p-value."""
    return PairVerdict(comparison, p, margin, 0.05)


def make_pair(verdict: PairVerdict, measure: str = "accuracy") -> ScorerPair:
    return ScorerPair("one", "two", measure, verdict)


def make_page(**places: str) -> ComparePage:
    """Make a page that compares two scorers by these measures, with the first one there."""
    comparisons = {}
    for measure, where in places.items():
        if where in COMPARISONS:
            comparisons["one", "two", measure] = COMPARISONS[where]
    return ComparePage({}, comparisons, margin=MARGIN)


def name_measure(measure: str) -> str:
    return measure.replace("_", " ")


def test_every_state_has_one_deciding_case_and_every_case_decides_some_state():
    deciding_cases = [COMPARED.decide(state) for state in states_of(COMPARED)]
    assert all(case in deciding_cases for case in COMPARED.cases)


STATES = list(states_of(COMPARED))
KNOWN_STATES = [state for state in STATES if set(state.values()) != {UNKNOWN}]
every_known_state = pytest.mark.parametrize("state", KNOWN_STATES, ids=lambda state: "-".join(state.values()))


@pytest.mark.parametrize("state", STATES, ids=lambda state: "-".join(state.values()))
def test_the_state_of_two_scorers_is_that_of_their_tests(state):
    page = make_page(**state)
    assert state_of({pair.measure: pair for pair in page.pairs}) == state


def test_nothing_is_said_without_tests():
    assert make_page(accuracy=UNKNOWN, group_accuracy=UNKNOWN).sentences == []


def get_claim(page: ComparePage) -> str:
    """Words of the first sentence up to its first full stop."""
    claim, *_ = page.sentences[0].split(". ")
    return claim


LEADERS = {ABOVE: "one", BELOW: "two"}


@every_known_state
def test_somebody_is_ahead_only_where_a_test_says_so(state):
    claim = get_claim(make_page(**state))
    leaders = [LEADERS[where] for where in state.values() if where in LEADERS]
    assert ("ahead" in claim) is bool(leaders)
    assert all(leader in claim for leader in leaders)
    for where, leader in LEADERS.items():
        if claim.startswith(f"{leader} is ahead"):
            assert where in state.values()
            assert where == state["accuracy"] or "on groups" in claim


@every_known_state
def test_two_scorers_are_equal_or_without_a_difference_only_where_their_tests_say_so(state):
    claim = get_claim(make_page(**state))
    is_equal = WITHIN in state.values()
    has_leader = bool(LEADERS.keys() & set(state.values()))
    is_open = AT in state.values() and not has_leader and not is_equal
    both_alike = state["accuracy"] == state["group_accuracy"] and state["accuracy"] in (ABOVE, BELOW, WITHIN)
    assert ("equal within 5 points" in claim) is is_equal
    assert ("on whole groups too" in claim) is both_alike
    assert claim.startswith("No difference") is is_open


@every_known_state
def test_a_sentence_has_the_points_of_every_test_and_their_correction(state):
    sentence, *correction = make_page(**state).sentences
    comparisons = {measure: COMPARISONS[where] for measure, where in state.items() if where in COMPARISONS}
    for measure, comparison in comparisons.items():
        points = f"{100 * abs(comparison.difference):.1f} points"
        assert f"{points} of {name_measure(measure)} [" in sentence
    assert correction == ["p-values are corrected for 2 tests."] * (len(comparisons) - 1)
    assert ("would usually have been missed" in sentence) is (AT in state.values())


def test_a_pair_is_ahead_only_with_a_corrected_p_value():
    comparison = make_comparison(0.1, SURE)
    significant_pair = make_pair(make_verdict(comparison, 0.049))
    other_pair = make_pair(make_verdict(comparison, 0.05))
    assert significant_pair.ahead == "one"
    assert other_pair.ahead is None


def test_equality_goes_by_the_narrow_interval():
    """Two one-sided tests at 5 %: the interval of 90 % is inside the margin, that of 95 % is not."""
    narrow = make_comparison(0.0, 1.0, half_width=0.055)
    wide = make_comparison(0.0, 1.0, half_width=0.065)
    assert make_verdict(narrow, 1.0).word == EQUAL
    assert make_verdict(wide, 1.0).word == NOT_SHOWN


@pytest.mark.parametrize(
    ("difference", "half_width", "words"),
    [
        (0.01, 0.005, ": less than 5 points."),
        (0.05, 0.045, ": not shown to be more than 5 points."),
        (0.1, 0.04, ": more than 5 points."),
    ],
    ids=["small", "wide", "large"],
)
def test_a_small_lead_is_said_to_be_below_the_margin_only_if_that_is_shown(difference, half_width, words):
    comparison = make_comparison(difference, SURE, half_width)
    (sentence,) = comparison_sentences([make_pair(make_verdict(comparison, SURE))])
    assert sentence.endswith(words)


LITTLE_LEAD = make_verdict(make_comparison(0.03, SURE, 0.02), SURE)
LARGE_LEAD = make_verdict(make_comparison(0.1, SURE), SURE)
EQUALITY = make_verdict(make_comparison(0.0, 1.0), 1.0)


def test_the_claim_says_that_a_lead_is_small():
    """Of several pairs of models a terminal shows the claims alone."""
    pairs = [make_pair(LITTLE_LEAD), make_pair(EQUALITY, "group_accuracy")]
    words = comparison_words(pairs)
    assert words == ["one is ahead of two, by little; on groups they are equal within 5 points."]


def test_the_claim_says_that_a_lead_on_groups_is_small():
    on_problems = ScorerPair("two", "one", "accuracy", EQUALITY)
    on_groups = ScorerPair("two", "one", "group_accuracy", LITTLE_LEAD)
    words = comparison_words([on_problems, on_groups])
    assert words == ["two is ahead of one on groups, by little; on problems they are equal within 5 points."]


def test_the_claim_says_nothing_of_the_size_of_a_large_lead():
    assert comparison_words([make_pair(LARGE_LEAD)]) == ["one is ahead of two."]


def test_a_lead_that_may_be_large_is_not_called_little():
    """40 points with an interval from 2.5 to 77.5 are not little."""
    wide = make_verdict(make_comparison(0.4, SURE, 0.375), SURE)
    assert wide.word == AHEAD
    assert comparison_words([make_pair(wide)]) == ["one is ahead of two."]


def test_two_with_the_same_share_right_are_said_to_have_the_same():
    (sentence,) = comparison_sentences([make_pair(EQUALITY)])
    assert "Both have the same accuracy [−4.0, +4.0], p\u00a0=\u00a01.000: equal within 5 points." in sentence


def test_two_who_answer_nothing_are_not_equal():
    comparison = make_comparison(0.0, 1.0, first_refuses=True, second_refuses=True)
    pair = make_pair(make_verdict(comparison, 1.0))
    assert pair.word == REFUSES
    assert pair.ahead is None
    assert pair.verdict.is_within is False
    sentences = list(comparison_sentences([pair]))
    assert sentences == ["one and two answer nothing, so there is nothing to compare."]


def test_without_a_margin_nothing_is_said_of_one():
    verdict = make_verdict(make_comparison(0.1, SURE), SURE, None)
    (sentence,) = comparison_sentences([make_pair(verdict)])
    assert sentence == "one is ahead of two. one has +10.0 points of accuracy [+6.0, +14.0], p\u00a0<\u00a00.001."


def test_a_test_of_few_units_could_have_seen_nothing():
    resolution = Resolution(0.0, 0.3, 4, 0.25, 0.5, 0.9)
    wide = make_comparison(0.0, 1.0, half_width=0.5)
    few_units = replace(wide, n=4, unit_count=4, resolution=resolution)
    words = could_have_seen(make_verdict(few_units, 1.0))
    assert words == "no gap would have been found, and equality within 5 points cannot be shown with 4 problems"


def test_who_answers_nothing_is_named():
    comparison = make_comparison(0.3, SURE, first_refuses=True)
    pair = make_pair(make_verdict(comparison, SURE), "expected_accuracy")
    (sentence,) = comparison_sentences([pair])
    claim = "By expected accuracy, neither one nor two is ahead."
    assert sentence.startswith(f"{claim} one has +30.0 points of expected accuracy [")
    assert sentence.endswith("one answers nothing, and is never ahead.")
    assert UNKNOWN not in sentence


OTHER_MEASURES = ("expected_accuracy", "consistency")


@pytest.mark.parametrize("measure", OTHER_MEASURES)
@pytest.mark.parametrize(
    ("where", "words"),
    [
        (ABOVE, "one is ahead of two."),
        (BELOW, "two is ahead of one."),
        (WITHIN, "one and two are equal within 5 points."),
        (AT, "no difference between one and two is shown."),
    ],
)
def test_who_is_ahead_is_said_of_every_measure_that_was_asked_for(measure, where, words):
    claim = f"By {name_measure(measure)}, {words}"
    page = make_page(**{measure: where})
    assert comparison_words(page.pairs) == [claim]
    assert page.sentences[0].startswith(claim)
    page_with_accuracy = make_page(**{measure: where, "accuracy": BELOW})
    assert comparison_words(page_with_accuracy.pairs) == [f"two is ahead of one. {claim}"]


def test_by_other_measures_too_nobody_is_ahead_for_abstaining():
    comparison = make_comparison(0.3, SURE, first_refuses=True)
    page = ComparePage({}, {("one", "two", "expected_accuracy"): comparison}, margin=MARGIN)
    assert comparison_words(page.pairs) == ["By expected accuracy, neither one nor two is ahead."]


OFTEN_SILENT = {"first_abstained": 0.0, "second_abstained": 0.283, "first_expected": 0.67, "second_expected": 0.727}
"""Abstentions of the second scorer, and what both get with guesses."""


def test_abstentions_that_make_a_lead_are_named_with_what_guesses_would_get():
    pair = make_pair(make_verdict(make_comparison(0.1, SURE, **OFTEN_SILENT), SURE))
    sentence = "two leaves 28.3\u00a0% of problems undecided and one 0.0\u00a0%, which count as wrong: "
    sentence += "with guesses for these, two has 72.7\u00a0% and one 67.0\u00a0%."
    assert next(comparison_sentences([pair])).endswith(sentence)
    assert comparison_words([pair]) == [f"one is ahead of two. {sentence}"]


def test_abstentions_are_not_named_beside_a_measure_that_counts_them_as_guesses():
    pair = make_pair(make_verdict(make_comparison(0.1, SURE, **OFTEN_SILENT), SURE), "expected_accuracy")
    assert "undecided" not in next(comparison_sentences([pair]))
