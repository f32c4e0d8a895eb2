"""Special words become the blank, and the word of the problem itself is one of two candidates."""

from winokit.data.loading import load
from winokit.methods.transforms.special_word import special_word_problem
from winokit.problem import Problem

HELD = Problem("The rope held the crate although ", " was thin.", ("the rope", "the crate"), 0, "it")


def test_the_special_word_after_the_blank_becomes_the_blank():
    variant = special_word_problem(HELD, HELD.replace(after=" was huge.", answer=1))
    assert variant.text == "The rope held the crate although the rope was _."
    assert variant.candidates == ("thin", "huge")


def test_the_special_word_before_the_blank_becomes_the_blank():
    original = Problem("Ann lent Eve the key, so ", " has it.", ("Ann", "Eve"), 1, "she")
    variant = special_word_problem(original, original.replace(before="Ann denied Eve the key, so ", answer=0))
    assert variant.text == "Ann _ Eve the key, so Eve has it."
    assert variant.candidates == ("lent", "denied")


def test_phrases_count_as_words():
    variant = special_word_problem(HELD, HELD.replace(after=" was over a ton.", answer=1))
    assert variant.candidates == ("thin", "over a ton")


def test_what_has_no_word_to_mask_is_refused_with_a_reason():
    assert "hidden" in special_word_problem(HELD.replace(answer=None), HELD)
    assert "one place" in special_word_problem(HELD, HELD)
    longer = HELD.replace(after=" was very thin.", answer=1)
    assert "word more" in special_word_problem(HELD, longer)


def test_the_right_filled_text_comes_back_when_the_own_word_is_put_in():
    for first, second in load("open").groups.values():
        assert_comes_back(first, second)
        assert_comes_back(second, first)


def assert_comes_back(problem, twin):
    """Assert that the special word of a problem, if there is one, restores its right filled text."""
    variant = special_word_problem(problem, twin)
    if isinstance(variant, Problem):
        special_word = variant.candidates[0]
        assert variant.before + special_word + variant.after == _solve_problem(problem)


def test_nearly_every_open_problem_has_one():
    pairs = load("open").groups.values()
    variants = [special_word_problem(first, second) for first, second in pairs]
    reasons = [variant for variant in variants if isinstance(variant, str)]
    assert len(reasons) <= 8


def _solve_problem(problem):
    from winokit.methods.transforms.substitute import substitute

    return substitute(problem, problem.right).text
