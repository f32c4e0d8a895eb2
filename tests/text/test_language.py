"""A problem is read by the rules of its own language, and what has none is left out by name."""

from types import SimpleNamespace

import pytest
from support.json_rows import json_lines

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

# Swahili has no pack. The sentences were written for these tests.
BEFORE = "Kombe halitoshei kwenye sanduku kwa sababu "
SWAHILI = [
    Problem(BEFORE, " ni kubwa mno.", ("kombe", "sanduku"), 0, "hilo"),
    Problem(BEFORE, " ni dogo mno.", ("kombe", "sanduku"), 1, "hilo"),
]
SWAHILI_TWINS = [problem.replace(language="sw", group="g") for problem in SWAHILI]


def write_swahili(tmp_path, **card):
    """Write the problems below a card with these fields, or without a card and four times if there are none."""
    path = tmp_path / "kombe.jsonl"
    rows = []
    for problem in SWAHILI:
        row = {"text": problem.text, "candidates": list(problem.candidates)}
        rows.append(row | {"answer": problem.answer, "pronoun": "hilo"})
    lines = [{"card": {"name": "kombe", **card}}, *rows] if card else rows * 4
    path.write_text(json_lines(lines))
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
    in_swahili = Dataset(problem.replace(language="sw") for problem in SWAHILI)
    assert Dataset(SWAHILI).content_hash != in_swahili.content_hash


def test_a_language_that_is_given_is_that_of_card_and_problems(tmp_path):
    dataset = winokit.load(write_swahili(tmp_path), language="sw")
    assert dataset.card.language == "sw"
    assert dataset.languages == ("sw",)
    assert len(dataset.groups) == 4


def test_a_card_says_the_language(tmp_path):
    dataset = winokit.load(write_swahili(tmp_path, language="sw"))
    assert dataset.languages == ("sw",)


def test_text_that_is_in_no_known_language_is_not_taken_for_english(tmp_path):
    dataset = winokit.load(write_swahili(tmp_path))
    assert dataset.languages == ("und",)
    assert any("language not recognised" in note for note in dataset.notes)


def test_too_little_text_is_taken_for_english():
    assert detect(["a b _ c"]) == "en"


def test_no_code_is_refused_with_an_example(tmp_path):
    with pytest.raises(BadInput, match="'german': expected a BCP 47 code, such as en, de or pt-BR"):
        winokit.load(write_swahili(tmp_path), language="german")


def test_the_language_is_written_and_read_again(tmp_path):
    dataset = winokit.load(write_swahili(tmp_path), language="sw")
    winokit.convert(dataset, tmp_path / "again.jsonl")
    again = winokit.load(tmp_path / "again.jsonl")
    assert again == dataset
    assert again.languages == ("sw",)


def test_of_several_languages_one_is_taken_and_named(tmp_path):
    bilingual = Dataset([*SWAHILI_TWINS, *winokit.load("open")[:4]], Card("both"))
    swahili = winokit.load(bilingual, language="sw")
    assert len(swahili) == 2
    assert swahili.card.name == "both, sw"
    assert swahili.card.language == "sw"
    with pytest.raises(BadInput, match="both: no problem in 'fr'; there are sw, en"):
        winokit.load(bilingual, language="fr")


def test_variants_without_rules_are_refused_by_name():
    problems = Dataset(SWAHILI_TWINS)
    variants = make_variants(problems)
    assert "local-context" in variants
    assert "special-word" in variants
    assert not {"switched", "no-cands", "part-sent"} & variants.keys()
    notes = left_out(problems.languages, ["switched", "no-cands", "part-sent", "local-context"])
    assert notes == ["'sw' has no rules for these, so they are left out: switched, no-cands, part-sent"]


def test_a_check_judges_nothing_by_english_rules_and_says_so():
    problem = Problem("Vikombe ", " ni vingi.", ("the cups", "the trays"), 0, language="sw")
    findings = check([Dataset([problem])], ["rules"], "winogrande")
    warning_rules = {finding.message.split(":")[0] for finding in findings if finding.warns}
    assert warning_rules == {"rule length"}
    language_messages = [finding.message for finding in findings if finding.check == "language"]
    assert language_messages == [
        "'sw' has no rules for these, so they are left out: candidates however they are inflected, names and genders"
    ]


def test_an_audit_says_what_it_left_out():
    run = winokit.audit(Dataset(SWAHILI_TWINS), "random")
    assert not any(row.subset.startswith("connective") for row in run.metrics)
    language_notes = [note for note in run.settings["notes"] if "'sw'" in note]
    assert language_notes == [
        "'sw' has no rules for these, so they are left out: connectives and clauses, switched, no-cands, part-sent"
    ]


def test_the_hunter_reads_english_alone():
    hunter = Hunter(SimpleNamespace(fingerprint=""))
    assert "not for this language" in hunter.hunt(SWAHILI[0].replace(language="sw")).why


def test_places_in_a_text_count_its_own_letters():
    """A letter may get longer with its case: places found in the lower-cased text must be those of the text."""
    assert Language("de").occurrences("Der SPASS macht der Straße Spaß.", "Spaß") == [(27, 31)]
    occurrences = Language("tr").occurrences("İki kutu ve kutu.", "kutu")
    assert occurrences == [(4, 8), (12, 16)]


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
    problem = Problem("a ", " b", ("x", "y"), language="sw")
    notes = unread_languages(["builtin"], Dataset([problem]))
    assert notes == ["builtin reads English only, and the data are in 'sw'; --model hf:NAME names another"]
    problem = Problem("a ", " b", ("x", "y"), language="sw")
    assert not unread_languages(["hf:x"], Dataset([problem]))


def test_a_dotted_capital_is_an_i():
    places = language_of("tr").mention_places("İNCİ geldi, İnci gitti.", "İnci")
    assert places == [(0, 4), (12, 16)]
