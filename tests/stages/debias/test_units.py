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
from winokit.stages.debias import assessment
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.filtering import Debiased
from winokit.stages.debias.run import debias
from winokit.stages.debias.settings import Assessment
from winokit.stages.debias.verdict import state_of

FEW_DRAWS = Assessment(draws=2, chance_draws=2)
NO_FILTER = {"cutoff": 1, "null_runs": 0}
"""Settings of a filtering that is looked at for its assessment alone."""


def filter_data(data: Dataset, x: np.ndarray, assessing: Assessment = FEW_DRAWS, **settings) -> Debiased:
    """Filter by AFLite with one seed on these features, without comparison to other methods."""
    defaults = {"ensemble_size": 16, "cutoff": 30, "threshold": 0.9, "null_runs": 19, "seeds": 1}
    method = RepeatedAFLite(**{**defaults, **settings})
    features = DebiasFeatures(x, "noise", "concat")
    return debias(data, method, features=features, compare=(), assessment=assessing)


@pytest.mark.parametrize(("twins", "threshold"), [("apart", 0.9), ("together", 0.75)])
def test_noise_that_many_groups_share_is_no_bias(twins, threshold):
    data = template_twins()
    noise = text_noise(data, seed=3)
    state = state_of(filter_data(data, noise, twins=twins, threshold=threshold))
    assert state["before"] != ABOVE
    assert state["relabelled"] != BEYOND


def test_noise_is_no_bias_on_winogender(real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    state = state_of(filter_data(data, text_noise(data, seed=0)))
    assert (data.units.count, len(data.groups)) == (60, 360)
    assert state["before"] != ABOVE
    assert state["relabelled"] != BEYOND


def test_what_is_kept_splits_no_unit_between_folds(monkeypatch):
    data = template_twins()
    ids = [problem.id for problem in data]
    unit_of = dict(zip(ids, data.units.numbers, strict=True))
    unit_counts = []
    linear_probe = assessment.linear_probe

    def count_units(x, y, units, **settings):
        unit_counts.append(units.count)
        return linear_probe(x, y, units, **settings)

    monkeypatch.setattr(assessment, "linear_probe", count_units)
    filtering = filter_data(data, text_noise(data, seed=3))
    kept_units = {unit_of[problem.id] for problem in filtering.kept}
    assert not filtering.chosen.keep.all()
    assert unit_counts[0] == 60
    assert unit_counts[1] == len(kept_units)


def test_no_more_folds_than_units():
    data = template_twins(4)
    with pytest.raises(ValueError, match="no more folds than the 4 units"):
        filter_data(data, text_noise(data, seed=0))


def test_over_use_counts_units():
    data = template_twins()
    filtering = filter_data(data, text_noise(data, seed=3))
    assert filtering.overused.words[0].of_removed <= 60


def plant_features(data: Dataset, seed: int) -> np.ndarray:
    """Features of twins of which the first column leans towards the answer."""
    rng = np.random.default_rng(seed)
    answers = np.array([problem.answer for problem in data])
    direction = 2 * answers - 1
    x = rng.standard_normal((len(data), 10))
    x[:, 0] += 0.6 * direction
    return x.astype(np.float32)


def width_of(row) -> float:
    """Width of the interval of a row."""
    return row.high - row.low


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_problems_written_three_times_make_a_probe_no_surer(planted, seed):
    data = synthetic(60, bias=0.0, seed=1)
    x = plant_features(data, seed)
    if not planted:
        x[:, 0] = np.random.default_rng(seed).standard_normal(len(data))
    # Three copies weigh as much as one with a third of the penalty: the classifiers are the same.
    third = Assessment(draws=2, chance_draws=2, regularisation=1 / COPIES)
    x_of_copies = np.array(repeated(x))
    filtering = filter_data(data, x, **NO_FILTER)
    filtering_of_copies = filter_data(thrice(data), x_of_copies, third, **NO_FILTER)
    probe = filtering.find("all", "probe_accuracy")
    probe_of_copies = filtering_of_copies.find("all", "probe_accuracy")
    assert probe_of_copies.value == pytest.approx(probe.value, abs=1e-9)
    assert width_of(probe_of_copies) >= width_of(probe) - 1e-6
    assert probe_of_copies.p >= probe.p - 1e-6


def test_problems_written_three_times_make_no_divergence_surer():
    data = synthetic(60, bias=0.0, seed=1)
    x = plant_features(data, seed=0)
    many_draws = Assessment(draws=400, chance_draws=2, bins=8)
    x_of_copies = np.array(repeated(x))
    filtering = filter_data(data, x, many_draws, **NO_FILTER)
    filtering_of_copies = filter_data(thrice(data), x_of_copies, many_draws, **NO_FILTER)
    for metric in ("kl_histogram", "kl_gaussian"):
        width = width_of(filtering.find("all", metric))
        width_of_copies = width_of(filtering_of_copies.find("all", metric))
        assert width_of_copies >= 0.9 * width, metric  # both are drawn


@pytest.mark.parametrize("own_noise", [0.0, 0.3])
def test_noise_written_three_times_is_no_stronger_a_verdict(own_noise):
    data = synthetic(40, bias=0.0, seed=1)
    copies = thrice(data)
    claim_count = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shared_noise = rng.standard_normal((len(data), 8))
        x = np.array(repeated(shared_noise))
        x += own_noise * rng.standard_normal(x.shape)
        filtering = filter_data(copies, x.astype(np.float32), seed=seed)
        state = state_of(filtering)
        if state["before"] == ABOVE or state["relabelled"] == BEYOND:
            claim_count += 1
        overused_words = [word for word in filtering.overused.words if word.q <= 0.05]
        assert overused_words == []
        assert standing(filtering.find("all", "probe_accuracy")) == state["before"]
    assert claim_count <= 1
