"""Stored parses give the phrases of a text, and a file that is none is refused."""

import json

import pytest

from winokit.errors import BadInput
from winokit.text.parses import open_parses

TEXT = "Jim left."
TOKENS = [
    ["Jim", 0, "PROPN", "NNP", "nsubj", 1],
    ["left", 4, "VERB", "VBD", "ROOT", 1],
    [".", 8, "PUNCT", ".", "punct", 1],
]


def write_parses(path, *rows):
    """Write rows below a line that names the parser."""
    lines = [json.dumps(row) for row in ({"parser": "spacy 2.3.9"}, *rows)]
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_a_file_has_phrases_and_a_name_that_tells_its_content(tmp_path):
    row = {"text": TEXT, "phrases": ["Jim"], "tokens": TOKENS}
    path = write_parses(tmp_path / "one.jsonl", row)
    parses = open_parses(path)
    other_path = write_parses(tmp_path / "two.jsonl", row | {"phrases": []})
    other_parses = open_parses(other_path)
    assert parses.phrases(TEXT) == ("Jim",)
    assert parses.name.startswith("spacy 2.3.9 ")
    assert parses.name != other_parses.name


def test_a_parsed_text_may_hold_any_character_that_json_allows(tmp_path):
    text = TEXT.replace(" ", "\u2028")
    parse = {"text": text, "phrases": ["Jim"], "tokens": TOKENS}
    row = json.dumps(parse, ensure_ascii=False)
    (tmp_path / "one.jsonl").write_text(f'{{"parser": "spacy 2.3.9"}}\n{row}\n', "utf-8")
    assert open_parses(tmp_path / "one.jsonl").phrases(text) == ("Jim",)


def test_a_text_without_a_parse_is_refused(tmp_path):
    path = write_parses(tmp_path / "one.jsonl", {"text": TEXT, "phrases": [], "tokens": TOKENS})
    with pytest.raises(BadInput, match=r"one\.jsonl: no parse of 'Kevin left\.'"):
        open_parses(path).phrases("Kevin left.")


@pytest.mark.parametrize(
    "row",
    [
        {"text": TEXT},
        {"text": TEXT, "phrases": [], "tokens": [["Jim"]]},
        [],
        {"text": TEXT, "phrases": [], "tokens": [["Jim", "x", "", "", "", 0]]},
    ],
)
def test_a_line_that_is_no_parse_is_named(tmp_path, row):
    path = write_parses(tmp_path / "one.jsonl", row)
    with pytest.raises(BadInput, match=r"one\.jsonl, line 2: not a parse"):
        open_parses(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        open_parses(tmp_path / "none.jsonl")
