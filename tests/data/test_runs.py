"""A run as a table of answers: whose they are, in which variant, and which answer is the right one."""

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

OPEN = load("open")[:12]


def predictions(variant="original", model="m", scoring="own", choice=0, data=OPEN):
    return [Prediction(p.id, variant, model, scoring, (0.0, 1.0), choice, p.answer) for p in data]


def run(*rows, data=OPEN, **more):
    return Run({}, [], [row for part in rows for row in part], data, **more)


def test_answers_are_in_the_order_of_the_dataset_with_its_units():
    answers = run(predictions()[::-1]).answers()
    assert [problem.id for problem in answers.problems] == [problem.id for problem in OPEN]
    assert answers.units == OPEN.units
    assert answers.correct.tolist() == [problem.answer == 0 for problem in OPEN]
    assert answers.scorers == (Scorer("m", "own"),)


def test_what_has_no_prediction_or_no_answer_is_left_out_of_the_answers():
    hidden = Dataset([OPEN[0].replace(answer=None), *OPEN[1:]])
    assert len(run(predictions(data=hidden), data=hidden).answers()) == 11
    assert len(run(predictions()[2:]).answers()) == 10


def test_a_silent_prediction_is_an_abstention():
    answers = run(predictions(choice=None)).answers()
    assert answers.silent.all()
    assert not answers.correct.any()


def test_the_problems_of_a_run_are_stored_once_for_all_its_scorers():
    both = run(predictions(), predictions(model="other"), predictions("switched", choice=1))
    tables = [both.answers(model="m"), both.answers(model="other")]
    assert tables[0].asked is tables[1].asked


def test_the_variants_of_a_run_are_of_its_own_problems():
    switched = Dataset(p.replace(before=f"Now {p.before}", answer=1 - p.answer, provenance={"of": p.id}) for p in OPEN)
    both = run(predictions(), predictions("switched", data=OPEN), variants={"switched": switched})
    both.predictions = [row if row.variant == "original" else replace(row, answer=None) for row in both.predictions]
    answers = both.answers("switched")
    assert answers.problems[0].before.startswith("Now ")
    assert (answers.correct != both.answers().correct).all()
    assert answers.units == OPEN.units


def test_a_variant_that_a_run_does_not_keep_is_made_again():
    """Candidates in the opposite order: the first is right where the second was."""
    both = run(predictions(), [replace(row, answer=None) for row in predictions("reversed")])
    answers = both.answers("reversed")
    assert answers.problems[0].candidates == OPEN[0].candidates[::-1]
    assert (answers.correct != both.answers().correct).all()


def test_the_right_answer_is_the_one_beside_the_prediction():
    """The rows of another run, which lists the candidates in another order."""
    turned = Dataset(problem.with_order((1, 0)) for problem in OPEN)
    answers = run(predictions(), data=turned).answers()
    assert answers.correct.tolist() == run(predictions()).answers().correct.tolist()


def test_of_several_scorers_one_is_named():
    both = run(predictions(), predictions(model="other"))
    assert both.answers(model="other").scorers == (Scorer("other", "own"),)
    with pytest.raises(BadInput, match="the run has 2 models, expected one or the name of one: m, other"):
        both.answers()
    with pytest.raises(UnknownName, match="No model in the run named 'x'"):
        both.answers(model="x")
    with pytest.raises(UnknownName, match="No scoring in the run named 'full'"):
        both.answers(model="m", scoring="full")


def test_predictions_that_come_later_are_answers_too():
    both = run(predictions())
    both.answers()
    both.predictions += predictions(model="other")
    assert len(both.answers(model="other")) == len(OPEN)


def test_a_formalization_is_that_of_the_runs_rows():
    rows = [Metric("open", "m", "own", "mc-sent", "accuracy", "all", "accuracy", 0.5, 12)]
    trained = replace(run(predictions()), metrics=rows)
    assert trained.answers().scorers == (Scorer("m", "own", "mc-sent"),)


def test_a_stored_run_is_shown_where_no_audit_was_made(tmp_path):
    """In a process of its own: this one may have imported the audit, which must not matter."""
    import winokit

    winokit.audit(winokit.load("open")[:4], "random", protocol="accuracy", out=tmp_path / "run")
    shown = f"import winokit; print(winokit.Run.load({str(tmp_path / 'run')!r}).summary())"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("random on open"), done.stderr
