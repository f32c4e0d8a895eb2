import json

import numpy as np
import pytest

from winokit.data.formats import read
from winokit.results import CONTRACT, Metric
from winokit.stages.debias.features import read_features
from winokit.stages.debias.run import debias
from winokit.stages.debias.table import save


@pytest.fixture(scope="module")
def folder(filtering, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filtering") / "run"
    save(filtering, folder)
    return folder


def test_the_problems_can_be_read_again(filtering, folder):
    kept, removed = (read(folder / f"{name}.jsonl") for name in ("kept", "removed"))
    assert [p.id for p in kept] == [p.id for p in filtering.kept]
    assert [p.labels for p in removed] == [p.labels for p in filtering.removed]
    assert {p.labels["kept_share"] for p in kept} <= {0.5, 1.0}
    assert kept.card == filtering.dataset.card


def test_the_record_has_settings_history_null_and_rows(filtering, folder):
    record = json.loads((folder / "debias.json").read_text("utf-8"))
    assert record["methods"]["aflite"]["train_size"] == 640
    assert len(record["history"]) == len(filtering.chosen.history)
    assert {"number", "rows", "removed", "at_threshold", "accuracy", "seconds"} <= set(record["history"][0])
    assert record["null"]["removed"] == record["problems"] - record["kept"]
    assert [Metric.from_json(row) for row in record["metrics"]] == filtering.metrics
    assert all(list(row)[: len(CONTRACT)] == list(CONTRACT) for row in record["metrics"])
    tested = {row["metric"] for row in record["metrics"] if row["null"] is not None}
    assert tested == {"probe_accuracy"}
    assert record["content_hash"] == filtering.dataset.content_hash


def test_results_have_the_same_rows(folder):
    record, results = (json.loads((folder / name).read_text("utf-8")) for name in ("debias.json", "results.json"))
    assert results["metrics"] == record["metrics"]
    assert results["run"]["method"] == "aflite"


def test_examples_are_ids_of_removed_problems(filtering, folder):
    record = json.loads((folder / "debias.json").read_text("utf-8"))
    removed = {problem.id for problem in filtering.removed}
    first = record["overuse"]["words"][0]
    assert first["examples"]
    assert set(first["examples"]) <= removed


def test_names_of_folders_and_files_will_do(filtering, twins, tmp_path):
    save(filtering, str(tmp_path / "run"))
    assert (tmp_path / "run" / "kept.jsonl").is_file()
    np.save(tmp_path / "X.npy", np.ones((len(twins), 2)))
    assert read_features(str(tmp_path / "X.npy"), twins).model == "X.npy"


def test_source_ids_are_not_written(tmp_path, twins):
    leaky = twins.with_problems(p.replace(provenance={"qID": f"x-{p.answer + 1}"}) for p in twins)
    debias(leaky, "random", size=2, compare=(), assess=False, out=tmp_path)
    assert "qID" not in (tmp_path / "kept.jsonl").read_text() + (tmp_path / "removed.jsonl").read_text()
