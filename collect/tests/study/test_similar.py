"""Similar earlier texts are found, in whatever order their rows were numbered and committed."""

import random

import pytest
from rapidfuzz.distance import Levenshtein

from winokit import Problem
from winokit_collect.study.schema import to_row
from winokit_collect.study.writing import MOST_MISSING, PATIENCE, EarlierText

CANDIDATES = ("the cup", "the tray")
LEFT = "The cup stood on the left of the tray before breakfast because _ was already full of milk."
RIGHT = "On rainy days nobody carries the tray past the cup unless _ has been dried with a cloth."


def store_problem(study, number, text):
    """Store a problem under this number, as if its transaction had begun when the number was next."""
    row = to_row(Problem.from_text(text, CANDIDATES, answer=0), "written", study.now())
    row.id = number
    with study.store.write() as session:
        session.add(row)


def test_a_row_with_a_lower_number_that_is_committed_later_is_found(study):
    earlier = EarlierText()
    store_problem(study, 12, LEFT)
    assert earlier.nearest(study, [LEFT]) == 1
    assert earlier.nearest(study, [RIGHT]) < 0.6
    store_problem(study, 11, RIGHT)
    assert earlier.nearest(study, [RIGHT]) == 1


def test_no_text_that_is_too_similar_is_missed_by_looking_only_at_those_with_its_rarest_words(make_study):
    dice = random.Random(3)
    words = [f"word{number}" for number in range(60)]
    study = make_study(rules={"most_similar": 0.7})
    earlier = EarlierText()
    texts = [" ".join(dice.choices(words, k=dice.randint(6, 14))) + " _ x" for _ in range(40)]
    for number, text in enumerate(texts, 1):
        store_problem(study, number, text)
    similar_count = 0
    for text in texts * 5:
        changed = change_words(text.split(), [*words, "new"], dice)
        nearest = max(Levenshtein.normalized_similarity(changed, earlier_text.split()) for earlier_text in texts)
        answer = earlier.nearest(study, [" ".join(changed)])
        if nearest >= 0.7:
            assert answer == pytest.approx(nearest)
            similar_count += 1
        else:
            assert answer < 0.7
    assert 20 < similar_count < 180


def change_words(words, vocabulary, dice):
    """A copy of the words with one to six of them inserted, deleted or replaced at random."""
    changed = list(words)
    for _ in range(dice.randint(1, 6)):
        start = dice.randrange(len(changed))
        insertion = dice.choices(vocabulary, k=dice.randint(0, 1))
        end = start + dice.randint(0, 1)
        changed[start:end] = insertion
    return changed


def test_numbers_that_never_come_are_not_looked_for_for_ever(study, clock):
    earlier = EarlierText()
    store_problem(study, 5000, LEFT)
    earlier.nearest(study, [LEFT])
    assert len(earlier._missing) == MOST_MISSING
    clock.pass_minutes(PATIENCE.total_seconds() / 60)
    earlier.nearest(study, [LEFT])
    assert earlier._missing == {}


def test_the_nearest_of_several_texts_counts(study):
    earlier = EarlierText()
    store_problem(study, 1, LEFT)
    assert earlier.nearest(study, [RIGHT, LEFT]) == 1
    assert earlier.nearest(study, []) == 0
