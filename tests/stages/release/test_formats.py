"""Other tools read the files of a release: Hugging Face datasets, Croissant, Parquet."""

import json
import shutil
import warnings
from contextlib import contextmanager
from operator import itemgetter

import pytest

from winokit.problem import Dataset
from winokit.stages.release.formats import parquet_bytes, parquet_path
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import LICENCES, ReleaseSettings, hub_licence

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    settings = ReleaseSettings(name="open-wino")
    return write_release("open", tmp_path_factory.mktemp("release") / "open", settings=settings)


COLUMNS = ("sentence", "option1", "option2", "answer", "group", "pronoun")


def values_of_problems(problems):
    """The values that COLUMNS have for these problems."""
    return [(p.text, *p.candidates, str(p.answer + 1), p.group, p.pronoun) for p in problems]


def values_of_rows(rows):
    """The values that COLUMNS have in these rows."""
    get_columns = itemgetter(*COLUMNS)
    return [get_columns(row) for row in rows]


def load_from_hub(folder, cache, *config):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    return datasets.load_dataset(str(folder), *config, cache_dir=str(cache))


def test_load_dataset_gives_the_debiased_training_set_dev_and_test(release, tmp_path):
    splits = load_from_hub(release.folder, tmp_path)
    files = release.contents.files
    row_counts = {name: len(split) for name, split in splits.items()}
    assert row_counts == {"train": 322, "validation": 42, "test": 64}
    assert values_of_rows(splits["train"]) == values_of_problems(files["train_debiased"])
    assert values_of_rows(splits["validation"]) == values_of_problems(files["dev"])
    first_labels = json.loads(splits["train"][0]["labels"])
    assert first_labels == dict(files["train_debiased"][0].labels)


def test_load_dataset_gives_a_size_by_name(release, tmp_path):
    splits = load_from_hub(release.folder, tmp_path, "l")
    assert values_of_rows(splits["train"]) == values_of_problems(release.contents.files["train_l"])
    assert len(splits["validation"]) == 42


def test_the_test_on_the_hub_says_nothing_of_answers_or_groups(release, tmp_path):
    test = load_from_hub(release.folder, tmp_path)["test"]
    assert set(test["answer"]) == {""}
    for column in ("group", "labels", "domain"):
        assert set(test[column]) == {None}
    assert [row["sentence"] for row in test] == [p.text for p in release.contents.files["test"]]


@contextmanager
def open_croissant(folder):
    import mlcroissant

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies warn about themselves
        yield mlcroissant.Dataset(str(folder / "croissant.json"))


def test_mlcroissant_finds_no_error_and_reads_the_records(release):
    with open_croissant(release.folder) as dataset:
        assert not dataset.metadata.issues.errors
        assert {str(record_set.uuid) for record_set in dataset.metadata.record_sets} == set(release.contents.files)
        rows = list(dataset.records("dev"))
    texts = [row["dev/sentence"].decode() for row in rows]
    assert texts == [p.text for p in release.contents.files["dev"]]
    assert {row["dev/status"] for row in rows} == {b"kept"}


def test_croissant_notices_a_changed_file(release, tmp_path):
    folder = shutil.copytree(release.folder, tmp_path / "copy")
    (folder / str(parquet_path("dev"))).write_bytes(parquet_bytes([]))
    with open_croissant(folder) as dataset, pytest.raises(Exception, match="Download") as error_info:
        list(dataset.records("dev"))
    assert "is not identical with the reference" in str(error_info.value.__cause__)


def test_croissant_has_licence_and_version(release):
    content = json.loads((release.folder / "croissant.json").read_text())
    assert (content["version"], content["license"]) == ("1.0", LICENCES["cc0-1.0"])
    assert "datePublished" not in content


def test_parquet_is_the_same_whenever_it_is_written(twins):
    rows = []
    for problem in Dataset(twins):
        option1, option2 = problem.candidates
        rows.append({"qID": problem.id, "sentence": problem.text, "option1": option1, "option2": option2})
    assert parquet_bytes(rows) == parquet_bytes(rows)


def test_licences_have_the_hub_s_names():
    assert hub_licence("CC-BY-SA 4.0") == "cc-by-sa-4.0"
    assert hub_licence("my own") == "other"
