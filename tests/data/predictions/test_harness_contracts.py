"""Logs that lm_eval 0.4.13 and 0.5.0.dev1 wrote about twelve problems of `open`, and tasks that both can run.

The model of the logs gives every request the log-probability -5 - 10 h, where h is the first six hexadecimal digits of
the SHA-256 of its context and continuation, as a share of 16^6.
"""

import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from winokit import load
from winokit.data.predictions.read import read_predictions
from winokit.stages.convert.tasks import lmeval_utils

LOGS = Path(__file__).parent / "logs"


@pytest.fixture(scope="module")
def data():
    return load("open")


def log_probability(problem, candidate):
    asked = f"{problem.before}{candidate}|{problem.after}"
    return -5 - 10 * int(sha256(asked.encode()).hexdigest()[:6], 16) / 16**6


@pytest.mark.parametrize("name", ["winokit_open_original", "winogrande"])
def test_logs_of_both_versions_say_the_same_to_the_digit(data, name):
    reads = [
        read_predictions(LOGS / f"samples_{name}_{version}.jsonl", data)[0] for version in ("0.4.13", "0.5.0.dev1")
    ]
    made = [[(each.id, each.scores, each.prediction) for each in read.predictions] for read in reads]
    assert made[0] == made[1]
    assert len(made[0]) == 12
    for row, problem in zip(reads[1].predictions, data, strict=False):
        assert row.scores == pytest.approx([log_probability(problem, name) for name in problem.candidates])
    assert reads[1].right == 5  # as both harnesses printed it: acc 0.4167


def test_a_variant_s_log_of_the_new_version_is_read_as_that_variant(data):
    (read,) = read_predictions(LOGS / "samples_winokit_open_switched_0.5.0.dev1.jsonl", data)
    assert (read.variant, len(read.predictions)) == ("switched", 10)


def harness(monkeypatch, is_new):
    """A module as the harness's own, whose tasks are their configuration."""

    class Task:
        if is_new:
            from_config = staticmethod(lambda config: ("new", config))

    modules = {name: ModuleType(name) for name in ("lm_eval", "lm_eval.api", "lm_eval.api.task")}
    modules["lm_eval.api.task"].Task = Task
    modules["lm_eval.api.task"].ConfigurableTask = lambda config: ("old", config)
    modules["lm_eval.api"].task = modules["lm_eval.api.task"]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize("is_new", [False, True])
def test_a_task_says_contexts_and_their_continuation_as_the_installed_harness_has_it(tmp_path, monkeypatch, is_new):
    (tmp_path / "utils.py").write_bytes(lmeval_utils("a task"))
    utils = {"__file__": str(tmp_path / "utils.py")}
    exec((tmp_path / "utils.py").read_text(), utils)
    harness(monkeypatch, is_new)
    names = {"doc_to_text": "right_place", "doc_to_target": "continuation", "doc_to_choice": "contexts"}
    which, config = utils["HarnessTask"](
        config={"class": 1, "task": "mine", **{key: utils[name] for key, name in names.items()}}
    )
    doc = {"contexts": ["a cup", "a jug"], "continuation": " fell.", "answer": 1}
    said = {key: config[key](doc) for key in names}
    old = {"doc_to_text": 1, "doc_to_target": " fell.", "doc_to_choice": ["a cup", "a jug"]}
    new = {"doc_to_text": ["a cup", "a jug"], "doc_to_target": 1, "doc_to_choice": [" fell."]}
    assert (which, said) == (("new", new) if is_new else ("old", old))
    assert config.get("multiple_inputs") == (True if is_new else None)
    assert "class" not in config


def test_what_a_group_s_score_is_made_of_is_one_value_and_no_list_of_repeats(tmp_path):
    (tmp_path / "utils.py").write_bytes(lmeval_utils("a task"))
    utils = {"__file__": str(tmp_path / "utils.py")}
    exec((tmp_path / "utils.py").read_text(), utils)
    judged = utils["judged"]({"answer": 0, "group": "g", "group_size": 2}, [(-1.0, False), (-2.0, False)])
    assert judged["group_acc"] == ("g", 2, 1.0)
