"""Candidates take the place of a pronoun or a blank, in the form that the place asks for."""

from itertools import product

import pytest

from winokit.data.loading import load
from winokit.errors import UnknownName
from winokit.methods.transforms.substitute import substitute
from winokit.problem import Problem
from winokit.text.english import ENGLISH, is_possessive


def filled(before, after, candidate, pronoun=None, style="auto", **labels):
    problem = Problem(before, after, (candidate, "the other"), 0, pronoun, labels=labels)
    return substitute(problem, candidate, style).text


@pytest.mark.parametrize(
    ("before", "pronoun", "after", "candidate", "text"),
    [
        ("Jim took ", "his", " glass.", "the barman", "Jim took the barman's glass."),
        ("They took ", "their", " coats.", "the boys", "They took the boys' coats."),
        ("They took ", "their", " coats.", "the men", "They took the men's coats."),
        ("Ann broke ", "her", " silence.", "Lily", "Ann broke Lily's silence."),
        ("Ann told ", "her", " to go.", "Lily", "Ann told Lily to go."),
        ("Ann told ", "her", ".", "Lily", "Ann told Lily."),
        ("Ann thanked ", "her", " warmly.", "Lily", "Ann thanked Lily warmly."),
        ("Ann gave ", "her", " the key.", "Lily", "Ann gave Lily the key."),
        (
            "It broke because ",
            "they",
            " slipped.",
            "The city councilmen",
            "It broke because the city councilmen slipped.",
        ),
        ("It broke because ", "they", " slipped.", "My uncles", "It broke because my uncles slipped."),
        ("It broke because ", "he", " slipped.", "George", "It broke because George slipped."),
        ("It broke. ", "They", " slipped.", "the men", "It broke. The men slipped."),
        ("", "They", " slipped.", "the men", "The men slipped."),
        ('"', "They", ' slipped," I said.', "the men", '"The men slipped," I said.'),
        ("I met Mr. Hill and ", "they", " left.", "The men", "I met Mr. Hill and the men left."),
        ("It was on the ", "it", ".", "the table", "It was on the table."),
        ("Jo said that ", "she", " could pay.", "the cook", "Jo said that the cook could pay."),
        ("Jo asked what ", "she", " could do.", "the cook", "Jo asked what the cook could do."),
        ("Jo hated all ", "his", " jokes.", "The cook", "Jo hated all the cook's jokes."),
        ("Jo gave her ", "it", " back.", "the key", "Jo gave her the key back."),
        ("He broke ", "it", " , I think.", "the cup", "He broke the cup, I think."),
        ("I saw ", "him", " 's car.", "Tom", "I saw Tom's car."),
    ],
)
def test_a_candidate_takes_the_pronouns_place(before, pronoun, after, candidate, text):
    assert filled(before, after, candidate, pronoun) == text


def test_a_literal_blank_takes_the_candidate_to_the_letter_and_one_space():
    assert filled("so the ", "  was late .", "Bus") == "so the Bus was late ."
    assert filled("I saw ", " 's car.", "Tom") == "I saw Tom 's car."
    assert filled("I saw ", "", "Tom") == "I saw Tom"


@pytest.mark.parametrize(
    ("after", "language"), [("는 너무 크다.", "ko"), ("ใหญ่เกินไป", "th"), ("'nin kitabı", "tr"), ("다.", "und")]
)
def test_what_follows_a_literal_blank_stays_joined_to_it_in_a_language_without_a_pack(after, language):
    joined = Problem("x ", after, ("a", "b"), 0, language=language)
    apart = joined.replace(after=f"  {after} ")
    assert substitute(joined, "a").text == f"x a{after}"
    assert substitute(apart, "a").text == f"x a {after}"


def test_the_style_can_be_chosen():
    assert filled("I saw ", " 's car.", "Tom", style="natural") == "I saw Tom's car."
    assert filled("I saw ", " car.", "Tom", pronoun="his", style="literal") == "I saw Tom car."
    with pytest.raises(UnknownName, match="Known: auto, literal, natural"):
        filled("a ", " b", "c", style="fancy")


def test_clauses_of_copa_lose_their_capital_unless_it_is_a_name_or_i():
    clauses = {"Water flowed.": "water flowed.", "I left.": "I left.", "Nora left.": "Nora left."}
    for clause, clause_in_text in clauses.items():
        text = filled("It rained so ", "", clause, asks_for="effect")
        assert text == f"It rained so {clause_in_text}"


def test_literal_substitution_is_what_the_harness_scored(real_file):
    """The log of a real run holds the contexts and continuations it used."""
    import json

    log = real_file("lmeval/samples_winogrande_smollm2.jsonl").read_text("utf-8").splitlines()
    dev = load(real_file("winogrande/dev.jsonl"), groups=False)
    for line, problem in zip(log, dev, strict=True):
        arguments = json.loads(line)["arguments"]
        for index, candidate in enumerate(problem.candidates):
            logged = arguments[f"gen_args_{index}"]
            part = substitute(problem, candidate)
            assert part.before + part.candidate == logged["arg_0"]
            assert part.after == logged["arg_1"]


def test_every_wsc_possessive_is_one(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}", groups=False)
    possessives = [problem for problem in wsc if is_possessive(problem.pronoun, problem.after)]
    assert len(possessives) == 26
    for problem in possessives:
        assert "'s" in substitute(problem, problem.right).candidate


@pytest.mark.parametrize(
    ("before", "opens"), [("", True), ("He left. ", True), ("He left, ", False), ("Mr. ", False), ('He said: "', True)]
)
def test_sentence_starts_are_told(before, opens):
    assert ENGLISH.opens_sentence(before) == opens


PERTURBATIONS = ("original", "tense", "number", "gender", "voice", "rel_1", "adverb", "syn")
PRONOUN_FILES = ["wsc/WSCollection.xml", "pdp/PDPChallenge2016.xml", "dpr/train.c.txt", "dpr/test.c.txt"]
PRONOUN_FILES += ["winogender/all_sentences.tsv", "knowref/knowref_test.json"]
PRONOUN_FILES += [f"superglue-wsc/{split}.jsonl" for split in ("train", "val", "test")]
for side, kind, split in product(("pro", "anti"), (1, 2), ("dev", "test")):
    PRONOUN_FILES.append(f"winobias/{side}_stereotyped_type{kind}.txt.{split}")
PRONOUN_FILES += [f"perturbed-wsc/text_{name}.jsonl" for name in PERTURBATIONS]
ARTICLES = {"the", "a", "an"}
DETERMINERS = ARTICLES | {"my", "our", "your", "his", "its", "their"}


def first_word(text):
    return text.casefold().split(maxsplit=1)[0]


def last_word(text):
    """The last word of a text, or nothing if it has none."""
    return text.casefold().split()[-1] if text.strip() else ""


def read_closely(dataset):
    """Filled texts that have two determiners in a row, and candidates that lost their article."""
    doubled = []
    lost = []
    for problem in dataset:
        candidates = problem.candidates if problem.query is None else (problem.query,)
        for candidate in candidates:
            part = substitute(problem, candidate)
            word_in_text = first_word(part.candidate)
            article = first_word(candidate)
            if last_word(part.before) in DETERMINERS and word_in_text in DETERMINERS:
                doubled.append(part.text)
            if article in ARTICLES and word_in_text != article:
                lost.append(part.text)
    return doubled, lost


def test_no_filled_sentence_of_open_has_two_determiners_or_lacks_one():
    doubled, lost = read_closely(load("open", groups=False))
    assert doubled == []
    assert lost == []


@pytest.mark.parametrize("name", PRONOUN_FILES)
def test_no_filled_sentence_of_a_public_file_has_two_determiners_or_lacks_one(name, real_file):
    doubled, lost = read_closely(load(real_file(name), groups=False))
    assert doubled == []
    # "thus the it propells": the one pronoun of all that has an article before it, by its author's slip
    slips = ["thus the motorboat", "thus the propeller"] if name == "dpr/train.c.txt" else []
    for text, slip in zip(lost, slips, strict=True):
        beginning, _, _ = text.partition(" propells")
        assert beginning.endswith(slip)
