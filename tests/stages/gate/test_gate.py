"""A gate fails what has lost more than is allowed, says what it could have seen, and refuses unlike runs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.copies import repeated, thrice
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.data.predictions.logs import logged_data
from winokit.data.predictions.read import PredictionFile
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.compare import paired_interval
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.problem import Dataset, Problem
from winokit.stages.gate.verdict import DropTest

PAIR_COUNT = 150
SETTINGS = {"shots": 0, "seed": 0, "substitution": "auto", "models": {}}


def make_pairs(count: int) -> Dataset:
    problems = []
    for number in range(count):
        before = f"The cup {number} stood by the jug because "
        empty = Problem(before, " was empty.", ("the cup", "the jug"), 0, group=str(number))
        problems += [empty, empty.replace(after=" was full.", answer=1)]
    return Dataset(problems)


DATA = make_pairs(PAIR_COUNT)


def make_run(
    right: float, *, model: str = "m", scoring: str = "partial", seed: int = 0, data: Dataset = DATA, **settings
) -> Run:
    """A run of a model that is right on the problems whose fixed luck is below `right`."""
    luck = np.random.default_rng(seed).random(len(data))
    rows = []
    for problem, is_right in zip(data, luck < right, strict=True):
        choice = problem.answer if is_right else 1 - problem.answer
        rows.append(Prediction(problem.id, "original", model, scoring, None, choice, problem.answer))
    return Run({**SETTINGS, **settings}, [], rows, data)


def make_silent(run: Run) -> Run:
    """The same run, with nothing answered."""
    rows = [replace(row, prediction=None) for row in run.predictions]
    return replace(run, predictions=rows)


def change_settings(run: Run, **settings) -> Run:
    """The run with other settings than it was made with."""
    return replace(run, settings={**SETTINGS, **settings})


def say_points(value: float) -> str:
    """A share in points, as a sentence of the gate writes it."""
    return f"{100 * value:.1f}".replace("-", "−")


def say_interval(test: DropTest) -> str:
    return f"[{say_points(test.low)}, {say_points(test.high)}]"


def test_a_large_drop_fails_with_a_sentence():
    outcome = winokit.gate(make_run(0.6), against=make_run(0.8))
    accuracy, groups = outcome.tests
    assert not outcome.passed
    assert accuracy.verdict == "failed"
    assert groups.verdict == "failed"
    drop = f"accuracy fell by {say_points(accuracy.drop)} {say_interval(accuracy)}"
    assert outcome.sentences[0] == f"{drop}, more than the 1.0 allowed"
    assert outcome.sentences[1].startswith("group accuracy fell by ")
    assert outcome.verdict == "failed: m against m on unnamed, scored by partial"


ROW_OF_METRIC = {
    "accuracy": ("accuracy", "all"),
    "expected_accuracy": ("accuracy", "all"),
    "group_accuracy": ("groups", "complete"),
    "consistency": ("switching", "switchable"),
}
"""Protocol and subset of the audit's row of each metric."""


def test_what_is_tested_are_the_rows_of_the_audit(twins):
    protocols = ["accuracy", "groups", "switching"]
    new = winokit.audit(twins, "random", cache="off", protocol=protocols)
    old = winokit.audit(twins, "random?seed=5", cache="off", protocol=protocols)
    outcome = winokit.gate(new, against=old, metric=list(ROW_OF_METRIC))
    for test in outcome.tests:
        protocol, subset = ROW_OF_METRIC[test.metric]
        new_row = new.find(protocol, subset, test.metric)
        old_row = old.find(protocol, subset, test.metric)
        assert (test.new, test.old, test.n) == (new_row.value, old_row.value, new_row.n)


def test_no_change_passes_and_says_what_would_have_been_found():
    outcome = winokit.gate(make_run(0.8), against=make_run(0.8))
    test = outcome.tests[0]
    assert outcome.passed
    assert test.low <= 0 <= test.high
    assert 0.02 < test.found < 0.1
    assert outcome.sentences[0] == (
        f"accuracy stayed the same {say_interval(test)}, not shown to be more or less than "
        f"the 1.0 allowed; a drop of {say_points(test.found)} would have been found with 80 % power"
    )


def test_a_rise_is_called_one():
    outcome = winokit.gate(make_run(0.9), against=make_run(0.6))
    assert outcome.sentences[0].startswith("accuracy rose by ")


def test_a_strict_gate_wants_it_shown():
    equal_runs = {"new": make_run(0.8), "against": make_run(0.8, model="old")}
    outcome = winokit.gate(**equal_runs, margin=0.5)
    strict_outcome = winokit.gate(**equal_runs, margin=0.5, strict=True)
    wide_outcome = winokit.gate(**equal_runs, margin=5, strict=True)
    assert outcome.passed
    assert not strict_outcome.passed
    assert strict_outcome.verdict.startswith("failed (--strict): m against old on ")
    assert "not shown to be more or less than the 0.5 allowed" in strict_outcome.sentences[0]
    assert wide_outcome.passed


def list_correct(run: Run) -> np.ndarray:
    """Whether each prediction is right."""
    return np.array([row.prediction == row.answer for row in run.predictions])


@pytest.mark.parametrize(
    ("metrics", "level"),
    [("accuracy", 0.95), (["accuracy", "group_accuracy"], 0.975)],
    ids=["alone", "together"],
)
def test_several_metrics_share_the_level(metrics, level):
    new = make_run(0.75, seed=1)
    old = make_run(0.8)
    test = winokit.gate(new, against=old, metric=metrics).tests[0]
    interval = paired_interval(list_correct(old), list_correct(new), DATA.units, level)
    assert (test.low, test.high) == (interval.low, interval.high)


def test_both_accuracies_are_tested_unless_metrics_are_named():
    new = make_run(0.75, seed=1)
    outcome = winokit.gate(new, against=make_run(0.8))
    both_named = winokit.gate(new, against=make_run(0.8), metric=["accuracy", "group_accuracy"])
    assert outcome.tests == both_named.tests


def test_an_abstention_is_no_right_answer():
    silent = make_silent(make_run(0.8))
    assert not winokit.gate(silent, against=make_run(0.8)).passed


METRICS = ["accuracy", "expected_accuracy", "group_accuracy"]


@pytest.mark.parametrize("metric", METRICS)
def test_who_answers_nothing_never_passes_whatever_is_counted(metric):
    """A coin's part for each abstention is more than a bad model has, and no reason to pass."""
    silent = make_silent(make_run(0.8))
    outcome = winokit.gate(silent, against=make_run(0.1), metric=metric, margin=90)
    assert not outcome.passed
    assert outcome.sentences[0].endswith(", and the new model answers nothing")


@pytest.mark.parametrize("metric", METRICS)
def test_who_answers_nothing_does_not_pass_against_one_that_answers_nothing(metric):
    silent = make_silent(make_run(0.8))
    outcome = winokit.gate(silent, against=silent, metric=metric)
    title = metric.replace("_", " ")
    assert not outcome.passed
    assert outcome.sentences[0].startswith(f"{title} stayed the same [")
    assert outcome.sentences[0].endswith(", and the new model answers nothing")


FIRMNESS = {"open": 0, "passed": 1, "failed": 1}
"""A verdict on copies may not be firmer than that on the problems themselves."""


def make_copied(run: Run) -> Run:
    """The run on each problem written three times."""
    data = thrice(run.dataset)
    rows = []
    for row, problem in zip(repeated(run.predictions), data, strict=True):
        rows.append(replace(row, id=problem.id))
    return Run(run.settings, [], rows, data)


@pytest.mark.parametrize(("new_share", "margin"), [(0.8, 1), (0.6, 1), (0.8, 20), (0.9, 5)])
def test_each_problem_written_three_times_makes_nothing_surer(new_share, margin):
    """No narrower interval, no smaller drop that would have been found, no firmer verdict."""
    data = DATA[:80]
    new = make_run(new_share, data=data, seed=1)
    old = make_run(0.8, data=data)
    once = winokit.gate(new, against=old, margin=margin)
    copied = winokit.gate(make_copied(new), against=make_copied(old), margin=margin)
    for test, copied_test in zip(once.tests, copied.tests, strict=True):
        assert copied_test.drop == pytest.approx(test.drop)
        assert copied_test.low <= test.low + 1e-9
        assert copied_test.high >= test.high - 1e-9
        smallest_drop = test.found or 2
        smallest_drop_copied = copied_test.found or 2
        assert smallest_drop_copied >= smallest_drop - 1e-9
        assert FIRMNESS[copied_test.verdict] <= FIRMNESS[test.verdict]


def test_few_problems_find_nothing_and_say_so(twins):
    perfect = make_run(1, data=twins)
    outcome = winokit.gate(perfect, against=perfect, metric="accuracy")
    assert outcome.tests[0].found is None
    assert outcome.sentences[0].endswith("; no drop would have been found with 80 % power")


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (
            make_run(0.8, data=DATA[:100]),
            "NEW is over unnamed (300 problems), --against over unnamed, 100 of 300 (100 problems)",
        ),
        (make_run(0.8, scoring="full"), "NEW has scoring partial, --against full"),
        (make_run(0.8, shots=5), "NEW has shots 0, --against 5"),
        (make_run(0.8, prompt="Which?"), "NEW has prompt None, --against Which?"),
        (
            replace(make_run(0.8), predictions=make_run(0.8).predictions[10:]),
            "answer different problems (300 and 290, 290 in common)",
        ),
    ],
    ids=["data", "scoring", "shots", "prompt", "problems"],
)
def test_what_differs_in_more_than_the_model_is_refused(old, message):
    with pytest.raises(BadInput) as error:
        winokit.gate(make_run(0.8), against=old)
    assert message in str(error.value)


def test_a_file_format_is_no_scoring_and_is_compared_with_a_note(tmp_path):
    """A csv against a log of a harness: neither says how the model was scored."""
    old = make_run(0.8, model="harness", scoring="lm-eval")
    lines = [f"{row.id},{row.prediction}" for row in make_run(0.6).predictions]
    new = tmp_path / "new.csv"
    new.write_text("\n".join(["id,prediction", *lines]))
    outcome = winokit.gate(new, against=old)
    assert not outcome.passed
    assert outcome.verdict.endswith("scored by csv against lm-eval")
    assert outcome.notes == (
        "NEW (csv) and --against (lm-eval) do not say how the model was scored: a difference may be one of scoring",
    )
    (note,) = winokit.gate(make_run(0.8), against=old).notes
    assert note.startswith("--against (lm-eval) does not say how")


def test_two_runs_of_one_scoring_have_no_note():
    outcome = winokit.gate(make_run(0.8), against=make_run(0.8))
    assert outcome.notes == ()


def test_two_models_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder, model in (("new", "m"), ("old", "m"), ("other", "other")):
        make_run(0.8, model=model).save(tmp_path / folder)
    same_name = winokit.gate(tmp_path / "new", against=tmp_path / "old")
    other_name = winokit.gate(tmp_path / "new", against=tmp_path / "other")
    assert same_name.verdict.startswith("passed: m (new) against m (old) on ")
    assert other_name.verdict.startswith("passed: m against other on ")


def test_the_name_that_the_margin_had_is_an_error_that_names_the_new_one():
    with pytest.raises(TypeError, match=r"gate\(\) has no parameter 'max_drop': it is called 'margin' now"):
        winokit.gate(make_run(0.8), against=make_run(0.8), max_drop=2)


@pytest.mark.parametrize("option", [["--max-drop", "2"], ["--max-drop=2"]], ids=["two words", "one word"])
def test_the_option_that_the_margin_had_is_an_error_that_names_the_new_one(option):
    result = CliRunner().invoke(app, ["gate", "new", "--against", "old", *option])
    assert isinstance(result.exception, BadInput)
    assert str(result.exception) == "--max-drop is called --margin now"


def test_other_seeds_matter_where_there_are_shots():
    outcome = winokit.gate(make_run(0.8), against=change_settings(make_run(0.8), seed=1))
    assert outcome.passed
    old = change_settings(make_run(0.8), seed=1, shots=2)
    with pytest.raises(BadInput, match="NEW has seed 0, --against 1"):
        winokit.gate(make_run(0.8, shots=2), against=old)


def test_shots_from_another_pool_are_refused():
    new = change_settings(make_run(0.8), shots=2, shots_from="aa")
    old = change_settings(make_run(0.8), shots=2, shots_from="bb")
    with pytest.raises(BadInput, match="NEW has shots_from aa, --against bb"):
        winokit.gate(new, against=old)


def test_a_metric_named_twice_is_tested_once():
    old = make_run(0.8)
    outcome = winokit.gate(make_run(0.8), against=old, metric=["accuracy", "accuracy"])
    named_once = winokit.gate(make_run(0.8), against=old, metric=["accuracy"])
    assert outcome.tests == named_once.tests


@pytest.fixture
def two_models() -> Run:
    """Run of a model and of a worse one."""
    good = make_run(0.8)
    worse = make_run(0.5, model="worse")
    return replace(good, predictions=[*good.predictions, *worse.predictions])


def test_one_of_several_models_must_be_named(two_models):
    with pytest.raises(BadInput, match=r"NEW has several models: name one with --of \(m, worse\)"):
        winokit.gate(two_models, against=make_run(0.8))


def test_one_of_several_models_is_named(two_models):
    outcome_of_worse = winokit.gate(two_models, against=make_run(0.8), of="worse")
    outcome_of_good = winokit.gate(two_models, against=make_run(0.8), of="m")
    assert not outcome_of_worse.passed
    assert outcome_of_good.passed


def test_a_model_or_a_scoring_that_no_run_has_is_refused():
    with pytest.raises(UnknownName, match="No model in the runs named 'x'"):
        winokit.gate(make_run(0.8), against=make_run(0.8), of="x")
    with pytest.raises(UnknownName, match="No scoring in the runs named 'x'"):
        winokit.gate(make_run(0.8), against=make_run(0.8), scoring="x")


def test_a_run_without_predictions_is_said_to_have_none():
    empty = replace(make_run(0.8), predictions=[])
    with pytest.raises(BadInput, match="NEW has no predictions"):
        winokit.gate(empty, against=make_run(0.8))


@pytest.fixture
def repeated_predictions() -> list[Prediction]:
    """Two predictions for each problem, of a model and of a better one."""
    return [*make_run(0.5).predictions, *make_run(1).predictions]


def test_a_second_prediction_for_a_problem_is_refused_in_a_run(repeated_predictions, tmp_path):
    """The last one counted: rows of a better model beside one's own passed."""
    folder = tmp_path / "new"
    replace(make_run(0.8), predictions=repeated_predictions).save(folder)
    with pytest.raises(BadInput, match=r"new: .* \(300 of 600 predictions repeat an earlier one"):
        winokit.gate(folder, against=make_run(0.8))


def test_a_second_prediction_for_a_problem_is_refused_in_a_file(repeated_predictions, tmp_path):
    """The first one counted: rows of a better model before one's own passed."""
    path = tmp_path / "new.jsonl"
    write_predictions(repeated_predictions[::-1], path)
    message = r"line 1 and line 301 contradict each other on problem \w+ \(.*; so do 164 other"
    with pytest.raises(BadInput, match=message):
        winokit.gate(path, against=make_run(0.8))


def test_a_prediction_with_a_name_that_is_none_is_one_line(tmp_path):
    folder = tmp_path / "new"
    make_run(0.8).save(folder)
    row = {"id": [], "variant": "original", "model": "m", "scoring": "partial", "scores": None, "prediction": 0}
    row["answer"] = 0
    (folder / "predictions.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(BadInput, match="new: not a run that can be read"):
        winokit.gate(folder, against=make_run(0.8))


def test_a_metric_without_its_predictions_is_refused():
    with pytest.raises(BadInput, match="consistency: m has no predictions to take it from"):
        winokit.gate(make_run(0.8), against=make_run(0.8), metric="consistency")


def test_files_of_predictions_take_the_problems_of_the_run_beside_them(tmp_path):
    path = tmp_path / "new.jsonl"
    write_predictions(make_run(0.6).predictions, path)
    folder = tmp_path / "old"
    make_run(0.8).save(folder)
    outcome = winokit.gate(path, against=folder)
    outcome_of_runs = winokit.gate(make_run(0.6), against=make_run(0.8))
    assert outcome.tests == outcome_of_runs.tests


def test_two_files_of_predictions_need_the_problems(tmp_path):
    path = tmp_path / "new.jsonl"
    write_predictions(make_run(0.6).predictions, path)
    data_path = tmp_path / "data.jsonl"
    winokit.write(DATA, data_path)
    assert winokit.gate(path, against=path, data=data_path).passed
    with pytest.raises(BadInput, match=r"new\.jsonl: predictions without their problems; name those with --data DATA"):
        winokit.gate(path, against=path)


def test_logs_bring_the_problems_that_both_sides_are_about(tmp_path):
    log = Path(__file__).parents[2] / "data/predictions/logs/samples_winogrande_0.4.13.jsonl"
    problems = logged_data([PredictionFile(log)])[0]
    labels = tmp_path / "labels.lst"
    labels.write_text("1\n" * len(problems))
    outcome = winokit.gate(labels, against=log)
    outcome_on_data = winokit.gate(labels, against=log, data=problems)
    tests = {test.metric: test for test in outcome.tests}
    assert outcome.tests == outcome_on_data.tests
    assert tests["accuracy"].new == 0.5
    assert tests["accuracy"].old == pytest.approx(5 / 12)


@pytest.fixture
def gate_arguments(tmp_path) -> list[str]:
    """Arguments of a gate that writes its summary as Markdown to pr.md."""
    new = tmp_path / "new"
    make_run(0.6, model="new").save(new)
    old = tmp_path / "old"
    make_run(0.8, model="old").save(old)
    return ["gate", str(new), "--against", str(old), "--markdown", str(tmp_path / "pr.md")]


def test_the_command_line_exits_with_1_and_writes_a_summary(gate_arguments, tmp_path):
    result = CliRunner().invoke(app, gate_arguments)
    summary = (tmp_path / "pr.md").read_text("utf-8")
    assert result.exit_code == 1
    assert result.stdout.startswith("failed: new against old on ")
    assert summary.startswith("### winokit gate failed\n\nnew against old on ")
    assert "| accuracy | " in summary
    assert "more than the 1.0 allowed" in summary


def test_the_command_line_writes_the_outcome_as_json(gate_arguments):
    result = CliRunner().invoke(app, [*gate_arguments, "--json", "--margin", "40"])
    outcome = json.loads(result.stdout)
    metrics = {test["metric"] for test in outcome["tests"]}
    assert result.exit_code == 0
    assert outcome["passed"]
    assert metrics == {"accuracy", "group_accuracy"}


REPLAYED_COUNTS = {
    "answers": 300,
    "replayed": 300,
    "of_unknown_date": 0,
    "check": None,
    "asked_again": 0,
    "first": "2026-03-01T09:30:00+00:00",
    "last": "2026-03-01T09:30:59+00:00",
}


def test_replayed_answers_and_unlike_scorings_are_noted_in_the_summary_too(tmp_path):
    old = make_run(0.8, scoring="lmeval", replayed={"m": REPLAYED_COUNTS})
    path = tmp_path / "gate.md"
    outcome = winokit.gate(make_run(0.8), against=old, markdown=path)
    replayed_note = "--against: m: 300 of 300 answers are replayed from the cache, of 2026-03-01 09:30 UTC"
    scoring_note = "--against (lmeval) does not say how the model was scored: a difference may be one of scoring"
    assert outcome.notes == (scoring_note, replayed_note)
    assert f"- Note: {scoring_note}\n- Note: {replayed_note}\n" in path.read_text()
