"""Arguments of a verb in a notebook: one or several, of the right type, under the right name."""

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pandas
import pytest

import winokit
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.stages.search.space import SearchSpace

DATA = winokit.load("synthetic-30")


def test_one_check_is_named_as_several_are():
    findings = winokit.check(DATA, only="leaks")
    assert {finding.check for finding in findings} == {"leaks"}
    assert winokit.check(DATA, only=["leaks"]) == findings
    assert winokit.check(DATA, only={"leaks"}) == findings


def test_one_file_of_predictions_is_named_as_several_are(tmp_path):
    path = tmp_path / "p.jsonl"
    winokit.score(DATA, "random", limit=8, out=path)
    for predictions in (path, str(path), [path]):
        run = winokit.audit(DATA, predictions=predictions, limit=8)
        assert len(run.predictions) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": "5"}, "limit: expected a whole number or None, found '5'"),
        ({"limit": 2.5}, "limit: expected a whole number or None, found 2.5"),
        ({"limit": True}, "limit: expected a whole number or None, found True"),
        ({"limit": -1}, "limit: expected 1 or more, found -1"),
        ({"seed": None}, "seed: expected a whole number, found None"),
        ({"model": 3}, "model: expected a text or a Model or a function, found 3"),
        ({"cache": False}, "cache: expected a text or a path or a Cache or None, found False"),
        ({"out": 3}, "out: expected a text or a path or None, found 3"),
        ({"scoring": ["full"]}, "scoring: expected a text or None, found ['full']"),
        ({"progress": True}, "progress: expected a function or None, found True"),
        ({"lenient": "no"}, "lenient: expected True or False, found 'no'"),
        ({"plan": "full"}, "plan: expected a ScoringPlan, found 'full'"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_by_name(arguments, message):
    with pytest.raises(BadInput) as refusal:
        winokit.score(DATA, **{"model": "random", **arguments})
    assert str(refusal.value) == message


def test_a_long_value_is_described_by_its_type_and_by_what_is_wrong_inside():
    with pytest.raises(BadInput) as refusal:
        winokit.check(["open", np.zeros((40, 2))])
    kinds = "a text or a path or a Dataset or a data frame, one or several"
    assert str(refusal.value) == f"data: expected {kinds}, found a list with a ndarray in it"
    with pytest.raises(BadInput, match=r"^seed: expected a whole number, found a DataFrame$"):
        winokit.score(DATA, "random", seed=pandas.DataFrame({"a": [1, 2]}))


def test_data_of_the_wrong_kind_are_refused_before_a_file_is_looked_for():
    for call in (winokit.load, winokit.stats, winokit.audit):
        with pytest.raises(BadInput, match="data: expected a text or a path or a Dataset"):
            call(3)


def test_a_misspelled_parameter_is_refused_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"score\(\) has no parameter 'scorings'. Did you mean 'scoring'\?"):
        winokit.score(DATA, "random", scorings="full")
    with pytest.raises(TypeError, match=r"has no parameter 'sise'. Did you mean 'size'\?"):
        winokit.debias(DATA, "random", sise=20)


def test_numbers_of_numpy_are_numbers(tmp_path):
    run = winokit.audit(DATA, "random", limit=np.int64(8), seed=np.int32(3), out=tmp_path / "run")
    assert run.settings["seed"] == 3
    assert (tmp_path / "run" / "results.json").exists()


def test_fields_win_over_the_settings_they_stand_beside():
    with pytest.raises(BadInput, match="shots"):
        winokit.score(DATA, "builtin", limit=2, plan=ScoringPlan(shots=1), seed=3, cache="off")
    scored = winokit.score(DATA, "random", limit=2, plan=ScoringPlan(shots=1), shots=0)
    assert len(scored.predictions) == 2


def test_a_view_is_taken_of_a_loaded_dataset_too():
    assert winokit.stats(DATA, as_="judgements") == winokit.stats("synthetic-30", as_="judgements")
    assert winokit.load(DATA) is DATA
    with pytest.raises(UnknownName, match="view"):
        winokit.load(DATA, as_="views")


def test_labels_are_joined_to_a_loaded_dataset_too():
    with pytest.raises(BadInput, match=r"nope\.json: no such file"):
        winokit.stats(DATA, labels="nope.json")


def test_the_index_of_a_corpus_may_be_a_path():
    with pytest.raises(BadInput, match=r"nope\.sqlite: no such index"):
        winokit.check(DATA, corpus=Path("nope.sqlite"))


def test_help_describes_every_parameter_as_python_has_it():
    for name in winokit.__all__:
        verb = getattr(winokit, name)
        if hasattr(verb, "full"):
            description = re.split(r"\n\n?\w+\n-{5,}\n", verb.__doc__)[1]
            for parameter in inspect.signature(verb).parameters:
                assert f"\n{parameter}" in f"\n{description}", name
            assert re.findall(r"--[a-z]+", description) == [], name


def test_a_signature_has_types_and_no_machinery():
    signature = str(inspect.signature(winokit.audit))
    assert "Help(" not in signature
    assert "limit: int | None = None" in signature


def test_a_result_fits_into_a_cell():
    run = winokit.audit(DATA, "random", limit=8)
    scored = winokit.score(DATA, "random", cache="off")
    assert repr(scored) == "Scored(predictions=<60>)"
    assert "Dataset('synthetic-30, 8 of 60'" in repr(run)
    debiased = winokit.debias(DATA, "random", size=20, assess=False)
    comparison = winokit.compare([run, run])
    for result in (run, debiased, comparison):
        assert len(repr(result)) < 300
    assert pickle.loads(pickle.dumps(run)).metrics == run.metrics


def test_runs_are_compared_as_they_come_out_of_an_audit(tmp_path):
    random_run = winokit.audit(DATA, "random", limit=8, cache="off")
    builtin_run = winokit.audit(DATA, "builtin", limit=8, cache="off")
    pair, *_ = winokit.compare([random_run, builtin_run]).pairs
    assert (pair.first, pair.second) == ("random", "builtin")
    saved_run = winokit.audit(DATA, "builtin", limit=8, cache="off", out=tmp_path / "mine")
    assert saved_run.report is not None
    pair, *_ = winokit.compare([random_run, tmp_path / "mine"]).pairs
    assert (pair.first, pair.second) == ("random", "builtin")


def test_values_of_a_search_may_be_numbers():
    of_numbers = SearchSpace(learning_rate=[1e-5, 2e-5], epochs=np.int64(3), batch_size=(8, 16))
    of_texts = SearchSpace(learning_rate="1e-5,2e-5", epochs="3", batch_size="8,16")
    assert of_numbers.told() == of_texts.told()
