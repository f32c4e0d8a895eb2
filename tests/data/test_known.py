"""Public datasets are known by their content, whatever their file is called."""

import shutil

import pytest
from support.json_rows import json_lines

from winokit.data import known
from winokit.data.formats import read, write
from winokit.data.known import are_public, identify, problem_key
from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.problem import Card, Dataset, Problem
from winokit.stages.audit.page import AuditPage

PUBLIC = {
    "winogrande/dev": "winogrande/dev.jsonl",
    "winogrande/test": "winogrande/test.jsonl",
    "winogrande/train_xs": "winogrande/train_xs.jsonl",
    "winogrande/train_s": "winogrande/train_s.jsonl",
    "winogrande/train_m": "winogrande/train_m.jsonl",
    "winogrande/train_l": "winogrande/train_l.jsonl",
    "winogrande/train_debiased": "winogrande/train_debiased.jsonl",
    "wsc": "wsc/WSCollection.xml",
    "pdp": "pdp/PDPChallenge2016.xml",
    "trichelair/WSC_associative_label": "trichelair/WSC_associative_label.json",
    "trichelair/WSC_switched_label": "trichelair/WSC_switched_label.json",
    "dpr/train": "dpr/train.c.txt",
    "dpr/test": "dpr/test.c.txt",
    "superglue-wsc/train": "superglue-wsc/train.jsonl",
    "superglue-wsc/val": "superglue-wsc/val.jsonl",
    "superglue-wsc/test": "superglue-wsc/test.jsonl",
    "superglue-copa/train": "superglue-copa/train.jsonl",
    "superglue-copa/val": "superglue-copa/val.jsonl",
    "copa/copa-dev": "copa/copa-dev.xml",
    "copa/copa-test": "copa/copa-test.xml",
    "winogender/all_sentences": "winogender/all_sentences.tsv",
    "winogender/templates": "winogender/templates.tsv",
    "winobias/pro_stereotyped_type1.dev": "winobias/pro_stereotyped_type1.txt.dev",
    "winobias/pro_stereotyped_type1.test": "winobias/pro_stereotyped_type1.txt.test",
    "winobias/pro_stereotyped_type2.dev": "winobias/pro_stereotyped_type2.txt.dev",
    "winobias/pro_stereotyped_type2.test": "winobias/pro_stereotyped_type2.txt.test",
    "winobias/anti_stereotyped_type1.dev": "winobias/anti_stereotyped_type1.txt.dev",
    "winobias/anti_stereotyped_type1.test": "winobias/anti_stereotyped_type1.txt.test",
    "winobias/anti_stereotyped_type2.dev": "winobias/anti_stereotyped_type2.txt.dev",
    "winobias/anti_stereotyped_type2.test": "winobias/anti_stereotyped_type2.txt.test",
    "knowref/knowref_test": "knowref/knowref_test.json",
    "perturbed-wsc/text_original": "perturbed-wsc/text_original.jsonl",
    "perturbed-wsc/text_tense": "perturbed-wsc/text_tense.jsonl",
    "perturbed-wsc/text_number": "perturbed-wsc/text_number.jsonl",
    "perturbed-wsc/text_gender": "perturbed-wsc/text_gender.jsonl",
    "perturbed-wsc/text_voice": "perturbed-wsc/text_voice.jsonl",
    "perturbed-wsc/text_rel_1": "perturbed-wsc/text_rel_1.jsonl",
    "perturbed-wsc/text_adverb": "perturbed-wsc/text_adverb.jsonl",
    "perturbed-wsc/text_syn": "perturbed-wsc/text_syn.jsonl",
}
"""File of each public set, by the name that the set is known by."""
OWN = [
    Problem("The cook thanked the waiter because ", " had helped.", ("the cook", "the waiter"), 1, "he"),
    Problem("The cook thanked the waiter although ", " was tired.", ("the cook", "the waiter"), 0, "he"),
]


def winogrande_lines(problems):
    """Problems as lines of WinoGrande, without answers."""
    rows = []
    for index, problem in enumerate(problems):
        first, second = problem.candidates
        rows.append({"qID": f"q{index}-{index}", "sentence": problem.text, "option1": first, "option2": second})
    return json_lines(rows)


def published_results(dataset):
    """Published results that the page of an audit shows beside a dataset's."""
    return AuditPage(Run({}, [], [], dataset)).published


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_file_is_known_whatever_it_is_called(real_file, tmp_path, name):
    renamed = tmp_path / "my" / f"anything{real_file(PUBLIC[name]).suffix}"
    renamed.parent.mkdir()
    shutil.copy(real_file(PUBLIC[name]), renamed)
    card = load(renamed, groups=False).card
    assert card.name == name
    assert card.licence
    assert card.citation


def test_the_largest_set_is_known_at_one_look_at_each_problem(real_file, monkeypatch):
    dataset = read(real_file("winogrande/train_xl.jsonl"))
    assert dataset.card.name == "winogrande/train_xl"
    key_calls = []

    def record_key(problem):
        key_calls.append(problem)
        return problem_key(problem)

    monkeypatch.setattr(known, "problem_key", record_key)
    assert identify(dataset.problems).how == "whole"
    assert len(key_calls) == len(dataset)


@pytest.mark.parametrize("folder", ["my", "winogrande"])
def test_own_sentences_in_a_file_of_a_known_name_are_not_the_known_set(tmp_path, folder):
    path = tmp_path / folder / "dev.jsonl"
    path.parent.mkdir()
    path.write_text(winogrande_lines(OWN))
    card = load(path).card
    name = "my/dev" if folder == "my" else f"{tmp_path.name}/winogrande/dev"
    assert card == Card(name, language="en")


def test_own_sentences_with_a_card_of_a_known_name_have_no_published_results():
    dataset = Dataset(OWN, Card("winogrande/dev", "WinoGrande"))
    assert published_results(dataset) == ()


def test_a_file_in_the_folder_it_is_read_from_is_called_by_its_name_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.jsonl").write_text(winogrande_lines(OWN))
    assert load("mine.jsonl").card == Card("mine", language="en")


def test_a_part_of_a_known_set_is_called_that_and_has_no_published_results(real_file, tmp_path):
    dev = load(real_file("winogrande/dev.jsonl"))
    path = tmp_path / "dev.jsonl"
    lines = real_file("winogrande/dev.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[100:120]))
    part = load(path)
    assert part.card.name == "winogrande/dev, 20 of 1,267"
    assert part.card.title == "20 of 1,267 problems of WinoGrande"
    assert part.card.licence == "CC BY"
    assert part.card.human_accuracy is None
    assert published_results(part) == ()
    assert dev[100:120].card == part.card
    assert published_results(dev) != ()


def test_a_part_of_a_large_known_set_is_known_by_its_problems(real_file):
    dataset = load(real_file("winogrande/train_xl.jsonl"), groups=False)
    card = identify(dataset.problems[20_000:21_000]).card(1000)
    assert card.name == "winogrande/train_xl, 1,000 of 40,398"


def test_neither_order_nor_spelling_of_spaces_makes_another_set(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    spaced_problems = []
    for problem in reversed(wsc):
        before = problem.before.replace(" ", "  ")
        spaced_problems.append(problem.replace(before=before, after=f"{problem.after} "))
    unanswered_problems = [problem.replace(answer=None) for problem in wsc]
    for problems in (spaced_problems, list(wsc), unanswered_problems):
        identity = identify(problems)
        assert identity.known.name == "wsc273"
        assert identity.how == "whole"


def test_a_known_set_as_binary_problems_is_known_too(real_file):
    pdp = load(real_file("pdp/PDPChallenge2016.xml"), as_="binary")
    assert identify(pdp.problems).how == "whole"
    assert published_results(pdp) != ()


def test_other_answers_and_repeats_make_a_variant(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    problems = list(dev)
    problems[7] = problems[7].replace(answer=1 - problems[7].answer)
    with_other_answer = Dataset(problems, dev.card)
    with_repeats = Dataset([*dev, *dev], dev.card)
    other_card = identify(with_other_answer.problems).card(len(dev))
    assert other_card.name == "winogrande/dev, with other answers"
    assert published_results(with_other_answer) == ()
    repeated_card = identify(with_repeats.problems).card(len(with_repeats))
    assert repeated_card.name == "winogrande/dev, with repeats"
    assert published_results(with_repeats) == ()


def test_where_only_some_problems_are_known_a_note_says_how_many(real_file, tmp_path):
    public_problems = load(real_file("winogrande/dev.jsonl"))[:6]
    path = tmp_path / "my" / "mixed.jsonl"
    path.parent.mkdir()
    path.write_text(winogrande_lines([*OWN, *public_problems]))
    mixed = load(path)
    assert mixed.card == Card("my/mixed", language="en")
    assert mixed.notes == ("my/mixed: 75.0 % of its problems are from winogrande/dev",)


@pytest.mark.parametrize(
    ("card", "name"),
    [
        (Card("mine", "Mine", "CC0-1.0"), "mine"),
        (
            Card("winogrande/dev", "WinoGrande", "CC BY", human_accuracy=0.94),
            "winogrande/dev, changed",
        ),
    ],
    ids=["own name", "public name"],
)
def test_a_card_in_a_file_is_believed_unless_it_claims_a_public_set(tmp_path, card, name):
    path = tmp_path / "rows.jsonl"
    write(Dataset(OWN, card), path)
    read_card = read(path).card
    assert read_card.name == name
    assert read_card.licence == card.licence
    assert read_card.human_accuracy is None


def test_joined_datasets_share_only_what_is_true_of_both(real_file, tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(winogrande_lines(OWN))
    dev = real_file("winogrande/dev.jsonl")
    test = real_file("winogrande/test.jsonl")
    joined_with_own = load(f"{dev}+{path}", groups=False)
    assert joined_with_own.card == Card(f"winogrande/dev+{tmp_path.name}/own", language="en")
    joined = load(f"{dev}+{test}", groups=False)
    assert joined.card.title == "WinoGrande"


def test_problems_of_public_sets_are_public_one_by_one_and_others_are_not(real_file):
    public_problems = load(real_file("winogrande/dev.jsonl"))[:20]
    expected = [True] * 20 + [False] * 2
    assert are_public([*public_problems, *OWN]) == expected
    changed = [problem.replace(before=f"Yesterday, {problem.before}") for problem in public_problems]
    assert are_public(changed) == [False] * 20


def test_bundled_twins_are_public_whatever_is_left_of_them():
    bare = []
    for problem in load("open"):
        bare.append(problem.replace(pronoun=None, group=None, labels={}, before=problem.before.upper()))
    expected = [True] * len(bare) + [False] * 2
    assert are_public([*bare, *OWN]) == expected


def test_a_large_public_set_is_public_as_a_whole_beside_a_small_one(real_file):
    large = load(real_file("winogrande/train_l.jsonl"), groups=False)
    dev = load(real_file("winogrande/dev.jsonl"), groups=False)
    assert all(are_public([*large, *dev]))
    changed_problems = [problem.replace(before=f"Yesterday, {problem.before}") for problem in dev]
    is_public = are_public([*large, *changed_problems])
    assert not any(is_public[len(large) :])


def test_choices_that_were_merged_from_public_questions_are_public(real_file):
    dataset = load(real_file("superglue-wsc/train.jsonl"), as_="choice")
    assert all(are_public(dataset.problems))


def test_no_problems_are_no_public_problems():
    assert are_public([]) == []
