"""Layouts of other tools, and functions that anybody writes for theirs."""

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, UnknownName


@pytest.fixture(scope="module")
def data():
    return load("open")[:24]


def right(read):
    return sum(made.prediction == made.answer for made in read.predictions)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with a layout, in the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(name, body):
        (tmp_path / f"{name}.py").write_text(dedent(body))
        return f"layout=python:{name}:read_rows"

    return write


def test_a_function_of_ten_lines_reads_whatever_somebody_has(data, module, tmp_path):
    rows = {
        str(at): {"origin_prompt": p.text, "prediction": "AB"[p.answer if at % 4 else 1 - p.answer]}
        for at, p in enumerate(data)
    }
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(rows))
    columns = module(
        "their_layout",
        """
        import json

        def read_rows(path):
            for row in json.loads(path.read_text()).values():
                yield {"text": row["origin_prompt"], "prediction": row["prediction"], "model": "theirs"}
        """,
    )
    (read,) = read_predictions(path, data, columns=checked_columns(columns))
    assert (read.model, len(read.predictions), right(read)) == ("theirs", 24, 18)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "def read_rows(path):\n    yield {'question': 1}\n",
            "expected rows with keys that are roles .*found question",
        ),
        ("def read_rows(path):\n    return []\n", "found no rows"),
        ("def read_rows(path):\n    yield {}['text']\n", "failed with KeyError: 'text'"),
        ("read_rows = 3\n", "something that is not a function"),
    ],
)
def test_a_function_that_yields_no_roles_or_fails_is_refused_in_a_line(data, module, tmp_path, body, says):
    path = tmp_path / "theirs.json"
    path.write_text("{}")
    with pytest.raises(BadInput, match=says):
        read_predictions(path, data, columns=checked_columns(module(f"wrong_{abs(hash(body))}", body)))


def test_an_unknown_layout_is_refused_with_those_there_are(data, tmp_path):
    (tmp_path / "theirs.json").write_text("{}")
    with pytest.raises(UnknownName, match="No layout of predictions named 'mine'"):
        read_predictions(tmp_path / "theirs.json", data, columns=checked_columns("layout=mine"))


def test_a_file_of_an_unknown_kind_is_refused_with_the_way_to_write_a_layout(data, tmp_path):
    (tmp_path / "theirs.txt").write_text("Somebody wrote a letter to somebody else, and it is no prediction.\n")
    with pytest.raises(BadInput, match="layout=python:module:function"):
        read_predictions(tmp_path / "theirs.txt", data)


EXAMPLES = re.findall(
    r"```python\n(import json\n+def read_.*?)```",
    (Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8"),
    re.DOTALL,
)


def opencompass(data, replies):
    turns = [[{"role": "HUMAN", "prompt": f"Fill in the blank.\n{problem.text}"}] for problem in data]
    return json.dumps(
        {str(at): {"origin_prompt": turn, "prediction": replies[at], "gold": "A"} for at, turn in enumerate(turns)}
    )


def helm(data, replies):
    states = []
    for problem, reply in zip(data, replies, strict=True):
        letters = {"A": problem.candidates[1], "B": problem.candidates[0]}
        letter = next(key for key, name in letters.items() if name == reply)
        result = {"completions": [{"text": f" {letter}"}]}
        states.append({"instance": {"input": {"text": problem.text}}, "output_mapping": letters, "result": result})
    return json.dumps({"adapter_spec": {"model": "org/model"}, "request_states": states})


def batch(data, replies):
    lines = []
    for problem, reply in zip(data, replies, strict=True):
        body = {"choices": [{"message": {"role": "assistant", "content": f"The answer is {reply}."}}]}
        lines.append(json.dumps({"custom_id": problem.id, "response": {"body": body}}))
    return "\n".join(lines)


@pytest.mark.parametrize(("number", "write"), list(enumerate([opencompass, helm, batch])))
def test_the_layouts_of_the_docs_read_what_they_say(data, module, tmp_path, number, write):
    assert len(EXAMPLES) == 3
    replies = [p.candidates[p.answer if at % 4 else 1 - p.answer] for at, p in enumerate(data)]
    path = tmp_path / "theirs.json"
    path.write_text(write(data, replies))
    body = re.sub(r"def read_\w+", "def read_rows", EXAMPLES[number])
    (read,) = read_predictions(path, data, columns=checked_columns(module(f"example_{number}", body)))
    assert (len(read.predictions), right(read)) == (24, 18)
