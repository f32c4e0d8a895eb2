"""A problem is read by the rules of its own language, and what has none is left out by name."""

import json
from types import SimpleNamespace

import pytest

import winokit
from winokit.data.checks.checkup import check
from winokit.errors import BadInput
from winokit.methods.hunting.hunter import Hunter
from winokit.methods.scoring.base import unread_languages
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.variants import make_variants
from winokit.problem import Card, Dataset, Problem
from winokit.text.english import ENGLISH
from winokit.text.language import ABILITIES, LANGUAGES, Language, detect, language_of, left_out
from winokit.text.words import letters, same_words

# Swahili, which has no pack; written for these tests.
SWAHILI = [
    Problem("Kombe halitoshei kwenye sanduku kwa sababu ", f" ni {size} mno.", ("kombe", "sanduku"), answer, "hilo")
    for answer, size in enumerate(("kubwa", "dogo"))
]


def swahili_file(tmp_path, **card):
    path = tmp_path / "kombe.jsonl"
    rows = [{"text": p.text, "candidates": list(p.candidates), "answer": p.answer, "pronoun": "hilo"} for p in SWAHILI]
    lines = [{"card": {"name": "kombe", **card}}, *rows] if card else rows * 4
    path.write_text("".join(json.dumps(row) + "\n" for row in lines))
    return path


def test_every_pack_knows_only_abilities_that_there_are():
    for code in LANGUAGES:
        assert language_of(code).knows <= set(ABILITIES), code
        assert language_of(code).name, code


def test_english_knows_everything_and_leaves_nothing_out():
    assert left_out(["en", "en-GB"]) == []


def test_a_region_has_the_pack_of_its_language():
    assert type(language_of("en-GB")) is type(ENGLISH)
    assert type(language_of("sw-KE")) is Language


def test_a_problem_says_nothing_of_its_language_in_its_id():
    assert SWAHILI[0].replace(language="sw").id == SWAHILI[0].id


def test_the_content_hash_of_english_is_as_it_was_and_another_language_changes_it():
    assert Dataset(SWAHILI).content_hash != Dataset(p.replace(language="sw") for p in SWAHILI).content_hash


def test_a_language_that_is_given_is_that_of_card_and_problems(tmp_path):
    loaded = winokit.load(swahili_file(tmp_path), language="sw")
    assert loaded.card.language == "sw"
    assert loaded.languages == ("sw",)
    assert len(loaded.groups) == 4


def test_a_card_says_the_language(tmp_path):
    assert winokit.load(swahili_file(tmp_path, language="sw")).languages == ("sw",)


def test_text_that_is_in_no_known_language_is_not_taken_for_english(tmp_path):
    loaded = winokit.load(swahili_file(tmp_path))
    assert loaded.languages == ("und",)
    assert any("language not recognised" in note for note in loaded.notes)


def test_too_little_text_is_taken_for_english():
    assert detect(["a b _ c"]) == "en"


def test_no_code_is_refused_with_an_example(tmp_path):
    with pytest.raises(BadInput, match="'german': expected a BCP 47 code, such as en, de or pt-BR"):
        winokit.load(swahili_file(tmp_path), language="german")


def test_the_language_is_written_and_read_again(tmp_path):
    loaded = winokit.load(swahili_file(tmp_path), language="sw")
    winokit.convert(loaded, tmp_path / "again.jsonl")
    again = winokit.load(tmp_path / "again.jsonl")
    assert again == loaded
    assert again.languages == ("sw",)


def test_of_several_languages_one_is_taken_and_named(tmp_path):
    both = Dataset([*(p.replace(language="sw") for p in SWAHILI), *winokit.load("open")[:4]], Card("both"))
    some = winokit.load(both, language="sw")
    assert (len(some), some.card.name, some.card.language) == (2, "both, sw", "sw")
    with pytest.raises(BadInput, match="both: no problem in 'fr'; there are sw, en"):
        winokit.load(both, language="fr")


def test_variants_without_rules_are_refused_by_name():
    problems = Dataset([p.replace(language="sw", group="g") for p in SWAHILI])
    made = make_variants(problems)
    assert "local-context" in made
    assert "special-word" in made
    assert not {"switched", "no-cands", "part-sent"} & made.keys()
    assert left_out(problems.languages, ["switched", "no-cands", "part-sent", "local-context"]) == [
        "'sw' has no rules for these, so they are left out: switched, no-cands, part-sent"
    ]


def test_a_check_judges_nothing_by_english_rules_and_says_so():
    problem = Problem("Vikombe ", " ni vingi.", ("the cups", "the trays"), 0, language="sw")
    found = check([Dataset([problem])], ["rules"], "winogrande")
    assert {finding.message.split(":")[0] for finding in found if finding.warns} == {"rule length"}
    assert [finding.message for finding in found if finding.check == "language"] == [
        "'sw' has no rules for these, so they are left out: candidates however they are inflected, names and genders"
    ]


def test_an_audit_says_what_it_left_out():
    run = winokit.audit(Dataset([p.replace(language="sw", group="g") for p in SWAHILI]), "random")
    assert not any(row.subset.startswith("connective") for row in run.metrics)
    assert [note for note in run.settings["notes"] if "'sw'" in note] == [
        "'sw' has no rules for these, so they are left out: connectives and clauses, switched, no-cands, part-sent"
    ]


def test_the_hunter_reads_english_alone():
    hunter = Hunter(SimpleNamespace(fingerprint=""))
    assert "not for this language" in hunter.hunt(SWAHILI[0].replace(language="sw")).why


def test_places_in_a_text_count_its_own_letters():
    """A letter may get longer with its case: places found in the lower-cased text must be those of the text."""
    assert Language("de").occurrences("Der SPASS macht der Straße Spaß.", "Spaß") == [(27, 31)]
    assert Language("tr").occurrences("İki kutu ve kutu.", "kutu") == [(4, 8), (12, 16)]


def test_text_without_spaces_is_compared_by_character():
    assert Language("zh").split("它太小了。") == list("它太小了。")
    assert Language("th").split("มัน ใหญ่") == list("มันใหญ่")


def test_vowel_signs_belong_to_their_words():
    hindi = language_of("hi")
    assert hindi.tokens("ट्रॉफी सूटकेस में _ है।") == ["ट्रॉफी", "सूटकेस", "में", "_", "है", "।"]
    assert not hindi.is_mentioned("कुत्ताओं ने", "कुत्त")
    assert not same_words("बड़ी", "बड़ा")
    assert letters("बड़ी") != letters("बड़ा")


def test_the_published_no_cands_is_for_english_alone():
    problem = Problem(
        "Der Pokal passt in den Koffer, da ", " klein ist.", ("der Pokal", "der Koffer"), 0, language="de"
    )
    assert no_cands(problem, style="code").startswith("not for this language")


def test_vectors_of_a_language_that_the_model_does_not_read_are_noted():
    said = unread_languages(["builtin"], Dataset([Problem("a ", " b", ("x", "y"), language="sw")]))
    assert said == ["builtin reads English only, and the data are in 'sw'; --model hf:NAME names another"]
    assert not unread_languages(["hf:x"], Dataset([Problem("a ", " b", ("x", "y"), language="sw")]))


def test_a_dotted_capital_is_an_i():
    assert language_of("tr").mention_places("İNCİ geldi, İnci gitti.", "İnci") == [(0, 4), (12, 16)]
