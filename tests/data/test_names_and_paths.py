"""A name of the catalogue means its dataset, and ./open the path, whatever lies in the working directory."""

from pathlib import Path

import pytest

import winokit
from winokit.data.loading import check_part, expand, load, parts_of, path_of, paths_of
from winokit.errors import BadInput

ROW = '{"text": "The jug hit the cup because _ fell.", "candidates": ["the jug", "the cup"], "answer": 0}\n'


@pytest.fixture
def shadowed(tmp_path, monkeypatch):
    """Working directory with a folder and a file that are called like datasets."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "mine.jsonl").write_text(ROW)
    (tmp_path / "synthetic-2").write_text(ROW)
    return tmp_path


def test_a_folder_called_open_does_not_hide_the_bundled_dataset(shadowed):
    data = load("open")
    assert data.card.name == "open"
    assert len(data) == 428
    assert "open: the dataset of that name is read, and not the folder here; that is ./open" in data.notes


def test_a_file_called_like_generated_data_does_not_hide_it(shadowed):
    data = load("synthetic-2")
    assert len(data) == 4
    assert "not the file here; that is ./synthetic-2" in data.notes[-1]
    assert len(load("open+synthetic-2")) == 428 + 4


def test_no_note_is_told_where_nothing_of_that_name_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load("open").notes == ()


def test_a_path_is_written_with_a_dot_and_a_path_object_is_a_path(shadowed):
    assert len(load("./synthetic-2")) == 1
    assert len(load(Path("synthetic-2"))) == 1
    assert path_of("open") is None
    assert path_of("./open") == Path("open")
    assert path_of(Path("open")) == Path("open")


def test_folders_are_listed_by_their_path_and_names_stay_names(shadowed):
    assert expand(["open"]) == (["open"], [])
    assert expand(["./open"])[0] == ["open/mine.jsonl"]
    problem_counts = [row.problems for row in winokit.stats(["open", "./open"])]
    assert problem_counts == [428, 1]


def test_a_file_with_a_plus_in_its_name_hides_no_dataset_either(shadowed):
    (shadowed / "open+synthetic-2").write_text(ROW)
    assert parts_of("open+synthetic-2") == ["open", "synthetic-2"]
    assert len(load("open+synthetic-2")) == 428 + 4
    assert len(load("./open+synthetic-2")) == 1


def test_a_file_inside_a_folder_called_like_a_dataset_is_a_path(shadowed):
    (shadowed / "winogrande").mkdir()
    (shadowed / "winogrande" / "mine.jsonl").write_text(ROW)
    assert len(load("winogrande/mine.jsonl")) == 1
    assert paths_of("winogrande/mine.jsonl+open") == [Path("winogrande/mine.jsonl")]


def test_a_file_of_a_folder_stays_a_file_though_its_path_reads_like_a_part(shadowed):
    (shadowed / "winogrande").mkdir()
    (shadowed / "winogrande" / "dev").write_text(ROW)
    assert expand(["./winogrande"])[0] == ["./winogrande/dev"]


def refuse_download(entry, part):
    raise BadInput("offline")


def test_a_dataset_that_cannot_be_had_says_which_path_lies_here(shadowed, monkeypatch):
    monkeypatch.setenv("WINOKIT_DATA", str(shadowed))
    (shadowed / "winogrande").mkdir()
    monkeypatch.setattr("winokit.data.download.find_file", refuse_download)
    with pytest.raises(BadInput, match=r"^offline; the folder here is \./winogrande$"):
        load("winogrande")


def test_the_part_to_train_on_is_asked_for_though_a_folder_has_the_name(shadowed):
    (shadowed / "winogrande").mkdir()
    with pytest.raises(BadInput, match="winogrande: name the part to train on"):
        check_part("winogrande")


def test_an_output_called_like_the_dataset_that_is_read_is_no_input(shadowed):
    assert winokit.convert("synthetic-2", "synthetic-2").problems == 4
    with pytest.raises(BadInput, match="is an input"):
        winokit.convert("./synthetic-2", "synthetic-2")
