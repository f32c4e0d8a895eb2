"""Each of forty malformed tables is one line with the file, the place, what was expected and the way out."""

import json

import pytest

from winokit.data.loading import load
from winokit.errors import WinokitError

COLUMNS = "text=satz,option1=a,option2=b,answer=loesung"
HEADER = "satz;a;b;loesung\n"
VALID = "Der Krug traf die Tasse, weil _ fiel.;der Krug;die Tasse;1\nDer Topf traf den Teller, weil _ brach.;x;y;2\n"
ROW = {"satz": "Der Krug traf die Tasse, weil _ fiel.", "a": "der Krug", "b": "die Tasse", "loesung": 1}
OFFSETS = "text=s,option1=a,option2=b,pronoun=p,start=n"
BLANK_EXPECTED = "expected a blank (_, [MASK], <blank>) or one marked [pronoun]"
ANSWER_HINT = "may be its number, from 1 (answer=loesung:1) or its number, from 0 (answer=loesung:0): say which"

WHOLE_FILES = [
    ("", "t: the file is empty"),
    (HEADER, "t: no problems in it"),
    (b"PK\x03\x04rest", "t: an Excel workbook, or another archive; save the table in it as csv (UTF-8)"),
    (b"PAR1 and nothing else", "t: cannot be read as Parquet"),
    (b"\x1f\x8b broken", "t: cannot be decompressed"),
    (b"satz;a;b;loesung\nKr\xfcge;x;y;1\n", "t:2: expected UTF-8 text, found byte 0xfc; save the file as UTF-8"),
    (b"\xff\xfes\x00a", "t:1: expected UTF-16 text, found byte 0x61; save the file as UTF-8"),
    (
        "satz\nDer Krug fiel.\n",
        "t:1: expected a header of two columns or more, with , ; tab or | between",
    ),
    ("satz;a;a;loesung\n" + VALID, "t:1: two columns are called 'a': rename one"),
    ("satz;a;c;loesung\n" + VALID, "t: no column 'b' for 'option2'; it has satz, a, c, loesung"),
    (json.dumps([ROW])[:-1], "t:element 1: expected ',' or ']' after an element (is the file cut off?)"),
    ("[1, 2]", "t:element 1: expected a JSON object, found int"),
    (json.dumps(ROW) + "\n{broken\n", "t:2: expected a JSON object (Expecting property name"),
    (json.dumps({"satz": ["x _ y"], "a": [], "b": ["b"]}), "t: expected columns of one length, found satz 1, a 0, b 1"),
    (
        json.dumps([ROW | {"satz": ["a _ b"]}]),
        "t:element 1: field 'satz': expected a text or a number, found ['a _ b']",
    ),
    (json.dumps({"data": [ROW, {"a": "x"}]}), "t:row 2: field 'satz': expected a text with a blank, found nothing"),
    (HEADER + VALID.replace(";2", ";1"), f"t: column 'loesung': answers like '1' {ANSWER_HINT}"),
    (
        HEADER + VALID.replace(";2", ";true").replace(";1", ";false"),
        "t: column 'loesung': answers like 'false' may be whether the first is right (answer=loesung:true1) or whether",
    ),
]
"""Content and beginning of the message of each file."""
LAST_ROWS = [
    ("nur ein _ Satz;x", "expected 4 cells, found 2"),
    ("ein _;Satz;x;y;1", "expected 4 cells, found 5 (a cell with the delimiter in it needs quotes around it)"),
    ('"ein _ Satz;x;y;1', "expected a well-formed row (unexpected end of data)"),
    ('"ein" _ Satz;x;y;1', "expected a well-formed row (';' expected after '\"')"),
    (";x;y;1", "field 'satz': expected a text with a blank, found nothing"),
    ("Nichts fehlt hier.;x;y;1", f"field 'satz': {BLANK_EXPECTED}, found none"),
    ("Weil [er] und [sie] gingen.;x;y;1", f"field 'satz': {BLANK_EXPECTED}, found 2 marks like [er]"),
    ("Ein _ und noch ein __.;x;y;1", "field 'satz': expected exactly one blank, found 2 (_)"),
    ("[MASK] oder [MASK]?;x;y;1", "field 'satz': expected exactly one blank, found 2 ([MASK])"),
    ("_;x;y;1", "field 'satz': expected a text around the blank, found none"),
    ("Ein _ Satz.;x;;1", "field 'candidates': expected two or more candidates, found 1"),
    ("Ein _ Satz.;;y;2", "field 'candidates': an empty candidate"),
    ("Ein _ Satz.;Das Y;das  y;1", "field 'candidates': candidates must differ, found Das Y / das  y"),
    ("Ein _ Satz.;x;y;3", "field 'loesung': expected its number, from 1, as in other rows (of x / y), found '3'"),
    ("Ein _ Satz.;x;y;x", "field 'loesung': expected its number, from 1, as in other rows (of x / y), found 'x'"),
]
"""Last row of a table that is valid otherwise, and the beginning of its message."""
OTHER_COLUMNS = [
    ("s;a;b;p;n\nWeil es fiel.;x;y;es;6\n", OFFSETS, "t:2: field 'n': 'es' is not at character 6: 's ' is"),
    (
        "s;a;b;p;n\nWeil es fiel.;x;y;es;99\n",
        OFFSETS,
        "t:2: field 'n': expected a position in a text of 13 characters",
    ),
    (
        "s;a;b;p;n\nWeil es fiel.;x;y;es;fünf\n",
        OFFSETS,
        "t:2: field 'n': expected a character offset, from 0, found",
    ),
    (
        "s;a;b;p;n\nDas, weil es es ist.;x;y;es;\n",
        OFFSETS,
        "t:2: field 'p': 'es' occurs 2 times in the text: give",
    ),
    ("s;a;b;p;n\nWeil [er] fiel.;x;y;es;\n", OFFSETS, "t:2: field 'p': 'er' is marked in the text, found 'es'"),
    (
        "satz;w\nEin _ Satz.;[x, y\n",
        "text=satz,options=w",
        't:2: field \'w\': expected ["a", "b"] or a|b',
    ),
    (
        "sätze;x;y;gold\n" + VALID,
        None,
        "t: no known format; its columns are sätze, x, y, gold; to read them: winokit ",
    ),
]
"""Content, columns and beginning of the message."""
MALFORMED_TABLES = [
    *((content, COLUMNS, says) for content, says in WHOLE_FILES),
    *((f"{HEADER}{VALID}{row}\n", COLUMNS, f"t:4: {says}") for row, says in LAST_ROWS),
    *OTHER_COLUMNS,
]


def test_there_are_forty_lines_no_two_the_same():
    expectations = {says for *_, says in MALFORMED_TABLES}
    assert len(expectations) == len(MALFORMED_TABLES) == 40


@pytest.mark.parametrize(("content", "columns", "says"), MALFORMED_TABLES)
def test_a_malformed_table_is_one_line_with_file_place_and_way_out(content, columns, says, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if content[:4] == b"PAR1":
        pytest.importorskip("pyarrow")
    with pytest.raises(WinokitError) as caught:
        load(path, columns=columns)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{tmp_path}/{says}")


@pytest.mark.parametrize("row", [row for row, _ in LAST_ROWS if not row.startswith('"ein _')])
def test_a_malformed_row_can_be_left_out_and_is_told(row, tmp_path):
    (tmp_path / "t").write_text(f"{HEADER}{VALID}{row}\n")
    dataset = load(tmp_path / "t", columns=COLUMNS, lenient=True)
    assert len(dataset) == 2
    assert "skipped 1 malformed record; the first: " in " ".join(dataset.notes)
