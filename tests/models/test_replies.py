"""A table of a hundred replies of every kind says what the one reader of replies makes of each."""

import re

import pytest

from winokit import Problem
from winokit.data.predictions.answers import named_in
from winokit.models import replies
from winokit.models.replies import FilledText, choice_in, letters_of

JUG = 0
CUP = 1
VESSELS = Problem.from_text("Mia poured water from the jug into the cup until _ was full.", ("the jug", "the cup"))
CHESS = Problem.from_text("Nora's uncle beat Nora at chess, although _ is 30 years older.", ("Nora's uncle", "Nora"))
SHIRTS = Problem.from_text("Zoë washed the t-shirt and the café curtain, and _ shrank.", ("t-shirt", "café curtain"))
CAR = Problem.from_text("Ida drove behind Eva, because _'s car was slow.", ("Ida", "Eva"))
ENDS = Problem.from_text("Mia moved the bowl under the shelf to make room in _.", ("the bowl", "the shelf"))
GERMAN = Problem.from_text("Der Pokal passt nicht in den Koffer, weil _ zu klein ist.", ("der Pokal", "der Koffer"))

READ = [
    (VESSELS, "1", JUG),
    (VESSELS, "2.", CUP),
    (VESSELS, "A", JUG),
    (VESSELS, "(b)", CUP),
    (VESSELS, "option 2", CUP),
    (VESSELS, "Option1: the jug", JUG),
    (VESSELS, "Option2 : cup", CUP),
    (VESSELS, "OPTION-2", CUP),
    (VESSELS, "the cup", CUP),
    (VESSELS, "The Cup!", CUP),
    (VESSELS, "cup", CUP),
    (VESSELS, "“cup”", CUP),
    (VESSELS, "a cup", CUP),
    (VESSELS, "**the cup**", CUP),
    (VESSELS, "__cup__", CUP),
    (VESSELS, "# the cup", CUP),
    (VESSELS, "- cup", CUP),
    (VESSELS, "<b>cup</b>", CUP),
    (VESSELS, "the&nbsp;cup", CUP),
    (VESSELS, "$\\boxed{cup}$", CUP),
    (VESSELS, "Ｂ．", CUP),
    (VESSELS, "The answer is the cup.", CUP),
    (VESSELS, "The answer is: 2", CUP),
    (VESSELS, "Answer: option 2", CUP),
    (VESSELS, "**Final answer:** (2) the cup", CUP),
    (VESSELS, '{"answer": "cup", "reason": "the jug pours"}', CUP),
    (VESSELS, '{"answer": 2}', CUP),
    (VESSELS, "Prediction: 2", CUP),
    (VESSELS, "I would choose the cup, since a jug pours.", CUP),
    (VESSELS, '"it" refers to the cup, into which the jug was emptied', CUP),
    (VESSELS, "It does not refer to the jug.", None),
    (VESSELS, "The cup, because the jug pours.", CUP),
    (VESSELS, "the cup - the jug gets empty", CUP),
    (VESSELS, "It must be (2).", CUP),
    (VESSELS, "It was the cup", CUP),
    (VESSELS, "not the jug but the cup", CUP),
    (VESSELS, "2, not 1", CUP),
    (VESSELS, "Let me see. Jugs pour.\n\nAnswer: cup", CUP),
    (VESSELS, "<think>The jug? No.</think>the cup", CUP),
    (VESSELS, "<think>The answer is the jug", None),
    (VESSELS, "1) the jug 2) the cup", JUG),
    (VESSELS, "1) the cup 2) the jug", CUP),
    (VESSELS, "1. cup\n2. jug", CUP),
    (VESSELS, "(1) the cup, (2) the jug", CUP),
    (VESSELS, "1) The jug is large. 2) The cup is small. So the answer is the cup.", CUP),
    (VESSELS, "1) The jug pours water, as jugs do. 2) The cup fills up.", None),
    (VESSELS, "1. A jug pours.\n2. A cup fills up.\nThe answer is 2", CUP),
    (VESSELS, "A. the jug\nB. the cup", None),
    (VESSELS, "Option 1: the jug\nOption 2: the cup", None),
    (VESSELS, "1 or 2", None),
    (VESSELS, "the jug and the cup", None),
    (VESSELS, "the jug or the cup", None),
    (VESSELS, "Neither the jug nor the cup.", None),
    (VESSELS, "Option 1: the cup", None),
    (VESSELS, "The answer is not the jug.", None),
    (VESSELS, "It isn't the jug.", None),
    (VESSELS, "I'm not sure about the jug", None),
    (VESSELS, "As an AI I cannot tell", None),
    (VESSELS, "The text is ambiguous.", None),
    (VESSELS, "the cupboard", None),
    (VESSELS, "juggling", None),
    (VESSELS, "the saucer", None),
    (VESSELS, "3", None),
    (VESSELS, "2.5", None),
    (VESSELS, "", None),
    (VESSELS, "...", None),
    (VESSELS, "Mia poured water from the jug into the cup until the cup was full.", CUP),
    (VESSELS, "mia poured water from the jug into the cup until cup was full", CUP),
    (VESSELS, "until the cup was full", CUP),
    (VESSELS, "the cup was full", CUP),
    (VESSELS, "Mia poured water from the jug into the cup until the cup was", CUP),
    (VESSELS, "Mia poured water from the jug into the cup until", None),
    (VESSELS, "So Mia poured from the jug, and the cup was full.", CUP),
    (VESSELS, "Either the jug was full or the cup was full.", None),
    (VESSELS, "The jug was not empty before the cup was full.", CUP),
    (CHESS, "Nora's uncle", 0),
    (CHESS, "noras uncle", 0),
    (CHESS, "NORA’S UNCLE.", 0),
    (CHESS, "Nora 's uncle", 0),
    (CHESS, "Nora", 1),
    (CHESS, "noras uncle is 30 years older", 0),
    (CHESS, "nora is 30 years older", 1),
    (CHESS, "although Nora's uncle is 30 years older.", 0),
    (CHESS, "nora s uncle beat nora at chess although nora s uncle is 30 years older", 0),
    (CHESS, "Noras uncle beat Nora at chess, although Nora is 30 years older", 1),
    (CHESS, "The uncle", None),
    (CHESS, "uncle", None),
    (CHESS, "Honora", None),
    (SHIRTS, "t-shirt", 0),
    (SHIRTS, "tshirt", 0),
    (SHIRTS, "T shirt", 0),
    (SHIRTS, "the t–shirt shrank", 0),
    (SHIRTS, "cafe curtain", 1),
    (SHIRTS, "Café-curtain", 1),
    (SHIRTS, "cafe\u0301 curtain", 1),
    (SHIRTS, "Zoe washed the tshirt and the cafe curtain and the cafe curtain shrank", 1),
    (CAR, "Eva's car was slow.", 1),
    (CAR, "Evas car was slow", 1),
    (CAR, "Ida drove behind Eva because Idas car was slow", 0),
    (ENDS, "to make room in the shelf", 1),
    (ENDS, "Mia moved the bowl under the shelf to make room in the bowl.", 0),
    (ENDS, "Mia moved the bowl under the shelf", None),
    (GERMAN, "der Koffer", 1),
    (GERMAN, "den Koffer", 1),
    (GERMAN, "weil der Koffer zu klein ist", 1),
    (GERMAN, "Die Antwort ist: der Pokal, nicht der Koffer", 0),
    (GERMAN, "nicht der Pokal", None),
]


def read_reply(problem, reply):
    """Index of the candidate that a reply names, or None."""
    language = "de" if problem is GERMAN else "en"
    text = FilledText.of(problem.before, problem.after)
    return named_in(reply, problem.candidates, language, text)


@pytest.mark.parametrize(("problem", "reply", "meaning"), READ)
def test_a_reply_means_what_it_says(problem, reply, meaning):
    assert read_reply(problem, reply) == meaning


def test_the_table_has_a_hundred_replies():
    assert len(READ) >= 100


def test_options_that_differ_in_marks_alone_are_told_by_these():
    names = ("resign", "re-sign")
    choices = [choice_in(name, names) for name in names]
    assert choices == [0, 1]
    assert choice_in("It is resign, I think", names) is None


def test_accents_marks_and_case_do_not_count():
    assert letters_of("Joe’s naïve T-shirt!") == letters_of("JOES NAIVE T SHIRT")


def test_nothing_is_compiled_for_a_reply(monkeypatch):
    read_reply(VESSELS, "warm up: the cup")
    read_reply(GERMAN, "warm up: der Koffer")
    patterns_compiled = []
    look_up = re._compile

    def note_pattern(*arguments):
        patterns_compiled.append(arguments)
        return look_up(*arguments)

    monkeypatch.setattr(re, "_compile", note_pattern)
    for number in range(50):
        names = (f"the {number} jugs", f"{number} cups")
        text = FilledText.of(f"{number} ", " were full.")
        named_in(f"I think {number} cups, since the {number} jugs pour", names, "en", text)
        named_in("The answer is not 2", names, "en", text)
        named_in("1) jugs 2) cups", names, "en", text)
    assert patterns_compiled == []


def test_marks_of_options_in_a_reply_are_no_options():
    choice = choice_in("\ue001", ("A", "B"), (("the jug",), ("the cup",)))
    assert choice is None
    assert replies.plain_reply("é\ue001") == "é"
