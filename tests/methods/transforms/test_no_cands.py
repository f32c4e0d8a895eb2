import pytest
from hypothesis import given
from hypothesis import strategies as st

from winokit.data.loading import load
from winokit.errors import UnknownName
from winokit.methods.transforms.no_cands import no_cands
from winokit.problem import Problem
from winokit.text.english import ENGLISH


def left(text, one, other, style="default"):
    variant = no_cands(Problem.from_text(text, (one, other), answer=0), style=style)
    return variant if isinstance(variant, str) else variant.text


@pytest.mark.parametrize(
    ("text", "one", "other", "without"),
    [
        ("The cup hit the tray because _ fell.", "the cup", "the tray", "hit because _ fell."),
        ("Susan knows all about Ann's life, so _ hid.", "Susan", "Ann", "knows all about life, so _ hid."),
        ("Bob paid Charlie, but Charlie left. _ is hurt.", "Bob", "Charlie", "paid, but left. _ is hurt."),
        ("Patting _ back, the aunt left a girl.", "The girl", "The aunt", "Patting _ back, left."),
        ("Joe's uncle beat him, so _ left.", "Joe", "Joe's uncle", "beat him, so _ left."),
        ("The boys' hats hid Ann; _ left.", "the boys", "Ann", "hats hid; _ left."),
        ("The brown cup hit my tray because _ fell.", "the cup", "the tray", "The brown hit my because _ fell."),
        ("Tom saw the bottom of Ray, so _ left.", "Tom", "Ray", "saw the bottom of, so _ left."),
    ],
)
def test_every_mention_goes_with_its_article_and_possessive(text, one, other, without):
    assert left(text, one, other) == without


@pytest.mark.parametrize(
    ("text", "one", "other", "without"),
    [
        ("The cup hit the tray because _ fell.", "the cup", "the tray", " hit because _ fell."),
        ("Susan knows all about Ann's life, so _ hid.", "Susan", "Ann", " knows all about 's life, so _ hid."),
        ("The brown cup hit my tray because _ fell.", "the cup", "The tray", "The brown hit my because _ fell."),
        ("A thief stabbed one of the tellers; _ fled.", "The thief", "The teller", "A stabbed one of s; _ fled."),
        ("Joe's uncle beat him, so _ left.", "Joe", "Joe's uncle", "'s uncle beat him, so _ left."),
        ("A  cup  hit a   tray because _ fell.", "cup", "tray", "A  hit a  because _ fell."),
    ],
)
def test_the_script_removes_substrings_and_collapses_double_spaces_once(text, one, other, without):
    assert left(text, one, other, "code") == without
    assert left(text, one, other, "paper") == without


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("Bob paid Charlie, but Charlie left. _ is hurt.", "Bob", "Charlie"),
        ("Tom saw the bottom of Ray, but atom and phantom _.", "tom", "Ray"),
        ("The cup hit the cup and the cup; Ann saw _.", "the cup", "Ann"),
        ("He hid his eyes with his hands; _ hurt.", "His eyes", "His hands"),
        ("The cat hid by the mouse hole from the mouse, but _ slept.", "The cat", "The mouse"),
        ("Ann met a man; _ left.", "Ann", "The juggler"),
    ],
)
def test_the_script_wants_each_candidate_exactly_once(text, one, other):
    assert left(text, one, other, "code") == "a candidate does not occur exactly once"


def test_what_would_still_name_a_candidate_is_refused():
    assert left("Ann met a man; _ left.", "Ann", "The juggler") == "a candidate is not named in the text"
    assert "other words" in left("A cup hit the cups and Ann, so _ fell.", "the cup", "Ann")
    assert left("Ann and Eve _", "and Ann", "Eve") == "a candidate is not named in the text"
    assert left("Ann, Eve _", "Ann,", "Eve") == "nothing is left around the blank"
    question = Problem("Tom met Ray and ", " spoke.", ("no", "yes"), 1, "he", query="Tom")
    assert "yes/no" in no_cands(question)
    with pytest.raises(UnknownName, match="Known: code, default, paper"):
        left("Ann met Eve; _ left.", "Ann", "Eve", "plain")


def test_the_problem_keeps_its_candidates_answer_and_group():
    original = Problem("Ann met Eve, and ", " left.", ("Ann", "Eve"), 1, "she", group="g", domain="social")
    variant = no_cands(original)
    assert variant == original.replace(before="met, and ")
    assert variant.provenance == {"of": original.id}


@given(st.sampled_from(load("open").problems))
def test_nothing_of_the_candidates_is_left_in_open(problem):
    variant = no_cands(problem)
    assert not any(ENGLISH.occurrences(variant.text, ENGLISH.core(candidate)) for candidate in problem.candidates)
    assert "  " not in variant.text
    assert variant.after.endswith(problem.after[-1])
