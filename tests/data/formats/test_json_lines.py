"""Each line of JSON is held to be one object, whatever stands in the lines around it."""

import json

import pytest

from winokit.data.formats.source import Source
from winokit.errors import Malformed

GOOD_LINES = [json.dumps({"n": number}) for number in range(9)]
FIRST = 4
"""Number of the first line that is changed."""


def write_lines(tmp_path, *changed_lines: str) -> Source:
    """Write good lines, except some from the fourth on, and return their source."""
    lines = GOOD_LINES.copy()
    end = FIRST - 1 + len(changed_lines)
    lines[FIRST - 1 : end] = changed_lines
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    return Source(path)


def test_every_line_has_its_number_and_object(tmp_path):
    source = write_lines(tmp_path, "", '{"said": "a\u2028b"}', '{"said": "a \\u0062"}\r')
    rows = dict(source.json_lines())
    assert rows[FIRST + 1] == {"said": "a\u2028b"}
    assert rows[FIRST + 2] == {"said": "a b"}
    line_numbers = set(range(1, len(GOOD_LINES) + 1))
    assert rows.keys() == line_numbers - {FIRST}


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
    source = write_lines(tmp_path, *lines)
    objects = source.json_lines()
    with pytest.raises(Malformed, match=f"rows.jsonl:{FIRST}: expected a JSON object"):
        list(objects)


def test_lenient_reading_skips_such_lines_in_their_order(tmp_path):
    source = write_lines(tmp_path, '{"a": 1}, {"b": 2}', '{"c": 3}', "[1, 2]")
    source.lenient = True
    numbers = [number for number, _ in source.json_lines()]
    line_numbers = range(1, len(GOOD_LINES) + 1)
    valid_lines = [number for number in line_numbers if number not in (FIRST, FIRST + 2)]
    assert numbers == valid_lines
    skipped_lines = [error.line for error in source.skipped]
    assert skipped_lines == [FIRST, FIRST + 2]


def test_lenient_reading_does_not_look_ahead(tmp_path):
    source = write_lines(tmp_path, "[1, 2]", "?")
    source.lenient = True
    source.path.write_bytes(source.path.read_bytes().replace(b"?", b'{"a": "\xff"}'))
    list(source.json_lines())
    skipped_lines = [error.line for error in source.skipped]
    assert skipped_lines == [FIRST, FIRST + 1]
