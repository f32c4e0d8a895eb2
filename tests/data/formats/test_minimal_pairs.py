"""Minimal pairs are read from the columns of public sets, and no format takes them that has no place for them."""

import json

import pytest

from winokit.data.checks.checkup import check, find_duplicates
from winokit.data.checks.groups import find_groups
from winokit.data.checks.statistics import statistics
from winokit.data.formats import FORMATS, read, write
from winokit.data.formats.dialects import parse_row
from winokit.data.formats.source import Source
from winokit.data.loading import load
from winokit.errors import BadInput, CannotWrite
from winokit.methods.overlap import overlap
from winokit.problem import Dataset, Problem

BLIMP = {"sentence_good": "The cats sleep.", "sentence_bad": "The cats sleeps.", "UID": "agreement", "pairID": "3"}
EWOK = {
    "Context1": "The sea is calm.",
    "Context2": "The sea is rough.",
    "Target1": "Ann floats.",
    "Target2": "Ann sinks.",
}
COMPS = {"prefix_acceptable": "a robin", "prefix_unacceptable": "a mug", "property_phrase": "can fly.", "id": 7}


def unicode_lines(*rows):
    """Rows as JSON, a line each, with letters as they are."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("content", "right", "wrong", "domain"),
    [
        (unicode_lines(BLIMP), "The cats sleep.", "The cats sleeps.", "agreement"),
        ("\tsen\twrong_sen\tphenomenon\n0\tIch gehe.\tIch gehst.\tSV-P\n", "Ich gehe.", "Ich gehst.", "SV-P"),
        (
            ',sent_more,sent_less,stereo_antistereo,bias_type\n0,"Old men, all, sit.","Men, all, sit.",stereo,age\n',
            "Old men, all, sit.",
            "Men, all, sit.",
            "age",
        ),
        ("good;bad\nJa.;Je.\n", "Ja.", "Je.", None),
    ],
)
def test_a_pair_is_recognised_by_its_columns(tmp_path, content, right, wrong, domain):
    path = tmp_path / "pairs"
    path.write_text(content, "utf-8")
    (problem,) = read(path)
    assert problem.is_whole
    assert problem.right == right
    assert {*problem.candidates} == {right, wrong}
    assert problem.domain == domain
    assert problem.group is None


def test_columns_of_any_name_hold_good_and_bad_texts(tmp_path):
    path = tmp_path / "eigene.csv"
    path.write_text("richtig;falsch;paar\nIch gehe.;Ich gehst.;x\nDu gehst.;Du gehe.;x\nEr geht.;Er gehe.;y\n", "utf-8")
    dataset = load(path, columns="good=richtig,bad=falsch,group=paar")
    right_candidates = [problem.right for problem in dataset]
    assert right_candidates == ["Ich gehe.", "Du gehst.", "Er geht."]
    groups = [problem.group for problem in dataset]
    assert groups == ["x", "x", None]
    path.write_text("richtig;falsch\nIch gehe.;\n", "utf-8")
    with pytest.raises(BadInput, match=r"eigene.csv:2: .*empty candidate"):
        load(path, columns="good=richtig,bad=falsch")


def test_the_stereotype_counts_as_right_and_the_reader_is_told(tmp_path):
    path = tmp_path / "crows.csv"
    path.write_text("sent_more,sent_less\nOld men sit.,Men sit.\n", "utf-8")
    assert "50 % is best" in read(path).notes[0]


def test_the_place_of_a_good_text_says_nothing_and_the_id_nothing_of_its_place():
    pairs = [parse_row({"good": f"He has {n}.", "bad": f"He have {n}."}) for n in range(400)]
    first_count = sum(problem.answer == 0 for problem in pairs)
    assert 160 < first_count < 240
    turned_problem = pairs[0].with_order((1, 0))
    assert pairs[0].id == turned_problem.id


def test_the_rest_of_a_text_is_scored_after_its_beginnings():
    problem = parse_row(COMPS)
    assert problem.text == "_ can fly."
    assert problem.right == "a robin"
    assert problem.is_continuation


def test_two_contexts_and_two_targets_are_twins(tmp_path):
    path = tmp_path / "ewok.jsonl"
    path.write_text(unicode_lines(EWOK, {**EWOK, "Target2": "Ann swims."}), "utf-8")
    dataset = load(path)
    group_sizes = sorted(len(members) for members in dataset.groups.values())
    assert group_sizes == [2, 2]
    first = dataset[0]
    second = dataset[1]
    assert first.text == "_ Ann floats."
    assert first.right == EWOK["Context1"]
    assert second.text == "_ Ann sinks."
    assert second.right == EWOK["Context2"]
    assert first.candidates == second.candidates
    assert not [finding for finding in check([dataset]) if finding.check == "rules"]


def test_whole_texts_survive_being_written_and_read(tmp_path):
    spaced = Problem.whole(["a_b c.", "a_b  c."], 1, group="g", domain="spaces", labels={"field": "syntax"})
    letters = Problem.whole(["b.", "c.", "d."], 2, group="g")
    hidden = Problem.whole(["b.", "c.", "d."], None)
    problems = Dataset([spaced, letters, hidden])
    write(problems, tmp_path / "own.jsonl")
    problems_again = list(read(tmp_path / "own.jsonl"))
    texts = [problem.texts for problem in problems]
    texts_again = [problem.texts for problem in problems_again]
    assert texts_again == texts
    assert problems_again == [spaced, letters, hidden.replace(occurrence=2)]


def test_whole_texts_survive_the_format_of_minimal_pairs(tmp_path):
    spaced = Problem.whole(["a_b c.", "a_b  c."], 1, group="g", domain="spaces", labels={"field": "syntax"})
    write(Dataset([spaced]), tmp_path / "pairs.jsonl", "minimal-pairs")
    (again,) = FORMATS["minimal-pairs"].read(Source(tmp_path / "pairs.jsonl"))
    assert again.id == spaced.id
    assert again.right == "a_b  c."
    assert again.domain == "spaces"
    assert again.group == "g"


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.render and not form.holds_whole])
def test_a_format_with_a_blank_refuses_whole_texts_and_says_which_does_not(name, tmp_path):
    whole_texts = [Problem.whole(["a.", "b."], 0)]
    with pytest.raises(CannotWrite, match="needs a blank; jsonl, minimal-pairs, winogrande do not"):
        write(Dataset(whole_texts), tmp_path / "out", name)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"texts": ["a."], "answer": 0}, "two or more"),
        ({"texts": ["a.", "a."], "answer": 0}, "must differ"),
        ({"texts": ["a.", "b."], "answer": 2}, "one of the 2"),
        ({"texts": "a.", "answer": 0}, "a list of strings"),
        ({"texts": ["a.", "b."], "text": "x _", "answer": 0}, "'text': whole texts to choose from have no blank"),
        ({"before": "", "after": "", "candidates": ["a.", "b."]}, "no text around the blank"),
        ({"text": "_", "candidates": ["a.", "b."]}, "no text around the blank"),
        ({"sentence_good": "a.", "sentence_bad": ""}, "'sentence_bad': expected a string, found an empty one"),
        ({"sentence_good": "a.", "sentence_bad": 3}, "'sentence_bad': expected a string, found 3"),
        ({"good": "a.", "bad": "a."}, "must differ"),
        ({**EWOK, "Target2": None}, "'Target2': expected a string"),
    ],
)
def test_what_is_no_choice_between_texts_is_refused_with_its_line(row, says, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(unicode_lines(row), "utf-8")
    with pytest.raises(BadInput, match=says) as caught:
        read(path)
    message = str(caught.value)
    assert "bad.jsonl:1: " in message


AGREEMENT_PAIRS = [
    Problem.whole([f"The {noun} sleep in the old house.", f"The {noun}s sleep in the old house."], 1)
    for noun in ("cat", "dog", "cow", "bird")
]


def test_neighbours_that_look_alike_are_no_twins_unless_somebody_says_so():
    assert not find_groups(AGREEMENT_PAIRS).groups
    grouped = [problem.replace(group="g") for problem in AGREEMENT_PAIRS]
    assert find_groups(grouped).groups == [(0, 1, 2, 3)]


def test_whole_texts_are_the_same_or_nearly_so_by_their_words():
    opening = "Nobody who lives in the old house by the river knows why the"
    whole_text = Problem.whole([f"{opening} cat sleep.", f"{opening} cats sleep."], 1)
    reworded_texts = [text.replace("old", "older") for text in whole_text.texts]
    reworded = Problem.whole(reworded_texts, 1)
    dataset = Dataset([whole_text.with_order((1, 0)), reworded, *AGREEMENT_PAIRS])
    matches = overlap(dataset, Dataset([whole_text]))
    assert matches.given == {0: "same", 1: "near"}
    assert not find_duplicates([Dataset(AGREEMENT_PAIRS)])


def test_a_whole_text_shared_by_two_problems_makes_them_near():
    first, *others = AGREEMENT_PAIRS
    shared = first.replace(candidates=(first.texts[0], "The cats slept in the old house."))
    matches = overlap(Dataset([*others, shared]), Dataset([first]))
    assert matches.given == {3: "near"}


def test_whole_texts_with_other_answers_contradict_each_other():
    other_answer = AGREEMENT_PAIRS[0].replace(answer=0)
    dataset = Dataset([AGREEMENT_PAIRS[0], other_answer])
    kinds = [match.kind for match in find_duplicates([dataset])]
    assert kinds == ["contradiction"]


def test_every_whole_text_counts_for_itself_in_statistics():
    problem = Problem.whole(["One two.", "One two three."], 0)
    row = statistics(Dataset([problem]))
    assert row.mean_words == 3.5
    assert row.vocabulary == 4


def test_checks_say_what_they_do_not_judge():
    messages = [finding.message for finding in check([Dataset(AGREEMENT_PAIRS)])]
    assert any("4 problems are whole texts, which the rules for twins do not cover" in message for message in messages)
    assert any("no structure to describe" in message for message in messages)
    assert not any("mentioned first" in message for message in messages)
