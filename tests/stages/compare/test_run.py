import pytest

from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.stages.compare.run import ComparePage, compare, compare_runs, lines

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
    assert [(name[2], c.difference, c.p_groups) for name, c in found.items()] == [
        ("accuracy", 0.0, 1.0),
        ("group_accuracy", 0.0, 1.0),
    ]


def test_group_accuracy_sees_what_accuracy_does_not():
    """Both get half right: one whole groups, the other one twin of each."""
    whole, torn = run(lambda i: (i // 2) % 2), run(lambda i: i % 2)
    found = {name[2]: c for name, c in compare_runs({"whole": whole, "torn": torn}).items()}
    assert found["accuracy"].difference == 0.0
    assert found["group_accuracy"].difference == pytest.approx(0.5)
    assert found["group_accuracy"].p_groups < 1e-6


def test_twins_are_one_group_of_the_test():
    """Ten pairs that one gets wrong and the other right: ten signs, and not twenty."""
    found = compare_runs({"a": run(lambda i: True), "b": run(lambda i: i >= 20)})
    assert found["a", "b", "accuracy"].p_groups == pytest.approx(2 / 2**10)


def test_what_hangs_together_by_its_text_is_one_group_of_the_test():
    """He, she and they in one text that a scorer reads alike: three problems, one sign."""
    texts = Dataset(
        Problem(f"The clerk paid cook {text} because ", " was kind.", ("the clerk", "the cook"), 0, pronoun)
        for text in range(8)
        for pronoun in ("he", "she", "they")
    )
    found = compare_runs({"a": run(lambda i: True, texts), "b": run(lambda i: False, texts)})
    assert found["a", "b", "accuracy"].p_groups == pytest.approx(2 / 2**8)


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
    assert {name for pair in found.pairs for name in (pair.first, pair.second)} == {"run", "run (2)", "run (3)"}


def test_a_folder_named_twice_is_one_run(tmp_path):
    run(bool).save(tmp_path / "run")
    with pytest.raises(BadInput, match="at least two scorers"):
        compare([tmp_path / "run", tmp_path / "run"])


def test_the_table_never_says_that_p_is_zero(tmp_path):
    run(lambda i: True).save(tmp_path / "right")
    run(lambda i: False).save(tmp_path / "wrong")
    (table,) = lines(compare([tmp_path / "right", tmp_path / "wrong"]))
    assert [str(cell) for cell in table.columns[5].cells] == ["< 0.001", "< 0.001"]


def test_a_run_and_a_folder_of_its_name_are_both_compared_and_this_folder_has_a_name(tmp_path, monkeypatch):
    kept = run(lambda i: True)
    run(lambda i: False).save(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    assert [(pair.first, pair.second) for pair in compare([kept, "."]).pairs] == [("run", "run (2)")] * 2
