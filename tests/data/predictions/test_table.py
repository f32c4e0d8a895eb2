"""A table of predictions is matched to its problems, and every row that cannot be used is named."""

import csv
import json
from collections import Counter

import pytest
from support.reading import count_correct, read_only_part, with_source_ids

from winokit import load
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed

COLUMNS = ("sentence", "option1", "option2", "prediction")


@pytest.fixture
def write_table(tmp_path):
    def write(*rows, columns=COLUMNS):
        path = tmp_path / "table.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


def choices_by_id(part):
    """Id and choice of each row."""
    return [(row.id, row.prediction) for row in part.predictions]


def test_the_public_roberta_gets_966_and_163_of_284_pairs(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    part = read_only_part(real_file("predictions/roberta_winogrande_dev.csv"), dev)
    is_right = {row.id: row.prediction == row.answer for row in part.predictions}
    assert len(is_right) == 1267
    assert sum(is_right.values()) == 966
    assert part.unmatched == []
    (note,) = part.notes
    assert "line 1269 names no problem" in note
    pairs = Counter()
    for members in dev.groups.values():
        right_count = sum(is_right[problem.id] for problem in members)
        pairs[right_count] += 1
    assert pairs == {2: 163, 1: 65, 0: 56}
    singles = [is_right[problem.id] for problem in dev if problem.group is None]
    assert sum(singles) == 575
    assert len(singles) == 699


def test_the_same_numbers_come_out_when_the_dataset_has_its_options_turned(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    turned_dev = dev.with_problems(problem.with_order((1, 0)) for problem in dev)
    part = read_only_part(real_file("predictions/roberta_winogrande_dev.csv"), turned_dev)
    assert count_correct(part) == 966


@pytest.mark.parametrize(
    ("options", "prediction"),
    [(("the cup", "the jug"), "1"), (("the jug", "the cup"), "2"), (("Cup", "Jug"), "1.0")],
)
def test_a_number_counts_the_options_of_its_own_row(twins, write_table, options, prediction):
    path = write_table((twins[1].text, *options, prediction))
    part = read_only_part(path, twins)
    assert part.predictions[0].prediction == 1


def test_what_follows_a_broken_row_is_read_when_lenient(twins, write_table):
    rows = [(problem.text, *problem.candidates, "1") for problem in twins]
    path = write_table(*rows)
    lines = path.read_text().splitlines()
    lines[2] = '"broken"row,the jug,the cup,1'
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(Malformed, match=r"table\.csv:3: expected a well-formed row"):
        read_predictions(path, twins)
    part = read_only_part(path, twins, lenient=True)
    assert len(part.predictions) == len(twins) - 1
    assert "skipped 1 malformed rows" in part.notes[0]


def test_a_prediction_may_be_the_candidate_itself(twins, write_table):
    path = write_table((twins[1].text, "the jug", "the cup", "Cup"))
    part = read_only_part(path, twins)
    assert part.predictions[0].prediction == 1


def test_an_empty_prediction_is_an_abstention(twins, write_table):
    path = write_table((twins[1].text, "the jug", "the cup", ""))
    part = read_only_part(path, twins)
    assert part.predictions[0].prediction is None
    assert part.predictions[0].why == "an empty cell"


def test_options_may_be_left_out_and_then_numbers_count_the_dataset_s(twins, write_table):
    path = write_table((twins[1].text, "2"), columns=("sentence", "prediction"))
    part = read_only_part(path, twins)
    assert part.predictions[0].prediction == 1


def test_a_row_is_found_by_id_or_qid_where_it_has_no_sentence(twins, write_table):
    with_ids = with_source_ids(twins, "qID", "Q")
    path = write_table(("Q3", "", "2"), ("", with_ids[1].id, "2"), ("Q9", "", "1"), columns=("qID", "id", "prediction"))
    part = read_only_part(path, with_ids)
    assert choices_by_id(part) == [(with_ids[1].id, 1), (with_ids[3].id, 1)]
    assert part.unmatched == ["line 4: no problem with the id 'Q9'"]


@pytest.mark.parametrize("indent", [None, 1])
def test_one_json_object_may_have_the_predictions_by_id_or_qid(twins, tmp_path, indent):
    with_ids = with_source_ids(twins, "qID", "Q")
    second = with_ids[1]
    path = tmp_path / "mine.json"
    predictions = {"Q3": 1, second.id: second.candidates[1], "Q9": 0}
    path.write_text(json.dumps(predictions, indent=indent))
    part = read_only_part(path, with_ids)
    assert choices_by_id(part) == [(second.id, 1), (with_ids[3].id, 1)]
    assert part.unmatched == ["key 'Q9': no problem with the id 'Q9'"]


@pytest.mark.parametrize("column", ["Example ID", "problem-id"])
def test_a_column_of_ids_may_have_a_space_or_hyphen_in_its_name(twins, write_table, column):
    with_ids = with_source_ids(twins, "id", "s")
    path = write_table(("s1", "2"), columns=(column, "Model Output"))
    part = read_only_part(path, with_ids)
    assert choices_by_id(part) == [(with_ids[1].id, 1)]


def test_a_table_without_a_known_id_says_how_to_name_it_and_lists_no_more_than_twenty_columns(twins, write_table):
    path = write_table(("s1", "2"), columns=("wer", "reply"))
    with pytest.raises(BadInput, match=r"id or text, found wer, reply; name it \(id=COLUMN\)$"):
        read_predictions(path, twins)
    rows = [(f"s{index}", "2") for index in range(6)]
    path = write_table(*rows, columns=("wer", "reply"))
    with pytest.raises(BadInput, match=r"name it \(id=COLUMN\), or, if .*: --columns prediction=reply,"):
        read_predictions(path, twins)
    names = [f"c{index}" for index in range(200)]
    path = write_table(["1"] * 200, columns=names)
    with pytest.raises(BadInput, match=r"found c0, .*, c19, …; say which"):
        read_predictions(path, twins)


def test_a_qid_that_two_problems_have_is_refused(twins, write_table):
    problems = list(with_source_ids(twins, "qID", "Q"))
    problems[5] = problems[5].replace(provenance={"qID": "Q4"})
    with_ids = twins.with_problems(problems)
    path = write_table(("Q4", "2"), ("Q1", "1"), columns=("qID", "prediction"))
    part = read_only_part(path, with_ids)
    assert part.unmatched == ["line 2: 2 problems with the id 'Q4'"]
    assert len(part.predictions) == 1


def test_rows_about_other_problems_are_listed_with_their_line(twins, write_table):
    known_row = (twins[0].text, "the jug", "the cup", "1")
    strange_row = ("Tom met Paul when _ sang.", "Tom", "Paul", "1")
    with_mug = (twins[1].text, "the jug", "the mug", "1")
    path = write_table(known_row, strange_row, with_mug)
    part = read_only_part(path, twins)
    assert len(part.predictions) == 1
    assert part.unmatched == [
        "line 3: no problem has the text 'Tom met Paul when _ sang.'",
        "line 4: a problem has its text, and the candidates the jug / the cup, not the jug / the mug",
    ]


def test_an_answer_that_is_not_the_dataset_s_is_noted_and_not_used(twins, write_table):
    columns = (*COLUMNS, "answer")
    path = write_table((twins[0].text, "the cup", "the jug", "2", "1"), columns=columns)
    part = read_only_part(path, twins)
    assert part.predictions[0].prediction == 0
    assert part.predictions[0].answer == 0
    assert "in 1 row the file's answer differs from the dataset's, which counts; the first: line 2" in part.notes[0]


def test_repetitions_in_the_file_go_to_repetitions_in_the_dataset(twins, write_table):
    turned_problem = twins[0].with_order((1, 0))
    doubled_data = twins.with_problems([twins[0], twins[1], turned_problem])
    cells = (twins[0].text, "the jug", "the cup")
    path = write_table((*cells, "1"), (*cells, "2"), (*cells, "1"))
    part = read_only_part(path, doubled_data)
    second_id = f"{twins[0].id}.2"
    assert choices_by_id(part) == [(twins[0].id, 0), (second_id, 0)]
    assert part.notes == [
        f"{path}: in 1 row an earlier row is repeated with the same prediction; it counts once; the first: line 4"
    ]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (("the jug", "the cup", "3"), ":3: field 'prediction': expected 1 or 2, found '3'"),
        (("the jug", "the cup", "the mug"), ":3: field 'prediction': expected 1 or 2, found 'the mug'"),
        (("the jug", "the cup"), ":3: expected 4 cells, found 3"),
    ],
)
def test_a_malformed_row_is_named_or_skipped_when_lenient(twins, write_table, cells, says):
    path = write_table((twins[0].text, "the jug", "the cup", "1"), (twins[1].text, *cells))
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message == f"{path}{says}"
    part = read_only_part(path, twins, lenient=True)
    assert len(part.predictions) == 1


def test_a_table_without_predictions_says_which_column_is_missing(twins, write_table):
    path = write_table((twins[0].text, "1"), columns=("sentence", "guess"))
    with pytest.raises(BadInput, match="expected a column 'prediction', found sentence, guess"):
        read_predictions(path, twins)
