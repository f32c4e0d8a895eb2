"""Submissions are read in every form that does no harm, and refused with the file and the line in every other."""

import gzip
import json
import lzma
import re
from pathlib import Path

import numpy as np
import pandas
import pytest

from winokit.errors import BadInput, Malformed
from winokit.stages.grade.submissions import MOST_BYTES, SIZES, SubmittedFile, read_submission

IDS = [f"{number:016x}" for number in range(6)]
ONE = "1\n2\n1\n1\n2\n2\n"
FIVE = "1,2,1,1,2\n2,2,2,2,2\n1,1,1,1,1\n1,2,1,2,1\n2,1,2,1,2\n2,2,1,1,1\n"


def prediction_rows() -> list[dict]:
    """Rows of predictions.jsonl as winokit writes them."""
    return [{"id": name, "variant": "original", "model": "m", "scoring": "s", "prediction": 1} for name in IDS]


def as_lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def lines_with(row_index: int, **fields: object) -> str:
    """Content of predictions.jsonl with other fields in one row."""
    rows = prediction_rows()
    rows[row_index] |= fields
    return as_lines(rows)


def read_content(tmp_path: Path, content: str | bytes) -> SubmittedFile:
    """Write a file of this content and read it as a submission."""
    path = tmp_path / "predictions.lst"
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return read_submission([path], IDS)


def test_one_label_a_line_is_one_column_counted_from_0(tmp_path):
    submission = read_content(tmp_path, ONE)
    assert submission.columns == ("one",)
    assert submission.predictions[:, 0].tolist() == [0, 1, 0, 0, 1, 1]


def test_five_labels_a_line_are_the_five_sizes(tmp_path):
    submission = read_content(tmp_path, FIVE)
    assert submission.columns == SIZES
    assert submission.predictions[0].tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize(
    "content",
    [
        ONE.rstrip(),
        ONE + "\n\n",
        ONE.replace("\n", "\r\n"),
        "\ufeff" + ONE,
        ONE.replace("1", " 1 "),
    ],
    ids=["no newline at the end", "blank lines at the end", "Windows' line ends", "a byte order mark", "spaces"],
)
def test_what_does_no_harm_is_taken(tmp_path, content):
    submission = read_content(tmp_path, content)
    assert np.array_equal(submission.predictions, read_content(tmp_path, ONE).predictions)


def test_spaces_after_commas_are_taken(tmp_path):
    assert read_content(tmp_path, FIVE.replace(",", ", ")).columns == SIZES


def test_predictions_jsonl_is_matched_by_id_whatever_its_order(tmp_path):
    rows = prediction_rows()
    rows[0]["prediction"] = 0
    submission = read_content(tmp_path, as_lines(rows[::-1]))
    assert submission.predictions[:, 0].tolist() == [0, 1, 1, 1, 1, 1]


def test_rows_about_variants_are_passed_over(tmp_path):
    variants = [row | {"variant": "switched", "prediction": 0} for row in prediction_rows()]
    submission = read_content(tmp_path, as_lines(prediction_rows() + variants))
    assert submission.predictions[:, 0].tolist() == [1] * 6


def test_several_files_are_one_a_size_in_any_order(tmp_path):
    only_second = ONE.replace("1", "2")
    contents = {"xl": only_second, "m": only_second, "xs": ONE}
    paths = []
    for size, content in contents.items():
        path = tmp_path / f"my_predictions-{size}.lst"
        path.write_text(content)
        paths.append(path)
    submission = read_submission(paths, IDS)
    assert submission.columns == ("xs", "m", "xl")
    assert submission.predictions[0].tolist() == [0, 1, 1]


def test_the_same_files_have_the_same_hash_and_others_another(tmp_path):
    sha256 = read_content(tmp_path, ONE).sha256
    assert read_content(tmp_path, ONE).sha256 == sha256
    assert read_content(tmp_path, FIVE).sha256 != sha256


def test_a_release_with_fewer_sizes_takes_as_many_labels(tmp_path):
    path = tmp_path / "predictions.lst"
    path.write_text("1,2\n" * 6)
    assert read_submission([path], IDS, ("l", "xl")).columns == ("l", "xl")


def test_a_release_with_fewer_sizes_takes_no_other_number_of_labels(tmp_path):
    path = tmp_path / "predictions.lst"
    path.write_text("1,2,1\n" * 6)
    with pytest.raises(Malformed, match=re.escape("expected one label per line, or 2 (l, xl), found 3")):
        read_submission([path], IDS, ("l", "xl"))


def with_line(content: str, line: int, text: str) -> str:
    """The content with another text in one line, counted from 1."""
    lines = content.split("\n")
    lines[line - 1] = text
    return "\n".join(lines)


WRONG_LINES = [
    ("an empty line", 3, "", "an empty line"),
    ("a line of spaces", 3, "   ", "an empty line"),
    ("label 0", 2, "0", "found '0' (labels count from 1)"),
    ("label 3", 2, "3", "expected label 1 or 2, found '3'"),
    ("a negative label", 2, "-1", "found '-1'"),
    ("a sign", 2, "+1", "found '+1'"),
    ("a leading zero", 2, "01", "found '01'"),
    ("a float", 4, "1.0", "found '1.0' (write it without the point)"),
    ("a probability", 4, "0.73", "found '0.73'"),
    ("scientific notation", 4, "1e0", "found '1e0'"),
    ("a letter", 4, "A", "found 'A'"),
    ("a word", 4, "option1", "found 'option1'"),
    ("true and false", 1, "True", "found 'True'"),
    ("nan", 1, "nan", "found 'nan'"),
    ("a digit of another script", 5, "１", "found '\\uff11'"),
    ("a superscript", 5, "²", "found '\\xb2'"),
    ("an invisible space", 5, "1\u200b", "found '1\\u200b'"),
    ("quotes", 2, '"1"', "(write it without quotes)"),
    ("a comment", 1, "# mine", "(no comments)"),
    ("a trailing comma", 1, "1,", "found nothing beside a comma"),
    ("a leading comma", 1, ",1", "found nothing beside a comma"),
    ("a line with more columns", 4, "1,1,1,1,1", "expected 1 labels, as on the first line, found 5"),
    ("a huge line", 2, "1" * 5_000_000, "a line of 5,000,000 characters"),
]
"""A name, the line of ONE that is wrong, its text, and the reason that is given."""
MALFORMED_LABELS = [
    ("an empty file", "", None, "empty"),
    ("only blank lines", "\n\n\n", None, "empty"),
    ("too few lines", ONE[:-2], 5, "expected 6 lines, one for each test problem, found 5"),
    ("too many lines", ONE + "1\n", 7, "expected 6 lines, one for each test problem, found 7"),
    ("a header", "label\n" + ONE, 1, "found 'label'"),
    ("a header of five", "xs,s,m,l,xl\n" + FIVE, 1, "found 'xs' (is this a header?)"),
    ("a trailing comma after five", with_line(FIVE, 2, "2,2,2,2,2,"), 2, "found nothing beside a comma"),
    ("an empty cell", with_line(FIVE, 3, "1,,1,1,1"), 3, "found nothing beside a comma"),
    ("two columns", "1,2\n" * 6, 1, "or 5 (xs, s, m, l, xl), found 2"),
    ("an index beside each label", "1,2\n2,1\n3,1\n", 1, "found 2"),
    ("four columns", "1,2,1,2\n" * 6, 1, "found 4"),
    ("six columns", "1,2,1,2,1,2\n" * 6, 1, "found 6"),
    ("a line with fewer columns", with_line(FIVE, 4, "1"), 4, "expected 5 labels, as on the first line, found 1"),
    ("tabs", FIVE.replace(",", "\t"), 1, "(put commas between labels)"),
    ("semicolons", FIVE.replace(",", ";"), 1, "(put commas between labels)"),
    ("blanks between labels", FIVE.replace(",", " "), 1, "(put commas between labels)"),
    ("an array", "[1, 2, 1, 1, 2, 2]\n", 1, "found '[1'"),
    ("a web page", "<!doctype html>\n<p>404</p>\n", 1, "found '<!doctype html>'"),
    ("lone carriage returns", ONE.replace("\n", "\r"), 1, "a lone carriage return"),
    ("line separators", ONE.replace("\n", "\u2028"), 1, "found '1\\u20282"),
    ("UTF-16", ONE.encode("utf-16"), None, "UTF-16 text; save it as UTF-8"),
    ("a NUL byte", b"1\n2\n1\x00\n", 3, "a NUL byte"),
    ("another encoding", "1\n2\nnon défini\n".encode("latin-1"), 3, "expected UTF-8 text, found byte 0xe9"),
    ("a picture", b"\x89PNG\r\n\x1a\n" + b"\xff" * 40, 1, "expected UTF-8 text, found byte 0x89"),
    ("gzip", gzip.compress(ONE.encode()), None, "compressed with gzip; unpack it first"),
    ("zip", b"PK\x03\x04rest", None, "compressed with zip"),
    ("xz", lzma.compress(ONE.encode()), None, "compressed with xz"),
]
ROWS = prediction_rows()
JSON_LINES = as_lines(ROWS)
VARIANTS = [row | {"variant": "switched"} for row in ROWS]
MISSING_ID = f"expected 6 predictions, found 5; the first missing one: {IDS[5]}"
MALFORMED_JSON_LINES = [
    ("a duplicated id", as_lines([*ROWS, ROWS[2]]), 7, f"a second row for {IDS[2]}, after line 3"),
    ("an unknown id", lines_with(1, id="nobody"), 2, "no problem of the test has the id 'nobody'"),
    ("a missing id", as_lines(ROWS[:-1]), 5, MISSING_ID),
    ("no id", as_lines([{"prediction": 1}]), 1, "field 'id'"),
    ("a number as id", lines_with(0, id=7), 1, "field 'id'"),
    ("a null prediction", lines_with(3, prediction=None), 4, "null: every problem needs a prediction"),
    ("no prediction", as_lines([{"id": IDS[0]}]), 1, "field 'prediction': missing"),
    ("a prediction from 1", lines_with(3, prediction=2), 4, "expected 0 or 1, the candidate's index, found '2'"),
    ("a negative prediction", lines_with(3, prediction=-1), 4, "expected 0 or 1"),
    ("a float as prediction", lines_with(3, prediction=1.0), 4, "found '1.0'"),
    ("a string as prediction", lines_with(3, prediction="b"), 4, "found 'b'"),
    ("a truth value as prediction", lines_with(3, prediction=True), 4, "found 'True'"),
    ("a list as prediction", lines_with(3, prediction=[1]), 4, "found '[1]'"),
    ("a row that is no JSON", JSON_LINES + "{oops\n", 7, "expected a JSON object"),
    ("a row cut short", JSON_LINES[:-20], 6, "expected a JSON object"),
    ("an array among rows", JSON_LINES + "[1]\n", 7, "expected a JSON object, found list"),
    ("labels among rows", JSON_LINES + "1\n", 7, "expected a JSON object, found int"),
    ("an empty line among rows", as_lines(ROWS[:2]) + "\n" + as_lines(ROWS[2:]), 3, "an empty line"),
    ("two models", lines_with(4, model="other"), 5, "expected predictions of one model, found those of 'other s'"),
    ("nothing but variants", as_lines(VARIANTS), 6, "expected 6 predictions, found 0"),
    ("a row nested too deep", '{"id": ' + "[" * 60_000 + "\n", 1, "expected a JSON object"),
    ("a huge row", '{"id": "' + "x" * 200_000 + '"}\n', 1, "a line of 200,010 characters"),
]


MALFORMED_LINES = [(name, with_line(ONE, line, text), line, reason) for name, line, text, reason in WRONG_LINES]
MALFORMED = MALFORMED_LABELS + MALFORMED_LINES + MALFORMED_JSON_LINES


@pytest.mark.parametrize(
    ("content", "line", "reason"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
def test_a_malformed_submission_is_refused_with_its_place(tmp_path, content, line, reason):
    with pytest.raises(BadInput) as refusal:
        read_content(tmp_path, content)
    message = str(refusal.value)
    path = tmp_path / "predictions.lst"
    location = f"{path}: " if line is None else f"{path}:{line}: "
    assert message.startswith(location)
    assert reason in message
    assert "\n" not in message
    assert len(message) < len(str(tmp_path)) + 200


def test_there_are_more_than_thirty_kinds():
    kinds = {name for name, *_ in MALFORMED}
    assert len(kinds) == len(MALFORMED) > 60


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([], "no predictions to grade"),
        (["."], "a folder"),
        (["none.lst"], "no such file"),
        (["none.lst", "none.lst"], "named twice"),
    ],
)
def test_no_file_a_folder_and_no_such_file_are_refused(tmp_path, names, reason):
    paths = [tmp_path / name for name in names]
    with pytest.raises(BadInput, match=reason):
        read_submission(paths, IDS)


@pytest.mark.parametrize(
    ("names", "content", "reason"),
    [
        (("a.lst", "b.lst"), ONE, "which training size"),
        (("a-xs.lst", "b-xs.lst"), ONE, "a second file for xs"),
        (("a-xs.lst", "b-huge.lst"), ONE, "which training size"),
        (("a-xs.lst", "b-s.lst"), FIVE, "5 labels per line are a whole submission"),
        (("a-xs.lst", "b-s.lst"), ONE[:-2], "expected 6 lines"),
    ],
)
def test_several_files_must_be_one_a_size(tmp_path, names, content, reason):
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_text(content)
    with pytest.raises(BadInput, match=reason):
        read_submission(paths, IDS)


def test_a_file_larger_than_any_submission_is_not_even_read(tmp_path):
    path = tmp_path / "predictions.lst"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadInput, match="more than any submission"):
        read_submission([path], IDS)


LETTERS = ["a", "b", "c"]
"""The ids of a test of three problems."""
SCORES = [[0.9, 0.1], [0.2, 0.3], [-4.0, -1.5]]
FRAME_BY_ID = pandas.DataFrame({"ID": ["c", "a", "b"], "mine": [2, 1, 2]})


@pytest.mark.parametrize(
    "labels",
    [[1, 2, 2], np.array(["1", "2", "2"]), {"c": 2, "a": 1, "b": 2}],
    ids=["list", "array", "by id"],
)
def test_labels_in_memory_are_graded_as_their_file_is(tmp_path, labels):
    path = tmp_path / "one.lst"
    path.write_text("1\n2\n2\n")
    from_file = read_submission([path], LETTERS)
    assert read_submission(labels, LETTERS).sha256 == from_file.sha256


def test_labels_in_memory_may_be_named_by_size():
    submission = read_submission({"m": [1, 1, 1], "xs": [2, 2, 2]}, LETTERS)
    assert submission.columns == ("xs", "m")


@pytest.mark.parametrize(
    "predictions",
    [
        SCORES,
        np.array(SCORES),
        dict(zip(LETTERS, SCORES, strict=True)),
        FRAME_BY_ID,
        pandas.DataFrame({"mine": [1, 2, 2]}),
    ],
    ids=["scores", "array of scores", "scores by id", "frame by id", "frame in order"],
)
def test_scores_and_frames_are_graded_as_their_labels_are(predictions):
    from_labels = read_submission([1, 2, 2], LETTERS)
    assert read_submission(predictions, LETTERS).sha256 == from_labels.sha256


def test_columns_of_a_frame_may_be_sizes():
    frame = FRAME_BY_ID.rename(columns={"mine": "xs"}).assign(m=1)
    by_size = read_submission(frame, LETTERS)
    from_labels = read_submission([1, 2, 2], LETTERS)
    assert by_size.columns == ("xs", "m")
    assert by_size.predictions[:, 0].tolist() == from_labels.predictions[:, 0].tolist()


@pytest.mark.parametrize(
    ("predictions", "reason"),
    [
        ([[0.5, 0.5], [1, 0], [1, 0]], "predictions:1: expected two scores, one of them higher"),
        ([[1, 0], [1, float("nan")], [1, 0]], "predictions:2: expected two scores"),
        ([[1, 0, 2]] * 3, "predictions:1: expected two scores"),
        (pandas.DataFrame({"id": ["a", "a", "b"], "mine": 1}), "one row for each problem, found a twice"),
        (pandas.Series([1, 2, 2], index=[2, 0, 1]), r"0 to 2 in another order .*\.to_numpy\(\) if"),
        (
            pandas.DataFrame({"mine": [1, 2, 2]}, index=[2, 0, 1]),
            r"another order .*\.reset_index\(drop=True\) if",
        ),
        (pandas.DataFrame({"mine": [1, 1, 1], "other": 2}), "expected a column of predictions.*found mine, other"),
        (pandas.DataFrame({"id": ["a", "b", "c"]}), "expected a column of predictions.*found none"),
        ({}, "expected a label for each problem, found none for a"),
    ],
)
def test_scores_and_frames_are_read_as_strictly(predictions, reason):
    with pytest.raises(BadInput, match=reason):
        read_submission(predictions, LETTERS)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([1, 0, 2], "predictions:2: "),
        ([1, 2], "3 lines"),
        ({"a": 1, "b": 1}, "none for c"),
        ({"a": 1, "b": 1, "c": 1, "d": 2}, "no problem of the test has the id 'd'"),
        ([1, None, 2], "predictions:2: "),
    ],
)
def test_labels_in_memory_are_read_as_strictly(labels, reason):
    with pytest.raises(Malformed, match=reason):
        read_submission(labels, LETTERS)
