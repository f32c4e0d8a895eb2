import json

import pytest

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed


def written(tmp_path, text: str):
    path = tmp_path / "mine.lst"
    path.write_text(text)
    return path


def test_labels_count_from_one_in_the_order_of_the_problems(twins, tmp_path):
    (read,) = read_predictions(written(tmp_path, "1\n2\n2\r\n1\n1\n2"), twins)
    assert (read.model, read.scoring) == ("mine", "labels")
    assert [made.prediction for made in read.predictions] == [0, 1, 1, 0, 0, 1]
    assert [made.id for made in read.predictions] == [problem.id for problem in twins]


def test_five_labels_a_line_are_the_five_models_of_the_leaderboard(twins, tmp_path):
    reads = read_predictions(written(tmp_path, "1,1,1,1,2\n" * 6), twins)
    assert [read.model for read in reads] == ["xs", "s", "m", "l", "xl"]
    assert [read.predictions[0].prediction for read in reads] == [0, 0, 0, 0, 1]


def test_the_real_submission_has_five_labels_for_each_test_problem(real_file):
    test = load(real_file("winogrande/test.jsonl"))
    reads = read_predictions(real_file("winogrande/sample-submission-labels.lst"), test)
    assert [(read.model, len(read.predictions)) for read in reads] == [
        (size, 1767) for size in ("xs", "s", "m", "l", "xl")
    ]


@pytest.mark.parametrize("count", [5, 7])
def test_a_list_of_another_length_is_refused_even_when_lenient(twins, tmp_path, count):
    path = written(tmp_path, "1\n" * count)
    for lenient in (False, True):
        with pytest.raises(BadInput, match=f"{count} labels for the 6 problems of unnamed"):
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
    with pytest.raises(Malformed) as caught:
        read_predictions(written(tmp_path, text), twins)
    assert str(caught.value).endswith(says)


def test_a_skipped_line_keeps_its_place(twins, tmp_path):
    (read,) = read_predictions(written(tmp_path, "1\nx\n2\n1\n1\n1"), twins, lenient=True)
    assert [made.id for made in read.predictions] == [problem.id for problem in twins if problem is not twins[1]]
    assert read.predictions[1].prediction == 1


def test_labels_may_be_letters_and_stand_under_a_heading(twins, tmp_path):
    (read,) = read_predictions(written(tmp_path, "prediction\nA\nB\n\n1\n2\nA\n"), twins)
    assert [made.prediction for made in read.predictions] == [0, 1, None, 0, 1, 0]
    with pytest.raises(Malformed, match=r"mine\.lst:3: field 'label': expected 1 or 2, found 'C'"):
        read_predictions(written(tmp_path, "prediction\nA\nC\n1\n1\n2\nA\n"), twins)


def test_empty_lines_and_words_for_nothing_are_abstentions_even_at_the_ends(twins, tmp_path):
    (read,) = read_predictions(written(tmp_path, "\n1\n-\nnull\n2\n\n"), twins)
    assert [made.prediction for made in read.predictions] == [None, 0, None, None, 1, None]
    assert [made.why for made in read.predictions][:3] == ["an empty line", None, "it says '-'"]
    (*_, fifth) = read_predictions(written(tmp_path, "1,1,1,1,2\nnan\n" + "2,2,,2,-\n" * 4), twins)
    assert [made.prediction for made in fifth.predictions] == [1, None, None, None, None, None]


def test_labels_may_be_floats_a_json_array_or_the_candidates_words(twins, tmp_path):
    chosen = [0, 1, 1, 0, 0, 1]
    words = [problem.candidates[place] for problem, place in zip(twins, chosen, strict=True)]
    for text in (
        "".join(f"{place + 1}.0\n" for place in chosen),
        json.dumps([place + 1 for place in chosen]),
        json.dumps(words, indent=1),
        "\n".join(words) + "\n",
        "\n".join("ab"[place] for place in chosen),
    ):
        (read,) = read_predictions(written(tmp_path, text), twins)
        assert [made.prediction for made in read.predictions] == chosen


@pytest.mark.parametrize("as_array", [False, True])
def test_nothing_but_0_and_1_has_two_readings_which_are_shown_with_what_they_give(twins, tmp_path, as_array):
    labels = [problem.answer for problem in twins[:4]] + [1 - problem.answer for problem in twins[4:]]
    path = written(tmp_path, json.dumps(labels) if as_array else "".join(f"{label}\n" for label in labels))
    with pytest.raises(BadInput) as caught:
        read_predictions(path, twins)
    verdicts = sum(labels)
    assert f"--columns 'order=line,correct=column 1' (reads 6 of 6 rows, {verdicts} right)" in str(caught.value)
    assert "--columns 'order=line,prediction=column 1:0' (reads 6 of 6 rows, 4 right)" in str(caught.value)
    for columns, right in (("order=line,correct=column 1", verdicts), ("order=line,prediction=column 1:0", 4)):
        (read,) = read_predictions(path, twins, columns=checked_columns(columns))
        assert read.right == right


def test_true_and_false_say_which_choices_are_right(twins, tmp_path):
    path = written(tmp_path, "True\nFalse\n" * 3)
    with pytest.raises(BadInput, match="nothing but false and true; if they say which choices are right"):
        read_predictions(path, twins)
    (read,) = read_predictions(path, twins, columns=checked_columns("order=line,correct=column 1"))
    assert read.right == 3


def test_words_that_name_no_candidate_are_named_with_their_line(twins, tmp_path):
    with pytest.raises(Malformed, match=r"mine\.lst:1: field 'label'"):
        read_predictions(written(tmp_path, "somebody\n" * 6), twins)
