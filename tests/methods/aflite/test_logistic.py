from itertools import islice

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from winokit import AFLite
from winokit.methods.aflite.logistic import CLOSE, TOLERANCES, ClassifierEnsemble, Objective, minimise
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
            gap = log_odds(X[own], fit.theta[:, column]) - exact
            p = 1 / (1 + np.exp(-exact))
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
    X = X + 20
    y = np.where(np.arange(800) % 4 == 0, y, 1)
    rows = held(X, y, FitPlan(0, 3, 300))
    rows.draw(1)
    fit = ClassifierEnsemble(rows, 1.0, 1e-6, 300).fit()
    own = rows._train[:, 0] == 1
    assert log_odds(X, fit.theta[:, 0]) == pytest.approx(log_odds(X, reference(X[own], y[own])), abs=1e-3)


def test_rows_that_left_are_out_of_the_metric_and_of_the_gradient(planted):
    X, y, _ = planted(500)
    rows = held(X, y, FitPlan(0, 4, 100))
    fewer = np.arange(0, 500, 7)
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


def test_a_gradient_is_the_same_whichever_columns_have_moved(planted):
    X, y, _ = planted(500)
    plan = FitPlan(0, 6, 200)
    rng = np.random.default_rng(0)
    rows = held(X, y, plan)
    anew = held(X, y, plan)
    rows.draw(1)
    theta = rng.normal(size=(25, 1))
    for moved in (slice(0, 1), slice(0, 6), [1, 4], [], [5], slice(0, 6)):
        theta = np.repeat(theta, 6 // theta.shape[1], axis=1) if moved != slice(0, 1) else theta
        theta = theta.copy()
        theta[:, moved] += 0.1
        anew.draw(1)
        assert rows.gradient(theta) == pytest.approx(anew.gradient(theta), abs=1e-9)
        assert [votes.tolist() for votes in rows.votes()] == [votes.tolist() for votes in anew.votes()]
    rows.draw(2)
    anew.draw(2)
    assert rows.gradient(theta) == pytest.approx(anew.gradient(theta), abs=1e-9)


def test_the_curvature_along_a_classifier_is_the_grams(planted):
    X, y, _ = planted(500)
    rows = held(X, y, FitPlan(0, 4, 100))
    theta = np.linspace(-1, 1, 25)[:, None]
    assert rows.curvature(theta) == pytest.approx(rows.gram(theta) @ theta, abs=1e-9)


def test_a_metric_too_steep_along_the_mean_costs_no_more_steps(planted):
    X, y, _ = planted(2000, 32)
    steps = []
    for known in (True, False):
        rows = held(X, y, FitPlan(0, 8, 800))
        ensemble = ClassifierEnsemble(rows, 1.0, TOLERANCES["float32"], 300)
        rows.draw(1)
        ensemble.fit()
        along = ensemble.gram @ ensemble.mean
        ensemble.gram = ensemble.gram + 20 * along @ along.T / (ensemble.mean.T @ along)
        if not known:
            rows.curvature = lambda theta: None
        rows.draw(2)
        steps.append(ensemble.fit().iterations)
    assert steps[0] < steps[1]


def test_a_feature_that_says_nothing_is_fitted_without_a_warning():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (60, 2)).astype(np.float32)
    y = rng.integers(2, size=60)
    assert AFLite(backend="numpy").fit(X, y).keep_.shape == (60,)


def test_a_step_that_goes_too_far_is_shortened():
    # |x|^1.5 is steep at zero: a full Newton step with too small a metric overshoots.
    def gradient(x):
        return 1.5 * np.sign(x) * np.sqrt(np.abs(x))

    found = minimise(Objective(gradient, lambda g: 40 * g, 1e-4), np.array([[1.0, -3.0]]))
    assert found.evaluations > found.iterations + 1
    assert np.abs(found.theta).max() < 1e-3


def ensemble_of(rows, ahead):
    rows.runs_ahead = ahead
    return ClassifierEnsemble(rows, 1.0, TOLERANCES["float64"], 300)


def test_steps_taken_without_looking_end_where_looking_ends(planted):
    X, y, _ = planted(600)
    plan = FitPlan(0, 5, 250)
    fits = []
    for ahead in (False, True):
        rows = held(X, y, plan)
        ensemble = ensemble_of(rows, ahead)
        for phase in (1, 2, 3):
            rows.draw(phase)
            fits.append(ensemble.fit())
    for looking, blind in zip(fits[:3], fits[3:], strict=True):
        assert (looking.theta == blind.theta).all()
        assert looking.iterations == blind.iterations


def test_steps_taken_without_looking_that_went_too_far_do_not_count(planted, monkeypatch):
    X, y, _ = planted(600)
    rows = held(X, y, FitPlan(0, 5, 250))
    ensemble = ensemble_of(rows, True)
    rows.draw(1)
    ensemble.fit()
    run_ahead = Objective.run_ahead
    asked = []

    def too_far(self, *arguments):
        asked.append(arguments)
        for at, needed, _ in run_ahead(self, *arguments):
            yield at._replace(theta=at.theta * np.nan), needed, np.True_

    monkeypatch.setattr(Objective, "run_ahead", too_far)
    assert np.isfinite(ensemble.fit().theta).all()
    assert asked


def test_a_column_that_overshoots_is_noticed_at_the_end_of_the_steps():
    objective = Objective(lambda x: 1.5 * np.sign(x) * np.sqrt(np.abs(x)), lambda g: 40 * g, 1e-4)
    assert list(islice(objective.run_ahead(np.array([[1.0, -3.0]])), 3))[-1][2] == 2
    gentle = Objective(lambda x: x, lambda g: 0.5 * g, 1e-4)
    assert list(islice(gentle.run_ahead(np.array([[1.0, -3.0]])), 3))[-1][2] == 0


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
    for of in (whole[:290], whole[5:280]):  # a few rows leave
        inverse, doubt = rows.refined_inverse(torch.as_tensor(of.T @ of), ridge)
        gap = inverse.numpy() @ (of.T @ of + 0.5 * np.eye(13)) - np.eye(13)
        assert np.linalg.norm(gap) <= doubt.item() + 1e-9 < CLOSE
    other = torch.as_tensor(900 * whole[100:150].T @ whole[100:150])
    assert not rows.refined_inverse(other, ridge)[1].item() < CLOSE


def test_a_doubted_inverse_is_made_anew(planted, monkeypatch):
    torch = pytest.importorskip("torch")
    from winokit.methods.aflite.torch_rows import TorchRows

    X, y, _ = planted(600)
    numbers = np.arange(600)
    fits = []
    for doubted in (False, True):
        rows = TorchRows(X, y, numbers, numbers, FitPlan(0, 5, 250), "cpu")
        if doubted:
            nothing = torch.full((rows.width + 1, rows.width + 1), torch.nan, dtype=rows.dtype), torch.tensor(torch.nan)
            monkeypatch.setattr(rows, "refined_inverse", lambda matrix, ridge, nothing=nothing: nothing)
        ensemble = ensemble_of(rows, True)
        for phase in (1, 2):
            rows.draw(phase)
            fit = ensemble.fit()
        fits.append(fit.theta.numpy())
    assert fits[0] == pytest.approx(fits[1], abs=1e-6)
