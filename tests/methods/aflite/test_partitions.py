"""Random keys divide rows into subsets that are independent of each other and of the device."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from winokit.methods.aflite.rows import keys, salts


def make_keys(count, *salt):
    """Keys of the first `count` rows for the classifiers of a salt."""
    return keys(np.arange(count, dtype=np.uint32), salts(*salt))


def test_no_two_rows_of_a_classifier_share_a_key():
    key_columns = make_keys(200_000, 5, 2, range(3)).T
    for column in key_columns:
        assert len(np.unique(column)) == 200_000


def test_a_row_has_its_key_whatever_rows_are_beside_it():
    whole = make_keys(1000, 1, 1, range(4))
    two_rows = np.array([7, 900], dtype=np.uint32)
    alone = keys(two_rows, salts(1, 1, range(4)))
    assert (alone == whole[[7, 900]]).all()


@pytest.mark.parametrize("salt", [(1, 1, [0]), (0, 2, [0]), (0, 1, [1])], ids=["seed", "phase", "classifier"])
def test_seed_phase_and_classifier_each_change_the_keys(salt):
    first = make_keys(50, 0, 1, [0])
    assert (make_keys(50, *salt) != first).any()


def test_keys_are_spread_evenly():
    column = make_keys(100_000, 0, 1, [0])[:, 0]
    counts = np.bincount(column >> np.uint32(26), minlength=64)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_subsets_of_two_classifiers_overlap_as_independent_ones_do():
    all_keys = make_keys(20_000, 0, 1, range(40))
    highest = np.partition(all_keys, 4999, axis=0)[4999]
    subsets = all_keys <= highest
    overlaps = []
    for first, second in combinations(range(40), 2):
        in_both = subsets[:, first] & subsets[:, second]
        overlaps.append(in_both.sum())
    # Hypergeometric: 5,000 of 20,000 twice gives 1,250 with a deviation of 26.5.
    law = stats.hypergeom(20_000, 5_000, 5_000)
    standard_error = law.std() / np.sqrt(len(overlaps))
    assert abs(np.mean(overlaps) - law.mean()) < 4 * standard_error
    assert 0.8 < np.std(overlaps) / law.std() < 1.2


def test_neighbouring_rows_fall_independently():
    column = make_keys(100_000, 0, 1, [0])[:, 0].astype(float)
    correlation = np.corrcoef(column[:-1], column[1:])[0, 1]
    assert abs(correlation) < 4 / np.sqrt(100_000)


def test_torch_computes_the_same_keys():
    torch = pytest.importorskip("torch")
    from winokit.methods.aflite.torch_rows import torch_keys

    salt = salts(3, 4, range(5))
    numbers = np.array([0, 1, 77, 2**31, 2**32 - 1], dtype=np.uint32)
    signed_numbers = torch.as_tensor(numbers.view(np.int32))
    signed_salt = torch.as_tensor(salt.view(np.int32))
    signed_keys = torch_keys(signed_numbers, signed_salt).numpy()
    unsigned_keys = signed_keys.astype(np.int64) + 2**31
    assert (unsigned_keys == keys(numbers, salt).T).all()
