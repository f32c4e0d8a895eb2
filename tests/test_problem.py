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
        ({"before": "", "after": ""}, "no text"),
    ],
)
def test_a_problem_that_is_none_is_refused(twins, change, says):
    with pytest.raises(Malformed, match=says):
        twins[0].replace(**change)


@pytest.mark.parametrize("text", ["no blank", "two _ blanks _"])
def test_a_text_needs_exactly_one_blank(text):
    with pytest.raises(Malformed, match="exactly one blank"):
        Problem.from_text(text, ("a", "b"))


def test_a_blank_alone_is_no_text_and_whole_texts_are_named_as_such():
    with pytest.raises(Malformed, match="`texts`"):
        Problem.from_text("_", ("She sleeps.", "She sleep."))
    with pytest.raises(Malformed, match="must differ"):
        Problem.whole(["She sleeps.", "She sleeps."], 0)
    assert Problem.whole(["ich Sehe", "ich sehe"], 1).right == "ich sehe"


def test_whole_texts_hang_together_only_where_they_share_a_text_or_a_group():
    pairs = [("a.", "b."), ("c.", "d."), ("b.", "e."), ("f.", "g."), ("h.", "i.")]
    problems = [Problem.whole(pair, 0) for pair in pairs]
    problems[3:] = [problem.replace(group="g") for problem in problems[3:]]
    assert Dataset(problems).units.numbers.tolist() == [0, 1, 0, 2, 2]


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


def test_problems_of_one_group_are_a_unit_and_a_problem_alone_is_its_own(twins):
    alone = Problem("Nobody knew why ", " had gone.", ("Ann", "Bo"), 0)
    assert Dataset([*twins, alone]).units.numbers.tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_the_same_text_with_another_pronoun_other_candidates_or_another_question_is_one_unit():
    """A scorer that fills the blank reads he, she and they alike: three rows, one thing that varies."""
    text = ("The clerk paid the cook because ", " was kind.")
    people = ("the clerk", "the cook")
    spoken = [Problem(*text, people, 0, pronoun) for pronoun in ("he", "she", "they")]
    others = [Problem(*text, ("the clerk", "the cat"), 0, "it"), Problem(*text, ("no", "yes"), 0, query="the cook")]
    elsewhere = Problem("The clerk hit the cook because ", " was kind.", people, 0, "he")
    assert Dataset([*spoken, *others, elsewhere]).units.numbers.tolist() == [0, 0, 0, 0, 0, 1]


def test_what_links_two_units_makes_them_one():
    def problem(text: str, group: str | None, template: str | None) -> Problem:
        labels = {} if template is None else {"template": template}
        return Problem(f"{text} because ", " won.", ("Ann", "Bo"), 0, group=group, labels=labels)

    data = [
        problem("one", "a", None),
        problem("two", None, "t"),
        problem("three", "b", None),
        problem("four", None, None),
    ]
    assert Dataset(data).units.numbers.tolist() == [0, 1, 2, 3]
    assert Dataset([*data, problem("five", "a", "t")]).units.numbers.tolist() == [0, 0, 1, 2, 0]
    extended = Dataset([*data, problem("five", "b", "t"), problem("two", "a", None)])
    assert extended.units.numbers.tolist() == [0, 0, 0, 1, 0, 0]


def test_winogenders_problems_hang_together_by_occupation(real_file):
    """A template is filled with two participants, a group joins the two answers: twelve problems an occupation."""
    from winokit.data.loading import load

    data = load(real_file("winogender/all_sentences.tsv"))
    assert {problem.labels["template"] for problem in data} == {
        f"{occupation}.{answer}" for occupation in {p.labels["occupation"] for p in data} for answer in (0, 1)
    }
    assert data.units.count == 60
    assert set(data.units.sizes.tolist()) == {12}


def test_winobias_pairs_pro_with_anti_by_their_text(real_file):
    from winokit.data.loading import load

    sides = [str(real_file(f"winobias/{side}_stereotyped_type1.txt.dev")) for side in ("pro", "anti")]
    data = load("+".join(sides))
    by_text: dict[str, set[int]] = {}
    for problem, cluster in zip(data, data.units.numbers.tolist(), strict=True):
        by_text.setdefault(problem.text, set()).add(cluster)
    assert all(len(clusters) == 1 for clusters in by_text.values())
    paired = [p for p in data if len({q.labels["stereotype"] for q in data if q.text == p.text}) == 2]
    assert len(paired) > 0.9 * len(data)
