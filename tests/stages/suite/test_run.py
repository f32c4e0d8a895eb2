"""A suite runs an audit for each model on each dataset, once, and goes on where it stopped."""

import json

import pytest

import winokit
from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.stages.audit.run import audit
from winokit.stages.suite.run import identity_of, suite
from winokit.stages.suite.settings import SuiteData, SuiteModel

from .conftest import QUICK

LOAD = "winokit.stages.suite.run.load_on"


def states_of(result):
    return [cell.state for cell in result.cells]


def run_quickly(models, datasets, **settings):
    """A suite of the quick protocols, without a cache."""
    settings = {"protocol": QUICK, **settings}
    return suite(model=models, data=datasets, cache="off", **settings)


def fail_with(error):
    """Make a method `answer` that raises an error."""

    def answer(requests):
        raise error

    return answer


def test_a_cell_has_the_numbers_of_its_audit_to_the_digit(open_data):
    data = open_data[:20]
    result = suite(model=["builtin", "random"], data=[data], cache="off")
    for cell in result.cells:
        run = audit(data, model=cell.entrant.name, cache="off")
        assert [row.value for row in cell.run.metrics] == [row.value for row in run.metrics]
        assert [(row.low, row.high) for row in cell.run.metrics] == [(row.low, row.high) for row in run.metrics]


def test_a_model_is_loaded_once_for_all_its_datasets_and_let_go(monkeypatch, open_data, skilled):
    specs = []
    model = skilled("m", 0.5, data=[*open_data, *load("synthetic-20")])

    def load_on(spec, cluster):
        specs.append(spec)
        return model

    monkeypatch.setattr(LOAD, load_on)
    run_quickly(["random"], ["open", "synthetic-20"])
    assert specs == ["random"]
    assert model.close_count == 1


def test_a_failed_cell_says_why_and_the_rest_goes_on(open_data, skilled):
    synthetic = load("synthetic-20")  # of which the first knows no answer: a KeyError in the middle
    models = [skilled("a", 0.5), skilled("b", 0.5, data=[*open_data, *synthetic])]
    result = run_quickly(models, [open_data, synthetic])
    assert states_of(result) == ["done", "failed", "done", "done"]
    assert result.cells[1].why.startswith("KeyError: ")


def test_a_cell_is_tried_twice(open_data, skilled):
    model = skilled("a", 0.5)
    answer = model.answer
    attempts = []

    def fail_once(requests):
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("the server at http://10.0.0.7:8000/v1 hung up")
        return answer(requests)

    model.answer = fail_once
    result = run_quickly([model], [open_data])
    assert states_of(result) == ["done"]
    assert len(attempts) == 2


def test_why_a_cell_failed_names_no_address(open_data, skilled):
    model = skilled("a", 0.5)
    model.answer = fail_with(OSError("the server at http://10.0.0.7:8000/v1\nhung up"))
    (cell,) = run_quickly([model], [open_data]).cells
    assert cell.why == "OSError: the server at … hung up"


def test_a_model_that_cannot_be_loaded_fails_in_each_of_its_cells(monkeypatch):
    def refuse_to_load(spec, cluster):
        raise BadInput("no room")

    monkeypatch.setattr(LOAD, refuse_to_load)
    result = run_quickly(["random"], ["open", "synthetic-9"])
    assert [(cell.state, cell.why) for cell in result.cells] == [("failed", "no room")] * 2


def test_what_is_done_is_not_run_again(tmp_path, open_data, skilled):
    model = skilled("a", 0.5)
    first = run_quickly([model], [open_data], out=tmp_path)
    requests_before = model.request_count
    second = run_quickly([model], [open_data], out=tmp_path)
    assert model.request_count == requests_before
    assert second.cells[0].run.metrics == first.cells[0].run.metrics


@pytest.mark.parametrize("change", [{"limit": 20}, {"protocol": ("accuracy",)}, {"seed": 3}])
def test_a_setting_that_determines_a_cell_has_it_run_again(tmp_path, open_data, skilled, change):
    run_quickly([skilled("a", 0.5)], [open_data], out=tmp_path)
    model = skilled("a", 0.5)
    run_quickly([model], [open_data], out=tmp_path, **change)
    assert model.request_count


def test_another_model_of_the_same_name_has_a_cell_run_again(tmp_path, open_data, skilled):
    run_quickly([skilled("a", 0.5)], [open_data], out=tmp_path)
    better_model = skilled("a", 0.9)
    run_quickly([better_model], [open_data], out=tmp_path)
    assert better_model.request_count


def test_other_answers_have_a_cell_run_again(tmp_path, open_data, skilled):
    run_quickly([skilled("a", 0.5)], [open_data], out=tmp_path)
    reordered = open_data.with_problems(problem.with_order((1, 0)) for problem in open_data)
    model = skilled("a", 0.5)
    run_quickly([model], [reordered], out=tmp_path)
    assert model.request_count


def test_a_failed_cell_alone_is_run_again(tmp_path, open_data, skilled):
    steady = skilled("fine", 0.5)
    failing = skilled("moody", 0.5, 1)
    answer = failing.answer
    failing.answer = fail_with(ZeroDivisionError())
    first = run_quickly([steady, failing], [open_data], out=tmp_path)
    failing.answer = answer
    steady.request_count = 0
    second = run_quickly([steady, failing], [open_data], out=tmp_path)
    assert states_of(first) == ["done", "failed"]
    assert states_of(second) == ["done", "done"]
    assert steady.request_count == 0


def test_a_folder_of_weights_is_known_by_its_files_and_a_hub_name_only_when_loaded(tmp_path):
    weights = tmp_path / "model.safetensors"
    folder_model = SuiteModel(f"hf:{tmp_path}")
    weights.write_text("1")
    identity_before = identity_of(folder_model)
    weights.write_text("22")
    assert identity_of(folder_model) != identity_before
    assert identity_of(SuiteModel("hf:org/name")) is None
    assert identity_of(SuiteModel("builtin")) is not None


def test_stored_predictions_are_a_model_with_cells_where_there_are_some(tmp_path, open_data):
    path = tmp_path / "labels.lst"
    path.write_text("".join(f"{problem.answer + 1}\n" for problem in open_data))
    stored = SuiteModel(name="they", predictions={"open": path})
    result = run_quickly(["random", stored], ["open", "synthetic-20"])
    run = result.cells[2].run
    assert states_of(result) == ["done", "done", "done", "empty"]
    assert {row.model for row in run.metrics} == {"they"}
    assert run.find("accuracy", "all", "accuracy").value == 1.0


def test_scorings_and_shots_multiply_and_are_named_where_there_are_several():
    result = run_quickly(["random"], ["open"], scoring=["partial", "full"], shots=[0, 2], limit=8)
    assert [cell.entrant.name for cell in result.cells] == [
        "random · partial · 0 shots",
        "random · partial · 2 shots",
        "random · full · 0 shots",
        "random · full · 2 shots",
    ]
    scorings = {row.scoring for row in result.cells[1].run.metrics}
    assert scorings == {"partial?shots=2"}


def test_shots_come_from_elsewhere_for_those_that_are_shown_any():
    shots = {"scoring": ["full"], "shots": [0, 2], "shots_from": "synthetic-9"}
    result = run_quickly(["random"], ["open"], limit=8, protocol=("accuracy",), **shots)
    scorings = [cell.run.metrics[0].scoring for cell in result.cells]
    assert scorings == ["full", "full?shots=2&shots_from=synthetic-9"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"model": ["buildin"]}, UnknownName, "Did you mean 'builtin'"),
        ({"model": ["random", "random"]}, BadInput, "two models are called 'random'"),
        ({"data": ["open", "open"]}, BadInput, "two datasets are called 'open'"),
        ({"data": ["missing.jsonl"]}, BadInput, "no such file"),
        ({"model": ["gguf:missing.gguf"]}, BadInput, "missing.gguf: no such file"),
        ({"model": ["random?sede=3"]}, UnknownName, "Did you mean 'seed'"),
        ({"model": ["python:nowhere:score"]}, BadInput, "nowhere"),
        ({"scoring": ["partiel"]}, UnknownName, "No scoring named 'partiel'"),
        ({"scoring": ["partial?pre=token"]}, UnknownName, "No option of scoring 'partial' named 'pre'"),
        ({"protocol": ["accurate"]}, UnknownName, "No protocol named"),
        ({"predictions": ["open=missing.lst"]}, BadInput, "missing.lst"),
        ({"predictions": ["opne=x.lst"]}, UnknownName, "Did you mean 'open'"),
        ({"predictions": ["x.lst"]}, BadInput, "expected DATA=FILE"),
        ({"model": []}, BadInput, "expected models and data"),
        ({"shots": [-1]}, BadInput, "expected 0 or more"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(monkeypatch, settings, error, message):
    defaults = {"model": ["random"], "data": ["open"], "cache": "off"}
    monkeypatch.setattr(LOAD, lambda *arguments: pytest.fail("a model was loaded"))
    with pytest.raises(error, match=message):
        suite(**{**defaults, **settings})


def store_predictions(folder, model, problems):
    """Write a file of predictions by a model that chooses each candidate in turn."""
    rows = []
    for index, problem in enumerate(problems):
        rows.append({"id": problem.id, "model": model, "prediction": index % 2})
    folder.mkdir()
    path = folder / "predictions.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_stored_models_go_by_their_own_names_and_not_by_those_of_files(tmp_path, open_data):
    """Two runs have a predictions.jsonl each, and one model may have a file for each dataset."""
    mute = store_predictions(tmp_path / "a", "mute", open_data)
    loud = store_predictions(tmp_path / "b", "loud", open_data)
    namesake = store_predictions(tmp_path / "c", "loud", open_data)
    labels = tmp_path / "they.lst"
    labels.write_text("1\n" * 428)
    again = SuiteData(open_data, name="again")
    predictions = [f"open={mute}", f"open={loud}", f"again={loud}", f"open={namesake}", f"open={labels}"]
    result = suite(data=[open_data, again], predictions=predictions, protocol=QUICK)
    names = list(dict.fromkeys(cell.entrant.name for cell in result.cells))
    done = [(cell.entrant.name, cell.dataset) for cell in result.cells if cell.state == "done"]
    assert names == ["mute", "loud", "loud (predictions)", "they"]
    assert ("loud", "again") in done
    assert ("mute", "again") not in done


def test_two_models_in_one_file_of_predictions_are_refused(tmp_path, open_data):
    folder = tmp_path / "run"
    models = ["random", "random?seed=1"]
    run = audit(open_data[:20], model=models, protocol=QUICK, out=folder, cache="off")
    assert len({row.model for row in run.predictions}) == 2
    stored = SuiteModel(name="both", predictions={"open": folder / "predictions.jsonl"})
    with pytest.raises(BadInput, match="expected predictions by one model under one scoring, found random"):
        suite(model=[stored], data=["open"], cache="off")


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("a page")
    with pytest.raises(BadInput, match="is not part of a suite"):
        suite(model=["random"], data=["open"], out=tmp_path, cache="off")


def test_an_interrupted_suite_goes_on_in_its_folder(tmp_path, open_data, skilled):
    first = skilled("first", 0.5)
    second = skilled("second", 0.5, 1)
    answer = second.answer
    second.answer = fail_with(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_quickly([first, second], [open_data], out=tmp_path)
    second.answer = answer
    first.request_count = 0
    result = run_quickly([first, second], [open_data], out=tmp_path)
    assert states_of(result) == ["done", "done"]
    assert first.request_count == 0


def test_a_dry_run_counts_what_two_cells_share_once(open_data):
    datasets = [open_data[:10], SuiteData(open_data[:20])]
    result = run_quickly(["builtin"], datasets, protocol=("accuracy",), dry_run=True, price_in=1.0)
    plan = result.plan
    first, second = plan["by_variant"]
    assert (first["new"], second["new"]) == (20, 40)
    assert plan["new"] == 40, "the first ten are among the twenty"
    assert plan["cost_at_most"] == second["cost_at_most"] > 0


def test_a_dry_run_writes_nothing(tmp_path):
    folder = tmp_path / "new"
    suite(model=["random"], data=["open"], out=folder, cache="off", dry_run=True)
    assert not folder.exists()


def test_a_limit_holds_for_the_whole_suite():
    datasets = [SuiteData("open", limit=10), SuiteData("synthetic-20", limit=10)]
    result = run_quickly(["builtin"], datasets, protocol=("accuracy",), max_requests=30)
    assert states_of(result) == ["done", "failed"]
    assert "stopped at --set max_requests=30" in result.cells[1].why


def test_the_library_has_it():
    assert winokit.suite is suite


def test_suite_json_has_flat_rows_cells_and_tests(tmp_path, open_data, skilled):
    models = [skilled("a", 0.9), skilled("b", 0.1, 1)]
    run_quickly(models, [open_data], out=tmp_path)
    stored = json.loads((tmp_path / "suite.json").read_text())
    cells = stored["cells"]
    accuracies = [row for row in stored["metrics"] if row["protocol"] == row["metric"] == "accuracy"]
    row = accuracies[0]
    report = tmp_path / cells[0]["folder"] / "report" / "index.html"
    assert (row["dataset"], row["model"], row["letters"]) == ("open", "a", "a")
    assert [cell["state"] for cell in cells] == ["done", "done"]
    assert report.exists()
    assert {test["measure"] for test in stored["tests"]} == {"accuracy", "group_accuracy"}
