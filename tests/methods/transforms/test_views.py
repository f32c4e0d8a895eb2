from winokit.methods.transforms.views import binary, choice, judgements
from winokit.problem import Dataset, Problem

THREE = Problem("A, B and C met, and ", " spoke.", ("A", "B", "C"), 1, "he")


def test_binary_sets_the_right_candidate_against_each_distractor_in_order():
    made = binary(Dataset([THREE]))
    assert [(p.candidates, p.answer) for p in made] == [(("A", "B"), 1), (("B", "C"), 0)]


def test_binary_leaves_pairs_alone_and_notes_what_has_no_answer(twins):
    made = binary(Dataset([*twins, THREE.replace(answer=None)]))
    assert list(made) == list(twins)
    assert "1 problems have no answer" in made.notes[0]


def test_judgements_and_choice_undo_each_other():
    split = judgements(Dataset([THREE]))
    assert [(p.query, p.right) for p in split] == [("A", "no"), ("B", "yes"), ("C", "no")]
    assert list(choice(split)) == [THREE]


def test_hidden_judgements_merge_without_an_answer():
    merged = choice(judgements(Dataset([THREE.replace(answer=None)])))
    assert merged[0].answer is None


def test_choice_says_what_it_cannot_merge():
    rows = list(judgements(Dataset([THREE])))
    yes = rows[1]
    no = rows[0]
    for kept, why in (
        ([yes], "only one span is asked about"),
        ([no, rows[2]], "no span is right"),
        ([yes, no.replace(answer=1)], "more than one span is right"),
        ([yes, no.replace(answer=1), rows[2].replace(answer=None)], "more than one span is right"),
        ([yes, yes.replace(answer=0), no], "the same span is judged both yes and no"),
    ):
        merged = choice(Dataset(kept))
        assert len(merged) == 0
        assert merged.notes == (f"{len(kept)} judgements not merged: {why}",)
