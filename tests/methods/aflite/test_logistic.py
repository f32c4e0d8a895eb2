"""An ensemble of classifiers is fitted as scikit-learn fits each, whatever is shared or computed ahead."""

from itertools import islice

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from winokit import AFLite
from winokit.methods.aflite.logistic import CLOSE, TOLERANCES, ClassifierEnsemble, Objective, minimise
from winokit.methods.aflite.rows import FitPlan, NumpyRows


def keep_rows(X, y, plan):
    """Rows in memory for an ensemble of this plan."""
    numbers = np.arange(len(X))
    return NumpyRows(X, y, numbers, numbers, plan)


def log_odds(X, theta):
    *weights, intercept = theta
    return X @ np.array(weights) + intercept


def fit_sklearn(X, y, C=1.0):
    """Weights and intercept that scikit-learn finds for the rows."""
    model = LogisticRegression(C=C, tol=1e-12, max_iter=20_000)
    model.fit(X.astype(np.float64), y)
    return np.append(model.coef_[0], model.intercept_[0])


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_every_classifier_is_scikit_learns_on_its_own_rows(planted, C):
    X, y, _ = planted(600)
    rows = keep_rows(X, y, FitPlan(0, 5, 250))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, C, TOLERANCES["float64"], 300).fit()
    for column in range(5):
        is_own = rows._train[:, column] == 1
        expected = fit_sklearn(X[is_own], y[is_own], C)
        assert is_own.sum() == 250
        assert fit.theta[:, column] == pytest.approx(expected, abs=1e-5)


def test_float32_predicts_as_scikit_learn_does_to_one_in_a_thousand(planted):
    X, y, _ = planted(4000, 64, dtype=np.float32)
    rows = keep_rows(X, y, FitPlan(0, 8, 1500))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, TOLERANCES["float32"], 300).fit()
    assert fit.theta.dtype == np.float32
    for column in range(8):
        is_own = rows._train[:, column] == 1
        expected = log_odds(X, fit_sklearn(X[is_own], y[is_own])) > 0
        is_same = (log_odds(X, fit.theta[:, column]) > 0) == expected
        assert is_same[~is_own].mean() >= 0.999


def test_the_tolerance_is_the_change_in_log_odds_still_to_come(planted):
    X, y, _ = planted(2000, 32)
    for tolerance in (1e-1, 1e-2, 1e-3):
        rows = keep_rows(X, y, FitPlan(0, 4, 800))
        rows.draw(1)
        fit = ClassifierEnsemble(rows, 1.0, tolerance, 300).fit()
        for column in range(4):
            is_own = rows._train[:, column] == 1
            own_rows = X[is_own]
            exact = log_odds(own_rows, fit_sklearn(own_rows, y[is_own]))
            gap = log_odds(own_rows, fit.theta[:, column]) - exact
            p = 1 / (1 + np.exp(-exact))
            mean_square = np.average(gap**2, weights=p * (1 - p))
            assert np.sqrt(mean_square) < 2 * tolerance


def test_a_fit_cut_short_says_what_is_left(planted):
    X, y, _ = planted(600)
    rows = keep_rows(X, y, FitPlan(0, 5, 250))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, 1e-7, 2).fit()
    assert fit.iterations == 2
    assert (fit.error > 1e-7).all()


def test_more_columns_than_rows_still_converge(planted):
    X, y, _ = planted(120, 300)
    rows = keep_rows(X, y, FitPlan(0, 6, 48))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, TOLERANCES["float64"], 300).fit()
    is_own = rows._train[:, 0] == 1
    expected = log_odds(X, fit_sklearn(X[is_own], y[is_own]))
    assert (fit.error <= TOLERANCES["float64"]).all()
    assert log_odds(X, fit.theta[:, 0]) == pytest.approx(expected, abs=1e-4)


def test_a_large_mean_and_uneven_answers_are_left_to_the_intercept(planted):
    X, y, _ = planted(800)
    X = X + 20
    is_free = np.arange(800) % 4 == 0
    y = np.where(is_free, y, 1)
    rows = keep_rows(X, y, FitPlan(0, 3, 300))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, 1e-6, 300).fit()
    is_own = rows._train[:, 0] == 1
    expected = log_odds(X, fit_sklearn(X[is_own], y[is_own]))
    assert log_odds(X, fit.theta[:, 0]) == pytest.approx(expected, abs=1e-3)


def test_rows_that_left_are_out_of_the_metric_and_of_the_gradient(planted):
    X, y, _ = planted(500)
    plan = FitPlan(0, 4, 100)
    rows = keep_rows(X, y, plan)
    leaving = np.arange(0, 500, 7)
    theta = np.linspace(-1, 1, 25)[:, None]
    before = rows.gram(theta)
    after = before - rows.drop(leaving)
    rows_left = keep_rows(np.delete(X, leaving, 0), np.delete(y, leaving), plan)
    assert after == pytest.approx(rows_left.gram(theta), abs=1e-9)
    assert sorted(rows.numbers) == [row for row in range(500) if row % 7]
    rows.draw(2)
    is_own = rows._train == 1
    order = rows.numbers
    p = 1 / (1 + np.exp(-log_odds(X[order], theta)))
    residuals = (p - y[order, None]) * is_own
    expected = np.vstack([X[order].T @ residuals, residuals.sum(0)])
    assert rows.gradient(theta) == pytest.approx(expected, abs=1e-9)


def test_a_gradient_is_the_same_whichever_columns_have_moved(planted):
    X, y, _ = planted(500)
    plan = FitPlan(0, 6, 200)
    rng = np.random.default_rng(0)
    rows = keep_rows(X, y, plan)
    anew = keep_rows(X, y, plan)
    rows.draw(1)
    theta = rng.normal(size=(25, 1)) + 0.1
    anew.draw(1)
    assert_same_gradient(rows, anew, theta)
    theta = np.repeat(theta, 6, axis=1)
    for columns in (slice(0, 6), [1, 4], [], [5], slice(0, 6)):
        theta = theta.copy()
        theta[:, columns] += 0.1
        anew.draw(1)
        assert_same_gradient(rows, anew, theta)
    rows.draw(2)
    anew.draw(2)
    assert rows.gradient(theta) == pytest.approx(anew.gradient(theta), abs=1e-9)


def assert_same_gradient(rows, anew, theta):
    """Assert that two sets of rows give the same gradient and the same votes."""
    assert rows.gradient(theta) == pytest.approx(anew.gradient(theta), abs=1e-9)
    for votes, expected in zip(rows.votes(), anew.votes(), strict=True):
        assert votes.tolist() == expected.tolist()


def test_the_curvature_along_a_classifier_is_the_grams(planted):
    X, y, _ = planted(500)
    rows = keep_rows(X, y, FitPlan(0, 4, 100))
    theta = np.linspace(-1, 1, 25)[:, None]
    expected = rows.gram(theta) @ theta
    assert rows.curvature(theta) == pytest.approx(expected, abs=1e-9)


def test_a_metric_too_steep_along_the_mean_costs_no_more_steps(planted):
    X, y, _ = planted(2000, 32)
    counts = []
    for has_curvature in (True, False):
        rows = keep_rows(X, y, FitPlan(0, 8, 800))
        ensemble = ClassifierEnsemble(rows, 1.0, TOLERANCES["float32"], 300)
        rows.draw(1)
        ensemble.fit()
        along = ensemble.gram @ ensemble.mean
        steepness = 20 * along @ along.T / (ensemble.mean.T @ along)
        ensemble.gram = ensemble.gram + steepness
        if not has_curvature:
            rows.curvature = lambda theta: None
        rows.draw(2)
        counts.append(ensemble.fit().iterations)
    with_curvature, without_curvature = counts
    assert with_curvature < without_curvature


def test_a_feature_that_says_nothing_is_fitted_without_a_warning():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (60, 2)).astype(np.float32)
    y = rng.integers(2, size=60)
    fitted = AFLite(backend="numpy").fit(X, y)
    assert fitted.keep_.shape == (60,)


def steep_gradient(x):
    """Gradient of |x|^1.5, which is steep at zero: a full Newton step with too small a metric overshoots."""
    return 1.5 * np.sign(x) * np.sqrt(np.abs(x))


START = np.array([[1.0, -3.0]])


def test_a_step_that_goes_too_far_is_shortened():
    objective = Objective(steep_gradient, lambda g: 40 * g, 1e-4)
    minimum = minimise(objective, START)
    assert minimum.evaluations > minimum.iterations + 1
    assert np.abs(minimum.theta).max() < 1e-3


def ensemble_of(rows, ahead):
    """Ensemble that takes steps without looking at them, if `ahead`."""
    rows.runs_ahead = ahead
    return ClassifierEnsemble(rows, 1.0, TOLERANCES["float64"], 300)


def test_steps_taken_without_looking_end_where_looking_ends(planted):
    X, y, _ = planted(600)
    plan = FitPlan(0, 5, 250)
    fits = []
    for ahead in (False, True):
        rows = keep_rows(X, y, plan)
        ensemble = ensemble_of(rows, ahead)
        for phase in (1, 2, 3):
            rows.draw(phase)
            fits.append(ensemble.fit())
    fits_looking = fits[:3]
    fits_blind = fits[3:]
    for looking, blind in zip(fits_looking, fits_blind, strict=True):
        assert (looking.theta == blind.theta).all()
        assert looking.iterations == blind.iterations


def test_steps_taken_without_looking_that_went_too_far_do_not_count(planted, monkeypatch):
    X, y, _ = planted(600)
    rows = keep_rows(X, y, FitPlan(0, 5, 250))
    ensemble = ensemble_of(rows, True)
    rows.draw(1)
    ensemble.fit()
    run_ahead = Objective.run_ahead
    calls = []

    def overshoot(self, *arguments):
        calls.append(arguments)
        for point, needed, _ in run_ahead(self, *arguments):
            lost = point.theta * np.nan
            yield point._replace(theta=lost), needed, np.True_

    monkeypatch.setattr(Objective, "run_ahead", overshoot)
    fit = ensemble.fit()
    assert np.isfinite(fit.theta).all()
    assert calls


def test_a_column_that_overshoots_is_noticed_at_the_end_of_the_steps():
    steep = Objective(steep_gradient, lambda g: 40 * g, 1e-4)
    gentle = Objective(lambda x: x, lambda g: 0.5 * g, 1e-4)
    *_, (_, _, steep_overshoots) = islice(steep.run_ahead(START), 3)
    *_, (_, _, gentle_overshoots) = islice(gentle.run_ahead(START), 3)
    assert steep_overshoots == 2
    assert gentle_overshoots == 0


def test_an_inverse_is_refined_from_the_one_before_or_doubted():
    torch = pytest.importorskip("torch")
    from winokit.methods.aflite.torch_rows import TorchRows

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    numbers = np.arange(300)
    ridge = torch.full((13, 1), 0.5, dtype=torch.float64)
    rows = TorchRows(X, numbers % 2, numbers, numbers, FitPlan(0, 2, 100), "cpu")
    whole = np.column_stack([X, np.ones(300)])
    rows.inverse(torch.as_tensor(whole.T @ whole), ridge)
    identity = np.eye(13)
    for rows_left in (whole[:290], whole[5:280]):  # a few rows leave
        gram = rows_left.T @ rows_left
        inverse, doubt = rows.refined_inverse(torch.tensor(gram), ridge)
        gap = inverse.numpy() @ (gram + 0.5 * identity) - identity
        assert np.linalg.norm(gap) <= doubt.item() + 1e-9
        assert doubt.item() + 1e-9 < CLOSE
    few_rows = whole[100:150]
    _, doubt = rows.refined_inverse(torch.as_tensor(900 * few_rows.T @ few_rows), ridge)
    assert not doubt.item() < CLOSE


def test_a_doubted_inverse_is_made_anew(planted, monkeypatch):
    torch = pytest.importorskip("torch")
    from winokit.methods.aflite.torch_rows import TorchRows

    X, y, _ = planted(600)
    numbers = np.arange(600)
    fits = []
    for is_doubted in (False, True):
        rows = TorchRows(X, y, numbers, numbers, FitPlan(0, 5, 250), "cpu")
        if is_doubted:
            inverse = torch.full((rows.width + 1, rows.width + 1), torch.nan, dtype=rows.dtype)
            doubtful = (inverse, torch.tensor(torch.nan))
            monkeypatch.setattr(rows, "refined_inverse", lambda matrix, ridge, doubtful=doubtful: doubtful)
        ensemble = ensemble_of(rows, True)
        for phase in (1, 2):
            rows.draw(phase)
            fit = ensemble.fit()
        fits.append(fit.theta.numpy())
    refined, made_anew = fits
    assert refined == pytest.approx(made_anew, abs=1e-6)
