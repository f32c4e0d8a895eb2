"""A list of labels has a prediction for each problem, in the order of the dataset."""

import json

import pytest
from support.reading import choices_of, read_only_part

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed


def write_labels(tmp_path, text: str):
    path = tmp_path / "mine.lst"
    path.write_text(text)
    return path


def ids_of(rows):
    return [row.id for row in rows]


def test_labels_count_from_one_in_the_order_of_the_problems(twins, tmp_path):
    path = write_labels(tmp_path, "1\n2\n2\r\n1\n1\n2")
    part = read_only_part(path, twins)
    assert part.model == "mine"
    assert part.scoring == "labels"
    assert choices_of(part) == [0, 1, 1, 0, 0, 1]
    assert ids_of(part.predictions) == ids_of(twins)


def test_five_labels_a_line_are_the_five_models_of_the_leaderboard(twins, tmp_path):
    path = write_labels(tmp_path, "1,1,1,1,2\n" * 6)
    parts = read_predictions(path, twins)
    models = [part.model for part in parts]
    assert models == ["xs", "s", "m", "l", "xl"]
    first_choices = [choices_of(part)[0] for part in parts]
    assert first_choices == [0, 0, 0, 0, 1]


def test_the_real_submission_has_five_labels_for_each_test_problem(real_file):
    test = load(real_file("winogrande/test.jsonl"))
    parts = read_predictions(real_file("winogrande/sample-submission-labels.lst"), test)
    row_counts = [(part.model, len(part.predictions)) for part in parts]
    assert row_counts == [("xs", 1767), ("s", 1767), ("m", 1767), ("l", 1767), ("xl", 1767)]


@pytest.mark.parametrize("count", [5, 7])
def test_a_list_of_another_length_is_refused_even_when_lenient(twins, tmp_path, count):
    path = write_labels(tmp_path, "1\n" * count)
    for lenient in (False, True):
        with pytest.raises(BadInput, match=f"{count} labels for the 6 .*a csv file with the columns id and"):
            read_predictions(path, twins, lenient=lenient)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1\n3\n1\n1\n1\n1", ":2: field 'label': expected 1 or 2, found '3'"),
        ("1\nx\n1\n1\n1\n1", ":2: field 'label': expected 1 or 2, found 'x'"),
        ("1\n0\n2\n1\n1\n1", ":2: field 'label': expected 1 or 2, found '0'"),
        ("1\n1,2\n1\n1\n1\n1", ":2: field 'label': expected one label, as on the first line, found 2"),
        ("1,2\n1,2\n1\n1\n1\n1", ":1: field 'label': expected one label or five, found 2"),
    ],
)
def test_a_line_that_is_no_label_is_named(twins, tmp_path, text, says):
    path = write_labels(tmp_path, text)
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message.endswith(says)


def test_a_skipped_line_keeps_its_place(twins, tmp_path):
    path = write_labels(tmp_path, "1\nx\n2\n1\n1\n1")
    part = read_only_part(path, twins, lenient=True)
    assert ids_of(part.predictions) == ids_of([twins[0], *twins[2:]])
    assert part.predictions[1].prediction == 1


def test_labels_may_be_letters_and_stand_under_a_heading(twins, tmp_path):
    path = write_labels(tmp_path, "prediction\nA\nB\n\n1\n2\nA\n")
    part = read_only_part(path, twins)
    assert choices_of(part) == [0, 1, None, 0, 1, 0]
    path = write_labels(tmp_path, "prediction\nA\nC\n1\n1\n2\nA\n")
    with pytest.raises(Malformed, match=r"mine\.lst:3: field 'label': expected 1 or 2, found 'C'"):
        read_predictions(path, twins)


def test_empty_lines_and_words_for_nothing_are_abstentions_even_at_the_ends(twins, tmp_path):
    path = write_labels(tmp_path, "\n1\n-\nnull\n2\n\n")
    part = read_only_part(path, twins)
    assert choices_of(part) == [None, 0, None, None, 1, None]
    reasons = [row.why for row in part.predictions]
    assert reasons[:3] == ["an empty line", None, "it says '-'"]
    path = write_labels(tmp_path, "1,1,1,1,2\nnan\n" + "2,2,,2,-\n" * 4)
    (*_, fifth) = read_predictions(path, twins)
    assert choices_of(fifth) == [1, None, None, None, None, None]


CHOICES = [0, 1, 1, 0, 0, 1]
WORDS = ["the jug", "the cup", "Ines", "Nora", "the rope", "the crate"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1.0\n2.0\n2.0\n1.0\n1.0\n2.0\n", id="floats"),
        pytest.param("[1, 2, 2, 1, 1, 2]", id="a JSON array"),
        pytest.param(json.dumps(WORDS, indent=1), id="a JSON array of words"),
        pytest.param("\n".join(WORDS) + "\n", id="words"),
        pytest.param("a\nb\nb\na\na\nb", id="letters"),
    ],
)
def test_labels_may_be_floats_a_json_array_or_the_candidates_words(twins, tmp_path, text):
    path = write_labels(tmp_path, text)
    part = read_only_part(path, twins)
    assert choices_of(part) == CHOICES


@pytest.mark.parametrize("as_array", [False, True])
def test_nothing_but_0_and_1_has_two_readings_which_are_shown_with_what_they_give(twins, tmp_path, as_array):
    labels = [problem.answer for problem in twins]
    labels[4:] = [1 - label for label in labels[4:]]
    one_count = sum(labels)
    lines = [f"{label}\n" for label in labels]
    path = write_labels(tmp_path, json.dumps(labels) if as_array else "".join(lines))
    with pytest.raises(BadInput) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert f"--columns 'order=line,correct=column 1' (reads 6 of 6 rows, {one_count} right)" in message
    assert "--columns 'order=line,prediction=column 1:0' (reads 6 of 6 rows, 4 right)" in message
    as_verdicts = read_only_part(path, twins, columns=checked_columns("order=line,correct=column 1"))
    assert as_verdicts.right == one_count
    as_choices = read_only_part(path, twins, columns=checked_columns("order=line,prediction=column 1:0"))
    assert as_choices.right == 4


def test_true_and_false_say_which_choices_are_right(twins, tmp_path):
    path = write_labels(tmp_path, "True\nFalse\n" * 3)
    with pytest.raises(BadInput, match="nothing but false and true; if they say which choices are right"):
        read_predictions(path, twins)
    part = read_only_part(path, twins, columns=checked_columns("order=line,correct=column 1"))
    assert part.right == 3


def test_words_that_name_no_candidate_are_named_with_their_line(twins, tmp_path):
    path = write_labels(tmp_path, "somebody\n" * 6)
    with pytest.raises(Malformed, match=r"mine\.lst:1: field 'label'"):
        read_predictions(path, twins)
