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
    data: Dataset
    features: DebiasFeatures
    biased: np.ndarray


@pytest.fixture(scope="session")
def planted() -> Planted:
    """A bias that is structural: in 40 % of the pairs the first direction of the features is the answer.

    A word gives the answer away too in half of those pairs, and that is all that words can tell.
    """
    pairs = 800
    rng = np.random.default_rng(0)
    data = synthetic(pairs, bias=0.2, seed=0)
    y = np.array([problem.answer for problem in data])
    biased = np.array([problem.labels["planted"] for problem in data])
    more = rng.permutation(np.flatnonzero(~biased[::2]))[: round(0.2 * pairs)]
    biased[2 * more] = biased[2 * more + 1] = True
    x = 0.4 * rng.normal(size=(2 * pairs, 60))
    x[:, 0] = 0.05 * rng.normal(size=2 * pairs) + (2 * y - 1) * biased
    return Planted(data, DebiasFeatures(x.astype(np.float32), "planted", "difference"), biased)


@pytest.fixture(scope="session")
def filtering(planted: Planted) -> Debiased:
    """AFLite on them with two seeds, its baselines and relabelled runs."""
    settings = {"ensemble_size": 32, "cutoff": 40, "null_runs": 19, "seeds": 2}
    return debias(planted.data, "aflite", features=planted.features, **settings)
