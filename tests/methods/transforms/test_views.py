"""Views of problems with more candidates than two: pairs, yes/no judgements, and back."""

import pytest

from winokit.methods.transforms.views import binary, choice, judgements
from winokit.problem import Dataset, Problem

THREE = Problem("A, B and C met, and ", " spoke.", ("A", "B", "C"), 1, "he")


def test_binary_sets_the_right_candidate_against_each_distractor_in_order():
    first, second = binary(Dataset([THREE]))
    assert first.candidates == ("A", "B")
    assert first.answer == 1
    assert second.candidates == ("B", "C")
    assert second.answer == 0


def test_binary_leaves_pairs_alone_and_notes_what_has_no_answer(twins):
    unanswered = THREE.replace(answer=None)
    pairs = binary(Dataset([*twins, unanswered]))
    assert list(pairs) == list(twins)
    assert "1 problems have no answer" in pairs.notes[0]


def test_judgements_and_choice_undo_each_other():
    split = judgements(Dataset([THREE]))
    answers = {judgement.query: judgement.right for judgement in split}
    assert answers == {"A": "no", "B": "yes", "C": "no"}
    assert len(split) == 3
    assert list(choice(split)) == [THREE]


def test_hidden_judgements_merge_without_an_answer():
    unanswered = THREE.replace(answer=None)
    merged = choice(judgements(Dataset([unanswered])))
    assert merged[0].answer is None


NO_A, YES_B, NO_C = judgements(Dataset([THREE]))
YES_A = NO_A.replace(answer=1)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([YES_B], "only one span is asked about"),
        ([NO_A, NO_C], "no span is right"),
        ([YES_B, YES_A], "more than one span is right"),
        ([YES_B, YES_A, NO_C.replace(answer=None)], "more than one span is right"),
        ([YES_B, YES_B.replace(answer=0), NO_A], "the same span is judged both yes and no"),
    ],
)
def test_choice_says_what_it_cannot_merge(rows, reason):
    merged = choice(Dataset(rows))
    assert len(merged) == 0
    assert merged.notes == (f"{len(rows)} judgements not merged: {reason}",)
