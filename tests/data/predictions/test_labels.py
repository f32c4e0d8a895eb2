import pytest

from winokit import load
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
        ("1\n0\n1\n1\n1\n1", ":2: field 'label': expected 1 or 2, found '0'"),
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
