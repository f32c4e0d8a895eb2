"""Statistics count words, groups and the places of blanks, and agree with published ones."""

import pytest

from winokit.data.checks.statistics import Structure, blank_position, clauses, connective, special_words, statistics
from winokit.data.formats import read
from winokit.data.loading import load
from winokit.errors import UnknownName
from winokit.problem import Dataset, Problem
from winokit.text.words import TOKENIZERS, ptb

# Table 2 of WinoGrande's first version: vocabulary and mean length. Lengths agree less well than vocabularies.
PUBLISHED = {
    "WSC273": (["wsc273:wsc/WSCollection.xml"], 919, 19.1),
    "Winogender": (["winogender/all_sentences.tsv"], 523, 15.6),
    "SuperGLUE-WSC": ([f"superglue-wsc/{split}.jsonl" for split in ("train", "val", "test")], 1711, 28.4),
    "DPR": (["dpr/train.c.txt", "dpr/test.c.txt"], 4127, 15.9),
    "PDP": (["pdp/PDPChallenge2016.xml"], 594, 39.5),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_vocabularies_come_out_within_half_a_percent(name, real_file):
    files, vocabulary, length = PUBLISHED[name]
    problems = []
    for file in files:
        form, _, path = file.rpartition(":")
        problems += read(real_file(path), form or None)
    row = statistics(Dataset(problems))
    assert row.vocabulary == pytest.approx(vocabulary, rel=0.005)
    assert row.mean_words == pytest.approx(length, rel=0.05)


def test_tokens_split_contractions_possessives_and_punctuation():
    tokens = ["Tom", "'s", "dog", "did", "n't", "see", "Mr.", "Hill", ",", "did", "it", "?"]
    assert ptb("Tom's dog didn't see Mr. Hill, did it?") == tokens
    assert TOKENIZERS["whitespace"]("Tom's dog.") == ["Tom's", "dog."]


def test_the_blank_is_a_word_of_the_text_and_not_of_the_vocabulary():
    problem = Problem("a b ", " a", ("x", "y"))
    row = statistics(Dataset([problem]))
    assert row.mean_words == 4.0
    assert row.vocabulary == 2


def test_counts_of_the_twins(twins):
    row = statistics(twins)
    assert row.problems == 6
    assert row.groups == 3
    assert row.single == 0
    assert row.group_sizes == {2: 3}
    assert row.answered == 6
    assert row.first_answers == 0.5
    assert row.distinct_candidates == 6


def test_an_unknown_way_to_count_lists_the_known_ones(twins):
    with pytest.raises(UnknownName, match="Known: ptb, whitespace"):
        statistics(twins, "letters")


def test_the_special_word_is_last_in_62_of_wscs_136_groups(real_file):
    structure = Structure(load(f"wsc273:{real_file('wsc/WSCollection.xml')}"))
    assert structure.special_last == 62
    assert structure.groups == 136


def test_special_words_are_what_differs():
    assert special_words("It was too large for us.", "It was too small for us.") == ("large", "small")
    assert special_words("He left at once.", "He left.") == ("at once", "")
    assert special_words("the same", "the same") == ("", "")


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("The cup hit the tray because the ", "because"),
        ("The cup hit the tray. The ", "."),
        ("The cup that hit ", "that"),
        ("", "none"),
    ],
)
def test_the_connective_opens_the_blanks_clause(before, says):
    problem = Problem(before, " slid.", ("a", "b"))
    assert connective(problem) == says


def test_clauses_are_told_by_connectives_and_stops():
    one_sentence = Problem("The cup hit the tray because ", " slid.", ("a", "b"))
    assert clauses(one_sentence) == 2
    two_sentences = Problem("When it rained, the cup slid; ", " broke. We left.", ("a", "b"))
    assert clauses(two_sentences) == 3


def test_the_place_of_the_blank_is_told_in_thirds():
    at_beginning = Problem("", " one two three", ("a", "b"))
    assert blank_position(at_beginning) == "first third"
    near_end = Problem("one two three ", " four", ("a", "b"))
    assert blank_position(near_end) == "last third"
