"""The files of a filtering hold its problems, its record and its rows."""

import json

import numpy as np
import pytest

from winokit.data.formats import read
from winokit.results import CONTRACT, Metric
from winokit.stages.debias.features import read_features
from winokit.stages.debias.run import debias
from winokit.stages.debias.table import save


def read_json(path):
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(filtering, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filtering") / "run"
    save(filtering, folder)
    return folder


def test_the_problems_can_be_read_again(filtering, folder):
    kept_problems = read(folder / "kept.jsonl")
    removed_problems = read(folder / "removed.jsonl")
    kept_shares = {problem.labels["kept_share"] for problem in kept_problems}
    assert [problem.id for problem in kept_problems] == [problem.id for problem in filtering.kept]
    assert [problem.labels for problem in removed_problems] == [problem.labels for problem in filtering.removed]
    assert kept_shares <= {0.5, 1.0}
    assert kept_problems.card == filtering.dataset.card


def test_the_record_has_settings_history_and_null(filtering, folder):
    record = read_json(folder / "debias.json")
    history = record["history"]
    removed_count = record["problems"] - record["kept"]
    assert record["methods"]["aflite"]["train_size"] == 640
    assert len(history) == len(filtering.chosen.history)
    assert {"number", "rows", "removed", "at_threshold", "accuracy", "seconds"} <= set(history[0])
    assert record["null"]["removed"] == removed_count
    assert record["content_hash"] == filtering.dataset.content_hash


def test_the_record_has_the_rows_of_the_filtering(filtering, folder):
    rows = read_json(folder / "debias.json")["metrics"]
    contract = list(CONTRACT)
    tested_metrics = {row["metric"] for row in rows if row["null"] is not None}
    assert [Metric.from_json(row) for row in rows] == filtering.metrics
    assert all(list(row)[: len(contract)] == contract for row in rows)
    assert tested_metrics == {"probe_accuracy"}


def test_results_have_the_same_rows(folder):
    record = read_json(folder / "debias.json")
    results = read_json(folder / "results.json")
    assert results["metrics"] == record["metrics"]
    assert results["run"]["method"] == "aflite"


def test_examples_are_ids_of_removed_problems(filtering, folder):
    record = read_json(folder / "debias.json")
    removed_ids = {problem.id for problem in filtering.removed}
    examples = record["overuse"]["words"][0]["examples"]
    assert examples
    assert set(examples) <= removed_ids


def test_names_of_folders_and_files_will_do(filtering, twins, tmp_path):
    save(filtering, str(tmp_path / "run"))
    assert (tmp_path / "run" / "kept.jsonl").is_file()
    features_path = tmp_path / "X.npy"
    np.save(features_path, np.ones((len(twins), 2)))
    features = read_features(str(features_path), twins)
    assert features.model == "X.npy"


def test_source_ids_are_not_written(tmp_path, twins):
    problems = []
    for problem in twins:
        source_id = f"x-{problem.answer + 1}"
        problems.append(problem.replace(provenance={"qID": source_id}))
    leaky = twins.with_problems(problems)
    debias(leaky, "random", size=2, compare=(), assess=False, out=tmp_path)
    kept_text = (tmp_path / "kept.jsonl").read_text()
    removed_text = (tmp_path / "removed.jsonl").read_text()
    assert "qID" not in kept_text
    assert "qID" not in removed_text
