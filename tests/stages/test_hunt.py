import pytest

from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName
from winokit.methods.hunting.search import SentenceIndex
from winokit.progress import telling
from winokit.stages.hunt import hunt, hunt_lines, index

TEXT = "I could not carry him because I was tired.\n\nHe could not carry the girl because she was heavy.\n"
ASKED = {"text": "Nora could not carry Ines because _ was heavy.", "candidate": ("Nora", "Ines")}


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    built = index([tmp_path / "text.txt"], out=tmp_path / "i.db")
    assert (built.sentences, built.files, built.bytes) == (2, 1, (tmp_path / "i.db").stat().st_size)
    return tmp_path / "i.db"


def test_an_index_may_be_named_or_open(corpus):
    with SentenceIndex(corpus) as opened:
        assert hunt(opened, **ASKED, parser="rules").choice == hunt(corpus, **ASKED, parser="rules").choice == 1


def test_as_many_examples_are_shown_as_asked_for(corpus):
    shown = [line for line in hunt_lines(hunt(corpus, **ASKED, examples=0)) if "»" in line]
    assert not shown
    assert [line for line in hunt_lines(hunt(corpus, **ASKED)) if "»" in line]


def test_a_loaded_dataset_is_taken_as_it_is(corpus):
    data = load("open")
    assert hunt(corpus, data, row=2).problem == data[1]


def test_notes_are_told_to_who_listens(corpus, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "more.txt").write_text("One more sentence stands here.\n")
    (tmp_path / "folder" / "picture.png").write_bytes(b"\x89PNG\x00\x01")
    notes: list[str] = []
    with telling(notes.append):
        built = index([tmp_path / "folder"], out=corpus)
    assert notes == built.notes
    assert "1 others skipped" in notes[0]


def test_what_would_be_passed_over_is_refused(corpus):
    with pytest.raises(BadInput, match="--candidate: an option of --text"):
        hunt(corpus, "open", candidate=("Nora",))
    with pytest.raises(BadInput, match="row: 1 or more expected"):
        hunt(corpus, "open", row=0)
    with pytest.raises(UnknownName, match="No set of queries named 'hole'"):
        hunt(corpus, **ASKED, set_=("hole",))
