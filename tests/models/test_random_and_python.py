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

EVERY_KIND = [
    Continuation("The jug was", " empty."),
    Fill("The ", "jug", " was empty."),
    PseudoLikelihood("The jug was empty.", 4, 7),
    PseudoLikelihood("The jug was empty.", 4, 7, within_word=True),
    Attention("The jug was empty.", (4, 7), ((0, 3), (8, 11), (12, 17))),
    Ask("Which?", ("A", "B", "C")),
    Embed("The jug was empty."),
    Choose("The water ran until ", " was empty.", ("the jug", "the cup")),
    Lookup((("the jug",), ("was empty",))),
]
QUESTION = Choose("The water ran until ", " was empty.", ("the jug", "the cup"), "it")


def same(one, other):
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other


# random


def test_the_guesser_answers_every_kind_of_request_in_its_form():
    model = load_model("random")
    assert isinstance(model, Model)
    assert model.can == {type(request) for request in EVERY_KIND}
    answers = dict(model.answer(EVERY_KIND))
    assert [(piece.start, piece.end) for i in (0, 1, 2) for piece in answers[i]] == [(0, 7), (0, 3), (4, 7)]
    assert all(piece.logprob <= 0 for i in range(4) for piece in answers[i])
    assert answers[4].shape[0] == 3
    assert answers[4].ndim == 3
    assert np.exp(answers[5].logprobs).sum() == pytest.approx(1)
    assert answers[5].choice == int(np.argmax(answers[5].logprobs))
    assert answers[6].ndim == 1
    assert len(answers[7].values) == 2
    assert answers[8].count >= 0


def test_a_guess_depends_on_the_request_and_the_seed_alone():
    forward = dict(load_model("random").answer(EVERY_KIND))
    backward = dict(load_model("random?seed=0").answer(EVERY_KIND[::-1]))
    other_seed = dict(load_model("random?seed=1").answer(EVERY_KIND))
    for i in range(len(EVERY_KIND)):
        assert same(forward[i], backward[len(EVERY_KIND) - 1 - i])
        assert not same(forward[i], other_seed[i])
    assert not same(forward[2], forward[3])


def test_a_guess_is_the_same_in_every_process():
    script = (
        "from winokit.models.base import Choose; from winokit.models.registry import load_model; "
        f"print(*dict(load_model('random').answer([{QUESTION!r}]))[0].values)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout.split()
        for seed in ("1", "2")
    ]
    ((_, here),) = load_model("random").answer([QUESTION])
    assert [tuple(map(float, values)) for values in said] == [here.values] * 2


def test_guessing_prefers_neither_long_nor_short_texts():
    model = load_model("random")
    texts = [(f"Text {n} is", " short.", " much longer than the other one is.") for n in range(400)]
    requests = [Continuation(context, text) for context, *ends in texts for text in ends]
    sums = [sum(piece.logprob for piece in answer) for _, answer in model.answer(requests)]
    short_wins = mean(a > b for a, b in zip(sums[::2], sums[1::2], strict=True))
    assert 0.42 < short_wins < 0.58


def test_there_is_no_guess_about_nothing():
    ((_, refused),) = load_model("random").answer([Continuation("The jug", " ")])
    assert "makes no token of ' '" in refused.why


@pytest.mark.parametrize(
    ("spec", "says"), [("random?seed=x", "option seed: expected a whole number"), ("random:7", "found '7'")]
)
def test_a_wrong_spec_of_the_guesser_is_said_in_one_line(spec, says):
    with pytest.raises(BadInput, match=says):
        load_model(spec)


# python:module:function


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function that writes a module into the working directory, which is forgotten after the test."""
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
    assert list(model.answer([QUESTION, longer])) == [(0, Scores((9.0, 9.0))), (1, Scores((9.0, 15.0)))]


def test_a_function_may_return_an_array_or_abstain(module):
    module(
        "import numpy as np\n"
        "def f(before, after, candidates, pronoun):\n"
        "    return None if pronoun is None else np.array([0.5, 1.5])\n"
    )
    model = load_model("python:own_scorer:f")
    unmarked = Choose("Until ", " fell.", ("the jug", "the cup"))
    assert dict(model.answer([QUESTION, unmarked])) == {0: Scores((0.5, 1.5)), 1: Scores(None)}


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
    said = str(failure.value)
    assert said.startswith("python:own_scorer:f must return 2 numbers, one per candidate, or None; it returned ")
    assert "The water ran until _ was empty." in said
    assert "\n" not in said


def test_a_function_that_fails_is_named_with_its_error_and_the_problem(module):
    module("def f(*problem):\n    raise KeyError('no\\nsuch thing')\n")
    with pytest.raises(
        BadInput, match=r"python:own_scorer:f failed with KeyError \('no.nsuch thing'\) on .The water ran"
    ):
        list(load_model("python:own_scorer:f").answer([QUESTION]))


def test_a_function_or_module_that_ends_the_process_is_said_in_one_line(module):
    module("import sys\ndef f(*problem):\n    sys.exit(3)\n")
    with pytest.raises(BadInput, match=r"python:own_scorer:f failed with SystemExit \(3\)"):
        list(load_model("python:own_scorer:f").answer([QUESTION]))
    module("import sys\nsys.exit(3)\n", "script")
    with pytest.raises(BadInput, match=r"importing 'script' failed with SystemExit \(3\)"):
        load_model("python:script:f")


@pytest.mark.parametrize(
    ("spec", "says"),
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
def test_a_function_that_is_not_there_is_said_in_one_line(module, spec, says):
    module("NUMBER = 3\ndef f(*problem): ...\n")
    module("import not_there\ndef f(*problem): ...\n", "needy")
    module("def f(:\n", "broken")
    with pytest.raises(BadInput) as failure:
        load_model(spec)
    assert says in str(failure.value)
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
    with pytest.raises(BadInput, match="cannot answer Ask requests, only Choose"):
        list(load_model("python:own_scorer:f").answer([Ask("Which?", ("A", "B"))]))


# FakeModel


def test_the_fake_model_gives_the_answers_it_was_given_and_remembers_the_questions():
    known = Continuation("The jug", " fell.")
    unknown = Continuation("The cup", " fell.")
    model = FakeModel({known: (Piece(0, 6, -1.0),)})
    assert isinstance(model, Model)
    assert model.kind == "causal"
    assert model.can == frozenset({Continuation})
    assert list(model.answer([known, known])) == [(0, (Piece(0, 6, -1.0),)), (1, (Piece(0, 6, -1.0),))]
    with pytest.raises(LookupError, match="no answer to Continuation") as failure:
        list(model.answer([unknown]))
    assert isinstance(failure.value, WinokitError)
    assert model.asked == [known, known, unknown]


def test_fake_models_with_other_answers_have_other_fingerprints():
    request = Continuation("The jug", " fell.")
    one = FakeModel({request: (Piece(0, 6, -1.0),)})
    other = FakeModel({request: (Piece(0, 6, -2.0),)})
    assert one.fingerprint == FakeModel(one.answers).fingerprint != other.fingerprint


def test_a_name_is_shown_and_is_no_part_of_what_answers_are_kept_under():
    for spec in ("random?seed=3", "builtin", "python:math:hypot", "python:math:dist", "ensemble:random+random?seed=2"):
        plain = load_model(spec)
        named = load_model(f"{spec}{'&' if '?' in spec else '?'}name=My%20model")
        assert named.spec == "My model"
        assert named.fingerprint == plain.fingerprint
    with pytest.raises(BadInput, match="expected a name that can be printed"):
        load_model("random?name=%1b[31m")
