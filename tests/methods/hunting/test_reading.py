import pytest
from hypothesis import given
from hypothesis import strategies as st

from winokit.methods.hunting.reading import read
from winokit.methods.transforms.switch import switch
from winokit.problem import Problem


def problem_of(text, *candidates, pronoun=None):
    return Problem.from_text(text, candidates, pronoun=pronoun)


@pytest.mark.parametrize(
    ("text", "candidates", "context", "head", "slots"),
    [
        ("Ann couldn't lift Eve because _ was weak.", ("Ann", "Eve"), "couldn't lift", "lift", ("subject", "object")),
        ("Ann yelled at Eve because _ was mad.", ("Ann", "Eve"), "yelled at", "yelled", ("subject", "at")),
        ("Ann tried to call Eve, but _ was busy.", ("Ann", "Eve"), "tried to call", "call", ("subject", "object")),
        ("The cup hit the red tray when _ fell.", ("the cup", "the tray"), "hit", "hit", ("subject", "object")),
        ("I poured tea from the pot into the cup until _ was full.", ("the pot", "the cup"), "poured tea from",
         "poured", ("from", "into")),
        ("We couldn't put the pot on the shelf because _ was tall.", ("the pot", "the shelf"), "couldn't put", "put",
         ("object", "on")),
        ("Because _ was late, Ann scolded Eve.", ("Ann", "Eve"), "scolded", "scolded", ("subject", "object")),
        ("The firemen arrived after the police because _ were delayed.", ("the firemen", "the police"),
         "arrived after", "arrived", ("subject", "after")),
    ],
)  # fmt: skip
def test_the_context_has_a_predicate_and_two_slots(text, candidates, context, head, slots):
    reading = read(problem_of(text, *candidates))
    assert reading.context.text == context
    assert reading.context.head == head
    assert reading.agent == 0
    assert reading.patient == 1
    assert (reading.agent_slot, reading.patient_slot) == slots


def test_a_passive_is_turned_round():
    reading = read(problem_of("Ann was thanked by Eve because _ was kind.", "Ann", "Eve"))
    assert reading.agent == 1
    assert reading.agent_slot == "subject"
    assert reading.patient_slot == "object"
    assert reading.context.passive


def test_a_passive_without_an_agent_keeps_its_order():
    reading = read(problem_of("The crate was put above the box, so _ was moved.", "the crate", "the box"))
    assert reading.agent == 0
    assert reading.agent_slot == "object"
    assert reading.patient_slot == "above"
    assert reading.blank_slot == "object"


@pytest.mark.parametrize(
    ("ending", "pronoun", "query", "head", "special", "slot"),
    [
        ("_ was going so fast.", "she", "was going so fast", "going", "fast", "subject"),
        ("_ was eager to leave it.", "she", "was eager to leave it", "leave", "leave", "subject"),
        ("we blamed _.", "her", "blamed", "blamed", "blamed", "object"),
        ("we never spoke to _.", "her", "never spoke to", "spoke", "spoke", "to"),
        ("_ turn was over.", "her", "turn was over", "turn", "turn", "possessor"),
        ("_'s turn was over.", None, "turn was over", "turn", "turn", "possessor"),
        ("_ was pushed.", "she", "was pushed", "pushed", "pushed", "object"),
    ],
)
def test_the_blank_has_a_predicate_a_special_word_and_a_slot(ending, pronoun, query, head, special, slot):
    reading = read(problem_of(f"Ann left Eve because {ending}", "Ann", "Eve", pronoun=pronoun))
    assert reading.query.text == query
    assert reading.query.head == head
    assert reading.query.special == special
    assert reading.blank_slot == slot


@pytest.mark.parametrize(
    ("text", "contrast", "negated"),
    [
        ("Ann left Eve because _ was tired.", False, (False, False)),
        ("Ann left Eve although _ was tired.", True, (False, False)),
        ("Although Ann left Eve, _ was tired.", True, (False, False)),
        ("Ann did not leave Eve because _ wasn't tired.", False, (True, True)),
        ("Ann could never leave Eve; _ was tired.", False, (True, False)),
    ],
)
def test_contrast_and_negation_are_noted(text, contrast, negated):
    reading = read(problem_of(text, "Ann", "Eve"))
    assert reading.contrast == contrast
    assert (reading.context.negated, reading.query.negated) == negated


@pytest.mark.parametrize(
    ("text", "candidates", "why"),
    [
        ("Ann left when Eve came because _ was tired.", ("Ann", "Eve"), "no two candidates are named together"),
        ("Ann left Eve's house because _ was tired.", ("Ann", "Eve"), "the owner of something"),
        ("The lid of the pot hit the cup when _ fell.", ("the pot", "the cup"), "a part of something"),
        ("Ann Eve because _ was tired.", ("Ann", "Eve"), "side by side"),
        ("There is a gap in the wall, and _ is old.", ("the gap", "the wall"), "no predicate was found for the cand"),
        ("Ann left Eve. _!", ("Ann", "Eve"), "no predicate was found for the blank"),
    ],
)
def test_what_cannot_be_read_says_why(text, candidates, why):
    assert why in read(problem_of(text, *candidates))


def test_a_judgement_is_not_read():
    judgement = Problem("Ann left Eve because ", " cried.", ("no", "yes"), 1, "she", query="Ann")
    assert "judgement" in read(judgement)


words = st.sampled_from("Ann Eve the cup couldn't lift because so , . that was tired to by her 's and _x “ not".split())


@given(st.lists(words, max_size=12), st.lists(words, max_size=8))
def test_any_text_is_read_or_refused(before, after):
    problem = Problem(" ".join(["Well", *before]), " ".join(["", *after]), ("Ann", "Eve"), pronoun="she")
    read(problem)


def test_switching_changes_only_who_is_who():
    from winokit.data.loading import load

    reading_count = 0
    for problem in load("open"):
        switched = switch(problem)
        reading = read(problem)
        if isinstance(switched, str) or isinstance(reading, str):
            continue
        switched_reading = read(switched)
        assert switched_reading.context == reading.context
        assert switched_reading.query == reading.query
        assert switched_reading.blank_slot == reading.blank_slot
        assert switched_reading.agent == 1 - reading.agent
        assert switched_reading.agent_slot == reading.agent_slot
        reading_count += 1
    assert reading_count > 100
