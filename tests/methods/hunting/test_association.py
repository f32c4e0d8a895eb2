import pytest
from support.scoring import score

from winokit.errors import BadInput
from winokit.methods.hunting.association import (
    Strength,
    associate,
    auc,
    auc_interval,
    candidate_words,
    compare_with_labels,
    with_associations,
)
from winokit.methods.hunting.building import build_index
from winokit.methods.hunting.corpus import CorpusLayout
from winokit.methods.hunting.search import SentenceIndex
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem

ROOF = Problem("The tree hit the roof, so we had ", " repaired.", ("the tree", "the roof"), 1, "it")


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """A corpus in which roofs are repaired and trees are not."""
    folder = tmp_path_factory.mktemp("bound")
    lines = ["They repaired the roof."] * 30 + ["A tree is green."] * 30 + ["The roof is red."] * 10 + ["Rain."] * 130
    (folder / "text.txt").write_text("\n".join(lines))
    build_index([folder / "text.txt"], folder / "i.db", layout=CorpusLayout("lines"))
    with SentenceIndex(folder / "i.db") as index:
        yield index


def test_pairs_are_counted_in_sentences(bound):
    roof = next(pair for pair in associate(ROOF, bound).pairs if pair.candidate == "roof")
    assert (roof.with_candidate, roof.with_word, roof.with_both, roof.sentences) == (40, 30, 30, 200)
    assert roof.expected == 40 * 30 / 200


def test_a_strong_bond_of_one_candidate_is_associative(bound):
    found = associate(ROOF, bound)
    assert found.associative
    assert found.scores[1] > 0 > found.scores[0]
    assert found.difference == pytest.approx(found.scores[1] - found.scores[0])


def test_a_few_chance_meetings_are_not(bound):
    weak = Strength(1, 0.1)
    assert weak.value > 0
    assert weak.interval.low < 0


def test_chance_is_zero_and_more_meetings_tell_more():
    assert Strength(40, 40.0).value == 0
    narrow, wide = Strength(400, 100.0).interval, Strength(4, 1.0).interval
    assert narrow.high - narrow.low < wide.high - wide.low


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        (("the tree", "the roof"), ["tree", "roof"]),
        (("The oatmeal cookies", "The ginger cookies"), ["oatmeal", "ginger"]),
        (("the sack of potatoes", "the bag of flour"), ["sack", "bag"]),
        (("Nora", "Ines"), None),
        (("Dr. Adams", "Kate"), None),
        (("Archaeologists", "Prehistoric humans"), ["archaeologists", "humans"]),
    ],
)
def test_names_have_no_association(candidates, words):
    assert candidate_words(Problem("We saw ", " there.", candidates)) == words


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (ROOF.replace(candidates=("Nora", "Ines")), "names have no association"),
        (
            ROOF.replace(before="The yurt hit the roof, so we had ", candidates=("the yurt", "the roof")),
            "has no 'yurt'",
        ),
        (ROOF.replace(after=" frobbed."), "none of the clause's words"),
    ],
)
def test_what_cannot_be_estimated_says_why(problem, why, bound):
    found = associate(problem, bound)
    assert why in found.scores
    assert (found.difference, found.associative) == (0.0, False)


def test_estimates_become_labels_and_peoples_labels_stay(bound):
    said = ROOF.replace(before="Now the tree hit the roof, so we had ").with_labels(associative=False)
    labelled, found = with_associations(Dataset([ROOF, said]), bound)
    assert labelled[0].labels["associative"] is True
    assert labelled[0].labels["associative_by"] == f"estimated from {bound.name}"
    assert labelled[1].labels["associative"] is False
    assert "associative_by" not in labelled[1].labels
    assert labelled[0].labels["association"] == round(found[0].difference, 4)


def test_an_audit_takes_the_estimate(bound):
    from winokit.stages.audit.run import audit

    labelled, _ = with_associations(Dataset([ROOF, ROOF.replace(after=" painted.", answer=0)]), bound)
    run = audit(labelled, model="random", protocol=("association",))
    assert run.find("association", "associative", "accuracy").n == 1
    assert run.find("association", "non_associative", "accuracy").n == 1


def test_association_alone_is_a_model(bound):
    rows = score(Dataset([ROOF, ROOF.replace(after=" frobbed.")]), load_model(f"hunter:{bound.name}?by=association"))
    assert [row.prediction for row in rows] == [1, None]
    assert "none of the clause's words" in rows[1].why


def test_auc_is_the_share_of_pairs_in_order():
    assert auc([2, 1, 1, 0], [True, True, False, False]) == 0.875
    assert auc([1, 1], [True, False]) == 0.5
    with pytest.raises(BadInput, match="problems with the label and problems without"):
        auc([1, 2], [True, True])


def test_an_interval_of_auc_draws_groups_and_is_seeded():
    scores, labels = [0.9, 0.8, 0.3, 0.4, 0.7, 0.1] * 5, [True, True, False, False, True, False] * 5
    groups = [number // 2 for number in range(30)]
    interval = auc_interval(scores, labels, groups)
    assert interval == auc_interval(scores, labels, groups)
    assert interval.low <= auc(scores, labels) <= interval.high


def test_the_comparison_with_people_needs_both_kinds(bound):
    one = ROOF.with_labels(associative=True)
    other = ROOF.replace(after=" frobbed.").with_labels(associative=False)
    dataset = Dataset([one, other])
    found = compare_with_labels(dataset, [associate(problem, bound) for problem in dataset])
    assert found["auc"] == 1
    assert compare_with_labels(Dataset([one]), [associate(one, bound)]) == {}
