"""The training of a table: through `winokit train`, resumed, and checked against its settings, weights and data."""

import json
import lzma
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[1]))

from support.training import bert, easy, one_thread, planted, tiny, unseen  # noqa: F401

from runs import sets, training
from runs.protocol_jobs import jobs_of_table
from runs.sets import Sets
from runs.store import Store, chosen
from runs.tables import RESULTS
from runs.training import Order
from winokit.errors import BadInput

TABLE = "winogrande-4-trained"
FIRST = "winogrande/4/dpr/0"
SECOND = "winogrande/4/dpr-debiased/0"


def read_sets(path):
    return pickle.loads(lzma.decompress(path.read_bytes()))


def write_sets(path, datasets):
    path.write_bytes(lzma.compress(pickle.dumps(Sets(datasets))))


@pytest.fixture
def order(bert, planted, tmp_path):  # noqa: F811
    datasets = {
        "train:dpr": planted,
        "train:debiased": planted,
        "winogrande-dev": easy(20, 30, "test0"),
        "dpr-test": easy(20, 31, "test1"),
        "wsc273": easy(20, 32, "test2"),
    }
    path = tmp_path / "sets.pkl.xz"
    write_sets(path, datasets)
    return Order("tiny", bert, tmp_path, tmp_path / "out", path, "cpu", steps=4, only=(FIRST, SECOND))


def test_a_table_is_trained_goes_on_and_is_not_trained_twice(order, capfd, monkeypatch):
    assert training.run_table(TABLE, replace(order, minutes=1e-9)) == 0
    assert "the minutes are over; 2 jobs left for the next time" in capfd.readouterr().out
    assert training.run_table(TABLE, replace(order, only=(SECOND,))) == 1
    output = capfd.readouterr().out
    assert f"{SECOND}: not begun: waits for the weights of {FIRST}" in output
    assert "0 of 1 job done" in output
    assert training.run_table(TABLE, order) == 0
    output = capfd.readouterr().out
    assert "2 of 2 jobs done" in output
    assert "A try, not a result: at most 4 steps." in output
    records = Store(order.out / f"{TABLE}.json").records
    assert list(records) == [FIRST, SECOND]
    assert records[SECOND].settings["after"] == FIRST
    assert len(records[FIRST].predictions["winogrande-dev"]) == 20
    assert records[FIRST].settings["weights"]
    assert not order.folder(SECOND).exists()  # no job begins with these weights
    monkeypatch.setattr(training, "work", lambda *_: pytest.fail("done again"))
    assert training.run_table(TABLE, order) == 0
    for changed_order in (replace(order, steps=3), replace(order, spec="builtin")):
        with pytest.raises(BadInput, match=r"a record of .* with another .*choose another --out"):
            training.run_table(TABLE, changed_order)


def test_a_record_names_its_settings_weights_and_data(order, planted):  # noqa: F811
    job = order.jobs(TABLE)[0]
    data = read_sets(order.sets).data
    record = training.trained(job, order, data)
    Store(order.record_path(job)).put(record)
    training.check_record(job, order, data)
    changed = {**data, "wsc273": data["wsc273"][:10]}
    with pytest.raises(BadInput, match="another test_data"):
        training.check_record(job, order, changed)
    with pytest.raises(BadInput, match="another train_data"):
        training.check_record(job, order, {**data, "train:dpr": planted[:10]})
    content = json.loads(order.record_path(job).read_text("utf-8"))
    content["runs"][job.name]["settings"]["weights"] = "others"
    order.record_path(job).write_text(json.dumps(content), "utf-8")
    with pytest.raises(BadInput, match="another weights"):
        training.check_record(job, order, data)


def test_a_trial_is_reported_on_the_set_that_its_epoch_is_chosen_on(order, planted):  # noqa: F811
    data = {"train:liu-superglue-wsc": planted, "superglue-wsc-val": easy(20, 40, "val")}
    write_sets(order.sets, data)
    trial = "liu/superglue-wsc/mc-sent/0"
    assert training.run_table("liu-1", replace(order, only=(trial,))) == 0
    record = Store(order.out / "liu-1.json").records[trial]
    assert list(record.predictions) == ["superglue-wsc-val"]
    (accuracy,) = (row for row in record.rows if row.metric == "accuracy")
    answers = [problem.answer for problem in data["superglue-wsc-val"]]
    choices = chosen(record.predictions["superglue-wsc-val"])
    right = sum(choice == answer for choice, answer in zip(choices, answers, strict=True))
    assert accuracy.dataset == "superglue-wsc-val"
    assert accuracy.subset == "all"
    assert accuracy.value == right / 20


def test_a_random_subset_has_as_many_pairs_and_lone_problems_as_the_set_it_is_beside(planted):  # noqa: F811
    pairs = sets.twin_pairs(planted)
    model = planted.with_problems([*pairs[0], *pairs[1], pairs[2][0], pairs[3][1], pairs[4][0]])
    first = sets.drawn_like(planted, model, 0)
    second = sets.drawn_like(planted, model, 1)
    for subset in (first, second):
        assert len(subset) == 7
        assert len(sets.twin_pairs(subset)) == 2
    assert {problem.id for problem in first} != {problem.id for problem in second}
    with pytest.raises(BadInput, match="too few for a subset"):
        sets.drawn_like(model, planted, 0)


def test_a_job_that_is_refused_counts_and_says_why(order, bert, tmp_path, capfd):  # noqa: F811
    datasets = read_sets(order.sets).data
    del datasets["wsc273"]
    write_sets(order.sets, datasets)
    with pytest.raises(SystemExit, match="2"):
        training.work(order.jobs(TABLE)[0], order)
    assert f"runs: {FIRST}: wsc273: not among the prepared datasets" in capfd.readouterr().err


def test_what_is_trained_never_touches_published_results(order):
    before = {path.name: path.stat().st_mtime_ns for path in RESULTS.glob("*.json")}
    with pytest.raises(BadInput, match="runs/results holds what is published"):
        training.run_table(TABLE, replace(order, out=RESULTS))
    assert before == {path.name: path.stat().st_mtime_ns for path in RESULTS.glob("*.json")}


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"no model; expected a folder with config\.json"):
        training.check_weights(f"hf:{tmp_path}")


def test_no_published_record_is_a_try():
    for path in RESULTS.glob("*.json"):
        for record in Store(path).records.values():
            assert not record.settings.get("try"), f"{path.name}: {record.key}"
            assert record.settings.get("limit") is None, f"{path.name}: {record.key}"


def test_jobs_of_a_table_come_in_the_order_of_their_file():
    names = [job.name for job in jobs_of_table(TABLE)]
    assert names[:4] == [FIRST, "winogrande/4/debiased/0", SECOND, "winogrande/4/random/0"]
    assert len(names) == 50
