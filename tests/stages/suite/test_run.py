import json

import pytest

import winokit
from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.stages.audit.run import audit
from winokit.stages.suite.run import identity_of, suite
from winokit.stages.suite.settings import SuiteData, SuiteModel

from .conftest import QUICK


def states(result):
    return [cell.state for cell in result.cells]


def test_a_cell_has_the_numbers_of_its_audit_to_the_digit(open_data):
    result = suite(model=["builtin", "random"], data=[open_data[:20]], cache="off")
    for cell in result.cells:
        alone = audit(open_data[:20], model=cell.entrant.name, cache="off")
        assert [row.value for row in cell.run.metrics] == [row.value for row in alone.metrics]
        assert [(row.low, row.high) for row in cell.run.metrics] == [(row.low, row.high) for row in alone.metrics]


def test_a_model_is_loaded_once_for_all_its_datasets_and_let_go(monkeypatch, open_data, skilled):
    loads = []
    model = skilled("m", 0.5, data=[*open_data, *load("synthetic-20")])
    monkeypatch.setattr("winokit.stages.suite.run.load_on", lambda spec, cluster: loads.append(spec) or model)
    suite(model=["random"], data=["open", "synthetic-20"], protocol=QUICK, cache="off")
    assert (loads, model.closed) == (["random"], 1)


def test_a_failed_cell_says_why_and_the_rest_goes_on(open_data, skilled):
    other = load("synthetic-20")  # of which the first knows no answer: a KeyError in the middle
    models = [skilled("a", 0.5), skilled("b", 0.5, data=[*open_data, *other])]
    result = suite(model=models, data=[open_data, other], protocol=QUICK, cache="off")
    assert states(result) == ["done", "failed", "done", "done"]
    assert result.cells[1].why.startswith("KeyError: ")


def test_a_cell_is_tried_twice(open_data, skilled):
    model = skilled("a", 0.5)
    answer = model.answer
    attempts = []

    def moody(requests):
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("the server at http://10.0.0.7:8000/v1 hung up")
        return answer(requests)

    model.answer = moody
    assert states(suite(model=[model], data=[open_data], protocol=QUICK, cache="off")) == ["done"]
    assert len(attempts) == 2


def test_why_a_cell_failed_names_no_address(open_data, skilled):
    model = skilled("a", 0.5)

    def deaf(requests):
        raise OSError("the server at http://10.0.0.7:8000/v1\nhung up")

    model.answer = deaf
    (cell,) = suite(model=[model], data=[open_data], protocol=QUICK, cache="off").cells
    assert cell.why == "OSError: the server at … hung up"


def test_a_model_that_cannot_be_loaded_fails_in_each_of_its_cells(monkeypatch):
    def refuse(spec, cluster):
        raise BadInput("no room")

    monkeypatch.setattr("winokit.stages.suite.run.load_on", refuse)
    result = suite(model=["random"], data=["open", "synthetic-9"], protocol=QUICK, cache="off")
    assert [(cell.state, cell.why) for cell in result.cells] == [("failed", "no room")] * 2


def test_what_is_done_is_not_run_again(tmp_path, open_data, skilled):
    model = skilled("a", 0.5)
    first = suite(model=[model], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    asked = model.asked
    again = suite(model=[model], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    assert model.asked == asked
    assert again.cells[0].run.metrics == first.cells[0].run.metrics


@pytest.mark.parametrize(
    "changed", [{"limit": 20}, {"protocol": ("accuracy",)}, {"model": "other"}, {"seed": 3}, {"answers": True}]
)
def test_what_determines_a_cell_has_it_run_again(tmp_path, open_data, skilled, changed):
    suite(model=[skilled("a", 0.5)], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    model = skilled("a", 0.9 if changed.pop("model", None) else 0.5)
    data = open_data.with_problems(p.with_order((1, 0)) for p in open_data) if changed.pop("answers", 0) else open_data
    suite(model=[model], data=[data], out=tmp_path, cache="off", **{"protocol": QUICK, **changed})
    assert model.asked


def test_a_failed_cell_alone_is_run_again(tmp_path, open_data, skilled):
    fine = skilled("fine", 0.5)
    moody = skilled("moody", 0.5, 1)
    answer = moody.answer
    moody.answer = lambda requests: iter([1 / 0])
    first = suite(model=[fine, moody], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    moody.answer = answer
    fine.asked = 0
    again = suite(model=[fine, moody], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    assert (states(first), states(again), fine.asked) == (["done", "failed"], ["done", "done"], 0)


def test_a_folder_of_weights_is_known_by_its_files_and_a_hub_name_only_when_loaded(tmp_path):
    weights = tmp_path / "model.safetensors"
    weights.write_text("1")
    before = identity_of(SuiteModel(f"hf:{tmp_path}"))
    weights.write_text("22")
    assert identity_of(SuiteModel(f"hf:{tmp_path}")) != before
    assert identity_of(SuiteModel("hf:org/name")) is None
    assert identity_of(SuiteModel("builtin")) is not None


def test_stored_predictions_are_a_model_with_cells_where_there_are_some(tmp_path, open_data):
    file = tmp_path / "labels.lst"
    file.write_text("".join(f"{p.answer + 1}\n" for p in open_data))
    stored = SuiteModel(name="they", predictions={"open": file})
    result = suite(model=["random", stored], data=["open", "synthetic-20"], protocol=QUICK, cache="off")
    assert states(result) == ["done", "done", "done", "empty"]
    assert {row.model for row in result.cells[2].run.metrics} == {"they"}
    assert result.cells[2].run.find("accuracy", "all", "accuracy").value == 1.0


def test_scorings_and_shots_multiply_and_are_named_where_there_are_several():
    result = suite(
        model=["random"],
        data=["open"],
        scoring=["partial", "full"],
        shots=[0, 2],
        limit=8,
        protocol=QUICK,
        cache="off",
    )
    names = [cell.entrant.name for cell in result.cells]
    assert names == [f"random · {scoring} · {shots} shots" for scoring in ("partial", "full") for shots in (0, 2)]
    assert {row.scoring for row in result.cells[1].run.metrics} == {"partial?shots=2"}


def test_shots_come_from_elsewhere_for_those_that_are_shown_any():
    how = {
        "scoring": ["full"],
        "shots": [0, 2],
        "shots_from": "synthetic-9",
        "protocol": ("accuracy",),
        "cache": "off",
    }
    result = suite(model=["random"], data=["open"], limit=8, **how)
    scorings = [cell.run.metrics[0].scoring for cell in result.cells]
    assert scorings == ["full", "full?shots=2&shots_from=synthetic-9"]


@pytest.mark.parametrize(
    ("given", "error", "said"),
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
def test_what_cannot_be_is_refused_before_anything_is_started(monkeypatch, given, error, said):
    monkeypatch.setattr("winokit.stages.suite.run.load_on", lambda *given: pytest.fail("a model was loaded"))
    with pytest.raises(error, match=said):
        suite(**{"model": ["random"], "data": ["open"], "cache": "off", **given})


def test_stored_models_go_by_their_own_names_and_not_by_those_of_files(tmp_path, open_data):
    """Two runs have a predictions.jsonl each, and one model may have a file for each dataset."""
    ids = [problem.id for problem in open_data]

    def store(folder, model, count):
        path = tmp_path / folder / "predictions.jsonl"
        path.parent.mkdir()
        rows = [{"id": name, "model": model, "prediction": place % 2} for place, name in enumerate(ids[:count])]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    mute = store("a", "mute", 428)
    loud = store("b", "loud", 428)
    other = store("c", "loud", 428)
    labels = tmp_path / "they.lst"
    labels.write_text("1\n" * 428)
    again = SuiteData(open_data, name="again")
    given = [f"open={mute}", f"open={loud}", f"again={loud}", f"open={other}", f"open={labels}"]
    found = suite(data=[open_data, again], predictions=given, protocol=QUICK)
    names = list(dict.fromkeys(cell.entrant.name for cell in found.cells))
    assert names == ["mute", "loud", "loud (predictions)", "they"]
    done = [(cell.entrant.name, cell.dataset) for cell in found.cells if cell.state == "done"]
    assert ("loud", "again") in done
    assert ("mute", "again") not in done


def test_two_models_in_one_file_of_predictions_are_refused(tmp_path, open_data):
    both = audit(open_data[:20], model=["random", "random?seed=1"], protocol=QUICK, out=tmp_path / "run", cache="off")
    assert len({row.model for row in both.predictions}) == 2
    stored = SuiteModel(name="both", predictions={"open": tmp_path / "run" / "predictions.jsonl"})
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

    def interrupted(requests):
        raise KeyboardInterrupt

    second.answer = interrupted
    with pytest.raises(KeyboardInterrupt):
        suite(model=[first, second], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    second.answer = answer
    first.asked = 0
    result = suite(model=[first, second], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    assert (states(result), first.asked) == (["done", "done"], 0)


def test_a_dry_run_counts_what_two_cells_share_once(open_data):
    how = {"protocol": ("accuracy",), "cache": "off", "dry_run": True, "price_in": 1.0}
    plan = suite(model=["builtin"], data=[open_data[:10], SuiteData(open_data[:20])], **how).plan
    one, two = plan["by_variant"]
    assert (one["new"], two["new"]) == (20, 40)
    assert plan["new"] == 40, "the first ten are among the twenty"
    assert plan["cost_at_most"] == two["cost_at_most"] > 0


def test_a_dry_run_writes_nothing(tmp_path):
    suite(model=["random"], data=["open"], out=tmp_path / "new", cache="off", dry_run=True)
    assert not (tmp_path / "new").exists()


def test_a_limit_holds_for_the_whole_suite():
    how = {"protocol": ("accuracy",), "cache": "off", "max_requests": 30}
    result = suite(model=["builtin"], data=[SuiteData("open", limit=10), SuiteData("synthetic-20", limit=10)], **how)
    assert states(result) == ["done", "failed"]
    assert "stopped at --set max_requests=30" in result.cells[1].why


def test_the_library_has_it():
    assert winokit.suite is suite


def test_suite_json_has_flat_rows_cells_and_tests(tmp_path, open_data, skilled):
    suite(model=[skilled("a", 0.9), skilled("b", 0.1, 1)], data=[open_data], protocol=QUICK, out=tmp_path, cache="off")
    said = json.loads((tmp_path / "suite.json").read_text())
    row = next(row for row in said["metrics"] if row["metric"] == "accuracy" and row["protocol"] == "accuracy")
    assert (row["dataset"], row["model"], row["letters"]) == ("open", "a", "a")
    assert [cell["state"] for cell in said["cells"]] == ["done", "done"]
    assert (tmp_path / said["cells"][0]["folder"] / "report" / "index.html").exists()
    assert {test["measure"] for test in said["tests"]} == {"accuracy", "group_accuracy"}
