import csv
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.accuracy import guess_chance
from winokit.methods.metrics.groups import (
    all_right,
    all_right_chance,
    complete_groups,
    group_accuracy,
    group_accuracy_chance,
    independent_group_accuracy,
    no_right,
    no_right_chance,
    none_right,
    one_right,
    same_option,
    same_option_chance,
    same_options,
    some_right,
    some_right_chance,
)

TWINS = ["a", "a", "b", "b", "c", "c", None]


@dataclass(frozen=True)
class Table:
    """A public RoBERTa's predictions for WinoGrande dev, as its author published them."""

    predictions: list[int]
    answers: list[int]
    groups: list[str]

    @property
    def correct(self) -> list[bool]:
        return [p == a for p, a in zip(self.predictions, self.answers, strict=True)]


@pytest.fixture
def roberta(real_file):
    with real_file("predictions/roberta_winogrande_dev.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["qID"]]  # the last row is a summary
    numbers = [(int(row["prediction"]) - 1, int(row["answer"]) - 1, row["qID"].rsplit("-", 1)[0]) for row in rows]
    return Table(*(list(column) for column in zip(*numbers, strict=True)))


def test_the_public_robertas_groups_come_out(roberta):
    """Its author counted 286 pairs; two of them are no twins."""
    groups = complete_groups(roberta.groups)
    assert (len(roberta.correct), sum(roberta.correct), len(groups)) == (1267, 966, 284)
    shares = [score(roberta.correct, roberta.groups) * 284 for score in (group_accuracy, one_right, none_right)]
    assert shares == pytest.approx([163, 65, 56])


def test_the_public_robertas_singles_are_easier(roberta):
    grouped = {row for rows in complete_groups(roberta.groups).values() for row in rows}
    single = [right for row, right in enumerate(roberta.correct) if row not in grouped]
    assert (sum(single), len(single)) == (575, 699)


def test_the_public_roberta_gives_the_same_option_where_it_is_right_in_part(roberta):
    """Twins have opposite answers and the same candidates in the same order in WinoGrande."""
    assert same_option(roberta.predictions, roberta.groups) == one_right(roberta.correct, roberta.groups)


def test_a_lone_member_is_no_complete_group():
    assert complete_groups(["a", "b", "b", None, None]) == {"b": [1, 2]}
    assert group_accuracy([True, False, False, True, True], ["a", "b", "b", None, None]) == 0


def test_a_triplet_that_lost_a_member_is_complete_only_if_nobody_knows():
    groups = ["a", "a", "b", "b"]
    right = [True, True, False, False]
    assert group_accuracy(right, groups) == 0.5
    assert complete_groups(groups, {"a": 3, "b": 2}) == {"b": [2, 3]}
    assert group_accuracy(right, groups, {"a": 3, "b": 2}) == 0


def test_all_one_none_by_hand():
    right = [True, True, True, False, False, False, True]
    assert group_accuracy(right, TWINS) == one_right(right, TWINS) == none_right(right, TWINS) == pytest.approx(1 / 3)
    assert all_right(right, TWINS).tolist() == [True, False, False]
    assert some_right(right, TWINS).tolist() == [False, True, False]
    assert no_right(right, TWINS).tolist() == [False, False, True]


def test_a_triplet_with_two_right_is_right_in_part():
    assert one_right([True, True, False], ["a"] * 3) == 1
    assert group_accuracy([True, True, False], ["a"] * 3) == 0


def test_members_need_not_stand_side_by_side():
    assert group_accuracy([True, True, False, True], ["a", "b", "a", "b"]) == 0.5


def test_chance_multiplies_within_groups():
    groups = ["pair", "pair", "triplet", "triplet", "triplet", None]
    chances = [1 / number for number in (2, 2, 2, 2, 5, 2)]
    assert group_accuracy_chance(chances, groups) == pytest.approx((1 / 4 + 1 / 20) / 2)
    assert no_right_chance(chances, groups).tolist() == pytest.approx([1 / 4, 1 / 5])
    assert some_right_chance(chances, groups).tolist() == pytest.approx([1 / 2, 3 / 4])


def test_guessing_cannot_get_a_group_right_that_it_does_not_answer_in_full():
    chances = guess_chance([0, None, 1, 1], [2, 2, 2, 2])
    assert group_accuracy_chance(chances, ["a", "a", "b", "b"]) == 0.125
    assert some_right_chance(chances, ["a", "a", "b", "b"]).tolist() == [0.5, 0.5]
    assert no_right_chance(chances, ["a", "a", "b", "b"]).tolist() == [0.5, 0.25]


def test_a_model_deaf_to_the_special_word_gives_twins_the_same_option():
    answers = [0, 1] * 50
    groups = [row // 2 for row in range(100)]
    deaf = [0] * 100
    right = [p == a for p, a in zip(deaf, answers, strict=True)]
    assert same_option(deaf, groups) == 1
    assert group_accuracy(right, groups) == 0 < independent_group_accuracy(right, groups) == 0.25


def test_a_group_with_an_abstention_has_no_option_in_common_or_apart():
    assert same_options([0, 0, 0, 1, None, None, 0], TWINS).tolist() == [True, False]
    assert same_options(["x", "x", None, "y", "x", "y", "x"], TWINS).tolist() == [True, False]


def test_guessing_among_more_candidates_gives_the_same_option_less_often():
    assert same_option_chance([2, 2], ["a", "a"]) == 0.5
    assert same_option_chance([4, 4], ["a", "a"]) == 0.25
    assert same_option_chance([2, 2, 2], ["a"] * 3) == 0.25


def test_independent_twins_have_the_group_accuracy_independence_gives():
    rng = np.random.default_rng(0)
    right = rng.random(40_000) < 0.7
    groups = [row // 2 for row in range(len(right))]
    assert independent_group_accuracy(right, groups) == pytest.approx(group_accuracy(right, groups), abs=0.01)
    shared = np.repeat(rng.random(20_000) < 0.7, 2)
    assert group_accuracy(shared, groups) > independent_group_accuracy(shared, groups) + 0.15


def test_independence_asks_only_for_the_accuracy_of_grouped_problems():
    assert independent_group_accuracy([True, False, True], ["a", "a", None]) == 0.25
    assert independent_group_accuracy([True, True, False, False] * 3, ["a", "b", "c", "d"] * 3) == 0.125


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: group_accuracy([True, False], [None, "a"]), "no complete group"),
        (lambda: group_accuracy_chance([1.0, float("nan")], ["a", "a"]), "1 of 2 values are not finite"),
        (lambda: group_accuracy([2, 0], ["a", "a"]), "expected a flag per problem"),
        (lambda: same_option([None, 0], ["a", "a"]), "no complete group is answered in full"),
    ],
)
def test_what_has_no_group_score_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()


def test_chances_are_exact_for_groups_of_two_three_and_four_with_two_to_four_candidates():
    """Every way of guessing is enumerated, each as likely as another."""
    groups = ["a", "b", "a", "c", "c", "c", "b", "b", "b", None]
    candidates = [2, 2, 3, 4, 2, 2, 2, 3, 2, 2]
    right = np.array(list(product(*(range(number) for number in candidates)))) == 0
    chances = [1 / number for number in candidates]
    for counted, chance in (
        (all_right, all_right_chance),
        (some_right, some_right_chance),
        (no_right, no_right_chance),
    ):
        seen = np.mean([counted(guesses, groups) for guesses in right], axis=0)
        assert chance(chances, groups).tolist() == pytest.approx(seen.tolist())
    assert all_right_chance(chances, groups).tolist() == pytest.approx([1 / 6, 1 / 24, 1 / 16])


def test_a_contrast_set_counts_when_all_of_its_members_are_right():
    groups = [size for size in (2, 3, 4, 5) for _ in range(size)]
    for missed in range(len(groups)):
        flags = [place != missed for place in range(len(groups))]
        assert (group_accuracy(flags, groups), one_right(flags, groups), none_right(flags, groups)) == (0.75, 0.25, 0)
