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
    """Hunt with the synonyms and the parser that come with the package."""
    return Hunter(corpus, synonyms=SYNONYMS, parser="rules", **more).hunt(problem)


def choices(dataset, index, **more):
    return [hunt(problem, index, **more).choice for problem in dataset]


@pytest.fixture
def misled() -> Problem:
    """The only evidence speaks for the other candidate."""
    return Problem("Tom invited Ben because ", " was shy.", ("Tom", "Ben"), 1, "he")


def answers_of(problems) -> list[int]:
    return [problem.answer for problem in problems]


def test_evidence_decides(planted, index):
    assert choices(planted, index) == answers_of(planted)


def test_without_evidence_nobody_is_chosen(unplanted, index):
    hunts = [hunt(problem, index) for problem in unplanted]
    reasons = {result.why for result in hunts}
    assert [result.choice for result in hunts] == [None] * 4
    assert reasons == {"no evidence", "no two candidates are named together in one clause"}


def test_precision_recall_f1_and_expected_accuracy_as_in_the_papers(planted, unplanted, misled, index):
    problems = [*planted, *unplanted, misled]
    predictions = choices(problems, index)
    answers = answers_of(problems)
    harmonic_mean = 2 * (8 / 9) * (8 / 13) / (8 / 9 + 8 / 13)
    assert precision(predictions, answers) == 8 / 9
    assert accuracy(predictions, answers) == 8 / 13
    assert f1(predictions, answers).micro == pytest.approx(harmonic_mean)
    assert expected_accuracy(predictions, answers, [2] * 13) == (8 + 4 / 2) / 13


def test_the_published_counts_give_the_published_numbers():
    answers = [0] * 273
    predictions = [0] * 119 + [1] * 80 + [None] * 74
    assert round(precision(predictions, answers), 2) == 0.60
    assert round(accuracy(predictions, answers), 2) == 0.44
    assert round(expected_accuracy(predictions, answers, [2] * 273), 4) == 0.5714


def test_who_answers_nothing_has_no_precision():
    assert precision([None], [0]) is None


def test_the_choice_of_role_survives_switching(planted, misled, index):
    for problem in [*planted, misled]:
        choice = hunt(problem, index).choice
        assert hunt(switch(problem), index).choice == 1 - choice


def test_the_order_of_candidates_does_not_matter(planted, index):
    for problem in planted:
        choice = hunt(problem, index).choice
        reordered = problem.with_order((1, 0))
        assert hunt(reordered, index).choice == 1 - choice


def test_a_candidate_without_a_role_scores_nothing(planted, index):
    problem = planted[0].replace(candidates=("Olga", "Nora", "Ines"), answer=1)
    result = hunt(problem, index)
    assert scores(result, 3) == (0.0, 2.0, 0.5)


CARRY = Problem("Ann could not carry Eve because ", " was tired.", ("Ann", "Eve"), 0, "she")


def test_a_tie_is_settled_for_the_patient_in_scores_too(index):
    result = hunt(CARRY, index)
    result.decision = type(result.decision)(3, 3)
    assert scores(result, 2) == (3.0, 3.5)


def test_a_copy_of_the_problem_is_no_evidence(tmp_path):
    from winokit.methods.hunting.building import build_index
    from winokit.methods.hunting.search import SentenceIndex

    text_path = tmp_path / "leak.txt"
    index_path = tmp_path / "leak.db"
    text_path.write_text("Ann could not carry Eve because Ann was tired.")
    build_index([text_path], index_path)
    with SentenceIndex(index_path) as leaky_index:
        result = hunt(CARRY, leaky_index)
    reasons = {reason for _, reason in result.passed_over}
    assert result.why == "no evidence"
    assert reasons == {"a copy of the problem"}


def test_a_copy_has_the_words_of_the_problem_with_either_candidate():
    assert is_copy("Eve could not carry Ann because Ann was tired.", CARRY)
    assert not is_copy("I could not carry Eve because I was tired.", CARRY)


def test_strict_sets_find_less(planted, index):
    strict_choices = choices(planted, index, sets=["whole"])
    assert strict_choices.count(None) == 2
    assert choices(planted, index, sets=["heads"]) == answers_of(planted)


def test_hunter_is_a_model(planted, unplanted, index_path, tmp_path):
    path = tmp_path / "predictions.jsonl"
    predictions = score(Dataset([*planted, *unplanted]), load_model(f"hunter:{index_path}"))
    reasons = {prediction.why for prediction in predictions[8:]}
    assert [row.prediction for row in predictions] == answers_of(planted) + [None] * 4
    assert {row.scoring for row in predictions} == {"own"}
    assert reasons == {"no evidence", "no two candidates are named together in one clause"}
    write_predictions(predictions, path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[0]["prediction"] == 0
    assert rows[-1]["prediction"] is None


def test_an_audit_is_consistent_where_the_hunter_answers(planted, index_path):
    run = audit(planted, model=f"hunter:{index_path}")
    consistency = run.find("switching", "switchable", "consistency")
    assert run.find("accuracy", "all", "accuracy").value == 1
    assert run.find("groups", "complete", "group_accuracy").value == 1
    assert consistency.value == 1
    assert consistency.n == 6


def test_an_audit_counts_abstentions(planted, unplanted, index_path):
    run = audit(Dataset([*planted, *unplanted]), model=f"hunter:{index_path}")
    assert run.find("accuracy", "all", "abstained").value == pytest.approx(4 / 12)
    assert run.find("accuracy", "all", "expected_accuracy").value == pytest.approx(10 / 12)
    assert run.find("position", "all", "order_invariance").value == pytest.approx(8 / 12)
    assert run.find("position", "all", "order_turned").value == 0


def test_answers_are_kept_with_their_reasons(planted, unplanted, index_path, tmp_path):
    from winokit.methods.scoring.cache import Cache

    path = tmp_path / "answers.sqlite"
    dataset = Dataset([*planted, *unplanted])
    predictions = score(dataset, load_model(f"hunter:{index_path}"), cache=Cache(path))
    model = load_model(f"hunter:{index_path}")
    model.corpus.search = None  # asking the corpus again would fail
    assert score(dataset, model, cache=Cache(path)) == predictions


def test_what_determines_the_answers_is_in_the_fingerprint(index, index_path):
    fingerprints = {
        Hunter(index).fingerprint,
        Hunter(index, sets=["whole"]).fingerprint,
        Hunter(index, synonyms={}).fingerprint,
        Hunter(index, limit=7).fingerprint,
    }
    assert len(fingerprints) == 4
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
