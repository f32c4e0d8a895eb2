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


def row(place, subset="tested", metric="accuracy", protocol="accuracy", chance=0.5, **details):
    low, high = ENDS[place]
    return Metric("d", "m", "s", "s", protocol, subset, metric, 0.55, 40, low, high, chance, details=details)


def fits(text, place):
    """Whether a text's words fit where it says something stands."""
    told = text.replace("\u00a0", " ").casefold()
    above = re.search(r"(?<!not )\babove chance", told) and "no arm is above" not in told
    return {
        ABOVE: bool(above) and "below" not in told and "indistinguishable" not in told,
        AT: not above and ("indistinguishable from" in told or "no arm is above" in told or "no test set" in told),
        BELOW: "below" in told and not above,
        UNKNOWN: not above and "below" not in told,
    }[place]


@pytest.mark.parametrize("name", TABLES)
def test_every_combination_of_facts_has_a_case_and_every_case_a_combination(name):
    table = TABLES[name]
    cases = [table.decide(state) for state in states_of(table)]
    assert set(map(id, cases)) == set(map(id, table.cases))
    assert {case.tone for case in cases} <= {GOOD, BAD, PLAIN}


@pytest.mark.parametrize("name", TABLES)
def test_no_word_claims_what_its_facts_deny(name):
    table = TABLES[name]
    for state in states_of(table):
        word = table.decide(state).word
        scored = state.get("test", state.get("cells", state.get("end")))
        if re.search(r"above chance on every|every arm is above", word.casefold()):
            assert scored == ABOVE, (word, state)
        if "above chance on some" in word or "Some arms" in word:
            assert scored == MIXED, (word, state)
        if re.search("on no test set|no arm|none ends above", word.casefold()):
            assert scored in (AT, BELOW), (word, state)
        if "elow chance on every" in word:
            assert scored == BELOW, (word, state)
        if ("helps" in word and "Whether" not in word) or "Every line rises" in word:
            assert state["growth"] == ABOVE or "to say whether" in word, (word, state)
        if "depends on the seed" in word:
            assert state["seeds"] == "disagree", (word, state)
        if table.decide(state).tone == GOOD:
            assert state.get("signs") != "yes"
            assert state.get("degenerate") != "all"
            assert state.get("guessers", ABOVE) == ABOVE
            assert scored in (ABOVE, UNKNOWN)
        assert "learned" not in word


def test_several_places_are_said_as_what_all_of_them_are():
    assert [together(places) for places in ([ABOVE, ABOVE], [ABOVE, BELOW], [AT, BELOW], [BELOW], [UNKNOWN], [])] == [
        *(ABOVE, MIXED, AT, BELOW, UNKNOWN, UNKNOWN)
    ]
    assert {together(places) for places in product(ENDS, repeat=3)} == set(SEVERAL)


def test_a_training_page_never_contradicts_itself():
    sign = "the training loss ended at 1.037, not below that of guessing, 0.693"
    for (dev, first, second, whole), warnings in product(product(ENDS, repeat=4), ([], [sign])):
        rows = [row(dev, "dev"), row(first, "one"), row(second, "two"), row(whole, "one", "group_accuracy", "groups")]
        found = train_page.verdict_of_training(rows, warnings, CURVE, 0)
        state = train_page.state_of(rows, warnings)
        assert found.word == train_page.TRAIN.decide(state).word
        claimed = {f"{one.subset}/{one.metric}": standing(one) for one in rows}
        for point in found.points:
            ((fact, value),) = point.claims.items()
            assert value == {**claimed, **state}[fact]
            assert fact not in claimed or fits(point.text, value), point
        text = " ".join([found.word, found.headline, *(point.text for point in found.points)])
        assert "learned" not in text
        assert "nothing" not in text


def test_a_set_is_held_against_what_the_models_own_preferences_would_get():
    lazy = row(ABOVE, "one", null=0.54, p=0.4)
    assert standing(lazy) == AT
    found = train_page.verdict_of_training([lazy], [], CURVE, 0)
    assert "indistinguishable from chance (54.0)" in found.points[0].text


def test_a_set_whose_right_answer_is_always_in_one_place_tells_nothing():
    fixed = replace(row(ABOVE, "one", null=0.55, in_one_place=True), note="always in one place")
    found = train_page.verdict_of_training([fixed], [], CURVE, 0)
    assert found.word == "Nothing can be told: the right answer is always in one place"
    assert found.points[0].text.endswith("always in one place.")


def test_choices_that_get_as_much_wherever_right_answers_are_are_at_chance():
    """As of a model that always chooses alike: it has an interval, but nothing that could change."""
    alike = row(AT, "one", null=0.55)
    assert standing(alike) == AT
    assert standing(replace(alike, metric="group_accuracy")) == UNKNOWN
    assert standing(replace(alike, details={**alike.details, "in_one_place": True})) == UNKNOWN


def test_a_model_that_always_chooses_alike_is_scored_and_has_an_interval():
    alike = [row(AT, "dev", null=0.55), row(AT, "dev", metric="group_accuracy", null=0.55)]
    found = train_page.verdict_of_training(alike, [], CURVE, 0)
    assert found.word == "Indistinguishable from chance on the dev set"
    for point in found.points:
        assert point.text.endswith("which its choices get wherever the right answers are.")


SLOPES = {ABOVE: (4.0, 0.01, 4), AT: (1.0, 1.0, 4), BELOW: (-4.0, 0.01, 4), UNKNOWN: (1.0, float("inf"), 0)}


P_SEEDS = {"agree": None, "not_shown": 0.5, "disagree": 0.001}


def series(growth, end, restarts, seeds="agree"):
    slope, variance, degrees = SLOPES[growth]
    fit = LogFit(slope, 30.0, 6, 5.0, (0.1, 0.0, variance), degrees)
    low, high = ENDS[end]
    turn = [slope] + [slope if seeds == "agree" else -slope] * (restarts - 1)
    levels = tuple(
        CurveLevel(
            size,
            (size,) * restarts,
            tuple(0.5 + 0.01 * step * way for way in turn),
            Metric("d", "m", "s", "s", "curve", "640", "accuracy", 0.5, 40, low, high, 0.5),
        )
        for step, size in enumerate((160, 640))
    )
    slopes = tuple(turn) if restarts > 1 else ()
    made = CurveSeries("d", "mc", "accuracy", levels, fit, (160, 640), p_seeds=P_SEEDS[seeds], restart_slopes=slopes)
    return replace(made, reach=reach_of(made, fit, 94.0))


@pytest.mark.parametrize(("growth", "end"), list(product(SLOPES, ENDS)))
@pytest.mark.parametrize("kind", [(1, "agree"), (3, "agree"), (3, "not_shown"), (3, "disagree")])
def test_a_curves_page_never_contradicts_itself(growth, end, kind):
    one = series(growth, end, *kind)
    state = curve_page.state_of([one])
    assert state == {"growth": growth, "end": end, "seeds": "one" if kind[0] == 1 else kind[1]}
    found = curve_page.verdict_of_curve([one])
    for point in found.points:
        ((fact, value),) = point.claims.items()
        assert value == state[fact.rpartition("/")[2]]
        if fact.endswith("end"):
            assert fits(point.text, value), point
        if "the gain may be zero" in point.text:
            assert growth == AT
        if "if the trend continued" in point.text:
            assert growth == ABOVE
    assert ("Restarts disagree" in found.headline) == (kind[1] == "disagree")
    assert ("depends on the seed" in found.word) == (kind[1] == "disagree" and growth == AT)


@pytest.mark.parametrize("gap", [ABOVE, AT, BELOW, None])
@pytest.mark.parametrize("warnings", [(), ("a loss that did not fall",)])
def test_a_transfers_page_never_contradicts_itself(gap, warnings):
    gaps = [] if gap is None else [row(gap, "female", "delta", "gender")]
    for *places, whole in product(ENDS, repeat=4):
        named = zip((("a", "x"), ("b", "x"), ("a", "y")), places, strict=True)
        cells = [TransferCell(arm, test, (row(place, "all"), *gaps)) for (arm, test), place in named]
        cells[0] = TransferCell("a", "x", (*cells[0].rows, row(whole, "complete", "group_accuracy", "groups")))
        tests = [SimpleNamespace(name="x"), SimpleNamespace(name="y")]
        found = SimpleNamespace(cells=cells, tests=tests, warnings=warnings)
        verdict = transfer_page.verdict_of_transfer(found)
        state = transfer_page.state_of(found)
        assert ("gender" in verdict.word) == (gap in (ABOVE, BELOW))
        assert verdict.tone != GOOD or (whole in (ABOVE, UNKNOWN) and not warnings and gap in (AT, None))
        claimed = {"x/cells": together(places[:2]), "y/cells": places[2], "x/groups": whole}
        for point in verdict.points:
            ((fact, value),) = point.claims.items()
            assert value == {**claimed, **state}[fact]
            assert fact == "gap" or value == MIXED or fits(point.text, value), point
        assert f"{sum(place == ABOVE for place in places)} " in verdict.headline


def searched(state):
    """A search of which these facts are true."""
    places = [ABOVE, BELOW] if state["test"] == MIXED else [state["test"]]
    low, high = ENDS[state["corrected"]]
    rows = {f"t{at}": row(place, f"t{at}") for at, place in enumerate(places)}
    overall = SimpleNamespace(
        trials=9, best=0.7, level=0.5, guessing=0.6, equal=0.65, corrected=low, low=low, high=high
    )
    for fact, name in (("guessers", "p_guessing"), ("equals", "p_equal")):
        setattr(overall, name, 0.01 if state[fact] == ABOVE else 0.4)
    best = SimpleNamespace(formalization="mc", chosen=SimpleNamespace(number=1), spread=None)
    best.degenerate = {"none": 0, "some": 3, "all": 9}[state["degenerate"]]
    best.score = lambda _, name: rows[name]
    tests = {name: SimpleNamespace(card=SimpleNamespace(name=name)) for name in rows}
    return SimpleNamespace(overall=overall, best=best, found=[best], trials=[0] * 9, tests=tests), rows


def test_a_searchs_page_never_contradicts_itself():
    for state in states_of(search_page.SEARCH):
        found, rows = searched(state)
        assert search_page.state_of(found) == state
        verdict = search_page.verdict_of_search(found)
        claimed = {f"{name}/test": standing(one) for name, one in rows.items()}
        for point in verdict.points:
            ((fact, value),) = point.claims.items()
            assert value == {**claimed, **state}[fact]
            assert fact not in claimed or fits(point.text, value), point
        text = " ".join(point.text for point in verdict.points)
        assert ("ahead by more than that" in text) == (state["equals"] == ABOVE)
        assert ("depends on settings and seed" in text) == (state["degenerate"] == "some")


def test_rows_of_one_verdict_share_its_level():
    row = Metric("d", "m", "s", "s", "accuracy", "all", "accuracy", 0.56, 500, 0.51, 0.61, 0.5, details={"p": 0.02})
    assert standing(row) == "above"
    assert standing(row, among=2) == "at"
    assert standing(replace(row, value=0.44, details={"p": 0.001}), among=2) == "below"
