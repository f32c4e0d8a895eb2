"""Layouts of other tools are read, and so are the functions that anybody writes for theirs."""

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest
from support.reading import choice_number, count_correct, read_only_part

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, UnknownName


@pytest.fixture(scope="module")
def data():
    return load("open")[:24]


@pytest.fixture
def write_layout(tmp_path, monkeypatch):
    """Function that writes a module with a layout into the working directory and returns the role that names it."""
    monkeypatch.chdir(tmp_path)

    def write(name, body):
        (tmp_path / f"{name}.py").write_text(dedent(body))
        return f"layout=python:{name}:read_rows"

    return write


def test_a_function_of_ten_lines_reads_whatever_somebody_has(data, write_layout, tmp_path):
    rows = {}
    for index, problem in enumerate(data):
        letter = "AB"[choice_number(index, problem) - 1]
        rows[str(index)] = {"origin_prompt": problem.text, "prediction": letter}
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(rows))
    columns = write_layout(
        "their_layout",
        """
        import json

        def read_rows(path):
            for row in json.loads(path.read_text()).values():
                yield {"text": row["origin_prompt"], "prediction": row["prediction"], "model": "theirs"}
        """,
    )
    part = read_only_part(path, data, columns=checked_columns(columns))
    assert part.model == "theirs"
    assert len(part.predictions) == 24
    assert count_correct(part) == 18


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
def test_a_function_that_yields_no_roles_or_fails_is_refused_in_a_line(data, write_layout, tmp_path, body, says):
    path = tmp_path / "theirs.json"
    path.write_text("{}")
    columns = checked_columns(write_layout(f"wrong_{abs(hash(body))}", body))
    with pytest.raises(BadInput, match=says):
        read_predictions(path, data, columns=columns)


def test_an_unknown_layout_is_refused_with_those_there_are(data, tmp_path):
    (tmp_path / "theirs.json").write_text("{}")
    with pytest.raises(UnknownName, match="No layout of predictions named 'mine'"):
        read_predictions(tmp_path / "theirs.json", data, columns=checked_columns("layout=mine"))


def test_a_file_of_an_unknown_kind_is_refused_with_the_way_to_write_a_layout(data, tmp_path):
    (tmp_path / "theirs.txt").write_text("Somebody wrote a letter to somebody else, and it is no prediction.\n")
    with pytest.raises(BadInput, match="layout=python:module:function"):
        read_predictions(tmp_path / "theirs.txt", data)


DATA_PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(import json\n+def read_.*?)```", DATA_PAGE, re.DOTALL)


def opencompass_file(data, replies):
    """Content of a file of OpenCompass with these replies."""
    rows = {}
    for index, problem in enumerate(data):
        turn = {"role": "HUMAN", "prompt": f"Fill in the blank.\n{problem.text}"}
        rows[str(index)] = {"origin_prompt": [turn], "prediction": replies[index], "gold": "A"}
    return json.dumps(rows)


def helm_file(data, replies):
    """Content of a file of HELM whose letters stand for the candidates in reverse order."""
    states = []
    for problem, reply in zip(data, replies, strict=True):
        second, first = problem.candidates
        letters = {"A": first, "B": second}
        letter = "A" if reply == first else "B"
        result = {"completions": [{"text": f" {letter}"}]}
        instance = {"input": {"text": problem.text}}
        states.append({"instance": instance, "output_mapping": letters, "result": result})
    return json.dumps({"adapter_spec": {"model": "org/model"}, "request_states": states})


def batch_file(data, replies):
    """Content of a file of OpenAI's batches."""
    lines = []
    for problem, reply in zip(data, replies, strict=True):
        message = {"role": "assistant", "content": f"The answer is {reply}."}
        body = {"choices": [{"message": message}]}
        line = {"custom_id": problem.id, "response": {"body": body}}
        lines.append(json.dumps(line))
    return "\n".join(lines)


@pytest.mark.parametrize(("number", "write"), list(enumerate([opencompass_file, helm_file, batch_file])))
def test_the_layouts_of_the_docs_read_what_they_say(data, write_layout, tmp_path, number, write):
    assert len(EXAMPLES) == 3
    replies = []
    for index, problem in enumerate(data):
        replies.append(problem.candidates[choice_number(index, problem) - 1])
    path = tmp_path / "theirs.json"
    path.write_text(write(data, replies))
    body = re.sub(r"def read_\w+", "def read_rows", EXAMPLES[number])
    columns = checked_columns(write_layout(f"example_{number}", body))
    part = read_only_part(path, data, columns=columns)
    assert len(part.predictions) == 24
    assert count_correct(part) == 18
