import csv
import json
from collections import Counter

import pytest

from winokit import load
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed

COLUMNS = ("sentence", "option1", "option2", "prediction")


@pytest.fixture
def written(tmp_path):
    def write(*rows, columns=COLUMNS):
        path = tmp_path / "table.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


def test_the_public_roberta_gets_966_and_163_of_284_pairs(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    (read,) = read_predictions(real_file("predictions/roberta_winogrande_dev.csv"), dev)
    right = {made.id: made.prediction == made.answer for made in read.predictions}
    assert (len(right), sum(right.values()), read.unmatched) == (1267, 966, [])
    assert len(read.notes) == 1
    assert "line 1269 names no problem" in read.notes[0]
    pairs = Counter(sum(right[problem.id] for problem in members) for members in dev.groups.values())
    assert pairs == {2: 163, 1: 65, 0: 56}
    singles = [right[problem.id] for problem in dev if problem.group is None]
    assert (sum(singles), len(singles)) == (575, 699)


def test_the_same_numbers_come_out_when_the_dataset_has_its_options_turned(real_file):
    dev = load(real_file("winogrande/dev.jsonl"))
    turned = dev.with_problems(problem.with_order((1, 0)) for problem in dev)
    (read,) = read_predictions(real_file("predictions/roberta_winogrande_dev.csv"), turned)
    assert sum(made.prediction == made.answer for made in read.predictions) == 966


def test_a_number_counts_the_options_of_its_own_row(twins, written):
    text = twins[1].text
    for options, prediction in ((("the cup", "the jug"), "1"), (("the jug", "the cup"), "2"), (("Cup", "Jug"), "1.0")):
        (read,) = read_predictions(written((text, *options, prediction)), twins)
        assert read.predictions[0].prediction == 1


def test_what_follows_a_broken_row_is_read_when_lenient(twins, written):
    path = written(*((problem.text, *problem.candidates, "1") for problem in twins))
    lines = path.read_text().splitlines()
    lines[2] = '"broken"row,the jug,the cup,1'
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(Malformed, match=r"table\.csv:3: expected a well-formed row"):
        read_predictions(path, twins)
    (read,) = read_predictions(path, twins, lenient=True)
    assert len(read.predictions) == len(twins) - 1
    assert "skipped 1 malformed rows" in read.notes[0]


def test_a_prediction_may_be_the_candidate_itself(twins, written):
    (read,) = read_predictions(written((twins[1].text, "the jug", "the cup", "Cup")), twins)
    assert read.predictions[0].prediction == 1


def test_an_empty_prediction_is_an_abstention(twins, written):
    (read,) = read_predictions(written((twins[1].text, "the jug", "the cup", "")), twins)
    assert (read.predictions[0].prediction, read.predictions[0].why) == (None, "an empty cell")


def test_options_may_be_left_out_and_then_numbers_count_the_dataset_s(twins, written):
    (read,) = read_predictions(written((twins[1].text, "2"), columns=("sentence", "prediction")), twins)
    assert read.predictions[0].prediction == 1


def test_a_row_is_found_by_id_or_qid_where_it_has_no_sentence(twins, written):
    named = twins.with_problems(p.replace(provenance={"qID": f"Q{i}"}) for i, p in enumerate(twins))
    path = written(("Q3", "", "2"), ("", named[1].id, "2"), ("Q9", "", "1"), columns=("qID", "id", "prediction"))
    (read,) = read_predictions(path, named)
    assert [(made.id, made.prediction) for made in read.predictions] == [(named[1].id, 1), (named[3].id, 1)]
    assert read.unmatched == ["line 4: no problem with the id 'Q9'"]


@pytest.mark.parametrize("indent", [None, 1])
def test_one_json_object_may_have_the_predictions_by_id_or_qid(twins, tmp_path, indent):
    named = twins.with_problems(p.replace(provenance={"qID": f"Q{i}"}) for i, p in enumerate(twins))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"Q3": 1, named[1].id: named[1].candidates[1], "Q9": 0}, indent=indent))
    (read,) = read_predictions(path, named)
    assert [(made.id, made.prediction) for made in read.predictions] == [(named[1].id, 1), (named[3].id, 1)]
    assert read.unmatched == ["key 'Q9': no problem with the id 'Q9'"]


def test_a_column_of_ids_may_have_a_space_or_hyphen_in_its_name(twins, written):
    named = twins.with_problems(p.replace(provenance={"id": f"s{i}"}) for i, p in enumerate(twins))
    for column in ("Example ID", "problem-id"):
        (read,) = read_predictions(written(("s1", "2"), columns=(column, "Model Output")), named)
        assert [(made.id, made.prediction) for made in read.predictions] == [(named[1].id, 1)]


def test_a_table_without_a_known_id_says_how_to_name_it_and_lists_no_more_than_twenty_columns(twins, written):
    with pytest.raises(BadInput, match=r"id or text, found wer, reply; name it \(id=COLUMN\)$"):
        read_predictions(written(("s1", "2"), columns=("wer", "reply")), twins)
    with pytest.raises(BadInput, match=r"name it \(id=COLUMN\), or, if .*: --columns prediction=reply,"):
        read_predictions(written(*([f"s{i}", "2"] for i in range(6)), columns=("wer", "reply")), twins)
    with pytest.raises(BadInput, match=r"found c0, .*, c19, …; say which"):
        read_predictions(written(["1"] * 200, columns=[f"c{i}" for i in range(200)]), twins)


def test_a_qid_that_two_problems_have_is_refused(twins, written):
    named = twins.with_problems(p.replace(provenance={"qID": f"Q{min(i, 4)}"}) for i, p in enumerate(twins))
    (read,) = read_predictions(written(("Q4", "2"), ("Q1", "1"), columns=("qID", "prediction")), named)
    assert (read.unmatched, len(read.predictions)) == (["line 2: 2 problems with the id 'Q4'"], 1)


def test_rows_about_other_problems_are_listed_with_their_line(twins, written):
    fine = (twins[0].text, "the jug", "the cup", "1")
    path = written(fine, ("Tom met Paul when _ sang.", "Tom", "Paul", "1"), (twins[1].text, "the jug", "the mug", "1"))
    (read,) = read_predictions(path, twins)
    assert len(read.predictions) == 1
    assert read.unmatched == [
        "line 3: no problem has the text 'Tom met Paul when _ sang.'",
        "line 4: a problem has its text, and the candidates the jug / the cup, not the jug / the mug",
    ]


def test_an_answer_that_is_not_the_dataset_s_is_noted_and_not_used(twins, written):
    columns = (*COLUMNS, "answer")
    (read,) = read_predictions(written((twins[0].text, "the cup", "the jug", "2", "1"), columns=columns), twins)
    assert (read.predictions[0].prediction, read.predictions[0].answer) == (0, 0)
    assert "in 1 row the file's answer differs from the dataset's, which counts; the first: line 2" in read.notes[0]


def test_repetitions_in_the_file_go_to_repetitions_in_the_dataset(twins, written):
    doubled = twins.with_problems([twins[0], twins[1], twins[0].with_order((1, 0))])
    fine = (twins[0].text, "the jug", "the cup")
    path = written((*fine, "1"), (*fine, "2"), (*fine, "1"))
    (read,) = read_predictions(path, doubled)
    assert [(made.id, made.prediction) for made in read.predictions] == [(twins[0].id, 0), (f"{twins[0].id}.2", 0)]
    assert read.notes == [
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
def test_a_malformed_row_is_named_or_skipped_when_lenient(twins, written, cells, says):
    path = written((twins[0].text, "the jug", "the cup", "1"), (twins[1].text, *cells))
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    assert str(caught.value) == f"{path}{says}"
    (read,) = read_predictions(path, twins, lenient=True)
    assert len(read.predictions) == 1


def test_a_table_without_predictions_says_which_column_is_missing(twins, written):
    with pytest.raises(BadInput, match="expected a column 'prediction', found sentence, guess"):
        read_predictions(written((twins[0].text, "1"), columns=("sentence", "guess")), twins)
