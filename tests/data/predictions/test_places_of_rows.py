"""A malformed prediction is named by its line in the file, or its number in a JSON array."""

import json

import pytest
from support.json_rows import json_lines
from support.reading import read_only_part

from winokit.data.predictions.read import read_predictions
from winokit.errors import Malformed


def harness_row(problem, **changes):
    """Row of a harness's log that prefers the first candidate, with some fields changed."""
    requests = {}
    for index, candidate in enumerate(problem.candidates):
        requests[f"gen_args_{index}"] = {"arg_0": problem.before + candidate, "arg_1": problem.after}
    document = {"text": problem.text, "candidates": list(problem.candidates), "answer": problem.answer}
    row = {"doc_id": 0, "doc": document, "arguments": requests, "filter": "none"}
    row["filtered_resps"] = [["-1.5", "False"], ["-2.5", "False"]]
    return row | changes


def number_cells(problems, template, malformed_index=3):
    """Line of each problem with its text and the prediction 1, or 3 in the malformed one."""
    lines = [template.format(text=problem.text, number=1) for problem in problems]
    lines[malformed_index] = template.format(text=problems[malformed_index].text, number=3)
    return lines


@pytest.fixture
def files(twins, tmp_path):
    """Folder with a file of each kind whose fourth record is malformed."""
    samples = [harness_row(problem) for problem in twins]
    samples[3]["filtered_resps"] = "?"
    rows = [{"sentence": problem.text, "pred": 1} for problem in twins]
    rows[3]["pred"] = [1, 2]
    records = [{"id": problem.id, "prediction": 0} for problem in twins]
    records[3]["prediction"] = 7
    tab_lines = number_cells(twins, '"{text}"\t{number}')
    tab_lines.insert(3, "")
    comma_lines = number_cells(twins, '"{text} ",{number}\n')
    broken_cell = "".join(comma_lines).replace(" ", "\n", 1)
    content = {
        "samples_mine.jsonl": "\n" + json_lines(samples),
        "samples_old.json": json.dumps(samples),
        "table.json": json.dumps(rows, indent=0),
        "table.tsv": "\n".join(["sentence\tpred", *tab_lines]),
        "multi.csv": f"sentence,pred\n{broken_cell}",
        "predictions.jsonl": json_lines(records),
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
    part = read_only_part(files / name, twins, lenient=True)
    assert len(part.predictions) == 5
    assert f"{name}:" in part.notes[-1]


def test_a_row_of_an_array_that_is_not_used_goes_by_its_number(twins, tmp_path):
    path = tmp_path / "samples_old.json"
    other_row = harness_row(twins[1].replace(before="Another text because "))
    log_rows = [harness_row(twins[0]), other_row]
    path.write_text(json.dumps(log_rows))
    part = read_only_part(path, twins)
    assert part.unmatched[0].startswith("element 2: no problem has the text ")


def test_the_first_label_is_named_by_its_own_line_where_there_is_a_number_too_many(twins, tmp_path):
    path = tmp_path / "labels.lst"
    path.write_text("prediction\n-\n1,2\n1,1\n1,1\n1,1\n1,1\n")
    with pytest.raises(Malformed, match=r"labels\.lst:3: field 'label': expected one label or five, found 2"):
        read_predictions(path, twins)


def test_the_first_skipped_row_is_the_first_in_the_file(twins, tmp_path):
    path = tmp_path / "table.csv"
    rows = ["sentence,pred", *(f'"{problem.text}",1' for problem in twins)]
    rows[2] = f'"{twins[1].text}",9'
    content = "\n".join(rows).encode()
    beginning = twins[4].before[:3].encode()
    no_text = b"\xff\xfe\xe9"
    path.write_bytes(content.replace(beginning, no_text))
    part = read_only_part(path, twins, lenient=True)
    assert "table.csv:3: field 'pred': expected 1 or 2, found '9'" in part.notes[-1]
