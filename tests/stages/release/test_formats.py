"""What others read: Hugging Face datasets, Croissant, Parquet."""

import json
import shutil
import warnings
from contextlib import contextmanager

import pytest

from winokit.problem import Dataset
from winokit.stages.release.formats import parquet_bytes, parquet_path
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import LICENCES, ReleaseSettings, hub_licence

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_release("open", tmp_path_factory.mktemp("made") / "open", settings=ReleaseSettings(name="open-wino"))


def told(problem):
    return problem.text, *problem.candidates, str(problem.answer + 1), problem.group, problem.pronoun


def columns(row):
    return tuple(row[name] for name in ("sentence", "option1", "option2", "answer", "group", "pronoun"))


def hub(folder, cache, *config):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    return datasets.load_dataset(str(folder), *config, cache_dir=str(cache))


def test_load_dataset_gives_the_debiased_training_set_dev_and_test(made, tmp_path):
    found = hub(made.folder, tmp_path)
    assert {name: len(split) for name, split in found.items()} == {"train": 322, "validation": 42, "test": 64}
    assert [columns(row) for row in found["train"]] == [told(p) for p in made.contents.files["train_debiased"]]
    assert [columns(row) for row in found["validation"]] == [told(p) for p in made.contents.files["dev"]]
    assert json.loads(found["train"][0]["labels"]) == dict(made.contents.files["train_debiased"][0].labels)


def test_load_dataset_gives_a_size_by_name(made, tmp_path):
    found = hub(made.folder, tmp_path, "l")
    assert [columns(row) for row in found["train"]] == [told(p) for p in made.contents.files["train_l"]]
    assert len(found["validation"]) == 42


def test_the_test_on_the_hub_says_nothing_of_answers_or_groups(made, tmp_path):
    test = hub(made.folder, tmp_path)["test"]
    assert set(test["answer"]) == {""}
    for column in ("group", "labels", "domain"):
        assert set(test[column]) == {None}
    assert [row["sentence"] for row in test] == [p.text for p in made.contents.files["test"]]


@contextmanager
def croissant(folder):
    import mlcroissant

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies warn about themselves
        yield mlcroissant.Dataset(str(folder / "croissant.json"))


def test_mlcroissant_finds_no_error_and_reads_the_records(made):
    with croissant(made.folder) as found:
        assert not found.metadata.issues.errors
        assert {str(one.uuid) for one in found.metadata.record_sets} == set(made.contents.files)
        rows = list(found.records("dev"))
    assert [row["dev/sentence"].decode() for row in rows] == [p.text for p in made.contents.files["dev"]]
    assert {row["dev/status"] for row in rows} == {b"kept"}


def test_croissant_notices_a_changed_file(made, tmp_path):
    shutil.copytree(made.folder, tmp_path / "copy")
    (tmp_path / "copy" / str(parquet_path("dev"))).write_bytes(parquet_bytes([]))
    with croissant(tmp_path / "copy") as found, pytest.raises(Exception, match="Download") as raised:
        list(found.records("dev"))
    assert "is not identical with the reference" in str(raised.value.__cause__)


def test_croissant_has_licence_and_version(made):
    content = json.loads((made.folder / "croissant.json").read_text())
    assert (content["version"], content["license"]) == ("1.0", LICENCES["cc0-1.0"])
    assert "datePublished" not in content


def test_parquet_is_the_same_whenever_it_is_written(twins):
    rows = [
        {"qID": p.id, "sentence": p.text, "option1": p.candidates[0], "option2": p.candidates[1]}
        for p in Dataset(twins)
    ]
    assert parquet_bytes(rows) == parquet_bytes(rows)


def test_licences_have_the_hub_s_names():
    assert hub_licence("CC-BY-SA 4.0") == "cc-by-sa-4.0"
    assert hub_licence("my own") == "other"
