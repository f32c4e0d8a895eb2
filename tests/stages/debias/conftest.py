"""Twins whose features give some answers away, and whose words give away half of these."""

from dataclasses import dataclass

import numpy as np
import pytest

from winokit.data.synthetic import synthetic
from winokit.problem import Dataset
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.filtering import Debiased
from winokit.stages.debias.run import debias


@dataclass
class Planted:
    """Twins, their features, and which problems the features give away."""

    data: Dataset
    features: DebiasFeatures
    biased: np.ndarray


@pytest.fixture(scope="session")
def planted() -> Planted:
    """Twins with a structural bias: in 40 % of the pairs the first column of the features is the answer.

    A word gives the answer away too in half of those pairs, and that is all that words can tell.
    """
    pair_count = 800
    problem_count = 2 * pair_count
    rng = np.random.default_rng(0)
    data = synthetic(pair_count, bias=0.2, seed=0)
    answers = np.array([problem.answer for problem in data])
    biased = np.array([problem.labels["planted"] for problem in data])
    unbiased_pairs = rng.permutation(np.flatnonzero(~biased[::2]))
    more_pairs = unbiased_pairs[: round(0.2 * pair_count)]
    biased[2 * more_pairs] = True
    biased[2 * more_pairs + 1] = True
    x = 0.4 * rng.normal(size=(problem_count, 60))
    noise = 0.05 * rng.normal(size=problem_count)
    direction = 2 * answers - 1
    x[:, 0] = noise + direction * biased
    features = DebiasFeatures(x.astype(np.float32), "planted", "difference")
    return Planted(data, features, biased)


@pytest.fixture(scope="session")
def filtering(planted: Planted) -> Debiased:
    """Filtering of the planted twins by AFLite with two seeds, with baselines and relabelled runs."""
    settings = {"ensemble_size": 32, "cutoff": 40, "null_runs": 19, "seeds": 2}
    return debias(planted.data, "aflite", features=planted.features, **settings)
