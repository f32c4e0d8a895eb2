import numpy as np
import pytest
from scipy import stats

from winokit.methods.aflite.rows import keys, salts


def rows(count):
    return np.arange(count, dtype=np.uint32)


def test_no_two_rows_of_a_classifier_share_a_key():
    found = keys(rows(200_000), salts(5, 2, range(3)))
    assert all(len(np.unique(found[:, column])) == 200_000 for column in range(3))


def test_a_row_has_its_key_whatever_rows_are_beside_it():
    whole = keys(rows(1000), salts(1, 1, range(4)))
    assert (keys(np.array([7, 900], dtype=np.uint32), salts(1, 1, range(4))) == whole[[7, 900]]).all()


def test_seed_phase_and_classifier_each_change_the_keys():
    first = keys(rows(50), salts(0, 1, [0]))
    for other in (salts(1, 1, [0]), salts(0, 2, [0]), salts(0, 1, [1])):
        assert (keys(rows(50), other) != first).any()


def test_keys_are_spread_evenly():
    found = keys(rows(100_000), salts(0, 1, [0]))[:, 0]
    counts = np.bincount(found >> np.uint32(26), minlength=64)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_subsets_of_two_classifiers_overlap_as_independent_ones_do():
    found = keys(rows(20_000), salts(0, 1, range(40)))
    subsets = found <= np.partition(found, 4999, axis=0)[4999]
    overlaps = [(subsets[:, a] & subsets[:, b]).sum() for a in range(40) for b in range(a)]
    # Hypergeometric: 5,000 of 20,000 twice gives 1,250 with a deviation of 26.5.
    law = stats.hypergeom(20_000, 5_000, 5_000)
    assert abs(np.mean(overlaps) - law.mean()) < 4 * law.std() / np.sqrt(len(overlaps))
    assert 0.8 < np.std(overlaps) / law.std() < 1.2


def test_neighbouring_rows_fall_independently():
    found = keys(rows(100_000), salts(0, 1, [0]))[:, 0].astype(float)
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 4 / np.sqrt(100_000)


def test_torch_computes_the_same_keys():
    torch = pytest.importorskip("torch")
    from winokit.methods.aflite.torch_rows import torch_keys

    salt = salts(3, 4, range(5))
    numbers = np.array([0, 1, 77, 2**31, 2**32 - 1], dtype=np.uint32)
    found = torch_keys(torch.as_tensor(numbers.view(np.int32)), torch.as_tensor(salt.view(np.int32)))
    assert (found.numpy().astype(np.int64) + 2**31 == keys(numbers, salt).T).all()
