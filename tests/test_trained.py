"""runs/trained.py: from records of jobs to the stores that the page's trained tables are written from."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1]))

from runs import figures, liu_trained, sets, trained, winogrande_aaai_trained, winogrande_trained
from runs.store import Record, Store
from runs.tables import all_tables
from winokit.problem import Card, Dataset, Problem

STEPS = (250, 3789)


def twins(name, pairs=20):
    made = []
    for at in range(pairs):
        for side, word in enumerate(("big", "small")):
            text = (f"The box {at} does not fit the bag {at} since ", f" is too {word}.")
            made.append(Problem(*text, (f"box {at}", f"bag {at}"), side, "it", group=f"{name}{at}"))
    return Dataset(made, Card(name))


def judged(name="superglue-wsc-val", count=20):
    made = [
        Problem(f"Jim yelled at Kevin number {at} because ", " was upset.", ("no", "yes"), at % 2, "he", query="Jim")
        for at in range(count)
    ]
    return Dataset(made, Card(name))


@pytest.fixture
def known():
    names = ("winogrande-dev", "wsc273", "pdp", "dpr-test", "dpr-train", "dpr-held-out")
    data = {name: twins(name) for name in names} | {"superglue-wsc-val": judged()}
    for name in ("wsc", "wsc-na", "winogrande"):
        data |= {f"{name}:{form}": twins(f"{name}{form}") for form in ("matched", "words")}
    empty = {"dpr": {"dpr-train": "trained on it"}}
    return sets.Sets(data, empty, parts=[], removed=np.zeros(1), confidence=np.zeros(1))


def answers(data, wrong=0):
    """Right but for the first so many."""
    return "".join(str(int(p.answer) if at >= wrong else 1 - int(p.answer)) for at, p in enumerate(data))


def told(known, job, tests, **more):
    """A job's record: by test set and step how many are wrong."""
    sheets = {}
    for name, marks in tests.items():
        data = known.data[name]
        sheets[name] = {
            str(step): {
                "predictions": answers(data, wrong),
                "rows": [["accuracy", "all", "accuracy", 1 - wrong / len(data), len(data), 0.1, 0.9, 0.5]],
            }
            for step, wrong in marks.items()
        }
    settings = {"formalization": "mc-sent", "seed": int(job.rsplit("/", 1)[1])}
    about = {"job": job, "settings": settings, "seconds": 6.0, "device": "NVIDIA H200", "versions": {"winokit": "1"}}
    return about | {"tests": sheets, "model": "mpnet", "steps": max(STEPS)} | more


def stores(tmp_path, known, *records):
    (tmp_path / "records").mkdir()
    for one in records:
        (tmp_path / "records" / f"{one['job'].replace('/', '__')}.json").write_text(json.dumps(one))
    return trained.write_stores(tmp_path, known, tmp_path / "out")


def test_records_become_stores_with_rows_and_predictions_by_step(tmp_path, known):
    winogrande, liu, square_one = stores(
        tmp_path, known, told(known, "transfer/xl/0", {"wsc273": {250: 20, 3789: 10}, "wsc:words": {3789: 4}})
    )
    again = Store(winogrande.path)
    record = again["transfer/xl/0"]
    assert set(record.predictions) == {"wsc273@250", "wsc273@3789"}
    assert record.predictions["wsc273@3789"] == answers(known.data["wsc273"], 10)
    assert trained.score(record, "wsc273").value == 0.75
    assert trained.score(record, "wsc273", 250).value == 0.5
    assert set(square_one["transfer/xl/0"].predictions) == {"wsc:words@3789"}
    assert trained.score(square_one["transfer/xl/0"], "wsc:words", None, "none_right").value == pytest.approx(2 / 20)
    assert list(liu.records) == ["sets"]


def test_steps_are_chosen_on_the_papers_set_and_not_on_what_was_trained_on(tmp_path, known):
    tests = {"wsc273": {250: 0, 3789: 8}, "pdp": {250: 9, 3789: 1}, "dpr-test": {250: 2, 3789: 3}}
    tests["dpr-train"] = {250: 0, 3789: 1}
    xl, dpr = (told(known, f"transfer/{arm}/0", tests) for arm in ("xl", "dpr"))
    store = stores(tmp_path, known, xl, dpr)[0]
    chosen = {test: trained.chosen_step(store["transfer/xl/0"], test, store) for test in tests}
    assert chosen == {"wsc273": 3789, "pdp": 250, "dpr-test": 250, "dpr-train": None}
    assert trained.chosen_step(store["transfer/dpr/0"], "dpr-test", store) is None


def test_a_difference_between_arms_is_that_of_their_means(tmp_path, known):
    records = [told(known, f"transfer/xl/{seed}", {"wsc273": {3789: wrong}}) for seed, wrong in enumerate((4, 8))]
    records += [told(known, f"transfer/dpr/{seed}", {"wsc273": {3789: 16}}) for seed in range(2)]
    store = stores(tmp_path, known, *records)[0]
    gap = store["difference/xl - dpr"].find("accuracy", "equal steps")
    assert gap.value == pytest.approx(0.25)
    assert gap.low < 0.25 < gap.high
    assert winogrande_trained.cell(store, "xl", "wsc273") == "85.0 ± 7.1"
    assert winogrande_trained.cell(store, "dpr>xl", "wsc273") == "not run"
    assert winogrande_trained.cell(store, "dpr", "dpr-train") == "–"


def test_a_search_comes_to_its_median_its_best_and_what_guessing_gets(tmp_path, known):
    trials = [
        told(known, f"liu/superglue-wsc/mpnet-head/mc-sent/0{at}", {"superglue-wsc-val": {60: wrong}})
        | {"chosen_on": "superglue-wsc-val"}
        for at, wrong in enumerate((4, 8, 6))
    ]
    store = stores(tmp_path, known, *trials)[1]
    found = store["search/superglue-wsc/mpnet-head/mc-sent"]
    assert (found.value("median"), found.value("best"), found.settings["trials"]) == (0.7, 0.8, 3)
    assert found.settings["best"].endswith("/00")
    assert found.find("median").chance == 0.5
    assert store["liu/superglue-wsc/mpnet-head/mc-sent/00"].value("yes_found") == 8
    assert "| MC-Sent | 3 | 70.0 |" in liu_trained.trials_table(store, "superglue-wsc")
    assert "| P-Span | not run |" in liu_trained.trials_table(store, "superglue-wsc")


def test_pairs_right_in_either_form_are_compared_pair_by_pair(tmp_path, known):
    sheets = {f"{name}:matched": {3789: 8} for name in ("wsc", "wsc-na", "winogrande")}
    words = {f"{name}:words": {3789: 4} for name in ("wsc", "wsc-na", "winogrande")}
    store = stores(tmp_path, known, told(known, "transfer/xl/0", sheets), told(known, "words/mc-sent/0", words))[2]
    gap = store["difference/words/mc-sent"].find("group_accuracy")
    assert gap.value == pytest.approx(2 / 20)
    assert gap.n == 20


def test_every_trained_table_can_be_written_where_nothing_was_run(tmp_path, known):
    known.data |= {test: twins(test, 2) for test in winogrande_trained.TESTS if test not in known.data}
    known.data |= {f"train:{size}": twins(size, 2) for size in winogrande_aaai_trained.CURVE}
    stores(tmp_path, known)
    for table in all_tables().values():
        if table.file is not None:
            for write in table.parts.values():
                assert "nan" not in write(table.store(tmp_path / "out"))


def test_figures_are_drawn_from_the_stores_that_have_something_to_draw(tmp_path, known, monkeypatch):
    known.data |= {f"train:{size}": twins(size, 2 + at) for at, size in enumerate(winogrande_aaai_trained.CURVE)}
    trial = told(known, "liu/superglue-wsc/mpnet-head/mc-sent/00", {"superglue-wsc-val": {60: 4}})
    points = [told(known, f"{name}/0", {"winogrande-dev": {3789: 8}}) for name in ("curve/xs", "transfer/xl")]
    stores(tmp_path, known, trial | {"chosen_on": "superglue-wsc-val"}, *points)
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "out")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    assert figures.main() == 0
    assert {path.name for path in (tmp_path / "docs").iterdir()} == {"curve-winogrande.png", "search-superglue-wsc.png"}


def test_predictions_stored_for_the_page_are_those_of_its_rows(tmp_path):
    """Each stored accuracy is the mean of something that can be counted: no value but a share of n."""
    for name in trained.STORES:
        for record in Store(trained.RESULTS / f"{name}.json").records.values():
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
