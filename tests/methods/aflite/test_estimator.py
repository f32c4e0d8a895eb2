"""AFLite passes scikit-learn's own checks of estimators, but for one that does not apply."""

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
    estimator = winokit.AFLite(ensemble_size=4, cutoff=2)
    checks = check_estimator(estimator, on_fail=None, on_skip=None)
    passed = [check for check in checks if check["status"] == "passed"]
    failed = {check["check_name"] for check in checks if check["status"] == "failed"}
    assert failed == set(DOES_NOT_APPLY)
    assert len(passed) >= 39


def test_a_clone_has_the_settings_and_nothing_fitted():
    copy = clone(winokit.AFLite(ensemble_size=8, twins="together", seed=3))
    assert copy.ensemble_size == 8
    assert copy.twins == "together"
    assert copy.seed == 3
    assert not hasattr(copy, "keep_")
