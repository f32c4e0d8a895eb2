import importlib.util
from pathlib import Path

import numpy as np
import pytest
from support.copies import thrice
from support.templates import template_twins

from winokit.data.checks.leaks import find_leaks
from winokit.data.loading import load
from winokit.data.synthetic import synthetic
from winokit.problem import Dataset, Problem

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "leaks.py"


@pytest.fixture(scope="module")
def simulation():
    spec = importlib.util.spec_from_file_location("leaks_benchmark", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(dataset):
    return {leak.says for leak in find_leaks(dataset) if leak.found}


def test_winogrande_ids_end_in_the_answer(real_file):
    leaks = [leak for leak in find_leaks(load(real_file("winogrande/dev.jsonl"))) if leak.found]
    assert [(leak.name, leak.right, leak.n) for leak in leaks] == [("source id", 1267, 1267)]


def test_the_first_twin_of_wsc_has_the_first_candidate_as_its_answer(real_file):
    leaks = [leak for leak in find_leaks(load(f"wsc273:{real_file('wsc/WSCollection.xml')}")) if leak.found]
    assert [(leak.name, leak.right, leak.n) for leak in leaks] == [("order", 135, 135)]  # two pairs share a text


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


@pytest.mark.parametrize("shape", ["pairs", "triplicates", "repeats", "mixed"])
def test_false_alarms_are_rare_where_the_answers_of_a_group_go_together(simulation, shape):
    assert simulation.leak_false_alarms(shape, 60) <= 2 / 60  # problem by problem: 21 of 60 with triplicates


@pytest.mark.parametrize("leak", ["source id", "answer position", "mention order", "candidate"])
def test_planted_leaks_are_found_among_triplicates(simulation, leak):
    assert simulation.leak_power("triplicates", leak, 10) >= 0.8


def test_judgements_of_one_sentence_are_no_leak(real_file):
    assert not found(load(real_file("superglue-wsc/train.jsonl")))


def test_the_order_of_a_template_is_no_leak():
    """Its texts follow one another with one answer: that is one decision, not six."""
    first = np.random.default_rng(0).integers(2, size=40)
    in_order = sorted(template_twins(40), key=lambda p: (p.labels["template"], p.answer != first[p.labels["template"]]))
    assert not found(Dataset(in_order))


def test_no_leak_of_winogender_is_an_accident_of_its_templates(real_file):
    assert "an answer goes with the one before it" not in found(load(real_file("winogender/all_sentences.tsv")))


def test_a_place_that_is_often_right_among_problems_alone_is_no_surer_if_they_are_written_three_times():
    alone = [Problem(f"Text {at} says that ", " did it.", ("Ana", "Ruth"), int(at % 3 == 0)) for at in range(30)]
    once, again = (
        next(leak for leak in find_leaks(data) if leak.name == "answer position")
        for data in (Dataset(alone), thrice(Dataset(alone)))
    )
    assert 0.02 < once.p < 0.2
    assert again.p == pytest.approx(once.p)


@pytest.mark.parametrize("change", [lambda p: p, lambda p: p.with_order((p.answer, 1 - p.answer))])
def test_problems_written_three_times_make_no_leak_surer(change):
    clean = Dataset(change(problem) for problem in synthetic(30, bias=0, seed=1))
    once = {leak.says: leak.p for leak in find_leaks(clean)}
    again = {leak.says: leak.p for leak in find_leaks(thrice(clean))}
    assert len([says for says in once if "candidate" in says]) > 1
    for says, p in once.items():
        assert again.get(says, 1.0) >= p - 1e-9, says


def test_several_candidates_are_right_by_chance_in_turn():
    rng = np.random.default_rng(3)
    names = ("Anna", "Brian", "Clara", "David")
    fair = [Problem(f"{n} ", " came.", tuple(rng.permutation(names)), int(rng.integers(4))) for n in range(200)]
    (first,) = [leak for leak in find_leaks(Dataset(fair)) if leak.name == "answer position"]
    assert first.chance == pytest.approx(0.25)
    assert not first.found
    rigged = Dataset(p.replace(answer=0) if n % 4 == 0 else p for n, p in enumerate(fair))
    assert "the first candidate is the answer" in found(rigged)
    assert "the first candidate is the answer" not in found(Dataset([*rigged.problems[:8]] * 10))  # eight units


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
