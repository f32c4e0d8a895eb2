import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winokit.errors import Malformed
from winokit.problem import Card, Dataset, Problem

words = st.text(st.characters(codec="utf-8", exclude_characters="_"), min_size=1).filter(str.strip)


candidate_lists = st.lists(words, min_size=2, max_size=4, unique_by=lambda s: " ".join(s.split()).casefold())


@given(words, words, candidate_lists, st.data())
def test_the_id_says_nothing_of_the_answer_or_the_order_of_candidates(before, after, candidates, data):
    problem = Problem(before, after, tuple(candidates), data.draw(st.integers(0, len(candidates) - 1)))
    shuffled = data.draw(st.permutations(range(len(candidates))))
    assert problem.with_order(shuffled).id == problem.id
    assert problem.replace(answer=None).id == problem.id
    assert problem.with_order(shuffled).right == problem.right


def test_the_id_depends_on_text_pronoun_query_and_candidates(twins):
    problem = twins[0]
    changes = [{"before": "x"}, {"after": "x"}, {"pronoun": "they"}, {"query": "q"}, {"candidates": ("a", "b")}]
    ids = {problem.id, *(problem.replace(**change).id for change in changes)}
    assert len(ids) == len(changes) + 1


def test_a_problem_is_frozen_and_can_be_pickled(twins):
    with pytest.raises(dataclasses.FrozenInstanceError):
        twins[0].answer = 1
    assert pickle.loads(pickle.dumps(twins[0])) == twins[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"candidates": ("one",)}, "two or more candidates"),
        ({"candidates": ("one", " ")}, "empty candidate"),
        ({"candidates": ("The  cup", "the cup")}, "must differ"),
        ({"answer": 2}, "one of the 2 candidates"),
        ({"answer": -1}, "one of the 2 candidates"),
        ({"before": " ", "after": ""}, "no text"),
    ],
)
def test_a_problem_that_is_none_is_refused(twins, change, says):
    with pytest.raises(Malformed, match=says):
        twins[0].replace(**change)


@pytest.mark.parametrize("text", ["no blank", "two _ blanks _"])
def test_a_text_needs_exactly_one_blank(text):
    with pytest.raises(Malformed, match="exactly one blank"):
        Problem.from_text(text, ("a", "b"))


def test_repeated_problems_get_an_occurrence_number_and_unique_ids(twins):
    doubled = Dataset([*twins, *twins, twins[0]])
    assert len({problem.id for problem in doubled}) == len(doubled)
    assert doubled[-1].occurrence == 3


def test_a_subset_keeps_its_ids(twins):
    doubled = Dataset([*twins, *twins])
    assert [p.id for p in doubled[7:]] == [p.id for p in doubled][7:]
    assert [p.id for p in doubled.filter(lambda p: p.occurrence == 2)] == [p.id for p in doubled][6:]


def test_a_repetition_with_candidates_in_another_order_is_a_repetition(twins):
    assert Dataset([twins[0], twins[0].with_order((1, 0))])[1].occurrence == 2


def test_datasets_are_equal_and_hashable_by_content(twins):
    same = Dataset(list(twins), Card("another name"))
    assert same == twins
    assert hash(same) == hash(twins)
    assert same.content_hash == twins.content_hash
    other = Dataset([twins[0].replace(answer=1), *twins[1:]])
    assert other != twins
    assert other.content_hash != twins.content_hash


def test_groups_list_their_members_in_order(twins):
    assert {name: len(members) for name, members in twins.groups.items()} == {"pour": 2, "thank": 2, "rope": 2}
    assert twins.groups["pour"] == (twins[0], twins[1])
