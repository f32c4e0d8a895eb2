"""Every combination of facts has a case, and no headline or finding of a trained page says what another denies."""

import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
from support.verdicts import states_of

from winokit.drawing.decision import BAD, GOOD, MIXED, PLAIN, SEVERAL, standing, together
from winokit.methods.metrics.curve import LogFit
from winokit.methods.metrics.judge_curves import CurveLevel, CurveSeries, reach_of
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric
from winokit.stages.curve import verdict as curve_page
from winokit.stages.search import verdict as search_page
from winokit.stages.train import verdict as train_page
from winokit.stages.transfer import verdict as transfer_page
from winokit.stages.transfer.run import TransferCell

TABLES = {
    "train": train_page.TRAIN,
    "curve": curve_page.CURVE,
    "transfer": transfer_page.TRANSFER,
    "search": search_page.SEARCH,
}
ENDS = {ABOVE: (0.6, 0.8), AT: (0.4, 0.7), BELOW: (0.1, 0.3), UNKNOWN: (None, None)}
CURVE = {"steps": 10, "examples": 5, "seconds": 1.0, "stopped_early": False, "kept_step": 5, "dev": [1]}


def make_row(standing, subset="tested", metric="accuracy", protocol="accuracy", chance=0.5, **details):
    """Make the row of a score with the interval of this standing against chance."""
    low, high = ENDS[standing]
    return Metric("d", "m", "s", "s", protocol, subset, metric, 0.55, 40, low, high, chance, details=details)


def fits_standing(text, standing):
    """Whether the words of a text fit a standing against chance."""
    words = text.replace("\u00a0", " ").casefold()
    no_arm_is_above = "no arm is above" in words
    is_below = "below" in words
    is_above = bool(re.search(r"(?<!not )\babove chance", words)) and not no_arm_is_above
    is_at = "indistinguishable from" in words or no_arm_is_above or "no test set" in words
    if standing == ABOVE:
        return is_above and not is_below and "indistinguishable" not in words
    if standing == AT:
        return is_at and not is_above
    if standing == BELOW:
        return is_below and not is_above
    return not is_above and not is_below


def check_point(point, claims, standings):
    """Fail if a point's claim is not that of the facts, or its text does not fit the standing of its score."""
    ((fact, value),) = point.claims.items()
    assert value == claims[fact]
    if fact in standings:
        assert fits_standing(point.text, value), point


@pytest.mark.parametrize("name", TABLES)
def test_every_combination_of_facts_has_a_case_and_every_case_a_combination(name):
    table = TABLES[name]
    cases = [table.decide(state) for state in states_of(table)]
    assert set(map(id, cases)) == set(map(id, table.cases))
    assert {case.tone for case in cases} <= {GOOD, BAD, PLAIN}


def score_fact(state):
    """Standing against chance of the scores that a page is about."""
    return state.get("test", state.get("cells", state.get("end")))


CLAIMS_ABOUT_SCORES = {
    "above chance on every|every arm is above": {ABOVE},
    "above chance on some|some arms": {MIXED},
    "on no test set|no arm|none ends above": {AT, BELOW},
    "below chance on every": {BELOW},
}
"""Ways in which scores may stand where the word of a verdict matches."""


@pytest.mark.parametrize("name", TABLES)
def test_no_word_claims_what_its_facts_deny(name):
    table = TABLES[name]
    for state in states_of(table):
        word = table.decide(state).word
        for pattern, standings in CLAIMS_ABOUT_SCORES.items():
            if re.search(pattern, word.casefold()):
                assert score_fact(state) in standings, (word, state)
        claims_growth = "helps" in word and "Whether" not in word
        if claims_growth or "Every line rises" in word:
            assert state["growth"] == ABOVE or "to say whether" in word, (word, state)
        if "depends on the seed" in word:
            assert state["seeds"] == "disagree", (word, state)
        assert "learned" not in word


@pytest.mark.parametrize("name", TABLES)
def test_no_tone_is_good_where_a_fact_denies_it(name):
    table = TABLES[name]
    for state in states_of(table):
        if table.decide(state).tone == GOOD:
            assert state.get("signs") != "yes"
            assert state.get("degenerate") != "all"
            assert state.get("guessers", ABOVE) == ABOVE
            assert score_fact(state) in (ABOVE, UNKNOWN)


@pytest.mark.parametrize(
    ("standings", "expected"),
    [
        ([ABOVE, ABOVE], ABOVE),
        ([ABOVE, BELOW], MIXED),
        ([AT, BELOW], AT),
        ([BELOW], BELOW),
        ([UNKNOWN], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_several_standings_are_said_as_what_all_of_them_are(standings, expected):
    assert together(standings) == expected


def test_several_standings_are_one_of_the_facts_there_are():
    facts = {together(standings) for standings in product(ENDS, repeat=3)}
    assert facts == set(SEVERAL)


@pytest.mark.parametrize("warnings", [(), ("the training loss ended at 1.037, not below that of guessing, 0.693",)])
def test_a_training_page_never_contradicts_itself(warnings):
    for dev, first, second, groups in product(ENDS, repeat=4):
        rows = [
            make_row(dev, "dev"),
            make_row(first, "one"),
            make_row(second, "two"),
            make_row(groups, "one", "group_accuracy", "groups"),
        ]
        verdict = train_page.verdict_of_training(rows, warnings, CURVE, 0)
        state = train_page.state_of(rows, warnings)
        standings = {}
        for row in rows:
            standings[f"{row.subset}/{row.metric}"] = standing(row)
        assert verdict.word == train_page.TRAIN.decide(state).word
        for point in verdict.points:
            check_point(point, {**standings, **state}, standings)
        findings = [point.text for point in verdict.points]
        text = " ".join([verdict.word, verdict.headline, *findings])
        assert "learned" not in text
        assert "nothing" not in text


def judge_training(rows):
    """The verdict on a training without warnings."""
    return train_page.verdict_of_training(rows, [], CURVE, 0)


def test_a_set_is_held_against_what_the_models_own_preferences_would_get():
    lazy = make_row(ABOVE, "one", null=0.54, p=0.4)
    verdict = judge_training([lazy])
    assert standing(lazy) == AT
    assert "indistinguishable from chance (54.0)" in verdict.points[0].text


def test_a_set_whose_right_answer_is_always_in_one_place_tells_nothing():
    row = make_row(ABOVE, "one", null=0.55, in_one_place=True)
    verdict = judge_training([replace(row, note="always in one place")])
    assert verdict.word == "Nothing can be told: the right answer is always in one place"
    assert verdict.points[0].text.endswith("always in one place.")


def test_choices_that_get_as_much_wherever_right_answers_are_are_at_chance():
    """As of a model that always chooses alike: it has an interval, but nothing that could change."""
    alike = make_row(AT, "one", null=0.55)
    of_groups = replace(alike, metric="group_accuracy")
    in_one_place = replace(alike, details={**alike.details, "in_one_place": True})
    assert standing(alike) == AT
    assert standing(of_groups) == UNKNOWN
    assert standing(in_one_place) == UNKNOWN


def test_a_model_that_always_chooses_alike_is_scored_and_has_an_interval():
    single = make_row(AT, "dev", null=0.55)
    group = make_row(AT, "dev", metric="group_accuracy", null=0.55)
    verdict = judge_training([single, group])
    assert verdict.word == "Indistinguishable from chance on the dev set"
    for point in verdict.points:
        assert point.text.endswith("which its choices get wherever the right answers are.")


SLOPES = {ABOVE: (4.0, 0.01, 4), AT: (1.0, 1.0, 4), BELOW: (-4.0, 0.01, 4), UNKNOWN: (1.0, float("inf"), 0)}
"""The slope of a line, its variance, and its degrees of freedom."""
P_SEEDS = {"agree": None, "not_shown": 0.5, "disagree": 0.001}


def make_level(size, step, slopes, end):
    """Make the scores of all restarts at one size, whose mean has this standing against chance."""
    low, high = ENDS[end]
    mean = Metric("d", "m", "s", "s", "curve", "640", "accuracy", 0.5, 40, low, high, 0.5)
    values = tuple(0.5 + 0.01 * step * slope for slope in slopes)
    return CurveLevel(size, (size,) * len(slopes), values, mean)


def make_series(growth, end, restarts, seeds="agree"):
    """Make a curve with these facts: growth of its line, standing of its last size, agreement of restarts."""
    slope, variance, degrees = SLOPES[growth]
    fit = LogFit(slope, 30.0, 6, 5.0, (0.1, 0.0, variance), degrees)
    other_slope = slope if seeds == "agree" else -slope
    slopes = (slope, *[other_slope] * (restarts - 1))
    levels = (make_level(160, 0, slopes, end), make_level(640, 1, slopes, end))
    restart_slopes = slopes if restarts > 1 else ()
    series = CurveSeries(
        "d", "mc", "accuracy", levels, fit, (160, 640), p_seeds=P_SEEDS[seeds], restart_slopes=restart_slopes
    )
    return replace(series, reach=reach_of(series, fit, 94.0))


@pytest.mark.parametrize(("growth", "end"), list(product(SLOPES, ENDS)))
@pytest.mark.parametrize(
    ("restarts", "seeds", "seed_fact"),
    [(1, "agree", "one"), (3, "agree", "agree"), (3, "not_shown", "not_shown"), (3, "disagree", "disagree")],
)
def test_a_curves_page_never_contradicts_itself(growth, end, restarts, seeds, seed_fact):
    series = make_series(growth, end, restarts, seeds)
    state = curve_page.state_of([series])
    verdict = curve_page.verdict_of_curve([series])
    disagree = seeds == "disagree"
    assert state == {"growth": growth, "end": end, "seeds": seed_fact}
    for point in verdict.points:
        ((fact, value),) = point.claims.items()
        _, _, kind_of_fact = fact.rpartition("/")
        assert value == state[kind_of_fact]
        if fact.endswith("end"):
            assert fits_standing(point.text, value), point
        if "the gain may be zero" in point.text:
            assert growth == AT
        if "if the trend continued" in point.text:
            assert growth == ABOVE
    assert ("Restarts disagree" in verdict.headline) == disagree
    assert ("depends on the seed" in verdict.word) == (disagree and growth == AT)


def make_transfer(standings, group_standing, gap, warnings):
    """Make a transfer of two arms to the test set x, and of the first to the test set y too."""
    gap_rows = () if gap is None else (make_row(gap, "female", "delta", "gender"),)
    group_row = make_row(group_standing, "complete", "group_accuracy", "groups")
    x_of_a, x_of_b, y_of_a = [make_row(cell_standing, "all") for cell_standing in standings]
    cells = [
        TransferCell("a", "x", (x_of_a, *gap_rows, group_row)),
        TransferCell("b", "x", (x_of_b, *gap_rows)),
        TransferCell("a", "y", (y_of_a, *gap_rows)),
    ]
    tests = [SimpleNamespace(name="x"), SimpleNamespace(name="y")]
    return SimpleNamespace(cells=cells, tests=tests, warnings=warnings)


@pytest.mark.parametrize("gap", [ABOVE, AT, BELOW, None])
@pytest.mark.parametrize("warnings", [(), ("a loss that did not fall",)])
def test_a_transfers_page_never_contradicts_itself(gap, warnings):
    for *standings, group_standing in product(ENDS, repeat=4):
        transfer = make_transfer(standings, group_standing, gap, warnings)
        verdict = transfer_page.verdict_of_transfer(transfer)
        state = transfer_page.state_of(transfer)
        assert ("gender" in verdict.word) == (gap in (ABOVE, BELOW))
        if verdict.tone == GOOD:
            assert group_standing in (ABOVE, UNKNOWN)
            assert gap in (AT, None)
            assert not warnings
        both_of_x = together(standings[:2])
        scores = {"x/cells": both_of_x, "y/cells": standings[2], "x/groups": group_standing}
        claims = {**scores, **state}
        for point in verdict.points:
            ((fact, value),) = point.claims.items()
            assert value == claims[fact]
            if fact != "gap" and value != MIXED:
                assert fits_standing(point.text, value), point
        assert f"{standings.count(ABOVE)} " in verdict.headline


P_OF_LUCK = {ABOVE: 0.01, AT: 0.4}
"""The p-value of the best trial, by how it stands against as many guessers or equals."""


def make_luck(state):
    """Make the comparison of the best trial with luck for which these facts are true."""
    low, high = ENDS[state["corrected"]]
    return SimpleNamespace(
        trials=9,
        best=0.7,
        level=0.5,
        guessing=0.6,
        equal=0.65,
        corrected=low,
        low=low,
        high=high,
        p_guessing=P_OF_LUCK[state["guessers"]],
        p_equal=P_OF_LUCK[state["equals"]],
    )


def make_search(state):
    """Make a search of which these facts are true, and return it with its rows by test set."""
    standings = [ABOVE, BELOW] if state["test"] == MIXED else [state["test"]]
    rows = {}
    tests = {}
    for index, test_standing in enumerate(standings):
        name = f"t{index}"
        rows[name] = make_row(test_standing, name)
        tests[name] = SimpleNamespace(card=SimpleNamespace(name=name))
    degenerate_count = {"none": 0, "some": 3, "all": 9}[state["degenerate"]]
    best = SimpleNamespace(
        formalization="mc",
        chosen=SimpleNamespace(number=1),
        spread=None,
        degenerate=degenerate_count,
        score=lambda _, name: rows[name],
    )
    search = SimpleNamespace(overall=make_luck(state), best=best, found=[best], trials=[0] * 9, tests=tests)
    return search, rows


def test_a_searchs_page_never_contradicts_itself():
    for state in states_of(search_page.SEARCH):
        search, rows = make_search(state)
        verdict = search_page.verdict_of_search(search)
        text = " ".join(point.text for point in verdict.points)
        standings = {}
        for name, row in rows.items():
            standings[f"{name}/test"] = standing(row)
        assert search_page.state_of(search) == state
        for point in verdict.points:
            check_point(point, {**standings, **state}, standings)
        assert ("ahead by more than that" in text) == (state["equals"] == ABOVE)
        assert ("depends on settings and seed" in text) == (state["degenerate"] == "some")


def test_rows_of_one_verdict_share_its_level():
    row = Metric("d", "m", "s", "s", "accuracy", "all", "accuracy", 0.56, 500, 0.51, 0.61, 0.5, details={"p": 0.02})
    row_below = replace(row, value=0.44, details={"p": 0.001})
    assert standing(row) == "above"
    assert standing(row, among=2) == "at"
    assert standing(row_below, among=2) == "below"
