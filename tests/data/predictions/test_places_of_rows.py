"""A malformed prediction is named by its line in the file, or its number in a JSON array."""

import json

import pytest

from winokit.data.predictions.read import read_predictions
from winokit.errors import Malformed


def sample(problem, **changes):
    requests = {
        f"gen_args_{i}": {"arg_0": problem.before + c, "arg_1": problem.after} for i, c in enumerate(problem.candidates)
    }
    document = {"text": problem.text, "candidates": list(problem.candidates), "answer": problem.answer}
    responses = [["-1.5", "False"], ["-2.5", "False"]]
    return {
        "doc_id": 0,
        "doc": document,
        "arguments": requests,
        "filtered_resps": responses,
        "filter": "none",
    } | changes


@pytest.fixture
def files(twins, tmp_path):
    """A file of each kind whose fourth record is malformed, and where that stands."""
    broken = twins[3]
    samples = [sample(p) if p is not broken else sample(p, filtered_resps="?") for p in twins]
    rows = [{"sentence": p.text, "pred": 1 if p is not broken else [1, 2]} for p in twins]
    cells = [f'"{p.text}"\t{1 if p is not broken else 3}' for p in twins]
    own = [{"id": p.id, "prediction": 0 if p is not broken else 7} for p in twins]
    content = {
        "samples_mine.jsonl": "\n" + "".join(json.dumps(each) + "\n" for each in samples),
        "samples_old.json": json.dumps(samples),
        "table.json": json.dumps(rows, indent=0),
        "table.tsv": "sentence\tpred\n" + "\n".join(cells[:3]) + "\n\n" + "\n".join(cells[3:]),
        "multi.csv": "sentence,pred\n"
        + "".join(f'"{p.text} ",{1 if p is not broken else 3}\n' for p in twins).replace(" ", "\n", 1),
        "predictions.jsonl": "".join(json.dumps(each) + "\n" for each in own),
        "labels.lst": "prediction\n1\n1\n1\n3\n1\n1\n",
    }
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("samples_mine.jsonl", "5"),
        ("samples_old.json", "element 4"),
        ("table.json", r"element 4 \(line \d+\)"),
        ("table.tsv", "6"),
        ("multi.csv", "6"),
        ("predictions.jsonl", "4"),
        ("labels.lst", "5"),
    ],
)
def test_a_malformed_row_is_named_by_its_place_in_the_file(twins, files, name, place):
    with pytest.raises(Malformed, match=rf"{name}:{place}: "):
        read_predictions(files / name, twins)
    (read,) = read_predictions(files / name, twins, lenient=True)
    assert len(read.predictions) == 5
    assert f"{name}:" in read.notes[-1]


def test_a_row_of_an_array_that_is_not_used_goes_by_its_number(twins, tmp_path):
    path = tmp_path / "samples_old.json"
    path.write_text(json.dumps([sample(twins[0]), sample(twins[1].replace(before="Another text because "))]))
    (read,) = read_predictions(path, twins)
    assert read.unmatched[0].startswith("element 2: no problem has the text ")


def test_the_first_label_is_named_by_its_own_line_where_there_is_a_number_too_many(twins, tmp_path):
    path = tmp_path / "labels.lst"
    path.write_text("prediction\n-\n1,2\n1,1\n1,1\n1,1\n1,1\n")
    with pytest.raises(Malformed, match=r"labels\.lst:3: field 'label': expected one label or five, found 2"):
        read_predictions(path, twins)


def test_the_first_skipped_row_is_the_first_in_the_file(twins, tmp_path):
    path = tmp_path / "table.csv"
    rows = ["sentence,pred", *(f'"{p.text}",1' for p in twins)]
    rows[2] = f'"{twins[1].text}",9'
    path.write_bytes("\n".join(rows).encode().replace(twins[4].before[:3].encode(), b"\xff\xfe\xe9"))
    (read,) = read_predictions(path, twins, lenient=True)
    assert "table.csv:3: field 'pred': expected 1 or 2, found '9'" in read.notes[-1]
