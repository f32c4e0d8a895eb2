"""Leaks of the answer are found where they were planted, and hardly ever by chance."""

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


def found_leaks(dataset):
    """Messages of the leaks that are significant."""
    return {leak.says for leak in find_leaks(dataset) if leak.found}


def leak_counts(dataset):
    """Name, number right and number of units of each leak that is significant."""
    return [(leak.name, leak.right, leak.n) for leak in find_leaks(dataset) if leak.found]


def with_answers(problems, answers):
    """Problems without groups that have other answers."""
    answered_problems = []
    for problem, answer in zip(problems, answers, strict=True):
        answered_problems.append(problem.replace(answer=int(answer), group=None))
    return Dataset(answered_problems)


def synthetic_problems(size, seed):
    """Problems without bias and without groups."""
    return [problem.replace(group=None) for problem in synthetic(size, bias=0, seed=seed)]


def test_winogrande_ids_end_in_the_answer(real_file):
    dataset = load(real_file("winogrande/dev.jsonl"))
    assert leak_counts(dataset) == [("source id", 1267, 1267)]


def test_the_first_twin_of_wsc_has_the_first_candidate_as_its_answer(real_file):
    dataset = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    assert leak_counts(dataset) == [("order", 135, 135)]  # two pairs share a text


def test_a_clean_dataset_has_no_leak():
    assert not found_leaks(synthetic(300, bias=0, seed=3))


def test_false_alarms_are_rare_on_shuffled_answers():
    rng = np.random.default_rng(0)
    clean = synthetic(100, bias=0, seed=5)
    alarm_count = 0
    for _ in range(50):
        answers = rng.integers(2, size=len(clean))
        if found_leaks(with_answers(clean, answers)):
            alarm_count += 1
    assert alarm_count <= 3  # one in a hundred is what the corrected level allows


@pytest.mark.parametrize("shape", ["pairs", "triplicates", "repeats", "mixed"])
def test_false_alarms_are_rare_where_the_answers_of_a_group_go_together(simulation, shape):
    assert simulation.leak_false_alarms(shape, 60) <= 2 / 60  # problem by problem: 21 of 60 with triplicates


@pytest.mark.parametrize("leak", ["source id", "answer position", "mention order", "candidate"])
def test_planted_leaks_are_found_among_triplicates(simulation, leak):
    assert simulation.leak_power("triplicates", leak, 10) >= 0.8


def test_judgements_of_one_sentence_are_no_leak(real_file):
    assert not found_leaks(load(real_file("superglue-wsc/train.jsonl")))


def test_the_order_of_a_template_is_no_leak():
    """Its texts follow one another with one answer: that is one decision, not six."""
    first_answers = np.random.default_rng(0).integers(2, size=40)

    def place_in_file(problem):
        template = problem.labels["template"]
        return template, problem.answer != first_answers[template]

    in_order = sorted(template_twins(40), key=place_in_file)
    assert not found_leaks(Dataset(in_order))


def test_no_leak_of_winogender_is_an_accident_of_its_templates(real_file):
    assert "an answer goes with the one before it" not in found_leaks(load(real_file("winogender/all_sentences.tsv")))


def answer_position(dataset):
    """Leak of the answer's position among the candidates."""
    (leak,) = [leak for leak in find_leaks(dataset) if leak.name == "answer position"]
    return leak


def test_a_place_that_is_often_right_among_problems_alone_is_no_surer_if_they_are_written_three_times():
    problems = []
    for index in range(30):
        answer = int(index % 3 == 0)
        problems.append(Problem(f"Text {index} says that ", " did it.", ("Ana", "Ruth"), answer))
    single_problems = Dataset(problems)
    once = answer_position(single_problems)
    again = answer_position(thrice(single_problems))
    assert 0.02 < once.p < 0.2
    assert again.p == pytest.approx(once.p)


@pytest.mark.parametrize("change", [lambda p: p, lambda p: p.with_order((p.answer, 1 - p.answer))])
def test_problems_written_three_times_make_no_leak_surer(change):
    clean = Dataset(change(problem) for problem in synthetic(30, bias=0, seed=1))
    once = {leak.says: leak.p for leak in find_leaks(clean)}
    again = {leak.says: leak.p for leak in find_leaks(thrice(clean))}
    candidate_leaks = [says for says in once if "candidate" in says]
    assert len(candidate_leaks) > 1
    for says, p in once.items():
        assert again.get(says, 1.0) >= p - 1e-9, says


def test_several_candidates_are_right_by_chance_in_turn():
    rng = np.random.default_rng(3)
    names = ("Anna", "Brian", "Clara", "David")
    fair_problems = []
    for index in range(200):
        candidates = tuple(rng.permutation(names))
        answer = int(rng.integers(4))
        fair_problems.append(Problem(f"{index} ", " came.", candidates, answer))
    first = answer_position(Dataset(fair_problems))
    assert first.chance == pytest.approx(0.25)
    assert not first.found
    rigged_problems = list(fair_problems)
    for index in range(0, len(rigged_problems), 4):
        rigged_problems[index] = rigged_problems[index].replace(answer=0)
    assert "the first candidate is the answer" in found_leaks(Dataset(rigged_problems))
    eight_units = Dataset(rigged_problems[:8] * 10)
    assert "the first candidate is the answer" not in found_leaks(eight_units)


def first_mentioned(problem):
    return problem.candidates.index(min(problem.candidates, key=problem.before.find))


def id_with_answer(problem, row):
    letter = "ab"[problem.answer]
    return problem.replace(provenance={"id": f"{row}-{letter}"})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p, row: p.with_order((p.answer, 1 - p.answer)), "the first candidate is the answer"),
        (lambda p, row: p.replace(answer=first_mentioned(p)), "the candidate mentioned first is the answer"),
        (id_with_answer, "the last character of id goes with the answer"),
    ],
)
def test_a_planted_leak_is_found(change, says):
    clean = synthetic_problems(200, seed=1)
    changed = Dataset(change(problem, row) for row, problem in enumerate(clean))
    assert says in found_leaks(changed)


def test_sorted_answers_are_found():
    problems = synthetic_problems(200, seed=1)
    by_answer = sorted(problems, key=lambda problem: problem.answer)
    leaks = found_leaks(Dataset(by_answer))
    assert "an answer goes with the one before it" in leaks
    assert "answers change from the start of the file to its end" in leaks


def test_a_name_that_is_always_right_is_found():
    rigged_problems = []
    for problem in synthetic(400, bias=0, seed=2):
        answer = problem.answer
        if "Anna" in problem.candidates:
            answer = problem.candidates.index("Anna")
        rigged_problems.append(problem.replace(answer=answer, group=None))
    assert "'anna' is the answer" in found_leaks(Dataset(rigged_problems))


def test_without_answers_there_is_nothing_to_test(twins):
    hidden = twins.with_problems(p.replace(answer=None) for p in twins)
    assert find_leaks(hidden) == []


def test_a_frequent_answer_is_no_order():
    rng = np.random.default_rng(1)
    clean = synthetic(500, bias=0, seed=5)
    answers = (rng.random(len(clean)) < 0.25).astype(int)
    uneven = with_answers(clean, answers)
    assert "the first candidate is the answer" in found_leaks(uneven)
    assert "an answer goes with the one before it" not in found_leaks(uneven)
