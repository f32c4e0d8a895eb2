"""Training data are refused or cut where sets overlap, and are turned into variants for the arms."""

import pytest

pytest.importorskip("torch")
from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.methods.overlap import overlap
from winokit.methods.training.data import TrainingData, VariantArm, hold_out, make_variant
from winokit.problem import Card, Dataset, Problem


def named(problems, name):
    """Dataset of the problems under a name."""
    return Dataset(problems, Card(name))


def sentences_of(problems):
    return {problem.sentence for problem in problems}


def test_sets_that_have_nothing_in_common_pass(planted, unseen, twins):
    assert TrainingData(planted, unseen, (twins,)).checked().train is planted


def test_a_dev_set_that_is_the_test_set_is_refused(planted, unseen):
    with pytest.raises(BadInput, match=r"^unseen, to choose on, overlaps unseen: 40 same, .*; all of it overlaps$"):
        TrainingData(planted, unseen, (unseen,)).checked()


def test_a_dev_set_that_overlaps_the_training_set_is_refused_or_the_overlap_left_out(planted, unseen):
    both = named([*planted[:6], *unseen], "both")
    data = TrainingData(planted, both)
    message = r"planted, to train on, overlaps both: 6 same, 0 near, 0 twin of its 46 .*--drop-overlap"
    with pytest.raises(BadInput, match=message):
        data.checked()
    checked = data.checked(drop_overlap=True)
    assert len(checked.train) == len(planted) - 6
    assert checked.train.notes == ("planted: left out for both: 6 same, 0 near, 0 twin",)
    assert checked.dropped == {"train for both": {"same": 6, "near": 0, "twin": 0}}
    assert checked.dev is both


def test_what_is_chosen_on_loses_what_overlaps_a_test_set(planted, unseen):
    first = unseen[0]
    after_of_twin = first.after.replace("left", "come")
    twin = first.replace(answer=1 - first.answer, after=after_of_twin, group="own")
    copy = unseen[3].replace(group=None)
    dev = named([*planted[:6], copy, twin], "dev")
    data = TrainingData(planted[6:], dev, (unseen,))
    with pytest.raises(BadInput, match="dev, to choose on, overlaps unseen: 1 same, 0 near, 1 twin of its 40 problems"):
        data.checked(drop_overlap=False)
    checked = data.checked(drop_overlap=True)
    assert checked.dev == named(planted[:6], "dev")
    assert checked.dropped == {"dev for unseen": {"same": 1, "near": 0, "twin": 1}}


def test_a_test_set_in_the_training_set_is_refused_whatever_is_asked_about_it(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    superglue = load(real_file("superglue-wsc/train.jsonl"))
    with pytest.raises(BadInput, match="overlaps wsc273: 215 same, 5 near, 9 twin of its 273 problems"):
        TrainingData(superglue, None, (wsc,)).checked()


def test_no_training_row_is_a_test_problem_once_overlap_is_dropped(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    superglue = load(real_file("superglue-wsc/train.jsonl"))
    checked = TrainingData(superglue, None, (wsc,)).checked(drop_overlap=True)

    def letters_in(problem):
        return "".join(filter(str.isalnum, problem.sentence.casefold()))

    letters_of_tests = {letters_in(problem) for problem in wsc}
    letters_of_train = {letters_in(problem) for problem in checked.train}
    assert letters_of_train.isdisjoint(letters_of_tests)
    assert checked.dropped == {"train for wsc273": {"same": 358, "near": 6, "twin": 0}}
    assert len(checked.train) == 554 - 364
    assert checked.checked() == checked


def test_training_and_dev_sets_need_answers_and_test_sets_do_not(planted, unseen):
    unanswered = [problem.replace(answer=None) for problem in unseen]
    hidden = named(unanswered, "hidden")
    with pytest.raises(BadInput, match="hidden: 40 of 40 problems have no answer to train on"):
        TrainingData(hidden).checked()
    with pytest.raises(BadInput, match="hidden: 40 of 40 problems have no answer to choose on"):
        TrainingData(planted, hidden).checked()
    TrainingData(planted, None, (hidden,)).checked()


def test_an_empty_training_set_is_refused(planted):
    with pytest.raises(BadInput, match="nothing: no problem to train on"):
        TrainingData(named([], "nothing")).checked()
    with pytest.raises(BadInput, match="once those of planted are left out"):
        TrainingData(planted, planted).checked(drop_overlap=True)


def test_problems_are_held_out_with_their_twins(planted):
    kept_problems, held_out = hold_out(planted, 30, seed=1)
    groups_kept = {problem.group for problem in kept_problems}
    groups_held_out = {problem.group for problem in held_out}
    _, held_out_again = hold_out(planted, 30, seed=1)
    _, other_held_out = hold_out(planted, 30, seed=2)
    assert len(held_out) == 30
    assert len(kept_problems) + len(held_out) == len(planted)
    assert groups_kept.isdisjoint(groups_held_out)
    assert held_out_again == held_out
    assert other_held_out != held_out


def test_not_all_problems_can_be_held_out(planted):
    with pytest.raises(BadInput, match="64 problems, of which 64 cannot be held out"):
        hold_out(planted, 64)


@pytest.mark.parametrize("file", ["superglue-wsc/train.jsonl", "dpr/train.c.txt"])
def test_what_is_held_out_overlaps_nothing_that_is_kept(real_file, file):
    data = load(real_file(file))
    for seed in range(3):
        kept_problems, held_out = hold_out(data, 100, seed)
        assert 100 <= len(held_out) <= 110
        assert not overlap(kept_problems, held_out).given
        assert sentences_of(kept_problems).isdisjoint(sentences_of(held_out))


def test_a_dataset_that_hangs_together_cannot_be_torn():
    text = "The cup fell off the shelf in room {} because "
    problems = [Problem(text.format(number), " was wet.", ("a", "b"), 0) for number in range(9)]
    with pytest.raises(BadInput, match=r"rooms: 3 cannot be held out: its problems overlap"):
        hold_out(named(problems, "rooms"), 3)


@pytest.mark.parametrize("variant", ["no-cands", "part-sent", "local-context", "special-word"])
def test_arms_say_what_is_trained_on_and_what_is_tested_on(variant):
    data = load("open")
    train = data[:100]
    dev = data[100:140]
    test = data[140:180]
    original_arm = VariantArm.of(variant, "original")
    crossed = TrainingData(train, dev, (test,), original_arm).in_arm()
    assert crossed.train == train
    assert crossed.dev == dev
    assert 0 < len(crossed.tests[0]) <= len(test)
    assert crossed.tests[0] != test
    same = TrainingData(train, dev, (test,), VariantArm.of(variant)).in_arm()
    assert same.tests == crossed.tests
    assert same.train == make_variant(train, variant)
    assert same.dev == make_variant(dev, variant)
    ids_of_train = {problem.id for problem in train}
    ids_of_originals = {problem.provenance["of"] for problem in same.train}
    assert ids_of_originals <= ids_of_train


def test_what_has_no_variant_is_counted_by_reason():
    data = load("open")
    variants = make_variant(data, "part-sent")
    assert len(variants) < len(data)
    assert variants.notes[-1].startswith(f"open: {len(variants)} of 428 problems as part-sent (")


def test_a_variant_in_the_authors_style_is_theirs(real_file):
    data = load(real_file("winogrande/dev.jsonl"))
    by_code = make_variant(data, "part-sent?style=code")
    by_default = make_variant(data, "part-sent")
    pairs_by_code = make_variant(data, "special-word?style=code")
    assert len(by_code) != len(by_default)
    # 177 pairs of twins that differ in one word, as Elazar et al. count them.
    assert len(pairs_by_code) == 354


def test_the_place_of_a_special_word_says_nothing():
    variants = make_variant(load("open"), "special-word")
    for problem in variants:
        assert list(problem.candidates) == sorted(problem.candidates)
    first_count = sum(problem.answer == 0 for problem in variants)
    group_sizes = {len(members) for members in variants.groups.values()}
    assert first_count == len(variants) / 2
    assert group_sizes == {2}


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("no-candidates", "No variant to train or test on named"),
        ("no-cands?how=code", "No option of variant"),
    ],
)
def test_a_wrong_variant_says_what_exists(variant, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        VariantArm.of(variant, "original")
