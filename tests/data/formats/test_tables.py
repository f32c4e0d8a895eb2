"""A table is the same table whatever its delimiter, its encoding and its kind of file."""

import csv
import gzip
import io
import json
import sys

import pytest

from winokit.data.formats import read
from winokit.data.formats.source import Source, delimiter_of
from winokit.data.formats.tables import parse_columns, read_table
from winokit.errors import BadInput, MissingExtra, UnknownName

ROWS = [
    {"satz": 'Åsa sah 因果;\nund "ja", weil _ | müde war.', "a": "Åsa", "b": "Bo, der\tAlte", "n": "1"},
    {"satz": "Ein … Satz\u2028mit \x85 Zeilen, weil _ fiel.", "a": "x", "b": "y", "n": "2"},
]


def read_content(path, content):
    """Write bytes and read them as a table."""
    path.write_bytes(content)
    return read_table(Source(path))


def delimited_rows(delimiter, encoding="utf-8", newline="\r\n"):
    """Content of a csv of `ROWS`."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ROWS[0], delimiter=delimiter, lineterminator=newline)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue().encode(encoding)


VALUES_BY_COLUMN = {name: [row[name] for row in ROWS] for name in ROWS[0]}
VALUES_BY_COLUMN_AND_ROW = {name: dict(zip("01", values, strict=True)) for name, values in VALUES_BY_COLUMN.items()}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_is_the_same_with_every_delimiter_and_encoding(delimiter, encoding, tmp_path):
    table = read_content(tmp_path / "t.csv", delimited_rows(delimiter, encoding))
    assert table.columns == ("satz", "a", "b", "n")
    assert table.rows == [(2, ROWS[0]), (4, ROWS[1])]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(ROWS),
        "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS),
        json.dumps(ROWS[0]) + "\n" + json.dumps(ROWS[1], ensure_ascii=False),
        json.dumps({"version": 1, "data": ROWS}, indent=1),
        json.dumps(VALUES_BY_COLUMN),
        json.dumps(VALUES_BY_COLUMN_AND_ROW),
        "sep=;\r\n" + delimited_rows(";").decode(),
        delimited_rows(",", newline="\r").decode(),
    ],
)
def test_json_in_every_shape_and_excels_first_line_give_the_same_table(content, tmp_path):
    table = read_content(tmp_path / "t", gzip.compress(content.encode()))
    assert table.columns == ("satz", "a", "b", "n")
    cells = [row for _, row in table.rows]
    assert cells == ROWS


def test_parquet_gives_the_same_table_and_a_broken_one_is_an_error(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    table = read_table(Source(path))
    assert table.rows == [("row 1", ROWS[0]), ("row 2", ROWS[1])]
    beginning = path.read_bytes()[:-9]
    with pytest.raises(BadInput, match=r"cut: cannot be read as Parquet"):
        read_content(tmp_path / "cut", beginning)


def test_parquet_without_its_extra_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtra, match=r"reading Parquet needs the 'release' extra"):
        read_table(Source(tmp_path / "t.parquet"))
    with pytest.raises(BadInput, match=r"no known format; reading Parquet needs the 'release' extra"):
        read(tmp_path / "t.parquet")


def test_between_tabs_a_quote_may_be_just_a_quote(tmp_path):
    plain = 'id\ttext\n1\t"Yes," said _ .\n2\tno quote here\n'
    plain_table = read_content(tmp_path / "plain.tsv", plain.encode())
    assert plain_table.rows[0] == (2, {"id": "1", "text": '"Yes," said _ .'})
    quoted = 'id\ttext\n1\t"two\nlines"\n'
    quoted_table = read_content(tmp_path / "quoted.tsv", quoted.encode())
    assert quoted_table.rows == [(2, {"id": "1", "text": "two\nlines"})]


def test_the_delimiter_is_the_one_that_all_rows_have():
    assert delimiter_of("a,b;c;d\nx, y, z;2;3\nx;2;3\n") == ";"
    assert delimiter_of("one column\nno delimiter\n") == ","


def test_empty_columns_and_rows_that_spreadsheets_leave_are_passed_over(tmp_path):
    table = read_content(tmp_path / "t.csv", b" satz ;a;;\nx;y;;;;\n;;;\n")
    assert table.columns == ("satz", "a")
    assert table.rows == [(2, {"satz": "x", "a": "y"})]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("text", "expected role=column,role=column, found 'text'"),
        ("text=", "expected role=column,role=column"),
        ("text=a,text=b", "'text' is given twice"),
    ],
)
def test_columns_that_are_not_said_right_are_refused(given, says):
    with pytest.raises(BadInput, match=says):
        parse_columns(given, {"text"})


def test_an_unknown_role_lists_the_known_ones_and_a_missing_column_those_of_the_file(tmp_path):
    with pytest.raises(UnknownName, match=r"No role of a column named 'sentence'. Known: option1, text."):
        parse_columns("sentence=a", {"text", "option1"})
    table = read_content(tmp_path / "t.csv", b"Satz;a\nx;y\n")
    assert table.find_columns({"text": "satz"}) == {"text": "Satz"}
    with pytest.raises(BadInput, match=r"t.csv: no column 'c' for 'option2'; it has Satz, a"):
        table.find_columns({"option2": "c"})


def test_byte_0x85_inside_a_letter_ends_no_line_when_a_format_is_recognised(tmp_path):
    row = {"sentence": "Åsa sah 因 Åke, weil _ müde war.", "option1": "Åsa", "option2": "Åke", "answer": "1"}
    (tmp_path / "d.jsonl").write_text(json.dumps(row, ensure_ascii=False), "utf-8")
    (problem,) = read(tmp_path / "d.jsonl")
    assert problem.right == "Åsa"
    (tmp_path / "d.csv").write_text("option1;sentence;option2;answer\nÅsa;Åsa sah Åke, weil _ fiel.;Åke;2\n", "utf-16")
    (problem,) = read(tmp_path / "d.csv")
    assert problem.right == "Åke"
