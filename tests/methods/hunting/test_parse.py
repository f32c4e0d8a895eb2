"""Parses here are annotated by hand, as spaCy's English models label them; no trained model is needed."""

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


def spelt(words):
    """The text of some words, and where each stands in it."""
    text = ""
    places = []
    for word in words:
        text += "" if not text or word in (",", ".", "n't") else " "
        places.append(len(text))
        text += word
    return text, places


def parsed():
    """Every annotated text with its row of a file."""
    for line in PARSES:
        rows = [[*token.split("/"), "X"][:5] for token in line.split()]
        text, places = spelt([row[0] for row in rows])
        tokens = [
            [word, place, part, tag, label, int(head) - 1 if head != "0" else i]
            for i, ((word, part, label, head, tag), place) in enumerate(zip(rows, places, strict=True))
        ]
        yield {"text": text, "phrases": [], "tokens": tokens}


@pytest.fixture(scope="module")
def parses(tmp_path_factory):
    """A file of the annotated texts."""
    path = tmp_path_factory.mktemp("parses") / "parses.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"parser": "by hand"}, *parsed()])), "utf-8")
    return path


@pytest.fixture(scope="module")
def parser(parses):
    """The parses of the annotated texts and of no others."""
    return open_parses(parses)


def problem(text, *candidates, pronoun=None):
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
    one = problem(text, *candidates, pronoun=pronoun)
    assert _read_parse(one, parser) == read(one)


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
    one = problem(text, "Ann", "Eve", pronoun=pronoun)
    assert isinstance(read(one), str)
    found = read_parsed(one, parser)
    assert (found.context.text, found.context.head) == (context, head)
    assert (found.agent_slot, found.patient_slot, found.blank_slot) == slots
    assert (found.query.text, found.query.special, found.contrast) == (*query, "although" in text)
    other = read_parsed(switch(one), parser)
    assert (found.agent, found.patient, other.agent, other.patient) == (0, 1, 1, 0)
    assert (other.context, other.query) == (found.context, found.query)


def test_who_is_given_something_has_one_slot_with_and_without_to(parser):
    one = problem("Ann gave Eve bread because _ was in trouble.", "Ann", "Eve", pronoun="she")
    found = read_parsed(one, parser)
    assert (found.agent_slot, found.patient_slot, found.query.head) == ("subject", "to", "trouble")


def test_what_the_parse_has_no_reading_for_is_left_to_the_rules(parser):
    one = problem("Ann left Eve because _ was tired.", "Ann", "Eve")
    assert read_parsed(one, parser) == read(one)
    assert (
        read_parsed(problem("Ann ran. _ fell on Eve.", "Ann", "Eve"), parser) == "the file has no parse of the problem"
    )
    tokens = {"tokens": [("Alex ran", 0, "X", "X", "ROOT", 0)]}
    whole = ParseFile(Path(), "", {"Alex ran. Alex fell on Alex.": tokens})
    assert (
        read_parsed(problem("Ann ran. _ fell on Eve.", "Ann", "Eve"), whole)
        == "the parser has the blank inside another word"
    )
    judged = Problem("Ann left Eve because ", " cried.", ("no", "yes"), 1, "she", query="Ann")
    assert "judgement" in read_parsed(judged, parser)


def test_a_blank_with_a_part_in_the_candidates_verb_is_not_read(parser):
    one = problem("Ann left Eve with _.", "Ann", "Eve", pronoun="her")
    assert _read_parse(one, parser) == "the blank and the candidates have a part in one verb"


def test_the_parser_never_sees_who_is_who():
    from winokit.data.loading import load

    pairs = [(one, switch(one)) for one in load("open")]
    pairs = [(one, other) for one, other in pairs if not isinstance(other, str)]
    assert len(pairs) > 400
    assert all(mask(one).text == mask(other).text for one, other in pairs)


def test_places_in_the_masked_text_are_known_in_the_problem():
    one = problem("The old man saw a dog when _ barked at the dog.", "the man", "the dog", pronoun="it")
    masked = mask(one)
    assert masked.text == "The old Alex saw Alex when it barked at Alex."
    for word in ("saw", "when", "barked"):
        assert masked.original(masked.text.index(word)) == one.text.index(word)
    assert [masked.text[place : place + 4] for place in masked.candidate_at] == ["Alex"] * 3
    assert list(masked.candidate_at.values()) == [0, 1, 1]


def test_a_hunt_uses_and_names_its_parser(parses, index):
    one = problem("Ann, who thanked Eve, left because _ cried.", "Ann", "Eve")
    by_rules = Hunter(index).hunt(one)
    by_parse = Hunter(index, parser=str(parses)).hunt(one)
    assert (by_rules.reading, by_rules.parser) == (None, "rules")
    assert by_parse.reading is not None
    assert by_parse.parser.startswith("by hand ")
    assert list(hunt_lines(by_parse))[1] == f"  parser   {by_parse.parser}"
    assert hunt_json(by_parse)["parser"] == by_parse.parser


def test_the_parser_is_in_the_fingerprint_of_a_hunter_that_uses_it(parses, index, index_path):
    by_parse, by_rules = (load_model(f"hunter:{index_path}?parser={name}") for name in (parses, "rules"))
    assert "by hand " in by_parse.fingerprint
    assert "'rules'" in by_rules.fingerprint
    assert Hunter(index).fingerprint == by_rules.fingerprint


def test_a_hunt_takes_a_parser(parses, index_path):
    assert "  parser   rules" in list(hunt_lines(hunt(index_path, "open", parser="rules")))
    assert any(
        line.startswith("  parser   by hand") for line in hunt_lines(hunt(index_path, "open", parser=str(parses)))
    )
    with pytest.raises(WinokitError, match="spacy: cannot be read"):
        hunt(index_path, "open", parser="spacy")
