"""runs/trained.py: tables and figures that are made of stored training runs."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from runs import figures, trained
from runs.store import Record, Store
from runs.tables import RESULTS, row
from runs.trained_tables import reading


def test_predictions_stored_for_the_page_are_those_of_its_rows():
    """Each stored accuracy is the mean of something that can be counted: no value but a share of n."""
    for name in trained.STORES:
        for record in Store(RESULTS / f"{name}.json").records.values():
            assert_counted(record)


def assert_counted(record: Record):
    """Fail if an accuracy or a share of abstentions is no count of the stored predictions."""
    for metric in record.rows:
        if metric.subset != "all" or metric.dataset not in record.predictions:
            continue
        letters = record.predictions[metric.dataset]
        if metric.metric == "accuracy":
            right_count = metric.value * metric.n
            assert metric.n == len(letters), (record.key, metric.dataset)
            assert abs(right_count - round(right_count)) < 0.05
        if metric.metric == "abstained":
            assert metric.value == pytest.approx(letters.count("-") / len(letters), abs=1e-4)


def test_steps_are_chosen_on_the_papers_set_and_not_on_what_was_trained_on(tmp_path):
    rules = {"dpr-test": "dpr-train", "wsc273": "pdp"}
    empty = {"dpr": {"dpr-train": "trained on it"}}
    store = Store(tmp_path / "store.json")
    store.put(Record("sets", {}, texts={"rules": json.dumps(rules), "empty": json.dumps(empty)}))
    accuracies = {
        "pdp@250": 0.6,
        "pdp@500": 0.8,
        "pdp@1000": 0.8,
        "dpr-train@250": 0.9,
        "dpr-train@500": 0.5,
        "dpr-train@1000": 0.5,
    }
    rows = tuple(row(name, "accuracy", "all", "accuracy", value, 10) for name, value in accuracies.items())
    predictions = dict.fromkeys(accuracies, "0" * 10)
    xl = Record("transfer/xl/0", {}, rows, predictions)
    dpr = Record("transfer/dpr/0", {}, rows, predictions)
    assert trained.chosen_step(xl, "wsc273", store) == 500
    assert trained.chosen_step(xl, "dpr-test", store) == 250
    assert trained.chosen_step(dpr, "dpr-test", store) is None
    assert trained.chosen_step(xl, "pdp", store) is None


@pytest.mark.parametrize(
    ("difference", "by_seed", "with_runs", "verdict"),
    [
        ((0.5, 0.3, 0.7), (1, 0.5, 0.5), None, "one seed: no verdict"),
        ((0.4, 0.3, 0.5), (2, 0.40, 0.45), (0.2, 0.6), "higher, in each of 2 seeds"),
        ((0.3, 0.2, 0.4), (2, 0.15, 0.45), (-0.2, 0.8), "higher, in each of 2 seeds; open for other seeds"),
        ((0.0, -0.1, 0.1), (2, -0.02, 0.02), (-0.2, 0.2), "not distinguishable"),
        ((-0.4, -0.5, -0.3), (3, -0.9, 0.1), (-0.8, 0.1), "lower in the mean, not in every seed; open for other seeds"),
    ],
)
def test_a_verdict_takes_two_seeds_and_an_interval_without_zero(difference, by_seed, with_runs, verdict):
    """A difference is value, low and high; by seed it is the number of seeds, low and high; with runs low and high."""
    value, low, high = difference
    seed_count, seed_low, seed_high = by_seed
    meaning = ("dev", "difference", "all")
    difference_row = row(*meaning, "accuracy", value, 100, low=low, high=high)
    seeds_row = row(*meaning, "by_seed", value, seed_count, low=seed_low, high=seed_high)
    runs_row = None
    if with_runs is not None:
        runs_low, runs_high = with_runs
        runs_row = row(*meaning, trained.WITH_RUNS, value, seed_count, low=runs_low, high=runs_high)
    assert reading(difference_row, seeds_row, runs_row) == verdict


def test_figures_are_drawn_from_the_stored_runs(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    assert figures.main() == 0
    figure_names = {path.name for path in (tmp_path / "docs").iterdir()}
    assert figure_names == {"curve-winogrande.png", "curve-square-one.png", "trials-liu.png"}
