"""What is said of two scorers follows from their tests: every state of the table is enumerated."""

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
MEASURES = ("accuracy", "group_accuracy")


def compared(difference: float, p: float, half: float = 0.04, **more) -> Comparison:
    interval = Interval(difference - half, difference + half, 0.95, "")
    narrow = Interval(difference - 0.8 * half, difference + 0.8 * half, 0.9, "")
    resolution = Resolution(difference, half / 2, 100, 0.01, 0.8 * half, 0.9)
    shares = (0.5 + difference / 2, 0.5 - difference / 2)
    return Comparison(difference, interval, p, 9, 8, 100, 50, *shares, narrow, 50, resolution, **more)


def pair_of(measure: str, where: str) -> dict[tuple[str, str, str], Comparison]:
    """A test that has the first scorer there."""
    kinds = {
        ABOVE: compared(0.1, SURE),
        BELOW: compared(-0.1, SURE),
        AT: compared(0.02, UNSURE, half=0.08),
        WITHIN: compared(0.001, UNSURE),
    }
    return {("one", "two", measure): kinds[where]} if where in kinds else {}


def judged(found: Comparison, p: float, margin: float | None = 0.05) -> PairVerdict:
    return PairVerdict(found, p, margin, 0.05)


def test_every_state_has_one_deciding_case_and_every_case_decides_some_state():
    deciding = [COMPARED.decide(state) for state in states_of(COMPARED)]
    assert all(case in deciding for case in COMPARED.cases)


@pytest.mark.parametrize("state", list(states_of(COMPARED)), ids=lambda state: "-".join(state.values()))
def test_of_two_scorers_only_that_is_said_which_their_tests_say(state):
    comparisons = {name: found for fact, where in state.items() for name, found in pair_of(fact, where).items()}
    page = ComparePage({}, comparisons, margin=MARGIN)
    assert state_of({pair.measure: pair for pair in page.pairs}) == state
    if not comparisons:
        assert page.sentences == []
        return
    sentence, *correction = page.sentences
    claim, *_ = sentence.split(". ")
    apart = [measure for measure in MEASURES if state[measure] in (ABOVE, BELOW)]
    equal = [measure for measure in MEASURES if state[measure] == WITHIN]
    leaders = {ABOVE: "one", BELOW: "two"}
    assert ("ahead" in claim) is bool(apart)
    for measure in apart:
        assert leaders[state[measure]] in claim
    for name, where in (("one", ABOVE), ("two", BELOW)):
        if claim.startswith(f"{name} is ahead"):
            assert where in state.values()
            assert where == state["accuracy"] or "on groups" in claim
    assert ("equal within 5 points" in claim) is bool(equal)
    both_alike = state["accuracy"] == state["group_accuracy"] in (ABOVE, BELOW, WITHIN)
    assert ("on whole groups too" in claim) is both_alike
    is_open = AT in state.values() and not apart and not equal
    assert claim.startswith("No difference") is is_open
    for fact, where in state.items():
        for found in pair_of(fact, where).values():
            assert f"{100 * abs(found.difference):.1f} points of {fact.replace('_', ' ')} [" in sentence
    assert correction == ["p-values are corrected for 2 tests."] * (len(comparisons) - 1)
    assert ("would usually have been missed" in sentence) is (AT in state.values())


def test_a_pair_is_ahead_only_with_a_corrected_p_value():
    found = compared(0.1, SURE)
    assert ScorerPair("one", "two", "accuracy", judged(found, 0.049)).ahead == "one"
    assert ScorerPair("one", "two", "accuracy", judged(found, 0.05)).ahead is None


def test_equality_goes_by_the_narrow_interval():
    """Two one-sided tests at 5 %: the interval of 90 % is inside the margin, that of 95 % is not."""
    assert judged(compared(0.0, 1.0, half=0.055), 1.0).word == EQUAL
    assert judged(compared(0.0, 1.0, half=0.065), 1.0).word == NOT_SHOWN


def test_a_small_lead_is_said_to_be_below_the_margin_only_if_that_is_shown():
    (small,) = comparison_sentences([ScorerPair("one", "two", "accuracy", judged(compared(0.01, SURE, 0.005), SURE))])
    assert small.endswith(": less than 5 points.")
    (wide,) = comparison_sentences([ScorerPair("one", "two", "accuracy", judged(compared(0.05, SURE, 0.045), SURE))])
    assert wide.endswith(": not shown to be more than 5 points.")
    (large,) = comparison_sentences([ScorerPair("one", "two", "accuracy", judged(compared(0.1, SURE), SURE))])
    assert large.endswith(": more than 5 points.")


def test_the_claim_says_that_a_lead_is_small():
    """Of several pairs of models a terminal shows the claims alone."""
    little = judged(compared(0.03, SURE, 0.02), SURE)
    large = judged(compared(0.1, SURE), SURE)
    groups = judged(compared(0.0, 1.0), 1.0)
    pairs = [ScorerPair("one", "two", "accuracy", little), ScorerPair("one", "two", "group_accuracy", groups)]
    assert comparison_words(pairs) == ["one is ahead of two, by little; on groups they are equal within 5 points."]
    on_groups = [ScorerPair("two", "one", "accuracy", groups), ScorerPair("two", "one", "group_accuracy", little)]
    assert comparison_words(on_groups) == [
        "two is ahead of one on groups, by little; on problems they are equal within 5 points."
    ]
    assert comparison_words([ScorerPair("one", "two", "accuracy", large)]) == ["one is ahead of two."]


def test_a_lead_that_may_be_large_is_not_called_little():
    """40 points with an interval from 2.5 to 77.5 are not little."""
    wide = judged(compared(0.4, SURE, 0.375), SURE)
    assert wide.word == AHEAD
    assert comparison_words([ScorerPair("one", "two", "accuracy", wide)]) == ["one is ahead of two."]


def test_two_with_the_same_share_right_are_said_to_have_the_same():
    (sentence,) = comparison_sentences([ScorerPair("one", "two", "accuracy", judged(compared(0.0, 1.0), 1.0))])
    assert "Both have the same accuracy [−4.0, +4.0], p\u00a0=\u00a01.000: equal within 5 points." in sentence


def test_two_who_answer_nothing_are_not_equal():
    found = compared(0.0, 1.0, first_refuses=True, second_refuses=True)
    pair = ScorerPair("one", "two", "accuracy", judged(found, 1.0))
    assert (pair.word, pair.ahead, pair.verdict.is_within) == (REFUSES, None, False)
    assert list(comparison_sentences([pair])) == ["one and two answer nothing, so there is nothing to compare."]


def test_without_a_margin_nothing_is_said_of_one():
    pairs = [ScorerPair("one", "two", "accuracy", judged(compared(0.1, SURE), SURE, None))]
    (sentence,) = comparison_sentences(pairs)
    assert sentence == "one is ahead of two. one has +10.0 points of accuracy [+6.0, +14.0], p\u00a0<\u00a00.001."


def test_a_test_of_few_units_could_have_seen_nothing():
    resolution = Resolution(0.0, 0.3, 4, 0.25, 0.5, 0.9)
    few = replace(compared(0.0, 1.0, half=0.5), n=4, unit_count=4, resolution=resolution)
    seen = could_have_seen(judged(few, 1.0))
    assert seen == "no gap would have been found, and equality within 5 points cannot be shown with 4 problems"


def test_who_answers_nothing_is_named():
    found = compared(0.3, SURE, first_refuses=True)
    (sentence,) = comparison_sentences([ScorerPair("one", "two", "expected_accuracy", judged(found, SURE))])
    assert sentence.startswith(
        "By expected accuracy, neither one nor two is ahead. one has +30.0 points of expected accuracy ["
    )
    assert sentence.endswith("one answers nothing, and is never ahead.")
    assert UNKNOWN not in sentence


OTHER_MEASURES = ("expected_accuracy", "consistency")


@pytest.mark.parametrize("measure", OTHER_MEASURES)
@pytest.mark.parametrize(
    ("where", "said"),
    [
        (ABOVE, "one is ahead of two."),
        (BELOW, "two is ahead of one."),
        (WITHIN, "one and two are equal within 5 points."),
        (AT, "no difference between one and two is shown."),
    ],
)
def test_who_is_ahead_is_said_of_every_measure_that_was_asked_for(measure, where, said):
    claim = f"By {measure.replace('_', ' ')}, {said}"
    alone = ComparePage({}, pair_of(measure, where), margin=MARGIN)
    assert comparison_words(alone.pairs) == [claim]
    assert alone.sentences[0].startswith(claim)
    beside = ComparePage({}, {**pair_of(measure, where), **pair_of("accuracy", BELOW)}, margin=MARGIN)
    assert comparison_words(beside.pairs) == [f"two is ahead of one. {claim}"]


def test_by_other_measures_too_nobody_is_ahead_for_abstaining():
    refuses = {("one", "two", "expected_accuracy"): compared(0.3, SURE, first_refuses=True)}
    page = ComparePage({}, refuses, margin=MARGIN)
    assert comparison_words(page.pairs) == ["By expected accuracy, neither one nor two is ahead."]
