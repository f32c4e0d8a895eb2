"""Files are written whole, or stay as they were; rows one a line."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from winokit.errors import BadInput
from winokit.files import BETWEEN, json_lines, json_rows, locked, user_state, write_whole


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


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "there" / "real.json")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "there" / "real.json").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["", "/", "."])
def test_a_folder_is_no_place_for_a_file(name):
    with pytest.raises(BadInput, match="cannot be written"):
        write_whole(Path(name), b"new")


def test_an_interrupt_leaves_no_half_file_behind(tmp_path, monkeypatch):
    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(tmp_path), "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "results.json", b"new")
    assert list(tmp_path.iterdir()) == []


def test_rows_are_written_one_a_line_whatever_stands_in_them():
    rows = [{"n": number, "texts": ["a", BETWEEN, "b"] if number % 300 == 7 else ["}, {"]} for number in range(1000)]
    assert json_rows(iter(rows)) == "".join(json.dumps(row) + "\n" for row in rows)
    assert json_rows([]) == ""


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_a_line_of_json_ends_at_a_line_feed_alone(mark):
    rows = [{"id": f"a{mark}b"}, {"id": "c"}]
    assert mark in json_rows(rows)
    assert list(json_lines(json_rows(rows))) == rows


def test_what_must_be_remembered_is_where_the_environment_says_else_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "own"))
    assert user_state("hidden") == tmp_path / "own" / "hidden"
    monkeypatch.delenv("WINOKIT_STATE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.platform", "linux")
    assert user_state("hidden") == tmp_path / "state" / "winokit" / "hidden"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert user_state("hidden") == tmp_path / ".local" / "state" / "winokit" / "hidden"
    monkeypatch.setattr("sys.platform", "darwin")
    assert user_state("hidden") == tmp_path / "Library" / "Application Support" / "winokit" / "hidden"


def test_without_a_home_the_way_out_is_named(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("WINOKIT_STATE")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(BadInput, match="name a folder in WINOKIT_STATE"):
        user_state("hidden")


def test_a_lock_is_held_by_one_at_a_time_and_its_file_is_its_owners(tmp_path):
    path = tmp_path / "lock"
    other = FileLock(path, is_singleton=False)
    with locked(path), ThreadPoolExecutor(1) as thread, pytest.raises(Timeout):
        thread.submit(other.acquire, blocking=False).result()
    assert path.stat().st_mode & 0o077 == 0
    with other.acquire(blocking=False), pytest.raises(Timeout):
        FileLock(path, thread_local=False, is_singleton=False, blocking=False).acquire()


def test_a_lock_in_a_folder_that_is_missing_is_one_line(tmp_path):
    with pytest.raises(BadInput, match="cannot be locked"), locked(tmp_path / "none" / "lock"):
        pass
