"""Features of a filtering come with what made them, and are refused where they fit no problems or know nothing."""

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
SHARDS = {"part-0": slice(0, 4), "part-1": slice(4, 6)}
"""Rows of each shard of features, in the order of the names of their files."""


@pytest.fixture
def rows(twins):
    return np.random.default_rng(0).normal(size=(len(twins), 4)).astype(np.float32)


@pytest.fixture
def path(tmp_path):
    """Path of the features of a test."""
    return tmp_path / "X.npy"


def filter_with(twins, features, **settings):
    """Filter by these features, quickly and without assessment."""
    return debias(twins, SMALL, features=features, compare=(), assess=False, **settings)


def test_features_of_a_file_come_with_what_made_them(twins, rows, path):
    write_features(rows, twins, path, ABOUT)
    description = json.loads(path.with_suffix(".json").read_text())
    features = read_features(path, twins)
    settings = features.settings
    assert next(iter(description)) == "schema"
    assert (features.rows[:] == rows).all()
    assert (features.model, features.kind, features.notes) == ("builtin", "difference", ())
    assert settings["file"] == "X.npy"
    assert settings["pooling"] == "mean"
    assert (settings["rows"], settings["columns"], settings["dtype"]) == (6, 4, "float32")


def test_the_hash_is_that_of_the_numbers(twins, rows, tmp_path):
    first_path = tmp_path / "X.npy"
    second_path = tmp_path / "Y.npy"
    write_features(rows, twins, first_path, ABOUT)
    write_features(rows + 1, twins, second_path, ABOUT)
    first = read_features(first_path, twins)
    second = read_features(second_path, twins)
    assert first.settings["sha256"] != second.settings["sha256"]


def test_a_folder_of_shards_is_read_in_the_order_of_names(twins, rows, tmp_path):
    for name, part in SHARDS.items():
        write_features(rows[part], twins[part], tmp_path / f"{name}.npy", ABOUT)
    features = read_features(tmp_path, twins)
    assert (features.rows[:] == rows).all()


def test_shards_in_the_wrong_order_are_refused(twins, rows, tmp_path):
    names_reversed = reversed(SHARDS)
    for name, part in zip(names_reversed, SHARDS.values(), strict=True):
        write_features(rows[part], twins[part], tmp_path / f"{name}.npy", ABOUT)
    with pytest.raises(BadInput, match="the same problems in another order"):
        read_features(tmp_path, twins)


def test_features_of_other_problems_are_refused(twins, rows, path):
    write_features(rows[:4], twins[:4], path, ABOUT)
    with pytest.raises(BadInput, match="its 4 rows hold 4 of the 6 problems"):
        read_features(path, twins)


def test_without_ids_the_number_of_rows_is_checked_and_a_note_says_so(twins, rows, path):
    np.save(path, rows)
    features = read_features(path, twins)
    assert "only the number of rows" in features.notes[0]
    np.save(path, rows[1:])
    with pytest.raises(BadInput, match="5 rows for 6 problems"):
        read_features(path, twins)


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"ids": 3})])
def test_a_broken_description_is_refused(twins, rows, path, text):
    np.save(path, rows)
    path.with_suffix(".json").write_text(text)
    with pytest.raises(BadInput, match=r"X\.json.*winokit embed"):
        read_features(path, twins)


def test_a_model_can_make_them_now(twins):
    features = embedded(twins, "builtin", kind="single", pooling="mean")
    assert features.rows.shape == (6, 384)
    assert (features.model, features.kind) == ("builtin", "single")
    assert features.settings["fingerprint"]


DEV_TEST = {"trained_on": 50, "chosen_on": 10, "dev_accuracy": 0.5, "dev_null": 0.6, "dev_p": 0.7}
"""A test of a fine-tuned model on its dev set."""


def describe_finetuned(informed: bool) -> dict:
    """Description of features of a fine-tuned model that is said to know something, or nothing."""
    return {**ABOUT, "finetuned": {**DEV_TEST, "informed": informed}}


def describe_untested(dev_accuracy: float | None) -> dict:
    """Description of features as earlier versions stored it, with the dev accuracy and no test of it."""
    training = {"trained_on": 50, "chosen_on": 10}
    if dev_accuracy is not None:
        training["dev_accuracy"] = dev_accuracy
    return {**ABOUT, "finetuned": training}


def test_features_that_know_nothing_are_refused_unless_they_are_allowed(twins, rows, path):
    write_features(rows, twins, path, describe_finetuned(False))
    with pytest.raises(BadInput, match=r"X\.npy: these features know nothing: .* 50\.0.% .* chance \(60\.0.%\)"):
        filter_with(twins, path)
    filtering = filter_with(twins, path, allow_uninformed=True)
    features = filtering.settings["features"]
    assert features["finetuned"]["informed"] is False
    assert "these features know nothing: the fine-tuned model has 50.0" in filtering.notes[0]


@pytest.mark.parametrize("about", [describe_finetuned(True), describe_untested(0.6), describe_untested(None)])
def test_features_that_know_something_or_do_not_say_pass(twins, rows, path, about):
    write_features(rows, twins, path, about)
    filtering = filter_with(twins, path)
    assert filtering.kept
    assert not filtering.notes


@pytest.mark.parametrize("dev_accuracy", [0.5, 0.483])
def test_features_of_earlier_versions_know_nothing_if_a_coin_has_as_many_right(twins, rows, path, dev_accuracy):
    write_features(rows, twins, path, describe_untested(dev_accuracy))
    with pytest.raises(BadInput, match=r"these features know nothing: .* not above chance \(50\.0.%\)"):
        filter_with(twins, path)


def test_one_shard_that_knows_nothing_is_enough_to_refuse(twins, rows, tmp_path):
    for name, part in SHARDS.items():
        is_informed = name == "part-0"
        write_features(rows[part], twins[part], tmp_path / f"{name}.npy", describe_finetuned(is_informed))
    with pytest.raises(BadInput, match="these features know nothing"):
        filter_with(twins, tmp_path)


def test_allowing_what_is_not_there_is_refused(twins):
    with pytest.raises(BadInput, match=r"^--set allow_uninformed: an option of --features X\.npy"):
        debias(twins, "random", size=4, allow_uninformed=True)


def test_replayed_features_are_counted_and_dated_in_the_notes(tmp_path):
    settings = {"method": "pmi", "size": 20, "limit": 40, "compare": ()}
    cache = tmp_path / "answers"
    first = debias("open", cache=cache, **settings)
    second = debias("open", cache=cache, **settings)
    assert not any("replayed" in note for note in first.notes)
    assert "replayed from the cache, of " in second.notes[-1]


@pytest.mark.parametrize("features", [[[0.0, 1.0]] * 6, 5])
def test_features_that_are_no_array_are_refused(twins, features):
    with pytest.raises(BadInput, match="features: "):
        debias(twins, SMALL, features=features, compare=())


def test_a_tensor_of_another_library_is_refused_by_its_name(twins, rows):
    class Tensor:
        shape = rows.shape

    message = "features: expected a path, an array of NumPy or DebiasFeatures, found Tensor"
    with pytest.raises(BadInput, match=message):
        debias(twins, SMALL, features=Tensor(), compare=())


def test_an_array_that_nobody_looks_at_is_refused_in_one_line(twins, rows):
    with pytest.raises(BadInput, match="--features: random uses features only for the assessment"):
        debias(twins, "random", size=4, features=rows, compare=(), assess=False)
