"""A problem has one prediction, so rows that repeat it are counted and rows that contradict it are named."""

import csv

import pytest
from support.json_rows import json_lines
from support.reading import choices_of, read_only_part

from winokit import audit
from winokit.data.predictions.documents import solved_documents
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput


@pytest.fixture
def write_choices(twins, tmp_path):
    """Function that writes a table of indexes of twins and numbers of candidates."""

    def write(*choices):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("sentence", "option1", "option2", "prediction"))
            for index, number in choices:
                problem = twins[index]
                table.writerow((problem.text, *problem.candidates, number))
        return path

    return write


def test_a_row_that_repeats_an_earlier_one_is_counted_in_a_note(twins, write_choices):
    path = write_choices((0, 1), (1, 2), (0, 1), (1, 2))
    part = read_only_part(path, twins)
    assert choices_of(part) == [0, 1]
    assert part.unmatched == []
    reason = "an earlier row is repeated with the same prediction; it counts once"
    assert f"in 2 rows {reason}; the first: line 4" in part.notes[0]


def test_rows_that_contradict_each_other_are_refused_with_both_lines_and_the_way_out(twins, write_choices):
    path = write_choices((0, 1), (1, 2), (0, 2))
    with pytest.raises(BadInput) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message.endswith(
        f"mine.csv: line 2 and line 4 contradict each other on problem {twins[0].id} ('the jug' and 'the cup'): "
        "keep the one that counts, or leave such problems out (audit --lenient)"
    )


def test_a_choice_contradicts_an_abstention(twins, write_choices):
    path = write_choices((0, ""), (0, 1))
    with pytest.raises(BadInput, match=r"\(no answer and 'the jug'\)"):
        read_predictions(path, twins)


def test_a_lenient_reading_leaves_out_every_row_of_a_contradicted_problem(twins, write_choices):
    path = write_choices((0, 1), (1, 2), (0, 2), (0, 1))
    part = read_only_part(path, twins, lenient=True)
    ids = [row.id for row in part.predictions]
    assert ids == [twins[1].id]
    assert "1 problem left out, whose rows contradict each other; the first: line 2 and line 4" in part.notes[0]


def test_a_file_with_nothing_but_contradictions_says_so(twins, write_choices):
    path = write_choices((0, 1), (0, 2))
    reason = "1 problem left out, whose rows contradict"
    with pytest.raises(BadInput, match=f"nothing in it matches .*; the first: {reason}"):
        read_predictions(path, twins, lenient=True)


def test_two_models_may_say_different_things_of_one_problem(twins, tmp_path):
    row = {"id": twins[0].id}
    rows = [row | {"model": "a", "prediction": 0}, row | {"model": "b", "prediction": 1}]
    path = tmp_path / "predictions.jsonl"
    path.write_text(json_lines(rows))
    first, second = read_predictions(path, twins)
    assert choices_of(first) == [0]
    assert choices_of(second) == [1]


def test_surprisals_of_one_text_contradict_each_other_too(twins, tmp_path):
    (document, *_) = solved_documents(twins)
    request = {"gen_args_0": {"arg_0": "", "arg_1": document["solved"]}}
    sample = {"doc_id": 0, "doc": document, "arguments": request, "filter": "none"}
    samples = [sample | {"filtered_resps": [[value, "False"]]} for value in ("-30.0", "-30.0", "-12.0")]
    path = tmp_path / "samples_mine.jsonl"
    path.write_text(json_lines(samples[:2]))
    part = read_only_part(path, twins)
    assert "in 1 row an earlier row is repeated" in part.notes[0]
    path.write_text(json_lines(samples))
    with pytest.raises(BadInput, match=r"line 1 and line 3 contradict each other on problem .* \(surprisals "):
        read_predictions(path, twins)


def test_an_audit_stops_at_a_contradiction_and_goes_on_when_lenient(twins, write_choices):
    choices = [(index, 1 + problem.answer) for index, problem in enumerate(twins)]
    path = write_choices(*choices, (0, 2))
    with pytest.raises(BadInput, match="line 2 and line 8 contradict each other"):
        audit(twins, predictions=[path], protocol="accuracy", out=None)
    run = audit(twins, predictions=[path], protocol="accuracy", out=None, lenient=True)
    assert run.find("accuracy", "all", "accuracy").n == 5
    assert any("1 problem left out, whose rows contradict" in note for note in run.notes)


def test_an_object_that_says_two_things_under_one_key_is_refused(twins, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(f'{{"{twins[0].id}": 1, "{twins[1].id}": 2, "{twins[0].id}": 2}}')
    with pytest.raises(BadInput, match=rf"mine\.json: key '{twins[0].id}' is there twice, with 1 and 2: keep the one"):
        read_predictions(path, twins)


def test_an_object_that_says_one_thing_twice_under_one_key_is_read(twins, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(f'{{"{twins[0].id}": 1, "{twins[1].id}": 2, "{twins[0].id}": 1}}')
    part = read_only_part(path, twins)
    assert choices_of(part) == [0, 1]
