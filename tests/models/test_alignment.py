"""Tokens are laid along the text they came from, however a server spells them."""

import random
from itertools import pairwise

import pytest

from winokit.models.alignment import _align_any_spelling, _align_plain_tokens, align

TEXT = "Ann’s cup"
SPELT = {
    "as they read": ["Ann", "’s", " cup"],
    "without spaces": ["Ann", "’s", "cup"],
    "byte-level": ["Ann", "âĢĻ", "s", "Ġcup"],
    "sentencepiece": ["▁Ann", "’", "s", "▁cup"],
    "bytes as llama.cpp has them": ["Ann", "<0xE2>", "<0x80>", "<0x99>", "s", " cup"],
    "bytes as OpenAI had them": ["Ann", "bytes:\\xe2\\x80", "bytes:\\x99", "s", " cup"],
    "bytes lost": ["Ann", "\ufffd", "\ufffd", "s", " cup"],
    "with BOS": ["<s>", "Ann", "’s", " cup"],
    "with BOS and what was generated": ["<|begin_of_text|>", "Ann", "’s", " cup", " holder", "."],
    "the first unknown": [None, "’s", " cup"],
    "BOS unknown": [None, "Ann", "’s", " cup"],
}


def places(text, spellings):
    """Part of the text that each token covers, or None where the tokens are those of another text."""
    tokens = align(text, [(spelling, -1.0) for spelling in spellings])
    return tokens and [text[token.start : token.end] for token in tokens]


@pytest.mark.parametrize("way", SPELT)
def test_tokens_are_found_however_they_are_spelt(way):
    parts = places(TEXT, SPELT[way])
    parts_covered = [part for part in parts if part]
    assert parts[-1].strip() == "cup"
    assert parts_covered[0] == "Ann"
    assert set(parts_covered) <= {"Ann", "’s", "’", "s", " cup"}


def test_bos_has_no_place_in_the_text():
    assert places(TEXT, SPELT["with BOS"])[0] == ""


@pytest.mark.parametrize(
    "other",
    [["Ann", "’s"], ["Ann", "’s", " jug"], ["He", " said"], [], ["and"], [""], ["Ann", "’s", " cu"]],
    ids=["too few", "another end", "another text", "none", "generated alone", "empty", "cut"],
)
def test_tokens_of_another_text_are_none(other):
    assert places(TEXT, other) is None


def test_a_text_of_no_latin_letters():
    parts = places("奖杯 放不下", ["奖", "杯", " 放", "不下"])
    assert parts == ["奖", "杯", " 放", "不下"]


def test_spaces_at_the_end_are_tokens_where_the_server_has_some():
    parts = places("a cup \n", ["a", " cup", " ", "\n", " and"])
    assert parts == ["a", " cup", " ", "\n"]


def test_spaces_at_the_end_belong_to_the_last_token_otherwise():
    assert places("a cup  ", ["a", " cup"]) == ["a", " cup  "]


LOST_EMOJI = ["\ufffd"] * 7
LOST = ["Ich", " mag", " \ufffd", *LOST_EMOJI]
"""Tokens of three emoji, without a word after them."""


def test_parts_of_characters_that_are_lost_cover_no_words():
    text = "Ich mag 😀😀😀 sehr"
    parts = places(text, [*LOST, " sehr"])
    assert parts[-1] == " sehr"
    assert places(text, [*LOST, " nicht"]) is None


def test_it_is_told_where_a_token_that_is_lost_may_end():
    tokens = align("奖杯大", [("\ufffd", -1.0)] * 6)
    ends = [(token.least_end, token.end) for token in tokens]
    assert ends == [(1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (3, 3)]


def test_many_lost_parts_take_no_time_to_be_found_wrong():
    text = "奖杯放不下棕色的行李箱" * 3
    tokens = [("\ufffd", -1.0)] * 60
    tokens.append((" although", -1.0))
    assert align(f"{text} because", tokens) is None


@pytest.mark.parametrize(
    ("text", "spellings", "parts"),
    [
        ("cafe\u0301 ist", ["caf", "\u00e9", " ist"], ["caf", "e\u0301", " ist"]),
        ("ﬁsh\u00a0… ok", ["fi", "sh", " ...", " ok"], ["ﬁ", "sh", "\u00a0…", " ok"]),
    ],
)
def test_a_tokenizer_may_read_the_normal_form_of_a_text(text, spellings, parts):
    assert places(text, spellings) == parts


TEXTS = ("The jug can't fill the cup.", "a a", "naïve café, ok", "Ann said: “no”", "x\ny", " a cup", "a cup ", "<s> a")


BEGINNINGS = ([], [], ["<s>"], ["<|b|>"], [" "], ["a"], [""])
ENDINGS = ([], [" q"], ["q"], [""], ["q", "q"])


def draw_spellings(draw, text):
    """Spellings of a text's tokens, cut at random, often with something more around them or one replaced."""
    space = draw.choice("  Ġ▁")
    cuts = sorted(draw.sample(range(len(text) + 1), draw.randint(0, 3)))
    borders = [0, *cuts, len(text)]
    spellings = [text[start:end] for start, end in pairwise(borders)]
    before_first = draw.choice(["", "", " "])
    spellings[0] = before_first + spellings[0]
    spellings = draw.choice(BEGINNINGS) + spellings
    spellings = [spelling.replace(" ", space) for spelling in spellings]
    spellings += draw.choice(ENDINGS)
    if draw.random() < 0.1:
        index = draw.randrange(len(spellings))
        spellings[index] = draw.choice(["q", "", "\ufffd", None])
    return spellings


def test_the_short_way_says_what_the_long_one_says_or_nothing():
    draw = random.Random(0)
    short_count = 0
    for _ in range(4000):
        text = draw.choice(TEXTS)
        spellings = draw_spellings(draw, text)
        tokens = [(spelling, -float(index)) for index, spelling in enumerate(spellings)]
        aligned = _align_plain_tokens(text, tokens)
        aligned_slowly = _align_any_spelling(text, tokens)
        if aligned is not None:
            short_count += 1
            assert aligned == aligned_slowly, (text, spellings)
    assert short_count > 500
