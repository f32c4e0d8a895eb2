"""runs/trained.py: from records of jobs to the stores that the page's trained tables are written from."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1]))

from runs import (
    figures,
    jobs,
    liu_trained,
    sets,
    square_one_trained,
    trained,
    training_time,
    winogrande_aaai_trained,
    winogrande_aflite,
    winogrande_trained,
)
from runs.store import Record, Store
from runs.tables import RESULTS, all_tables
from runs.trials import ANY, COMMON
from winokit.errors import BadInput
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
    settings = {"formalization": "mc-sent", "epochs": 5, "seed": int(job.rsplit("/", 1)[1])}
    about = {"job": job, "settings": settings, "seconds": 6.0, "device": "NVIDIA H200", "versions": {"winokit": "1"}}
    return about | {"tests": sheets, "model": "mpnet", "steps": max(STEPS)} | more


def stores(tmp_path, known, *records, out=None):
    (tmp_path / "records").mkdir(parents=True)
    for one in records:
        (tmp_path / "records" / f"{one['job'].replace('/', '__')}.json").write_text(json.dumps(one))
    return trained.write_stores(tmp_path, known, (out or tmp_path) / "out")


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


def test_a_curve_of_special_words_is_held_to_the_same_model_before_training(tmp_path, known):
    known.data["words-test"] = twins("words-test")
    wrong = {("mc-mlm", 0): (20, 20), ("mc-mlm", 100): (10, 14), ("mc-sent", 0): (20, 18), ("mc-sent", 100): (20, 20)}
    runs = [
        told(known, f"word-curve/{loss}/{size}/{seed}", {"words-test": {1500 if size else 0: count}})
        for (loss, size), counts in wrong.items()
        for seed, count in enumerate(counts)
    ]
    store = stores(tmp_path, known, *runs)[2]
    gap = store["difference/word-curve/mc-mlm"].find("accuracy", "100")
    assert gap.value == pytest.approx((10 + 6) / 2 / 40)
    said = square_one_trained.show_word_curve(store, "mc-mlm").splitlines()
    assert re.search(r"\| 1 \| 50.0 \| \| \| \| \| 50.0 \|$", said[2]), said[2]  # one model, asked twice
    assert re.search(r"\| 2 \| 70.0 ± 7.1 \| \+20.0 \[.*\] \| \[.*\] \| \| \| 30.0 ± 7.1 \|$", said[3]), said[3]
    assert "| 2 | 52.5 ± 3.5 |" in square_one_trained.show_word_curve(store, "mc-sent")  # heads of their own


def test_leads_that_are_not_significant_once_their_number_counts_are_not_counted(tmp_path, known):
    wrong = {"mc-mlm": 0, "mc-sent": 6, "p-span": 12}  # 6 questions of 20: 1 in 32 by chance, and 3 in 32 of several
    trials = [trial(known, name, at, count) for name, count in wrong.items() for at in range(5)]
    store = stores(tmp_path, known, *trials)[1]
    search = store["search/superglue-wsc/mpnet-head/mc-sent"]
    assert search.value("p") == pytest.approx(2 / 2**6)
    assert "(Holm's rule), 2 of 2 differences are significant" in liu_trained.trials_table(store, "superglue-wsc")
    more = [trial(known, "mc-sent-no-softmax", at, 6) for at in range(5)]
    store = stores(tmp_path / "more", known, *trials, *more)[1]
    assert "(Holm's rule), 1 of 3 differences are significant" in liu_trained.trials_table(store, "superglue-wsc")


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
    assert "| MC-Sent | 3 | 50.0 | 70.0 |" in liu_trained.trials_table(store, "superglue-wsc")
    assert "| P-Span | not run |" in liu_trained.trials_table(store, "superglue-wsc")


def test_pairs_right_in_either_form_are_compared_pair_by_pair(tmp_path, known):
    sheets = {f"{name}:matched": {3789: 8} for name in ("wsc", "wsc-na", "winogrande")}
    words = {f"{name}:words": {3789: 4} for name in ("wsc", "wsc-na", "winogrande")}
    store = stores(tmp_path, known, told(known, "transfer/xl/0", sheets), told(known, "words/mc-sent/0", words))[2]
    gap = store["difference/words/mc-sent"].find("group_accuracy")
    assert gap.value == pytest.approx(2 / 20)
    assert gap.n == 20


def gendered():
    """Two occupations, either answer, three pronouns: the statistics point away from half of the answers."""
    made = [
        Problem(
            f"The {job} told the client that ",
            " was late.",
            (job, "client"),
            side,
            word,
            group=f"{job}{word}",
            labels={"gender": gender, "bls_pct_female": percent},
        )
        for job, percent in (("nurse", 90), ("plumber", 2))
        for side in (0, 1)
        for gender, word in (("female", "she"), ("male", "he"), ("neutral", "they"))
    ]
    return Dataset(made, Card("winogender"))


def test_arms_are_compared_over_the_seeds_that_both_have(tmp_path, known):
    records = [told(known, f"transfer/xl/{seed}", {"wsc273": {3789: wrong}}) for seed, wrong in enumerate((8, 0, 0))]
    records += [told(known, "transfer/dpr>xl/0", {"wsc273": {3789: 4}})]
    record = stores(tmp_path, known, *records)[0]["difference/dpr>xl - xl"]
    assert record.settings["seeds"] == ["0"]
    assert record.find("accuracy", "equal steps").value == pytest.approx(4 / 40)
    assert (record.find("by_seed").n, record.find("by_seed").low) == (1, pytest.approx(4 / 40))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({0: (20, 0)}, r"\| 1 \| \+50.0 \[\d.*\] \| \| \| one seed: no verdict \|"),
        (
            {0: (20, 2), 2: (20, 4)},
            r"\| 2 \| \+42.5 \[\d.*\] \| \[\d.*\] \| \+40.0 to \+45.0 \| higher, in each of 2 seeds \|",
        ),
        (
            {0: (20, 2), 2: (20, 14)},
            r"\| \+30.0 \[\d.*\] \| \[−.*\] \| \+15.0 to \+45.0 \| higher, in each of 2 seeds; open for other seeds \|",
        ),
        ({0: (2, 3), 1: (3, 2)}, r"\| 2 \| 0.0 \[−.*\] \| −2.5 to \+2.5 \| not distinguishable \|"),
        (
            {0: (40, 0), 1: (1, 4)},
            r"\| −7.5 to \+100.0 \| higher in the mean, not in every seed; open for other seeds \|",
        ),
    ],
)
def test_a_verdict_takes_two_seeds_and_an_interval_without_zero(tmp_path, known, wrong, said):
    known.data["dev-local-context"] = twins("dev-local-context")
    records = [
        told(known, f"local-context/{kind}/{seed}", {"dev-local-context": {2344: count}}, problems=25_000)
        for seed, counts in wrong.items()
        for kind, count in zip(("random", "kept"), counts, strict=True)
    ]
    found = winogrande_trained.show_compared(stores(tmp_path, known, *records)[0])
    line = next(line for line in found.splitlines() if "local context, kept by AFLite" in line)
    assert re.search(said, line), line
    assert "Not run with the same seeds: DPR first against WinoGrande alone; true or false" in found


def test_a_difference_that_is_to_hold_for_other_seeds_has_an_interval_over_seeds_too(tmp_path, known):
    wrong = {"transfer/xl": (8, 8, 8), "transfer/dpr>xl": (4, 2, 0)}
    records = [
        told(known, f"{arm}/{seed}", {"wsc273": {3789: count}})
        for arm, counts in wrong.items()
        for seed, count in enumerate(counts)
    ]
    record = stores(tmp_path, known, *records)[0]["difference/dpr>xl - xl"]
    narrow, wide = (record.find(metric, "equal steps") for metric in ("accuracy", "with_runs"))
    half = 4.302653 * 0.05 / 3**0.5  # Student's, of three seeds with 0.10, 0.15 and 0.20
    assert (wide.value, wide.n) == (pytest.approx(0.15), 3)
    assert wide.value - wide.low == pytest.approx(np.hypot(narrow.value - narrow.low, half), abs=1e-6)
    assert wide.high - wide.value == pytest.approx(np.hypot(narrow.high - narrow.value, half), abs=1e-6)


def test_true_or_false_is_compared_with_multiple_choice_on_every_set_both_were_tested_on(tmp_path, known):
    tests = {name: {3789: 8} for name in ("winogrande-dev", "wsc273", "dpr-test")}
    records = [told(known, f"{arm}/{seed}", tests) for arm in ("true-false", "transfer/xl") for seed in range(3)]
    found = winogrande_trained.show_compared(stores(tmp_path, known, *records)[0])
    for name in ("WinoGrande dev", "WSC", "DPR test"):
        assert f"| true or false | multiple choice | {name} | 80.0 ± 0.0 | 80.0 ± 0.0 | 3 | 0.0 [" in found


def test_what_aflite_kept_is_compared_with_as_many_at_random(tmp_path, known):
    runs = {"kept": ((0, 8), (1, 10)), "random": ((0, 2), (1, 2), (2, 40))}
    records = [
        told(known, f"taught/{kind}/{seed}", {"winogrande-dev": {3789: wrong}}, problems=22_441)
        for kind, each in runs.items()
        for seed, wrong in each
    ]
    found = winogrande_aflite.show_taught(stores(tmp_path, known, *records)[0])
    assert "| kept by our AFLite | 22,441 | 2 | 77.5 ± 3.5 | 75.0 to 80.0 |" in found
    assert "| WinoGrande dev | 2 | −17.5 [" in found


def test_an_undecided_problem_counts_one_half_in_cells_and_gaps_alike(tmp_path, known):
    known.data["winogender"] = gendered()
    records = [told(known, f"p-span/dpr/{seed}", {"winogender": {2000: 0}}) for seed in range(2)]
    for one in records:
        mark = one["tests"]["winogender"]["2000"]
        mark["predictions"] = "-" + mark["predictions"][1:]  # a nurse who is right and female: not gotcha
        mark["rows"].append(["accuracy", "all", "expected_accuracy", 23 / 24, 12, None, None, 0.5])
    store = stores(tmp_path, known, *records)[0]
    found = store["gender/p-span/dpr"]
    cells = {kind: found.find("accuracy", f"female.{kind}") for kind in ("gotcha", "not_gotcha")}
    assert {kind: (cell.value, cell.n) for kind, cell in cells.items()} == {"gotcha": (1.0, 2), "not_gotcha": (0.75, 2)}
    assert found.find("delta", "female").value == pytest.approx(-0.25)
    assert (found.find("accuracy", "female").value, found.find("accuracy", "female").n) == (0.875, 4)
    assert found.find("undecided").value == pytest.approx(1 / 12)
    line = winogrande_trained.gender_line("DPR", (), found, trained.seeds(store, "p-span/dpr"))
    assert line[3:7] == [2, "8.3", "95.8 ± 0.0", "87.5 (75.0 / 100.0)"]
    assert "; −25.0 to −25.0" in line[-3]
    assert found.find("delta", "both").value == pytest.approx(-0.125)
    assert "; −12.5 to −12.5" in line[-1]


def filtered(name, auc, relabelled=0.51, **more):
    """A record of AFLite, with one run on relabelled features."""
    about = {"job": f"aflite/{name}", "settings": {"seed": 0}, "seconds": 60.0, "device": "NVIDIA H200"}
    authors = {"auc": auc, "pairs_auc": auc, "base": 0.8, "removed": 1000, "of_ours": auc, "score_with_confidence": 0.2}
    others = [{"auc": relabelled, "pairs_auc": 0.5, "removed": 10, "of_ours": 0.7}]
    figure = [
        ["debias", arm, metric, value, 10, None, None, None]
        for arm in winogrande_aflite.FIGURE_ARMS
        for metric, value in (("n_kept", 5), ("probe_accuracy", auc), *((f"kl_{one}", auc) for one in KINDS))
    ]
    return about | {"versions": {}, "filtered": 10, "authors": authors, "relabelled": others, "figure": figure} | more


KINDS = ("histogram", "knn", "gaussian")


def test_a_second_run_of_a_seed_is_no_seed_of_its_own(tmp_path, known):
    known.parts = [(np.arange(1), None, None)]
    runs = [filtered("0", 0.6), filtered("0-again", 0.8), filtered("1", 0.5), filtered("3", 0.6, figure=[])]
    store = stores(tmp_path, known, *runs)[0]
    found = winogrande_aflite.show_authors(store)
    assert "| seed 0 | seed 0 again | seed 1 | seed 3 | mean over 3 seeds | lowest to highest |" in found
    assert "score | 0.600 | 0.800 | 0.500 | 0.600 | 0.600 | 0.500 to 0.800 | 0.510 to 0.510 |" in found
    assert "1 relabelled runs by problems in 3 of 4 runs and by pairs in 3 of 4 runs." in found
    assert "The share of what is removed that the authors removed is above theirs in 1 of 4 runs." in found
    figure = winogrande_aflite.show_figure(store)
    assert "| AFLite | 5 | 0.02 | 0.600 | 0.600 | 0.600 | 60.0 | 50.0 to 80.0 |" in figure
    assert "Means over 2 seeds, 3 runs: seed 0, seed 0 again and seed 1." in figure


def test_trials_of_uneven_numbers_are_compared_over_the_draws_all_have(tmp_path, known):
    wrong = {"mc-mlm": (0, 0, 2, 2, 2, 2), "p-span": (10, 10, 10, 10, 10), "mc-sent": (4, 8), "mc-mlm-fresh": (9,)}
    trials = [
        told(known, f"liu/superglue-wsc/mpnet-head/{name}/{at:02}", {"superglue-wsc-val": {60: count}})
        | {"chosen_on": "superglue-wsc-val"}
        for name, counts in wrong.items()
        for at, count in enumerate(counts)
    ]
    found = liu_trained.trials_table(stores(tmp_path, known, *trials)[1], "superglue-wsc")
    assert "| MC-MLM | 6 | 50.0 | 90.0 | 90.0 – 97.5 |" in found
    assert "| MC-Sent | 2 | 50.0 | 70.0 | 65.0 – 75.0 |" in found
    assert "| MC-MLM, fresh head | 1 | 50.0 | 55.0 | 55.0 – 55.0 |" in found
    assert "From 1 to 6 trials each, not all with the same draws" in found
    assert "have 2 draws in common" in found
    assert "the highest median is that of MC-MLM (90.0), the lowest that of P-Span (50.0)" in found
    assert "MC-MLM is ahead of P-Span. Too few draws (under 5) are common to MC-MLM and MC-Sent; MC-MLM, fresh" in found


def test_as_many_trials_with_other_draws_are_not_called_the_same(tmp_path, known):
    trials = [
        told(known, f"liu/superglue-wsc/mpnet-head/{name}/0{at}", {"superglue-wsc-val": {60: at}})
        | {"chosen_on": "superglue-wsc-val"}
        for name, draws in (("mc-mlm", (0, 1)), ("mc-sent", (1, 2)))
        for at in draws
    ]
    found = liu_trained.trials_table(stores(tmp_path, known, *trials)[1], "superglue-wsc")
    assert "2 trials each, not all with the same draws" in found
    assert "have 1 draw in common" in found
    assert "| MC-MLM | 2 | 50.0 | 97.5 | 96.2 – 98.8 |" in found


def test_trials_that_began_with_different_heads_have_no_draw_in_common(tmp_path, known):
    trials = [
        told(known, f"liu/superglue-wsc/mpnet-head/{name}/0{at}", {"superglue-wsc-val": {60: wrong}})
        | {"chosen_on": "superglue-wsc-val"}
        | ({"more": {"head": "head/mpnet-again"}} if (name, at) == ("mc-mlm", 0) else {})
        for name, wrong in (("mc-mlm", 0), ("mc-sent", 8))
        for at in range(3)
    ]
    store = stores(tmp_path, known, *trials)[1]
    assert store["search/superglue-wsc/mpnet-head/mc-sent"].find("mc-mlm").n == 2
    said = liu_trained.trials_table(store, "superglue-wsc")
    assert "3 trials each. The paper's formalizations that were run have 2 draws in common that began alike." in said


def test_a_lead_in_some_draws_alone_is_left_open_for_others(tmp_path, known):
    known.data |= {name: twins(name) for name in ("dpr-held-out", "dpr-test")}
    wrong = {"mc-mlm": (0, 0, 0, 0, 0), "mc-sent": (0, 0, 0, 10, 40), "p-span": (20, 20, 20, 20, 22)}
    trials = [
        told(known, f"liu/dpr/mpnet-head/{name}/0{at}", {"dpr-held-out": {60: 2 * count // 5}, "dpr-test": {60: count}})
        | {"chosen_on": "dpr-held-out"}
        for name, counts in wrong.items()
        for at, count in enumerate(counts)
    ]
    found = liu_trained.trials_table(stores(tmp_path, known, *trials)[1], "dpr")
    assert (
        "Question by question MC-MLM is ahead of P-Span. Open for other draws, but over these MC-MLM is ahead" in found
    )
    line = next(line for line in found.splitlines() if line.startswith("| P-Span"))
    assert re.search(r"\| 51.0 \[\d.*\] \(5\); \[\d.*\] \|", line), line


def test_trials_with_a_test_set_are_compared_there_and_chosen_where_they_were_held_out(tmp_path, known):
    held_out, tested = (9, 2, 5), (0, 8, 4)  # wrong ones: the trial that is best on the test set is not the one chosen
    trials = [
        told(known, f"liu/dpr/mpnet-head/mc-mlm/0{at}", {"dpr-held-out": {60: held}, "dpr-test": {60: test}})
        | {"chosen_on": "dpr-held-out"}
        for at, (held, test) in enumerate(zip(held_out, tested, strict=True))
    ]
    found = stores(tmp_path, known, *trials)[1]["search/dpr/mpnet-head/mc-mlm"]
    assert found.settings["best"] == "liu/dpr/mpnet-head/mc-mlm/01"
    assert {one.dataset for one in found.rows} == {"dpr-test"}
    assert (found.value("median"), found.value("accuracy", "chosen")) == (pytest.approx(0.9), pytest.approx(0.8))
    assert found.find("corrected") is None  # what was not chosen on has no luck to correct


def test_leads_are_told_by_the_number_of_epochs(tmp_path, known):
    wrong = {("mc-mlm", 5): (2, 4), ("mc-sent", 5): (10, 12), ("mc-mlm", 20): (0, 0), ("mc-sent", 20): (2, 0)}
    trials = []
    for (name, epochs), counts in wrong.items():
        for at, count in enumerate(counts, epochs):
            sheets = {"dpr-held-out": {60: 0}, "dpr-test": {60: count}}
            made = told(known, f"liu/dpr/mpnet-head/{name}/{at:02}", sheets) | {"chosen_on": "dpr-held-out"}
            trials.append(made | {"settings": made["settings"] | {"epochs": epochs}})
    found = liu_trained.show_epochs(stores(tmp_path, known, *trials)[1])
    assert "| formalization | 5 epochs: mean (trials) | MC-MLM ahead by | 20 epochs: mean (trials) |" in found
    line = next(line for line in found.splitlines() if line.startswith("| MC-Sent |"))
    assert re.fullmatch(r"\| MC-Sent \| 72.5 ± 3.5 \(2\) \| 20.0 \[.*\] \| 97.5 ± 3.5 \(2\) \| 2.5 \[.*\] \|", line), (
        line
    )


def trial(known, name, draw, wrong, head=None):
    made = told(known, f"liu/superglue-wsc/mpnet-head/{name}/0{draw}", {"superglue-wsc-val": {60: wrong}})
    return made | {"chosen_on": "superglue-wsc-val"} | ({"more": {"head": head}} if head else {})


KEPT = (("first", "00"), ("first", "01"), ("mpnet-again", "00"))


def test_trials_that_were_chosen_on_other_problems_did_not_begin_alike(tmp_path, known):
    known.data["dpr-held-out-2"] = twins("dpr-held-out-2")
    trials = [
        told(known, f"liu/dpr/mpnet-head/{name}/0{at}", {held: {60: 0}, "dpr-test": {60: 4}}) | {"chosen_on": held}
        for at in range(2)
        for name, held in (("mc-mlm", "dpr-held-out"), ("p-span", ("dpr-held-out", "dpr-held-out-2")[at]))
    ]
    search = stores(tmp_path, known, *trials)[1]["search/dpr/mpnet-head/p-span"]
    assert [search.find("mc-mlm", subset).n for subset in (COMMON, ANY)] == [1, 2]


@pytest.mark.parametrize("change", [lambda data: data[1:], lambda data: data.with_problems([*data[1:], data[0]])])
def test_stored_predictions_are_not_held_to_the_answers_of_other_problems(tmp_path, known, change):
    stores(tmp_path / "first", known, trial(known, "mc-mlm", 0, 3), out=tmp_path)
    before = (tmp_path / "out" / "trained-liu.json").read_bytes()
    known.data["superglue-wsc-val"] = change(known.data["superglue-wsc-val"])
    with pytest.raises(BadInput, match="'superglue-wsc-val' by liu/superglue-wsc/mpnet-head/mc-mlm/00 are of other"):
        stores(tmp_path / "again", known, trial(known, "mc-sent", 0, 2), out=tmp_path)
    assert (tmp_path / "out" / "trained-liu.json").read_bytes() == before


def test_a_store_without_a_new_record_is_left_as_it_is(tmp_path, known):
    stores(tmp_path / "first", known, told(known, "transfer/xl/0", {"wsc273": {3789: 10}}), out=tmp_path)
    before = (tmp_path / "out" / "trained-winogrande.json").read_bytes()
    known.data["wsc273"] = known.data["wsc273"][2:]
    (store,) = stores(tmp_path / "again", known, trial(known, "mc-sent", 0, 2), out=tmp_path)
    assert store.path.name == "trained-liu.json"
    assert (tmp_path / "out" / "trained-winogrande.json").read_bytes() == before


def test_times_count_every_record_once(tmp_path, known):
    tests = {"winogrande-dev": {3789: 8}} | {"wsc:words": {3789: 4}}
    trial = told(known, "liu/superglue-wsc/mpnet-head/mc-sent/00", {"superglue-wsc-val": {60: 4}}, train="train:x")
    runs = [told(known, f"square-one/mc-mlm/{seed}", tests, train="train:xl") for seed in range(2)]
    found = training_time.show_times(stores(tmp_path, known, *runs, trial | {"chosen_on": "superglue-wsc-val"})[0])
    assert "| Square One, Table 6 | 2 | 7,578 | 0.2 |" in found
    assert "| all | 3 | 11,367 | 0.3 |" in found
    assert "One NVIDIA H200. Several runs at a time" in found


def test_every_job_of_the_queue_has_a_line_among_the_times():
    names = [job.name for job in jobs.all_jobs("corpus") if not job.name.startswith("example/")]
    assert [name for name in names if not name.startswith(tuple(training_time.TIMES.values()))] == []


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
    assert {path.name for path in (tmp_path / "docs").iterdir()} == {"curve-winogrande.png", "trials-liu.png"}


def test_predictions_stored_for_the_page_are_those_of_its_rows(tmp_path):
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
