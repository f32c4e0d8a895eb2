import numpy as np
import pytest

from winokit.checks import find_leaks
from winokit.loading import load
from winokit.planted import synthetic
from winokit.problem import Dataset


def found(dataset):
    return {leak.says for leak in find_leaks(dataset) if leak.found}


def test_winogrande_ids_end_in_the_answer(real_file):
    leaks = [leak for leak in find_leaks(load(real_file("winogrande/dev.jsonl"))) if leak.found]
    assert [(leak.name, leak.right, leak.n) for leak in leaks] == [("source id", 1267, 1267)]


def test_the_first_twin_of_wsc_has_the_first_candidate_as_its_answer(real_file):
    leaks = [leak for leak in find_leaks(load(f"wsc273:{real_file('wsc/WSCollection.xml')}")) if leak.found]
    assert [(leak.name, leak.right, leak.n) for leak in leaks] == [("order", 136, 136)]


def test_a_clean_dataset_has_no_leak():
    assert not found(synthetic(300, bias=0, seed=3))


def test_false_alarms_are_rare_on_shuffled_answers():
    rng = np.random.default_rng(0)
    clean = synthetic(100, bias=0, seed=5)
    alarms = 0
    for _ in range(50):
        answers = rng.integers(2, size=len(clean))
        alarms += bool(
            found(Dataset(p.replace(answer=int(a), group=None) for p, a in zip(clean, answers, strict=True)))
        )
    assert alarms <= 3  # one in a hundred is what the corrected level allows


def first_mentioned(problem):
    return problem.candidates.index(min(problem.candidates, key=problem.before.find))


def id_with_answer(problem, row):
    return problem.replace(provenance={"id": f"{row}-{'ab'[problem.answer]}"})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p, row: p.with_order((p.answer, 1 - p.answer)), "the first candidate is the answer"),
        (lambda p, row: p.replace(answer=first_mentioned(p)), "the candidate mentioned first is the answer"),
        (id_with_answer, "the last character of id goes with the answer"),
    ],
)
def test_a_planted_leak_is_found(change, says):
    clean = [problem.replace(group=None) for problem in synthetic(200, bias=0, seed=1)]
    assert says in found(Dataset(change(problem, row) for row, problem in enumerate(clean)))


def test_sorted_answers_are_found():
    dataset = [problem.replace(group=None) for problem in synthetic(200, bias=0, seed=1)]
    ordered = found(Dataset(sorted(dataset, key=lambda p: p.answer)))
    assert {"an answer goes with the one before it", "answers change from the start of the file to its end"} <= ordered


def test_a_name_that_is_always_right_is_found():
    dataset = synthetic(400, bias=0, seed=2)
    rigged = [
        p.replace(answer=p.candidates.index("Anna") if "Anna" in p.candidates else p.answer, group=None)
        for p in dataset
    ]
    assert "'anna' is the answer" in found(Dataset(rigged))


def test_without_answers_there_is_nothing_to_test(twins):
    assert find_leaks(twins.with_problems(p.replace(answer=None) for p in twins)) == []


def test_a_frequent_answer_is_no_order():
    rng = np.random.default_rng(1)
    clean = synthetic(500, bias=0, seed=5)
    answers = (rng.random(len(clean)) < 0.25).astype(int)
    uneven = Dataset(p.replace(answer=int(a), group=None) for p, a in zip(clean, answers, strict=True))
    assert "the first candidate is the answer" in found(uneven)
    assert "an answer goes with the one before it" not in found(uneven)
