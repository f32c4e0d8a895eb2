import sys
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from winokit.data.loading import load
from winokit.errors import UnknownName
from winokit.methods.transforms.part_sent import STYLES, part_sent
from winokit.problem import Problem

part_sent_module = sys.modules[part_sent.__module__]


def part(text, style="default", candidates=("the cup", "the tray")):
    variant = part_sent(Problem.from_text(text, candidates, answer=0), style=style)
    return variant if isinstance(variant, str) else variant.text


@pytest.mark.parametrize(
    ("text", "default", "paper", "code"),
    [
        ("It fell, because _ is big.", "because _ is big.", "because _ is big.", "_ is big."),
        ("It fell, then _ is. So be it.", "then _ is. So be it.", "then _ is. So be it.", "then _ is. So be it."),
        ("It fell; now. Then _ is.", "Then _ is.", "now. Then _ is.", "Then _ is."),
        ("It fell, once: then _ is.", "then _ is.", "then _ is.", "once: then _ is."),
        ("It fell, now! But _ is.", "But _ is.", "now! But _ is.", "now! But _ is."),
        ("He ran, Mr. Hill saw _ .", "Mr. Hill saw _ .", "Mr. Hill saw _ .", "Mr. Hill saw _ ."),
        ("It fell, in the U.S. by J. Hill _ .", *3 * ("in the U.S. by J. Hill _ .",)),
        ("By 10, so-called 4.5 a.m. _ .", "so-called 4.5 a.m. _ .", "so-called 4.5 a.m. _ .", "-called 4.5 a.m. _ ."),
        ("It fell,  so  the _ is.", "so  the _ is.", "so  the _ is.", " the _ is."),
        ("It is. Although it fell _ is.", "Although it fell _ is.", None, "Although it fell _ is."),
        ("It fell... and then _ is.", "and then _ is.", "and then _ is.", "then _ is."),
        ("The sand fell until _ is.", None, None, None),
    ],
)
def test_the_text_is_cut_at_the_last_marker_before_the_blank(text, default, paper, code):
    for style, kept in (("default", default), ("paper", paper), ("code", code)):
        assert part(text, style) == (kept or "no connective or punctuation before the blank")


def test_what_still_names_a_candidate_is_refused_by_default_only():
    text = "It fell, because the tray near _ is big."
    assert part(text) == "a candidate is still named"
    assert part(text, "code") == "the tray near _ is big."
    assert part("It fell, but _ is by a tray.") == "a candidate is still named"


WORDS = "weil z. B. u. a. Mr. J. K. because, so-called 3.5 p.m. ... Tee usw. Dr. and".split()


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=30), st.sampled_from(["en", "de", "fr"]))
@example("Anna kam , weil Tee u. a.".split(), "de")
def test_the_last_marker_is_the_same_whether_or_not_the_end_is_looked_at_first(words, language):
    original = Problem(f"{' '.join(words)} ", " fell.", ("cup", "jug"), 0, language=language)
    with patch.object(part_sent_module, "NEAR", 10**6):
        whole = [part_sent(original, style=style) for style in STYLES]
    for near in (4, 12, 40):
        with patch.object(part_sent_module, "NEAR", near):
            assert [part_sent(original, style=style) for style in STYLES] == whole


def test_nothing_is_made_of_nothing_nor_of_everything():
    assert part("Because it fell _ is.") == "the part with the blank is the whole text"
    assert part("It fell, _", "code") == "nothing is left around the blank"
    question = Problem("Tom met Ray, and ", " spoke.", ("no", "yes"), 1, "he", query="Tom")
    assert "yes/no" in part_sent(question)
    with pytest.raises(UnknownName, match="Known: code, default, paper"):
        part("It fell, because _ is big.", "spacy")


def test_the_problem_keeps_all_but_its_beginning():
    original = Problem("Ann met Eve, and ", " left.", ("Ann", "Eve"), 1, "she", group="g", domain="social")
    variant = part_sent(original)
    assert variant == original.replace(before="and ")
    assert variant.provenance == {"of": original.id}


@given(st.sampled_from(load("open").problems), st.sampled_from(STYLES))
def test_a_part_is_the_end_of_the_text(problem, style):
    variant = part_sent(problem, style=style)
    if isinstance(variant, Problem):
        assert problem.text.endswith(variant.text)
        assert len(variant.text) < len(problem.text)
        again = part_sent(variant, style=style)
        assert isinstance(again, str) or again.text == variant.text
