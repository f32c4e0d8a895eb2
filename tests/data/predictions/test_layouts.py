"""Layouts of other tools, and functions that anybody writes for theirs."""

import json
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
    rows = {str(at): {"origin_prompt": p.text, "prediction": "AB"[p.answer if at % 4 else 1 - p.answer]} for at, p in enumerate(data)}
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
        ("def read_rows(path):\n    yield {'question': 1}\n", "expected rows with keys that are roles .*found question"),
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
    (tmp_path / "theirs.txt").write_text("nothing of any kind\nthat is known\n")
    with pytest.raises(BadInput, match="layout=python:module:function"):
        read_predictions(tmp_path / "theirs.txt", data)
