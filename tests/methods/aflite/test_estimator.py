"""AFLite among scikit-learn's estimators: what its own checks say, and which of them do not apply."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import winokit

DOES_NOT_APPLY = {
    "check_do_not_raise_errors_in_init_or_set_params": "a wrong setting is refused where it is written",
}


# It warns that we do not inherit from it, which would make it a dependency, and that settings are checked early.
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_finds_nothing_wrong_but_early_errors():
    found = check_estimator(winokit.AFLite(ensemble_size=4, cutoff=2), on_fail=None, on_skip=None)
    failed = {row["check_name"] for row in found if row["status"] == "failed"}
    assert failed == set(DOES_NOT_APPLY)
    assert sum(row["status"] == "passed" for row in found) >= 39


def test_a_clone_has_the_settings_and_nothing_fitted():
    copy = clone(winokit.AFLite(ensemble_size=8, twins="together", seed=3))
    assert copy.ensemble_size == 8
    assert copy.twins == "together"
    assert copy.seed == 3
    assert not hasattr(copy, "keep_")
