"""A problem's id and validation, and the units and occurrences of a dataset."""

import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winokit.errors import Malformed
from winokit.problem import Card, Dataset, Problem

words = st.text(st.characters(codec="utf-8", exclude_characters="_"), min_size=1).filter(str.strip)


def folded(text):
    return " ".join(text.split()).casefold()


candidate_lists = st.lists(words, min_size=2, max_size=4, unique_by=folded)


@given(words, words, candidate_lists, st.data())
def test_the_id_says_nothing_of_the_answer_or_the_order_of_candidates(before, after, candidates, data):
    answer = data.draw(st.integers(0, len(candidates) - 1))
    order = data.draw(st.permutations(range(len(candidates))))
    problem = Problem(before, after, tuple(candidates), answer)
    shuffled = problem.with_order(order)
    assert shuffled.id == problem.id
    assert problem.replace(answer=None).id == problem.id
    assert shuffled.right == problem.right


def test_the_id_depends_on_text_pronoun_query_and_candidates(twins):
    problem = twins[0]
    changes = {"before": "x", "after": "x", "pronoun": "they", "query": "q", "candidates": ("a", "b")}
    ids = {problem.id}
    for name, value in changes.items():
        ids.add(problem.replace(**{name: value}).id)
    assert len(ids) == len(changes) + 1


def test_a_problem_is_frozen_and_can_be_pickled(twins):
    with pytest.raises(dataclasses.FrozenInstanceError):
        twins[0].answer = 1
    assert pickle.loads(pickle.dumps(twins[0])) == twins[0]


@pytest.mark.parametrize(
    ("change", "message"),
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
def test_a_problem_that_is_none_is_refused(twins, change, message):
    with pytest.raises(Malformed, match=message):
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
    pairs = [("a.", "b."), ("c.", "d."), ("b.", "e.")]
    pairs_of_group = [("f.", "g."), ("h.", "i.")]
    problems = [Problem.whole(pair, 0) for pair in pairs]
    problems += [Problem.whole(pair, 0).replace(group="g") for pair in pairs_of_group]
    assert Dataset(problems).units.numbers.tolist() == [0, 1, 0, 2, 2]


def test_repeated_problems_get_an_occurrence_number_and_unique_ids(twins):
    doubled = Dataset([*twins, *twins, twins[0]])
    assert len({problem.id for problem in doubled}) == len(doubled)
    assert doubled[-1].occurrence == 3


def test_a_subset_keeps_its_ids(twins):
    doubled = Dataset([*twins, *twins])
    ids = [problem.id for problem in doubled]
    repetitions = doubled.filter(lambda problem: problem.occurrence == 2)
    assert [problem.id for problem in doubled[7:]] == ids[7:]
    assert [problem.id for problem in repetitions] == ids[6:]


def test_a_repetition_with_candidates_in_another_order_is_a_repetition(twins):
    reordered = twins[0].with_order((1, 0))
    assert Dataset([twins[0], reordered])[1].occurrence == 2


def test_datasets_are_equal_and_hashable_by_content(twins):
    same = Dataset(list(twins), Card("another name"))
    assert same == twins
    assert hash(same) == hash(twins)
    assert same.content_hash == twins.content_hash
    changed = Dataset([twins[0].replace(answer=1), *twins[1:]])
    assert changed != twins
    assert changed.content_hash != twins.content_hash


def test_groups_list_their_members_in_order(twins):
    assert list(twins.groups) == ["pour", "thank", "rope"]
    assert twins.groups["pour"] == (twins[0], twins[1])
    assert twins.groups["thank"] == (twins[2], twins[3])
    assert twins.groups["rope"] == (twins[4], twins[5])


def test_problems_of_one_group_are_a_unit_and_a_problem_alone_is_its_own(twins):
    alone = Problem("Nobody knew why ", " had gone.", ("Ann", "Bo"), 0)
    assert Dataset([*twins, alone]).units.numbers.tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_the_same_text_with_another_pronoun_other_candidates_or_another_question_is_one_unit():
    """A scorer that fills the blank reads he, she and they alike: three rows, one thing that varies."""
    text = ("The clerk paid the cook because ", " was kind.")
    people = ("the clerk", "the cook")
    problems = [Problem(*text, people, 0, pronoun) for pronoun in ("he", "she", "they")]
    problems.append(Problem(*text, ("the clerk", "the cat"), 0, "it"))
    problems.append(Problem(*text, ("no", "yes"), 0, query="the cook"))
    with_another_text = Problem("The clerk hit the cook because ", " was kind.", people, 0, "he")
    assert Dataset([*problems, with_another_text]).units.numbers.tolist() == [0, 0, 0, 0, 0, 1]


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
    templates = {problem.labels["template"] for problem in data}
    expected = set()
    for problem in data:
        occupation = problem.labels["occupation"]
        expected |= {f"{occupation}.0", f"{occupation}.1"}
    assert templates == expected
    assert data.units.count == 60
    assert set(data.units.sizes.tolist()) == {12}


def test_winobias_pairs_pro_with_anti_by_their_text(real_file):
    from winokit.data.loading import load

    paths = [str(real_file(f"winobias/{side}_stereotyped_type1.txt.dev")) for side in ("pro", "anti")]
    data = load("+".join(paths))
    units_by_text: dict[str, set[int]] = {}
    stereotypes_by_text: dict[str, set[object]] = {}
    for problem, unit in zip(data, data.units.numbers.tolist(), strict=True):
        units_by_text.setdefault(problem.text, set()).add(unit)
        stereotypes_by_text.setdefault(problem.text, set()).add(problem.labels["stereotype"])
    assert all(len(units) == 1 for units in units_by_text.values())
    problems_with_both = [problem for problem in data if len(stereotypes_by_text[problem.text]) == 2]
    assert len(problems_with_both) > 0.9 * len(data)
