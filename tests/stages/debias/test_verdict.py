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
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    features = DebiasFeatures(x, "noise", "single")
    return debias(data, "aflite", features=features, null_runs=1, seeds=2, compare=())


def rows_of(subset: str, facts: dict[str, str], seed: str = "") -> list[Metric]:
    """The rows that have these facts."""

    def row(subset, metric, value, n, low=None, high=None, chance=None):
        return Metric("d", "m", "s", None, "debias", subset, metric, value, n, low, high, chance)

    made = [row(subset, "n_groups_split", 0, 20), row(subset, "n_removed_by_chance", 3, 40, 1, 6)]
    for name, fact in (("all" + seed, "before"), (subset, "after")):
        value, p = PROBES[facts[fact]]
        probe = row(name, "probe_accuracy", value, 40, value - 0.01, value + 0.01, 0.5)
        made.append(replace(probe, details={NULL: 0.5, P: p, IN_ONE_PLACE: p is None}))
    for metric, fact in (("p_null", "relabelled"), ("p_random_removal", "random")):
        if facts[fact] != NOT_RUN:
            made.append(row(subset, metric, *P_VALUES[facts[fact]]))
    if facts["random"] != NOT_RUN:
        made.append(row(subset, "random_probe_accuracy", 0.5, 40, 0.4, 0.6, 0.5))
    return made


def with_facts(small: Debiased, facts: dict[str, str], other: dict[str, str] | None = None) -> Debiased:
    """The filtering with these facts, and with those of a second seed."""
    arms = []
    for arm, its in zip(small.seeds, (facts, other or facts), strict=True):
        keep = np.ones(40, np.bool_)
        keep[:5] = its["removed"] == NONE
        arms.append(replace(arm, keep=keep))
    first, second = arms
    metrics = rows_of("aflite", facts)
    if other is None:
        return replace(small, arms=(small.arms[0], first), seeds=(first,), metrics=metrics)
    overlap = [
        Metric("d", "m", "s", None, "debias", "aflite", f"{n}_overlap", 0.5, 40, 0, 1, 0.2) for n in ("kept", "removed")
    ]
    metrics += [*rows_of("aflite.seed1", other, ".seed1"), *overlap]
    return replace(small, arms=(small.arms[0], first), seeds=(first, second), metrics=metrics)


STATES = [state for state in states_of(TABLE) if state["seeds"] == ONE]


def test_every_combination_has_a_case_and_every_case_a_combination():
    used = {id(TABLE.decide(state)) for state in states_of(TABLE)}
    assert used == {id(case) for case in TABLE.cases}


def test_no_success_without_its_test():
    praised = [state for state in states_of(TABLE) if any(word in TABLE.decide(state).word for word in SUCCESS)]
    assert praised
    for state in praised:
        assert (state["removed"], state["before"], state["random"]) == (SOME, ABOVE, BEYOND)
        assert state["after"] in (ABOVE, AT)
        assert state["relabelled"] in (BEYOND, NOT_RUN)
        assert state["seeds"] != DIFFER
    good = [state for state in states_of(TABLE) if TABLE.decide(state).tone == GOOD]
    assert all((state["after"], state["relabelled"]) == (AT, BEYOND) and state in praised for state in good)


def test_the_facts_of_a_filtering_are_those_of_its_rows(small):
    for state in STATES:
        assert state_of(with_facts(small, state)) == state


def test_the_headline_says_chance_in_per_cent_as_the_scores_beside_it(small):
    assert verdict_of(with_facts(small, STATES[0])).headline.endswith("(chance: 50.0\u00a0%).")


def test_headline_and_findings_claim_nothing_that_a_fact_denies(small):
    for state in STATES:
        verdict = verdict_of(with_facts(small, state))
        assert verdict.word == TABLE.decide(state).word
        for point in verdict.points:
            assert point.claims.items() <= state.items(), (state, point)
        text = " ".join((verdict.headline, *(point.text for point in verdict.points)))
        assert ("is more than chance" in text) == (state["relabelled"] == BEYOND)
        assert ("is no more than chance" in text) == (state["relabelled"] == WITHIN)
        assert ("harder than that" in text) == (state["random"] == BEYOND)
        assert ("harder than chance" in text) == ((state["after"], state["removed"]) == (BELOW, SOME))


def test_a_verdict_that_changes_with_the_seed_says_so(small):
    facts = [state for state in STATES if state["random"] in (BEYOND, WITHIN) and state["relabelled"] != UNDECIDED]
    for first, second in product(facts[::7], facts[::5]):
        found = with_facts(small, first, second)
        words = {word_of(found, arm) for arm in found.seeds}
        verdict = verdict_of(found)
        assert state_of(found)["seeds"] == (AGREE if len(words) == 1 else DIFFER)
        assert (verdict.word == "It depends on the seed") == (len(words) == 2)
        if len(words) == 2:
            assert all(word in verdict.headline for word in words)


def test_what_was_removed_by_chance_is_never_called_a_success(small):
    """The case of WinoGrande's train_m: 7 of 2,558 removed, a probe of 52.0 before and 51.1 after."""
    facts = {"removed": SOME, "before": ABOVE, "after": AT, "relabelled": WITHIN, "random": WITHIN, "seeds": ONE}
    assert TABLE.decide(facts).word == "No more was removed than chance removes"
    assert TABLE.decide({**facts, "relabelled": BEYOND}).word == "Indistinguishable from random removal"
    assert list(FACTS) == list(facts)
