"""Tokens laid along the text they came from, however a server spells them."""

import random

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


def places(text, spelt):
    placed = align(text, [(token, -1.0) for token in spelt])
    return placed and [text[token.start : token.end] for token in placed]


@pytest.mark.parametrize("way", SPELT)
def test_tokens_are_found_however_they_are_spelt(way):
    found = places(TEXT, SPELT[way])
    assert found[-1].strip() == "cup"
    assert next(token for token in found if token) == "Ann"
    assert {token for token in found if token} <= {"Ann", "’s", "’", "s", " cup"}


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
    assert places("奖杯 放不下", ["奖", "杯", " 放", "不下"]) == ["奖", "杯", " 放", "不下"]


def test_spaces_at_the_end_are_tokens_where_the_server_has_some():
    assert places("a cup \n", ["a", " cup", " ", "\n", " and"]) == ["a", " cup", " ", "\n"]


def test_spaces_at_the_end_belong_to_the_last_token_otherwise():
    assert places("a cup  ", ["a", " cup"]) == ["a", " cup  "]


LOST = ["Ich", " mag", " \ufffd", *["\ufffd"] * 7]
"""Of three emoji, without a word after them."""


def test_parts_of_characters_that_are_lost_cover_no_words():
    assert places("Ich mag 😀😀😀 sehr", [*LOST, " sehr"])[-1] == " sehr"
    assert places("Ich mag 😀😀😀 sehr", [*LOST, " nicht"]) is None


def test_it_is_told_where_a_token_that_is_lost_may_end():
    placed = align("奖杯大", [("\ufffd", -1.0)] * 6)
    assert [(token.least_end, token.end) for token in placed] == [(1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (3, 3)]


def test_many_lost_parts_take_no_time_to_be_found_wrong():
    tokens = [("\ufffd", -1.0)] * 60
    assert align("奖杯放不下棕色的行李箱" * 3 + " because", [*tokens, (" although", -1.0)]) is None


@pytest.mark.parametrize(
    ("text", "spelt", "found"),
    [
        ("cafe\u0301 ist", ["caf", "\u00e9", " ist"], ["caf", "e\u0301", " ist"]),
        ("ﬁsh\u00a0… ok", ["fi", "sh", " ...", " ok"], ["ﬁ", "sh", "\u00a0…", " ok"]),
    ],
)
def test_a_tokenizer_may_read_the_normal_form_of_a_text(text, spelt, found):
    assert places(text, spelt) == found


TEXTS = ("The jug can't fill the cup.", "a a", "naïve café, ok", "Ann said: “no”", "x\ny", " a cup", "a cup ", "<s> a")


def test_the_short_way_says_what_the_long_one_says_or_nothing():
    draw = random.Random(0)
    short = 0
    for _ in range(4000):
        text = draw.choice(TEXTS)
        mark = draw.choice("  Ġ▁")
        cuts = sorted(draw.sample(range(len(text) + 1), draw.randint(0, 3)))
        spelt = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        spelt[0] = draw.choice(["", "", " "]) + spelt[0]
        spelt = draw.choice([[], [], ["<s>"], ["<|b|>"], [" "], ["a"], [""]]) + spelt
        spelt = [token.replace(" ", mark) for token in spelt] + draw.choice([[], [" q"], ["q"], [""], ["q", "q"]])
        if draw.random() < 0.1:
            spelt[draw.randrange(len(spelt))] = draw.choice(["q", "", "\ufffd", None])
        tokens = [(token, -float(place)) for place, token in enumerate(spelt)]
        found = _align_plain_tokens(text, tokens)
        assert found in (None, _align_any_spelling(text, tokens)), (text, spelt)
        short += found is not None
    assert short > 500
