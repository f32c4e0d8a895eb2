import json

import pytest
from support.scoring import score

from winokit.errors import BadInput, UnknownName
from winokit.methods.hunting.hunter import Hunter, is_copy, scores
from winokit.methods.hunting.queries import load_synonyms
from winokit.methods.metrics.accuracy import accuracy, expected_accuracy, f1, precision
from winokit.methods.scoring.scorer import write_predictions
from winokit.methods.transforms.switch import switch
from winokit.models.base import Choose, Fill
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem
from winokit.stages.audit.run import audit

SYNONYMS = load_synonyms(None)


def hunt(problem, corpus, **more):
    return Hunter(corpus, synonyms=SYNONYMS, parser="rules", **more).hunt(problem)


def choices(dataset, index, **more):
    return [hunt(problem, index, **more).choice for problem in dataset]


@pytest.fixture
def misled() -> Problem:
    """The only evidence speaks for the other candidate."""
    return Problem("Tom invited Ben because ", " was shy.", ("Tom", "Ben"), 1, "he")


def test_evidence_decides_and_without_evidence_nobody_is_chosen(planted, unplanted, index):
    assert choices(planted, index) == [problem.answer for problem in planted]
    assert choices(unplanted, index) == [None] * 4
    whys = {hunt(problem, index).why for problem in unplanted}
    assert whys == {"no evidence", "no two candidates are named together in one clause"}


def test_precision_recall_f1_and_expected_accuracy_as_in_the_papers(planted, unplanted, misled, index):
    problems = [*planted, *unplanted, misled]
    predicted = choices(problems, index)
    answers = [problem.answer for problem in problems]
    assert (precision(predicted, answers), accuracy(predicted, answers)) == (8 / 9, 8 / 13)
    assert f1(predicted, answers).micro == pytest.approx(2 * (8 / 9) * (8 / 13) / (8 / 9 + 8 / 13))
    assert expected_accuracy(predicted, answers, [2] * 13) == (8 + 4 / 2) / 13


def test_the_published_counts_give_the_published_numbers():
    answers = [0] * 273
    predicted = [0] * 119 + [1] * 80 + [None] * 74
    assert (round(precision(predicted, answers), 2), round(accuracy(predicted, answers), 2)) == (0.60, 0.44)
    assert round(expected_accuracy(predicted, answers, [2] * 273), 4) == 0.5714
    assert precision([None], [0]) is None


def test_the_choice_of_role_survives_switching(planted, misled, index):
    for problem in [*planted, misled]:
        other = switch(problem)
        assert hunt(other, index).choice == 1 - hunt(problem, index).choice


def test_the_order_of_candidates_does_not_matter(planted, index):
    for problem in planted:
        turned = hunt(problem.with_order((1, 0)), index)
        assert turned.choice == 1 - hunt(problem, index).choice


def test_a_candidate_without_a_role_scores_nothing(planted, index):
    problem = planted[0].replace(candidates=("Olga", "Nora", "Ines"), answer=1)
    found = hunt(problem, index)
    assert scores(found, 3) == (0.0, 2.0, 0.5)


def test_a_tie_is_settled_for_the_patient_in_scores_too(index):
    found = hunt(Problem("Ann could not carry Eve because ", " was tired.", ("Ann", "Eve"), 0, "she"), index)
    found.decision = type(found.decision)(3, 3)
    assert scores(found, 2) == (3.0, 3.5)


def test_a_copy_of_the_problem_is_no_evidence(tmp_path):
    from winokit.methods.hunting.building import build_index
    from winokit.methods.hunting.search import SentenceIndex

    problem = Problem("Ann could not carry Eve because ", " was tired.", ("Ann", "Eve"), 0, "she")
    (tmp_path / "leak.txt").write_text("Ann could not carry Eve because Ann was tired.")
    build_index([tmp_path / "leak.txt"], tmp_path / "leak.db")
    with SentenceIndex(tmp_path / "leak.db") as leaky:
        found = hunt(problem, leaky)
    assert found.why == "no evidence"
    assert {why for _, why in found.passed_over} == {"a copy of the problem"}
    assert is_copy("Eve could not carry Ann because Ann was tired.", problem)
    assert not is_copy("I could not carry Eve because I was tired.", problem)


def test_strict_sets_find_less(planted, index):
    assert choices(planted, index, sets=["whole"]).count(None) == 2
    assert choices(planted, index, sets=["heads"]) == [problem.answer for problem in planted]


def test_hunter_is_a_model(planted, unplanted, index_path, tmp_path):
    model = load_model(f"hunter:{index_path}")
    rows = score(Dataset([*planted, *unplanted]), model)
    assert [row.prediction for row in rows] == [*(problem.answer for problem in planted), *[None] * 4]
    assert {row.scoring for row in rows} == {"own"}
    assert {row.why for row in rows[8:]} == {"no evidence", "no two candidates are named together in one clause"}
    write_predictions(rows, tmp_path / "predictions.jsonl")
    kept = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    assert kept[0]["prediction"] == 0
    assert kept[-1]["prediction"] is None


def test_an_audit_counts_abstentions_and_is_consistent_where_it_answers(planted, unplanted, index_path):
    answered = audit(planted, model=f"hunter:{index_path}")
    assert answered.find("accuracy", "all", "accuracy").value == 1
    assert answered.find("groups", "complete", "group_accuracy").value == 1
    consistency = answered.find("switching", "switchable", "consistency")
    assert (consistency.value, consistency.n) == (1, 6)
    both = audit(Dataset([*planted, *unplanted]), model=f"hunter:{index_path}")
    assert both.find("accuracy", "all", "abstained").value == pytest.approx(4 / 12)
    assert both.find("accuracy", "all", "expected_accuracy").value == pytest.approx(10 / 12)
    assert both.find("position", "all", "order_invariance").value == pytest.approx(8 / 12)
    assert both.find("position", "all", "order_turned").value == 0


def test_answers_are_kept_with_their_reasons(planted, unplanted, index_path, tmp_path):
    from winokit.methods.scoring.cache import Cache

    dataset = Dataset([*planted, *unplanted])
    first = score(dataset, load_model(f"hunter:{index_path}"), cache=Cache(tmp_path / "answers.sqlite"))
    model = load_model(f"hunter:{index_path}")
    model.corpus.search = None  # asking the corpus again would fail
    assert score(dataset, model, cache=Cache(tmp_path / "answers.sqlite")) == first


def test_what_determines_the_answers_is_in_the_fingerprint(index, index_path):
    prints = {
        Hunter(index).fingerprint,
        Hunter(index, sets=["whole"]).fingerprint,
        Hunter(index, synonyms={}).fingerprint,
        Hunter(index, limit=7).fingerprint,
    }
    assert len(prints) == 4
    assert load_model(f"hunter:{index_path}").fingerprint == Hunter(index).fingerprint


@pytest.mark.parametrize(
    ("spec", "kind", "says"),
    [
        ("hunter", BadInput, "hunter: expected an index"),
        ("hunter:nowhere.db", BadInput, "no such index"),
        ("hunter:INDEX?sets=hole", UnknownName, "Did you mean 'whole'"),
        ("hunter:INDEX?limit=none", BadInput, "option limit: expected a whole number of at least 1"),
        ("hunter:INDEX?set=whole", UnknownName, "option of 'hunter' models"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(spec, kind, says, index_path):
    with pytest.raises(kind, match=says):
        load_model(spec.replace("INDEX", str(index_path)))


def test_a_hunter_only_chooses(index):
    with pytest.raises(BadInput, match="cannot answer Fill"):
        list(Hunter(index).answer([Fill("a", "b", "c")]))


def test_a_judgement_is_an_abstention(index):
    request = Choose("Ann left Eve because ", " cried.", ("no", "yes"), "she", query="Ann")
    ((_, answer),) = Hunter(index).answer([request])
    assert answer.values is None
    assert "judgement" in answer.why
