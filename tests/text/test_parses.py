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


def write(path, *rows):
    path.write_text("\n".join(map(json.dumps, [{"parser": "spacy 2.3.9"}, *rows])), "utf-8")
    return path


def test_a_file_has_phrases_and_a_name_that_tells_its_content(tmp_path):
    one = open_parses(write(tmp_path / "one.jsonl", {"text": TEXT, "phrases": ["Jim"], "tokens": TOKENS}))
    other = open_parses(write(tmp_path / "two.jsonl", {"text": TEXT, "phrases": [], "tokens": TOKENS}))
    assert one.phrases(TEXT) == ("Jim",)
    assert one.name.startswith("spacy 2.3.9 ")
    assert one.name != other.name


def test_a_parsed_text_may_hold_any_character_that_json_allows(tmp_path):
    text = TEXT.replace(" ", "\u2028")
    row = json.dumps({"text": text, "phrases": ["Jim"], "tokens": TOKENS}, ensure_ascii=False)
    (tmp_path / "one.jsonl").write_text(f'{{"parser": "spacy 2.3.9"}}\n{row}\n', "utf-8")
    assert open_parses(tmp_path / "one.jsonl").phrases(text) == ("Jim",)


def test_a_text_without_a_parse_is_refused(tmp_path):
    path = write(tmp_path / "one.jsonl", {"text": TEXT, "phrases": [], "tokens": TOKENS})
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
    with pytest.raises(BadInput, match=r"one\.jsonl, line 2: not a parse"):
        open_parses(write(tmp_path / "one.jsonl", row))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        open_parses(tmp_path / "none.jsonl")
