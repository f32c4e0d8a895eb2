"""`hub:` goes through the datasets library, here with a local folder in the hub's layout."""

import sys

import pytest
from support.json_rows import json_lines

from winokit.data.formats.dialects import load_hub
from winokit.data.loading import load
from winokit.errors import BadInput, MissingExtra

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries below warn about each other

ROW = {"option1": "cup", "option2": "tray"}
ROWS = [
    ROW | {"sentence": "The cup fell off the tray because _ was round.", "answer": "1"},
    ROW | {"sentence": "The cup fell off the tray because _ was tilted.", "answer": "2"},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder with two splits, of two problems and of one."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    path = tmp_path / "cups"
    path.mkdir()
    (path / "train.jsonl").write_text(json_lines(ROWS))
    (path / "validation.jsonl").write_text(json_lines(ROWS[:1]))
    return path


def test_a_folder_in_the_hubs_layout_is_read(folder):
    dataset = load(f"hub:{folder}#train")
    right_candidates = [problem.right for problem in dataset]
    assert right_candidates == ["cup", "tray"]
    assert len(dataset.groups) == 1


def test_a_folder_is_read_by_the_columns_named(folder):
    rows = [{"satz": row["sentence"], "a": "cup", "b": "tray", "l": row["answer"]} for row in ROWS]
    for split in ("train", "validation"):
        (folder / f"{split}.jsonl").write_text(json_lines(rows))
    dataset = load(f"hub:{folder}#train", columns="text=satz,option1=a,option2=b,answer=l")
    right_candidates = [problem.right for problem in dataset]
    assert right_candidates == ["cup", "tray"]


def test_the_validation_split_is_taken_unless_another_is_named(folder):
    dataset = load_hub(str(folder))
    assert len(dataset) == 1
    assert "split 'validation' of" in dataset.notes[0]
    with pytest.raises(BadInput, match="no split 'dev'; it has"):
        load_hub(f"{folder}#dev")


def test_hub_rows_without_an_answer_are_hidden_tests(folder):
    hidden_row = ROWS[0] | {"answer": ""}
    (folder / "train.jsonl").write_text(json_lines([hidden_row]))
    dataset = load_hub(f"{folder}#train")
    assert dataset[0].answer is None


def test_a_bad_hub_row_is_named_or_skipped(folder):
    wrong_row = ROWS[0] | {"option2": "cup"}
    rows = [wrong_row, *ROWS[1:]]
    (folder / "train.jsonl").write_text(json_lines(rows))
    with pytest.raises(BadInput, match=r"#train:row 1: field 'candidates': candidates must differ"):
        load_hub(f"{folder}#train")
    dataset = load_hub(f"{folder}#train", lenient=True)
    assert len(dataset) == len(rows) - 1


def test_a_hub_split_with_nothing_but_bad_rows_is_an_error_even_when_lenient(folder):
    wrong_row = ROWS[0] | {"option2": "cup"}
    (folder / "train.jsonl").write_text(json_lines([wrong_row]))
    with pytest.raises(BadInput, match=r"#train: no problems in it; skipped: .* candidates must differ"):
        load_hub(f"{folder}#train", lenient=True)


@pytest.mark.parametrize("name", ["a/b/c/d", "a//b", ""])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(BadInput, match=rf"^hub:{name}: expected 'org/name', 'org/name/config' or a folder"):
        load_hub(name)


def test_without_the_library_the_message_has_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[hub\]'"):
        load_hub("org/name")
