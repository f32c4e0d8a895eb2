"""A hunt answers a problem by sentences of a corpus, shows its evidence, and refuses wrong requests."""

import pytest

from winokit.data.loading import load
from winokit.errors import BadInput, UnknownName, WinokitError
from winokit.methods.hunting.search import SentenceIndex
from winokit.progress import telling
from winokit.stages.hunt import hunt, hunt_json, hunt_lines, index

TEXT = "I could not carry him because I was tired.\n\nHe could not carry the girl because she was heavy.\n"
PROBLEM = {"text": "Nora could not carry Ines because _ was heavy.", "candidate": ("Nora", "Ines")}


@pytest.fixture
def corpus(tmp_path):
    """The index of a file of two sentences."""
    text_path = tmp_path / "text.txt"
    index_path = tmp_path / "i.db"
    text_path.write_text(TEXT)
    index_facts = index([text_path], out=index_path)
    assert (index_facts.sentences, index_facts.files) == (2, 1)
    assert index_facts.bytes == index_path.stat().st_size
    return index_path


def test_an_index_may_be_named_or_open(corpus):
    with SentenceIndex(corpus) as open_index:
        by_open_index = hunt(open_index, **PROBLEM, parser="rules")
    by_path = hunt(corpus, **PROBLEM, parser="rules")
    assert by_open_index.choice == by_path.choice == 1


def test_lines_show_reading_queries_evidence_and_decision(corpus):
    text = "\n".join(hunt_lines(hunt(corpus, **PROBLEM)))
    assert "agent    Nora: subject of 'carry'" in text
    assert '"could not carry", and "was heavy"' in text
    assert "He »could not carry« the girl because she »was heavy«." in text
    assert text.endswith("decision: Ines")


def test_json_has_everything(corpus):
    result = hunt_json(hunt(corpus, **PROBLEM))
    query_sets = [query["set"] for query in result["queries"]]
    assert (result["choice"], result["why"]) == (1, None)
    assert (result["agent"], result["patient"]) == (0, 2)
    assert result["evidence"][0]["weight"] == 2
    assert result["reading"]["context"]["head"] == "carry"
    assert query_sets == ["whole", "heads", "synonyms"]


def test_lines_say_why_there_is_no_answer_and_which_is_right(corpus):
    *_, last = hunt_lines(hunt(corpus, "open"))
    assert last == "decision: no answer: no two candidates are named together in one clause (right: the spaniel)"


def test_as_many_examples_are_shown_as_asked_for(corpus):
    without_examples = hunt_lines(hunt(corpus, **PROBLEM, examples=0))
    with_examples = hunt_lines(hunt(corpus, **PROBLEM))
    assert not any("»" in line for line in without_examples)
    assert any("»" in line for line in with_examples)


def test_a_loaded_dataset_is_taken_as_it_is(corpus):
    data = load("open")
    result = hunt(corpus, data, row=2)
    assert result.problem == data[1]


def test_notes_are_told_to_who_listens(corpus, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "more.txt").write_text("One more sentence stands here.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\x00\x01")
    notes: list[str] = []
    with telling(notes.append):
        index_facts = index([folder], out=corpus)
    assert notes == index_facts.notes
    assert "1 others skipped" in notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected one problem: DATA and --row, or --text and --candidate twice"),
        ({"text": "No blank."}, "expected exactly one blank '_', found 0"),
        ({"data": "open", "row": 999}, "row 999 asked for, where there are 428"),
        ({"data": "open", "pronoun": "it"}, "--pronoun: an option of --text"),
        (PROBLEM | {"row": 2}, "--row: a row of DATA"),
    ],
)
def test_a_wrong_request_is_refused(corpus, options, message):
    with pytest.raises(WinokitError, match=message):
        hunt(corpus, **options)


def test_what_is_no_index_is_refused(tmp_path):
    text_path = tmp_path / "text.txt"
    text_path.write_text(TEXT)
    with pytest.raises(BadInput, match="no such index; make one with `winokit hunt index"):
        hunt(tmp_path / "none.db", "open")
    with pytest.raises(BadInput, match=r"text\.txt: no index of winokit's"):
        hunt(text_path, "open")


def test_what_would_be_passed_over_is_refused(corpus):
    with pytest.raises(BadInput, match="--candidate: an option of --text"):
        hunt(corpus, "open", candidate=("Nora",))
    with pytest.raises(BadInput, match="row: expected 1 or more"):
        hunt(corpus, "open", row=0)
    with pytest.raises(UnknownName, match="No set of queries named 'hole'"):
        hunt(corpus, **PROBLEM, set_=("hole",))
