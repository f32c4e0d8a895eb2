"""Inspect finds the bundled tasks by name where winokit is installed: `inspect eval winokit/open`."""

import json
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.harness import harness_python
from support.servers import ChatServer, says

from winokit.data.loading import load
from winokit.data.predictions.documents import documents
from winokit.errors import UnknownName
from winokit.problem import Dataset, Problem
from winokit.stages.audit.run import audit
from winokit.stages.convert.run import convert
from winokit.stages.convert.tasks import CLUSTER, cluster_documents, variants_of
from winokit.stages.score.run import score

ROOT = Path(__file__).parents[3]


def test_the_entry_point_names_a_module_that_is_there():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    points = pyproject["project"]["entry-points"]["inspect_ai"]
    assert list(points) == ["winokit"]
    assert find_spec(points["winokit"]) is not None


def test_twins_and_problems_of_one_text_are_one_cluster():
    people = ("Ann", "Eve")
    twin = Problem("Ann saw Eve, so ", " hid.", people, 0, group="a")
    other_twin = Problem("Ann saw Eve, so ", " ran.", people, 1, group="a")
    same_text = twin.replace(candidates=("Ann", "Mary"), group=None)
    single = Problem("Tom met Ben, but ", " left.", ("Tom", "Ben"), 0)
    dataset = Dataset([twin, other_twin, same_text, single])
    rows = cluster_documents(documents(dataset), dataset)
    clusters = [row[CLUSTER] for row in rows]
    assert clusters == [twin.id, twin.id, twin.id, single.id]


@pytest.mark.parametrize(("harness", "has_clusters"), [("inspect", True), ("lmeval", False)])
def test_tasks_of_inspect_have_clusters_and_others_none(harness, has_clusters, tmp_path):
    convert(load("open")[:6], tmp_path, to=harness)
    (path,) = tmp_path.glob("*_original.jsonl")
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert (CLUSTER in row) == has_clusters


def test_errors_of_inspects_metrics_are_clustered(tmp_path):
    convert(load("open")[:6], tmp_path, to="inspect")
    (task,) = tmp_path.glob("*.py")
    assert f'stderr(cluster="{CLUSTER}")' in task.read_text("utf-8")


def test_a_variant_is_known_by_its_name():
    dataset = load("open")[:8]
    assert variants_of(dataset, "original") is dataset
    backwards = [problem.candidates[::-1] for problem in dataset]
    assert [problem.candidates for problem in variants_of(dataset, "reversed")] == backwards
    with pytest.raises(UnknownName, match="Did you mean 'no-cands'"):
        variants_of(dataset, "no-cand")


REPLY = '''
import hashlib, re
def answer(prompt):
    """One of the last question's letters, or nothing that can be read, by a hash of the prompt."""
    letters = re.findall(r"^([A-Z])\\. ", prompt.rpartition("Question:")[2], re.MULTILINE)
    digest = hashlib.sha256(prompt.encode()).digest()
    return "I cannot tell." if digest[1] % 9 == 0 else letters[digest[0] % len(letters)]
'''
RUN = f"""
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi
{REPLY}
@modelapi(name="hashing")
class Hashing(ModelAPI):
    async def generate(self, input, tools, tool_choice, config):
        output = ModelOutput.from_content("hashing/model", answer(input[-1].text))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

name, variant, folder = sys.argv[1:]
(log,) = eval(name, model="hashing/model", task_args=dict(variant=variant), log_dir=folder, display="none")
assert log.status == "success", log.error
values = {{}}
for score in log.results.scores:
    for name, metric in score.metrics.items():
        values[name] = metric.value
print(json.dumps(values))
"""


def predict_directly(dataset, variant):
    """Predictions of the model in REPLY by winokit itself, without Inspect."""
    namespace = {}
    exec(REPLY, namespace)
    answer = namespace["answer"]

    def reply(number, body):
        last_message = body["messages"][-1]
        return says(answer(last_message["content"]))

    with ChatServer(reply) as server:
        spec = f"chat:tiny@{server.url}?logprobs=off"
        return score(variants_of(dataset, variant), spec, cache="off").predictions


def standard_error(predictions) -> float:
    """Standard error of the accuracy as if problems were independent."""
    is_right = [row.is_right for row in predictions]
    share = sum(is_right) / len(is_right)
    variance = share * (1 - share) / (len(is_right) - 1)
    return variance**0.5


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["original", "no-cands"])
def test_inspect_finds_the_task_and_its_choices_are_those_of_a_direct_run(variant, tmp_path):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "inspect_ai, winokit.stages.convert.inspect_package")
    empty = tmp_path / "empty"
    logs = tmp_path / "logs"
    empty.mkdir()
    command = [python, "-c", RUN, "winokit/open", variant, str(logs)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=empty)
    assert process.returncode == 0, process.stderr[-3000:]
    assert list(empty.iterdir()) == []
    metrics = json.loads(process.stdout.splitlines()[-1])

    dataset = load("open")
    direct = predict_directly(dataset, variant)
    run = audit(dataset, predictions=[logs])
    choices = {row.id: row.prediction for row in run.predictions if row.variant == variant}
    direct_choices = {row.id: row.prediction for row in direct}
    assert len(choices) == len(direct) > 300
    assert set(direct_choices.values()) == {0, 1, None}
    if variant == "original":
        accuracy = run.find("accuracy", "all", "accuracy")
        group_accuracy = run.find("groups", "complete", "group_accuracy")
        assert choices == direct_choices
        assert metrics["accuracy"] == pytest.approx(accuracy.value)
        assert metrics["group_accuracy"] == pytest.approx(group_accuracy.value)
    else:
        sorted_choices = sorted(map(str, choices.values()))
        assert sorted_choices == sorted(str(row.prediction) for row in direct)
    assert metrics["stderr"] != pytest.approx(standard_error(direct), rel=1e-3)
