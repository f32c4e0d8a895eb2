import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from winokit.methods.aflite.logistic import TOLERANCES, ClassifierEnsemble, minimise
from winokit.methods.aflite.rows import FitPlan, NumpyRows


def held(X, y, plan):
    numbers = np.arange(len(X))
    return NumpyRows(X, y, numbers, numbers, plan)


def log_odds(X, theta):
    return X @ theta[:-1] + theta[-1]


def reference(X, y, C=1.0):
    found = LogisticRegression(C=C, tol=1e-12, max_iter=20_000).fit(X.astype(np.float64), y)
    return np.append(found.coef_[0], found.intercept_[0])


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_every_classifier_is_scikit_learns_on_its_own_rows(planted, C):
    X, y, _ = planted(600)
    rows = held(X, y, FitPlan(0, 5, 250))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, C, TOLERANCES["float64"], 300).fit()
    for column in range(5):
        own = rows._train[:, column] == 1
        assert own.sum() == 250
        assert fit.theta[:, column] == pytest.approx(reference(X[own], y[own], C), abs=1e-5)


def test_float32_predicts_as_scikit_learn_does_to_one_in_a_thousand(planted):
    X, y, _ = planted(4000, 64, dtype=np.float32)
    rows = held(X, y, FitPlan(0, 8, 1500))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, TOLERANCES["float32"], 300).fit()
    assert fit.theta.dtype == np.float32
    for column in range(8):
        own = rows._train[:, column] == 1
        same = (log_odds(X, fit.theta[:, column]) > 0) == (log_odds(X, reference(X[own], y[own])) > 0)
        assert same[~own].mean() >= 0.999


def test_the_tolerance_is_the_change_in_log_odds_still_to_come(planted):
    X, y, _ = planted(2000, 32)
    for tolerance in (1e-1, 1e-2, 1e-3):
        rows = held(X, y, FitPlan(0, 4, 800))
        rows.draw(1)
        fit = ClassifierEnsemble(rows, 1.0, tolerance, 300).fit()
        for column in range(4):
            own = rows._train[:, column] == 1
            exact = log_odds(X[own], reference(X[own], y[own]))
            gap, p = log_odds(X[own], fit.theta[:, column]) - exact, 1 / (1 + np.exp(-exact))
            assert np.sqrt(np.average(gap**2, weights=p * (1 - p))) < 2 * tolerance


def test_a_fit_cut_short_says_what_is_left(planted):
    X, y, _ = planted(600)
    rows = held(X, y, FitPlan(0, 5, 250))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, 1e-7, 2).fit()
    assert fit.iterations == 2
    assert (fit.error > 1e-7).all()


def test_more_columns_than_rows_still_converge(planted):
    X, y, _ = planted(120, 300)
    rows = held(X, y, FitPlan(0, 6, 48))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, TOLERANCES["float64"], 300).fit()
    own = rows._train[:, 0] == 1
    assert (fit.error <= TOLERANCES["float64"]).all()
    assert log_odds(X, fit.theta[:, 0]) == pytest.approx(log_odds(X, reference(X[own], y[own])), abs=1e-4)


def test_a_large_mean_and_uneven_answers_are_left_to_the_intercept(planted):
    X, y, _ = planted(800)
    X, y = X + 20, np.where(np.arange(800) % 4 == 0, y, 1)
    rows = held(X, y, FitPlan(0, 3, 300))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, 1e-6, 300).fit()
    own = rows._train[:, 0] == 1
    assert log_odds(X, fit.theta[:, 0]) == pytest.approx(log_odds(X, reference(X[own], y[own])), abs=1e-3)


def test_rows_that_left_are_out_of_the_metric_and_of_the_gradient(planted):
    X, y, _ = planted(500)
    rows, fewer = held(X, y, FitPlan(0, 4, 100)), np.arange(0, 500, 7)
    theta = np.linspace(-1, 1, 25)[:, None]
    before = rows.gram(theta)
    after = before - rows.drop(fewer)
    left = held(np.delete(X, fewer, 0), np.delete(y, fewer), FitPlan(0, 4, 100))
    assert after == pytest.approx(left.gram(theta), abs=1e-9)
    assert sorted(rows.numbers) == [row for row in range(500) if row % 7]
    rows.draw(2)
    own = rows._train == 1
    order = rows.numbers
    p = 1 / (1 + np.exp(-log_odds(X[order], theta)))
    rest = (p - y[order, None]) * own
    assert rows.gradient(theta) == pytest.approx(np.vstack([X[order].T @ rest, rest.sum(0)]), abs=1e-9)


def test_a_step_that_goes_too_far_is_shortened():
    # |x|^1.5 is steep at nought: a full Newton step with too small a metric overshoots.
    def gradient(x):
        return 1.5 * np.sign(x) * np.sqrt(np.abs(x))

    found = minimise(gradient, lambda g: 40 * g, np.array([[1.0, -3.0]]), tolerance=1e-4)
    assert found.evaluations > found.iterations + 1
    assert np.abs(found.theta).max() < 1e-3
