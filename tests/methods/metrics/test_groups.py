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


COMPLETE_PAIR_COUNT = 284
"""Pairs of WinoGrande dev with both members, of 286 that its author counted: two of them are no twins."""


@dataclass(frozen=True)
class Table:
    """A public RoBERTa's predictions for WinoGrande dev, as its author published them."""

    predictions: list[int]
    answers: list[int]
    groups: list[str]

    @property
    def correct(self) -> list[bool]:
        return (np.array(self.predictions) == np.array(self.answers)).tolist()


@pytest.fixture
def roberta(real_file):
    with real_file("predictions/roberta_winogrande_dev.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["qID"]]  # the last row is a summary
    predictions = [int(row["prediction"]) - 1 for row in rows]
    answers = [int(row["answer"]) - 1 for row in rows]
    groups = [row["qID"].rsplit("-", 1)[0] for row in rows]
    return Table(predictions, answers, groups)


def test_the_public_robertas_groups_come_out(roberta):
    groups = complete_groups(roberta.groups)
    assert len(groups) == COMPLETE_PAIR_COUNT
    assert len(roberta.correct) == 1267
    assert sum(roberta.correct) == 966


@pytest.mark.parametrize(
    ("score", "count"),
    [(group_accuracy, 163), (one_right, 65), (none_right, 56)],
    ids=["all right", "one right", "none right"],
)
def test_the_public_robertas_group_scores_come_out(roberta, score, count):
    share = score(roberta.correct, roberta.groups)
    assert share * COMPLETE_PAIR_COUNT == pytest.approx(count)


def test_the_public_robertas_singles_are_easier(roberta):
    grouped_rows = set()
    for rows in complete_groups(roberta.groups).values():
        grouped_rows.update(rows)
    single_flags = [right for row, right in enumerate(roberta.correct) if row not in grouped_rows]
    assert sum(single_flags) == 575
    assert len(single_flags) == 699


def test_the_public_roberta_gives_the_same_option_where_it_is_right_in_part(roberta):
    """Twins have opposite answers and the same candidates in the same order in WinoGrande."""
    same_share = same_option(roberta.predictions, roberta.groups)
    assert same_share == one_right(roberta.correct, roberta.groups)


def test_a_lone_member_is_no_complete_group():
    groups = ["a", "b", "b", None, None]
    assert complete_groups(groups) == {"b": [1, 2]}
    assert group_accuracy([True, False, False, True, True], groups) == 0


def test_a_triplet_that_lost_a_member_is_complete_only_if_nobody_knows():
    groups = ["a", "a", "b", "b"]
    right = [True, True, False, False]
    sizes = {"a": 3, "b": 2}
    assert group_accuracy(right, groups) == 0.5
    assert complete_groups(groups, sizes) == {"b": [2, 3]}
    assert group_accuracy(right, groups, sizes) == 0


def test_all_one_none_by_hand():
    right = [True, True, True, False, False, False, True]
    assert group_accuracy(right, TWINS) == pytest.approx(1 / 3)
    assert one_right(right, TWINS) == group_accuracy(right, TWINS)
    assert none_right(right, TWINS) == group_accuracy(right, TWINS)
    assert all_right(right, TWINS).tolist() == [True, False, False]
    assert some_right(right, TWINS).tolist() == [False, True, False]
    assert no_right(right, TWINS).tolist() == [False, False, True]


def test_a_triplet_with_two_right_is_right_in_part():
    right = [True, True, False]
    groups = ["a", "a", "a"]
    assert one_right(right, groups) == 1
    assert group_accuracy(right, groups) == 0


def test_members_need_not_stand_side_by_side():
    assert group_accuracy([True, True, False, True], ["a", "b", "a", "b"]) == 0.5


def test_chance_multiplies_within_groups():
    groups = ["pair", "pair", "triplet", "triplet", "triplet", None]
    chances = [1 / count for count in (2, 2, 2, 2, 5, 2)]
    mean_of_products = (1 / 4 + 1 / 20) / 2
    assert group_accuracy_chance(chances, groups) == pytest.approx(mean_of_products)
    assert no_right_chance(chances, groups).tolist() == pytest.approx([1 / 4, 1 / 5])
    assert some_right_chance(chances, groups).tolist() == pytest.approx([1 / 2, 3 / 4])


def test_guessing_cannot_get_a_group_right_that_it_does_not_answer_in_full():
    chances = guess_chance([0, None, 1, 1], [2, 2, 2, 2])
    groups = ["a", "a", "b", "b"]
    assert group_accuracy_chance(chances, groups) == 0.125
    assert some_right_chance(chances, groups).tolist() == [0.5, 0.5]
    assert no_right_chance(chances, groups).tolist() == [0.5, 0.25]


def test_a_model_deaf_to_the_special_word_gives_twins_the_same_option():
    right = [True, False] * 50  # the first twin's answer is candidate 0, the second's is 1
    groups = [row // 2 for row in range(100)]
    assert same_option([0] * 100, groups) == 1
    assert group_accuracy(right, groups) == 0
    assert independent_group_accuracy(right, groups) == 0.25


def test_a_group_with_an_abstention_has_no_option_in_common_or_apart():
    by_index = same_options([0, 0, 0, 1, None, None, 0], TWINS)
    by_name = same_options(["x", "x", None, "y", "x", "y", "x"], TWINS)
    assert by_index.tolist() == [True, False]
    assert by_name.tolist() == [True, False]


def test_guessing_among_more_candidates_gives_the_same_option_less_often():
    assert same_option_chance([2, 2], ["a", "a"]) == 0.5
    assert same_option_chance([4, 4], ["a", "a"]) == 0.25
    assert same_option_chance([2, 2, 2], ["a"] * 3) == 0.25


def test_independent_twins_have_the_group_accuracy_independence_gives():
    rng = np.random.default_rng(0)
    right = rng.random(40_000) < 0.7
    groups = [row // 2 for row in range(len(right))]
    accuracy = group_accuracy(right, groups)
    assert independent_group_accuracy(right, groups) == pytest.approx(accuracy, abs=0.01)
    shared = np.repeat(rng.random(20_000) < 0.7, 2)
    independent_accuracy = independent_group_accuracy(shared, groups)
    assert group_accuracy(shared, groups) > independent_accuracy + 0.15


def test_independence_asks_only_for_the_accuracy_of_grouped_problems():
    one_pair = independent_group_accuracy([True, False, True], ["a", "a", None])
    four_triplets = independent_group_accuracy([True, True, False, False] * 3, ["a", "b", "c", "d"] * 3)
    assert one_pair == 0.25
    assert four_triplets == 0.125


@pytest.mark.parametrize(
    ("score", "columns", "message"),
    [
        (group_accuracy, ([True, False], [None, "a"]), "no complete group"),
        (group_accuracy_chance, ([1.0, float("nan")], ["a", "a"]), "1 of 2 values are not finite"),
        (group_accuracy, ([2, 0], ["a", "a"]), "expected a flag per problem"),
        (same_option, ([None, 0], ["a", "a"]), "no complete group is answered in full"),
    ],
)
def test_what_has_no_group_score_is_refused(score, columns, message):
    with pytest.raises(BadInput, match=message):
        score(*columns)


MIXED_GROUPS = ["a", "b", "a", "c", "c", "c", "b", "b", "b", None]
MIXED_CANDIDATES = [2, 2, 3, 4, 2, 2, 2, 3, 2, 2]
MIXED_CHANCES = [1 / count for count in MIXED_CANDIDATES]


@pytest.fixture(scope="module")
def all_guesses() -> np.ndarray:
    """Flags of every way to guess among MIXED_CANDIDATES, one row each, if all first candidates are right."""
    options = [range(count) for count in MIXED_CANDIDATES]
    return np.array(list(product(*options))) == 0


@pytest.mark.parametrize(
    ("counted", "chance"),
    [(all_right, all_right_chance), (some_right, some_right_chance), (no_right, no_right_chance)],
    ids=["all right", "some right", "none right"],
)
def test_chances_are_exact_for_groups_of_two_three_and_four_with_two_to_four_candidates(counted, chance, all_guesses):
    """Every way of guessing is enumerated, each as likely as another."""
    shares = np.mean([counted(guesses, MIXED_GROUPS) for guesses in all_guesses], axis=0)
    chances = chance(MIXED_CHANCES, MIXED_GROUPS)
    assert chances.tolist() == pytest.approx(shares.tolist())


def test_chances_of_whole_groups_are_products():
    chances = all_right_chance(MIXED_CHANCES, MIXED_GROUPS)
    assert chances.tolist() == pytest.approx([1 / 6, 1 / 24, 1 / 16])


def test_a_contrast_set_counts_when_all_of_its_members_are_right():
    groups = [2] * 2 + [3] * 3 + [4] * 4 + [5] * 5
    for missed_row in range(len(groups)):
        flags = [row != missed_row for row in range(len(groups))]
        assert group_accuracy(flags, groups) == 0.75
        assert one_right(flags, groups) == 0.25
        assert none_right(flags, groups) == 0
