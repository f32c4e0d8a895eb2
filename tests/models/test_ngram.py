"""N-gram models score words as their ARPA file says."""

import sys
from math import log

import pytest

from winokit.errors import BadInput, MissingExtra
from winokit.models.base import Ask, Continuation, Model
from winokit.models.ngram import word_spans
from winokit.models.registry import load_model

ARPA = """\\data\\
ngram 1=7
ngram 2=3

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-1.2\t</s>
-0.5\tthe\t-0.2
-0.7\tcup
-0.9\tfell\t-0.1
-0.6\t.

\\2-grams:
-0.1\t<s> the
-0.4\tthe cup
-0.05\tfell .

\\end\\
"""


def write_arpa(folder, text=ARPA):
    """Write an ARPA file into a folder, and return its path."""
    path = folder / "small.arpa"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cup fell.", "The cup fell ."),
        ("  Mr. Hill saw Ms. Low. ", "Mr. Hill saw Ms. Low ."),
        ('He said: "No!"', 'He said : " No ! "'),
        ("Ann's cup didn't fall, they've said.", "Ann 's cup didn 't fall , they 've said ."),
        ("the dogs' bowl (empty)", "the dogs ' bowl ( empty )"),
        ("well-known £5 – …", "well-known £ 5 – …"),
        ("?!", "? !"),
        ("", ""),
    ],
)
def test_words_are_those_of_trinh_and_le(text, words):
    parts = [text[start:end] for start, end in word_spans(text)]
    assert " ".join(parts) == words


def test_a_file_that_is_not_there_is_said_in_one_line(tmp_path):
    with pytest.raises(BadInput, match=r"none\.arpa: no such file"):
        load_model(f"ngram:{tmp_path / 'none.arpa'}")
    with pytest.raises(BadInput, match="FILE"):
        load_model("ngram:")


def test_a_missing_extra_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[ngram\]'"):
        load_model(f"ngram:{write_arpa(tmp_path)}")


@pytest.fixture
def model(tmp_path):
    pytest.importorskip("kenlm", reason="needs the 'ngram' extra, which builds KenLM from source")
    return load_model(f"ngram:{write_arpa(tmp_path)}")


def score_words(model, context, text):
    """Words of the text with their log10 probabilities, rounded as they stand in the file."""
    ((_, pieces),) = model.answer([Continuation(context, text)])
    words = []
    for piece in pieces:
        word = text[piece.start : piece.end]
        words.append((word, round(piece.logprob / log(10), 4)))
    return words


@pytest.mark.slow
def test_words_have_the_probabilities_of_the_file(model):
    assert isinstance(model, Model)
    assert model.kind == "causal"
    assert model.can == frozenset({Continuation})
    # <s> the, the cup and fell . are pairs of the file; cup has no back-off weight.
    words = score_words(model, "", "the cup fell.")
    assert words == [("the", -0.1), ("cup", -0.4), ("fell", -0.9), (".", -0.05)]


@pytest.mark.slow
def test_words_that_follow_no_pair_fall_back_to_their_own_probability(model):
    words = score_words(model, "", "cup the fell")
    assert words == [("cup", -0.3 - 0.7), ("the", -0.5), ("fell", -0.2 - 0.9)]


@pytest.mark.slow
@pytest.mark.parametrize(("context", "text"), [("the cup", " fell."), ("the cup ", "fell.")])
def test_only_the_words_of_the_text_are_answered(model, context, text):
    words = score_words(model, context, text)
    assert words == [("fell", -0.9), (".", -0.05)]


@pytest.mark.slow
def test_a_word_that_begins_in_the_context_belongs_to_the_text(model):
    words = score_words(model, "the cu", "p fell")
    assert words == [("p", -0.4), ("fell", -0.9)]


@pytest.mark.slow
def test_unknown_words_are_tried_in_lower_case_first(model):
    words = score_words(model, "", "The CUP")
    assert words == [("The", -0.1), ("CUP", -0.4)]


@pytest.mark.slow
def test_words_unknown_in_lower_case_too_are_unknown_words(model):
    words = score_words(model, "the cup", " fell zig .")
    assert words == [("fell", -0.9), ("zig", -0.1 - 1.0), (".", -0.6)]


@pytest.mark.slow
def test_no_full_stop_is_added_and_the_end_is_not_scored(model):
    words = score_words(model, "", "the cup")
    assert len(words) == 2


@pytest.mark.slow
def test_nothing_to_score_is_said_so(model):
    ((_, refusal),) = model.answer([Continuation("the cup", " ")])
    assert "makes no token of" in refusal.why


@pytest.mark.slow
def test_other_requests_are_refused(model):
    question = Ask("Which?", ("A", "B"))
    with pytest.raises(BadInput, match="cannot answer Ask requests, only Continuation"):
        list(model.answer([question]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [("ngram 1=7", "ngram 1=9"), ("-0.4\tthe cup", "-0.4\tthe jug"), ("\\data\\", "\x00\x01")]
)
def test_a_file_that_kenlm_refuses_is_said_in_one_line(model, tmp_path, change, capfd):
    path = write_arpa(tmp_path, ARPA.replace(*change))
    with pytest.raises(BadInput) as failure:
        load_model(f"ngram:{path}")
    message = str(failure.value)
    assert message.startswith(f"{path}: neither a valid ARPA file nor a KenLM binary: KenLM says: ")
    assert len(message) < len(str(path)) + 300
    assert "\n" not in message


@pytest.mark.slow
def test_loading_is_silent_and_the_fingerprint_is_of_the_file(model, tmp_path, capfd):
    again = load_model(f"ngram:{write_arpa(tmp_path)}")
    changed_path = write_arpa(tmp_path, ARPA.replace("-0.4", "-0.3"))
    changed = load_model(f"ngram:{changed_path}")
    assert again.fingerprint == model.fingerprint
    assert changed.fingerprint != model.fingerprint
    assert "".join(capfd.readouterr()) == ""
