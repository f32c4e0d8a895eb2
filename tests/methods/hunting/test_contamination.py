import pytest

from winokit.data.checks.checkup import check
from winokit.data.checks.contamination import find_copies
from winokit.errors import BadInput, UnknownName
from winokit.methods.hunting.building import build_index
from winokit.methods.hunting.search import SentenceIndex
from winokit.problem import Card, Dataset, Problem

LONG = "When the old ferry left the harbour, the gulls followed the captain because "


@pytest.fixture
def leaks(tmp_path):
    """Function that indexes the given sentences after an unrelated one."""

    def build_corpus(*sentences):
        text_path = tmp_path / "text.txt"
        index_path = tmp_path / "leaks.db"
        text_path.write_text("\n\n".join(["An unrelated opening of the book.", *sentences]))
        build_index([text_path], index_path)
        return SentenceIndex(index_path)

    return build_corpus


def ferry(after=" had bread."):
    return Problem(LONG, after, ("the gulls", "the captain"), 1, "they")


@pytest.mark.parametrize(
    ("sentence", "kinds"),
    [
        (LONG + "they had bread.", ["verbatim"]),
        (LONG.upper() + "THE CAPTAIN HAD BREAD!", ["verbatim"]),
        (f"I once read: {LONG}_ had bread, and so on.", ["verbatim"]),
        ("When the old ferry left the harbour, gulls followed the captain because they had fish.", ["near"]),
        ("As everyone knows, when the old ferry left the harbour, the gulls followed its wake home.", ["part"]),
        ("The gulls followed the captain of the old ferry because the harbour had bread.", []),
        ("When the ferry left, the captain had bread.", []),
    ],
)
def test_copies_are_found_word_for_word_nearly_and_in_part(leaks, sentence, kinds):
    with leaks(sentence) as corpus:
        copies = find_copies(Dataset([ferry()]), corpus)
    assert [copy.kind for copy in copies] == kinds


def test_a_long_sentence_that_happens_to_have_the_words_is_no_copy(leaks):
    words = "when we spoke the old miller left because rain and ferry and harbour and gulls followed captain had bread"
    scattered = " so ".join(words.split())
    with leaks(scattered + ".") as corpus:
        assert find_copies(Dataset([ferry()]), corpus) == []


def test_a_problem_counts_once_by_its_best_copy(leaks):
    with leaks(LONG + "they had fish.", LONG + "the captain had bread.") as corpus:
        (copy,) = find_copies(Dataset([ferry()]), corpus)
    assert copy.row == 0
    assert copy.kind == "verbatim"
    assert copy.sentence.endswith("the captain had bread.")
    assert copy.source.endswith("text.txt")


def test_a_check_with_a_corpus_reports_them(leaks):
    progress = []
    hat = Problem("A hat fell on a dog because ", " slept.", ("a hat", "a dog"))
    dataset = Dataset([ferry(), hat], Card("mine"))
    with leaks(LONG + "they had bread.") as corpus:
        (finding,) = check([dataset], ["corpus"], corpus=corpus, progress=lambda *step: progress.append(step))
    assert finding.warns
    assert finding.count == 1
    assert finding.details["rows"] == [0]
    assert finding.message == f"1 problem appears word for word in {corpus.name}"
    assert progress == [(1, 2), (2, 2)]


def test_the_check_needs_its_corpus(twins):
    with pytest.raises(BadInput, match="--corpus INDEX"):
        check([twins], ["corpus"])
    with pytest.raises(UnknownName, match="Did you mean 'corpus'"):
        check([twins], ["corpse"])


def test_a_check_of_problems_without_copies_does_not_warn(leaks):
    hat = Problem("A hat fell on a dog because ", " slept.", ("a hat", "a dog"))
    dataset = Dataset([hat], Card("mine"))
    with leaks(LONG + "they had bread.") as corpus:
        (finding,) = check([dataset], ["corpus"], corpus=corpus)
    assert not finding.warns
    assert finding.message == f"no problem appears in {corpus.name}"
