"""AFLite removes what the printed algorithm removes, goes on where it was killed, and refuses bad input."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from winokit.errors import WinokitError
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.inputs import open_features
from winokit.methods.aflite.rows import keys, salts


def plain_aflite(X, y, n, m, k, threshold, seed):
    """Phase in which Algorithm 1 as printed removes each row, or -1, with subsets and ties from the same keys."""
    remaining = np.arange(len(X))
    phase_of = np.full(len(X), -1)
    phase = 0
    while len(remaining) > m:
        phase += 1
        right_counts = np.zeros(len(X))
        prediction_counts = np.zeros(len(X))
        for classifier in range(n):
            order = np.argsort(keys_of(remaining, seed, phase, classifier))
            train = remaining[order[:m]]
            test = remaining[order[m:]]
            model = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000)
            model.fit(X[train], y[train])
            is_right = model.predict(X[test]) == y[test]
            right_counts[test] += is_right
            prediction_counts[test] += 1
        predicted = remaining[prediction_counts[remaining] > 0]
        scores = right_counts[predicted] / prediction_counts[predicted]
        ties = keys_of(remaining, seed, phase, -1)[prediction_counts[remaining] > 0]
        candidates = np.flatnonzero(scores >= threshold)
        best_first = sorted(candidates, key=lambda index: (-scores[index], ties[index]))
        leaving = predicted[best_first[:k]]
        phase_of[leaving] = phase
        remaining = remaining[phase_of[remaining] < 0]
        if len(leaving) < k:
            break
    return phase_of


def keys_of(rows, seed, phase, classifier):
    """Random key of each row for one classifier of a phase, or for the breaking of ties if that is -1."""
    return keys(rows.astype(np.uint32), salts(seed, phase, [classifier]))[:, 0]


@pytest.mark.parametrize("seed", [0, 1])
def test_it_removes_what_the_printed_algorithm_removes(planted, seed):
    X, y, _ = planted(300, 10, seed=seed)
    fitted = AFLite(12, 120, 25, 0.75, seed=seed).fit(X, y)
    expected = plain_aflite(X, y, 12, 120, 25, 0.75, seed)
    assert (fitted.phase_ == expected).all()
    assert len(fitted.history_) > 3


def test_what_leaves_first_is_what_was_planted(planted):
    X, y, chosen = planted(4000, 64, dtype=np.float32)
    fitted = AFLite(32, 1500, 50).fit(X, y)
    share_in_first_phase = chosen[fitted.phase_ == 1].mean()
    assert share_in_first_phase > 0.8 > 2 * chosen.mean() - 0.05
    assert fitted.history_[0].accuracy > fitted.history_[-1].accuracy


def test_the_last_short_slice_leaves_too(planted):
    X, y, _ = planted(600)
    fitted = AFLite(16, 200, 40, 0.9).fit(X, y)
    last = fitted.history_[-1]
    assert 0 < last.removed < 40
    assert last.removed == last.at_threshold


def test_it_ends_when_no_more_rows_are_left_than_a_classifier_trains_on(planted):
    X, y, _ = planted(300, share=1.0)
    fitted = AFLite(16, 250, 20, 0.6).fit(X, y)
    assert 230 < fitted.keep_.sum() <= 250


def test_rows_without_a_prediction_stay_and_are_counted(planted):
    X, y, _ = planted(100)
    fitted = AFLite(2, 90, 20, 0.6).fit(X, y)
    has_no_score = np.isnan(fitted.first_scores_)
    first_phase = fitted.history_[0]
    assert first_phase.empty > 50
    assert has_no_score.sum() == first_phase.empty
    assert fitted.keep_[has_no_score].all() or len(fitted.history_) > 1


def test_the_order_of_the_rows_does_not_choose_among_ties():
    X = np.repeat([[-4.0], [4.0]], 200, axis=0)
    y = np.repeat([0, 1], 200)
    at_random = AFLite(8, 100, 40).fit(X, y)
    in_order = AFLite(8, 100, 40, ties="order").fit(X, y)
    first_removed = np.flatnonzero(at_random.phase_ == 1)
    assert 100 < first_removed.mean() < 300
    assert (in_order.phase_[:40] == 1).all()


def test_together_keeps_or_removes_groups_whole(planted):
    X, y, _ = planted(600)
    groups = np.arange(600) // 2
    apart = AFLite(16, 200, 40, twins="apart").fit(X, y, groups)
    together = AFLite(16, 200, 40, twins="together").fit(X, y, groups)
    assert (together.phase_[::2] == together.phase_[1::2]).all()
    assert (apart.phase_[::2] != apart.phase_[1::2]).any()


@pytest.mark.parametrize(("strata", "spread"), [(2, 0), (1, 1)], ids=["stratified", "free"])
def test_stratified_subsets_hold_the_share_of_the_answers(planted, strata, spread):
    from winokit.methods.aflite.rows import FitPlan, NumpyRows

    X, _, _ = planted(600)
    numbers = np.arange(600)
    y = (numbers % 4 == 0).astype(int)
    rows = NumpyRows(X, y, numbers, numbers, FitPlan(0, 16, 200, strata=strata))
    rows.draw(1)
    counts = rows._train[y == 1].sum(0)
    tolerance = 3 * spread + 0.1
    assert (rows._train.sum(0) == 200).all()
    assert (counts.std() > 0) == spread
    assert counts.mean() == pytest.approx(50, abs=tolerance)


def test_the_stop_rule_ends_a_run_before_it_filters_too_far(planted):
    X, y, _ = planted(1000, share=0.0)
    free = AFLite(32, 400, 20).fit(X, y)
    stopped = AFLite(32, 400, 20, stop_below=0.5).fit(X, y)
    late_phases = [phase for phase in stopped.history_ if phase.accuracy < 0.5]
    free_removed = (~free.keep_).sum()
    stopped_removed = (~stopped.keep_).sum()
    assert min(phase.accuracy for phase in free.history_) < 0.5
    assert stopped_removed < free_removed
    assert all(phase.removed == 0 for phase in late_phases)


def test_what_is_not_given_follows_the_data_and_is_recorded(planted):
    X, y, _ = planted(400)
    settings = AFLite(8).fit(X, y).settings_
    assert settings["train_size"] == 160
    assert settings["cutoff"] == 5
    assert settings["ties"] == "random"
    assert settings["precision"] == "float64"


@pytest.mark.parametrize("way", [{}, {"stratified": True}, {"twins": "together"}])
def test_torch_and_numpy_give_the_same_mask(planted, way):
    pytest.importorskip("torch")
    X, y, _ = planted(700)
    groups = np.arange(700) // 2
    by_numpy = AFLite(12, 250, 30, backend="numpy", **way).fit(X, y, groups)
    by_torch = AFLite(12, 250, 30, backend="torch:cpu", **way).fit(X, y, groups)
    assert (by_numpy.phase_ == by_torch.phase_).all()
    assert by_numpy.scores_ == pytest.approx(by_torch.scores_, nan_ok=True)


def test_the_same_seed_gives_the_same_run_and_another_gives_another(planted):
    X, y, _ = planted(700, dtype=np.float32)
    first = AFLite(12, 250, 30, seed=4).fit(X, y)
    again = AFLite(12, 250, 30, seed=4).fit(X, y)
    other = AFLite(12, 250, 30, seed=5).fit(X, y)
    assert (first.phase_ == again.phase_).all()
    assert (again.phase_ != other.phase_).any()


KILLED = """
import os, signal, sys
import numpy as np
from winokit.methods.aflite.aflite import AFLite

with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]

class Dying(AFLite):
    def _select_best(self, phase, *rest):
        if phase == 7:  # classifiers are fitted, nothing is removed or written yet
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._select_best(phase, *rest)

Dying(16, 400, 25, checkpoint=sys.argv[2]).fit(X, y)
"""


def test_a_run_killed_in_the_middle_of_phase_seven_goes_on_to_the_same_result(planted, tmp_path):
    X, y, _ = planted(1000, dtype=np.float32)
    data = tmp_path / "data.npz"
    checkpoint = tmp_path / "run.npz"
    np.savez(data, X=X, y=y)
    process = subprocess.run([sys.executable, "-c", KILLED, data, checkpoint], env=os.environ, check=False)
    assert process.returncode == -signal.SIGKILL
    phases = []
    resumed = AFLite(16, 400, 25, checkpoint=checkpoint).fit(X, y, progress=phases.append)
    whole = AFLite(16, 400, 25).fit(X, y)
    numbers_of_resumed = [phase.number for phase in resumed.history_]
    numbers_of_whole = [phase.number for phase in whole.history_]
    assert phases[0].number == 7
    assert (resumed.phase_ == whole.phase_).all()
    assert resumed.scores_ == pytest.approx(whole.scores_, nan_ok=True, abs=0)
    assert numbers_of_resumed == numbers_of_whole


def test_a_finished_run_is_not_run_again(planted, tmp_path):
    X, y, _ = planted(400)
    estimator = AFLite(8, 150, 20, checkpoint=tmp_path / "run.npz")
    first_phases = estimator.fit(X, y).phase_
    phases_run = []
    again = estimator.fit(X, y, progress=phases_run.append)
    assert phases_run == []
    assert (again.phase_ == first_phases).all()


def test_a_checkpoint_of_another_run_is_refused(planted, tmp_path):
    X, y, _ = planted(400)
    checkpoint = tmp_path / "run.npz"
    same_settings = AFLite(8, 150, 20, checkpoint=checkpoint)
    other_settings = AFLite(8, 150, 21, checkpoint=checkpoint)
    AFLite(8, 150, 20, checkpoint=checkpoint).fit(X, y)
    with pytest.raises(WinokitError, match="other features, answers or settings"):
        other_settings.fit(X, y)
    with pytest.raises(WinokitError, match="other features, answers or settings"):
        same_settings.fit(X + 1, y)
    checkpoint.write_bytes(b"something else")
    with pytest.raises(WinokitError, match="is not a checkpoint"):
        same_settings.fit(X, y)


def test_rows_in_files_are_filtered_like_rows_in_memory(planted, tmp_path):
    X, y, _ = planted(500, dtype=np.float32)
    whole_file = tmp_path / "one.npy"
    parts_folder = tmp_path / "parts"
    parts_folder.mkdir()
    np.save(whole_file, X)
    np.save(parts_folder / "a.npy", X[:123])
    np.save(parts_folder / "b.npy", X[123:])
    in_memory = AFLite(8, 200, 20).fit(X, y)
    mapped = np.load(whole_file, mmap_mode="r")
    for rows in (open_features(whole_file), open_features(parts_folder), mapped):
        fitted = AFLite(8, 200, 20).fit(rows, y)
        assert (fitted.phase_ == in_memory.phase_).all()


def test_a_file_that_is_no_matrix_of_features_is_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros(5))
    two_columns = np.zeros((5, 2))
    np.savez(tmp_path / "several.npz", a=two_columns)
    (tmp_path / "text.npy").write_text("no numbers")
    for name in ("flat.npy", "several.npz"):
        with pytest.raises(WinokitError, match=f"{name}: expected a .npy file of rows and columns"):
            open_features(tmp_path / name)
    with pytest.raises(WinokitError, match=r"text.npy: not a .npy file of numbers$"):
        open_features(tmp_path / "text.npy")


@pytest.mark.parametrize(
    ("message", "fit"),
    [
        (
            "row 3 of the features holds NaN or inf",
            lambda X, y: AFLite().fit(np.where(np.arange(len(X))[:, None] == 3, np.nan, X), y),
        ),
        ("every row of the features is the same", lambda X, y: AFLite().fit(np.ones_like(X), y)),
        ("two different answers; found 1", lambda X, y: AFLite().fit(X, np.zeros(len(X)))),
        ("two different answers; found 3", lambda X, y: AFLite().fit(X, np.arange(len(X)) % 3)),
        ("train_size must be less than the 50 rows", lambda X, y: AFLite(train_size=50).fit(X, y)),
        ("answers of shape", lambda X, y: AFLite().fit(X, y[:-1])),
        ("must be a matrix", lambda X, y: AFLite().fit(X[:, 0], y)),
        ("must be numbers", lambda X, y: AFLite().fit(X.astype(str), y)),
        ("found 49 for 50 rows", lambda X, y: AFLite(twins="together").fit(X, y, ["a"] * 49)),
        ("threshold: expected 1 or less and a number above 0.5, found 0.5", lambda X, y: AFLite(threshold=0.5)),
        ("threshold: expected 1 or less and a number above 0.5, found 1.1", lambda X, y: AFLite(threshold=1.1)),
        ("ensemble_size: expected 1 or more", lambda X, y: AFLite(ensemble_size=0)),
        ("regularisation: expected a number above 0, found nan", lambda X, y: AFLite(regularisation=float("nan"))),
        ("tolerance: expected a number above 0", lambda X, y: AFLite(tolerance=0)),
        ("cutoff: expected 1 or more", lambda X, y: AFLite(cutoff=0)),
        ("stop_below: expected 0 or more and 1 or less, found 7", lambda X, y: AFLite(stop_below=7)),
        ("'sideways'", lambda X, y: AFLite(twins="sideways")),
        ("'abacus'", lambda X, y: AFLite(backend="abacus")),
        ("--set workers: a setting of --engine ray", lambda X, y: AFLite(workers=2)),
        ("stratified subsets need twins apart", lambda X, y: AFLite(stratified=True, twins="together").fit(X, y)),
    ],
)
def test_bad_input_gets_one_clear_line(planted, message, fit):
    X, y, _ = planted(50)
    with pytest.raises(WinokitError, match=message) as error:
        fit(X, y)
    assert "\n" not in str(error.value)


def test_a_constant_column_is_no_trouble(planted):
    X, y, _ = planted(400)
    X[:, 3] = 7.0
    fitted = AFLite(8, 150, 20).fit(X, y)
    assert fitted.history_[0].not_converged == 0
