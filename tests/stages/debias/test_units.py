"""Debias counts units: noise that many groups share is no bias, and repeating problems makes nothing surer."""

import numpy as np
import pytest
from support.copies import COPIES, repeated, thrice
from support.templates import template_twins, text_noise

from winokit.data.loading import load
from winokit.data.synthetic import synthetic
from winokit.drawing.decision import standing
from winokit.methods.aflite.aflite import RepeatedAFLite
from winokit.methods.metrics.judge_ranks import BEYOND
from winokit.problem import Dataset
from winokit.results import ABOVE
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.filtering import Debiased
from winokit.stages.debias.run import debias
from winokit.stages.debias.settings import Assessment
from winokit.stages.debias.verdict import state_of


def filtered(data: Dataset, x: np.ndarray, **settings) -> Debiased:
    """One seed of AFLite on these features, without others beside it."""
    own = {"ensemble_size": 16, "cutoff": 30, "threshold": 0.9, "null_runs": 19, "seeds": 1, **settings}
    how = settings.pop("assessment", Assessment(draws=2, chance_draws=2))
    own.pop("assessment", None)
    method = RepeatedAFLite(**own)
    return debias(data, method, features=DebiasFeatures(x, "noise", "concat"), compare=(), assessment=how)


@pytest.mark.parametrize("twins", ["apart", "together"])
def test_noise_that_many_groups_share_is_no_bias(twins):
    data = template_twins()
    found = filtered(data, text_noise(data, seed=3), twins=twins, threshold=0.9 if twins == "apart" else 0.75)
    state = state_of(found)
    assert state["before"] != ABOVE
    assert state["relabelled"] != BEYOND


def test_noise_is_no_bias_on_winogender(real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    state = state_of(filtered(data, text_noise(data, seed=0)))
    assert (data.units.count, len(data.groups)) == (60, 360)
    assert state["before"] != ABOVE
    assert state["relabelled"] != BEYOND


def test_what_is_kept_splits_no_unit_between_folds(monkeypatch):
    data = template_twins()
    unit_of = dict(zip((problem.id for problem in data), data.units.numbers, strict=True))
    kept_together = []
    from winokit.stages.debias import assessment

    def watched(x, y, units, **how):
        kept_together.append(units.count)
        return probe(x, y, units, **how)

    probe = assessment.linear_probe
    monkeypatch.setattr(assessment, "linear_probe", watched)
    found = filtered(data, text_noise(data, seed=3))
    assert not found.chosen.keep.all()
    assert kept_together[0] == 60
    assert kept_together[1] == len({unit_of[problem.id] for problem in found.kept})


def test_no_more_folds_than_units():
    data = template_twins(4)
    with pytest.raises(ValueError, match="no more folds than the 4 units"):
        filtered(data, text_noise(data, seed=0))


def test_over_use_counts_units():
    data = template_twins()
    found = filtered(data, text_noise(data, seed=3))
    assert found.overused.words[0].of_removed <= 60


def planted_features(data: Dataset, seed: int) -> np.ndarray:
    """Features of twins, of which a part leans towards the answer."""
    rng = np.random.default_rng(seed)
    y = np.array([problem.answer for problem in data])
    x = rng.standard_normal((len(data), 10))
    x[:, 0] += 0.6 * (2 * y - 1)
    return x.astype(np.float32)


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_problems_written_three_times_make_a_probe_no_surer(planted, seed):
    data = synthetic(60, bias=0.0, seed=1)
    x = planted_features(data, seed)
    if not planted:
        x[:, 0] = np.random.default_rng(seed).standard_normal(len(data))
    # Three copies weigh as much as one with a third of the penalty: the classifiers are the same.
    third = Assessment(draws=2, chance_draws=2, regularisation=1 / COPIES)
    once = filtered(data, x, cutoff=1, null_runs=0).find("all", "probe_accuracy")
    again = filtered(thrice(data), np.array(repeated(x)), cutoff=1, null_runs=0, assessment=third)
    copied = again.find("all", "probe_accuracy")
    assert copied.value == pytest.approx(once.value, abs=1e-9)
    assert copied.high - copied.low >= once.high - once.low - 1e-6
    assert copied.p >= once.p - 1e-6


def test_problems_written_three_times_make_no_divergence_surer():
    data = synthetic(60, bias=0.0, seed=1)
    x = planted_features(data, seed=0)
    how = Assessment(draws=400, chance_draws=2, bins=8)
    once, again = (
        filtered(problems, np.array(rows), cutoff=1, null_runs=0, assessment=how)
        for problems, rows in ((data, x), (thrice(data), repeated(x)))
    )
    for metric in ("kl_histogram", "kl_gaussian"):
        row = once.find("all", metric)
        copied = again.find("all", metric)
        assert copied.high - copied.low >= 0.9 * (row.high - row.low), metric  # both are drawn


@pytest.mark.parametrize("own_noise", [0.0, 0.3])
def test_noise_written_three_times_is_no_stronger_a_verdict(own_noise):
    data = synthetic(40, bias=0.0, seed=1)
    claims = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = np.array(repeated(rng.standard_normal((len(data), 8))))
        x += own_noise * rng.standard_normal(x.shape)
        found = filtered(thrice(data), x.astype(np.float32), seed=seed)
        state = state_of(found)
        claims += state["before"] == ABOVE or state["relabelled"] == BEYOND
        words = [word for word in found.overused.words if word.q <= 0.05]
        assert words == []
        assert standing(found.find("all", "probe_accuracy")) == state["before"]
    assert claims <= 1
