import shutil
import sqlite3

import pytest

from winokit.errors import BadInput
from winokit.methods.hunting.building import build_index
from winokit.methods.hunting.corpus import CorpusLayout
from winokit.methods.hunting.search import VERSION, AllOf, Near, SentenceIndex, any_of

LINES = CorpusLayout("lines")


@pytest.fixture
def small(tmp_path):
    (tmp_path / "text.txt").write_text(
        "The grey cat sat on the mat. The mat was grey.\nCats sit. Zoë’s cat couldn't sit still.\n"
        "A grey, grey, very grey dog met a cat.\n"
    )
    build_index([tmp_path / "text.txt"], tmp_path / "small.db", layout=LINES)
    with SentenceIndex(tmp_path / "small.db") as index:
        yield index


def texts(index, query, limit=10):
    return [hit.text for hit in index.search(query, limit)]


def test_words_phrases_and_alternatives_are_found_whatever_their_case(small):
    assert small.sentences == 5
    assert texts(small, "GREY CAT") == ["The grey cat sat on the mat."]
    assert texts(small, "cat grey") == []
    assert texts(small, "zoë's cat couldn’t") == ["Zoë’s cat couldn't sit still."]
    assert small.count(any_of(["cat", "cats"])) == 4
    assert small.count(AllOf((any_of(["cat", "cats"]), "grey"))) == 2
    assert small.count(AllOf(("cat", "grey", "dog"))) == 1


def test_nearness_counts_the_words_between(small):
    def near(within):
        return texts(small, Near(any_of(["cat"]), any_of(["mat", "nothing"]), within))

    assert near(3) == ["The grey cat sat on the mat."]
    assert near(2) == []


def test_the_best_sentence_comes_first_with_its_file(small, tmp_path):
    hits = small.search("grey", 2)
    assert hits[0].text.startswith("A grey, grey, very grey dog")
    assert hits[0].source == (tmp_path / "text.txt").as_posix()
    assert len(hits) == 2


def test_what_is_no_word_finds_nothing(small):
    assert texts(small, '"; -- *') == []
    assert small.count(any_of(["…"])) == 0


def test_the_fingerprint_is_that_of_the_content(tmp_path, small):
    (tmp_path / "copy.txt").write_bytes((tmp_path / "text.txt").read_bytes())
    build_index([tmp_path / "copy.txt"], tmp_path / "copy.db", layout=LINES)
    (tmp_path / "more.txt").write_text("One more.")
    with SentenceIndex(tmp_path / "copy.db") as copy:
        assert copy.fingerprint == small.fingerprint
    build_index([tmp_path / "more.txt"], tmp_path / "copy.db", layout=LINES)
    with SentenceIndex(tmp_path / "copy.db") as more:
        assert more.fingerprint != small.fingerprint


def damaged(path):
    data = bytearray(path.read_bytes())
    data[2 * 4096 :] = b"\xff" * (len(data) - 2 * 4096)
    path.write_bytes(data)


def with_pragma(pragma):
    def change(path):
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA {pragma}")
        db.commit()
        db.close()

    return change


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda path: path.unlink(), "no such index; make one with `winokit hunt index"),
        (
            lambda path: path.write_text("just text, and enough of it to be looked at by SQLite as a file"),
            "no index of",
        ),
        (with_pragma("application_id = 7"), "a SQLite file, but no index of winokit's"),
        (with_pragma("user_version = 99"), f"an index of version 99, where {VERSION} is read"),
        (lambda path: path.write_bytes(path.read_bytes()[:20000]), "a damaged index"),
        (damaged, "a damaged index"),
    ],
)
def test_a_bad_index_is_refused_in_one_line(tmp_path, index_path, harm, says):
    path = tmp_path / "bad.db"
    shutil.copy(index_path, path)
    harm(path)
    with pytest.raises(BadInput) as refused, SentenceIndex(path) as index:
        index.search("bread", 5)
    assert str(refused.value).startswith(f"{path}: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
