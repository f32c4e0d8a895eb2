import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from support.waiting import until

from winokit.errors import BadInput
from winokit.methods.hunting import building, corpus
from winokit.methods.hunting.building import build_index
from winokit.methods.hunting.corpus import CorpusLayout
from winokit.methods.hunting.search import SentenceIndex


def stories(folder, count, paragraphs=60):
    """Files of numbered sentences."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        lines = [f"Story {number} has line{line} here. Then more{line}.\n\n" for line in range(paragraphs)]
        (folder / f"story{number}.txt").write_text("".join(lines))
    return folder


def content(path):
    with closing(sqlite3.connect(path)) as db:
        return sorted(row[0] for row in db.execute("SELECT text FROM sentences"))


def count(path, text):
    with SentenceIndex(path) as index:
        return index.count(text)


def test_every_sentence_is_indexed_and_progress_reaches_the_end(tmp_path):
    steps = []
    folder = stories(tmp_path / "in", 3)
    built = build_index([folder], tmp_path / "i.db", progress=lambda *step: steps.append(step))
    bytes_done = [done for done, _ in steps]
    assert built.sentences == 360
    assert built.files == 3
    assert len(built.added) == 3
    assert count(tmp_path / "i.db", "line59 here") == 3
    assert steps[-1] == (built.bytes_read, built.bytes_read)
    assert bytes_done == sorted(bytes_done)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("i.db-")]


def test_processes_give_the_same_index_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "SMALL", 0)
    folder = stories(tmp_path / "in", 4)
    build_index([folder], tmp_path / "one.db", workers=0)
    build_index([folder], tmp_path / "two.db", workers=2)
    rows = []
    for name in ("one.db", "two.db"):
        with closing(sqlite3.connect(tmp_path / name)) as db:
            rows.append(db.execute("SELECT rowid, text FROM sentences").fetchall())
    assert rows[0] == rows[1]


def test_a_second_run_reads_only_what_is_new(tmp_path, monkeypatch):
    folder = stories(tmp_path / "in", 2)
    build_index([folder], tmp_path / "i.db")
    (folder / "new.txt").write_text("A brand new sentence.")
    names_read = []

    def record_blocks(path, layout):
        names_read.append(path.name)
        return corpus.blocks(path, layout)

    monkeypatch.setattr(building, "blocks", record_blocks)
    built = build_index([folder], tmp_path / "i.db")
    assert names_read == ["new.txt"]
    assert len(built.added) == 1
    assert len(built.unchanged) == 2
    assert built.sentences == 241


def test_a_changed_file_is_taken_out_and_read_again(tmp_path):
    folder = stories(tmp_path / "in", 2)
    build_index([folder], tmp_path / "i.db")
    (folder / "story0.txt").write_text("Nothing but this.")
    built = build_index([folder], tmp_path / "i.db")
    assert built.replaced == [(folder / "story0.txt").as_posix()]
    assert built.sentences == 121
    assert count(tmp_path / "i.db", "Story 0") == 0
    assert count(tmp_path / "i.db", "nothing but this") == 1
    assert count(tmp_path / "i.db", "Story 1") == 60


def test_a_touched_or_moved_file_is_not_read_again(tmp_path):
    folder = stories(tmp_path / "in", 1)
    build_index([folder], tmp_path / "i.db")
    (folder / "story0.txt").rename(folder / "other.txt")
    built = build_index([folder], tmp_path / "i.db")
    assert built.added == []
    assert built.sentences == 120
    assert "the same as" in built.notes[0]


def test_an_unfinished_file_is_finished_under_another_name(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "BLOCK", 500)
    monkeypatch.setattr(building, "COMMIT", 1000)
    folder = stories(tmp_path / "in", 1)

    def stop(done, total):
        if done > total / 2:
            raise Stop

    with pytest.raises(Stop):
        build_index([folder], tmp_path / "i.db", progress=stop)
    (folder / "story0.txt").rename(folder / "other.txt")
    assert build_index([folder], tmp_path / "i.db").sentences == 120
    assert count(tmp_path / "i.db", "Story 0") == 60


class Stop(BaseException):
    """Not an error of ours: what a kill or Ctrl-C is to the writer."""


def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "BLOCK", 500)
    monkeypatch.setattr(building, "COMMIT", 1000)
    folder = stories(tmp_path / "in", 3)
    build_index([folder], tmp_path / "whole.db")
    calls = []

    def stop_late(done, total):
        calls.append(done)
        if len(calls) == 15:
            raise Stop

    with pytest.raises(Stop):
        build_index([folder], tmp_path / "i.db", progress=stop_late)
    before = len(content(tmp_path / "i.db"))
    assert 0 < before < 360
    with pytest.raises(BadInput, match=r"not finished .* run `winokit hunt index` again to go on"):
        SentenceIndex(tmp_path / "i.db")
    split = []
    monkeypatch.setattr(
        "winokit.methods.hunting.building.sentences", lambda text: split.append(text) or corpus_sentences(text)
    )
    build_index([folder], tmp_path / "i.db")
    assert content(tmp_path / "i.db") == content(tmp_path / "whole.db")
    assert len(split) < 180  # paragraphs, of which there are 180: those done before are not split again


def corpus_sentences(text):
    from winokit.text.words import sentences

    return sentences(text)


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    folder = stories(tmp_path / "in", 30, 400)
    program = (
        "import sys, time\n"
        "from winokit.methods.hunting import building, corpus\n"
        "corpus.BLOCK, building.COMMIT = 2000, 20000\n"
        "def killed_here(done, total):\n"
        "    print(done, flush=True)\n"
        "    time.sleep(600 if done > 200_000 and sys.argv[3:] else 0)\n"
        "building.build_index([sys.argv[1]], sys.argv[2], progress=killed_here)\n"
    )
    arguments = [sys.executable, "-c", program, str(folder), str(tmp_path / "i.db")]
    with subprocess.Popen([*arguments, "waits"], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) > 200_000:
                break
        process.send_signal(signal.SIGKILL)
    with pytest.raises(BadInput, match="not finished"):
        SentenceIndex(tmp_path / "i.db")
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    build_index([folder], tmp_path / "whole.db")
    assert content(tmp_path / "i.db") == content(tmp_path / "whole.db")


def test_workers_end_when_their_parent_is_killed(tmp_path):
    folder = stories(tmp_path / "in", 3, 2000)
    program = (
        "import sys, time, multiprocessing\n"
        "from winokit.methods.hunting import building\n"
        "building.SMALL = 0\n"
        "def forever(done, total):\n"
        "    print([child.pid for child in multiprocessing.active_children()], flush=True)\n"
        "    time.sleep(600)\n"
        "if __name__ == '__main__':\n"
        "    building.build_index([sys.argv[1]], sys.argv[2], workers=1, progress=forever)\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    arguments = [sys.executable, str(script), str(folder), str(tmp_path / "i.db")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        children = eval(process.stdout.readline())
        process.kill()
    assert children
    until(lambda: not any(is_running(child) for child in children))  # else a worker outlives its parent


def is_running(pid):
    status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(status.strip()) and not status.startswith("Z")


@pytest.mark.parametrize("text", ["", "\n\n \n", "--- ***"])
def test_an_empty_corpus_is_refused_and_leaves_nothing(tmp_path, text):
    (tmp_path / "empty.txt").write_text(text)
    with pytest.raises(BadInput, match="no sentence in"):
        build_index([tmp_path / "empty.txt"], tmp_path / "i.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.txt"]


def test_a_folder_without_text_and_a_missing_file_are_refused(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(BadInput, match="no text in"):
        build_index([tmp_path / "none"], tmp_path / "i.db")
    with pytest.raises(BadInput, match=r"nowhere\.txt: cannot be read"):
        build_index([tmp_path / "nowhere.txt"], tmp_path / "i.db")
    assert not (tmp_path / "i.db").exists()


def test_a_bad_file_is_refused_and_what_was_read_before_stays(tmp_path):
    folder = stories(tmp_path / "in", 1)
    build_index([folder], tmp_path / "i.db")
    (tmp_path / "bad.bin").write_bytes(b"\x00\x01\x02")
    with pytest.raises(BadInput, match="a binary file, not text"):
        build_index([tmp_path / "bad.bin"], tmp_path / "i.db")
    assert count(tmp_path / "i.db", "Story 0") == 60


def test_an_index_keeps_to_the_layout_it_was_made_with(tmp_path):
    folder = stories(tmp_path / "in", 1)
    build_index([folder], tmp_path / "i.db")
    with pytest.raises(BadInput, match="was made with documents paragraphs"):
        build_index([folder], tmp_path / "i.db", layout=CorpusLayout("lines"))


def test_only_one_process_writes(tmp_path):
    folder = stories(tmp_path / "in", 1)
    build_index([folder], tmp_path / "i.db")
    with closing(sqlite3.connect(tmp_path / "i.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BadInput, match="in use by another process"):
            build_index([folder], tmp_path / "i.db")


def test_a_file_that_is_no_index_is_not_overwritten(tmp_path):
    folder = stories(tmp_path / "in", 1)
    (tmp_path / "letter.txt").write_text("Dear reader, this is a letter and not an index of anything at all.")
    with pytest.raises(BadInput, match="no index of winokit's"):
        build_index([folder], tmp_path / "letter.txt")
    assert (tmp_path / "letter.txt").read_text().startswith("Dear reader")
