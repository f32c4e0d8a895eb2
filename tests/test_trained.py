"""runs/trained.py: stored runs, and what tables and figures make of them."""

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
    for place, letters in record.predictions.items():
        own = [one for one in record.rows if one.dataset == place and one.subset == "all"]
        for one in own:
            if one.metric == "accuracy":
                assert one.n == len(letters), (record.key, place)
                assert abs(one.value * one.n - round(one.value * one.n)) < 0.05
            if one.metric == "abstained":
                assert one.value == pytest.approx(letters.count("-") / len(letters), abs=1e-4)


def test_steps_are_chosen_on_the_papers_set_and_not_on_what_was_trained_on(tmp_path):
    rules = {"dpr-test": "dpr-train", "wsc273": "pdp"}
    empty = {"dpr": {"dpr-train": "trained on it"}}
    store = Store(tmp_path / "store.json")
    store.put(Record("sets", {}, texts={"rules": json.dumps(rules), "empty": json.dumps(empty)}))
    values = {"pdp": (0.6, 0.8, 0.8), "dpr-train": (0.9, 0.5, 0.5)}
    rows = [
        row(f"{name}@{step}", "accuracy", "all", "accuracy", value, 10)
        for name, own in values.items()
        for step, value in zip((250, 500, 1000), own, strict=True)
    ]
    predictions = {one.dataset: "0" * 10 for one in rows}
    xl, dpr = (Record(f"transfer/{arm}/0", {}, tuple(rows), predictions) for arm in ("xl", "dpr"))
    assert trained.chosen_step(xl, "wsc273", store) == 500
    assert trained.chosen_step(xl, "dpr-test", store) == 250
    assert trained.chosen_step(dpr, "dpr-test", store) is None
    assert trained.chosen_step(xl, "pdp", store) is None


@pytest.mark.parametrize(
    ("whole", "by_seed", "wide", "said"),
    [
        ((0.5, 0.3, 0.7), (1, 0.5, 0.5), None, "one seed: no verdict"),
        ((0.4, 0.3, 0.5), (2, 0.40, 0.45), (0.2, 0.6), "higher, in each of 2 seeds"),
        ((0.3, 0.2, 0.4), (2, 0.15, 0.45), (-0.2, 0.8), "higher, in each of 2 seeds; open for other seeds"),
        ((0.0, -0.1, 0.1), (2, -0.02, 0.02), (-0.2, 0.2), "not distinguishable"),
        ((-0.4, -0.5, -0.3), (3, -0.9, 0.1), (-0.8, 0.1), "lower in the mean, not in every seed; open for other seeds"),
    ],
)
def test_a_verdict_takes_two_seeds_and_an_interval_without_zero(whole, by_seed, wide, said):
    value, low, high = whole
    place = ("dev", "difference", "all")
    difference = row(*place, "accuracy", value, 100, low=low, high=high)
    seeds = row(*place, "by_seed", value, by_seed[0], low=by_seed[1], high=by_seed[2])
    with_runs = None if wide is None else row(*place, trained.WITH_RUNS, value, by_seed[0], low=wide[0], high=wide[1])
    assert reading(difference, seeds, with_runs) == said


def test_figures_are_drawn_from_the_stored_runs(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    assert figures.main() == 0
    drawn = {path.name for path in (tmp_path / "docs").iterdir()}
    assert drawn == {"curve-winogrande.png", "curve-square-one.png", "trials-liu.png"}
