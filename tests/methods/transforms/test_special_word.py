from winokit.data.loading import load
from winokit.methods.transforms.special_word import special_word_problem
from winokit.problem import Problem

HELD = Problem("The rope held the crate although ", " was thin.", ("the rope", "the crate"), 0, "it")


def test_the_special_word_after_the_blank_becomes_the_blank():
    made = special_word_problem(HELD, HELD.replace(after=" was huge.", answer=1))
    assert made.text == "The rope held the crate although the rope was _."
    assert made.candidates == ("thin", "huge")


def test_the_special_word_before_the_blank_becomes_the_blank():
    one = Problem("Ann lent Eve the key, so ", " has it.", ("Ann", "Eve"), 1, "she")
    made = special_word_problem(one, one.replace(before="Ann denied Eve the key, so ", answer=0))
    assert made.text == "Ann _ Eve the key, so Eve has it."
    assert made.candidates == ("lent", "denied")


def test_phrases_count_as_words():
    made = special_word_problem(HELD, HELD.replace(after=" was over a ton.", answer=1))
    assert made.candidates == ("thin", "over a ton")


def test_what_has_no_word_to_mask_is_refused_with_a_reason():
    assert "hidden" in special_word_problem(HELD.replace(answer=None), HELD)
    assert "one place" in special_word_problem(HELD, HELD)
    assert "word more" in special_word_problem(HELD, HELD.replace(after=" was very thin.", answer=1))


def test_the_right_filled_text_comes_back_when_the_own_word_is_put_in():
    for one, other in load("open").groups.values():
        for problem, twin in ((one, other), (other, one)):
            made = special_word_problem(problem, twin)
            if isinstance(made, Problem):
                assert made.before + made.candidates[0] + made.after == _solved(problem)


def test_nearly_every_open_problem_has_one():
    pairs = load("open").groups.values()
    refused = [made for one, other in pairs if isinstance(made := special_word_problem(one, other), str)]
    assert len(refused) <= 8


def _solved(problem):
    from winokit.methods.transforms.substitute import substitute

    return substitute(problem, problem.right).text
