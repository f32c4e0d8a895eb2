import pytest

from winokit.methods.hunting.queries import SETS, query_sets
from winokit.methods.hunting.reading import read
from winokit.methods.hunting.roles import AGENT, PATIENT, Evidence, HuntDecision, decide, resolve
from winokit.problem import Problem


def label_of(text, before, after, pronoun="she"):
    """Label of the sentence as evidence on a problem, or the reason that it has none."""
    reading = read(Problem(before, after, ("Ann", "Eve"), 0, pronoun))
    results = [resolve(text, reading, pair) for pair in query_sets(reading, {}, SETS)]
    labels = {result.label for result in results if isinstance(result, Evidence)}
    return labels.pop() if labels else results[-1]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I couldn't lift him because I was so weak.", AGENT),
        ("He couldn't lift her because she was weak.", PATIENT),
        ("Since he was weak, he couldn't lift her.", AGENT),
        ("All of us couldn't lift it because we were weak.", AGENT),
        ("The boys couldn't lift the crate because they were weak.", AGENT),
        ("Tom couldn't lift Mary because Tom was weak.", AGENT),
        ("Tom couldn't lift Mary because she was weak.", PATIENT),
        ("My mother couldn't lift the man because she was too weak.", AGENT),
        ("The king of the hills couldn't lift her because he was weak.", AGENT),
        ("The box couldn't be lifted by the girls because they were weak.", AGENT),
        ("We were not able to lift them because we were weak.", AGENT),
        ("The man who could not lift her was weak.", "nothing was found in the blank's place"),
        ("Tom couldn't lift Bill because he was weak.", "both could be meant"),
        ("Ann couldn't lift Eve because she was weak.", "both could be meant"),
        ("He couldn't lift her because it was weak.", "neither could be meant"),
        ("He couldn't lift because he was weak.", "one of the two roles is not filled"),
        ("He could lift her because he was weak.", "a negation in one and not in the other"),
        ("He couldn't lift her because he was not weak.", "a negation in one and not in the other"),
        ("He couldn't lift her, but he was weak.", "a contrast in one and not in the other"),
        ("He couldn't lift her " + "and so on " * 10 + "weak.", "the words stand too far apart"),
    ],
)
def test_roles_of_a_sentence(text, label):
    assert label_of(text, "Ann couldn't lift Eve because ", " was weak.") == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("He bit me, so they punished him.", AGENT),
        ("He bit me, so they punished me.", PATIENT),
        ("He bit me, so I was punished.", PATIENT),
    ],
)
def test_the_blank_may_be_an_object(text, label):
    assert label_of(text, "Ann bit Eve, so we punished ", ".", "her") == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("She passed it to him because her turn was over.", AGENT),
        ("She passed it to Tom because Tom's turn was over.", PATIENT),
        ("She passed it to Tom because the turn was over.", "nothing was found in the blank's place"),
    ],
)
def test_the_blank_may_own_something(text, label):
    assert label_of(text, "Ann passed the ball to Eve because ", " turn was over.", "her") == label


@pytest.mark.parametrize(
    ("text", "label"), [("He called her and left.", AGENT), ("She was called by them and left.", PATIENT)]
)
def test_a_verb_may_share_the_subject_before_it(text, label):
    assert label_of(text, "Ann called Eve and then ", " left.") == label


def test_what_was_found_is_marked():
    text = "I couldn’t lift him because I was weak."
    reading = read(Problem("Ann couldn't lift Eve because ", " was weak.", ("Ann", "Eve"), 0, "she"))
    first_pair = query_sets(reading, {})[0]
    spans = resolve(text, reading, first_pair).spans
    assert [text[start:end] for start, end in spans] == ["couldn’t lift", "was weak"]


def evidence_of(label, context="lift", query="weak"):
    return Evidence(label, context, query, "…")


def test_more_than_one_word_of_either_clause_weighs_double():
    assert evidence_of(AGENT).weight == 1
    assert evidence_of(AGENT, context="could lift").weight == 2
    assert evidence_of(AGENT, query="too weak").weight == 2


@pytest.mark.parametrize(
    ("labels", "role"),
    [([], None), ([AGENT], AGENT), ([PATIENT], PATIENT), ([AGENT, PATIENT], PATIENT), ([AGENT, AGENT, PATIENT], AGENT)],
)
def test_the_agent_needs_more_and_ties_go_to_the_patient(labels, role):
    decision = decide([evidence_of(label) for label in labels])
    assert decision.role == role


def test_weights_are_summed():
    decision = decide(
        [evidence_of(AGENT), evidence_of(AGENT), evidence_of(PATIENT, "could lift"), evidence_of(PATIENT)]
    )
    assert decision == HuntDecision(2, 3)
