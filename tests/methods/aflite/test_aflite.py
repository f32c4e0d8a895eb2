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
    """Algorithm 1 as printed, one classifier after the other; subsets and ties from the same keys."""
    left = np.arange(len(X))
    phase_of = np.full(len(X), -1)
    phase = 0
    while len(left) > m:
        phase += 1
        right = np.zeros(len(X))
        made = np.zeros(len(X))
        for classifier in range(n):
            key = keys(left.astype(np.uint32), salts(seed, phase, [classifier]))[:, 0]
            order = np.argsort(key)
            train = left[order[:m]]
            test = left[order[m:]]
            model = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000).fit(X[train], y[train])
            right[test] += model.predict(X[test]) == y[test]
            made[test] += 1
        scores = {row: right[row] / made[row] for row in left if made[row]}
        tie = dict(zip(left, keys(left.astype(np.uint32), salts(seed, phase, [-1]))[:, 0], strict=True))
        able = [row for row, score in scores.items() if score >= threshold]
        leaving = sorted(able, key=lambda row: (-scores[row], tie[row]))[:k]
        phase_of[leaving] = phase
        left = np.array([row for row in left if phase_of[row] < 0])
        if len(leaving) < k:
            break
    return phase_of


@pytest.mark.parametrize("seed", [0, 1])
def test_it_removes_what_the_printed_algorithm_removes(planted, seed):
    X, y, _ = planted(300, 10, seed=seed)
    found = AFLite(12, 120, 25, 0.75, seed=seed).fit(X, y)
    assert (found.phase_ == plain_aflite(X, y, 12, 120, 25, 0.75, seed)).all()
    assert len(found.history_) > 3


def test_what_leaves_first_is_what_was_planted(planted):
    X, y, chosen = planted(4000, 64, dtype=np.float32)
    found = AFLite(32, 1500, 50).fit(X, y)
    assert chosen[found.phase_ == 1].mean() > 0.8 > 2 * chosen.mean() - 0.05
    assert found.history_[0].accuracy > found.history_[-1].accuracy


def test_the_last_short_slice_leaves_too(planted):
    X, y, _ = planted(600)
    last = AFLite(16, 200, 40, 0.9).fit(X, y).history_[-1]
    assert 0 < last.removed < 40
    assert last.removed == last.at_threshold


def test_it_ends_when_no_more_rows_are_left_than_a_classifier_trains_on(planted):
    X, y, _ = planted(300, share=1.0)
    found = AFLite(16, 250, 20, 0.6).fit(X, y)
    assert 230 < found.keep_.sum() <= 250


def test_rows_without_a_prediction_stay_and_are_counted(planted):
    X, y, _ = planted(100)
    found = AFLite(2, 90, 20, 0.6).fit(X, y)
    assert found.history_[0].empty > 50
    assert np.isnan(found.first_scores_).sum() == found.history_[0].empty
    assert found.keep_[np.isnan(found.first_scores_)].all() or len(found.history_) > 1


def test_the_order_of_the_rows_does_not_choose_among_ties():
    X = np.repeat([[-4.0], [4.0]], 200, axis=0)
    y = np.repeat([0, 1], 200)
    found = AFLite(8, 100, 40).fit(X, y)
    first = np.flatnonzero(found.phase_ == 1)
    assert 100 < first.mean() < 300
    assert (AFLite(8, 100, 40, ties="order").fit(X, y).phase_[:40] == 1).all()


def test_together_keeps_or_removes_groups_whole(planted):
    X, y, _ = planted(600)
    groups = np.arange(600) // 2
    apart, together = (AFLite(16, 200, 40, twins=twins).fit(X, y, groups) for twins in ("apart", "together"))
    assert (together.phase_[::2] == together.phase_[1::2]).all()
    assert (apart.phase_[::2] != apart.phase_[1::2]).any()


def test_stratified_subsets_hold_the_share_of_the_answers(planted):
    from winokit.methods.aflite.rows import FitPlan, NumpyRows

    X, _, _ = planted(600)
    y = (np.arange(600) % 4 == 0).astype(int)
    numbers = np.arange(600)
    for strata, spread in ((2, 0), (1, 1)):
        rows = NumpyRows(X, y, numbers, numbers, FitPlan(0, 16, 200, strata=strata))
        rows.draw(1)
        counts = rows._train[y == 1].sum(0)
        assert (rows._train.sum(0) == 200).all()
        assert (counts.std() > 0) == spread
        assert counts.mean() == pytest.approx(50, abs=3 * spread + 0.1)


def test_the_stop_rule_ends_a_run_before_it_filters_too_far(planted):
    X, y, _ = planted(1000, share=0.0)
    free = AFLite(32, 400, 20).fit(X, y)
    held = AFLite(32, 400, 20, stop_below=0.5).fit(X, y)
    assert min(phase.accuracy for phase in free.history_) < 0.5
    assert (~held.keep_).sum() < (~free.keep_).sum()
    assert all(phase.removed == 0 for phase in held.history_ if phase.accuracy < 0.5)


def test_what_is_not_given_follows_the_data_and_is_recorded(planted):
    X, y, _ = planted(400)
    settings = AFLite(8).fit(X, y).settings_
    assert settings["train_size"] == 160
    assert settings["cutoff"] == 5
    assert settings["ties"] == "random"
    assert settings["precision"] == "float64"


def test_torch_and_numpy_give_the_same_mask(planted):
    pytest.importorskip("torch")
    X, y, _ = planted(700)
    ways = [{}, {"stratified": True}, {"twins": "together"}]
    for way in ways:
        a, b = (
            AFLite(12, 250, 30, backend=backend, **way).fit(X, y, np.arange(700) // 2)
            for backend in ("numpy", "torch:cpu")
        )
        assert (a.phase_ == b.phase_).all()
        assert a.scores_ == pytest.approx(b.scores_, nan_ok=True)


def test_the_same_seed_gives_the_same_run_and_another_gives_another(planted):
    X, y, _ = planted(700, dtype=np.float32)
    a, b, c = (AFLite(12, 250, 30, seed=seed).fit(X, y) for seed in (4, 4, 5))
    assert (a.phase_ == b.phase_).all()
    assert (a.phase_ != c.phase_).any()


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
    np.savez(tmp_path / "data.npz", X=X, y=y)
    kept = tmp_path / "run.npz"
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "data.npz", kept], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    seen = []
    resumed = AFLite(16, 400, 25, checkpoint=kept).fit(X, y, progress=lambda phase: seen.append(phase.number))
    whole = AFLite(16, 400, 25).fit(X, y)
    assert seen[0] == 7
    assert (resumed.phase_ == whole.phase_).all()
    assert resumed.scores_ == pytest.approx(whole.scores_, nan_ok=True, abs=0)
    assert [phase.number for phase in resumed.history_] == [phase.number for phase in whole.history_]


def test_a_finished_run_is_not_run_again(planted, tmp_path):
    X, y, _ = planted(400)
    first = AFLite(8, 150, 20, checkpoint=tmp_path / "run.npz").fit(X, y)
    seen = []
    again = AFLite(8, 150, 20, checkpoint=tmp_path / "run.npz").fit(X, y, progress=seen.append)
    assert seen == []
    assert (again.phase_ == first.phase_).all()


def test_a_checkpoint_of_another_run_is_refused(planted, tmp_path):
    X, y, _ = planted(400)
    AFLite(8, 150, 20, checkpoint=tmp_path / "run.npz").fit(X, y)
    with pytest.raises(WinokitError, match="other features, answers or settings"):
        AFLite(8, 150, 21, checkpoint=tmp_path / "run.npz").fit(X, y)
    with pytest.raises(WinokitError, match="other features, answers or settings"):
        AFLite(8, 150, 20, checkpoint=tmp_path / "run.npz").fit(X + 1, y)
    (tmp_path / "run.npz").write_bytes(b"something else")
    with pytest.raises(WinokitError, match="is not a checkpoint"):
        AFLite(8, 150, 20, checkpoint=tmp_path / "run.npz").fit(X, y)


def test_rows_in_files_are_filtered_like_rows_in_memory(planted, tmp_path):
    X, y, _ = planted(500, dtype=np.float32)
    np.save(tmp_path / "a.npy", X[:123])
    np.save(tmp_path / "b.npy", X[123:])
    np.save(tmp_path / "one.npy", X)
    memory = AFLite(8, 200, 20).fit(X, y)
    (tmp_path / "parts").mkdir()
    for name in ("a.npy", "b.npy"):
        (tmp_path / name).rename(tmp_path / "parts" / name)
    for rows in (
        open_features(tmp_path / "one.npy"),
        open_features(tmp_path / "parts"),
        np.load(tmp_path / "one.npy", mmap_mode="r"),
    ):
        assert (AFLite(8, 200, 20).fit(rows, y).phase_ == memory.phase_).all()


def test_a_file_that_is_no_matrix_of_features_is_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.savez(tmp_path / "several.npz", a=np.zeros((5, 2)))
    (tmp_path / "text.npy").write_text("no numbers")
    for name in ("flat.npy", "several.npz"):
        with pytest.raises(WinokitError, match=f"{name}: expected a .npy file of rows and columns"):
            open_features(tmp_path / name)
    with pytest.raises(WinokitError, match=r"text.npy: not a .npy file of numbers$"):
        open_features(tmp_path / "text.npy")


WRONG = {
    "row 3 of the features holds NaN or inf": lambda X, y: AFLite().fit(
        np.where(np.arange(len(X))[:, None] == 3, np.nan, X), y
    ),
    "every row of the features is the same": lambda X, y: AFLite().fit(np.ones_like(X), y),
    "two different answers; found 1": lambda X, y: AFLite().fit(X, np.zeros(len(X))),
    "two different answers; found 3": lambda X, y: AFLite().fit(X, np.arange(len(X)) % 3),
    "train_size must be less than the 50 rows": lambda X, y: AFLite(train_size=50).fit(X, y),
    "answers of shape": lambda X, y: AFLite().fit(X, y[:-1]),
    "must be a matrix": lambda X, y: AFLite().fit(X[:, 0], y),
    "must be numbers": lambda X, y: AFLite().fit(X.astype(str), y),
    "found 49 for 50 rows": lambda X, y: AFLite(twins="together").fit(X, y, ["a"] * 49),
    "threshold: expected 1 or less and a number above 0.5, found 0.5": lambda X, y: AFLite(threshold=0.5),
    "threshold: expected 1 or less and a number above 0.5, found 1.1": lambda X, y: AFLite(threshold=1.1),
    "ensemble_size: expected 1 or more": lambda X, y: AFLite(ensemble_size=0),
    "regularisation: expected a number above 0, found nan": lambda X, y: AFLite(regularisation=float("nan")),
    "tolerance: expected a number above 0": lambda X, y: AFLite(tolerance=0),
    "cutoff: expected 1 or more": lambda X, y: AFLite(cutoff=0),
    "stop_below: expected 0 or more and 1 or less, found 7": lambda X, y: AFLite(stop_below=7),
    "'sideways'": lambda X, y: AFLite(twins="sideways"),
    "'abacus'": lambda X, y: AFLite(backend="abacus"),
    "--set workers: a setting of --engine ray": lambda X, y: AFLite(workers=2),
    "stratified subsets need twins apart": lambda X, y: AFLite(stratified=True, twins="together").fit(X, y),
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_input_gets_one_clear_line(planted, message):
    X, y, _ = planted(50)
    with pytest.raises(WinokitError, match=message) as caught:
        WRONG[message](X, y)
    assert "\n" not in str(caught.value)


def test_a_constant_column_is_no_trouble(planted):
    X, y, _ = planted(400)
    X[:, 3] = 7.0
    assert AFLite(8, 150, 20).fit(X, y).history_[0].not_converged == 0
