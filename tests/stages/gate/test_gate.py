"""A gate fails what has lost more than is allowed, says what it could have seen, and refuses unlike runs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.copies import repeated, thrice
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.compare import paired_interval
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.problem import Dataset, Problem

PAIRS = 150
DATA = Dataset(
    [
        Problem(
            f"The cup {number} stood by the jug because ",
            f" was {word}.",
            ("the cup", "the jug"),
            answer,
            group=str(number),
        )
        for number in range(PAIRS)
        for answer, word in enumerate(("empty", "full"))
    ]
)
SETTINGS = {"shots": 0, "seed": 0, "substitution": "auto", "models": {}}


def run(
    right: float, *, model: str = "m", scoring: str = "partial", seed: int = 0, data: Dataset = DATA, **settings
) -> Run:
    """A run of a model that is right on the problems whose fixed luck is below `right`."""
    luck = np.random.default_rng(seed).random(len(data))
    rows = [
        Prediction(p.id, "original", model, scoring, None, p.answer if lucky < right else 1 - p.answer, p.answer)
        for p, lucky in zip(data, luck, strict=True)
    ]
    return Run({**SETTINGS, **settings}, [], rows, data)


def test_a_large_drop_fails_with_a_sentence():
    outcome = winokit.gate(run(0.6), against=run(0.8))
    assert not outcome.passed
    accuracy, groups = outcome.tests
    assert accuracy.verdict == groups.verdict == "failed"
    said = f"accuracy fell by {100 * accuracy.drop:.1f} [{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]"
    assert outcome.sentences[0] == f"{said}, more than the 1.0 allowed"
    assert outcome.sentences[1].startswith("group accuracy fell by ")
    assert outcome.verdict == "failed: m against m on unnamed, scored by partial"


def test_what_is_tested_are_the_rows_of_the_audit(twins):
    audited = [
        winokit.audit(twins, model, cache="off", protocol=["accuracy", "groups", "switching"])
        for model in ("random", "random?seed=5")
    ]
    outcome = winokit.gate(
        audited[0], against=audited[1], metric=["accuracy", "expected_accuracy", "group_accuracy", "consistency"]
    )
    names = {"group_accuracy": ("groups", "complete"), "consistency": ("switching", "switchable")}
    for test in outcome.tests:
        rows = [one.find(*names.get(test.metric, ("accuracy", "all")), test.metric) for one in audited]
        assert (test.new, test.old, test.n) == (rows[0].value, rows[1].value, rows[0].n)


def test_no_change_passes_and_says_what_would_have_been_found():
    outcome = winokit.gate(run(0.8), against=run(0.8))
    assert outcome.passed
    test = outcome.tests[0]
    assert test.low <= 0 <= test.high
    assert 0.02 < test.found < 0.1
    assert outcome.sentences[0] == (
        f"accuracy stayed the same [{100 * test.low:.1f}, {100 * test.high:.1f}], not shown to be more or less than "
        f"the 1.0 allowed; a drop of {100 * test.found:.1f} would have been found with 80 % power"
    ).replace("[-", "[−")


def test_a_rise_is_called_one():
    assert winokit.gate(run(0.9), against=run(0.6)).sentences[0].startswith("accuracy rose by ")


def test_a_strict_gate_wants_it_shown():
    alike = {"new": run(0.8), "against": run(0.8, model="old")}
    assert winokit.gate(**alike, margin=0.5).passed
    closed = winokit.gate(**alike, margin=0.5, strict=True)
    assert not closed.passed
    assert closed.verdict.startswith("failed (--strict): m against old on ")
    assert "not shown to be more or less than the 0.5 allowed" in closed.sentences[0]
    assert winokit.gate(**alike, margin=5, strict=True).passed


def test_several_metrics_share_the_level():
    new = run(0.75, seed=1)
    old = run(0.8)
    alone = winokit.gate(new, against=old, metric="accuracy")
    together = winokit.gate(new, against=old)
    right = [np.array([row.prediction == row.answer for row in one.predictions]) for one in (old, new)]
    for outcome, level in ((alone, 0.95), (together, 0.975)):
        interval = paired_interval(*right, DATA.units, level)
        assert (outcome.tests[0].low, outcome.tests[0].high) == (interval.low, interval.high)


def test_an_abstention_is_no_right_answer():
    silent = run(0.8)
    silent.predictions = [replace(row, prediction=None) for row in silent.predictions]
    assert not winokit.gate(silent, against=run(0.8)).passed


def silent(of: Run) -> Run:
    """The same run, with nothing answered."""
    return replace(of, predictions=[replace(row, prediction=None) for row in of.predictions])


@pytest.mark.parametrize("metric", ["accuracy", "expected_accuracy", "group_accuracy"])
def test_who_answers_nothing_never_passes_whatever_is_counted(metric):
    """A coin's part for each abstention is more than a bad model has, and no reason to pass."""
    outcome = winokit.gate(silent(run(0.8)), against=run(0.1), metric=metric, margin=90)
    assert not outcome.passed
    assert outcome.sentences[0].endswith(", and the new model answers nothing")
    of_two_silent = winokit.gate(silent(run(0.8)), against=silent(run(0.8)), metric=metric)
    assert not of_two_silent.passed
    assert of_two_silent.sentences[0].startswith(f"{metric.replace('_', ' ')} stayed the same [")
    assert of_two_silent.sentences[0].endswith(", and the new model answers nothing")


def test_each_problem_written_three_times_makes_nothing_surer():
    """No narrower interval, no smaller drop that would have been found, no firmer verdict."""
    data = DATA[:80]
    firmness = {"open": 0, "passed": 1, "failed": 1}
    for new_share, margin in ((0.8, 1), (0.6, 1), (0.8, 20), (0.9, 5)):
        new = run(new_share, data=data, seed=1)
        old = run(0.8, data=data)
        once = winokit.gate(new, against=old, margin=margin)
        copied = winokit.gate(copies_of(new), against=copies_of(old), margin=margin)
        for one, three in zip(once.tests, copied.tests, strict=True):
            assert three.drop == pytest.approx(one.drop)
            assert three.low <= one.low + 1e-9
            assert three.high >= one.high - 1e-9
            assert (three.found or 2) >= (one.found or 2) - 1e-9
            assert firmness[three.verdict] <= firmness[one.verdict]


def copies_of(of: Run) -> Run:
    """The run on each problem written three times."""
    data = thrice(of.dataset)
    rows = [replace(row, id=p.id) for row, p in zip(repeated(of.predictions), data, strict=True)]
    return Run(of.settings, [], rows, data)


def test_few_problems_find_nothing_and_say_so(twins):
    outcome = winokit.gate(run(1, data=twins), against=run(1, data=twins), metric="accuracy")
    assert outcome.tests[0].found is None
    assert outcome.sentences[0].endswith("; no drop would have been found with 80 % power")


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (
            run(0.8, data=DATA[:100]),
            "NEW is over unnamed (300 problems), --against over unnamed, 100 of 300 (100 problems)",
        ),
        (run(0.8, scoring="full"), "NEW has scoring partial, --against full"),
        (run(0.8, shots=5), "NEW has shots 0, --against 5"),
        (run(0.8, prompt="Which?"), "NEW has prompt None, --against Which?"),
        (
            replace(run(0.8), predictions=run(0.8).predictions[10:]),
            "answer different problems (300 and 290, 290 in common)",
        ),
    ],
    ids=["data", "scoring", "shots", "prompt", "problems"],
)
def test_what_differs_in_more_than_the_model_is_refused(old, said):
    with pytest.raises(BadInput) as error:
        winokit.gate(run(0.8), against=old)
    assert said in str(error.value)


def test_a_file_format_is_no_scoring_and_is_compared_with_a_note(tmp_path):
    """A csv against a log of a harness: neither says how the model was scored."""
    old = run(0.8, model="harness", scoring="lm-eval")
    rows = [f"{row.id},{row.prediction}" for row in run(0.6).predictions]
    (tmp_path / "new.csv").write_text("\n".join(["id,prediction", *rows]))
    outcome = winokit.gate(tmp_path / "new.csv", against=old)
    assert not outcome.passed
    assert outcome.verdict.endswith("scored by csv against lm-eval")
    assert outcome.notes == (
        "NEW (csv) and --against (lm-eval) do not say how the model was scored: a difference may be one of scoring",
    )
    (note,) = winokit.gate(run(0.8), against=old).notes
    assert note.startswith("--against (lm-eval) does not say how")
    assert winokit.gate(run(0.8), against=run(0.8)).notes == ()


def test_two_models_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for name in ("new", "old"):
        run(0.8).save(tmp_path / name)
    assert winokit.gate(tmp_path / "new", against=tmp_path / "old").verdict.startswith(
        "passed: m (new) against m (old) on "
    )
    run(0.8, model="other").save(tmp_path / "other")
    assert winokit.gate(tmp_path / "new", against=tmp_path / "other").verdict.startswith("passed: m against other on ")


def test_the_name_that_the_margin_had_is_an_error_that_names_the_new_one(tmp_path):
    with pytest.raises(TypeError, match=r"gate\(\) has no parameter 'max_drop': it is called 'margin' now"):
        winokit.gate(run(0.8), against=run(0.8), max_drop=2)
    for typed in (["--max-drop", "2"], ["--max-drop=2"]):
        shown = CliRunner().invoke(app, ["gate", "new", "--against", "old", *typed])
        assert isinstance(shown.exception, BadInput)
        assert str(shown.exception) == "--max-drop is called --margin now"


def test_other_seeds_matter_where_there_are_shots():
    assert winokit.gate(run(0.8), against=replace(run(0.8), settings={**SETTINGS, "seed": 1})).passed
    with pytest.raises(BadInput, match="NEW has seed 0, --against 1"):
        winokit.gate(run(0.8, shots=2), against=replace(run(0.8), settings={**SETTINGS, "seed": 1, "shots": 2}))


def test_shots_from_another_pool_are_refused():
    one, other = ({**SETTINGS, "shots": 2, "shots_from": pool} for pool in ("aa", "bb"))
    with pytest.raises(BadInput, match="NEW has shots_from aa, --against bb"):
        winokit.gate(replace(run(0.8), settings=one), against=replace(run(0.8), settings=other))


def test_a_metric_named_twice_is_tested_once():
    outcome = winokit.gate(run(0.8), against=run(0.8), metric=["accuracy", "accuracy"])
    assert outcome.tests == winokit.gate(run(0.8), against=run(0.8), metric=["accuracy"]).tests


def test_one_of_several_models_is_named():
    both = replace(run(0.8), predictions=[*run(0.8).predictions, *run(0.5, model="worse").predictions])
    with pytest.raises(BadInput, match=r"NEW has several models: name one with --of \(m, worse\)"):
        winokit.gate(both, against=run(0.8))
    assert not winokit.gate(both, against=run(0.8), of="worse").passed
    assert winokit.gate(both, against=run(0.8), of="m").passed
    with pytest.raises(UnknownName, match="No model in the runs named 'x'"):
        winokit.gate(run(0.8), against=run(0.8), of="x")
    with pytest.raises(UnknownName, match="No scoring in the runs named 'x'"):
        winokit.gate(run(0.8), against=run(0.8), scoring="x")


def test_a_run_without_predictions_is_said_to_have_none():
    with pytest.raises(BadInput, match="NEW has no predictions"):
        winokit.gate(replace(run(0.8), predictions=[]), against=run(0.8))


def test_a_second_prediction_for_a_problem_is_refused_in_a_run_and_in_a_file(tmp_path):
    """In a run the last one counted and in a file the first: rows of a better model beside one's own passed."""
    both = [*run(0.5).predictions, *run(1).predictions]
    replace(run(0.8), predictions=both).save(tmp_path / "new")
    with pytest.raises(BadInput, match=r"new: .* \(300 of 600 predictions repeat an earlier one"):
        winokit.gate(tmp_path / "new", against=run(0.8))
    write_predictions(both[::-1], tmp_path / "new.jsonl")
    with pytest.raises(
        BadInput, match=r"line 1 and line 301 contradict each other on problem \w+ \(.*; so do 164 other"
    ):
        winokit.gate(tmp_path / "new.jsonl", against=run(0.8))


def test_a_prediction_with_a_name_that_is_none_is_one_line(tmp_path):
    run(0.8).save(tmp_path / "new")
    row = {"id": [], "variant": "original", "model": "m", "scoring": "partial", "scores": None, "prediction": 0}
    (tmp_path / "new" / "predictions.jsonl").write_text(json.dumps(row | {"answer": 0}) + "\n")
    with pytest.raises(BadInput, match="new: not a run that can be read"):
        winokit.gate(tmp_path / "new", against=run(0.8))


def test_a_metric_without_its_predictions_is_refused():
    with pytest.raises(BadInput, match="consistency: m has no predictions to take it from"):
        winokit.gate(run(0.8), against=run(0.8), metric="consistency")


def test_files_of_predictions_take_the_problems_of_the_run_beside_them(tmp_path):
    write_predictions(run(0.6).predictions, tmp_path / "new.jsonl")
    run(0.8).save(tmp_path / "old")
    outcome = winokit.gate(tmp_path / "new.jsonl", against=tmp_path / "old")
    assert outcome.tests == winokit.gate(run(0.6), against=run(0.8)).tests
    winokit.write(DATA, tmp_path / "data.jsonl")
    files = {"new": tmp_path / "new.jsonl", "against": tmp_path / "new.jsonl"}
    assert winokit.gate(**files, data=tmp_path / "data.jsonl").passed
    with pytest.raises(BadInput, match=r"new\.jsonl: predictions without their problems; name those with --data DATA"):
        winokit.gate(**files)


def test_the_command_line_exits_with_1_and_writes_a_summary(tmp_path):
    for name, right in (("new", 0.6), ("old", 0.8)):
        run(right, model=name).save(tmp_path / name)
    typed = ["gate", str(tmp_path / "new"), "--against", str(tmp_path / "old"), "--markdown", str(tmp_path / "pr.md")]
    shown = CliRunner().invoke(app, typed)
    assert shown.exit_code == 1
    assert shown.stdout.startswith("failed: new against old on ")
    summary = (tmp_path / "pr.md").read_text("utf-8")
    assert summary.startswith("### winokit gate failed\n\nnew against old on ")
    assert "| accuracy | " in summary
    assert "more than the 1.0 allowed" in summary
    machine = CliRunner().invoke(app, [*typed, "--json", "--margin", "40"])
    assert machine.exit_code == 0
    outcome = json.loads(machine.stdout)
    assert outcome["passed"]
    assert {test["metric"] for test in outcome["tests"]} == {"accuracy", "group_accuracy"}


def test_replayed_answers_and_unlike_scorings_are_noted_in_the_summary_too(tmp_path):
    counts = {"answers": 300, "replayed": 300, "of_unknown_date": 0, "check": None, "asked_again": 0}
    times = {"first": "2026-03-01T09:30:00+00:00", "last": "2026-03-01T09:30:59+00:00"}
    old = run(0.8, scoring="lmeval", replayed={"m": counts | times})
    outcome = winokit.gate(run(0.8), against=old, markdown=tmp_path / "gate.md")
    replayed = "--against: m: 300 of 300 answers are replayed from the cache, of 2026-03-01 09:30 UTC"
    unlike = "--against (lmeval) does not say how the model was scored: a difference may be one of scoring"
    assert outcome.notes == (unlike, replayed)
    summary = (tmp_path / "gate.md").read_text()
    assert f"- Note: {unlike}\n- Note: {replayed}\n" in summary
