"""Questions are worded by a template, which a user can replace."""

import json

import pytest
from support.servers import CoinServer

from winokit.errors import BadInput
from winokit.methods.scoring.ask import ask
from winokit.methods.scoring.base import Setting
from winokit.methods.scoring.prompts import PromptTemplate, read_prompt
from winokit.methods.scoring.scorer import ScoringPlan, score_variants
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem
from winokit.stages.audit.run import audit

JUG = Problem("The jug did not fit into the cup since ", " was big.", ("the jug", "the cup"), 0, pronoun="it")
POT = Problem("The pot broke the pan, and ", " was strong.", ("the pot", "the pan"), 0)
TERSE = PromptTemplate('{{"text": "{sentence}"}}\n{options}\n{letters}?')


def prompts(problem, kind="chat", **setting):
    """Prompts of all requests about the problem, for a model of this kind."""
    return [request.prompt for request in ask(problem, Setting(kind, **setting))]


def test_without_a_template_questions_are_worded_as_ever():
    assert prompts(JUG)[1] == (
        "Text: The jug did not fit into the cup since *it* was big.\n"
        "Question: What does the marked word *it* refer to?\n"
        "A. the cup\nB. the jug\nAnswer with A or B only.\nAnswer:"
    )
    assert prompts(POT, "causal") == [
        "Text: The pot broke the pan, and _ was strong.\nQuestion: Which of these fills the blank (_)?\nAnswer:"
    ]


def test_a_template_words_questions_and_shots():
    assert prompts(JUG, prompt=TERSE, shots=(POT,))[1] == (
        '{"text": "The pot broke the pan, and _ was strong."}\nA. the pot\nB. the pan\nA or B? A\n\n'
        '{"text": "The jug did not fit into the cup since *it* was big."}\nA. the cup\nB. the jug\nA or B?'
    )
    assert prompts(JUG, "causal", prompt=TERSE)[0].endswith("\nthe jug\nthe cup\nthe jug or the cup?")


def test_a_place_may_hold_braces():
    braces = Problem("The {jug} broke since ", " fell.", ("the {jug}", "{0}"), 0)
    assert "{jug} broke" in prompts(braces, prompt=TERSE)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{sentence}\n{candidates}", r"p\.txt:2: no place named \{candidates\}: \{sentence\}, \{question\}"),
        ("{sentence}\n{}", r"p\.txt:2: no place named \{\}"),
        ("{sentence!r}", r"p\.txt:1: no place named"),
        ("{sentence:>9}", r"p\.txt:1: no place named"),
        ("{sentence.text}", r"p\.txt:1: no place named \{sentence\.text\}"),
        ("{sentence}\n\n{", r"p\.txt:3: a brace that opens or closes nothing"),
        ("{question}", r"p\.txt: the prompt must contain \{sentence\}"),
        ("{{sentence}}", r"p\.txt: the prompt must contain \{sentence\}"),
        ("", r"p\.txt: the prompt must contain \{sentence\}"),
    ],
)
def test_a_template_that_will_not_do_is_refused_with_its_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(BadInput, match=message):
        read_prompt("p.txt")


def test_letters_need_options_to_stand_for():
    with pytest.raises(BadInput, match=r"must contain \{options\}"):
        prompts(JUG, prompt=PromptTemplate("{sentence} {question}"))


def test_a_prompt_that_is_no_file_or_of_no_use_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_prompt(tmp_path)
    with pytest.raises(BadInput, match="leave out --prompt"):
        score_variants({"original": Dataset([POT])}, load_model("builtin"), ScoringPlan(prompt=TERSE))


def test_rows_name_the_prompt_and_the_run_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    path = tmp_path / "p.txt"
    path.write_text("{sentence}\nQuestion: {question}\n{options}\nSo?\n")
    with CoinServer() as server:
        options = {"protocol": "accuracy", "limit": 2, "out": tmp_path / "run", "cache": tmp_path / "cache"}
        audit("open", f"chat:coin@{server.url}", **options)
        run = audit("open", f"chat:coin@{server.url}", **options, prompt=path)
    assert len(server.bodies) == 8
    assert {row.scoring for row in run.predictions} == {f"ask?prompt={read_prompt(path).name}"}
    assert run.transcripts[0].prompt.endswith("\nSo?")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["run"]["prompt"] == path.read_text()[:-1]
