"""Readings from a parse agree with those of the rules and go beyond them.

Parses here are annotated by hand, as spaCy's English models label them, so that no trained model is needed.
"""

import json
from pathlib import Path

import pytest

from winokit.errors import WinokitError
from winokit.methods.hunting.hunter import Hunter
from winokit.methods.hunting.parse import _read_parse, mask, read_parsed
from winokit.methods.hunting.reading import read
from winokit.methods.transforms.switch import switch
from winokit.models.registry import load_model
from winokit.problem import Problem
from winokit.stages.hunt import hunt, hunt_json, hunt_lines
from winokit.text.parses import ParseFile, open_parses

# One parse a line: word/part of speech/label/number of the word it hangs on (0: the root), and a tag where it matters.
PARSES = """
Alex/PROPN/nsubj/4 could/AUX/aux/4 n't/PART/neg/4 lift/VERB/ROOT/0 Alex/PROPN/dobj/4 because/SCONJ/mark/8 he/PRON/nsubj/8 was/AUX/advcl/4 so/ADV/advmod/10 weak/ADJ/acomp/8 ./PUNCT/punct/4
Alex/PROPN/nsubjpass/3 was/AUX/auxpass/3 thanked/VERB/ROOT/0 by/ADP/agent/3 Alex/PROPN/pobj/4 because/SCONJ/mark/8 she/PRON/nsubj/8 was/AUX/advcl/3 kind/ADJ/acomp/8 ./PUNCT/punct/3
I/PRON/nsubj/2 poured/VERB/ROOT/0 water/NOUN/dobj/2 from/ADP/prep/3 Alex/PROPN/pobj/4 into/ADP/prep/4 Alex/PROPN/pobj/6 until/SCONJ/mark/10 it/PRON/nsubj/10 was/AUX/advcl/2 full/ADJ/acomp/10 ./PUNCT/punct/2
Alex/PROPN/nsubj/2 passed/VERB/ROOT/0 the/DET/det/4 ball/NOUN/dobj/2 to/ADP/dative/2 Alex/PROPN/pobj/5 because/SCONJ/mark/10 her/PRON/poss/9 turn/NOUN/nsubj/10 was/AUX/advcl/2 over/ADV/advmod/10 ./PUNCT/punct/2
Alex/PROPN/nsubj/2 tried/VERB/ROOT/0 to/PART/aux/4 call/VERB/xcomp/2 Alex/PROPN/dobj/4 ,/PUNCT/punct/2 but/CCONJ/cc/2 she/PRON/nsubj/9 was/AUX/conj/2 eager/ADJ/acomp/9 to/PART/aux/12 leave/VERB/xcomp/10 it/PRON/dobj/12 ./PUNCT/punct/9
Romans/PROPN/nsubj/4 do/AUX/aux/4 not/PART/neg/4 chase/VERB/ROOT/0 Romans/PROPN/dobj/4 ,/PUNCT/punct/4 so/CCONJ/cc/4 we/PRON/nsubj/10 never/ADV/neg/10 spoke/VERB/conj/4 of/ADP/prep/10 them/PRON/pobj/11 ./PUNCT/punct/10
Alex/PROPN/nsubj/7 ,/PUNCT/punct/1 who/PRON/nsubj/4/WP thanked/VERB/relcl/1 Alex/PROPN/dobj/4 ,/PUNCT/punct/1 left/VERB/ROOT/0 because/SCONJ/mark/10 Alex/PROPN/nsubj/10 cried/VERB/advcl/7 ./PUNCT/punct/7
Alex/PROPN/nsubj/7 ,/PUNCT/punct/1 as/SCONJ/mark/5 we/PRON/nsubj/5 knew/VERB/advcl/7 ,/PUNCT/punct/7 scolded/VERB/ROOT/0 the/DET/det/10 poor/ADJ/amod/10 Alex/PROPN/dobj/7 although/SCONJ/mark/14 she/PRON/nsubjpass/14 was/AUX/auxpass/14 hurt/VERB/advcl/7 ./PUNCT/punct/7
Alex/PROPN/nsubj/2 was/AUX/ROOT/0 ,/PUNCT/punct/2 for/ADP/prep/2 once/ADV/pcomp/4 ,/PUNCT/punct/2 taller/ADJ/acomp/2 than/ADP/prep/7 Alex/PROPN/pobj/8 until/SCONJ/mark/12 he/PRON/nsubj/12 grew/VERB/advcl/2 ./PUNCT/punct/2
Alex/PROPN/nsubj/2 gave/VERB/ROOT/0 Alex/PROPN/dative/2 bread/NOUN/dobj/2 because/SCONJ/mark/7 she/PRON/nsubj/7 was/AUX/advcl/2 in/ADP/prep/7 trouble/NOUN/pobj/8 ./PUNCT/punct/2
Alex/PROPN/nsubj/2 left/VERB/ROOT/0 Alex/PROPN/dobj/2 with/ADP/prep/2 her/PRON/pobj/4 ./PUNCT/punct/2
""".strip().splitlines()  # noqa: E501 a parse is read along its line


def spell_text(words):
    """Join words to a text, and return the position of each word in it too."""
    text = ""
    positions = []
    for word in words:
        text += "" if not text or word in (",", ".", "n't") else " "
        positions.append(len(text))
        text += word
    return text, positions


def parse_row(line):
    """Row of a file of parses that stands for one line of PARSES."""
    fields = [[*token.split("/"), "X"][:5] for token in line.split()]
    text, positions = spell_text([token_fields[0] for token_fields in fields])
    tokens = []
    for index, (word, part, label, head, tag) in enumerate(fields):
        head_index = index if head == "0" else int(head) - 1
        tokens.append([word, positions[index], part, tag, label, head_index])
    return {"text": text, "phrases": [], "tokens": tokens}


@pytest.fixture(scope="module")
def parses(tmp_path_factory):
    """A file of the annotated texts."""
    path = tmp_path_factory.mktemp("parses") / "parses.jsonl"
    rows = [{"parser": "by hand"}, *(parse_row(line) for line in PARSES)]
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def parser(parses):
    """The parses of the annotated texts and of no others."""
    return open_parses(parses)


def problem_of(text, *candidates, pronoun=None):
    return Problem.from_text(text, candidates, pronoun=pronoun)


@pytest.mark.parametrize(
    ("text", "candidates", "pronoun"),
    [
        ("The man couldn't lift his son because _ was so weak.", ("the man", "his son"), "he"),
        ("Ann was thanked by Eve because _ was kind.", ("Ann", "Eve"), "she"),
        ("I poured water from the jug into the cup until _ was full.", ("the jug", "the cup"), "it"),
        ("Ann passed the ball to Eve because _ turn was over.", ("Ann", "Eve"), "her"),
        ("Ann tried to call Eve, but _ was eager to leave it.", ("Ann", "Eve"), "she"),
        ("The dogs do not chase the cats, so we never spoke of _.", ("the dogs", "the cats"), "them"),
    ],
)
def test_the_parse_reads_plain_problems_as_the_rules_do(parser, text, candidates, pronoun):
    problem = problem_of(text, *candidates, pronoun=pronoun)
    assert _read_parse(problem, parser) == read(problem)


@pytest.mark.parametrize(
    ("text", "pronoun", "context", "head", "slots", "query"),
    [
        ("Ann, who thanked Eve, left because _ cried.", None, "thanked", "thanked", ("subject", "object", "subject"),
         ("cried", "cried")),
        ("Ann, as we knew, scolded the poor Eve although _ was hurt.", "she", "scolded", "scolded",
         ("subject", "object", "object"), ("was hurt", "hurt")),
        ("Ann was, for once, taller than Eve until _ grew.", "he", "taller than", "taller",
         ("subject", "than", "subject"), ("grew", "grew")),
    ],
)  # fmt: skip
def test_the_parse_reads_what_the_rules_cannot(parser, text, pronoun, context, head, slots, query):
    problem = problem_of(text, "Ann", "Eve", pronoun=pronoun)
    assert isinstance(read(problem), str)
    reading = read_parsed(problem, parser)
    assert reading.context.text == context
    assert reading.context.head == head
    assert (reading.agent_slot, reading.patient_slot, reading.blank_slot) == slots
    assert (reading.query.text, reading.query.special) == query
    assert reading.contrast == ("although" in text)
    assert reading.agent == 0
    assert reading.patient == 1
    switched_reading = read_parsed(switch(problem), parser)
    assert switched_reading.agent == 1
    assert switched_reading.patient == 0
    assert switched_reading.context == reading.context
    assert switched_reading.query == reading.query


def test_who_is_given_something_has_one_slot_with_and_without_to(parser):
    problem = problem_of("Ann gave Eve bread because _ was in trouble.", "Ann", "Eve", pronoun="she")
    reading = read_parsed(problem, parser)
    assert reading.agent_slot == "subject"
    assert reading.patient_slot == "to"
    assert reading.query.head == "trouble"


def test_what_the_parse_has_no_reading_for_is_left_to_the_rules(parser):
    problem = problem_of("Ann left Eve because _ was tired.", "Ann", "Eve")
    assert read_parsed(problem, parser) == read(problem)


RAN = problem_of("Ann ran. _ fell on Eve.", "Ann", "Eve")


def test_a_problem_without_a_parse_is_not_read(parser):
    assert read_parsed(RAN, parser) == "the file has no parse of the problem"


def test_a_parse_with_the_blank_inside_a_word_is_not_read():
    row = {"tokens": [("Alex ran", 0, "X", "X", "ROOT", 0)]}
    parser = ParseFile(Path(), "", {"Alex ran. Alex fell on Alex.": row})
    assert read_parsed(RAN, parser) == "the parser has the blank inside another word"


def test_a_judgement_is_not_read(parser):
    judgement = Problem("Ann left Eve because ", " cried.", ("no", "yes"), 1, "she", query="Ann")
    assert "judgement" in read_parsed(judgement, parser)


def test_a_blank_with_a_part_in_the_candidates_verb_is_not_read(parser):
    problem = problem_of("Ann left Eve with _.", "Ann", "Eve", pronoun="her")
    assert _read_parse(problem, parser) == "the blank and the candidates have a part in one verb"


def test_the_parser_never_sees_who_is_who():
    from winokit.data.loading import load

    switched_count = 0
    for problem in load("open"):
        switched = switch(problem)
        if isinstance(switched, str):
            continue
        assert mask(problem).text == mask(switched).text
        switched_count += 1
    assert switched_count > 400


def test_places_in_the_masked_text_are_known_in_the_problem():
    problem = problem_of("The old man saw a dog when _ barked at the dog.", "the man", "the dog", pronoun="it")
    masked = mask(problem)
    assert masked.text == "The old Alex saw Alex when it barked at Alex."
    for word in ("saw", "when", "barked"):
        masked_position = masked.text.index(word)
        assert masked.original(masked_position) == problem.text.index(word)
    names = [masked.text[start : start + 4] for start in masked.candidate_at]
    assert names == ["Alex", "Alex", "Alex"]
    assert list(masked.candidate_at.values()) == [0, 1, 1]


def test_a_hunt_uses_and_names_its_parser(parses, index):
    problem = problem_of("Ann, who thanked Eve, left because _ cried.", "Ann", "Eve")
    by_rules = Hunter(index).hunt(problem)
    by_parse = Hunter(index, parser=str(parses)).hunt(problem)
    assert by_rules.reading is None
    assert by_rules.parser == "rules"
    assert by_parse.reading is not None
    assert by_parse.parser.startswith("by hand ")
    assert list(hunt_lines(by_parse))[1] == f"  parser   {by_parse.parser}"
    assert hunt_json(by_parse)["parser"] == by_parse.parser


def test_the_parser_is_in_the_fingerprint_of_a_hunter_that_uses_it(parses, index, index_path):
    by_parse = load_model(f"hunter:{index_path}?parser={parses}")
    by_rules = load_model(f"hunter:{index_path}?parser=rules")
    assert "by hand " in by_parse.fingerprint
    assert "'rules'" in by_rules.fingerprint
    assert Hunter(index).fingerprint == by_rules.fingerprint


def test_a_hunt_takes_a_parser(parses, index_path):
    lines_by_rules = list(hunt_lines(hunt(index_path, "open", parser="rules")))
    lines_by_parse = list(hunt_lines(hunt(index_path, "open", parser=str(parses))))
    assert "  parser   rules" in lines_by_rules
    assert any(line.startswith("  parser   by hand") for line in lines_by_parse)
    with pytest.raises(WinokitError, match="spacy: cannot be read"):
        hunt(index_path, "open", parser="spacy")
