from dataclasses import replace

import pytest
from support.copies import repeated, thrice

from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.judge_pairs import WORDS
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.stages.compare.page import ComparePage
from winokit.stages.compare.pairs import compare_runs
from winokit.stages.compare.run import compare
from winokit.stages.compare.table import as_json, lines

OPEN = load("open")


def run(right, dataset=OPEN, model="m"):
    """A run whose predictions are right where `right` says so."""
    rows = [
        Prediction(p.id, "original", model, "own", None, p.answer if right(i) else 1 - p.answer, p.answer)
        for i, p in enumerate(dataset)
    ]
    return Run({}, [], rows, dataset)


def test_the_same_predictions_do_not_differ():
    found = compare_runs({"a": run(lambda i: i % 3), "b": run(lambda i: i % 3)})
    assert [(name[2], c.difference, c.p) for name, c in found.items()] == [
        ("accuracy", 0.0, 1.0),
        ("group_accuracy", 0.0, 1.0),
    ]


def test_group_accuracy_sees_what_accuracy_does_not():
    """Both get half right: one whole groups, the other one twin of each."""
    whole = run(lambda i: (i // 2) % 2)
    torn = run(lambda i: i % 2)
    found = {name[2]: c for name, c in compare_runs({"whole": whole, "torn": torn}).items()}
    assert found["accuracy"].difference == 0.0
    assert found["group_accuracy"].difference == pytest.approx(0.5)
    assert found["group_accuracy"].p < 1e-6


def test_twins_are_one_group_of_the_test():
    """Ten pairs that one gets wrong and the other right: ten signs, and not twenty."""
    found = compare_runs({"a": run(lambda i: True), "b": run(lambda i: i >= 20)})["a", "b", "accuracy"]
    assert (found.n, found.unit_count) == (428, 214)
    assert 2 / 2**10 <= found.p < 0.01


def test_what_hangs_together_by_its_text_is_one_group_of_the_test():
    """He, she and they in one text that a scorer reads alike: three problems, one sign."""
    texts = Dataset(
        Problem(f"The clerk paid cook {text} because ", " was kind.", ("the clerk", "the cook"), 0, pronoun)
        for text in range(8)
        for pronoun in ("he", "she", "they")
    )
    found = compare_runs({"a": run(lambda i: True, texts), "b": run(lambda i: False, texts)})
    assert (found["a", "b", "accuracy"].n, found["a", "b", "accuracy"].unit_count) == (24, 8)
    assert found["a", "b", "accuracy"].p >= 2 / 2**8


def test_the_order_of_candidates_in_a_run_does_not_matter():
    turned = OPEN.with_problems(p.with_order((1, 0)) for p in OPEN)
    found = compare_runs({"a": run(lambda i: True), "b": run(lambda i: True, turned)})
    assert all(c.difference == 0.0 for c in found.values())


def test_only_shared_problems_count():
    found = compare_runs({"a": run(lambda i: True), "b": run(lambda i: False, OPEN[:100])})
    assert [c.n for c in found.values()] == [100, 50]


def test_runs_that_share_nothing_or_stand_alone_are_refused():
    with pytest.raises(BadInput, match="no problem in common"):
        compare({"a": run(bool, OPEN[:10]), "b": run(bool, OPEN[10:20])})
    with pytest.raises(BadInput, match="at least two scorers"):
        compare_runs({"a": run(bool)})


def test_of_several_datasets_what_can_be_paired_is_and_what_cannot_is_named():
    runs = {
        "a on first": run(lambda i: i % 3, OPEN[:40]),
        "b on first": run(lambda i: i % 2, OPEN[:40]),
        "a on second": run(lambda i: i % 3, OPEN[40:60]),
        "b on second": run(lambda i: i % 2, OPEN[40:60]),
    }
    found = compare(runs)
    assert {(pair.first, pair.second) for pair in found.pairs} == {
        ("a on first", "b on first"),
        ("a on second", "b on second"),
    }
    (note,) = found.notes
    assert note == (
        "open, 40 of 428 and open, 20 of 428 have no problem in common: "
        "4 pairs of runs not compared, such as a on first and a on second"
    )


def test_one_dataset_has_nothing_to_note():
    assert compare({"a": run(lambda i: i % 3), "b": run(lambda i: i % 2)}).notes == ()


def test_two_scorers_never_share_a_column():
    """A run may have the name that a scorer of another run has in its column, and one with a number, too."""
    both = run(lambda i: True, model="reader")
    both.predictions += run(lambda i: i % 2, model="random").predictions
    runs = {"a": both, "a · random": run(lambda i: i % 3), "a · random (2)": run(lambda i: i % 5)}
    found = compare(runs)
    columns = ["a · reader", "a · random", "a · random (3)", "a · random (2)"]
    assert list(dict.fromkeys(name for pair in found.pairs for name in (pair.first, pair.second))) == columns
    assert [column.name for column in ComparePage(runs, {}).columns] == columns
    differences = {
        (pair.first, pair.second): pair.found.difference for pair in found.pairs if pair.measure == "accuracy"
    }
    assert differences["a · reader", "a · random"] == pytest.approx(0.5)
    assert differences["a · reader", "a · random (3)"] == pytest.approx(1 / 3, abs=0.01)
    assert found.notes == (
        "a · random (3) is m of the run a · random; without the number it would be called like another column",
    )


def test_a_folder_named_like_a_numbered_run_is_compared_too(tmp_path):
    run(lambda i: False).save(tmp_path / "run (3)")
    found = compare([run(lambda i: True), tmp_path / "run (3)", run(lambda i: i % 2)])
    names = {name for pair in found.pairs for name in (pair.first, pair.second)}
    assert names == {"m (run)", "m (run (2))", "m (run (3))"}


def test_a_folder_named_twice_is_one_run(tmp_path):
    run(bool).save(tmp_path / "run")
    with pytest.raises(BadInput, match="at least two scorers"):
        compare([tmp_path / "run", tmp_path / "run"])


def test_the_table_never_says_that_p_is_zero(tmp_path):
    run(lambda i: True).save(tmp_path / "right")
    run(lambda i: False).save(tmp_path / "wrong")
    *_, table = lines(compare([tmp_path / "right", tmp_path / "wrong"]))
    assert [str(cell) for cell in table.columns[5].cells] == ["< 0.001", "< 0.001"]


def test_of_several_models_the_terminal_says_who_is_ahead_and_the_table_the_rest():
    runs = {"a": run(lambda i: True), "b": run(lambda i: i >= 200), "c": run(lambda i: i >= 202)}
    first, second, third, _ = lines(compare(runs))
    assert first == "a is ahead of b, on whole groups too."
    assert second == "a is ahead of c, on whole groups too."
    assert third.startswith("b and c are equal within 5 points")


def test_differences_are_printed_in_points(tmp_path):
    *_, table = lines(compare({"a": run(lambda i: True), "b": run(lambda i: i >= 107)}))
    assert [str(cell) for cell in table.columns[3].cells] == ["+25.0", "+25.2"]
    assert str(next(iter(table.columns[4].cells))).startswith("+")


def test_models_go_by_their_names_and_not_by_their_folders(tmp_path):
    for name, model in (("first", "gpt"), ("second", "bert")):
        run(lambda i: i % 3, model=model).save(tmp_path / name)
    found = compare([tmp_path / "first", tmp_path / "second"], out=tmp_path / "page")
    assert {(pair.first, pair.second) for pair in found.pairs} == {("gpt", "bert")}
    html = found.page.read_text("utf-8")
    assert "<title>gpt, bert" in html
    assert '<td class="who">first</td><td class="who">gpt</td>' in html


def test_a_folder_is_named_only_where_two_models_have_one_name(tmp_path):
    for name, model in (("first", "gpt"), ("second", "gpt"), ("third", "bert")):
        run(lambda i: i % 3, model=model).save(tmp_path / name)
    found = compare([tmp_path / name for name in ("first", "second", "third")])
    names = list(dict.fromkeys(name for pair in found.pairs for name in (pair.first, pair.second)))
    assert names == ["gpt (first)", "gpt (second)", "bert"]


def test_one_model_scored_in_two_ways_goes_by_its_scorings(tmp_path):
    one = run(lambda i: i % 3)
    other = run(lambda i: i % 2)
    other.predictions = [replace(row, scoring="other") for row in other.predictions]
    found = compare([one, other])
    assert (found.pairs[0].first, found.pairs[0].second) == ("m · own", "m · other")


def test_a_run_and_a_folder_of_its_name_are_both_compared_and_this_folder_has_a_name(tmp_path, monkeypatch):
    kept = run(lambda i: True)
    run(lambda i: False).save(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    assert [(pair.first, pair.second) for pair in compare([kept, "."]).pairs] == [("m (run)", "m (run (2))")] * 2


def silent(share, answered_right=True):
    """A run that is silent on that share of the groups, and right or wrong on the others."""
    made = run(lambda i: answered_right)
    made.predictions = [
        replace(row, prediction=None) if (i // 2) % 10 < 10 * share else row for i, row in enumerate(made.predictions)
    ]
    return made


def test_who_answers_nothing_is_never_ahead():
    """A model that has a tenth right was 19 points of expected group accuracy behind one that says nothing."""
    bad = run(lambda i: (i // 2) % 10 == 0)
    measures = ["accuracy", "group_accuracy", "expected_accuracy"]
    found = compare({"silent": silent(1), "bad": bad}, metric=measures)
    assert [(pair.measure, pair.ahead) for pair in found.pairs] == [
        ("accuracy", "bad"),
        ("group_accuracy", "bad"),
        ("expected_accuracy", None),
    ]
    assert found.pairs[2].found.difference > 0.3
    assert found.pairs[2].p_corrected < 0.001
    sentence, correction = [line for line in lines(found) if isinstance(line, str)]
    assert "bad is ahead of silent, on whole groups too." in sentence
    assert "p\u00a0<\u00a00.001: what guessing would get for each abstention, and no lead." in sentence
    assert sentence.endswith("silent answers nothing, and is never ahead.")
    assert correction == "p-values are corrected for 3 tests."


def test_silence_is_not_half_a_right_answer():
    """Silent on half and else right: 50 % in its cell, and that is what is compared with 60 %."""
    (pair, _) = compare({"quiet": silent(0.5), "other": run(lambda i: (i // 2) % 10 < 6)}).pairs
    assert (pair.found.first, pair.found.second) == pytest.approx((0.5, 0.6), abs=0.01)
    (settled,) = compare({"a": silent(0.5), "b": silent(0)}, metric="expected_accuracy").pairs
    assert settled.found.first == pytest.approx(0.75, abs=0.01)
    assert settled.measure_title == "expected accuracy"


def test_a_margin_sorts_differences_into_those_that_matter_and_others():
    few = run(lambda i: i >= 12)
    many = run(lambda i: i >= 100)
    whole = run(lambda i: True)
    words = {
        name: [pair.word for pair in compare({"whole": whole, "other": other}, margin=margin, metric="accuracy").pairs]
        for name, other, margin in (
            ("many", many, 5),
            ("few", few, 5),
            ("few, of ten", few, 10),
            ("few, of one", few, 0.1),
            ("same", whole, 5),
            ("same, of one", whole, 0.5),
        )
    }
    assert words == {
        "many": ["ahead, by more than the margin"],
        "few": ["ahead"],
        "few, of ten": ["ahead, by little"],
        "few, of one": ["ahead, by more than the margin"],
        "same": ["equal within the margin"],
        "same, of one": ["not shown"],
    }


def test_what_is_not_shown_says_what_it_could_have_seen():
    found = compare({"a": run(lambda i: i % 3, OPEN[:60]), "b": run(lambda i: i % 4, OPEN[:60])})
    sentence, _ = [line for line in lines(found) if isinstance(line, str)]
    assert sentence.startswith("No difference between a and b is shown. b has +")
    assert "points would usually have been missed" in sentence
    assert "and equality within 5 points cannot be shown with 60 problems in 30 units." in sentence
    assert "cannot be shown with 30 groups." in sentence
    (row, _) = as_json(found)
    assert (row["word"], row["margin"], row["can_show_equality"]) == ("not shown", 0.05, False)
    assert 0.05 < row["gap_to_find"] < 0.5


def test_a_measure_that_the_runs_have_nothing_for_is_refused():
    runs = {"a": run(lambda i: i % 3), "b": run(lambda i: i % 2)}
    with pytest.raises(BadInput, match="consistency: the runs cannot be compared by it: no predictions in common"):
        compare(runs, metric="consistency")
    with pytest.raises(UnknownName, match=r"No metric named 'acuracy'\. Did you mean 'accuracy'"):
        compare(runs, metric="acuracy")


def test_consistency_is_compared_where_both_were_asked_with_candidates_switched():
    """One follows the switch, the other sticks to its place."""
    runs = {"follows": run(lambda i: i % 2), "sticks": run(lambda i: i % 2)}
    for name, made in runs.items():
        switched = [
            replace(row, variant="switched", prediction=1 - row.prediction if name == "follows" else row.prediction)
            for row in made.predictions[:60]
        ]
        made.predictions += switched
    (pair,) = compare(runs, metric="consistency").pairs
    assert (pair.found.first, pair.found.second, pair.ahead) == (1.0, 0.0, "follows")


@pytest.mark.parametrize(
    ("right", "other"),
    [
        (lambda i: i >= 20, lambda i: True),
        (lambda i: i >= 6, lambda i: True),
        (lambda i: (i // 2) % 3, lambda i: i % 4),
        (lambda i: i % 3, lambda i: i % 3),
    ],
)
@pytest.mark.parametrize("margin", [1, 5, 20])
def test_each_problem_written_three_times_makes_nothing_surer(right, other, margin):
    """Copies in groups of their own, made from one template: no narrower interval, no smaller p, no stronger word."""
    data = OPEN[:80]
    once = compare({"a": run(right, data), "b": run(other, data)}, margin=margin)
    copies = thrice(data)
    flags = [repeated([bool(each(i)) for i in range(80)]) for each in (right, other)]
    copied = compare({name: run(flags[at].__getitem__, copies) for at, name in enumerate("ab")}, margin=margin)
    for one, three in zip(once.pairs, copied.pairs, strict=True):
        assert three.found.difference == pytest.approx(one.found.difference)
        assert three.p_corrected >= one.p_corrected - 1e-9
        for narrow, wide in (
            (one.found.interval, three.found.interval),
            (one.found.narrow, three.found.narrow),
        ):
            assert wide.low <= narrow.low + 1e-9
            assert wide.high >= narrow.high - 1e-9
        assert WORDS.index(three.word) <= WORDS.index(one.word)
        assert (three.verdict.gap_to_find or 2) >= (one.verdict.gap_to_find or 2) - 1e-9
        assert one.verdict.can_show_equality >= three.verdict.can_show_equality


REPLAYED = {"answers": 60, "replayed": 40, "first": "2026-03-01T09:30:00+00:00", "last": "2026-03-01T09:30:59+00:00"}
REPLAYED |= {"of_unknown_date": 0, "check": None, "asked_again": 0}


def test_replayed_answers_are_counted_and_dated_beside_the_difference(tmp_path):
    fresh = run(lambda i: i % 3, model="fresh")
    old = run(lambda i: i % 3, model="old")
    old.settings["replayed"] = {"old": REPLAYED}
    compared = compare({"fresh": fresh, "old": old}, out=tmp_path / "page")
    said = "old: old: 40 of 60 answers are replayed from the cache, of 2026-03-01 09:30 UTC"
    assert compared.notes == (said,)
    assert said[1:] in compared.page.read_text()


def test_runs_whose_variants_are_made_in_different_styles_are_noted():
    usual = run(lambda i: i % 3, model="usual")
    paper = run(lambda i: i % 3, model="paper")
    assert not compare({"usual": usual, "paper": paper}).notes
    paper.settings["style"] = "paper"
    (note,) = compare({"usual": usual, "paper": paper}).notes
    assert note.endswith("not of the same texts: usual (default) and paper (paper)")
