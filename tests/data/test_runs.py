"""A run is a table of answers: by a scorer, in a variant, and with the right answer of each."""

import subprocess
import sys
from dataclasses import replace

import pytest

from winokit.answers import Scorer
from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset
from winokit.results import Metric

PROBLEMS = load("open")[:12]


def make_predictions(variant="original", model="m", scoring="own", choice=0, data=PROBLEMS):
    """Prediction of each problem that chooses the same candidate."""
    return [Prediction(p.id, variant, model, scoring, (0.0, 1.0), choice, p.answer) for p in data]


def make_run(*parts, data=PROBLEMS, **more):
    """Run that has the predictions of several parts."""
    rows = []
    for part in parts:
        rows.extend(part)
    return Run({}, [], rows, data, **more)


def test_answers_are_in_the_order_of_the_dataset_with_its_units():
    answers = make_run(make_predictions()[::-1]).answers()
    problem_ids = [problem.id for problem in PROBLEMS]
    ids = [problem.id for problem in answers.problems]
    assert ids == problem_ids
    assert answers.units == PROBLEMS.units
    is_first = [problem.answer == 0 for problem in PROBLEMS]
    assert answers.correct.tolist() == is_first
    assert answers.scorers == (Scorer("m", "own"),)


def test_what_has_no_answer_is_left_out_of_the_answers():
    unanswered_problem = PROBLEMS[0].replace(answer=None)
    hidden_data = Dataset([unanswered_problem, *PROBLEMS[1:]])
    hidden_run = make_run(make_predictions(data=hidden_data), data=hidden_data)
    assert len(hidden_run.answers()) == 11


def test_what_has_no_prediction_is_left_out_of_the_answers():
    shorter_run = make_run(make_predictions()[2:])
    assert len(shorter_run.answers()) == 10


def test_a_silent_prediction_is_an_abstention():
    answers = make_run(make_predictions(choice=None)).answers()
    assert answers.silent.all()
    assert not answers.correct.any()


def test_the_problems_of_a_run_are_stored_once_for_all_its_scorers():
    switched_rows = make_predictions("switched", choice=1)
    run = make_run(make_predictions(), make_predictions(model="other"), switched_rows)
    first = run.answers(model="m")
    second = run.answers(model="other")
    assert first.asked is second.asked


def test_the_variants_of_a_run_are_of_its_own_problems():
    switched_problems = []
    hidden_rows = []
    for problem, row in zip(PROBLEMS, make_predictions("switched"), strict=True):
        before = f"Now {problem.before}"
        switched_problems.append(
            problem.replace(before=before, answer=1 - problem.answer, provenance={"of": problem.id})
        )
        hidden_rows.append(replace(row, answer=None))
    run = make_run(make_predictions(), hidden_rows, variants={"switched": Dataset(switched_problems)})
    answers = run.answers("switched")
    assert answers.problems[0].before.startswith("Now ")
    assert (answers.correct != run.answers().correct).all()
    assert answers.units == PROBLEMS.units


def test_a_variant_that_a_run_does_not_keep_is_made_again():
    """Candidates stand in the opposite order, so the first is right where the second was."""
    hidden_rows = [replace(row, answer=None) for row in make_predictions("reversed")]
    run = make_run(make_predictions(), hidden_rows)
    answers = run.answers("reversed")
    reversed_candidates = PROBLEMS[0].candidates[::-1]
    assert answers.problems[0].candidates == reversed_candidates
    assert (answers.correct != run.answers().correct).all()


def test_the_right_answer_is_the_one_beside_the_prediction():
    """The rows come from another run, which lists the candidates in another order."""
    turned_data = Dataset(problem.with_order((1, 0)) for problem in PROBLEMS)
    answers = make_run(make_predictions(), data=turned_data).answers()
    expected = make_run(make_predictions()).answers().correct.tolist()
    assert answers.correct.tolist() == expected


def test_of_several_scorers_one_is_named():
    run = make_run(make_predictions(), make_predictions(model="other"))
    answers = run.answers(model="other")
    assert answers.scorers == (Scorer("other", "own"),)
    with pytest.raises(BadInput, match="the run has 2 models, expected one or the name of one: m, other"):
        run.answers()
    with pytest.raises(UnknownName, match="No model in the run named 'x'"):
        run.answers(model="x")
    with pytest.raises(UnknownName, match="No scoring in the run named 'full'"):
        run.answers(model="m", scoring="full")


def test_predictions_that_come_later_are_answers_too():
    run = make_run(make_predictions())
    run.answers()
    run.predictions += make_predictions(model="other")
    answers = run.answers(model="other")
    assert len(answers) == len(PROBLEMS)


def test_a_formalization_is_that_of_the_runs_rows():
    rows = [Metric("open", "m", "own", "mc-sent", "accuracy", "all", "accuracy", 0.5, 12)]
    trained = replace(make_run(make_predictions()), metrics=rows)
    assert trained.answers().scorers == (Scorer("m", "own", "mc-sent"),)


def test_a_stored_run_is_shown_where_no_audit_was_made(tmp_path):
    """A process of its own is started, since this one may have imported the audit, which must not matter."""
    import winokit

    problems = winokit.load("open")[:4]
    winokit.audit(problems, "random", protocol="accuracy", out=tmp_path / "run")
    folder = str(tmp_path / "run")
    script = f"import winokit; print(winokit.Run.load({folder!r}).summary())"
    command = [sys.executable, "-c", script]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.stdout.startswith("random on open"), process.stderr
