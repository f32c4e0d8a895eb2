"""What Inspect finds where winokit is installed: `inspect eval winokit/open` and the rest."""

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
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["inspect_ai"]
    assert list(points) == ["winokit"]
    assert find_spec(points["winokit"]) is not None


def test_twins_and_problems_of_one_text_are_one_cluster():
    twins = [
        Problem("Ann saw Eve, so ", end, ("Ann", "Eve"), at, group="a") for at, end in enumerate((" hid.", " ran."))
    ]
    same_text = twins[0].replace(candidates=("Ann", "Mary"), group=None)
    alone = Problem("Tom met Ben, but ", " left.", ("Tom", "Ben"), 0)
    dataset = Dataset([*twins, same_text, alone])
    clusters = [row[CLUSTER] for row in cluster_documents(documents(dataset), dataset)]
    assert clusters == [twins[0].id, twins[0].id, twins[0].id, alone.id]


def test_converted_tasks_have_clusters_and_others_none(tmp_path):
    for harness in ("inspect", "lmeval"):
        convert(load("open")[:6], tmp_path / harness, to=harness)
        (file,) = (tmp_path / harness).glob("*_original.jsonl")
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert all((CLUSTER in row) == (harness == "inspect") for row in rows)
    (task,) = (tmp_path / "inspect").glob("*.py")
    assert f'stderr(cluster="{CLUSTER}")' in task.read_text("utf-8")


def test_a_variant_is_known_by_its_name():
    dataset = load("open")[:8]
    assert variants_of(dataset, "original") is dataset
    assert [problem.candidates for problem in variants_of(dataset, "reversed")] == [
        problem.candidates[::-1] for problem in dataset
    ]
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
print(json.dumps({{name: one.value for score in log.results.scores for name, one in score.metrics.items()}}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["original", "no-cands"])
def test_inspect_finds_the_task_and_its_choices_are_those_of_a_direct_run(variant, tmp_path):
    python = harness_python("WINOKIT_INSPECT_PYTHON", "inspect_ai, winokit.stages.convert.inspect_package")
    empty = tmp_path / "empty"
    logs = tmp_path / "logs"
    empty.mkdir()
    command = [python, "-c", RUN, "winokit/open", variant, str(logs)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=empty)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert list(empty.iterdir()) == []
    metrics = json.loads(ran.stdout.splitlines()[-1])

    space = {}
    exec(REPLY, space)
    dataset = load("open")
    with ChatServer(lambda number, body: says(space["answer"](body["messages"][-1]["content"]))) as server:
        spec = f"chat:tiny@{server.url}?logprobs=off"
        direct = score(variants_of(dataset, variant), spec, cache="off").predictions
    back = audit(dataset, predictions=[logs])
    choices = {row.id: row.prediction for row in back.predictions if row.variant == variant}
    assert len(choices) == len(direct) > 300
    assert {row.prediction for row in direct} == {0, 1, None}
    if variant == "original":
        assert choices == {row.id: row.prediction for row in direct}
        assert metrics["accuracy"] == pytest.approx(back.find("accuracy", "all", "accuracy").value)
        assert metrics["group_accuracy"] == pytest.approx(back.find("groups", "complete", "group_accuracy").value)
    else:
        assert sorted(map(str, choices.values())) == sorted(str(row.prediction) for row in direct)
    is_right = [row.is_right for row in direct]
    share = sum(is_right) / len(is_right)
    alone = (share * (1 - share) / (len(is_right) - 1)) ** 0.5
    assert metrics["stderr"] != pytest.approx(alone, rel=1e-3)
