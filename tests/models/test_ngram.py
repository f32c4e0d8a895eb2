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


def write(folder, text=ARPA):
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
    spans = word_spans(text)
    assert " ".join(text[start:end] for start, end in spans) == words


def test_a_file_that_is_not_there_is_said_in_one_line(tmp_path):
    with pytest.raises(BadInput, match=r"none\.arpa: no such file"):
        load_model(f"ngram:{tmp_path / 'none.arpa'}")
    with pytest.raises(BadInput, match="FILE"):
        load_model("ngram:")


def test_a_missing_extra_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[ngram\]'"):
        load_model(f"ngram:{write(tmp_path)}")


@pytest.fixture
def model(tmp_path):
    pytest.importorskip("kenlm", reason="needs the 'ngram' extra, which builds KenLM from source")
    return load_model(f"ngram:{write(tmp_path)}")


def scored(model, context, text):
    """Words of the text with their log10 probabilities, rounded as they stand in the file."""
    ((_, pieces),) = model.answer([Continuation(context, text)])
    return [(text[piece.start : piece.end], round(piece.logprob / log(10), 4)) for piece in pieces]


@pytest.mark.slow
def test_words_have_the_probabilities_of_the_file(model):
    assert isinstance(model, Model)
    assert model.kind == "causal"
    assert model.can == frozenset({Continuation})
    # <s> the, the cup and fell . are pairs of the file; cup has no back-off weight.
    assert scored(model, "", "the cup fell.") == [("the", -0.1), ("cup", -0.4), ("fell", -0.9), (".", -0.05)]


@pytest.mark.slow
def test_words_that_follow_no_pair_fall_back_to_their_own_probability(model):
    assert scored(model, "", "cup the fell") == [("cup", -0.3 - 0.7), ("the", -0.5), ("fell", -0.2 - 0.9)]


@pytest.mark.slow
def test_only_the_words_of_the_text_are_answered(model):
    assert scored(model, "the cup", " fell.") == [("fell", -0.9), (".", -0.05)]
    assert scored(model, "the cup ", "fell.") == [("fell", -0.9), (".", -0.05)]


@pytest.mark.slow
def test_a_word_that_begins_in_the_context_belongs_to_the_text(model):
    assert scored(model, "the cu", "p fell") == [("p", -0.4), ("fell", -0.9)]


@pytest.mark.slow
def test_unknown_words_are_tried_in_lower_case_first(model):
    assert scored(model, "", "The CUP") == [("The", -0.1), ("CUP", -0.4)]
    assert scored(model, "the cup", " fell zig .") == [("fell", -0.9), ("zig", -0.1 - 1.0), (".", -0.6)]


@pytest.mark.slow
def test_no_full_stop_is_added_and_the_end_is_not_scored(model):
    assert len(scored(model, "", "the cup")) == 2


@pytest.mark.slow
def test_nothing_to_score_is_said_so(model):
    ((_, refused),) = model.answer([Continuation("the cup", " ")])
    assert "makes no token of" in refused.why
    with pytest.raises(BadInput, match="cannot answer Ask requests, only Continuation"):
        list(model.answer([Ask("Which?", ("A", "B"))]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [("ngram 1=7", "ngram 1=9"), ("-0.4\tthe cup", "-0.4\tthe jug"), ("\\data\\", "\x00\x01")]
)
def test_a_file_that_kenlm_refuses_is_said_in_one_line(model, tmp_path, change, capfd):
    path = write(tmp_path, ARPA.replace(*change))
    with pytest.raises(BadInput) as failure:
        load_model(f"ngram:{path}")
    said = str(failure.value)
    assert said.startswith(f"{path}: neither a valid ARPA file nor a KenLM binary: KenLM says: ")
    assert len(said) < len(str(path)) + 300
    assert "\n" not in said


@pytest.mark.slow
def test_loading_is_silent_and_the_fingerprint_is_of_the_file(model, tmp_path, capfd):
    again = load_model(f"ngram:{write(tmp_path)}")
    assert again.fingerprint == model.fingerprint
    assert load_model(f"ngram:{write(tmp_path, ARPA.replace('-0.4', '-0.3'))}").fingerprint != model.fingerprint
    assert "".join(capfd.readouterr()) == ""
