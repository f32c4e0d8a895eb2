"""What is read from a submission, and more than thirty ways to get one wrong, each refused with its place."""

import gzip
import json
import lzma
import re
from pathlib import Path

import numpy as np
import pandas
import pytest

from winokit.errors import BadInput, Malformed
from winokit.stages.grade.submissions import MOST_BYTES, SIZES, read_submission

IDS = [f"{number:016x}" for number in range(6)]
ONE = "1\n2\n1\n1\n2\n2\n"
FIVE = "1,2,1,1,2\n2,2,2,2,2\n1,1,1,1,1\n1,2,1,2,1\n2,1,2,1,2\n2,2,1,1,1\n"


def rows(change: dict[int, dict] | None = None) -> list[dict]:
    """predictions.jsonl as winokit writes it, some rows changed."""
    made = [{"id": name, "variant": "original", "model": "m", "scoring": "s", "prediction": 1} for name in IDS]
    for at, more in (change or {}).items():
        made[at] = made[at] | more
    return made


def lines(some: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in some)


def read(tmp_path: Path, content: str | bytes, name: str = "predictions.lst"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_submission([path], IDS)


def test_one_label_a_line_is_one_column_counted_from_0(tmp_path):
    found = read(tmp_path, ONE)
    assert found.columns == ("one",)
    assert found.predictions[:, 0].tolist() == [0, 1, 0, 0, 1, 1]


def test_five_labels_a_line_are_the_five_sizes(tmp_path):
    found = read(tmp_path, FIVE)
    assert found.columns == SIZES
    assert found.predictions[0].tolist() == [0, 1, 0, 0, 1]


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
    assert np.array_equal(read(tmp_path, content).predictions, read(tmp_path, ONE).predictions)


def test_spaces_after_commas_are_taken(tmp_path):
    assert read(tmp_path, FIVE.replace(",", ", ")).columns == SIZES


def test_predictions_jsonl_is_matched_by_id_whatever_its_order(tmp_path):
    some = rows({0: {"prediction": 0}})
    found = read(tmp_path, lines(some[::-1]))
    assert found.predictions[:, 0].tolist() == [0, 1, 1, 1, 1, 1]


def test_rows_about_variants_are_passed_over(tmp_path):
    some = [row | {"variant": "switched", "prediction": 0} for row in rows()]
    assert read(tmp_path, lines(rows() + some)).predictions[:, 0].tolist() == [1] * 6


def test_several_files_are_one_a_size_in_any_order(tmp_path):
    paths = []
    for size in ("xl", "m", "xs"):
        paths.append(tmp_path / f"my.predictions-{size}.lst".replace("my.", "my_"))
        paths[-1].write_text(ONE if size == "xs" else ONE.replace("1", "2"))
    found = read_submission(paths, IDS)
    assert found.columns == ("xs", "m", "xl")
    assert found.predictions[0].tolist() == [0, 1, 1]


def test_the_same_files_have_the_same_hash_and_others_another(tmp_path):
    assert read(tmp_path, ONE).sha256 == read(tmp_path, ONE).sha256 != read(tmp_path, FIVE).sha256


def test_a_release_with_fewer_sizes_takes_as_many_labels(tmp_path):
    path = tmp_path / "predictions.lst"
    path.write_text("1,2\n" * 6)
    assert read_submission([path], IDS, ("l", "xl")).columns == ("l", "xl")
    path.write_text("1,2,1\n" * 6)
    with pytest.raises(Malformed, match=re.escape("expected one label per line, or 2 (l, xl), found 3")):
        read_submission([path], IDS, ("l", "xl"))


def replaced(content: str, line: int, text: str) -> str:
    """A content with one line replaced, counted from 1."""
    some = content.split("\n")
    some[line - 1] = text
    return "\n".join(some)


LABELS = [
    ("an empty file", "", None, "empty"),
    ("only blank lines", "\n\n\n", None, "empty"),
    ("too few lines", ONE[:-2], 5, "expected 6 lines, one for each test problem, found 5"),
    ("too many lines", ONE + "1\n", 7, "expected 6 lines, one for each test problem, found 7"),
    ("an empty line", replaced(ONE, 3, ""), 3, "an empty line"),
    ("a line of spaces", replaced(ONE, 3, "   "), 3, "an empty line"),
    ("label 0", replaced(ONE, 2, "0"), 2, "found '0' (labels count from 1)"),
    ("label 3", replaced(ONE, 2, "3"), 2, "expected label 1 or 2, found '3'"),
    ("a negative label", replaced(ONE, 2, "-1"), 2, "found '-1'"),
    ("a sign", replaced(ONE, 2, "+1"), 2, "found '+1'"),
    ("a leading zero", replaced(ONE, 2, "01"), 2, "found '01'"),
    ("a float", replaced(ONE, 4, "1.0"), 4, "found '1.0' (write it without the point)"),
    ("a probability", replaced(ONE, 4, "0.73"), 4, "found '0.73'"),
    ("scientific notation", replaced(ONE, 4, "1e0"), 4, "found '1e0'"),
    ("a letter", replaced(ONE, 4, "A"), 4, "found 'A'"),
    ("a word", replaced(ONE, 4, "option1"), 4, "found 'option1'"),
    ("true and false", replaced(ONE, 1, "True"), 1, "found 'True'"),
    ("nan", replaced(ONE, 1, "nan"), 1, "found 'nan'"),
    ("a digit of another script", replaced(ONE, 5, "１"), 5, "found '\\uff11'"),
    ("a superscript", replaced(ONE, 5, "²"), 5, "found '\\xb2'"),
    ("an invisible space", replaced(ONE, 5, "1\u200b"), 5, "found '1\\u200b'"),
    ("quotes", replaced(ONE, 2, '"1"'), 2, "(write it without quotes)"),
    ("a comment", replaced(ONE, 1, "# mine"), 1, "(no comments)"),
    ("a header", "label\n" + ONE, 1, "found 'label'"),
    ("a header of five", "xs,s,m,l,xl\n" + FIVE, 1, "found 'xs' (is this a header?)"),
    ("a trailing comma", replaced(ONE, 1, "1,"), 1, "found nothing beside a comma"),
    ("a trailing comma after five", replaced(FIVE, 2, "2,2,2,2,2,"), 2, "found nothing beside a comma"),
    ("a leading comma", replaced(ONE, 1, ",1"), 1, "found nothing beside a comma"),
    ("an empty cell", replaced(FIVE, 3, "1,,1,1,1"), 3, "found nothing beside a comma"),
    ("two columns", "1,2\n" * 6, 1, "or 5 (xs, s, m, l, xl), found 2"),
    ("an index beside each label", "1,2\n2,1\n3,1\n", 1, "found 2"),
    ("four columns", "1,2,1,2\n" * 6, 1, "found 4"),
    ("six columns", "1,2,1,2,1,2\n" * 6, 1, "found 6"),
    ("a line with fewer columns", replaced(FIVE, 4, "1"), 4, "expected 5 labels, as on the first line, found 1"),
    ("a line with more columns", replaced(ONE, 4, "1,1,1,1,1"), 4, "expected 1 labels, as on the first line, found 5"),
    ("tabs", FIVE.replace(",", "\t"), 1, "(put commas between labels)"),
    ("semicolons", FIVE.replace(",", ";"), 1, "(put commas between labels)"),
    ("blanks between labels", FIVE.replace(",", " "), 1, "(put commas between labels)"),
    ("an array", "[1, 2, 1, 1, 2, 2]\n", 1, "found '[1'"),
    ("a web page", "<!doctype html>\n<p>404</p>\n", 1, "found '<!doctype html>'"),
    ("a huge line", replaced(ONE, 2, "1" * 5_000_000), 2, "a line of 5,000,000 characters"),
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
JSON_LINES = [
    ("a duplicated id", lines([*rows(), rows()[2]]), 7, f"a second row for {IDS[2]}, after line 3"),
    ("an unknown id", lines(rows({1: {"id": "nobody"}})), 2, "no problem of the test has the id 'nobody'"),
    ("a missing id", lines(rows()[:-1]), 5, f"expected 6 predictions, found 5; the first missing one: {IDS[5]}"),
    ("no id", lines([{"prediction": 1}]), 1, "field 'id'"),
    ("a number as id", lines(rows({0: {"id": 7}})), 1, "field 'id'"),
    ("a null prediction", lines(rows({3: {"prediction": None}})), 4, "null: every problem needs a prediction"),
    ("no prediction", lines([{"id": IDS[0]}]), 1, "field 'prediction': missing"),
    (
        "a prediction from 1",
        lines(rows({3: {"prediction": 2}})),
        4,
        "expected 0 or 1, the candidate's index, found '2'",
    ),
    ("a negative prediction", lines(rows({3: {"prediction": -1}})), 4, "expected 0 or 1"),
    ("a float as prediction", lines(rows({3: {"prediction": 1.0}})), 4, "found '1.0'"),
    ("a string as prediction", lines(rows({3: {"prediction": "b"}})), 4, "found 'b'"),
    ("a truth value as prediction", lines(rows({3: {"prediction": True}})), 4, "found 'True'"),
    ("a list as prediction", lines(rows({3: {"prediction": [1]}})), 4, "found '[1]'"),
    ("a row that is no JSON", lines(rows()) + "{oops\n", 7, "expected a JSON object"),
    ("a row cut short", lines(rows())[:-20], 6, "expected a JSON object"),
    ("an array among rows", lines(rows()) + "[1]\n", 7, "expected a JSON object, found list"),
    ("labels among rows", lines(rows()) + "1\n", 7, "expected a JSON object, found int"),
    ("an empty line among rows", lines(rows()[:2]) + "\n" + lines(rows()[2:]), 3, "an empty line"),
    (
        "two models",
        lines(rows({4: {"model": "other"}})),
        5,
        "expected predictions of one model, found those of 'other s'",
    ),
    (
        "nothing but variants",
        lines([row | {"variant": "switched"} for row in rows()]),
        6,
        "expected 6 predictions, found 0",
    ),
    ("a row nested too deep", '{"id": ' + "[" * 60_000 + "\n", 1, "expected a JSON object"),
    ("a huge row", '{"id": "' + "x" * 200_000 + '"}\n', 1, "a line of 200,010 characters"),
]


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [case[1:] for case in LABELS + JSON_LINES],
    ids=[case[0] for case in LABELS + JSON_LINES],
)
def test_a_malformed_submission_is_refused_with_its_place(tmp_path, content, line, said):
    with pytest.raises(BadInput) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    place = f"{tmp_path / 'predictions.lst'}:{'' if line is None else f'{line}:'} "
    assert message.startswith(place)
    assert said in message
    assert "\n" not in message
    assert len(message) < len(str(tmp_path)) + 200


def test_there_are_more_than_thirty_kinds():
    assert len({name for name, *_ in LABELS + JSON_LINES}) == len(LABELS + JSON_LINES) > 60


def test_no_file_a_folder_and_no_such_file_are_refused(tmp_path):
    for paths, said in (
        ([], "no predictions to grade"),
        ([tmp_path], "a folder"),
        ([tmp_path / "none.lst"], "no such file"),
        ([tmp_path / "none.lst"] * 2, "named twice"),
    ):
        with pytest.raises(BadInput, match=said):
            read_submission(paths, IDS)


@pytest.mark.parametrize(
    ("names", "content", "said"),
    [
        (("a.lst", "b.lst"), ONE, "which training size"),
        (("a-xs.lst", "b-xs.lst"), ONE, "a second file for xs"),
        (("a-xs.lst", "b-huge.lst"), ONE, "which training size"),
        (("a-xs.lst", "b-s.lst"), FIVE, "5 labels per line are a whole submission"),
        (("a-xs.lst", "b-s.lst"), ONE[:-2], "expected 6 lines"),
    ],
)
def test_several_files_must_be_one_a_size(tmp_path, names, content, said):
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_text(content)
    with pytest.raises(BadInput, match=said):
        read_submission(paths, IDS)


def test_a_file_larger_than_any_submission_is_not_even_read(tmp_path):
    path = tmp_path / "predictions.lst"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadInput, match="more than any submission"):
        read_submission([path], IDS)


def test_labels_in_memory_are_graded_as_their_file_is(tmp_path):
    ids = ["a", "b", "c"]
    file = tmp_path / "one.lst"
    file.write_text("1\n2\n2\n")
    from_file = read_submission([file], ids)
    for labels in ([1, 2, 2], np.array(["1", "2", "2"]), {"c": 2, "a": 1, "b": 2}):
        assert read_submission(labels, ids).sha256 == from_file.sha256
    by_size = read_submission({"m": [1, 1, 1], "xs": [2, 2, 2]}, ids)
    assert by_size.columns == ("xs", "m")


def test_scores_and_frames_are_graded_as_their_labels_are():
    ids = ["a", "b", "c"]
    from_labels = read_submission([1, 2, 2], ["a", "b", "c"])
    scores = [[0.9, 0.1], [0.2, 0.3], [-4.0, -1.5]]
    by_id = pandas.DataFrame({"ID": ["c", "a", "b"], "mine": [2, 1, 2]})
    in_order = pandas.DataFrame({"mine": [1, 2, 2]})
    for given in (scores, np.array(scores), dict(zip(ids, scores, strict=True)), by_id, in_order):
        assert read_submission(given, ids).sha256 == from_labels.sha256
    by_size = read_submission(by_id.rename(columns={"mine": "xs"}).assign(m=1), ids)
    assert by_size.columns == ("xs", "m")
    assert by_size.predictions[:, 0].tolist() == from_labels.predictions[:, 0].tolist()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([[0.5, 0.5], [1, 0], [1, 0]], "predictions:1: expected two scores, one of them higher"),
        ([[1, 0], [1, float("nan")], [1, 0]], "predictions:2: expected two scores"),
        ([[1, 0, 2]] * 3, "predictions:1: expected two scores"),
        (pandas.DataFrame({"id": ["a", "a", "b"], "mine": 1}), "one row for each problem, found a twice"),
        (pandas.DataFrame({"mine": [1, 1, 1], "other": 2}), "expected a column of predictions.*found mine, other"),
        (pandas.DataFrame({"id": ["a", "b", "c"]}), "expected a column of predictions.*found none"),
        ({}, "expected a label for each problem, found none for a"),
    ],
)
def test_scores_and_frames_are_read_as_strictly(given, says):
    with pytest.raises(BadInput, match=says):
        read_submission(given, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([1, 0, 2], "predictions:2: "),
        ([1, 2], "3 lines"),
        ({"a": 1, "b": 1}, "none for c"),
        ({"a": 1, "b": 1, "c": 1, "d": 2}, "no problem of the test has the id 'd'"),
        ([1, None, 2], "predictions:2: "),
    ],
)
def test_labels_in_memory_are_read_as_strictly(labels, says):
    with pytest.raises(Malformed, match=says):
        read_submission(labels, ["a", "b", "c"])
