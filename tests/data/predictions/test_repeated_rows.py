"""A problem has one prediction: rows that say the same are counted, rows that contradict each other are named."""

import csv
import json

import pytest

from winokit import audit
from winokit.data.predictions.documents import solved_documents
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput


@pytest.fixture
def written(twins, tmp_path):
    """A table of choices, by the place of each problem among the twins."""

    def write(*rows):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("sentence", "option1", "option2", "prediction"))
            table.writerows((twins[at].text, *twins[at].candidates, choice) for at, choice in rows)
        return path

    return write


def test_a_row_that_repeats_an_earlier_one_is_counted_in_a_note(twins, written):
    (read,) = read_predictions(written((0, 1), (1, 2), (0, 1), (1, 2)), twins)
    assert [made.prediction for made in read.predictions] == [0, 1]
    assert read.unmatched == []
    assert (
        "in 2 rows an earlier row is repeated with the same prediction; it counts once; the first: line 4"
        in (read.notes[0])
    )


def test_rows_that_contradict_each_other_are_refused_with_both_lines_and_the_way_out(twins, written):
    with pytest.raises(BadInput) as caught:
        read_predictions(written((0, 1), (1, 2), (0, 2)), twins)
    assert str(caught.value).endswith(
        f"mine.csv: line 2 and line 4 contradict each other on problem {twins[0].id} ('the jug' and 'the cup'): "
        "keep the one that counts, or leave such problems out (audit --lenient)"
    )


def test_a_choice_contradicts_an_abstention(twins, written):
    with pytest.raises(BadInput, match=r"\(no answer and 'the jug'\)"):
        read_predictions(written((0, ""), (0, 1)), twins)


def test_a_lenient_reading_leaves_out_every_row_of_a_contradicted_problem(twins, written):
    (read,) = read_predictions(written((0, 1), (1, 2), (0, 2), (0, 1)), twins, lenient=True)
    assert [made.id for made in read.predictions] == [twins[1].id]
    assert "1 problem left out, whose rows contradict each other; the first: line 2 and line 4" in read.notes[0]


def test_a_file_with_nothing_but_contradictions_says_so(twins, written):
    with pytest.raises(
        BadInput, match=r"nothing in it matches .*; the first: 1 problem left out, whose rows contradict"
    ):
        read_predictions(written((0, 1), (0, 2)), twins, lenient=True)


def test_two_models_may_say_different_things_of_one_problem(twins, tmp_path):
    rows = [{"id": twins[0].id, "model": model, "prediction": at} for at, model in enumerate("ab")]
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [read.predictions[0].prediction for read in read_predictions(path, twins)] == [0, 1]


def test_surprisals_of_one_text_contradict_each_other_too(twins, tmp_path):
    (document, *_) = solved_documents(twins)
    samples = [
        {"doc_id": 0, "doc": document, "filtered_resps": [[value, "False"]], "filter": "none"}
        | {"arguments": {"gen_args_0": {"arg_0": "", "arg_1": document["solved"]}}}
        for value in ("-30.0", "-30.0", "-12.0")
    ]
    path = tmp_path / "samples_mine.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples[:2]))
    (read,) = read_predictions(path, twins)
    assert "in 1 row an earlier row is repeated" in read.notes[0]
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    with pytest.raises(BadInput, match=r"line 1 and line 3 contradict each other on problem .* \(surprisals "):
        read_predictions(path, twins)


def test_an_audit_stops_at_a_contradiction_and_goes_on_when_lenient(twins, written):
    path = written(*((at, 1 + problem.answer) for at, problem in enumerate(twins)), (0, 2))
    with pytest.raises(BadInput, match="line 2 and line 8 contradict each other"):
        audit(twins, predictions=[path], protocol="accuracy", out=None)
    run = audit(twins, predictions=[path], protocol="accuracy", out=None, lenient=True)
    assert run.find("accuracy", "all", "accuracy").n == 5
    assert any("1 problem left out, whose rows contradict" in note for note in run.notes)


def test_an_object_that_says_two_things_under_one_key_is_refused(twins, tmp_path):
    path = tmp_path / "mine.json"
    first = twins[0].id
    second = twins[1].id
    path.write_text(f'{{"{first}": 1, "{second}": 2, "{first}": 2}}')
    with pytest.raises(BadInput, match=rf"mine\.json: key '{first}' is there twice, with 1 and 2: keep the one"):
        read_predictions(path, twins)
    path.write_text(f'{{"{first}": 1, "{second}": 2, "{first}": 1}}')
    (read,) = read_predictions(path, twins)
    assert [made.prediction for made in read.predictions] == [0, 1]
