import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.accuracy import (
    abstained,
    accuracy,
    chance,
    confusion,
    expected_accuracy,
    f1,
    guess_chance,
    majority_class,
    precision,
)

HUNTER = [1] * 119 + [0] * 80 + [None] * 74
"""The knowledge hunter's choices on WSC273: 119 right, 80 wrong, 74 without evidence."""


HUNTER_ANSWERS = [1] * 273
"""The right answers of WSC273, with candidates ordered so that all are the second."""


def test_an_abstention_is_wrong():
    assert accuracy(HUNTER, HUNTER_ANSWERS) == 119 / 273
    assert abstained(HUNTER) == 74 / 273


def test_the_knowledge_hunters_expected_accuracy_comes_out():
    share = expected_accuracy(HUNTER, HUNTER_ANSWERS, [2] * 273)
    assert round(100 * share, 2) == 57.14


def test_an_abstention_among_more_candidates_is_worth_less():
    share = expected_accuracy([None, None], [0, 3], [2, 4])
    assert share == (1 / 2 + 1 / 4) / 2


def test_chance_is_the_mean_of_one_over_candidates_not_one_over_their_mean():
    assert chance([2, 2, 5]) == pytest.approx((0.5 + 0.5 + 0.2) / 3)


def test_the_majority_class_of_superglue_wsc_comes_out(real_file):
    from winokit.data.loading import load

    dataset = load(real_file("superglue-wsc/val.jsonl"), groups=False)
    answers = [problem.answer for problem in dataset]
    assert len(answers) == 104
    assert round(100 * majority_class(answers), 1) == 63.5


def test_confusion_has_answers_in_rows_and_abstentions_last():
    predictions = [0, 0, 1, None, 2]
    answers = [0, 1, 1, 1, 0]
    assert confusion(predictions, answers).tolist() == [[1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]]


def test_f1_by_hand():
    """Class 0 has 2 hits, 3 predicted, 3 wanted. Class 1 has 1 hit, 2 predicted, 2 wanted."""
    scores = f1([0, 0, 0, 1, 1], [0, 0, 1, 0, 1])
    assert scores.by_class == pytest.approx({0: 2 / 3, 1: 1 / 2})
    assert scores.macro == pytest.approx(7 / 12)
    assert scores.micro == pytest.approx(3 / 5)


def test_an_abstention_costs_recall_and_not_precision():
    """Precision 1, recall 1/2, for the class and over all."""
    scores = f1([0, None], [0, 0])
    assert scores.by_class == pytest.approx({0: 2 / 3})
    assert scores.micro == pytest.approx(2 / 3)


def test_the_knowledge_hunters_precision_and_recall_make_its_f1():
    hunter_precision = precision(HUNTER, HUNTER_ANSWERS)
    recall = accuracy(HUNTER, HUNTER_ANSWERS)
    harmonic_mean = 2 * hunter_precision * recall / (hunter_precision + recall)
    assert hunter_precision == 119 / 199
    assert f1(HUNTER, HUNTER_ANSWERS).micro == pytest.approx(harmonic_mean)


def test_who_answers_nothing_has_no_precision():
    assert precision([None, None], [0, 1]) is None


def test_guessing_gets_nothing_of_what_it_does_not_answer():
    """The knowledge hunter answers 199 of 273, so guessing as often as it does gets 36.4 % and not 50."""
    hunter_chances = guess_chance(HUNTER, [2] * 273)
    assert hunter_chances.mean() == pytest.approx(199 / 2 / 273)
    assert guess_chance([0, 3, None], [2, 4, 4]).tolist() == [0.5, 0.25, 0.0]


def test_a_class_nobody_predicts_has_an_f1_of_zero():
    scores = f1([0, 0], [0, 1])
    assert scores.by_class == pytest.approx({0: 2 / 3, 1: 0.0}, abs=0)


@pytest.mark.parametrize(
    ("metric", "columns", "message"),
    [
        (accuracy, ([-1], [0]), "index or None for an abstention, found -1"),
        (accuracy, ([0, 1], [0, None]), "1 of 2 problems have no answer"),
        (accuracy, ([0], [-1]), "an answer is a candidate's index, found -1"),
        (expected_accuracy, ([2], [0], [2]), "row 0 predicts candidate 2, and the problem has 2"),
        (chance, ([2, 1],), "expected two or more candidates per problem, found 1"),
    ],
)
def test_what_cannot_be_is_refused(metric, columns, message):
    with pytest.raises(BadInput, match=message):
        metric(*columns)
