"""Candidates are found and filled in by the rules of French, Portuguese, Russian, Japanese and Chinese."""

import sys
from pathlib import Path

import pytest

import winokit
from winokit.data.checks.statistics import Structure, statistics
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import special_word_problem
from winokit.methods.transforms.substitute import substitute
from winokit.problem import Dataset, Problem
from winokit.text.language import LANGUAGES, detect, language_of, left_out

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

PACK_CODES = ("fr", "pt", "ru", "ja", "zh")


@pytest.mark.parametrize(
    ("code", "text", "name", "found"),
    [
        ("fr", "Il parle à l'escroc.", "un escroc", ["escroc"]),
        ("fr", "Les manteaux de l’homme.", "le manteau", ["manteaux"]),
        ("fr", "Les manteaux de l’homme.", "l'homme", ["homme"]),
        ("fr", "Anne parle.", "Ann", []),
        ("pt", "A medalha não cabe na maleta.", "a maleta", ["maleta"]),
        ("pt", "Ele gosta dos limões.", "o limão", ["limões"]),
        ("pt", "O rei falou.", "a rainha", []),
        ("ru", "Он гордится кубком.", "кубок", ["кубком"]),
        ("ru", "Дал мальчику мяч отца.", "отец", ["отца"]),
        ("ru", "Организаторам митинга отказали.", "организаторы митинга", ["Организаторам митинга"]),
        ("ru", "Билл помог Биллу.", "Билл", ["Билл", "Биллу"]),
        ("ru", "Якутская армия в столице.", "стол", []),
        ("ja", "アンはアンディに会った。", "アン", ["アン"]),
        ("ja", "彼はアンディに会った。", "アン", []),
        ("ja", "狙撃兵はテロリストを撃った。", "テロリスト", ["テロリスト"]),
        ("zh", "奖杯无法放进箱子里。", "箱子", ["箱子"]),
    ],
)
def test_a_candidate_is_found_in_the_forms_of_its_language(code, text, name, found):
    language = language_of(code)
    places = language.mention_places(text, name)
    mentioned_texts = [text[start:end] for start, end in places]
    assert mentioned_texts == found
    assert language.is_mentioned(text, name) is bool(found)


@pytest.mark.parametrize(
    ("code", "before", "pronoun", "after", "name", "text"),
    [
        ("fr", "Paul sait qu'", "il", " dort.", "le chat", "Paul sait que le chat dort."),
        ("fr", "Paul sait qu'", "il", " dort.", "L'escroc", "Paul sait que l'escroc dort."),
        ("fr", "Paul sait qu’", "elle", " dort.", "Anne", "Paul sait qu’Anne dort."),
        ("fr", "Je viens s'", "il", " dort.", "Anne", "Je viens si Anne dort."),
        ("fr", "Il est près de ", "lui", ".", "Le roi", "Il est près du roi."),
        ("fr", "Il est près de ", "lui", ".", "Anne", "Il est près d'Anne."),
        ("fr", "Il parle à ", "eux", ".", "Les rois", "Il parle aux rois."),
        ("fr", "Il dort. ", "Il", " ronfle.", "le chat", "Il dort. Le chat ronfle."),
        ("pt", "Ele está atrás ", "dela", ".", "a parede", "Ele está atrás da parede."),
        ("pt", "Ele confia ", "nele", ".", "O rei", "Ele confia no rei."),
        ("pt", "Ele passou por ", "eles", ".", "os reis", "Ele passou pelos reis."),
        ("pt", "Não sei usar ", "ele", " .", "caminho", "Não sei usar caminho."),
        ("ru", "Он упал. ", "Она", " видела.", "сестра", "Он упал. Сестра видела."),
        ("ja", "教師は", "彼を", "呼んだ。", "少年", "教師は少年を呼んだ。"),
        ("ja", "そして", "彼は彼", "にそれをあげた。", "ロッキー", "そしてロッキーは彼にそれをあげた。"),
        ("zh", "奖杯放不进箱子，因为", "它", "太大了。", "奖杯", "奖杯放不进箱子，因为奖杯太大了。"),
    ],
)
def test_a_candidate_joins_the_text_as_its_language_asks(code, before, pronoun, after, name, text):
    problem = Problem(before, after, (name, "x"), 0, pronoun, language=code)
    assert substitute(problem, name).text == text


def test_what_xwinograd_says_of_each_language_is_found(real_file):
    import languages

    everything = languages.read(real_file("xwinograd/dataset.tsv"))
    for code in everything.languages:
        problems = [problem for problem in everything if problem.language == code][:200]
        finding = languages.finding(problems, language_of(code))
        assert finding.found >= 0.97 * finding.sought, (code, finding.misses)
        least_count = 0.97 * (finding.right + finding.wrong)
        assert finding.right >= least_count, (code, finding.misses)
        assert detect([problem.sentence for problem in problems]) == code


@pytest.mark.parametrize(
    "text",
    [
        "Кубок не поміщається у валізу, тому що він занадто великий. Вона подякувала Олені за допомогу і пішла додому.",
        "El trofeo no cabe en la maleta marrón porque es demasiado grande. Los concejales negaron el permiso a los "
        "manifestantes porque temían la violencia. Juana dio las gracias a Susana por la ayuda que le había dado.",
        "Il trofeo non entra nella valigia marrone perché è troppo grande. I consiglieri negarono il permesso ai "
        "manifestanti perché temevano la violenza. Anna ringraziò Susanna per l'aiuto che le aveva dato ieri sera.",
        "ถ้วยรางวัลใส่ในกระเป๋าเดินทางสีน้ำตาลไม่ได้เพราะมันใหญ่เกินไป",
        "De beker past niet in de koffer omdat hij te groot is.",
        "Die beker pas nie in die tas nie omdat dit te groot is.",
        "De Pokal passt net an de Koffer, well hien ze grouss ass.",
        "A copa non colle na maleta porque é moi grande. O can perseguiu o gato, pero el era máis rápido.",
        "Pohár se nevejde do kufru, protože je příliš velký.",
        "Кучето гонеше котката, но тя беше много бърза.",
        "La pokalo ne eniras la valizon, ĉar ĝi estas tro granda.",
        "Kopa ez da maletan sartzen handiegia delako.",
        "Puchar nie mieści się w walizce, ponieważ jest za duży.",
        "El perro persiguió al gato, pero era muy rápido.",
        "The trophy is too big for the case. Der Pokal ist zu groß für den Koffer, und er passt nicht in die Tasche. "
        "It was not the case that he had in the shop, but that was all.",
        "The trophy is too big for the case, and it was her fault. 奖杯太大了，放不进手提箱，因为他把它忘了。",
    ],
)
def test_a_neighbour_of_a_known_language_is_not_taken_for_it(text):
    assert detect([text]) == "und"


@pytest.mark.parametrize("word", ["con", "ale", "zen", "car", "muy"])
def test_a_foreign_word_in_a_sentence_of_english_changes_nothing(word):
    assert detect([f"The {word} was not bad, but she had to leave it."]) == "en"


@pytest.mark.parametrize("code", PACK_CODES)
def test_what_a_pack_does_not_know_is_refused_by_name(code):
    language = language_of(code)
    problem = Problem("Anna rief Maria, weil ", " fror.", ("Anna", "Maria"), 0, "sie", language=code)
    transforms = [no_cands, part_sent]
    if language.spaced:
        assert local_context(problem).language == code
    else:
        transforms.append(local_context)
    for transform in transforms:
        assert transform(problem).startswith("not for this language: no rules for ")
    (notes,) = left_out([code])
    assert notes.startswith(f"{language.name} ({code}) has no rules for these, so they are left out: names and genders")
    assert code in LANGUAGES


def test_lengths_without_spaces_are_counted_in_characters_and_said_so():
    problem = Problem("奖杯放不进箱子，因为", "太大了。", ("奖杯", "箱子"), 0, "它", language="zh")
    chinese = statistics(Dataset([problem]))
    thai = statistics(Dataset([problem.replace(language="th")]))
    assert chinese.mean_words == 15
    assert chinese.unit == "characters"
    assert thai.unit == "characters"
    english = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    assert statistics(Dataset([english])).unit == "words"
    assert statistics(Dataset([english, problem])).unit == "words or characters"


def twins_of(language, before, endings, candidates, pronoun):
    """Twins in a language with the given endings, of which the first has the first candidate as its answer."""
    twins = []
    for answer, after in enumerate(endings):
        twins.append(Problem(before, after, candidates, answer, pronoun, group="a", language=language))
    return Dataset(twins)


def test_structure_is_not_told_by_the_words_of_another_language():
    before = "奖杯放不进棕色的箱子里，因为"
    structure = Structure(twins_of("zh", before, ("太大了。", "太小了。"), ("奖杯", "箱子"), "它"))
    assert structure.groups == 0
    assert structure.judged == 0
    assert dict(structure.connective) == {}
    assert structure.blank_position == {"last third": 2}


def japanese_twins():
    endings = ("が約束したからだ。", "が遅れたからだ。")
    return twins_of("ja", "少年は教師を待った。", endings, ("少年", "教師たち"), "彼")


def test_an_audit_counts_letters_and_characters_where_there_are_no_words():
    run = winokit.audit(japanese_twins(), "random")
    protocols_and_subsets = {(row.protocol, row.subset) for row in run.metrics}
    protocols = {protocol for protocol, _ in protocols_and_subsets}
    assert ("length", "unequal") in protocols_and_subsets
    assert "structure" not in protocols
    (note,) = [note for note in run.settings["notes"] if "Japanese" in note]
    assert "switched, no-cands, part-sent, local-context" in note


def test_a_report_says_the_language_of_what_it_shows(tmp_path):
    winokit.audit(japanese_twins(), "random", out=tmp_path / "japanese")
    winokit.audit(winokit.load("open")[:2], "random", out=tmp_path / "english")
    japanese_page = (tmp_path / "japanese/report/problems/0.js").read_text("utf-8")
    english_page = (tmp_path / "english/report/problems/0.js").read_text("utf-8")
    assert '"ja"]' in japanese_page.replace(" ", "")
    assert '"en"]' not in english_page.replace(" ", "")


def test_a_language_without_spaces_and_without_a_pack_has_no_local_context():
    thai = Problem("ถ้วยรางวัลใส่ในกระเป๋าไม่ได้เพราะ", "ใหญ่เกินไป", ("ถ้วยรางวัล", "กระเป๋า"), 0, "มัน", language="th")
    assert local_context(thai) == "not for this language: there are no spaces between its words"


def test_special_words_of_japanese_are_not_cut_within_a_run_of_letters():
    special_problem = special_word_problem(*japanese_twins())
    assert special_problem.candidates == ("約束したからだ", "遅れたからだ")
    assert special_problem.language == "ja"
    assert special_problem.text == "少年は教師を待った。少年が_。"
