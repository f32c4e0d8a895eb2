import json

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.scoring.features import write_features
from winokit.stages.debias.features import embedded, read_features
from winokit.stages.debias.run import debias

SMALL = AFLite(ensemble_size=2, train_size=3, stop_below=0.999)
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


def finetuned(informed: bool | None) -> dict:
    """What is stored beside features of a fine-tuned model that is said to know something, or nothing."""
    about = {"trained_on": 50, "chosen_on": 10, "dev_accuracy": 0.5, "dev_null": 0.6, "dev_p": 0.7}
    return {**ABOUT, "finetuned": about if informed is None else {**about, "informed": informed}}


def test_features_that_know_nothing_are_refused_unless_they_are_allowed(twins, rows, tmp_path):
    write_features(rows, twins, tmp_path / "X.npy", finetuned(False))
    how = {"features": tmp_path / "X.npy", "compare": (), "assess": False}
    with pytest.raises(BadInput, match=r"X\.npy: these features know nothing: .* 50\.0.% .* chance \(60\.0.%\)"):
        debias(twins, SMALL, **how)
    found = debias(twins, SMALL, **how, allow_uninformed=True)
    assert found.settings["features"]["finetuned"]["informed"] is False
    assert "these features know nothing: the fine-tuned model has 50.0" in found.notes[0]


def earlier(dev_accuracy: float | None) -> dict:
    """What earlier versions stored beside features: the share of dev problems right, and no word on what it means."""
    about = {"trained_on": 50, "chosen_on": 10}
    if dev_accuracy is not None:
        about["dev_accuracy"] = dev_accuracy
    return {**ABOUT, "finetuned": about}


@pytest.mark.parametrize("about", [finetuned(True), earlier(0.6), earlier(None)])
def test_features_that_know_something_or_do_not_say_pass(twins, rows, tmp_path, about):
    write_features(rows, twins, tmp_path / "X.npy", about)
    found = debias(twins, SMALL, features=tmp_path / "X.npy", compare=(), assess=False)
    assert found.kept
    assert not found.notes


@pytest.mark.parametrize("dev_accuracy", [0.5, 0.483])
def test_features_of_earlier_versions_know_nothing_if_a_coin_has_as_many_right(twins, rows, tmp_path, dev_accuracy):
    write_features(rows, twins, tmp_path / "X.npy", earlier(dev_accuracy))
    with pytest.raises(BadInput, match=r"these features know nothing: .* not above chance \(50\.0.%\)"):
        debias(twins, SMALL, features=tmp_path / "X.npy", compare=(), assess=False)


def test_one_shard_that_knows_nothing_is_enough_to_refuse(twins, rows, tmp_path):
    for number, (part, informed) in enumerate(((slice(0, 4), True), (slice(4, 6), False))):
        write_features(rows[part], twins[part], tmp_path / f"part-{number}.npy", finetuned(informed))
    with pytest.raises(BadInput, match="these features know nothing"):
        debias(twins, SMALL, features=tmp_path, compare=(), assess=False)


def test_allowing_what_is_not_there_is_refused(twins):
    with pytest.raises(BadInput, match=r"^--set allow_uninformed: an option of --features X\.npy"):
        debias(twins, "random", size=4, allow_uninformed=True)


def test_replayed_features_are_counted_and_dated_in_the_notes(tmp_path):
    how = {"method": "pmi", "size": 20, "limit": 40, "cache": tmp_path / "answers", "compare": ()}
    assert not any("replayed" in note for note in debias("open", **how).notes)
    assert "replayed from the cache, of " in debias("open", **how).notes[-1]


@pytest.mark.parametrize("features", [[[0.0, 1.0]] * 6, 5])
def test_features_that_are_no_array_are_refused(twins, features):
    with pytest.raises(BadInput, match="features: "):
        debias(twins, SMALL, features=features, compare=())


def test_a_tensor_of_another_library_is_refused_by_its_name(twins, rows):
    class Tensor:
        shape = rows.shape

    with pytest.raises(BadInput, match="features: expected a path, an array of NumPy or DebiasFeatures, found Tensor"):
        debias(twins, SMALL, features=Tensor(), compare=())


def test_an_array_that_nobody_looks_at_is_refused_in_one_line(twins, rows):
    with pytest.raises(BadInput, match="--features: random uses features only for the assessment"):
        debias(twins, "random", size=4, features=rows, compare=(), assess=False)
