"""Nothing depends on the order of lines: neither a p-value, nor what copies of problems are worth."""

import numpy as np
import pytest
from support.copies import check_not_surer, repeated, thrice

from winokit.answers import Answers
from winokit.methods.metrics.groups import sort_members, sort_pairs_by_text
from winokit.methods.metrics.judge import judge
from winokit.methods.metrics.null import Null
from winokit.problem import Dataset, Problem

NAMES = ("Ana", "Ruth", "Eve", "Ida")


def twins(count: int, seed: int) -> Dataset:
    """Pairs of which the first twin in the file is always the one with the first candidate right."""
    rng = np.random.default_rng(seed)
    words = [("early", "late") if coin else ("late", "early") for coin in rng.random(count) < 0.5]
    return Dataset(
        Problem(f"Pair {pair} says that ", f" was {end}.", NAMES[:2], answer, group=f"g{pair}")
        for pair, ends in enumerate(words)
        for answer, end in enumerate(ends)
    )


def triplets(count: int) -> Dataset:
    return Dataset(
        Problem(f"Group {at} says that ", f" did {member}.", NAMES[:3], (at + member) % 3, group=f"g{at}")
        for at in range(count)
        for member in range(3)
    )


def templates(count: int) -> Dataset:
    """Units of one to four problems without twins, with two to four candidates in any order."""
    return Dataset(
        Problem(
            f"Unit {unit} text {(at * 7 + unit) % 5} says ",
            " ran.",
            NAMES[: 2 + (unit * at) % 3],
            (unit + at) % 3 % 2,
            labels={"template": unit},
        )
        for unit in range(count)
        for at in range(1 + unit % 4)
    )


def questions(texts: int) -> Dataset:
    return Dataset(
        Problem(f"Text {at} asks ", ".", ("no", "yes"), int((at + place) % 3 == 0), "she", query=name)
        for at in range(texts)
        for place, name in enumerate(NAMES[: 1 + at % 3])
    )


DATA = {"twins": twins(40, 0), "triplets": triplets(20), "templates": templates(32), "questions": questions(24)}


def drawn_choices(data: Dataset, seed: int) -> list[int]:
    """Choices of whom right answers attract, and silence where a problem has it by luck."""
    rng = np.random.default_rng(seed)
    return [
        -1
        if rng.random() < 0.1
        else int(problem.answer if rng.random() < 0.4 else rng.integers(len(problem.candidates)))
        for problem in data
    ]


def shuffled_rows(data: Dataset, choices: list[int], seed: int):
    rows = np.random.default_rng(seed).permutation(len(data)).tolist()
    return judge(Answers.of_choices(Dataset([data[row] for row in rows], data.card), [choices[row] for row in rows]))


@pytest.mark.parametrize("kind", DATA)
def test_the_order_of_lines_changes_no_number(kind):
    for seed in range(3):
        choices = drawn_choices(DATA[kind], seed)
        rows = judge(Answers.of_choices(DATA[kind], choices))
        for row, shuffled in zip(rows, shuffled_rows(DATA[kind], choices, seed), strict=True):
            assert row.metric == shuffled.metric
            numbers = [row.value, row.low, row.high, row.p, row.level]
            assert numbers == pytest.approx([shuffled.value, shuffled.low, shuffled.high, shuffled.p, shuffled.level])


@pytest.mark.parametrize("kind", DATA)
def test_problems_written_three_times_make_nothing_surer_in_whatever_order_they_stand(kind):
    for seed in range(3):
        choices = drawn_choices(DATA[kind], seed)
        once = judge(Answers.of_choices(DATA[kind], choices))
        check_not_surer(once, shuffled_rows(thrice(DATA[kind]), repeated(choices), seed))


def test_who_reads_is_found_to_tell_twins_apart_where_files_begin_with_the_first_answer():
    """The twins of WSC stand in this order: choices that know answers then look like a taste for places."""
    data = twins(200, 1)
    rng = np.random.default_rng(2)
    choices = [problem.answer if rng.random() < 0.85 else 1 - problem.answer for problem in data]
    (told,) = [row for row in judge(Answers.of_choices(data, choices)) if row.metric == "told_apart"]
    assert told.level == pytest.approx(0.5, abs=0.02)
    assert told.p < 0.001


def test_twins_and_pairs_stand_in_the_order_of_their_texts():
    problems = [Problem(f"{text} ", " ran.", NAMES[:2]) for text in "dbca"]
    assert sort_pairs_by_text(problems, np.array([[0, 1], [2, 3]])).tolist() == [[3, 2], [1, 0]]


def test_members_are_sorted_by_what_makes_their_shape_and_questions_stay_with_their_text():
    asked = [("b", "x"), ("a", "z"), ("a", "y"), ("b", "w"), ("b", "v")]
    problems = [Problem(f"{text} ", ".", ("no", "yes"), 0, "she", query=query) for text, query in asked]
    problems += [Problem("d ", ".", NAMES[:3]), Problem("c ", ".", NAMES[:2])]
    assert sort_members(problems, np.arange(7)).tolist() == [6, 4, 3, 0, 2, 1, 5]


def turned(data: Dataset, seed: int) -> tuple[Dataset, list[int]]:
    """The problems with candidates in an order drawn for each, and where the first one of each is now."""
    is_turned = np.random.default_rng(seed).random(len(data)) < 0.5
    problems = [problem.with_order((1, 0)) if turn else problem for problem, turn in zip(data, is_turned, strict=True)]
    return Dataset(problems, data.card), is_turned.astype(int).tolist()


@pytest.mark.parametrize("kind", ["twins", "alone"])
def test_copies_that_list_their_candidates_in_drawn_orders_are_no_further_evidence(kind):
    problems = [Problem(f"Text {at} says ", " ran.", NAMES[:2], at % 2) for at in range(60)]
    once = twins(40, 0) if kind == "twins" else Dataset(problems)
    claims = {"accuracy": 0, "told_apart": 0}
    for seed in range(60):
        copies, first_places = turned(thrice(once), seed)
        names = repeated(np.random.default_rng([seed, 1]).integers(0, 2, len(once)).tolist())
        choices = [name ^ first for name, first in zip(names, first_places, strict=True)]
        for row in judge(Answers.of_choices(copies, choices)):
            if row.metric in claims:
                claims[row.metric] += row.p < 0.05
    assert max(claims.values()) <= 7


def test_a_group_with_each_text_in_both_orders_is_no_larger_than_its_texts():
    claims = {"accuracy": 0, "group_accuracy": 0}
    once = twins(40, 0)
    both = Dataset([copy for problem in once for copy in (problem, problem.with_order((1, 0)))])
    for seed in range(60):
        names = np.random.default_rng(seed).integers(0, 2, len(once))
        choices = [int(choice) for name in names for choice in (name, 1 - name)]
        for row in judge(Answers.of_choices(both, choices)):
            if row.metric in claims:
                claims[row.metric] += row.p < 0.05
    assert max(claims.values()) <= 7


def test_a_text_with_two_answers_in_one_group_still_exchanges_them():
    group = [Problem("It says ", " ran.", NAMES[:2], answer, group="g") for answer in (0, 1, 1)]
    null = Null(Answers.of_choices(Dataset(group), [0, 1, 1]))
    assert (null.right().null, null.whole_groups().null) == pytest.approx((5 / 9, 1 / 3))
