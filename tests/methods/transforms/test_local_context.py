import pytest
from hypothesis import given
from hypothesis import strategies as st

from winokit.data.loading import load
from winokit.errors import UnknownName
from winokit.methods.transforms.local_context import local_context
from winokit.problem import Problem

NOTHING_CUT = "the blank is among the first words, so nothing would be cut"


def local(text, style="default"):
    variant = local_context(Problem.from_text(text, ("the cup", "the tray"), answer=0), style=style)
    return variant if isinstance(variant, str) else variant.text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The cup hit the tray because _ was loose. I cried.", "tray because _ was loose. I cried."),
        ("The cup hit it. Because the  _ was loose.", "Because the  _ was loose."),
        ('The cup hit it, and "_" fell.', 'and "_" fell.'),
    ],
)
def test_two_words_before_the_blank_and_all_after_it_stay(text, kept):
    assert local(text) == kept
    assert local(text, "paper") == kept


@pytest.mark.parametrize("text", ["_ hit the cup and the tray.", "After _ fell, I cried.", "Now that _ fell, I cried."])
def test_what_has_no_more_than_two_words_before_the_blank_is_refused_by_default(text):
    assert local(text) == NOTHING_CUT
    assert local(text, "paper") == text


def test_other_styles_and_judgements_are_refused():
    with pytest.raises(UnknownName, match="Known: default, paper"):
        local("The cup hit the tray because _ fell.", "code")
    assert "yes/no" in local_context(Problem("Tom met Ray and ", " left.", ("no", "yes"), 1, "he", query="Tom"))


def test_the_problem_keeps_all_but_its_beginning():
    original = Problem("Ann met Eve, and ", " left.", ("Ann", "Eve"), 1, "she", group="g", domain="social")
    variant = local_context(original)
    assert variant == original.replace(before="Eve, and ")
    assert variant.provenance == {"of": original.id}


@given(st.sampled_from(load("open").problems))
def test_the_local_context_is_the_end_of_the_text_with_two_words_before_the_blank(problem):
    variant = local_context(problem)
    if isinstance(variant, Problem):
        assert problem.text.endswith(variant.text)
        assert len(variant.before.split()) == 2
