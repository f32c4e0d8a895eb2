import numpy as np
import pytest


@pytest.fixture
def planted():
    """Rows of which a share gives its answer away along one direction: features, answers, which rows."""

    def make(rows=1200, width=24, share=0.4, seed=0, dtype=np.float64):
        rng = np.random.default_rng(seed)
        scale = np.arange(1, width + 1) ** -0.5
        X = rng.standard_normal((rows, width)) * scale
        y = rng.integers(2, size=rows)
        chosen = rng.random(rows) < share
        X[chosen] += (2 * y[chosen] - 1)[:, None] * scale * 1.2
        return X.astype(dtype), y, chosen

    return make
