"""German candidates are found and filled in in every case, and what cannot be known is refused by name."""

import json
import random

import pytest
from support.german import PAIRS, TWINS, filled, mentions, problem, twin

import winokit
from winokit.data.checks.groups import find_groups
from winokit.data.checks.rules import candidates_present, same_kind
from winokit.data.checks.statistics import Structure
from winokit.methods.scoring import own
from winokit.methods.scoring.base import Setting
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import special_word_problem
from winokit.methods.transforms.substitute import substitute
from winokit.methods.transforms.switch import looks_switchable, switch
from winokit.methods.transforms.variants import make_variants
from winokit.problem import Problem
from winokit.text.german import GERMAN
from winokit.text.language import detect, left_out

IDS = [f"{pair.candidates[0]}-{pair.candidates[1]}-{which}" for pair, which in TWINS]


def german_problem(text, *candidates, pronoun=None):
    before, after = text.split("_")
    return Problem(before, after, candidates, 0, pronoun, language="de")


@pytest.fixture(scope="module")
def data():
    problems = [problem(*each) for each in TWINS]
    return winokit.Dataset(problems, winokit.Card("german", language="de"))


@pytest.mark.parametrize(("pair", "which"), TWINS, ids=IDS)
def test_candidates_are_found_where_they_stand(pair, which):
    example = problem(pair, which)
    found_mentions = GERMAN.mentions(example.text, example.candidates)
    places = [(mention.candidate, mention.start, mention.end) for mention in found_mentions]
    assert places == mentions(pair, which)


@pytest.mark.parametrize(("pair", "which"), TWINS, ids=IDS)
def test_candidates_take_the_place_and_the_case_of_the_pronoun(pair, which):
    example = problem(pair, which)
    texts = [substitute(example, candidate).text for candidate in example.candidates]
    assert texts == [filled(pair, which, 0), filled(pair, which, 1)]


@pytest.mark.parametrize(("pair", "which"), TWINS, ids=IDS)
def test_candidates_change_places_or_it_is_said_why_not(pair, which):
    switched = switch(problem(pair, which))
    expected = twin(pair.switched, which)
    if expected.startswith("!"):
        assert switched == expected[1:]
    else:
        assert switched.text == expected
        assert switched.answer == 1 - which


@pytest.mark.parametrize(
    ("text", "candidate", "found"),
    [
        ("Sie stieg zum Studenten ins Auto.", "der Student", "Studenten"),
        ("Das Dach des Hauses.", "das Haus", "Hauses"),
        ("Der Rand des Balls.", "der Ball", "Balls"),
        ("Mit dem dicken Buch.", "ein dickes Buch", "dicken Buch"),
        ("In den GROẞEN STRASSEN.", "die großen Straßen", "GROẞEN STRASSEN"),
        ("Straße um Straße, Fuß um Fuß.", "der Fuß", "Fuß"),
        ("Klaus’ Hut.", "Klaus", "Klaus"),
        ("Unter den Bällen.", "die Bälle", "Bällen"),
        ("Dem Namen nach.", "der Name", "Namen"),
        ("Bei Frau Dr. Kern.", "Frau Dr. Kern", "Frau Dr. Kern"),
    ],
)
def test_places_are_of_the_text_as_it_is(text, candidate, found):
    start, end = GERMAN.mention_places(text, candidate)[0]
    assert text[start:end] == found


@pytest.mark.parametrize(
    ("text", "candidate"),
    [
        ("Der Kofferraum ist voll.", "der Koffer"),
        ("Das Koffer-Set ist neu.", "der Koffer"),
        ("Wir essen spät.", "das Essen"),
        ("Die Fischer warten.", "der Fisch"),
        ("Andreas kam.", "Andrea"),
        ("Jane kam.", "Jan"),
        ("Die Lehrerin kam.", "der Lehrer"),
    ],
)
def test_what_only_looks_like_a_candidate_is_none(text, candidate):
    assert not GERMAN.is_mentioned(text, candidate)


@pytest.mark.parametrize(
    ("text", "candidate"),
    [
        ("Die Bälle sind rund.", "der Ball"),
        ("Mit den Häusern.", "das Haus"),
        ("Ein Stadtrat sprach.", "die Stadträte"),
        ("Zwei Lehrerinnen.", "die Lehrerin"),
        ("Den Töchtern.", "die Tochter"),
    ],
)
def test_another_number_is_a_mention_for_the_rules_and_no_place_to_switch(text, candidate):
    assert GERMAN.is_mentioned(text, candidate)
    assert GERMAN.mention_places(text, candidate) == []


def test_every_candidate_of_the_twins_is_mentioned(data):
    missing = [candidates_present(p.sentence, p.candidates, language="de") for p in data]
    assert missing == [None] * len(data)


@pytest.mark.parametrize(
    ("pronoun", "candidate", "text"),
    [
        ("er", "Der Bär", "Da war der Bär neu."),
        ("ihm", "ein Bär", "Da war einem Bären neu."),
        ("ihn", "der Tourist", "Da war den Touristen neu."),
        ("ihnen", "die Hüte", "Da war den Hüten neu."),
        ("ihr", "die Reisende", "Da war der Reisenden neu."),
        ("ihnen", "die Lehrer", "Da war den Lehrern neu."),
        ("ihnen", "Tom und der Wirt", "Da war Tom und dem Wirt neu."),
        ("diesem", "das Boot", "Da war dem Boot neu."),
        ("denen", "die Autos", "Da war den Autos neu."),
        ("dafür", "der See", "Da war für den See neu."),
        ("sie", "der Zaun", "Da war der Zaun neu."),
        ("darauf", "der Zaun", "Da war der Zaun neu."),
    ],
)
def test_the_pronoun_says_the_case_and_the_candidate_the_gender(pronoun, candidate, text):
    example = german_problem("Da war _ neu.", candidate, "das Ding", pronoun=pronoun)
    assert substitute(example, candidate).text == text


@pytest.mark.parametrize(
    ("text", "pronoun", "candidate", "expected"),
    [
        ("Da brach _ Griff.", "sein", "der Koffer", "Da brach der Griff des Koffers."),
        ("Da brach _ alter Griff.", "ihr", "die Tür", "Da brach der alte Griff der Tür."),
        ("Da brach _ Wipfel.", "sein", "das Haus", "Da brach des Hauses Wipfel."),
        ("_ Bruder rief.", "Ihr", "die Frau", "Der Bruder der Frau rief."),
        ("_ Bruder rief.", "Ihr", "Ines", "Ines' Bruder rief."),
        ("Mit _ neuen Uhr.", "seiner", "Tom", "Mit Toms neuer Uhr."),
        ("Mit _ neuen Uhr.", "seiner", "der Name", "Mit der neuen Uhr des Namens."),
        ("Trotz _ neuen Autos.", "ihres", "Eva", "Trotz Evas neuen Autos."),
        ("Für _ drei Kinder.", "ihre", "die Wirtin", "Für der Wirtin drei Kinder."),
        ("Sie gab _ den Hut.", "ihr", "die Frau", "Sie gab der Frau den Hut."),
    ],
)
def test_who_owns_stands_in_the_genitive(text, pronoun, candidate, expected):
    example = german_problem(text, candidate, "das Ding", pronoun=pronoun)
    assert substitute(example, candidate).text == expected


@pytest.mark.parametrize(
    ("text", "pronoun"),
    [
        ("Der Hut fiel auf die Bank, die nass war, als _ riss.", None),
        ("Auf der Bank lag sein Hut, als _ brach.", None),
        ("Der Hut fiel auf die Bank, als _ brach.", "er"),
    ],
)
def test_nouns_of_two_genders_stay_where_something_else_has_to_agree(text, pronoun):
    example = german_problem(text, "der Hut", "die Bank", pronoun=pronoun)
    assert "a pronoun that may fit one alone" in switch(example)


@pytest.mark.parametrize(
    "text",
    [
        "Der Hut fiel auf eine Bank, als _ brach.",
        "Der schöne Hut fiel vom Haken auf die alte Bank, als _ brach.",
    ],
)
def test_nouns_of_two_genders_change_places_where_nothing_else_has_to_agree(text):
    example = german_problem(text, "der Hut", "die Bank")
    switched = switch(example)
    assert isinstance(switched, Problem), switched


def test_sharp_s_stays_sharp():
    example = german_problem("Außer dem Hut lag auf der weißen Bank nichts, bis _ brach.", "der Hut", "die Bank")
    assert switch(example).text == "Außer der Bank lag auf dem weißen Hut nichts, bis _ brach."


def test_adjectives_of_the_text_and_articles_bend_to_the_gender_that_comes():
    text = "Der schöne Hut fiel zum Ufer und auf eine alte Bank, als _ brach."
    example = german_problem(text, "der Hut", "die Bank")
    assert switch(example).text == "Die schöne Bank fiel zum Ufer und auf einen alten Hut, als _ brach."


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        ("zum Bus", "zur Bahn", "der Bus"),
        ("im Bus", "in der Bahn", "der Bus"),
        ("am Bus", "an der Bahn", "der Bus"),
        ("beim Bus", "bei der Bahn", "der Bus"),
        ("vom Bus", "von der Bahn", "der Bus"),
        ("ins Auto", "in die Bahn", "das Auto"),
        ("ans Auto", "an die Bahn", "das Auto"),
    ],
)
def test_articles_melt_into_prepositions_and_out_of_them(one, other, first):
    example = german_problem(f"Nele kam {one} und {other}, als _ fuhr.", first, "die Bahn")
    assert switch(example).text == f"Nele kam {other} und {one}, als _ fuhr."


def test_what_is_switched_there_and_back_is_the_same(data):
    for example in data:
        switched = switch(example)
        if isinstance(switched, str):
            continue
        switched_back = switch(switched)
        assert isinstance(switched_back, str) or switched_back.text == example.text


def test_two_names_of_one_gender_look_switchable_and_things_of_two_kinds_do_not():
    women = german_problem("Nele half Ute, als _ fiel.", "Nele", "Ute", pronoun="sie")
    assert looks_switchable(women) is None
    people = german_problem("Nele half Uwe, als _ fiel.", "Nele", "Uwe")
    assert looks_switchable(people) == "names of two genders"
    things = german_problem("Der Hut lag am Ast, als _ fiel.", "der Hut", "der Ast")
    assert looks_switchable(things) == "things of different kinds"
    hats = german_problem("Der rote Hut lag am blauen Hut, als _ fiel.", "der rote Hut", "der blaue Hut")
    assert looks_switchable(hats) is None


@pytest.mark.parametrize(
    ("candidates", "pronoun", "why"),
    [
        (("der Koffer", "der Pokal"), "er", None),
        (("der Koffer", "die Tasche"), "er", "the pronoun 'er' has the gender of der Koffer alone"),
        (("der Koffer", "die Tasche"), None, None),
        (("Anna", "die Katze"), "sie", None),
        (("Peter", "das Pferd"), "ihm", None),
        (("Peter", "das Buch"), "es", "the pronoun 'es' has the gender of das Buch alone"),
        (("das Mädchen", "die Frau"), "sie", None),
        (("die Kinder", "die Frau"), "ihr", None),
        (("Anna", "Peter"), "sie", "people of two genders: Anna (female), Peter (male)"),
    ],
)
def test_the_gender_of_a_pronoun_is_that_of_a_noun(candidates, pronoun, why):
    assert same_kind(candidates, None, pronoun, "de") == why


def test_candidates_leave_the_text_with_their_articles():
    hat = german_problem("Der Hut des Wirts lag bei den Hüten im Regal, weil _ neu war.", "der Wirt", "das Regal")
    assert no_cands(hat).text == "Der Hut lag bei den Hüten im, weil _ neu war."


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Der Hut lag am Ast, weil _ nass war.", "weil _ nass war."),
        ("Er kam z. B. am 3. Mai mit Dr. Kern, aber _ fror.", "aber _ fror."),
        ("Es war am 3. Mai, und z. B. _ fror.", "und z. B. _ fror."),
    ],
)
def test_a_text_is_cut_at_german_connectives_and_not_at_abbreviations(text, part):
    example = german_problem(text, "Tom", "Uwe")
    assert part_sent(example).text == part


def test_the_special_word_is_asked_for():
    wet = german_problem("Der Hut lag am Ast, weil _ nass war.", "der Hut", "der Ast", pronoun="er")
    rough = wet.replace(after=" rau war.", answer=1)
    assert special_word_problem(wet, rough).text.endswith("weil der Hut _ war.")


def test_a_special_word_that_moves_with_the_candidate_is_not_asked_for():
    new = german_problem("Der Hut lag am Ast, weil _ neue Farbe auffiel.", "der Hut", "der Ast", pronoun="seine")
    old = new.replace(after=" alte Farbe auffiel.", answer=1)
    assert special_word_problem(new, old) == "the special word moves or changes with the candidate"


@pytest.mark.parametrize(
    ("before", "opens"),
    [
        ("„Halt!“ ", True),
        ("Er rief: „", True),
        ("»Halt!« ", True),
        ("z. B. ", False),
        ("am 3. ", False),
        ("weil ", False),
    ],
)
def test_german_quotes_and_abbreviations_are_known(before, opens):
    assert GERMAN.opens_sentence(before) is opens


def test_the_language_is_recognised(data):
    sentences = [example.sentence for example in data]
    assert detect(sentences) == "de"


def test_what_german_has_no_rules_for_is_said():
    missing_parts = [line.split(": ")[1] for line in left_out(["de"])]
    assert missing_parts == ["pronoun scoring, knowledge hunting"]


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_twins_are_found_without_ids(data, seed):
    problems = list(data)
    if seed is not None:
        random.Random(seed).shuffle(problems)
    groups = find_groups(winokit.Dataset(problems))
    beginnings = set()
    for rows in groups.groups:
        beginnings.add(frozenset(problems[row].before for row in rows))
    assert len(beginnings) == len(PAIRS)


def test_every_variant_can_be_made_of_some(data):
    pairs = [example.replace(group=str(row // 2)) for row, example in enumerate(data)]
    grouped = winokit.Dataset(pairs, data.card)
    variants = make_variants(grouped)
    problem_counts = {name: len(variant.problems) for name, variant in variants.items()}
    assert problem_counts == {
        "no-cands": 72,
        "part-sent": 72,
        "local-context": 72,
        "special-word": 74,
        "reversed": 74,
        "switched": 12,
    }


def test_what_was_made_of_german_is_german_and_a_fine_tuned_model_is_told(data):
    twins = (data[0], data[1])
    special_word_question = special_word_problem(*twins)
    assert special_word_question.language == "de"
    (request,) = own.ask(twins[0], Setting())
    assert dict(request.labels)["language"] == "de"


def test_candidates_are_found_in_no_text_that_has_not_their_words():
    candidates = []
    for pair in PAIRS:
        candidates.extend(pair.candidates)
    heads = {candidate: GERMAN.head(candidate) for candidate in candidates}
    for pair, which in TWINS:
        text = problem(pair, which).text
        small_text = text.casefold()
        absent = [candidate for candidate in candidates if heads[candidate] not in small_text]
        assert GERMAN.mentions(text, absent) == []


def test_an_audit_says_what_the_builtin_model_reads(tmp_path, data):
    run = winokit.audit(data[:4], model="builtin", protocol="accuracy", out=None, cache="off")
    assert any("builtin reads English only, and the data are in German (de)" in note for note in run.notes)


def test_a_release_says_its_language(tmp_path, data):
    path = tmp_path / "zwillinge.jsonl"
    rows = []
    for example in data:
        row = {"text": example.text, "candidates": example.candidates}
        row |= {"answer": example.answer, "pronoun": example.pronoun}
        rows.append(json.dumps(row, ensure_ascii=False))
    path.write_text("\n".join(rows) + "\n", "utf-8")
    out = tmp_path / "out"
    winokit.release(path, out=out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    croissant = json.loads((out / "croissant.json").read_text("utf-8"))
    assert manifest["language"] == "de"
    assert croissant["inLanguage"] == "de"
    assert "language:\n- de" in (out / "README.md").read_text("utf-8")


def test_structure_is_told_by_german_connectives(data):
    assert Structure(data).connective.most_common(1) == [("weil", 54)]
