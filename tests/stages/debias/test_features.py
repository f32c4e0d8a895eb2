import json

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.scoring.features import write_features
from winokit.stages.debias.features import embedded, read_features

ABOUT = {"model": "builtin", "features": "difference", "pooling": "mean"}


@pytest.fixture
def rows(twins):
    return np.random.default_rng(0).normal(size=(len(twins), 4)).astype(np.float32)


def test_features_of_a_file_come_with_what_made_them(twins, rows, tmp_path):
    write_features(rows, twins, tmp_path / "X.npy", ABOUT)
    assert next(iter(json.loads((tmp_path / "X.json").read_text()))) == "schema"
    found = read_features(tmp_path / "X.npy", twins)
    assert (found.rows[:] == rows).all()
    assert (found.model, found.kind, found.notes) == ("builtin", "difference", ())
    assert found.settings["file"] == "X.npy"
    assert found.settings["pooling"] == "mean"
    assert (found.settings["rows"], found.settings["columns"], found.settings["dtype"]) == (6, 4, "float32")


def test_the_hash_is_that_of_the_numbers(twins, rows, tmp_path):
    write_features(rows, twins, tmp_path / "X.npy", ABOUT)
    write_features(rows + 1, twins, tmp_path / "Y.npy", ABOUT)
    first, second = (read_features(tmp_path / name, twins).settings["sha256"] for name in ("X.npy", "Y.npy"))
    assert first != second


def test_a_folder_of_shards_is_read_in_the_order_of_names(twins, rows, tmp_path):
    for number, part in enumerate((slice(0, 4), slice(4, 6))):
        write_features(rows[part], twins[part], tmp_path / f"part-{number}.npy", ABOUT)
    assert (read_features(tmp_path, twins).rows[:] == rows).all()


def test_shards_in_the_wrong_order_are_refused(twins, rows, tmp_path):
    for number, part in enumerate((slice(4, 6), slice(0, 4))):
        write_features(rows[part], twins[part], tmp_path / f"part-{number}.npy", ABOUT)
    with pytest.raises(BadInput, match="the same problems in another order"):
        read_features(tmp_path, twins)


def test_features_of_other_problems_are_refused(twins, rows, tmp_path):
    write_features(rows[:4], twins[:4], tmp_path / "X.npy", ABOUT)
    with pytest.raises(BadInput, match="its 4 rows hold 4 of the 6 problems"):
        read_features(tmp_path / "X.npy", twins)


def test_without_ids_the_number_of_rows_is_checked_and_a_note_says_so(twins, rows, tmp_path):
    np.save(tmp_path / "X.npy", rows)
    assert "only the number of rows" in read_features(tmp_path / "X.npy", twins).notes[0]
    np.save(tmp_path / "X.npy", rows[1:])
    with pytest.raises(BadInput, match="5 rows for 6 problems"):
        read_features(tmp_path / "X.npy", twins)


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"ids": 3})])
def test_a_broken_description_is_refused(twins, rows, tmp_path, text):
    np.save(tmp_path / "X.npy", rows)
    (tmp_path / "X.json").write_text(text)
    with pytest.raises(BadInput, match=r"X\.json.*winokit embed"):
        read_features(tmp_path / "X.npy", twins)


def test_a_model_can_make_them_now(twins):
    found = embedded(twins, "builtin", kind="single", pooling="mean")
    assert found.rows.shape == (6, 384)
    assert (found.model, found.kind) == ("builtin", "single")
    assert found.settings["fingerprint"]
