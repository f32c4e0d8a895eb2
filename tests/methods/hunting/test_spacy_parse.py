"""Parses here are annotated by hand, as spaCy's English models label them; no trained model is needed.

Each runs on a stand-in with the attributes of spaCy's tokens, and where spaCy is installed on its own `Doc` too.
"""

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from winokit.errors import BadInput, MissingExtra, UnknownName, WinokitError
from winokit.methods.hunting.hunter import Hunter
from winokit.methods.hunting.queries import query_sets
from winokit.methods.hunting.reading import read
from winokit.methods.hunting.roles import AGENT, PATIENT, Evidence, resolve
from winokit.methods.hunting.search import Hit
from winokit.methods.hunting.spacy_parse import SpacyParser, find_parser, mask
from winokit.methods.transforms.switch import switch
from winokit.models.registry import load_model
from winokit.problem import Problem
from winokit.stages.hunt import hunt_json, hunt_lines

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
The/DET/det/3 old/ADJ/amod/3 man/NOUN/nsubj/12 ,/PUNCT/punct/3 who/PRON/nsubj/8/WP could/AUX/aux/8 not/PART/neg/8 lift/VERB/relcl/3 the/DET/det/10 girl/NOUN/dobj/8 ,/PUNCT/punct/3 said/VERB/ROOT/0 he/PRON/nsubj/14 was/AUX/ccomp/12 weak/ADJ/acomp/14 ./PUNCT/punct/12
He/PRON/nsubj/4 could/AUX/aux/4 not/PART/neg/4 lift/VERB/ROOT/0 him/PRON/dobj/4 and/CCONJ/cc/4 was/AUX/conj/4 weak/ADJ/acomp/7 ./PUNCT/punct/4
He/PRON/nsubjpass/4 was/AUX/auxpass/4 not/PART/neg/4 lifted/VERB/ROOT/0 by/ADP/agent/4 him/PRON/pobj/5 and/CCONJ/cc/4 was/AUX/conj/4 weak/ADJ/acomp/8 ./PUNCT/punct/4
He/PRON/nsubj/4 could/AUX/aux/4 not/PART/neg/4 lift/VERB/ROOT/0 him/PRON/dobj/4 because/SCONJ/mark/8 he/PRON/nsubj/8 was/AUX/advcl/4 weak/ADJ/acomp/8 ./PUNCT/punct/4
Mary/PROPN/compound/2 Fox/PROPN/nsubj/5 could/AUX/aux/5 not/PART/neg/5 lift/VERB/ROOT/0 him/PRON/dobj/5 because/SCONJ/mark/9 he/PRON/nsubj/9 was/AUX/advcl/5 weak/ADJ/acomp/9 ./PUNCT/punct/5
All/PRON/nsubj/6 of/ADP/prep/1 us/PRON/pobj/2 could/AUX/aux/6 not/PART/neg/6 lift/VERB/ROOT/0 it/PRON/dobj/6 because/SCONJ/mark/10 we/PRON/nsubj/10 were/AUX/advcl/6 weak/ADJ/acomp/10 ./PUNCT/punct/6
Tom/PROPN/nsubj/6 and/CCONJ/cc/1 Ben/PROPN/conj/1 could/AUX/aux/6 not/PART/neg/6 lift/VERB/ROOT/0 Jim/PROPN/dobj/6 because/SCONJ/mark/10 he/PRON/nsubj/10 was/AUX/advcl/6 weak/ADJ/acomp/10 ./PUNCT/punct/6
She/PRON/nsubj/4 could/AUX/aux/4 not/PART/neg/4 lift/VERB/ROOT/0 him/PRON/dobj/4 and/CCONJ/cc/4 weak/ADJ/amod/8 girls/NOUN/nsubj/9 tire/VERB/conj/4 ./PUNCT/punct/9
""".strip().splitlines()  # noqa: E501 a parse is read along its line


@dataclass(eq=False)
class Node:
    """What the hunter asks of a token of spaCy's."""

    i: int
    idx: int
    text: str
    pos_: str
    tag_: str
    dep_: str
    head: Any = None
    children: list[Any] = field(default_factory=list)


def spelt(words):
    """The text of some words, and where each stands in it."""
    text, places = "", []
    for word in words:
        text += "" if not text or word in (",", ".", "n't") else " "
        places.append(len(text))
        text += word
    return text, places


def by_hand(rows, places):
    nodes = [
        Node(i, place, row[0], row[1], row[4], row[2]) for i, (row, place) in enumerate(zip(rows, places, strict=True))
    ]
    for node, row in zip(nodes, rows, strict=True):
        node.head = nodes[int(row[3]) - 1] if row[3] != "0" else node
        if node.head is not node:
            node.head.children.append(node)
    return nodes


def by_spacy(rows, places):
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    ends = [place + len(row[0]) for row, place in zip(rows, places, strict=True)]
    return Doc(
        Vocab(),
        words=[row[0] for row in rows],
        spaces=[end < place for end, place in zip(ends, [*places[1:], 0], strict=True)],
        pos=[row[1] for row in rows],
        tags=[row[4] for row in rows],
        deps=[row[2] for row in rows],
        heads=[int(row[3]) - 1 if row[3] != "0" else i for i, row in enumerate(rows)],
    )


def parsed(make):
    """Every annotated text with its parse."""
    made = {}
    for line in PARSES:
        rows = [[*token.split("/"), "X"][:5] for token in line.split()]
        text, places = spelt([row[0] for row in rows])
        made[text] = make(rows, places)
    return made


@pytest.fixture(scope="module", params=["by hand", "spaCy"])
def parser(request):
    """A parser that knows the annotated texts and no others."""
    if request.param == "spaCy":
        pytest.importorskip("spacy", exc_type=ImportError)
    return SpacyParser(parsed(by_hand if request.param == "by hand" else by_spacy).__getitem__, "spacy en_hand 1.0")


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
    assert parser._read(one) == read(one)


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
    found = parser.read(one)
    assert (found.context.text, found.context.head) == (context, head)
    assert (found.agent_slot, found.patient_slot, found.blank_slot) == slots
    assert (found.query.text, found.query.special, found.contrast) == (*query, "although" in text)
    other = parser.read(switch(one))
    assert (found.agent, found.patient, other.agent, other.patient) == (0, 1, 1, 0)
    assert (other.context, other.query) == (found.context, found.query)


def test_who_is_given_something_has_one_slot_with_and_without_to(parser):
    one = problem("Ann gave Eve bread because _ was in trouble.", "Ann", "Eve", pronoun="she")
    found = parser.read(one)
    assert (found.agent_slot, found.patient_slot, found.query.head) == ("subject", "to", "trouble")


def test_what_the_parse_has_no_reading_for_is_left_to_the_rules():
    lost = SpacyParser(lambda text: by_hand([["x", "X", "ROOT", "0", "X"]], [0]), "lost")
    one = problem("Ann left Eve because _ was tired.", "Ann", "Eve")
    assert lost.read(one) == read(one)
    assert lost.read(problem("Ann ran. _ fell on Eve.", "Ann", "Eve")) == "the parser has the blank inside another word"
    judged = Problem("Ann left Eve because ", " cried.", ("no", "yes"), 1, "she", query="Ann")
    assert "judgement" in lost.read(judged)


def test_a_blank_with_a_part_in_the_candidates_verb_is_not_read(parser):
    one = problem("Ann left Eve with _.", "Ann", "Eve", pronoun="her")
    assert parser._read(one) == "the blank and the candidates have a part in one verb"


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
    assert [masked.text[place : place + 4] for place in masked.named] == ["Alex"] * 3
    assert list(masked.named.values()) == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The old man, who could not lift the girl, said he was weak.", AGENT),
        ("He could not lift him and was weak.", AGENT),
        ("He was not lifted by him and was weak.", PATIENT),
        ("He could not lift him because he was weak.", "both could be meant"),
        ("Mary Fox could not lift him because he was weak.", PATIENT),
        ("All of us could not lift it because we were weak.", AGENT),
        ("Tom and Ben could not lift Jim because he was weak.", PATIENT),
        ("She could not lift him and weak girls tire.", "nothing was found in the blank's place"),
    ],
)
def test_roles_of_a_sentence_come_from_its_parse(parser, text, label):
    reading = read(problem("Ann couldn't lift Eve because _ was weak.", "Ann", "Eve", pronoun="she"))
    heads = query_sets(reading, {}, ["heads"])[0]
    found = resolve(text, reading, heads, parser.fillers(text))
    assert (found.label if isinstance(found, Evidence) else found) == label


def test_a_hunt_uses_and_names_its_parser(parser):
    evidence = "The old man, who could not lift the girl, said he was weak."
    corpus = SimpleNamespace(search=lambda query, limit: [Hit(evidence)], fingerprint="")
    one = problem("The man couldn't lift his son because _ was so weak.", "the man", "his son", pronoun="he")
    hunter = Hunter(corpus, synonyms={}, sets=["heads"], parser="rules")
    by_rules = hunter.hunt(one)
    hunter.parser = parser
    found = hunter.hunt(one)
    assert (found.choice, found.parser) == (0, "spacy en_hand 1.0")
    assert list(hunt_lines(found))[1] == "  parser   spacy en_hand 1.0"
    assert hunt_json(found)["parser"] == "spacy en_hand 1.0"
    assert (by_rules.choice, by_rules.parser) == (None, "rules")


def installed(monkeypatch, **labels):
    """Have spaCy installed with some models, each with the labels of its parser, or what comes of loading it."""

    def load(name, exclude):
        if isinstance(labels[name], Exception):
            raise labels[name]
        return SimpleNamespace(
            has_pipe=lambda pipe: bool(labels[name]),
            get_pipe=lambda pipe: SimpleNamespace(labels=labels[name].split()),
            meta={"version": "3.8.0"},
        )

    util = SimpleNamespace(get_installed_models=lambda: list(labels))
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(util=util, load=load))


ENGLISH = "ROOT agent dobj nsubj nsubjpass pobj prep"


def test_the_best_installed_model_that_parses_english_is_taken(monkeypatch):
    installed(monkeypatch, de_core_news_sm=ENGLISH, en_aaa=ENGLISH, en_core_web_sm=ENGLISH, en_core_web_md=ENGLISH)
    assert find_parser("auto").name == find_parser("spacy").name == "spacy en_core_web_md 3.8.0"
    assert find_parser("rules") is None
    installed(monkeypatch, en_core_web_lg="", en_universal="ROOT obj nsubj obl", en_zzz=ENGLISH)
    assert find_parser("auto").name == "spacy en_zzz 3.8.0"


def test_without_spacy_or_a_model_auto_is_the_rules_and_spacy_is_refused(monkeypatch):
    installed(monkeypatch, de_core_news_sm=ENGLISH, en_universal="ROOT obj nsubj obl")
    assert find_parser("auto") is None
    with pytest.raises(BadInput, match=r"no spaCy model that parses English .* parser=rules needs none"):
        find_parser("spacy")
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert find_parser("auto") is None
    with pytest.raises(MissingExtra, match=r"parser=spacy needs the 'nlp' extra"):
        find_parser("spacy")
    with pytest.raises(UnknownName, match="No parser named 'stanza'"):
        find_parser("stanza")


@pytest.mark.parametrize("asked", ["auto", "spacy"])
def test_a_model_that_cannot_be_loaded_is_said_in_one_line(monkeypatch, asked):
    installed(monkeypatch, en_core_web_sm=OSError("[E053] no config\nmore"))
    with pytest.raises(BadInput, match=rf"^parser={asked}: en_core_web_sm cannot be loaded \(\[E053\] no config\);"):
        find_parser(asked)


def test_the_parser_is_in_the_fingerprint_of_a_hunter_that_uses_it(monkeypatch, index, index_path):
    installed(monkeypatch, en_core_web_sm=ENGLISH)
    by_parse, by_rules = (load_model(f"hunter:{index_path}?parser={name}") for name in ("spacy", "rules"))
    assert "spacy en_core_web_sm 3.8.0" in by_parse.fingerprint
    assert "'rules'" in by_rules.fingerprint
    assert Hunter(index).fingerprint == by_parse.fingerprint
    association = {Hunter(index, by="association", parser=name).fingerprint for name in ("auto", "rules")}
    assert len(association) == 1


def test_ask_takes_a_parser(monkeypatch, index_path):
    from winokit.cli.hunt import app

    monkeypatch.setitem(sys.modules, "spacy", None)
    asked = ["ask", str(index_path), "open", "--parser"]
    assert "  parser   rules" in CliRunner().invoke(app, [*asked, "rules"], catch_exceptions=False).output
    with pytest.raises(WinokitError, match=r"winokit\[nlp\]"):
        CliRunner().invoke(app, [*asked, "spacy"], catch_exceptions=False)
