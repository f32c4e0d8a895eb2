import pytest

from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName, WinokitError
from winokit.methods.hunting.search import SentenceIndex
from winokit.progress import telling
from winokit.stages.hunt import hunt, hunt_json, hunt_lines, index

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


def test_lines_show_reading_queries_evidence_and_decision(corpus):
    shown = "\n".join(hunt_lines(hunt(corpus, **ASKED)))
    assert "agent    Nora: subject of 'carry'" in shown
    assert '"could not carry", and "was heavy"' in shown
    assert "He »could not carry« the girl because she »was heavy«." in shown
    assert shown.endswith("decision: Ines")


def test_json_has_everything(corpus):
    told = hunt_json(hunt(corpus, **ASKED))
    assert (told["choice"], told["agent"], told["patient"], told["why"]) == (1, 0, 2, None)
    assert told["evidence"][0]["weight"] == 2
    assert told["reading"]["context"]["head"] == "carry"
    assert [query["set"] for query in told["queries"]] == ["whole", "heads", "synonyms"]


def test_lines_say_why_there_is_no_answer_and_which_is_right(corpus):
    *_, last = hunt_lines(hunt(corpus, "open"))
    assert last == "decision: no answer: no two candidates are named together in one clause (right: the spaniel)"


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


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "expected one problem: DATA and --row, or --text and --candidate twice"),
        ({"text": "No blank."}, "expected exactly one blank '_', found 0"),
        ({"data": "open", "row": 999}, "row 999 asked for, where there are 428"),
        ({"data": "open", "pronoun": "it"}, "--pronoun: an option of --text"),
        (ASKED | {"row": 2}, "--row: a row of DATA"),
    ],
)
def test_a_wrong_request_is_refused(corpus, asked, says):
    with pytest.raises(WinokitError, match=says):
        hunt(corpus, **asked)


def test_what_is_no_index_is_refused(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    with pytest.raises(BadInput, match="no such index; make one with `winokit hunt index"):
        hunt(tmp_path / "none.db", "open")
    with pytest.raises(BadInput, match=r"text\.txt: no index of winokit's"):
        hunt(tmp_path / "text.txt", "open")


def test_what_would_be_passed_over_is_refused(corpus):
    with pytest.raises(BadInput, match="--candidate: an option of --text"):
        hunt(corpus, "open", candidate=("Nora",))
    with pytest.raises(BadInput, match="row: expected 1 or more"):
        hunt(corpus, "open", row=0)
    with pytest.raises(UnknownName, match="No set of queries named 'hole'"):
        hunt(corpus, **ASKED, set_=("hole",))
