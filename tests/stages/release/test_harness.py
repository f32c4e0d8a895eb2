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
def release(tmp_path_factory):
    settings = ReleaseSettings(name="open-wino", version="2.5")
    return write_release("open", tmp_path_factory.mktemp("release") / "open", settings=settings)


@pytest.fixture(scope="module")
def utils(release):
    return module_at(release.folder / "lm_eval" / "utils.py")


def test_every_function_that_the_task_names_is_there(release, utils):
    task = read_yaml(release.folder / "lm_eval" / "open_wino.yaml")
    assert task["task"] == "open_wino"
    assert task["metadata"] == {
        "version": "2.5",
        "release": "open-wino",
        "scoring": "partial",
        "formalization": "mc-mlm",
    }
    assert [metric["metric"] for metric in task["metric_list"]] == ["acc", "group_acc"]
    aggregations = [metric["aggregation"] for metric in task["metric_list"]]
    functions = [value for value in [*task.values(), *aggregations] if str(value).startswith("function ")]
    assert len(functions) == 7
    for function in functions:
        assert callable(getattr(utils, function.removeprefix("function utils.")))


def test_the_harness_gets_the_texts_that_winokit_score_would_ask_about(release, utils):
    for problem, doc in zip(release.contents.files["dev"], utils.rows("dev.jsonl"), strict=True):
        requests = SCORINGS["partial"].ask(problem, Setting())
        continuation = utils.continuation(doc)
        assert [request.context for request in requests] == list(utils.contexts(doc))
        assert all(request.text == continuation for request in requests)
        assert utils.right_place(doc) == problem.answer


def test_a_right_answer_is_the_one_with_the_higher_score_and_a_tie_is_wrong(utils):
    doc = {"answer": 1, "group": "g", "group_size": 2}
    right = utils.judged(doc, [(-3.0, False), (-2.0, True)])
    wrong_as_text = utils.judged(doc, [("-1.0", "False"), ("-2.0", "True")])
    tie = utils.judged(doc, [(-2.0, False), (-2.0, False)])
    assert right == {"acc": 1.0, "group_acc": ("g", 2, 1.0)}
    assert wrong_as_text["acc"] == 0.0
    assert tie["acc"] == 0.0


def test_the_group_score_is_that_of_winokit(utils):
    sizes = {"a": 2, "b": 2, "c": 3}
    groups = ["a", "b", "a", None, "b", "c"]
    right = [True, True, True, False, False, True]
    items = [["a", 2, 1.0], ["b", 2, 1.0], ["a", 2, 1.0], ["", 1, 0.0], ["b", 2, 0.0], ["c", 3, 1.0]]
    assert utils.group_accuracy(items) == group_accuracy(right, groups, sizes) == 0.5


def test_without_groups_there_is_no_group_score(utils):
    assert math.isnan(utils.group_accuracy([["", 1, 1.0]]))


def test_solved_examples_come_from_training(release, utils):
    split_of = release.contents.where
    assert {split_of[doc["id"]] for doc in utils.rows("train.jsonl")} == {"train"}
    assert {split_of[doc["id"]] for doc in utils.rows("dev.jsonl")} == {"dev"}


def test_what_partial_scoring_cannot_score_is_left_out(release, tmp_path):
    ends_in_blank = Problem("The jug was heavier, so Nora carried ", "", ("the jug", "the cup"), 0, "it")
    goes_on = ends_in_blank.replace(after=" home.")
    rows = documents(Dataset([ends_in_blank, goes_on]))
    (tmp_path / "utils.py").write_bytes((release.folder / "lm_eval" / "utils.py").read_bytes())
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    docs = module_at(tmp_path / "utils.py").rows("some.jsonl")
    assert [row["id"] for row in rows] == [ends_in_blank.id, goes_on.id]
    assert [doc["id"] for doc in docs] == [goes_on.id]


def test_the_inspect_task_compiles_and_reads_the_dev_set(release):
    source = (release.folder / "inspect" / "open_wino.py").read_text()
    compile(source, "open_wino.py", "exec")
    assert "def open_wino():" in source


def read_table(path):
    """Rows of a Parquet file."""
    from pyarrow import parquet

    return parquet.read_table(path).to_pylist()


def find_data_file(folder, config_name, split):
    """Path of the file that the card names for a split of a configuration."""
    front_matter = (folder / "README.md").read_text("utf-8").split("---")[1]
    (config,) = [each for each in yaml.safe_load(front_matter)["configs"] if each["config_name"] == config_name]
    (file,) = [each for each in config["data_files"] if each["split"] == split]
    return folder / file["path"]


def test_the_hub_is_told_of_columns_configurations_and_letters_that_are_there(release):
    evaluation = read_yaml(release.folder / "eval.yaml")
    assert evaluation["evaluation_framework"] == "inspect-ai"
    (task,) = evaluation["tasks"]
    rows = read_table(find_data_file(release.folder, task["config"], task["split"]))
    assert len(rows) == len(release.contents.files["dev"])
    spec = task["field_spec"]
    for row, problem in zip(rows, release.contents.files["dev"], strict=True):
        assert {spec["input"], spec["target"], *spec["choices"], *spec["metadata"]} <= row.keys()
        assert [row[name] for name in spec["choices"]] == list(problem.candidates)
        assert row[spec["target"]] == "AB"[problem.answer]


def test_the_test_on_the_hub_has_no_letters(release):
    rows = read_table(next(release.folder.rglob("test-*.parquet")))
    assert {row["target"] for row in rows} == {""}


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
def test_inspect_reads_what_the_hub_is_told(release):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "pyarrow, inspect_ai._eval.task.hf")
    path = next(release.folder.rglob("validation-*.parquet"))
    ran = subprocess.run([python, "-c", CHECK_HUB, str(release.folder / "eval.yaml"), str(path)], capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()[-3000:]
    assert ran.stdout.decode() == "42 ['A', 'B'] {2}\n"


@pytest.mark.slow
def test_the_real_harness_runs_the_task_and_its_group_score_is_ours(release, tmp_path):
    python = harness_python("WINOKIT_HARNESS_PYTHON", "lm_eval")
    moved = release.folder.rename(tmp_path / "somewhere else")
    try:
        run_lm_eval(python, moved / "lm_eval", "open_wino", tmp_path / "tiny", tmp_path / "log")
        (results,) = (tmp_path / "log").rglob("results_*.json")
        (samples,) = (tmp_path / "log").rglob("samples_*.jsonl")
        theirs = json.loads(results.read_text())["results"]["open_wino"]
        ours = audit(moved / "winogrande" / "dev.jsonl", predictions=[samples])
    finally:
        moved.rename(release.folder)
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
def test_inspect_runs_the_task_and_its_group_score_is_ours(release, tmp_path):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "inspect_ai")
    task = release.folder / "inspect" / "open_wino.py"
    ran = subprocess.run(
        [python, "-c", RUN_INSPECT, str(task), str(tmp_path / "log")], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    theirs = json.loads(ran.stdout.splitlines()[-1])
    (log,) = (tmp_path / "log").iterdir()
    ours = audit(load(release.folder / "winogrande" / "dev.jsonl"), predictions=[log])
    assert theirs["group_accuracy"] == pytest.approx(ours.find("groups", "complete", "group_accuracy").value)
    assert theirs["accuracy"] == pytest.approx(ours.find("accuracy", "all", "accuracy").value)
    assert 0 < theirs["group_accuracy"] < theirs["accuracy"] < 1


def test_tasks_need_nothing_of_winokit(release):
    for path in ("lm_eval/utils.py", "inspect/open_wino.py"):
        source = (release.folder / path).read_text()
        assert "import winokit" not in source
        assert "from winokit" not in source
