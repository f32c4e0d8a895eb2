"""Each line of JSON is held to be one object, whatever stands in the lines around it."""

import json

import pytest

from winokit.data.formats.source import Source
from winokit.errors import Malformed

GOOD = [json.dumps({"n": number}) for number in range(9)]
FIRST = 4


def written(tmp_path, *changed: str) -> Source:
    """A file of good lines, but for some from the fourth on."""
    lines = GOOD.copy()
    lines[FIRST - 1 : FIRST - 1 + len(changed)] = changed
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    return Source(path)


def test_every_line_has_its_number_and_object(tmp_path):
    source = written(tmp_path, "", '{"said": "a\u2028b"}', '{"said": "a \\u0062"}\r')
    rows = dict(source.json_lines())
    assert [rows[FIRST + 1], rows[FIRST + 2]] == [{"said": "a\u2028b"}, {"said": "a b"}]
    assert rows.keys() == {*range(1, len(GOOD) + 1)} - {FIRST}


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a": 1}, {"b": 2}'],
        ['{"a": 1},'],
        ['{"a": 1}], [{"b": 2}'],
        ['{"a": [{"b": 1}', '{"c": 2}]}', '{"a": 1}, {"b": 2}'],
        ["[1, 2]"],
        ["null"],
    ],
)
def test_a_line_that_is_not_one_object_is_told_with_its_number(tmp_path, lines):
    found = written(tmp_path, *lines).json_lines()
    with pytest.raises(Malformed, match=f"rows.jsonl:{FIRST}: expected a JSON object"):
        list(found)


def test_lenient_reading_skips_such_lines_in_their_order(tmp_path):
    source = written(tmp_path, '{"a": 1}, {"b": 2}', '{"c": 3}', "[1, 2]")
    source.lenient = True
    numbers = [number for number, _ in source.json_lines()]
    assert numbers == [number for number in range(1, len(GOOD) + 1) if number not in (FIRST, FIRST + 2)]
    assert [error.line for error in source.skipped] == [FIRST, FIRST + 2]


def test_lenient_reading_does_not_look_ahead(tmp_path):
    source = written(tmp_path, "[1, 2]", "?")
    source.lenient = True
    source.path.write_bytes(source.path.read_bytes().replace(b"?", b'{"a": "\xff"}'))
    list(source.json_lines())
    assert [error.line for error in source.skipped] == [FIRST, FIRST + 1]
