import os
import subprocess
import sys
from statistics import mean

import numpy as np
import pytest
from support.fake import FakeModel

from winokit.errors import BadInput, WinokitError
from winokit.models.base import (
    Ask,
    Attention,
    Choose,
    Continuation,
    Embed,
    Fill,
    Lookup,
    Model,
    Piece,
    PseudoLikelihood,
    Scores,
)
from winokit.models.registry import load_model

JUG = "The jug was empty."
THREE_TARGETS = Attention(JUG, (4, 7), ((0, 3), (8, 11), (12, 17)))
CHOICE = Choose("The water ran until ", " was empty.", ("the jug", "the cup"))
EVERY_KIND = [
    Continuation("The jug was", " empty."),
    Fill("The ", "jug", " was empty."),
    PseudoLikelihood(JUG, 4, 7),
    PseudoLikelihood(JUG, 4, 7, within_word=True),
    THREE_TARGETS,
    Ask("Which?", ("A", "B", "C")),
    Embed(JUG),
    CHOICE,
    Lookup((("the jug",), ("was empty",))),
]
QUESTION = Choose("The water ran until ", " was empty.", ("the jug", "the cup"), "it")


def are_same(answer, other_answer):
    """Whether two answers are equal, arrays or not."""
    if isinstance(answer, np.ndarray):
        return np.array_equal(answer, other_answer)
    return answer == other_answer


# random


def test_the_guesser_answers_every_kind_of_request_in_its_form():
    model = load_model("random")
    assert isinstance(model, Model)
    assert model.can == {type(request) for request in EVERY_KIND}
    answers = dict(model.answer(EVERY_KIND))
    continuation, fill, plain, corrected, attention, reply, vector, scores, lookup = (answers[i] for i in range(9))
    for (piece,), span in ((continuation, (0, 7)), (fill, (0, 3)), (plain, (4, 7))):
        assert (piece.start, piece.end) == span
    for pieces in (continuation, fill, plain, corrected):
        assert all(piece.logprob <= 0 for piece in pieces)
    assert attention.shape[0] == 3
    assert attention.ndim == 3
    assert np.exp(reply.logprobs).sum() == pytest.approx(1)
    assert reply.choice == int(np.argmax(reply.logprobs))
    assert vector.ndim == 1
    assert len(scores.values) == 2
    assert lookup.count >= 0


def test_a_guess_depends_on_the_request_and_the_seed_alone():
    forward = dict(load_model("random").answer(EVERY_KIND))
    backward = dict(load_model("random?seed=0").answer(EVERY_KIND[::-1]))
    other_seed = dict(load_model("random?seed=1").answer(EVERY_KIND))
    last_index = len(EVERY_KIND) - 1
    for i in range(len(EVERY_KIND)):
        assert are_same(forward[i], backward[last_index - i])
        assert not are_same(forward[i], other_seed[i])
    assert not are_same(forward[2], forward[3])


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_guess_is_the_same_in_every_process(seed):
    script = (
        "from winokit.models.base import Choose; from winokit.models.registry import load_model; "
        f"print(*dict(load_model('random').answer([{QUESTION!r}]))[0].values)"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed}
    process = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    values = tuple(float(number) for number in process.stdout.split())
    ((_, scores),) = load_model("random").answer([QUESTION])
    assert values == scores.values


def test_guessing_prefers_neither_long_nor_short_texts():
    model = load_model("random")
    requests = []
    for number in range(400):
        context = f"Text {number} is"
        requests.append(Continuation(context, " short."))
        requests.append(Continuation(context, " much longer than the other one is."))
    sums = [sum(piece.logprob for piece in pieces) for _, pieces in model.answer(requests)]
    pairs = zip(sums[::2], sums[1::2], strict=True)
    short_wins = mean(short > long for short, long in pairs)
    assert 0.42 < short_wins < 0.58


def test_there_is_no_guess_about_nothing():
    model = load_model("random")
    ((_, refusal),) = model.answer([Continuation("The jug", " ")])
    assert "makes no token of ' '" in refusal.why


@pytest.mark.parametrize(
    ("spec", "message"), [("random?seed=x", "option seed: expected a whole number"), ("random:7", "found '7'")]
)
def test_a_wrong_spec_of_the_guesser_is_said_in_one_line(spec, message):
    with pytest.raises(BadInput, match=message):
        load_model(spec)


# python:module:function


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a function that writes a module into the working directory, to be forgotten after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(source, name="own_scorer"):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        sys.modules.pop(name, None)
        names.append(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


def test_a_function_scores_each_candidate(module):
    module("def longest(before, after, candidates, pronoun):\n    return [len(c) + len(pronoun) for c in candidates]\n")
    model = load_model("python:own_scorer:longest")
    assert isinstance(model, Model)
    assert model.can == {Choose}
    longer = Choose("Until ", " fell.", ("the jug", "the small cup"), "it")
    answers = dict(model.answer([QUESTION, longer]))
    assert answers == {0: Scores((9.0, 9.0)), 1: Scores((9.0, 15.0))}


def test_a_function_may_return_an_array_or_abstain(module):
    module(
        "import numpy as np\n"
        "def f(before, after, candidates, pronoun):\n"
        "    return None if pronoun is None else np.array([0.5, 1.5])\n"
    )
    model = load_model("python:own_scorer:f")
    unmarked = Choose("Until ", " fell.", ("the jug", "the cup"))
    answers = dict(model.answer([QUESTION, unmarked]))
    assert answers == {0: Scores((0.5, 1.5)), 1: Scores(None)}


@pytest.mark.parametrize(
    "returned",
    [
        "[1.0]",
        "[1, 2, 3]",
        "3.5",
        "'ab'",
        "'12'",
        "[[1, 2], [3, 4]]",
        "[float('nan'), 1]",
        "[10**400, 1]",
        "{}",
        "print",
    ],
)
def test_what_is_not_one_number_a_candidate_is_refused(module, returned):
    module(f"def f(*problem):\n    return {returned}\n")
    with pytest.raises(BadInput) as failure:
        list(load_model("python:own_scorer:f").answer([QUESTION]))
    message = str(failure.value)
    assert message.startswith("python:own_scorer:f must return 2 numbers, one per candidate, or None; it returned ")
    assert "The water ran until _ was empty." in message
    assert "\n" not in message


def test_a_function_that_fails_is_named_with_its_error_and_the_problem(module):
    module("def f(*problem):\n    raise KeyError('no\\nsuch thing')\n")
    model = load_model("python:own_scorer:f")
    message = r"python:own_scorer:f failed with KeyError \('no.nsuch thing'\) on .The water ran"
    with pytest.raises(BadInput, match=message):
        list(model.answer([QUESTION]))


def test_a_function_that_ends_the_process_is_said_in_one_line(module):
    module("import sys\ndef f(*problem):\n    sys.exit(3)\n")
    model = load_model("python:own_scorer:f")
    with pytest.raises(BadInput, match=r"python:own_scorer:f failed with SystemExit \(3\)"):
        list(model.answer([QUESTION]))


def test_a_module_that_ends_the_process_is_said_in_one_line(module):
    module("import sys\nsys.exit(3)\n", "script")
    with pytest.raises(BadInput, match=r"importing 'script' failed with SystemExit \(3\)"):
        load_model("python:script:f")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("python:", "expected module:function"),
        ("python:own_scorer", "expected python:module:function"),
        ("python:no_such_thing:f", "no module named 'no_such_thing'; Python looked in"),
        ("python:own_scorer.inner:f", "no module named 'own_scorer.inner'"),
        ("python:own_scorer:g", "module 'own_scorer' has no function named 'g'"),
        ("python:own_scorer:NUMBER", "module 'own_scorer' has something that is not a function (int) named 'NUMBER'"),
        ("python:needy:f", "no module named 'not_there', which 'needy' imports"),
        ("python:broken:f", "importing 'broken' failed with SyntaxError"),
        ("python:builtins:max", "has no source file"),
    ],
)
def test_a_function_that_is_not_there_is_said_in_one_line(module, spec, message):
    module("NUMBER = 3\ndef f(*problem): ...\n")
    module("import not_there\ndef f(*problem): ...\n", "needy")
    module("def f(:\n", "broken")
    with pytest.raises(BadInput) as failure:
        load_model(spec)
    assert message in str(failure.value)
    assert "\n" not in str(failure.value)


def test_the_fingerprint_of_a_function_changes_with_its_file(module):
    module("def f(*problem):\n    return 0, 1\n")
    first = load_model("python:own_scorer:f").fingerprint
    assert load_model("python:own_scorer:f").fingerprint == first
    module("def f(*problem):\n    return 1, 0\n")
    assert load_model("python:own_scorer:f").fingerprint != first


def test_the_fingerprint_knows_the_file_where_a_function_was_defined(module):
    module("def f(*problem):\n    return 0, 1\n", "elsewhere")
    module("from elsewhere import f\n")
    first = load_model("python:own_scorer:f").fingerprint
    module("def f(*problem):\n    return 1, 0\n", "elsewhere")
    module("from elsewhere import f\n")
    assert load_model("python:own_scorer:f").fingerprint != first


def test_a_function_answers_no_other_request(module):
    module("def f(*problem):\n    return 0, 1\n")
    model = load_model("python:own_scorer:f")
    question = Ask("Which?", ("A", "B"))
    with pytest.raises(BadInput, match="cannot answer Ask requests, only Choose"):
        list(model.answer([question]))


# FakeModel


def test_the_fake_model_gives_the_answers_it_was_given_and_remembers_the_questions():
    request = Continuation("The jug", " fell.")
    unknown = Continuation("The cup", " fell.")
    pieces = (Piece(0, 6, -1.0),)
    model = FakeModel({request: pieces})
    assert isinstance(model, Model)
    assert model.kind == "causal"
    assert model.can == frozenset({Continuation})
    assert list(model.answer([request, request])) == [(0, pieces), (1, pieces)]
    with pytest.raises(LookupError, match="no answer to Continuation") as failure:
        list(model.answer([unknown]))
    assert isinstance(failure.value, WinokitError)
    assert model.asked == [request, request, unknown]


def test_fake_models_with_other_answers_have_other_fingerprints():
    request = Continuation("The jug", " fell.")
    model = FakeModel({request: (Piece(0, 6, -1.0),)})
    same_model = FakeModel(model.answers)
    other_model = FakeModel({request: (Piece(0, 6, -2.0),)})
    assert model.fingerprint == same_model.fingerprint
    assert model.fingerprint != other_model.fingerprint


@pytest.mark.parametrize(
    "spec", ["random?seed=3", "builtin", "python:math:hypot", "python:math:dist", "ensemble:random+random?seed=2"]
)
def test_a_name_is_shown_and_is_no_part_of_what_answers_are_kept_under(spec):
    separator = "&" if "?" in spec else "?"
    plain = load_model(spec)
    named = load_model(f"{spec}{separator}name=My%20model")
    assert named.spec == "My model"
    assert named.fingerprint == plain.fingerprint


def test_a_name_that_cannot_be_printed_is_refused():
    with pytest.raises(BadInput, match="expected a name that can be printed"):
        load_model("random?name=%1b[31m")
