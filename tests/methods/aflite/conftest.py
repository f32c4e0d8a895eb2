import numpy as np
import pytest


@pytest.fixture
def planted():
    """Make features and answers of which a share of rows gives its answer away along one direction.

    The third array says which rows these are.
    """

    def make(rows=1200, width=24, share=0.4, seed=0, dtype=np.float64):
        rng = np.random.default_rng(seed)
        scale = np.arange(1, width + 1) ** -0.5
        X = rng.standard_normal((rows, width)) * scale
        y = rng.integers(2, size=rows)
        chosen = rng.random(rows) < share
        signs = 2 * y[chosen] - 1
        X[chosen] += signs[:, None] * scale * 1.2
        return X.astype(dtype), y, chosen

    return make
