"""Rows that say their language are read in it, and keep it when they are written."""

import json

import pytest

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
    lines = [json.dumps(dict(zip(KEYS, row, strict=True))) for row in ROWS]
    if request.param == "csv":
        lines = [";".join(row) for row in (KEYS, *ROWS)]
    path = tmp_path / f"mixed.{request.param}"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_each_row_is_in_its_own_language(mixed):
    assert winokit.load(mixed).languages == ("en", "de", "pt-BR")
    assert [problem.candidates[1] for problem in winokit.load(mixed, language="de")] == ["der Koffer"]


@pytest.mark.parametrize("name", ["again.csv", "again.jsonl"])
@pytest.mark.parametrize("to", ["csv", "winogrande"])
def test_what_is_written_says_its_language_again(mixed, tmp_path, name, to):
    winokit.convert(mixed, tmp_path / name, to=to)
    assert winokit.load(tmp_path / name).languages == ("en", "de", "pt-BR")


def test_a_language_that_the_text_speaks_against_is_noted(tmp_path):
    path = tmp_path / "data.jsonl"
    row = dict(zip(KEYS[:4], ROWS[1], strict=False))
    path.write_text("\n".join(json.dumps({**row, "sentence": f"{row['sentence']} {i}"}) for i in range(5)), "utf-8")
    (note,) = winokit.load(path, language="fr").notes
    assert note.endswith("looks like German (de); treated as French (fr), as stated")
    assert not winokit.load(path, language="de-AT").notes


def test_nothing_has_no_language():
    assert len(winokit.load(Dataset([]), language="de")) == 0


def test_codes_are_written_as_bcp_47_writes_them():
    assert [check_code(code) for code in ("PT-br", "zh-hant", "de")] == ["pt-BR", "zh-Hant", "de"]
