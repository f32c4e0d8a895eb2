"""The verdict follows from the rows, and says no more than they do."""

import pytest

from winokit.report.verdict import verdict
from winokit.results import Metric


def row(name: str, value: float, low: float | None = None, high: float | None = None, chance: float | None = None):
    protocol, subset, metric = name.split("/")
    return Metric("d", "m", "s", None, protocol, subset, metric, value=value, n=284, low=low, high=high, chance=chance)


ABOVE = row("accuracy/all/accuracy", 0.7624, 0.735, 0.788, 0.5)
AT = row("accuracy/all/accuracy", 0.514, 0.467, 0.561, 0.5)
BELOW = row("accuracy/all/accuracy", 0.41, 0.37, 0.46, 0.5)
TWINS_ABOVE = row("groups/complete/group_accuracy", 0.5739, 0.518, 0.63, 0.25)
TWINS_AT = row("groups/complete/group_accuracy", 0.28, 0.22, 0.34, 0.25)
TWINS_BELOW = row("groups/complete/group_accuracy", 0.056, 0.028, 0.089, 0.25)
UNLIKELY, LIKELY = row("luck/all/p_chance", 1e-9), row("luck/all/p_chance", 0.41)


def said(*rows: Metric) -> str:
    found = verdict(rows)
    return " ".join([found.word, found.headline, *(point.text for point in found.points)]).replace("\u00a0", " ")


def tone_of(start: str, *rows: Metric) -> str:
    return next(point.tone for point in verdict(rows).points if point.text.replace("\u00a0", " ").startswith(start))


@pytest.mark.parametrize(
    ("rows", "word", "tone"),
    [
        ([ABOVE, TWINS_ABOVE], "Above chance, on twins too", "good"),
        ([ABOVE, TWINS_AT], "Above chance on single problems, not on twins", "bad"),
        ([ABOVE, TWINS_BELOW], "Above chance on single problems, not on twins", "bad"),
        ([ABOVE], "Above chance", "plain"),
        ([ABOVE, LIKELY], "Borderline: the interval excludes chance, the exact test does not", "bad"),
        ([AT, TWINS_ABOVE], "Not distinguishable from chance", "bad"),
        ([BELOW, TWINS_BELOW], "Worse than guessing", "bad"),
        ([row("accuracy/all/accuracy", 0.9), LIKELY], "Not distinguishable from chance", "bad"),
        ([row("accuracy/all/accuracy", 0.9), UNLIKELY], "Above chance", "plain"),
        ([row("accuracy/all/accuracy", 0.9)], "Nothing says whether this beats chance", "plain"),
        ([TWINS_ABOVE], "No accuracy to judge", "plain"),
    ],
)
def test_the_word_follows_intervals_and_not_values(rows, word, tone):
    found = verdict(rows)
    assert (found.word, found.tone) == (word, tone)


def test_the_headline_sets_twins_against_accuracy():
    assert "Of 76.2 points of accuracy (chance: 50), 57.4 survive" in said(ABOVE, TWINS_ABOVE)
    assert "(chance: 25)" in said(ABOVE, TWINS_ABOVE)


def test_a_scorer_at_chance_is_told_that_guessing_gives_as_much():
    text = said(AT, TWINS_AT, LIKELY)
    assert "survive" not in text
    assert "Guessing gives as much." in text
    assert "probability 0.410" in text


def test_twins_below_chance_are_called_what_they_are():
    text = said(AT, TWINS_BELOW, row("dependence/complete/same_option", 0.883, 0.83, 0.92, 0.5))
    assert "below chance: twins tend to get the same answer (88.3 % of groups" in text


def test_an_artifact_baseline_above_chance_counts_against_the_score():
    reached = row("artifacts/part-sent/accuracy", 0.6312, 0.6, 0.66, 0.5)
    silent = row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5)
    text = said(ABOVE, reached, silent)
    assert "the clause of the blank alone (part-sent) reaches 63.1 %" in text
    assert "that is 50 % of what the score has above chance" in text
    assert "no-cands" not in text
    assert tone_of("The text need not", ABOVE, reached) == "bad"


def test_artifact_baselines_at_chance_speak_for_the_score_only_if_it_is_above_chance():
    silent = row("artifacts/no-cands/accuracy", 0.52, 0.48, 0.56, 0.5)
    assert tone_of("No artifact baseline is above chance", ABOVE, silent) == "good"
    assert "can say little about a scorer that is at chance itself" in said(AT, silent)


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [(0.9, 0.85, 0.95, "."), (0.52, 0.45, 0.6, ". A coin would follow as often."), (0.2, 0.1, 0.3, "more often.")],
)
def test_consistency_is_held_against_a_coin(value, low, high, words):
    text = said(ABOVE, row("switching/switchable/consistency", value, low, high, 0.5))
    assert f"the answer follows in {100 * value:.1f} % of 284 problems" in text
    assert text.endswith(words)


def test_subsets_are_called_different_only_where_intervals_part():
    wide = [row("association/associative/accuracy", 0.8, 0.6, 0.95, 0.5)]
    narrow = [row("association/associative/accuracy", 0.9, 0.85, 0.95, 0.5)]
    rest = row("association/non_associative/accuracy", 0.7, 0.66, 0.74, 0.5)
    assert "the intervals overlap" in said(ABOVE, *wide, rest)
    assert "Word association carries part of the score" in said(ABOVE, *narrow, rest)


def test_easier_single_problems_are_pointed_out():
    single = row("groups/single/accuracy", 0.823, 0.795, 0.85, 0.5)
    grouped = row("groups/grouped/accuracy", 0.688, 0.643, 0.736, 0.5)
    assert "Problems without a twin are easier (82.3 % against 68.8 %)" in said(ABOVE, single, grouped)
    assert "without a twin" not in said(ABOVE, grouped, row("groups/single/accuracy", 0.70, 0.65, 0.75, 0.5))


def test_order_of_candidates_and_abstentions_are_told_where_they_matter():
    assert "the order in which" not in said(ABOVE, row("position/all/order_invariance", 1.0))
    assert "In 3.0 % of problems the order in which" in said(ABOVE, row("position/all/order_invariance", 0.97))
    assert "not answered" not in said(ABOVE, row("accuracy/all/abstained", 0.0))
    assert "12.0 % of problems were not answered" in said(ABOVE, row("accuracy/all/abstained", 0.12))


def test_gender_differences_keep_their_sign():
    text = said(ABOVE, row("gender/female/delta", 0.042, -0.03, 0.11), row("gender/male/delta", -0.175, -0.26, -0.09))
    assert "ΔF +4.2 and ΔM −17.5" in text


def test_a_score_that_needs_more_problems_is_told_how_many():
    assert "would take about 9,000 problems" in said(AT, LIKELY, row("luck/all/n_to_beat_chance", 9000))
    assert "would take" not in said(ABOVE, UNLIKELY, row("luck/all/n_to_beat_chance", 26))
