"""Noun phrases are found by parts of speech."""

import pytest

from winokit.data.loading import load
from winokit.text.phrases import noun_phrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        (
            "The trophy doesn't fit into the brown suitcase because it is too large.",
            ["The trophy", "the brown suitcase"],
        ),
        ("Pete envies Martin although he is very successful.", ["Pete", "Martin"]),
        ("Jane knocked on Susan 's door but she did not answer.", ["Jane", "Susan", "Susan 's door"]),
        ("Mr. Moncrieff visited his son Edward.", ["Mr. Moncrieff", "his son Edward", "Edward"]),
        ("Sam and Amy are in love.", ["Sam", "Sam and Amy", "Amy", "love"]),
        ("The sack of flour was heavy.", ["The sack", "The sack of flour", "flour"]),
        ("My meeting started late, so he told her to leave.", ["My meeting"]),
        ("Jane gave Joan candy because she was hungry.", ["Jane", "Joan", "candy"]),
        ("Sally said that she likes it here.", ["Sally"]),
    ],
)
def test_phrases_are_found_by_parts_of_speech(text, phrases):
    assert list(noun_phrases(text)) == phrases


def test_pronouns_alone_are_no_phrases():
    assert noun_phrases("He told them that she had seen everyone.") == ()


@pytest.mark.parametrize(("file", "share"), [("wsc/WSCollection.xml", 0.92), ("dpr/test.c.txt", 0.94)])
def test_nearly_all_candidates_of_problems_are_among_the_phrases_of_their_texts(real_file, file, share):
    is_found = []
    for problem in load(real_file(file), groups=False):
        phrases = [words_of(phrase) for phrase in noun_phrases(problem.sentence)]
        for candidate in problem.candidates:
            words = words_of(candidate)
            is_found.append(any(phrase[-len(words) :] == words for phrase in phrases))
    assert sum(is_found) / len(is_found) > share


def words_of(span):
    """Words of a phrase in small letters, without its article."""
    return span.casefold().removeprefix("the ").removeprefix("a ").split()
