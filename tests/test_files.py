"""Files are written whole, or stay as they were."""

import pytest

from winokit.errors import BadInput
from winokit.files import write_whole


def test_a_file_in_the_place_of_a_folder_is_told_in_one_line(tmp_path):
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(BadInput, match=r"results\.json: cannot be written \(Not a directory|File exists"):
        write_whole(tmp_path / "file" / "results.json", b"{}")
    assert (tmp_path / "file").read_text("utf-8") == "mine"


def test_what_was_there_stays_where_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    write_whole(path, b"old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "replace", full)
    with pytest.raises(BadInput, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
