"""Logs that lm_eval 0.4.13 and 0.5.0.dev1 wrote about twelve problems of `open`, and tasks that both can run.

The model of the logs gives every request the log-probability -5 - 10 h, where h is the first six hexadecimal digits of
the SHA-256 of its context and continuation, as a share of 16^6.
"""

import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest
from support.reading import read_only_part

from winokit import load
from winokit.data.predictions.read import read_predictions
from winokit.stages.convert.tasks import lmeval_utils

LOGS = Path(__file__).parent / "logs"


@pytest.fixture(scope="module")
def data():
    return load("open")


def log_probability(problem, candidate):
    prompt = f"{problem.before}{candidate}|{problem.after}"
    hash_number = int(sha256(prompt.encode()).hexdigest()[:6], 16)
    return -5 - 10 * hash_number / 16**6


@pytest.mark.parametrize("name", ["winokit_open_original", "winogrande"])
def test_logs_of_both_versions_say_the_same_to_the_digit(data, name):
    old_log = read_predictions(LOGS / f"samples_{name}_0.4.13.jsonl", data)[0]
    new_log = read_predictions(LOGS / f"samples_{name}_0.5.0.dev1.jsonl", data)[0]
    old_rows = [(row.id, row.scores, row.prediction) for row in old_log.predictions]
    new_rows = [(row.id, row.scores, row.prediction) for row in new_log.predictions]
    assert old_rows == new_rows
    assert len(old_rows) == 12
    for row, problem in zip(new_log.predictions, data, strict=False):
        expected_scores = [log_probability(problem, candidate) for candidate in problem.candidates]
        assert row.scores == pytest.approx(expected_scores)
    assert new_log.right == 5  # as both harnesses printed it: acc 0.4167


def test_a_variant_s_log_of_the_new_version_is_read_as_that_variant(data):
    part = read_only_part(LOGS / "samples_winokit_open_switched_0.5.0.dev1.jsonl", data)
    assert part.variant == "switched"
    assert len(part.predictions) == 10


def install_harness(monkeypatch, is_new):
    """Put modules in the harness's place, whose tasks are their version and their configuration."""

    class Task:
        if is_new:
            from_config = staticmethod(lambda config: ("new", config))

    modules = {name: ModuleType(name) for name in ("lm_eval", "lm_eval.api", "lm_eval.api.task")}
    modules["lm_eval.api.task"].Task = Task
    modules["lm_eval.api.task"].ConfigurableTask = lambda config: ("old", config)
    modules["lm_eval.api"].task = modules["lm_eval.api.task"]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


def run_task_module(folder):
    """Write the module of a task and return its names."""
    path = folder / "utils.py"
    path.write_bytes(lmeval_utils("a task"))
    names = {"__file__": str(path)}
    exec(path.read_text(), names)
    return names


OLD_PARTS = {"doc_to_text": 1, "doc_to_target": " fell.", "doc_to_choice": ["a cup", "a jug"]}
NEW_PARTS = {"doc_to_text": ["a cup", "a jug"], "doc_to_target": 1, "doc_to_choice": [" fell."]}


@pytest.mark.parametrize(
    ("is_new", "version", "parts", "multiple_inputs"),
    [(False, "old", OLD_PARTS, None), (True, "new", NEW_PARTS, True)],
    ids=["False", "True"],
)
def test_a_task_says_contexts_and_their_continuation_as_the_installed_harness_has_it(
    tmp_path, monkeypatch, is_new, version, parts, multiple_inputs
):
    utils = run_task_module(tmp_path)
    install_harness(monkeypatch, is_new)
    function_names = {"doc_to_text": "right_place", "doc_to_target": "continuation", "doc_to_choice": "contexts"}
    functions = {key: utils[name] for key, name in function_names.items()}
    task_version, config = utils["HarnessTask"](config={"class": 1, "task": "mine", **functions})
    document = {"contexts": ["a cup", "a jug"], "continuation": " fell.", "answer": 1}
    task_parts = {key: config[key](document) for key in function_names}
    assert task_version == version
    assert task_parts == parts
    assert config.get("multiple_inputs") == multiple_inputs
    assert "class" not in config


def test_what_a_group_s_score_is_made_of_is_one_value_and_no_list_of_repeats(tmp_path):
    utils = run_task_module(tmp_path)
    document = {"answer": 0, "group": "g", "group_size": 2}
    responses = [(-1.0, False), (-2.0, False)]
    results = utils["judged"](document, responses)
    assert results["group_acc"] == ("g", 2, 1.0)
