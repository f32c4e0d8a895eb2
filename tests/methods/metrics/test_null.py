"""The null: choices and silences stay, right answers change places; exact, and blind to whoever never reads."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from winokit.answers import Answers
from winokit.methods.metrics.judge import Judge, cannot_change_places, judge, score_to_find
from winokit.methods.metrics.null import (
    DRAWS,
    CountDistribution,
    Null,
    matches_if_exchanged,
    matches_of_two,
    told_apart_test,
)
from winokit.problem import Dataset, Problem
from winokit.results import AT, Metric, stands
from winokit.units import Units

NAMES = ("Ana", "Ruth", "Eve", "Ida")


def problems_alone(answers, candidates: int = 2, **more) -> Dataset:
    """Problems without twins, of which these are the right answers."""
    return Dataset(
        Problem(f"Text {number} says that ", " did it.", NAMES[:candidates], int(answer), **more)
        for number, answer in enumerate(answers)
    )


def pairs(count: int, template: int | None = None) -> Dataset:
    """Pairs of twins; with `template`, so many pairs in a row are one unit."""
    rows = []
    for pair in range(count):
        labels = {} if template is None else {"template": pair // template}
        for answer, end in enumerate((" was helped.", " helped.")):
            rows.append(Problem(f"Text {pair} says that ", end, NAMES[:2], answer, group=str(pair), labels=labels))
    return Dataset(rows)


def null_of_choices(data: Dataset, choices) -> Null:
    return Null(Answers.of_choices(data, choices))


def chances_of(distribution) -> dict[int, float]:
    return {distribution.start + place: chance for place, chance in enumerate(distribution.chances) if chance > 1e-12}


def by_enumeration(choices, answers) -> dict[int, float]:
    """The probability of each number right over all orders of the answers."""
    counts = Counter(sum(a == b for a, b in zip(choices, order, strict=True)) for order in permutations(answers))
    total = sum(counts.values())
    return {count: times / total for count, times in counts.items()}


@pytest.mark.parametrize("seed", range(40))
def test_problems_alone_are_counted_out_as_all_orders_of_the_answers_would_have_it(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    choices = rng.integers(-1, 2, size)
    answers = rng.integers(0, 2, size)
    chosen = [int((choices == place).sum()) for place in (0, 1)]
    right = np.bincount(answers, minlength=2)
    found = chances_of(matches_of_two(*chosen, *right.tolist()))
    assert found == pytest.approx(by_enumeration(choices.tolist(), answers.tolist()))


def test_a_subset_is_read_under_the_draw_of_the_whole_table():
    choices = [0, 1, 0, 1, 1]
    answers = [0, 0, 1, 1, 1]
    is_counted = np.array([True, True, False, False, False])
    counts = Counter(sum(choices[row] == order[row] for row in (0, 1)) for order in permutations(answers))
    total = sum(counts.values())
    test = null_of_choices(problems_alone(answers), choices).right(is_counted)
    assert chances_of(test.distribution) == pytest.approx({count: times / total for count, times in counts.items()})
    assert (test.observed, test.n) == (1, 2)


def test_draws_agree_with_enumeration_where_nothing_is_exact():
    rng = np.random.default_rng(0)
    choices = [0, 1, 2, 2, 0, 1]
    answers = [0, 1, 2, 1, 0, 0]
    found = matches_if_exchanged(np.array(choices)[:, None], np.array(answers)[:, None], rng)
    wanted = by_enumeration(choices, answers)
    for count, chance in wanted.items():
        assert chances_of(found).get(count, 0.0) == pytest.approx(chance, abs=0.015)


def test_a_p_value_from_draws_is_never_smaller_than_draws_can_tell():
    """Of 20,000 draws none has 80 of 80 right; that is no proof that none ever would."""
    data = problems_alone([0, 1, 2, 3] * 20, 4)
    test = null_of_choices(data, [problem.answer for problem in data]).right()
    assert test.p == pytest.approx(2 / DRAWS)
    assert test.p_as_high == pytest.approx(1 / DRAWS)
    exact = null_of_choices(problems_alone([0, 1] * 40), [0, 1] * 40).right()
    assert exact.p < 1e-12
    triplets = Dataset(
        Problem(f"Text {group} says that ", end, NAMES[:2], answer, group=str(group))
        for group in range(40)
        for end, answer in ((" was helped.", 0), (" helped.", 0), (" thanked.", 1))
    )
    assert null_of_choices(triplets, [problem.answer for problem in triplets]).right().p < 1e-9


def test_units_of_several_problems_swap_whole():
    """Two units of two: the second unit's answers come whole or not at all."""
    first = np.array([[0, 0], [1, 1]])
    second = np.array([[0, 0], [1, 1]])
    found = chances_of(matches_if_exchanged(first, second, np.random.default_rng(0)))
    assert set(found) == {0, 4}
    assert found[4] == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("choices", list(product((-1, 0, 1), repeat=4)))
def test_one_coin_turns_all_groups_of_a_unit(choices):
    data = pairs(2, template=2)
    null = null_of_choices(data, [None if choice < 0 else choice for choice in choices])
    now = sum(choice == problem.answer for choice, problem in zip(choices, data, strict=True))
    turned = sum(choice == 1 - problem.answer for choice, problem in zip(choices, data, strict=True))
    wanted = Counter([now, turned])
    assert chances_of(null.right().distribution) == {count: times / 2 for count, times in wanted.items()}


def test_a_place_that_is_right_and_never_chosen_is_drawn_like_any_other():
    """Choices of two places, right answers at three."""
    choices = np.array([[0], [1], [1], [0], [1]])
    right = np.array([[2], [1], [0], [0], [2]])
    expected = by_enumeration(choices.ravel().tolist(), right.ravel().tolist())
    for first, second in ((choices, right), (right, choices)):
        found = chances_of(matches_if_exchanged(first, second, np.random.default_rng(0)))
        assert found.keys() == expected.keys()
        assert all(found[count] == pytest.approx(chance, abs=0.02) for count, chance in expected.items())


@pytest.mark.parametrize("members", [2, 3, 4])
def test_whole_groups_are_counted_whatever_their_size(members):
    groups = [
        Problem(f"Text {at} ", f" {place}.", NAMES[:members], (at + place) % members, group=str(at))
        for at in range(9)
        for place in range(members)
    ]
    data = Dataset(groups)
    test = null_of_choices(data, [problem.answer for problem in data]).whole_groups()
    assert (test.observed, test.n) == (9, 9)
    assert 0 < test.null < 0.6


def test_a_triplet_is_counted_out_over_all_orders_of_its_answers():
    ends = (" was helped.", " helped.", " thanked.")
    triplet = [
        Problem("Text says that ", end, NAMES[:2], answer, group="g")
        for end, answer in zip(ends, (0, 0, 1), strict=True)
    ]
    test = null_of_choices(Dataset(triplet), [0, 0, 1]).right()
    assert chances_of(test.distribution) == pytest.approx(by_enumeration([0, 0, 1], [0, 0, 1]))


def test_twins_that_list_their_candidates_in_different_orders_exchange_answers_by_candidate():
    first = Problem("Text says that ", " was helped.", ("Ana", "Ruth"), 0, group="g")
    second = Problem("Text says that ", " helped.", ("Ruth", "Ana"), 0, group="g")
    test = null_of_choices(Dataset([first, second]), [0, 0]).whole_groups()
    assert (test.observed, test.null) == (1, 0.5)


def test_yes_or_no_questions_on_one_text_exchange_their_answers():
    asked = [
        Problem("Jim and Ann saw Kevin because ", " was near.", ("no", "yes"), answer, "he", query=query)
        for query, answer in (("Jim", 0), ("Kevin", 1))
    ]
    test = null_of_choices(Dataset(asked), [0, 1]).right()
    assert set(chances_of(test.distribution)) == {0, 2}
    assert test.untestable == 0


def test_yes_or_no_questions_and_blanks_do_not_swap_whether_or_not_anything_has_a_twin():
    """One problem of two in the file does not change what the others swap with."""
    asked = [Problem(f"Text {at} asks ", ".", ("no", "yes"), int(at % 3 == 0), "she", query="Ann") for at in range(20)]
    apart = [*asked, *problems_alone(np.arange(20) % 4 == 0)]
    both = [Problem("Long part ", f" {end}.", NAMES[:2], 0, labels={"template": "long"}) for end in ("one", "two")]
    choices = np.random.default_rng(0).integers(0, 2, 40)
    alone = null_of_choices(Dataset(apart), choices).right()
    beside = null_of_choices(Dataset([*apart, *both]), [*choices, 1, 1]).right()
    assert beside.untestable == 2
    assert chances_of(alone.distribution) == pytest.approx(chances_of(beside.distribution), abs=0.02)


def test_a_unit_of_a_shape_that_no_other_has_is_counted_as_untestable():
    long = [
        Problem(f"Part {part} says that ", " did it.", NAMES[:2], part % 2, labels={"template": "long"})
        for part in range(3)
    ]
    null = null_of_choices(Dataset([*problems_alone([0, 1, 0, 1]), *long]), [0] * 7)
    assert null.untestable == null.right().untestable == 3


def test_of_a_file_whose_right_answer_is_always_in_one_place_nothing_can_be_told():
    answers = Answers.of_choices(problems_alone([0] * 30), [0] * 29 + [1])
    (row,) = Judge("d", answers.scorers[0]).accuracy(("accuracy", "all", "accuracy"), answers)
    assert row.is_untestable
    assert cannot_change_places(answers)
    assert row.details["in_one_place"] is True
    varied = Answers.of_choices(problems_alone([0] * 29 + [1]), [0] * 30)
    (row,) = Judge("d", varied.scorers[0]).accuracy(("accuracy", "all", "accuracy"), varied)
    assert row.is_untestable
    assert "in_one_place" not in row.details


def test_answers_in_both_places_that_have_nowhere_to_go_are_said_to_be_fixed():
    """Six problems of one template: nothing is like this unit, so nothing can change places with it."""
    data = problems_alone([0, 1] * 3, labels={"template": "only"})
    answers = Answers.of_choices(data, [problem.answer for problem in data])
    (row,) = Judge("d", answers.scorers[0]).accuracy(("accuracy", "all", "accuracy"), answers)
    assert row.is_untestable
    assert row.details["in_one_place"] is False
    assert "no two units are alike" in row.note


LEVEL_OF_TWO = 0.015
"""Of each of the two tests of a headline, which share 3 %."""


def claims(data: Dataset, draw, times: int = 60) -> float:
    """How often the accuracy of a scorer is claimed to be above chance at 3 %."""
    claimed = 0
    start = Answers.of_choices(data, [0] * len(data))
    for seed in range(times):
        choices = draw(np.random.default_rng(seed), start.answers)
        test = Null(Answers(start.asked, start.problem_index, choices)).right()
        claimed += test.p is not None and test.p < 0.03 and test.observed / test.n > (test.null or 0)
    return claimed / times


UNBALANCED = problems_alone([0] * 130 + [1] * 70)


@pytest.mark.parametrize("share", [0.95, 0.99, 1.0])
def test_one_that_nearly_always_takes_the_first_never_passes_for_a_reader(share):
    assert claims(UNBALANCED, lambda rng, right: (rng.random(len(right)) >= share).astype(int)) <= 0.1


def test_a_coin_of_four_candidates_never_passes_for_a_reader():
    data = problems_alone(np.random.default_rng(0).integers(0, 4, 100) * (np.arange(100) % 5 > 1), 4)
    assert (
        claims(data, lambda rng, right: np.where(rng.random(len(right)) < 0.7, 0, rng.integers(0, 4, len(right))))
        <= 0.1
    )


def test_right_on_two_thirds_of_yes_and_of_no_is_found_though_answers_are_unbalanced():
    data = problems_alone([0] * 296 + [1] * 159)
    found = claims(data, lambda rng, right: np.where(rng.random(len(right)) < 0.65, right, 1 - right))
    assert found >= 0.9


def test_one_who_speaks_only_where_it_knows_is_above_chance():
    """Right on one twin of each pair, silent on the other; and twelve of twelve, silent on the rest."""
    data = pairs(100)
    one_twin = [problem.answer if row % 2 else None for row, problem in enumerate(data)]
    assert null_of_choices(data, one_twin).right().p < 1e-9
    alone = problems_alone([0, 1] * 100)
    twelve = [problem.answer if row < 12 else None for row, problem in enumerate(alone)]
    assert null_of_choices(alone, twelve).right().p < 0.01


def test_at_least_seven_pairs_must_be_told_apart():
    for count, is_enough in ((6, False), (7, True)):
        data = pairs(count)
        p = null_of_choices(data, [problem.answer for problem in data]).whole_groups().p
        assert (p < LEVEL_OF_TWO) is is_enough


def test_told_apart_is_held_against_choices_that_know_nothing_of_each_other():
    """A favourite place makes twins alike by itself: of such choices no fewer pairs are told apart than expected."""
    rng = np.random.default_rng(0)
    place_biased = (rng.random((300, 2)) < 0.2).astype(int)
    test = told_apart_test(place_biased[:, 0], place_biased[:, 1], Units.alone(300))
    assert test.null == pytest.approx(0.32, abs=0.05)
    assert test.p > 0.03
    deaf = rng.integers(0, 2, 300)
    assert told_apart_test(deaf, deaf, Units.alone(300)).p < 1e-9


def rows_by_name(rows: list[Metric]) -> dict[tuple[str, str], Metric]:
    return {(row.protocol, row.metric): row for row in rows}


def written_thrice(data: Dataset) -> Dataset:
    """Each problem three times: as it is and with two other beginnings, under one template."""
    return Dataset(
        problem.replace(
            before=f"{opening} {problem.before}",
            group=problem.group and f"{problem.group} {opening}",
            labels={**problem.labels, "template": problem.labels.get("template", problem.group or problem.id)},
        )
        for opening in ("One", "Two", "Three")
        for problem in data
    )


def questions_on_texts(count: int) -> Dataset:
    """Two yes/no questions on each text."""
    return Dataset(
        Problem(f"Text {at} says ", ".", ("no", "yes"), int((at + place) % 3 == 0), "she", query=query)
        for at in range(count)
        for place, query in enumerate(("Ann", "Bea"))
    )


@pytest.mark.parametrize(
    "data",
    [pairs(30), problems_alone([0] * 25 + [1] * 15), pairs(24, template=3), questions_on_texts(35)],
    ids=len,
)
@pytest.mark.parametrize("seed", range(3))
def test_written_three_times_nothing_gets_surer(data, seed):
    rng = np.random.default_rng(seed)
    right = np.array([problem.answer for problem in data])
    choices = np.where(rng.random(len(data)) < 0.68, right, 1 - right)
    choices[rng.random(len(data)) < 0.1] = -1
    once = rows_by_name(judge(Answers.of_choices(data, choices)))
    thrice = rows_by_name(judge(Answers.of_choices(written_thrice(data), np.tile(choices, 3))))
    assert once.keys() == thrice.keys()
    for name, row in once.items():
        other = thrice[name]
        assert other.value == pytest.approx(row.value)
        if row.p is not None and other.p is not None:
            assert other.p >= row.p - 1e-9, name
        if row.low is not None:
            assert other.high - other.low >= (row.high - row.low) - 1e-9, name


@pytest.mark.parametrize("is_exact", [True, False])
def test_copies_side_by_side_or_one_after_another_are_counted_as_one(is_exact):
    """Three times the count, to the last digit: also where it is drawn."""
    rng = np.random.default_rng(3)
    width, values = (1, 2) if is_exact else (2, 3)
    first = rng.integers(-1, values, (30, width))
    second = rng.integers(0, values, (30, width))
    once = matches_if_exchanged(first, second, np.random.default_rng(0))
    for copied in (lambda columns: np.tile(columns, (1, 3)), lambda columns: np.repeat(columns, 3, axis=1)):
        thrice = matches_if_exchanged(copied(first), copied(second), np.random.default_rng(0))
        assert chances_of(thrice) == {3 * count: chance for count, chance in chances_of(once).items()}
        assert thrice.resolution == once.resolution


def test_columns_that_are_equal_in_one_table_alone_are_no_copies():
    first = np.array([[0, 0], [1, 1], [0, 0]])
    second = np.array([[0, 1], [1, 0], [0, 0]])
    found = matches_if_exchanged(first, second, np.random.default_rng(0))
    assert chances_of(found) == pytest.approx({2: 1 / 3, 4: 2 / 3}, abs=0.015)


def test_the_null_says_how_far_a_score_strays_by_chance():
    """Forty coins, of which each moves the share right by a fortieth or not at all."""
    data = pairs(40)
    test = null_of_choices(data, [problem.answer for problem in data]).whole_groups()
    assert test.error == pytest.approx(0.5 / 40**0.5)
    alone = null_of_choices(problems_alone([0, 1] * 50), [0, 1] * 50).right()
    assert alone.error == pytest.approx((100**2 / 4 / 99) ** 0.5 / 100, rel=1e-6)


def test_where_the_judge_has_a_test_rows_stand_by_it():
    answers = Answers.of_choices(UNBALANCED, [1, 1, 1] + [0] * 195 + [1, 1])
    row = rows_by_name(judge(answers))["accuracy", "accuracy"]
    assert row.low > 0.5  # far above a coin
    assert stands(row) == AT


def test_one_pair_told_apart_is_tested_and_without_one_there_is_no_test():
    """Two counts are possible, each as likely; with a single one nothing can be tested."""
    twins = [
        Problem("Ana thanked Ruth since ", f" end {answer}.", ("Ana", "Ruth"), answer, group="a") for answer in (0, 1)
    ]
    apart = Null(Answers.of_choices(Dataset(twins), [0, 1])).whole_groups()
    assert (apart.observed, apart.null, apart.p) == (1, 0.5, pytest.approx(0.5))
    alike = Null(Answers.of_choices(Dataset(twins), [0, 0])).whole_groups()
    assert (alike.observed, alike.null, alike.p) == (0, 0.0, None)


def test_answers_of_pairs_vary_if_twins_have_opposite_ones_and_not_if_they_have_the_same():
    opposite, same = (
        Dataset(
            Problem("Ana thanked Ruth since ", f" end {member}.", ("Ana", "Ruth"), answer, group="a")
            for member, answer in enumerate(answers)
        )
        for answers in ((0, 1), (1, 1))
    )
    assert Null(Answers.of_choices(opposite, [0, 0])).answers_vary
    assert not Null(Answers.of_choices(same, [0, 1])).answers_vary


@pytest.mark.parametrize("others", [0, 1, 3, 60])
def test_no_score_of_the_same_choices_has_a_smaller_p_than_the_best(others):
    """Of 400 problems 65 % have the first candidate right, and all but a few choices are the first."""
    answers = [0] * 260 + [1] * 140
    choices = [0] * (400 - others) + [1] * others  # every other choice is right
    test = Null(Answers.of_choices(problems_alone(answers), choices)).right()
    if not others:
        assert test.p_most is None
        return
    assert max(test.p, 1e-9) == pytest.approx(test.p_most)
    table = Answers.of_choices(problems_alone(answers), choices)
    (row,) = Judge("d", table.scorers[0]).accuracy(("accuracy", "all", "accuracy"), table)
    assert row.details["p_most"] == test.p_most
    assert (score_to_find(row, 0.03) is None) is (others < 4)


@pytest.mark.parametrize("observed", [0, 9])
def test_draws_never_give_a_smaller_p_value_on_either_side_than_they_can_tell(observed):
    drawn = CountDistribution.of_draws(np.array([3, 4, 4, 5] * 25))
    assert drawn.two_sided(observed) == pytest.approx(2 / 100)
