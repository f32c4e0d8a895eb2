import pytest

from winokit.auditing import Run
from winokit.errors import BadInput
from winokit.loading import load
from winokit.report import compare_runs
from winokit.scoring import Prediction

OPEN = load("open")


def run(right, dataset=OPEN, model="m"):
    """A run whose predictions are right where `right` says so."""
    rows = [
        Prediction(p.id, "original", model, "own", None, p.answer if right(i) else 1 - p.answer, p.answer)
        for i, p in enumerate(dataset)
    ]
    return Run({}, [], rows, dataset)


def test_the_same_predictions_do_not_differ():
    found = compare_runs({"a": run(lambda i: i % 3), "b": run(lambda i: i % 3)}, draws=100)
    assert [(name[2], c.difference, c.p_mcnemar) for name, c in found.items()] == [
        ("accuracy", 0.0, 1.0),
        ("group_accuracy", 0.0, 1.0),
    ]


def test_group_accuracy_sees_what_accuracy_does_not():
    """Both get half right: one whole groups, the other one twin of each."""
    whole, torn = run(lambda i: (i // 2) % 2), run(lambda i: i % 2)
    found = {name[2]: c for name, c in compare_runs({"whole": whole, "torn": torn}, draws=200).items()}
    assert found["accuracy"].difference == 0.0
    assert found["group_accuracy"].difference == pytest.approx(0.5)
    assert found["group_accuracy"].p_mcnemar < 1e-6


def test_the_order_of_candidates_in_a_run_does_not_matter():
    turned = OPEN.with_problems(p.with_order((1, 0)) for p in OPEN)
    found = compare_runs({"a": run(lambda i: True), "b": run(lambda i: True, turned)}, draws=100)
    assert all(c.difference == 0.0 for c in found.values())


def test_only_shared_problems_count():
    found = compare_runs({"a": run(lambda i: True), "b": run(lambda i: False, OPEN[:100])}, draws=100)
    assert [c.n for c in found.values()] == [100, 50]


def test_runs_that_share_nothing_or_stand_alone_are_refused():
    with pytest.raises(BadInput, match="no problem in common"):
        compare_runs({"a": run(bool, OPEN[:10]), "b": run(bool, OPEN[10:20])})
    with pytest.raises(BadInput, match="two scorers or more"):
        compare_runs({"a": run(bool)})
