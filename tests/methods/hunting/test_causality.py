from math import log

import pytest
from support.scoring import score

from winokit.data.formats.copa import problem as copa
from winokit.methods.hunting.building import build_index
from winokit.methods.hunting.causality import causal_pmi, causal_scores, units
from winokit.methods.hunting.search import SentenceIndex, any_of
from winokit.models.registry import load_model
from winokit.problem import Dataset

STORIES = (
    ["It poured all day. The street was flooded."] * 6
    + ["The street was dry."] * 4
    + ["He woke up early."] * 8
    + ["Fire truck sirens howled. We hurried up."] * 6
    + ["Someone slept."] * 30
)


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stories")
    (folder / "text.txt").write_text("\n\n".join(STORIES))
    build_index([folder / "text.txt"], folder / "i.db")
    with SentenceIndex(folder / "i.db") as index:
        yield index


def shown(text, corpus):
    return [unit.phrases[0] for unit in units(text, corpus)]


def test_an_expression_of_several_words_is_one(stories):
    assert shown("He woke up, and the fire truck was there.", stories) == ["woke up", "fire truck"]
    assert shown("The truck and the fire.", stories) == ["truck", "fire"]
    assert shown("She slept in the street.", stories) == ["slept", "street"]


def test_causes_come_first(stories):
    poured, flooded = any_of(["poured"]), any_of(["flooded"])
    assert causal_pmi(poured, flooded, stories) == pytest.approx(log(6 * stories.sentences / (6 * 6)))
    assert causal_pmi(flooded, poured, stories) == 0


@pytest.mark.parametrize(
    ("premise", "asks_for", "alternatives", "answer"),
    [
        ("The street was flooded.", "cause", ("Someone slept.", "It poured."), 1),
        ("It poured.", "effect", ("The street was flooded.", "Someone slept."), 0),
    ],
)
def test_the_alternative_that_leads_there_is_chosen(stories, premise, asks_for, alternatives, answer):
    found = causal_scores(copa(premise, asks_for, alternatives, answer), stories)
    assert max(range(2), key=lambda index: found[index]) == answer


def test_what_never_meets_and_what_is_no_copa_say_so(stories, twins):
    strange = copa("The yurt frobbed.", "cause", ("Zebras.", "Quinces."), 0)
    assert "was ever seen near" in causal_scores(strange, stories)
    assert "not of COPA's form" in causal_scores(twins[0], stories)


def test_causality_is_a_model(stories):
    flooded = copa("The street was flooded.", "cause", ("Someone slept.", "It poured."), 1)
    (row,) = score(Dataset([flooded]), load_model(f"hunter:{stories.name}?by=causal"))
    assert row.prediction == 1
