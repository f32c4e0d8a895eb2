import pytest

pytest.importorskip("torch")
from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.methods.overlap import overlap
from winokit.methods.training.data import TrainingData, VariantArm, hold_out, make_variant
from winokit.problem import Card, Dataset, Problem


def named(problems, name):
    return Dataset(problems, Card(name))


def test_sets_that_have_nothing_in_common_pass(planted, unseen, twins):
    assert TrainingData(planted, unseen, (twins,)).checked().train is planted


def test_a_dev_set_that_is_the_test_set_is_refused(planted, unseen):
    with pytest.raises(BadInput, match=r"^unseen, to choose on, overlaps unseen: 40 same, .*; all of it overlaps$"):
        TrainingData(planted, unseen, (unseen,)).checked()


def test_a_dev_set_that_overlaps_the_training_set_is_refused_or_the_overlap_left_out(planted, unseen):
    both = named([*planted[:6], *unseen], "both")
    with pytest.raises(
        BadInput, match=r"planted, to train on, overlaps both: 6 same, 0 near, 0 twin of its 46 .*--drop-overlap"
    ):
        TrainingData(planted, both).checked()
    found = TrainingData(planted, both).checked(drop_overlap=True)
    assert len(found.train) == len(planted) - 6
    assert found.train.notes == ("planted: left out for both: 6 same, 0 near, 0 twin",)
    assert found.dropped == {"train for both": {"same": 6, "near": 0, "twin": 0}}
    assert found.dev is both


def test_what_is_chosen_on_loses_what_overlaps_a_test_set(planted, unseen):
    twin = unseen[0].replace(answer=1 - unseen[0].answer, after=unseen[0].after.replace("left", "come"), group="own")
    dev = named([*planted[:6], unseen[3].replace(group=None), twin], "dev")
    with pytest.raises(BadInput, match="dev, to choose on, overlaps unseen: 1 same, 0 near, 1 twin of its 40 problems"):
        TrainingData(planted[6:], dev, (unseen,)).checked(drop_overlap=False)
    found = TrainingData(planted[6:], dev, (unseen,)).checked(drop_overlap=True)
    assert found.dev == named(planted[:6], "dev")
    assert found.dropped == {"dev for unseen": {"same": 1, "near": 0, "twin": 1}}


def test_a_test_set_in_the_training_set_is_refused_whatever_is_asked_about_it(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    superglue = load(real_file("superglue-wsc/train.jsonl"))
    with pytest.raises(BadInput, match="overlaps wsc273: 215 same, 5 near, 9 twin of its 273 problems"):
        TrainingData(superglue, None, (wsc,)).checked()


def test_no_training_row_is_a_test_problem_once_overlap_is_dropped(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    superglue = load(real_file("superglue-wsc/train.jsonl"))
    found = TrainingData(superglue, None, (wsc,)).checked(drop_overlap=True)

    def text(problem):
        return "".join(filter(str.isalnum, problem.sentence.casefold()))

    tested = set(map(text, wsc))
    assert not [problem for problem in found.train if text(problem) in tested]
    assert found.dropped == {"train for wsc273": {"same": 358, "near": 6, "twin": 0}}
    assert len(found.train) == 554 - 364
    assert found.checked() == found


def test_training_and_dev_sets_need_answers_and_test_sets_do_not(planted, unseen):
    hidden = named([problem.replace(answer=None) for problem in unseen], "hidden")
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
    kept, held = hold_out(planted, 30, seed=1)
    assert len(held) == 30
    assert len(kept) + len(held) == len(planted)
    assert not {problem.group for problem in kept} & {problem.group for problem in held}
    assert hold_out(planted, 30, seed=1)[1] == held
    assert hold_out(planted, 30, seed=2)[1] != held
    with pytest.raises(BadInput, match="64 problems, of which 64 cannot be held out"):
        hold_out(planted, 64)


@pytest.mark.parametrize("file", ["superglue-wsc/train.jsonl", "dpr/train.c.txt"])
def test_what_is_held_out_overlaps_nothing_that_is_kept(real_file, file):
    data = load(real_file(file))
    for seed in range(3):
        kept, held = hold_out(data, 100, seed)
        assert 100 <= len(held) <= 110
        assert not overlap(kept, held).given
        assert not {problem.sentence for problem in kept} & {problem.sentence for problem in held}


def test_a_dataset_that_hangs_together_cannot_be_torn():
    alike = [Problem(f"The cup fell off the shelf in room {n} because ", " was wet.", ("a", "b"), 0) for n in range(9)]
    with pytest.raises(BadInput, match=r"rooms: 3 cannot be held out: its problems overlap"):
        hold_out(named(alike, "rooms"), 3)


@pytest.mark.parametrize("variant", ["no-cands", "part-sent", "local-context", "special-word"])
def test_arms_say_what_is_trained_on_and_what_is_tested_on(variant):
    data = load("open")
    train = data[:100]
    dev = data[100:140]
    test = data[140:180]
    crossed = TrainingData(train, dev, (test,), VariantArm.of(variant, "original")).in_arm()
    assert crossed.train == train
    assert crossed.dev == dev
    assert 0 < len(crossed.tests[0]) <= len(test)
    assert crossed.tests[0] != test
    same = TrainingData(train, dev, (test,), VariantArm.of(variant)).in_arm()
    assert same.tests == crossed.tests
    assert same.train == make_variant(train, variant)
    assert same.dev == make_variant(dev, variant)
    original = {problem.id for problem in train}
    assert all(problem.provenance["of"] in original for problem in same.train)


def test_what_has_no_variant_is_counted_by_reason():
    data = load("open")
    made = make_variant(data, "part-sent")
    assert len(made) < len(data)
    assert made.notes[-1].startswith(f"open: {len(made)} of 428 problems as part-sent (")


def test_a_variant_in_the_authors_style_is_theirs(real_file):
    data = load(real_file("winogrande/dev.jsonl"))
    assert len(make_variant(data, "part-sent?style=code")) != len(make_variant(data, "part-sent"))
    # 177 pairs of twins that differ in one word, as Elazar et al. count them.
    assert len(make_variant(data, "special-word?style=code")) == 354


def test_the_place_of_a_special_word_says_nothing():
    made = make_variant(load("open"), "special-word")
    assert all(list(problem.candidates) == sorted(problem.candidates) for problem in made)
    first = sum(problem.answer == 0 for problem in made)
    assert first == len(made) / 2
    assert all(len(members) == 2 for members in made.groups.values())


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("no-candidates", "No variant to train or test on named"),
        ("no-cands?how=code", "No option of variant"),
    ],
)
def test_a_wrong_variant_says_what_exists(variant, said):
    with pytest.raises((BadInput, UnknownName), match=said):
        VariantArm.of(variant, "original")
