"""The tasks of a release: their files, their functions, and the real harnesses where they are installed."""

import json
import math
import subprocess

import pytest
import yaml
from support.harness import harness_python, module_at, read_yaml, run_lm_eval

from winokit.data.loading import load
from winokit.data.predictions.documents import documents
from winokit.methods.metrics.groups import group_accuracy
from winokit.methods.scoring.base import SCORINGS, Setting
from winokit.problem import Dataset, Problem
from winokit.stages.audit.run import audit
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseSettings

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_release(
        "open", tmp_path_factory.mktemp("made") / "open", settings=ReleaseSettings(name="open-wino", version="2.5")
    )


@pytest.fixture(scope="module")
def utils(made):
    return module_at(made.folder / "lm_eval" / "utils.py")


def test_every_function_that_the_task_names_is_there(made, utils):
    task = read_yaml(made.folder / "lm_eval" / "open_wino.yaml")
    assert task["task"] == "open_wino"
    assert task["metadata"] == {
        "version": "2.5",
        "release": "open-wino",
        "scoring": "partial",
        "formalization": "mc-mlm",
    }
    assert [metric["metric"] for metric in task["metric_list"]] == ["acc", "group_acc"]
    named = [task[key] for key in task if str(task[key]).startswith("function ")]
    named += [metric["aggregation"] for metric in task["metric_list"] if metric["aggregation"] != "mean"]
    assert len(named) == 7
    for name in named:
        assert callable(getattr(utils, name.removeprefix("function utils.")))


def test_the_harness_gets_the_texts_that_winokit_score_would_ask_about(made, utils):
    for problem, doc in zip(made.contents.files["dev"], utils.rows("dev.jsonl"), strict=True):
        asked = SCORINGS["partial"].ask(problem, Setting())
        assert [(request.context, request.text) for request in asked] == [
            (context, utils.continuation(doc)) for context in utils.contexts(doc)
        ]
        assert utils.right_place(doc) == problem.answer


def test_a_right_answer_is_the_one_with_the_higher_score_and_a_tie_is_wrong(utils):
    doc = {"answer": 1, "group": "g", "group_size": 2}
    assert utils.judged(doc, [(-3.0, False), (-2.0, True)]) == {"acc": 1.0, "group_acc": ("g", 2, 1.0)}
    assert utils.judged(doc, [("-1.0", "False"), ("-2.0", "True")])["acc"] == 0.0
    assert utils.judged(doc, [(-2.0, False), (-2.0, False)])["acc"] == 0.0


def test_the_group_score_is_that_of_winokit(utils):
    groups = ["a", "b", "a", "", "b", "c"]
    right = [True, True, True, False, False, True]
    sizes = {"a": 2, "b": 2, "": 1, "c": 3}
    items = [[group, sizes[group], float(is_right)] for group, is_right in zip(groups, right, strict=True)]
    named = [group or None for group in groups]
    assert utils.group_accuracy(items) == group_accuracy(right, named, sizes) == 0.5
    assert math.isnan(utils.group_accuracy([["", 1, 1.0]]))


def test_solved_examples_come_from_training(made, utils):
    where = made.contents.where
    assert {where[doc["id"]] for doc in utils.rows("train.jsonl")} == {"train"}
    assert {where[doc["id"]] for doc in utils.rows("dev.jsonl")} == {"dev"}


def test_what_partial_scoring_cannot_score_is_left_out(made, tmp_path):
    ends_in_blank = Problem("The jug was heavier, so Nora carried ", "", ("the jug", "the cup"), 0, "it")
    other = ends_in_blank.replace(after=" home.")
    rows = documents(Dataset([ends_in_blank, other]))
    (tmp_path / "utils.py").write_bytes((made.folder / "lm_eval" / "utils.py").read_bytes())
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [row["id"] for row in rows] == [ends_in_blank.id, other.id]
    assert [doc["id"] for doc in module_at(tmp_path / "utils.py").rows("some.jsonl")] == [other.id]


def test_the_inspect_task_compiles_and_reads_the_dev_set(made):
    source = (made.folder / "inspect" / "open_wino.py").read_text()
    compile(source, "open_wino.py", "exec")
    assert "def open_wino():" in source


def test_the_hub_is_told_of_columns_configurations_and_letters_that_are_there(made):
    from pyarrow import parquet

    told = read_yaml(made.folder / "eval.yaml")
    assert told["evaluation_framework"] == "inspect-ai"
    (task,) = told["tasks"]
    front = (made.folder / "README.md").read_text("utf-8").split("---")[1]
    configs = {config["config_name"]: config for config in yaml.safe_load(front)["configs"]}
    (path,) = (file["path"] for file in configs[task["config"]]["data_files"] if file["split"] == task["split"])
    rows = parquet.read_table(made.folder / path).to_pylist()
    assert len(rows) == len(made.contents.files["dev"])
    spec = task["field_spec"]
    for row, problem in zip(rows, made.contents.files["dev"], strict=True):
        assert {spec["input"], spec["target"], *spec["choices"], *spec["metadata"]} <= row.keys()
        assert [row[name] for name in spec["choices"]] == list(problem.candidates)
        assert row[spec["target"]] == "AB"[problem.answer]
    assert {row["target"] for row in parquet.read_table(next(made.folder.rglob("test-*.parquet"))).to_pylist()} == {""}


CHECK_HUB = """
import sys, yaml
from pyarrow import parquet
from inspect_ai._eval.task.hf import HFTask, _record_to_sample_hf
from inspect_ai.solver import multiple_choice
(task,) = (HFTask.model_validate(each) for each in yaml.safe_load(open(sys.argv[1]))["tasks"])
multiple_choice(**task.solvers[0].args)
samples = [_record_to_sample_hf(row, task.field_spec) for row in parquet.read_table(sys.argv[2]).to_pylist()]
print(len(samples), sorted({sample.target for sample in samples}), {len(sample.choices) for sample in samples})
"""


@pytest.mark.slow
def test_inspect_reads_what_the_hub_is_told(made):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "pyarrow, inspect_ai._eval.task.hf")
    path = next(made.folder.rglob("validation-*.parquet"))
    ran = subprocess.run([python, "-c", CHECK_HUB, str(made.folder / "eval.yaml"), str(path)], capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()[-3000:]
    assert ran.stdout.decode() == "42 ['A', 'B'] {2}\n"


@pytest.mark.slow
def test_the_real_harness_runs_the_task_and_its_group_score_is_ours(made, tmp_path):
    python = harness_python("WINOKIT_HARNESS_PYTHON", "lm_eval")
    moved = made.folder.rename(tmp_path / "somewhere else")
    try:
        run_lm_eval(python, moved / "lm_eval", "open_wino", tmp_path / "tiny", tmp_path / "log")
        (results,) = (tmp_path / "log").rglob("results_*.json")
        (samples,) = (tmp_path / "log").rglob("samples_*.jsonl")
        theirs = json.loads(results.read_text())["results"]["open_wino"]
        ours = audit(moved / "winogrande" / "dev.jsonl", predictions=[samples])
    finally:
        moved.rename(made.folder)
    assert theirs["group_acc,none"] == ours.find("groups", "complete", "group_accuracy").value
    assert theirs["acc,none"] == ours.find("accuracy", "all", "accuracy").value
    assert ours.find("accuracy", "all", "accuracy").n == 42


RUN_INSPECT = """
import importlib.util, json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
spec = importlib.util.spec_from_file_location("task_file", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
outputs = []
for place, sample in enumerate(module.samples('../lm_eval/dev.jsonl')):
    output = ModelOutput.from_content("mockllm/model", f"ANSWER: {sample.target if place % 6 < 4 else 'A'}")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it downloads a tokenizer to count
    outputs.append(output)
model = get_model("mockllm/model", custom_outputs=outputs)
log = eval(module.open_wino(), model=model, log_dir=sys.argv[2], display="none", max_samples=1, max_connections=1)[0]
print(json.dumps({name: one.value for name, one in log.results.scores[0].metrics.items()}))
"""


@pytest.mark.slow
def test_inspect_runs_the_task_and_its_group_score_is_ours(made, tmp_path):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "inspect_ai")
    task = made.folder / "inspect" / "open_wino.py"
    ran = subprocess.run(
        [python, "-c", RUN_INSPECT, str(task), str(tmp_path / "log")], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    theirs = json.loads(ran.stdout.splitlines()[-1])
    (log,) = (tmp_path / "log").iterdir()
    ours = audit(load(made.folder / "winogrande" / "dev.jsonl"), predictions=[log])
    assert theirs["group_accuracy"] == pytest.approx(ours.find("groups", "complete", "group_accuracy").value)
    assert theirs["accuracy"] == pytest.approx(ours.find("accuracy", "all", "accuracy").value)
    assert 0 < theirs["group_accuracy"] < theirs["accuracy"] < 1


def test_tasks_need_nothing_of_winokit(made):
    for path in ("lm_eval/utils.py", "inspect/open_wino.py"):
        assert "import winokit" not in (made.folder / path).read_text()
        assert "from winokit" not in (made.folder / path).read_text()
