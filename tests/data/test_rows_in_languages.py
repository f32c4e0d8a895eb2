"""Rows that say their language are read in it, and keep it when they are written."""

import json

import pytest
from support.json_rows import json_lines

import winokit
from winokit.problem import Dataset
from winokit.text.language import check_code

ROWS = [
    ("The cup does not fit into the case because _ is too big.", "the cup", "the case", "1", "en"),
    ("Der Pokal passt nicht in den Koffer, weil _ zu groß ist.", "der Pokal", "der Koffer", "1", "de"),
    ("A taça não cabe na mala porque _ é muito grande.", "a taça", "a mala", "1", "pt-br"),
]
KEYS = ("sentence", "option1", "option2", "answer", "language")


@pytest.fixture(params=["jsonl", "csv"])
def mixed(request, tmp_path):
    """Path of a file whose rows say three languages."""
    if request.param == "csv":
        lines = [";".join(row) for row in (KEYS, *ROWS)]
    else:
        rows = [dict(zip(KEYS, row, strict=True)) for row in ROWS]
        lines = [json.dumps(row) for row in rows]
    path = tmp_path / f"mixed.{request.param}"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_each_row_is_in_its_own_language(mixed):
    assert winokit.load(mixed).languages == ("en", "de", "pt-BR")
    dataset = winokit.load(mixed, language="de")
    second_candidates = [problem.candidates[1] for problem in dataset]
    assert second_candidates == ["der Koffer"]


@pytest.mark.parametrize("name", ["again.csv", "again.jsonl"])
@pytest.mark.parametrize("to", ["csv", "winogrande"])
def test_what_is_written_says_its_language_again(mixed, tmp_path, name, to):
    winokit.convert(mixed, tmp_path / name, to=to)
    assert winokit.load(tmp_path / name).languages == ("en", "de", "pt-BR")


def test_a_language_that_the_text_speaks_against_is_noted(tmp_path):
    path = tmp_path / "data.jsonl"
    sentence, first, second, answer, _ = ROWS[1]
    row = {"option1": first, "option2": second, "answer": answer}
    rows = [row | {"sentence": f"{sentence} {number}"} for number in range(5)]
    path.write_text(json_lines(rows), "utf-8")
    (note,) = winokit.load(path, language="fr").notes
    assert note.endswith("looks like German (de); treated as French (fr), as stated")
    austrian = winokit.load(path, language="de-AT")
    assert not austrian.notes


def test_nothing_has_no_language():
    empty = winokit.load(Dataset([]), language="de")
    assert len(empty) == 0


def test_codes_are_written_as_bcp_47_writes_them():
    codes = [check_code(code) for code in ("PT-br", "zh-hant", "de")]
    assert codes == ["pt-BR", "zh-Hant", "de"]
