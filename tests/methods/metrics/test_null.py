"""The null of right answers that change places is exact, and gives no credit to choices made without reading."""

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
    """Problems without twins that have these right answers."""
    names = NAMES[:candidates]
    problems = []
    for index, answer in enumerate(answers):
        problems.append(Problem(f"Text {index} says that ", " did it.", names, int(answer), **more))
    return Dataset(problems)


def pairs(count: int, template: int | None = None) -> Dataset:
    """Pairs of twins, of which each `template` in a row are one unit, or each alone if it is None."""
    problems = []
    for pair in range(count):
        labels = {} if template is None else {"template": pair // template}
        before = f"Text {pair} says that "
        for answer, end in enumerate((" was helped.", " helped.")):
            problems.append(Problem(before, end, NAMES[:2], answer, group=str(pair), labels=labels))
    return Dataset(problems)


def null_of_choices(data: Dataset, choices) -> Null:
    return Null(Answers.of_choices(data, choices))


TRIPLET_ENDS = (" was helped.", " helped.", " thanked.")
TRIPLET_ANSWERS = (0, 0, 1)


def triplet_problems(group: int) -> list[Problem]:
    """Three problems of one group, of which the first two have the same answer."""
    before = f"Text {group} says that "
    problems = []
    for end, answer in zip(TRIPLET_ENDS, TRIPLET_ANSWERS, strict=True):
        problems.append(Problem(before, end, NAMES[:2], answer, group=str(group)))
    return problems


def triplets(count: int) -> Dataset:
    problems = []
    for group in range(count):
        problems += triplet_problems(group)
    return Dataset(problems)


def right_answers(data: Dataset) -> list[int]:
    return [problem.answer for problem in data]


def chances_of(distribution) -> dict[int, float]:
    """Probability of each count that can happen."""
    counts = enumerate(distribution.chances, start=distribution.start)
    return {count: chance for count, chance in counts if chance > 1e-12}


def count_matches(choices, answers) -> int:
    return sum(choice == answer for choice, answer in zip(choices, answers, strict=True))


def shares_of_counts(counts: Counter) -> dict[int, float]:
    total = counts.total()
    return {count: times / total for count, times in counts.items()}


def by_enumeration(choices, answers) -> dict[int, float]:
    """The probability of each number right over all orders of the answers."""
    counts = Counter(count_matches(choices, order) for order in permutations(answers))
    return shares_of_counts(counts)


@pytest.mark.parametrize("seed", range(40))
def test_problems_alone_are_counted_out_as_all_orders_of_the_answers_would_have_it(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    choices = rng.integers(-1, 2, size)
    answers = rng.integers(0, 2, size)
    first_chosen = int((choices == 0).sum())
    second_chosen = int((choices == 1).sum())
    first_right, second_right = np.bincount(answers, minlength=2).tolist()
    chances = chances_of(matches_of_two(first_chosen, second_chosen, first_right, second_right))
    assert chances == pytest.approx(by_enumeration(choices.tolist(), answers.tolist()))


def test_a_subset_is_read_under_the_draw_of_the_whole_table():
    choices = [0, 1, 0, 1, 1]
    answers = [0, 0, 1, 1, 1]
    is_counted = np.array([True, True, False, False, False])
    counts = Counter(count_matches(choices[:2], order[:2]) for order in permutations(answers))
    test = null_of_choices(problems_alone(answers), choices).right(is_counted)
    assert chances_of(test.distribution) == pytest.approx(shares_of_counts(counts))
    assert test.observed == 1
    assert test.n == 2


def test_draws_agree_with_enumeration_where_nothing_is_exact():
    rng = np.random.default_rng(0)
    choices = [0, 1, 2, 2, 0, 1]
    answers = [0, 1, 2, 1, 0, 0]
    choice_column = np.array(choices)[:, None]
    answer_column = np.array(answers)[:, None]
    drawn_chances = chances_of(matches_if_exchanged(choice_column, answer_column, rng))
    for count, chance in by_enumeration(choices, answers).items():
        assert drawn_chances.get(count, 0.0) == pytest.approx(chance, abs=0.015)


def null_if_all_right(data: Dataset) -> Null:
    return null_of_choices(data, right_answers(data))


def test_a_p_value_from_draws_is_never_smaller_than_draws_can_tell():
    """Of 20,000 draws none has 80 of 80 right, which does not prove that none ever would."""
    data = problems_alone([0, 1, 2, 3] * 20, 4)
    test = null_if_all_right(data).right()
    assert test.p == pytest.approx(2 / DRAWS)
    assert test.p_as_high == pytest.approx(1 / DRAWS)


@pytest.mark.parametrize(
    ("data", "limit"), [(problems_alone([0, 1] * 40), 1e-12), (triplets(40), 1e-9)], ids=["alone", "triplets"]
)
def test_a_p_value_that_is_counted_out_may_be_smaller_than_draws_could_tell(data, limit):
    exact = null_if_all_right(data).right()
    assert exact.p < limit


def test_units_of_several_problems_swap_whole():
    """Two units of two: the second unit's answers come whole or not at all."""
    first = np.array([[0, 0], [1, 1]])
    second = np.array([[0, 0], [1, 1]])
    chances = chances_of(matches_if_exchanged(first, second, np.random.default_rng(0)))
    assert set(chances) == {0, 4}
    assert chances[4] == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("choices", list(product((-1, 0, 1), repeat=4)))
def test_one_coin_turns_all_groups_of_a_unit(choices):
    data = pairs(2, template=2)
    answers = right_answers(data)
    null = null_of_choices(data, choices)
    as_written = count_matches(choices, answers)
    swapped = count_matches(choices, [1 - answer for answer in answers])
    chances = chances_of(null.right().distribution)
    assert chances == shares_of_counts(Counter([as_written, swapped]))


def test_a_place_that_is_right_and_never_chosen_is_drawn_like_any_other():
    """Choices of two places, right answers at three."""
    choices = np.array([[0], [1], [1], [0], [1]])
    right = np.array([[2], [1], [0], [0], [2]])
    expected = by_enumeration(choices.ravel().tolist(), right.ravel().tolist())
    for first, second in ((choices, right), (right, choices)):
        chances = chances_of(matches_if_exchanged(first, second, np.random.default_rng(0)))
        assert chances.keys() == expected.keys()
        assert chances == pytest.approx(expected, rel=0, abs=0.02)


@pytest.mark.parametrize("members", [2, 3, 4])
def test_whole_groups_are_counted_whatever_their_size(members):
    problems = []
    for group in range(9):
        before = f"Text {group} "
        for member in range(members):
            answer = (group + member) % members
            problems.append(Problem(before, f" {member}.", NAMES[:members], answer, group=str(group)))
    test = null_if_all_right(Dataset(problems)).whole_groups()
    assert test.observed == 9
    assert test.n == 9
    assert 0 < test.null < 0.6


def test_a_triplet_is_counted_out_over_all_orders_of_its_answers():
    test = null_of_choices(triplets(1), TRIPLET_ANSWERS).right()
    expected = by_enumeration(TRIPLET_ANSWERS, TRIPLET_ANSWERS)
    assert chances_of(test.distribution) == pytest.approx(expected)


def test_twins_that_list_their_candidates_in_different_orders_exchange_answers_by_candidate():
    first = Problem("Text says that ", " was helped.", ("Ana", "Ruth"), 0, group="g")
    second = Problem("Text says that ", " helped.", ("Ruth", "Ana"), 0, group="g")
    test = null_of_choices(Dataset([first, second]), [0, 0]).whole_groups()
    assert test.observed == 1
    assert test.null == 0.5


def question(text: str, query: str, answer: int) -> Problem:
    return Problem(text, ".", ("no", "yes"), answer, "she", query=query)


def test_yes_or_no_questions_on_one_text_exchange_their_answers():
    text = "Jim and Ann saw Kevin because "
    data = Dataset([question(text, "Jim", 0), question(text, "Kevin", 1)])
    test = null_of_choices(data, [0, 1]).right()
    assert set(chances_of(test.distribution)) == {0, 2}
    assert test.untestable == 0


def unit_of(size: int) -> list[Problem]:
    """Problems without twins that are one unit, since they have one template."""
    labels = {"template": "long"}
    problems = []
    for part in range(size):
        before = f"Part {part} says that "
        problems.append(Problem(before, " did it.", NAMES[:2], part % 2, labels=labels))
    return problems


def test_yes_or_no_questions_and_blanks_do_not_swap_whether_or_not_anything_has_a_twin():
    """One problem of two in the file does not change what the others swap with."""
    questions = [question(f"Text {index} asks ", "Ann", int(index % 3 == 0)) for index in range(20)]
    blanks = problems_alone(np.arange(20) % 4 == 0)
    problems = [*questions, *blanks]
    choices = np.random.default_rng(0).integers(0, 2, 40)
    without_unit = null_of_choices(Dataset(problems), choices).right()
    with_unit = null_of_choices(Dataset([*problems, *unit_of(2)]), [*choices, 1, 0]).right()  # both wrong
    assert with_unit.untestable == 2
    chances_without_unit = chances_of(without_unit.distribution)
    chances_with_unit = chances_of(with_unit.distribution)
    assert chances_without_unit == pytest.approx(chances_with_unit, abs=0.02)


def test_a_unit_of_a_shape_that_no_other_has_is_counted_as_untestable():
    data = Dataset([*problems_alone([0, 1, 0, 1]), *unit_of(3)])
    null = null_of_choices(data, [0] * 7)
    assert null.untestable == 3
    assert null.right().untestable == 3


def accuracy_row(answers: Answers) -> Metric:
    """The row on accuracy that a judge writes about the only scorer."""
    judge_of_scorer = Judge("d", answers.scorers[0])
    (row,) = judge_of_scorer.accuracy(("accuracy", "all", "accuracy"), answers)
    return row


def test_of_a_file_whose_right_answer_is_always_in_one_place_nothing_can_be_told():
    answers = Answers.of_choices(problems_alone([0] * 30), [0] * 29 + [1])
    row = accuracy_row(answers)
    assert row.is_untestable
    assert cannot_change_places(answers)
    assert row.details["in_one_place"] is True


def test_choices_that_are_always_in_one_place_are_untestable_for_another_reason():
    answers = Answers.of_choices(problems_alone([0] * 29 + [1]), [0] * 30)
    row = accuracy_row(answers)
    assert row.is_untestable
    assert "in_one_place" not in row.details


def test_answers_in_both_places_that_have_nowhere_to_go_are_said_to_be_fixed():
    """Six problems of one template: nothing is like this unit, so nothing can change places with it."""
    data = problems_alone([0, 1] * 3, labels={"template": "only"})
    row = accuracy_row(Answers.of_choices(data, right_answers(data)))
    assert row.is_untestable
    assert row.details["in_one_place"] is False
    assert "no two units are alike" in row.note


LEVEL_OF_TWO = 0.015
"""Level of each of the two tests of a headline, which share 3 %."""


def claims(data: Dataset, draw, times: int = 60) -> float:
    """Share of drawn tables of choices whose accuracy is claimed to be above chance at 3 %.

    `draw` takes a random generator and the right answers, and returns choices.
    """
    claim_count = 0
    blank_table = Answers.of_choices(data, [0] * len(data))
    for seed in range(times):
        choices = draw(np.random.default_rng(seed), blank_table.answers)
        table = Answers(blank_table.asked, blank_table.problem_index, choices)
        test = Null(table).right()
        is_significant = test.p is not None and test.p < 0.03
        accuracy = test.observed / test.n
        claim_count += is_significant and accuracy > (test.null or 0)
    return claim_count / times


UNBALANCED = problems_alone([0] * 130 + [1] * 70)


@pytest.mark.parametrize("share", [0.95, 0.99, 1.0])
def test_one_that_nearly_always_takes_the_first_never_passes_for_a_reader(share):
    def mostly_first(rng, right):
        return (rng.random(len(right)) >= share).astype(int)

    assert claims(UNBALANCED, mostly_first) <= 0.1


def test_a_coin_of_four_candidates_never_passes_for_a_reader():
    answers = np.random.default_rng(0).integers(0, 4, 100)
    answers[np.arange(100) % 5 <= 1] = 0

    def mostly_first(rng, right):
        takes_first = rng.random(len(right)) < 0.7
        return np.where(takes_first, 0, rng.integers(0, 4, len(right)))

    assert claims(problems_alone(answers, 4), mostly_first) <= 0.1


def test_right_on_two_thirds_of_yes_and_of_no_is_found_though_answers_are_unbalanced():
    def two_thirds_right(rng, right):
        is_right = rng.random(len(right)) < 0.65
        return np.where(is_right, right, 1 - right)

    data = problems_alone([0] * 296 + [1] * 159)
    assert claims(data, two_thirds_right) >= 0.9


def test_one_who_speaks_only_where_it_knows_is_above_chance():
    """Right on one twin of each pair, silent on the other."""
    data = pairs(100)
    choices = right_answers(data)
    choices[::2] = [None] * 100
    assert null_of_choices(data, choices).right().p < 1e-9


def test_twelve_right_of_twelve_given_are_above_chance():
    data = problems_alone([0, 1] * 100)
    choices = right_answers(data)[:12] + [None] * 188
    assert null_of_choices(data, choices).right().p < 0.01


def test_at_least_seven_pairs_must_be_told_apart():
    for count, is_enough in ((6, False), (7, True)):
        test = null_if_all_right(pairs(count)).whole_groups()
        assert (test.p < LEVEL_OF_TWO) is is_enough


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
    """Each problem with three beginnings, under one template."""
    copies = []
    for opening in ("One", "Two", "Three"):
        for problem in data:
            template = problem.labels.get("template", problem.group or problem.id)
            copy = problem.replace(
                before=f"{opening} {problem.before}",
                group=problem.group and f"{problem.group} {opening}",
                labels={**problem.labels, "template": template},
            )
            copies.append(copy)
    return Dataset(copies)


def questions_on_texts(count: int) -> Dataset:
    """Two yes/no questions on each text."""
    questions = []
    for text_index in range(count):
        for query_index, query in enumerate(("Ann", "Bea")):
            answer = int((text_index + query_index) % 3 == 0)
            questions.append(question(f"Text {text_index} says ", query, answer))
    return Dataset(questions)


@pytest.mark.parametrize(
    "data",
    [pairs(30), problems_alone([0] * 25 + [1] * 15), pairs(24, template=3), questions_on_texts(35)],
    ids=len,
)
@pytest.mark.parametrize("seed", range(3))
def test_written_three_times_nothing_gets_surer(data, seed):
    rng = np.random.default_rng(seed)
    right = np.array(right_answers(data))
    is_right = rng.random(len(data)) < 0.68
    choices = np.where(is_right, right, 1 - right)
    choices[rng.random(len(data)) < 0.1] = -1
    once = rows_by_name(judge(Answers.of_choices(data, choices)))
    thrice = rows_by_name(judge(Answers.of_choices(written_thrice(data), np.tile(choices, 3))))
    assert once.keys() == thrice.keys()
    for name, row in once.items():
        copied_row = thrice[name]
        assert copied_row.value == pytest.approx(row.value)
        if row.p is not None and copied_row.p is not None:
            assert copied_row.p >= row.p - 1e-9, name
        if row.low is not None:
            assert copied_row.high - copied_row.low >= (row.high - row.low) - 1e-9, name


def repeat_side_by_side(columns):
    return np.tile(columns, (1, 3))


def repeat_one_after_another(columns):
    return np.repeat(columns, 3, axis=1)


@pytest.mark.parametrize("is_exact", [True, False])
def test_copies_side_by_side_or_one_after_another_are_counted_as_one(is_exact):
    """Three times the count, to the last digit: also where it is drawn."""
    rng = np.random.default_rng(3)
    width = 1 if is_exact else 2
    values = 2 if is_exact else 3
    first = rng.integers(-1, values, (30, width))
    second = rng.integers(0, values, (30, width))
    once = matches_if_exchanged(first, second, np.random.default_rng(0))
    tripled_chances = {3 * count: chance for count, chance in chances_of(once).items()}
    for repeat in (repeat_side_by_side, repeat_one_after_another):
        thrice = matches_if_exchanged(repeat(first), repeat(second), np.random.default_rng(0))
        assert chances_of(thrice) == tripled_chances
        assert thrice.resolution == once.resolution


def test_columns_that_are_equal_in_one_table_alone_are_no_copies():
    first = np.array([[0, 0], [1, 1], [0, 0]])
    second = np.array([[0, 1], [1, 0], [0, 0]])
    chances = chances_of(matches_if_exchanged(first, second, np.random.default_rng(0)))
    assert chances == pytest.approx({2: 1 / 3, 4: 2 / 3}, abs=0.015)


def test_the_null_says_how_far_a_score_strays_by_chance():
    """Forty coins, of which each moves the share right by a fortieth or not at all."""
    test = null_if_all_right(pairs(40)).whole_groups()
    assert test.error == pytest.approx(0.5 / 40**0.5)


def test_where_the_judge_has_a_test_rows_stand_by_it():
    answers = Answers.of_choices(UNBALANCED, [1, 1, 1] + [0] * 195 + [1, 1])
    row = rows_by_name(judge(answers))["accuracy", "accuracy"]
    assert row.low > 0.5  # far above a coin
    assert stands(row) == AT


def test_the_error_of_problems_alone_is_that_of_draws_without_replacement():
    answers = [0, 1] * 50
    test = null_of_choices(problems_alone(answers), answers).right()
    variance = 100**2 / 4 / 99
    assert test.error == pytest.approx(variance**0.5 / 100, rel=1e-6)


def twin_pair(answers: tuple[int, int]) -> Dataset:
    """One pair whose members have these answers."""
    first_answer, second_answer = answers
    before = "Ana thanked Ruth since "
    first = Problem(before, " end 0.", ("Ana", "Ruth"), first_answer, group="a")
    second = Problem(before, " end 1.", ("Ana", "Ruth"), second_answer, group="a")
    return Dataset([first, second])


def test_one_pair_told_apart_is_tested():
    """Two counts are possible, each as likely."""
    null = null_of_choices(twin_pair((0, 1)), [0, 1])
    test = null.whole_groups()
    assert test.observed == 1
    assert test.null == 0.5
    assert test.p == pytest.approx(0.5)


def test_without_a_pair_told_apart_there_is_no_test():
    """Only one count is possible."""
    null = null_of_choices(twin_pair((0, 1)), [0, 0])
    test = null.whole_groups()
    assert test.observed == 0
    assert test.null == 0.0
    assert test.p is None


def test_answers_of_pairs_vary_if_twins_have_opposite_ones_and_not_if_they_have_the_same():
    opposite = twin_pair((0, 1))
    same = twin_pair((1, 1))
    assert null_of_choices(opposite, [0, 0]).answers_vary
    assert not null_of_choices(same, [0, 1]).answers_vary


@pytest.mark.parametrize("others", [0, 1, 3, 60])
def test_no_score_of_the_same_choices_has_a_smaller_p_than_the_best(others):
    """Of 400 problems 65 % have the first candidate right, and all but a few choices are the first."""
    answers = [0] * 260 + [1] * 140
    choices = [0] * (400 - others) + [1] * others  # every other choice is right
    table = Answers.of_choices(problems_alone(answers), choices)
    test = Null(table).right()
    if not others:
        assert test.p_most is None
        return
    assert max(test.p, 1e-9) == pytest.approx(test.p_most)
    row = accuracy_row(table)
    assert row.details["p_most"] == test.p_most
    has_no_score_to_find = score_to_find(row, 0.03) is None
    assert has_no_score_to_find is (others < 4)


@pytest.mark.parametrize("observed", [0, 9])
def test_draws_never_give_a_smaller_p_value_on_either_side_than_they_can_tell(observed):
    distribution = CountDistribution.of_draws(np.array([3, 4, 4, 5] * 25))
    assert distribution.two_sided(observed) == pytest.approx(2 / 100)
