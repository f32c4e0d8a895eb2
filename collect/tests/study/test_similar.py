"""Texts that were handed in before: found however the numbers of their rows were given out."""

import random

import pytest
from rapidfuzz.distance import Levenshtein

from winokit import Problem
from winokit_collect.study.schema import to_row
from winokit_collect.study.writing import MOST_MISSING, PATIENCE, EarlierText

CANDIDATES = ("the cup", "the tray")
LEFT = "The cup stood on the left of the tray before breakfast because _ was already full of milk."
RIGHT = "On rainy days nobody carries the tray past the cup unless _ has been dried with a cloth."


def stored(study, number, text):
    """A problem under a number of its own, as if its transaction had begun when that number was next."""
    row = to_row(Problem.from_text(text, CANDIDATES, answer=0), "written", study.now())
    row.id = number
    with study.store.write() as session:
        session.add(row)


def test_a_row_with_a_lower_number_that_is_committed_later_is_found(study):
    earlier = EarlierText()
    stored(study, 12, LEFT)
    assert earlier.nearest(study, [LEFT]) == 1
    assert earlier.nearest(study, [RIGHT]) < 0.6
    stored(study, 11, RIGHT)
    assert earlier.nearest(study, [RIGHT]) == 1


def test_no_text_that_is_too_similar_is_missed_by_looking_only_at_those_with_its_rarest_words(make_study):
    dice = random.Random(3)
    words = [f"word{number}" for number in range(60)]
    study = make_study(rules={"most_similar": 0.7})
    earlier = EarlierText()
    texts = [" ".join(dice.choices(words, k=dice.randint(6, 14))) + " _ x" for _ in range(40)]
    for number, text in enumerate(texts, 1):
        stored(study, number, text)
    found = 0
    for text in texts * 5:
        changed = text.split()
        for _ in range(dice.randint(1, 6)):
            place = dice.randrange(len(changed))
            changed[place : place + dice.randint(0, 1)] = dice.choices([*words, "new"], k=dice.randint(0, 1))
        nearest = max(Levenshtein.normalized_similarity(changed, other.split()) for other in texts)
        answer = earlier.nearest(study, [" ".join(changed)])
        assert (answer == pytest.approx(nearest)) if nearest >= 0.7 else (answer < 0.7)
        found += nearest >= 0.7
    assert 20 < found < 180


def test_numbers_that_never_come_are_not_looked_for_for_ever(study, clock):
    earlier = EarlierText()
    stored(study, 5000, LEFT)
    earlier.nearest(study, [LEFT])
    assert len(earlier._missing) == MOST_MISSING
    clock.pass_minutes(PATIENCE.total_seconds() / 60)
    earlier.nearest(study, [LEFT])
    assert earlier._missing == {}


def test_the_nearest_of_several_texts_counts(study):
    earlier = EarlierText()
    stored(study, 1, LEFT)
    assert earlier.nearest(study, [RIGHT, LEFT]) == 1
    assert earlier.nearest(study, []) == 0
