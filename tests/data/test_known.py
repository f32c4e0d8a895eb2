"""Public datasets are known by their content: whatever their file is called, and nothing else under their name."""

import json
import shutil

import pytest

from winokit.data import known
from winokit.data.formats import read, write
from winokit.data.known import are_public, identify, problem_key
from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.problem import Card, Dataset, Problem
from winokit.stages.audit.page import AuditPage

PERTURBED = ("original", "tense", "number", "gender", "voice", "rel_1", "adverb", "syn")
BIASES = [f"{side}_stereotyped_type{kind}" for side in ("pro", "anti") for kind in (1, 2)]
PUBLIC = {
    **{f"winogrande/{name}": f"winogrande/{name}.jsonl" for name in ("dev", "test")},
    **{f"winogrande/train_{size}": f"winogrande/train_{size}.jsonl" for size in ("xs", "s", "m", "l", "debiased")},
    "wsc": "wsc/WSCollection.xml",
    "pdp": "pdp/PDPChallenge2016.xml",
    **{f"trichelair/{name}": f"trichelair/{name}.json" for name in ("WSC_associative_label", "WSC_switched_label")},
    **{f"dpr/{name}": f"dpr/{name}.c.txt" for name in ("train", "test")},
    **{f"superglue-wsc/{name}": f"superglue-wsc/{name}.jsonl" for name in ("train", "val", "test")},
    **{f"superglue-copa/{name}": f"superglue-copa/{name}.jsonl" for name in ("train", "val")},
    **{f"copa/copa-{name}": f"copa/copa-{name}.xml" for name in ("dev", "test")},
    **{f"winogender/{name}": f"winogender/{name}.tsv" for name in ("all_sentences", "templates")},
    **{f"winobias/{name}.{split}": f"winobias/{name}.txt.{split}" for name in BIASES for split in ("dev", "test")},
    "knowref/knowref_test": "knowref/knowref_test.json",
    **{f"perturbed-wsc/text_{name}": f"perturbed-wsc/text_{name}.jsonl" for name in PERTURBED},
}
OWN = [
    Problem("The cook thanked the waiter because ", " had helped.", ("the cook", "the waiter"), 1, "he"),
    Problem("The cook thanked the waiter although ", " was tired.", ("the cook", "the waiter"), 0, "he"),
]


def rows(problems):
    return "".join(
        json.dumps({"qID": f"q{at}-{at}", "sentence": p.text, "option1": p.candidates[0], "option2": p.candidates[1]})
        + "\n"
        for at, p in enumerate(problems)
    )


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
    looked_at = []
    monkeypatch.setattr(known, "problem_key", lambda problem: looked_at.append(problem) or problem_key(problem))
    assert identify(dataset.problems).how == "whole"
    assert len(looked_at) == len(dataset)


def test_own_sentences_in_a_file_of_a_known_name_are_not_the_known_set(tmp_path):
    for folder in ("my", "winogrande"):
        path = tmp_path / folder / "dev.jsonl"
        path.parent.mkdir()
        path.write_text(rows(OWN))
        card = load(path).card
        assert card == Card("my/dev" if folder == "my" else f"{tmp_path.name}/winogrande/dev", language="en")
    page = AuditPage(Run({}, [], [], Dataset(OWN, Card("winogrande/dev", "WinoGrande"))))
    assert page.published == ()


def test_a_file_in_the_folder_it_is_read_from_is_called_by_its_name_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.jsonl").write_text(rows(OWN))
    assert load("mine.jsonl").card == Card("mine", language="en")


def test_a_part_of_a_known_set_is_called_that_and_has_no_published_results(real_file, tmp_path):
    dev = load(real_file("winogrande/dev.jsonl"))
    path = tmp_path / "dev.jsonl"
    path.write_bytes(b"".join(real_file("winogrande/dev.jsonl").read_bytes().splitlines(keepends=True)[100:120]))
    part = load(path)
    assert part.card.name == "winogrande/dev, 20 of 1,267"
    assert part.card.title == "20 of 1,267 problems of WinoGrande"
    assert (part.card.licence, part.card.human_accuracy) == ("CC BY", None)
    assert AuditPage(Run({}, [], [], part)).published == ()
    assert dev[100:120].card == part.card
    assert AuditPage(Run({}, [], [], dev)).published != ()
    large = load(real_file("winogrande/train_xl.jsonl"), groups=False)
    assert identify(large.problems[20_000:21_000]).card(1000).name == "winogrande/train_xl, 1,000 of 40,398"


def test_neither_order_nor_spelling_of_spaces_makes_another_set(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    spaced = [p.replace(before=p.before.replace(" ", "  "), after=p.after + " ") for p in reversed(wsc)]
    for same in (spaced, list(wsc), [p.replace(answer=None) for p in wsc]):
        assert identify(same).known.name == "wsc273"
        assert identify(same).how == "whole"
    pdp = load(real_file("pdp/PDPChallenge2016.xml"), as_="binary")
    assert identify(pdp.problems).how == "whole"
    assert AuditPage(Run({}, [], [], pdp)).published != ()


def test_other_answers_and_repeats_make_a_variant(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    turned = [p.replace(answer=1 - p.answer) if at == 7 else p for at, p in enumerate(dev)]
    assert identify(turned).card(1267).name == "winogrande/dev, with other answers"
    twice = Dataset([*dev, *dev])
    assert identify(twice.problems).card(len(twice)).name == "winogrande/dev, with repeats"
    for changed in (Dataset(turned, dev.card), Dataset(twice, dev.card)):
        assert AuditPage(Run({}, [], [], changed)).published == ()


def test_where_only_some_problems_are_known_a_note_says_how_many(real_file, tmp_path):
    known = load(real_file("winogrande/dev.jsonl"))[:6]
    path = tmp_path / "my" / "mixed.jsonl"
    path.parent.mkdir()
    path.write_text(rows([*OWN, *known]))
    mixed = load(path)
    assert mixed.card == Card("my/mixed", language="en")
    assert mixed.notes == ("my/mixed: 75.0 % of its problems are from winogrande/dev",)


def test_a_card_in_a_file_is_believed_unless_it_claims_a_public_set(tmp_path):
    path = tmp_path / "rows.jsonl"
    own = Card("mine", "Mine", "CC0-1.0")
    claimed = Card("winogrande/dev", "WinoGrande", "CC BY", human_accuracy=0.94)
    for card, name in ((own, "mine"), (claimed, "winogrande/dev, changed")):
        write(Dataset(OWN, card), path)
        found = read(path).card
        assert (found.name, found.licence, found.human_accuracy) == (name, card.licence, None)


def test_joined_datasets_share_only_what_is_true_of_both(real_file, tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(rows(OWN))
    dev = real_file("winogrande/dev.jsonl")
    test = real_file("winogrande/test.jsonl")
    assert load(f"{dev}+{path}", groups=False).card == Card(f"winogrande/dev+{tmp_path.name}/own", language="en")
    assert load(f"{dev}+{test}", groups=False).card.title == "WinoGrande"


def test_problems_of_public_sets_are_public_one_by_one_and_others_are_not(real_file):
    known = load(real_file("winogrande/dev.jsonl"))[:20]
    assert are_public([*known, *OWN]) == [True] * 20 + [False] * 2
    changed = [problem.replace(before=f"Yesterday, {problem.before}") for problem in known]
    assert are_public(changed) == [False] * 20


def test_bundled_twins_are_public_whatever_is_left_of_them():
    bare = [p.replace(pronoun=None, group=None, labels={}, before=p.before.upper()) for p in load("open")]
    assert are_public([*bare, *OWN]) == [True] * len(bare) + [False] * 2


def test_a_large_public_set_is_public_as_a_whole_beside_a_small_one(real_file):
    large = load(real_file("winogrande/train_l.jsonl"), groups=False)
    dev = load(real_file("winogrande/dev.jsonl"), groups=False)
    assert all(are_public([*large, *dev]))
    own = [p.replace(before=f"Yesterday, {p.before}") for p in dev]
    assert not any(are_public([*large, *own])[len(large) :])


def test_choices_that_were_merged_from_public_questions_are_public(real_file):
    assert all(are_public(load(real_file("superglue-wsc/train.jsonl"), as_="choice").problems))


def test_no_problems_are_no_public_problems():
    assert are_public([]) == []
