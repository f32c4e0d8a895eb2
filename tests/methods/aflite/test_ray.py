"""Workers of Ray remove the rows that one process removes."""

import numpy as np
import pytest

from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.inputs import open_features
from winokit.methods.aflite.ray_rows import shares

ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
# Ray leaves sockets and processes to be closed when the interpreter ends.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def workers():
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("way", [{}, {"stratified": True}, {"twins": "together"}])
def test_two_workers_give_numpys_mask(planted, way):
    X, y, _ = planted(600)
    groups = np.arange(600) // 2
    alone = AFLite(8, 200, 40, **way).fit(X, y, groups)
    spread = AFLite(8, 200, 40, backend="ray", workers=2, **way).fit(X, y, groups)
    assert (spread.phase_ == alone.phase_).all()
    assert spread.scores_ == pytest.approx(alone.scores_, nan_ok=True)
    assert len(alone.history_) > 3


def test_workers_read_files_themselves_and_a_killed_run_goes_on(planted, tmp_path):
    X, y, _ = planted(500)
    for number, part in enumerate(np.array_split(X, 3)):
        np.save(tmp_path / f"{number}.npy", part)

    class Stop(Exception):
        pass

    def stop(phase):
        if phase.number == 3:
            raise Stop

    rows = open_features(tmp_path)
    checkpoint = tmp_path / "run.npz"
    with pytest.raises(Stop):
        AFLite(8, 200, 30, backend="ray", workers=2, checkpoint=checkpoint).fit(rows, y, progress=stop)
    resumed = AFLite(8, 200, 30, backend="ray", workers=2, checkpoint=checkpoint).fit(rows, y)
    alone = AFLite(8, 200, 30).fit(X, y)
    assert (resumed.phase_ == alone.phase_).all()


def test_rows_are_shared_out_evenly_with_groups_whole():
    units = np.repeat(np.arange(0, 1000, 5), 5)
    parts = shares(np.arange(1000), units, 7)
    assert len(parts) == 7
    assert sorted(np.concatenate(parts)) == list(range(1000))
    assert max(map(len, parts)) - min(map(len, parts)) <= 10
    units_of_parts = [np.unique(units[part]) for part in parts]
    all_units = np.concatenate(units_of_parts)
    assert len(np.unique(all_units)) == len(all_units)
