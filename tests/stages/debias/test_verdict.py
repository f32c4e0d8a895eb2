"""The verdict on a filtering, for every combination of facts: a case for each, no success without its test."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.verdicts import states_of

from winokit.data.synthetic import synthetic
from winokit.drawing.decision import GOOD
from winokit.methods.metrics.judge_ranks import BEYOND, UNDECIDED, WITHIN
from winokit.results import ABOVE, AT, BELOW, IN_ONE_PLACE, NULL, UNKNOWN, Metric, P
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.filtering import Debiased
from winokit.stages.debias.run import debias
from winokit.stages.debias.verdict import (
    AGREE,
    DIFFER,
    FACTS,
    NONE,
    NOT_RUN,
    ONE,
    SOME,
    TABLE,
    state_of,
    verdict_of,
    word_of,
)

SUCCESS = ("Less", "none is found")
PROBES = {ABOVE: (0.6, 0.001), AT: (0.6, 0.04), BELOW: (0.4, 0.001), UNKNOWN: (0.6, None)}
"""The accuracy of a probe, and its p-value under the null; none if all right answers are in one place."""
P_VALUES = {BEYOND: (1 / 20, 19), WITHIN: (1 / 3, 3), UNDECIDED: (1 / 6, 5)}


@pytest.fixture(scope="module")
def small() -> Debiased:
    """A small filtering whose rows are replaced below."""
    data = synthetic(20, bias=0.0, seed=1)
    x = np.random.default_rng(0).normal(size=(40, 4))
    features = DebiasFeatures(x.astype(np.float32), "noise", "single")
    return debias(data, "aflite", features=features, null_runs=1, seeds=2, compare=())


def make_row(subset, metric, value, n, low=None, high=None, chance=None) -> Metric:
    return Metric("d", "m", "s", None, "debias", subset, metric, value, n, low, high, chance)


def make_probe(subset: str, standing: str) -> Metric:
    """Make the row of a probe with this standing against chance."""
    value, p = PROBES[standing]
    row = make_row(subset, "probe_accuracy", value, 40, value - 0.01, value + 0.01, 0.5)
    return replace(row, details={NULL: 0.5, P: p, IN_ONE_PLACE: p is None})


def make_rows(subset: str, facts: dict[str, str], seed: str = "") -> list[Metric]:
    """Make the rows of an arm that has these facts."""
    groups_split = make_row(subset, "n_groups_split", 0, 20)
    removed_by_chance = make_row(subset, "n_removed_by_chance", 3, 40, 1, 6)
    probe_before = make_probe("all" + seed, facts["before"])
    probe_after = make_probe(subset, facts["after"])
    rows = [groups_split, removed_by_chance, probe_before, probe_after]
    relabelled = facts["relabelled"]
    random = facts["random"]
    if relabelled != NOT_RUN:
        rows.append(make_row(subset, "p_null", *P_VALUES[relabelled]))
    if random != NOT_RUN:
        rows.append(make_row(subset, "p_random_removal", *P_VALUES[random]))
        rows.append(make_row(subset, "random_probe_accuracy", 0.5, 40, 0.4, 0.6, 0.5))
    return rows


def replace_keep(arm, removed: str):
    """Replace what an arm keeps: all problems if `removed` is NONE, else all but the first five."""
    keep = np.ones(40, np.bool_)
    keep[:5] = removed == NONE
    return replace(arm, keep=keep)


def replace_facts(small: Debiased, facts: dict[str, str], other: dict[str, str] | None = None) -> Debiased:
    """Replace the rows of a filtering by those with these facts.

    `other` are the facts of a second seed; with None there is no second seed.
    """
    everything = small.arms[0]
    first = replace_keep(small.seeds[0], facts["removed"])
    metrics = make_rows("aflite", facts)
    if other is None:
        return replace(small, arms=(everything, first), seeds=(first,), metrics=metrics)
    second = replace_keep(small.seeds[1], other["removed"])
    metrics += make_rows("aflite.seed1", other, ".seed1")
    metrics.append(make_row("aflite", "kept_overlap", 0.5, 40, 0, 1, 0.2))
    metrics.append(make_row("aflite", "removed_overlap", 0.5, 40, 0, 1, 0.2))
    return replace(small, arms=(everything, first), seeds=(first, second), metrics=metrics)


STATES = [state for state in states_of(TABLE) if state["seeds"] == ONE]


def test_every_combination_has_a_case_and_every_case_a_combination():
    used_cases = {id(TABLE.decide(state)) for state in states_of(TABLE)}
    all_cases = {id(case) for case in TABLE.cases}
    assert used_cases == all_cases


def is_praised(state: dict[str, str]) -> bool:
    """Whether the word for these facts claims a success."""
    decided_word = TABLE.decide(state).word
    return any(word in decided_word for word in SUCCESS)


def test_no_success_without_its_test():
    praised_states = [state for state in states_of(TABLE) if is_praised(state)]
    assert praised_states
    for state in praised_states:
        assert state["removed"] == SOME
        assert state["before"] == ABOVE
        assert state["random"] == BEYOND
        assert state["after"] in (ABOVE, AT)
        assert state["relabelled"] in (BEYOND, NOT_RUN)
        assert state["seeds"] != DIFFER


def test_a_good_tone_needs_every_test():
    for state in states_of(TABLE):
        if TABLE.decide(state).tone == GOOD:
            assert state["after"] == AT
            assert state["relabelled"] == BEYOND
            assert is_praised(state)


def test_the_facts_of_a_filtering_are_those_of_its_rows(small):
    for state in STATES:
        filtering = replace_facts(small, state)
        assert state_of(filtering) == state


def test_the_headline_says_chance_in_per_cent_as_the_scores_beside_it(small):
    verdict = verdict_of(replace_facts(small, STATES[0]))
    assert verdict.headline.endswith("(chance: 50.0\u00a0%).")


def test_headline_and_findings_claim_nothing_that_a_fact_denies(small):
    for state in STATES:
        verdict = verdict_of(replace_facts(small, state))
        assert verdict.word == TABLE.decide(state).word
        for point in verdict.points:
            assert point.claims.items() <= state.items(), (state, point)
        findings = [point.text for point in verdict.points]
        text = " ".join([verdict.headline, *findings])
        is_below = state["after"] == BELOW and state["removed"] == SOME
        assert ("is more than chance" in text) == (state["relabelled"] == BEYOND)
        assert ("is no more than chance" in text) == (state["relabelled"] == WITHIN)
        assert ("harder than that" in text) == (state["random"] == BEYOND)
        assert ("harder than chance" in text) == is_below


def is_decided(state: dict[str, str]) -> bool:
    """Whether the test against random removal ran and decided, and that of relabelled runs is not undecided."""
    is_random_decided = state["random"] in (BEYOND, WITHIN)
    return is_random_decided and state["relabelled"] != UNDECIDED


def test_a_verdict_that_changes_with_the_seed_says_so(small):
    states = [state for state in STATES if is_decided(state)]
    for first, second in product(states[::7], states[::5]):
        filtering = replace_facts(small, first, second)
        words = {word_of(filtering, arm) for arm in filtering.seeds}
        verdict = verdict_of(filtering)
        agreement = state_of(filtering)["seeds"]
        if len(words) == 1:
            assert agreement == AGREE
            assert verdict.word != "It depends on the seed"
        else:
            assert agreement == DIFFER
            assert verdict.word == "It depends on the seed"
            assert all(word in verdict.headline for word in words)


def test_what_was_removed_by_chance_is_never_called_a_success():
    """The case of WinoGrande's train_m: 7 of 2,558 removed, a probe of 52.0 before and 51.1 after."""
    facts = {"removed": SOME, "before": ABOVE, "after": AT, "relabelled": WITHIN, "random": WITHIN, "seeds": ONE}
    beyond_chance = {**facts, "relabelled": BEYOND}
    assert TABLE.decide(facts).word == "No more was removed than chance removes"
    assert TABLE.decide(beyond_chance).word == "Indistinguishable from random removal"
    assert list(FACTS) == list(facts)
