"""Results do not depend on the order of lines: neither p-values nor the weight of copied problems."""

from itertools import product

import numpy as np
import pytest
from support.copies import check_not_surer, repeated, thrice

from winokit.answers import Answers
from winokit.methods.metrics.groups import sort_members, sort_pairs_by_text
from winokit.methods.metrics.judge import judge
from winokit.methods.metrics.null import Null
from winokit.problem import Dataset, Problem
from winokit.results import Metric

NAMES = ("Ana", "Ruth", "Eve", "Ida")


def twins(count: int, seed: int) -> Dataset:
    """Pairs of which the first twin in the file is always the one with the first candidate right."""
    rng = np.random.default_rng(seed)
    is_early_first = rng.random(count) < 0.5
    problems = []
    for pair in range(count):
        ends = ("early", "late") if is_early_first[pair] else ("late", "early")
        before = f"Pair {pair} says that "
        group = f"g{pair}"
        for answer, end in enumerate(ends):
            problems.append(Problem(before, f" was {end}.", NAMES[:2], answer, group=group))
    return Dataset(problems)


def triplets(count: int) -> Dataset:
    problems = []
    for group, member in product(range(count), range(3)):
        answer = (group + member) % 3
        before = f"Group {group} says that "
        problems.append(Problem(before, f" did {member}.", NAMES[:3], answer, group=f"g{group}"))
    return Dataset(problems)


def templates(count: int) -> Dataset:
    """Units of one to four problems without twins, with two to four candidates in any order."""
    problems = []
    for unit in range(count):
        labels = {"template": unit}
        for member in range(1 + unit % 4):
            text_number = (member * 7 + unit) % 5
            candidate_count = 2 + (unit * member) % 3
            answer = (unit + member) % 3 % 2
            before = f"Unit {unit} text {text_number} says "
            problems.append(Problem(before, " ran.", NAMES[:candidate_count], answer, labels=labels))
    return Dataset(problems)


def questions(texts: int) -> Dataset:
    """One to three yes/no questions on each text."""
    problems = []
    for text in range(texts):
        for query_index, name in enumerate(NAMES[: 1 + text % 3]):
            answer = int((text + query_index) % 3 == 0)
            problems.append(Problem(f"Text {text} asks ", ".", ("no", "yes"), answer, "she", query=name))
    return Dataset(problems)


DATA = {"twins": twins(40, 0), "triplets": triplets(20), "templates": templates(32), "questions": questions(24)}


def draw_choices(data: Dataset, seed: int) -> list[int]:
    """Draw choices of which 10 % are silent (-1) and 40 % of the others know the answer."""
    rng = np.random.default_rng(seed)
    choices = []
    for problem in data:
        if rng.random() < 0.1:
            choices.append(-1)
        elif rng.random() < 0.4:
            choices.append(problem.answer)
        else:
            choices.append(int(rng.integers(len(problem.candidates))))
    return choices


def shuffled_rows(data: Dataset, choices: list[int], seed: int):
    """Rows of the judge after the lines of the file are shuffled."""
    order = np.random.default_rng(seed).permutation(len(data)).tolist()
    shuffled = Dataset([data[row] for row in order], data.card)
    return judge(Answers.of_choices(shuffled, [choices[row] for row in order]))


def numbers_of(row: Metric) -> list[float | None]:
    return [row.value, row.low, row.high, row.p, row.level]


@pytest.mark.parametrize("kind", DATA)
def test_the_order_of_lines_changes_no_number(kind):
    data = DATA[kind]
    for seed in range(3):
        choices = draw_choices(data, seed)
        rows = judge(Answers.of_choices(data, choices))
        for row, shuffled in zip(rows, shuffled_rows(data, choices, seed), strict=True):
            assert row.metric == shuffled.metric
            assert numbers_of(row) == pytest.approx(numbers_of(shuffled))


@pytest.mark.parametrize("kind", DATA)
def test_problems_written_three_times_make_nothing_surer_in_whatever_order_they_stand(kind):
    data = DATA[kind]
    for seed in range(3):
        choices = draw_choices(data, seed)
        once = judge(Answers.of_choices(data, choices))
        copied = shuffled_rows(thrice(data), repeated(choices), seed)
        check_not_surer(once, copied)


def test_who_reads_is_found_to_tell_twins_apart_where_files_begin_with_the_first_answer():
    """The twins of WSC stand in this order: choices that know answers then look like a taste for places."""
    data = twins(200, 1)
    rng = np.random.default_rng(2)
    choices = []
    for problem in data:
        is_right = rng.random() < 0.85
        choices.append(problem.answer if is_right else 1 - problem.answer)
    rows = judge(Answers.of_choices(data, choices))
    (told_apart,) = [row for row in rows if row.metric == "told_apart"]
    assert told_apart.level == pytest.approx(0.5, abs=0.02)
    assert told_apart.p < 0.001


def test_twins_and_pairs_stand_in_the_order_of_their_texts():
    problems = [Problem(f"{text} ", " ran.", NAMES[:2]) for text in "dbca"]
    sorted_pairs = sort_pairs_by_text(problems, np.array([[0, 1], [2, 3]]))
    assert sorted_pairs.tolist() == [[3, 2], [1, 0]]


def test_members_are_sorted_by_what_makes_their_shape_and_questions_stay_with_their_text():
    texts_and_queries = [("b", "x"), ("a", "z"), ("a", "y"), ("b", "w"), ("b", "v")]
    problems = [Problem(f"{text} ", ".", ("no", "yes"), 0, "she", query=query) for text, query in texts_and_queries]
    problems.append(Problem("d ", ".", NAMES[:3]))
    problems.append(Problem("c ", ".", NAMES[:2]))
    sorted_rows = sort_members(problems, np.arange(7))
    assert sorted_rows.tolist() == [6, 4, 3, 0, 2, 1, 5]


def reverse_some_candidates(data: Dataset, seed: int) -> tuple[Dataset, list[int]]:
    """Reverse the candidates of drawn problems, and return the new index of each first candidate too."""
    is_reversed = np.random.default_rng(seed).random(len(data)) < 0.5
    problems = []
    for row, problem in enumerate(data):
        problems.append(problem.with_order((1, 0)) if is_reversed[row] else problem)
    return Dataset(problems, data.card), is_reversed.astype(int).tolist()


@pytest.mark.parametrize(
    "once",
    [
        twins(40, 0),
        Dataset([Problem(f"Text {index} says ", " ran.", NAMES[:2], index % 2) for index in range(60)]),
    ],
    ids=["twins", "alone"],
)
def test_copies_that_list_their_candidates_in_drawn_orders_are_no_further_evidence(once):
    claims = {"accuracy": 0, "told_apart": 0}
    for seed in range(60):
        copies, first_places = reverse_some_candidates(thrice(once), seed)
        names = np.random.default_rng([seed, 1]).integers(0, 2, len(once))
        choices = np.array(repeated(names.tolist())) ^ np.array(first_places)
        for row in judge(Answers.of_choices(copies, choices)):
            if row.metric in claims:
                claims[row.metric] += row.p < 0.05
    assert max(claims.values()) <= 7


def test_a_group_with_each_text_in_both_orders_is_no_larger_than_its_texts():
    claims = {"accuracy": 0, "group_accuracy": 0}
    once = twins(40, 0)
    copies = []
    for problem in once:
        copies += [problem, problem.with_order((1, 0))]
    both_orders = Dataset(copies)
    for seed in range(60):
        names = np.random.default_rng(seed).integers(0, 2, len(once))
        choices = np.stack([names, 1 - names], axis=1).ravel().tolist()
        for row in judge(Answers.of_choices(both_orders, choices)):
            if row.metric in claims:
                claims[row.metric] += row.p < 0.05
    assert max(claims.values()) <= 7


def test_a_text_with_two_answers_in_one_group_still_exchanges_them():
    answers = [0, 1, 1]
    group = [Problem("It says ", " ran.", NAMES[:2], answer, group="g") for answer in answers]
    null = Null(Answers.of_choices(Dataset(group), answers))
    assert null.right().null == pytest.approx(5 / 9)
    assert null.whole_groups().null == pytest.approx(1 / 3)
