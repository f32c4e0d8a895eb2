"""Measure how well candidates are found in each of XWinograd's languages, by English rules and by the language's own.

python benchmarks/languages.py [FILE] [--misses] [--quick]

FILE is XWinograd's dataset.tsv. Each text is searched for its own two candidates and for two of another problem that
it does not name. Candidates are sought as they would stand in a dictionary, not as they were cut out of the text: with
an article (English, French, Portuguese), in the nominative (Russian, from the table below, written by hand). What is
found inside the data's own span, or elsewhere in the same letters or in a form that was looked at and is one (`FORMS`),
is right; anything else is wrong.

Then each candidate is put into the blank, and texts are counted in which spaces, capitals, elisions and contractions
around it keep to the rules. A possessive that a candidate merely replaces ("sua taça") does not.

German, which XWinograd does not have, is measured on the twins that were written for its tests.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from winokit.data.formats import read
from winokit.methods.transforms.substitute import Filled, substitute
from winokit.problem import Problem
from winokit.text.language import Language, language_of

NOMINATIVES = """
Адама Адам/Адамом Адам/Алисой Алиса/Арнольда Арнольд/Артура и Селесты=Артур и Селеста/Билла Билл/Биллу Билл/
Георгию Георгий/Даше Даша/Джима Джим/Джону Джон/Джорджа Линкольна=Джордж Линкольн/Донной Донна/Дору Дора/
Кевина Кевин/Ксенофане Ксенофан/Купера Купер/Люды Люда/Люка Люк/Марку Марк/Мартину Мартин/Матери Матери/
Машу Маша/Овидия Овидий/Ральфа Ральф/Ральфу Ральф/Роберта Роберт/Рэю Рэй/Сашу Саша/Стива Стив/Сэма Сэм/
Сэмом Гудманом=Сэм Гудман/Сюзанны Сюзанна/Тома Том/Уоррена Уоррен/Фреда Фред/Фрименов Фримены/Фрэнка Фрэнк/
Чарльза Чарльз/Честера Честер/Шатову Шатов/Шекспира Шекспир/Шекспиру Шекспир/Эдварда Эдвард/Эдварду Эдвард/
Эммы Эмма/Эрику Эрик/Якутску Якутск/актеров актеры/бабушке бабушка/бармену бармен/библиотеку библиотека/
бородача бородач/булавку булавка/бутылку бутылка/вазу ваза/вещах вещи/города город/
государственному чиновнику=государственный чиновник/грабителя грабитель/двумя гитарами и волынкой=две гитары и волынка/
девочку девочка/детективу детектив/доктора Варди=доктор Варди/дочери дочь/дошколятами дошколята/друзей друзья/
дяди Вернона=дядя Вернон/дядю дядя/зале зал/инструкторшу инструкторша/капитана капитан/картине картина/
картиной Тани=картина Тани/кастрюлю кастрюля/клерков клерки/клиента клиент/комнатах комнаты/концерта концерт/
костылях костыли/кошку кошка/куртку куртка/лебедку лебедка/лимонами лимоны/лимонных деревьях=лимонные деревья/
лужайку лужайка/магазинчиками магазинчики/мальчика мальчик/мистера Сингера=мистер Сингер/
молодого джентльмена=молодой джентльмен/морковку морковка/мусором мусор/мышки мышка/нового грума=новый грум/
овцами овцы/оппонентов оппоненты/организаторам митинга=организаторы митинга/отца отец/пакетом пакет/папе папа/
пастухов пастухи/пилу пила/плане план/плотву плотва/подкову подкова/покровительницы покровительница/
полицейских полицейские/полки полка/полку полка/полу пол/попкорна попкорн/поселенцев поселенцы/праздника праздник/
прудом пруд/пуделем пудель/
размеру размер/расстоянии расстояние/роялю рояль/руку рука/рыб рыбы/салата салат/столом стол/сумки сумка/сценой сцена/
сына сын/топором топор/улыбкой улыбка/уткой утка/форме форма/хвостом хвост/цыплят цыплята/черного коня=черный конь/
членов банды=члены банды/экономку экономка/электричку электричка/яхты яхта
"""
NOMINATIVE = dict(
    re.split(r"=| (?=[^ ]*$)", pair.strip(), maxsplit=1) for pair in NOMINATIVES.split("/") if pair.strip()
)
ARTICLE = {"en": ("the ", "the "), "fr": ("le ", "l'"), "pt": ("o ", "o ")}
FORMS = frozenset(
    "Чарльз Адаму отцом Эдварда Эдварду папа Доры капитан мальчик книгу Чарльза Питу альбоме Дика".split()
)
POSSESSIVES = frozenset("son sa ses leur leurs seu sua seus suas".split())
BAD_JOINS = {
    "fr": r"\b(?:de les?|à les?)\b|\b(?:qu|lorsqu|puisqu|d)['’](?![aeiouyàâäéèêëîïôöûüœh])|\b(?:que|de) (?=[aeéèêiou])",
    "pt": r"\b(?:de|em|por) [oa]s? ",
}


@dataclass
class Found:
    """Counts of candidates in texts, and of the mentions that were found."""

    sought: int = 0
    """Candidates of the texts themselves."""
    right: int = 0
    """Mentions that are right."""
    wrong: int = 0
    """Mentions that are wrong, also of other problems' candidates."""
    found: int = 0
    """Sought candidates that were found in their own place."""
    misses: list[str] = field(default_factory=list)
    """A line per candidate that was not found, or found wrongly."""

    def __str__(self) -> str:
        """Recall and precision, as two cells of a table."""
        precision = self.right / max(self.right + self.wrong, 1)
        return f"{self.found / self.sought:.3f} | {precision:.3f}"


def citation(candidate: str, language: Language) -> str:
    """Dictionary form of a candidate."""
    if language.code == "ru":
        return NOMINATIVE.get(candidate, candidate)
    bare = language.core(candidate)
    if language.code not in ARTICLE or bare[:1].isupper():
        return candidate
    return ARTICLE[language.code][bare[0] in "aeiouéêàh"] + bare


def finding(problems: list[Problem], rules: Language) -> Found:
    """Count the mentions of problems' candidates that `rules` find in the problems' texts.

    Each text is also searched for candidates of another problem that it does not name.
    """
    counts = Found()
    for number, problem in enumerate(problems):
        language = language_of(problem.language)
        sought = [citation(candidate, language) for candidate in problem.candidates]
        decoys = decoys_of(problem, sought, [*problems[number + 1 :], *problems])
        names = (*sought, *decoys)
        mentions = rules.mentions(problem.sentence, names)
        for index, name in enumerate(names):
            places = [(mention.start, mention.end) for mention in mentions if mention.candidate == index]
            marked_place = problem.provenance["places"][index] if index < 2 else None
            count_mentions(counts, problem, name, places, marked_place)
    return counts


def decoys_of(problem: Problem, sought: list[str], others: list[Problem]) -> list[str]:
    """Dictionary forms of the first other problem's candidates that are not in the text of `problem`."""
    language = language_of(problem.language)
    for other in others:
        names = list(unnamed(other, problem.sentence, sought, language))
        if names:
            return names
    raise ValueError(f"no other problem has a candidate that is not in {problem.sentence!r}")


Span = tuple[int, int]
"""Start and end in a text."""


def count_mentions(counts: Found, problem: Problem, name: str, places: list[Span], marked_place: Span | None) -> None:
    """Add the places where a name was found to the counts.

    `marked_place` is the candidate's place in the data, None for a candidate of another problem.
    """
    text = problem.sentence
    language = language_of(problem.language)
    marked_word = None
    if marked_place is not None:
        marked_word = language.bare(text[slice(*marked_place)])
    is_found = False
    wrong_words = []
    for start, end in places:
        word = text[start:end]
        if marked_place is not None and marked_place[0] <= start and end <= marked_place[1]:
            is_found = True
            counts.right += 1
        elif language.bare(word) == marked_word or word in FORMS:
            counts.right += 1
        else:
            wrong_words.append(word)
    counts.wrong += len(wrong_words)
    counts.sought += marked_place is not None
    counts.found += is_found
    if wrong_words:
        counts.misses.append(f"{name!r} wrongly found as {wrong_words}: {text}")
    elif marked_place is not None and not is_found:
        counts.misses.append(f"{name!r} not found: {text}")


def unnamed(problem: Problem, text: str, sought: list[str], language: Language) -> Iterator[str]:
    """Dictionary forms of a problem's candidates that are neither in a text nor among the names sought in it."""
    sought_words = {language.bare(name) for name in sought}
    for candidate in problem.candidates:
        name = citation(candidate, language)
        is_in_text = any(language.core(form).casefold() in text.casefold() for form in (candidate, name))
        if not is_in_text and language.bare(name) not in sought_words:
            yield name


def bad_joins(problems: list[Problem], *, plainly: bool) -> list[str]:
    """Filled texts with a join that the language does not have.

    With `plainly`, texts are filled by replacing the pronoun only.
    """
    bad = []
    for problem in problems:
        for candidate in problem.candidates:
            filled = substitute(problem, candidate)
            if plainly:
                filled = Filled(problem.before, candidate, problem.after)
            if is_bad_join(problem, candidate, filled):
                bad.append(filled.text)
    return bad


def is_bad_join(problem: Problem, candidate: str, filled: Filled) -> bool:
    """Whether the join of a candidate and its text breaks a rule of the language."""
    language = language_of(problem.language)
    near = filled.before[-12:] + filled.candidate + filled.after[:2]
    if not language.spaced:
        particle = re.fullmatch(r"(?:彼女|彼)([をにの]|は彼)", problem.pronoun or "")
        is_particle_lost = particle is not None and not filled.after.startswith(particle[1])
        return " " in near.strip() or is_particle_lost
    if is_wrong_case(filled, language) or is_joined_to_a_neighbour(filled):
        return True
    if problem.language != "en" and (problem.pronoun or "").casefold() in POSSESSIVES:
        return True
    pattern = BAD_JOINS.get(problem.language)
    return pattern is not None and re.search(pattern, near, re.IGNORECASE) is not None


def is_wrong_case(filled: Filled, language: Language) -> bool:
    """Whether a candidate is small at the beginning of a sentence, or its article is capital elsewhere."""
    first_word = re.split(r"[\s'’]", filled.candidate)[0]
    is_capital = first_word[:1].isupper()
    if language.opens_sentence(filled.before):
        return not is_capital
    return is_capital and first_word.casefold() in language.determiners


def is_joined_to_a_neighbour(filled: Filled) -> bool:
    """Whether there is no space between a candidate and a word beside it, or one before a full stop or comma."""
    edges = [
        (filled.before[-1:], filled.candidate[:1]),
        (filled.candidate[-1:], filled.after[:1]),
    ]
    is_joined = any(left.isalnum() and right.isalnum() for left, right in edges)
    return is_joined or re.match(r" [.,]", filled.after) is not None


def german() -> list[Problem]:
    """Twins of the tests, with the places that were marked in them by hand."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.german import TWINS, mentions, problem

    twins = []
    for pair, which in TWINS:
        twin = problem(pair, which)
        # Places are marked in the text with its blank, and sought in the one with its pronoun.
        pronoun_shift = len(twin.pronoun or "_") - 1
        places = []
        for _, start, end in sorted(mentions(pair, which)):
            shift = pronoun_shift if start > len(twin.before) else 0
            places.append((start + shift, end + shift))
        twins.append(twin.replace(provenance={"places": places}))
    return twins


def main() -> None:
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    paths = [Path(argument) for argument in sys.argv[1:] if argument not in ("--misses", "--quick")]
    path = paths[0] if paths else folder / "xwinograd" / "dataset.tsv"
    if not path.exists():
        print(f"languages: skipped, {path.name} is not there; set WINOKIT_DATA or name the file")
        return
    everything = read(path, "xwinograd")
    english = language_of("en")
    print("| language | problems | recall, English rules | precision | recall, own | precision | joins, plain | own |")
    print("|---|---|---|---|---|---|---|---|")
    everything = everything.with_problems([*everything, *german()])
    for code in everything.languages:
        problems = [problem for problem in everything if problem.language == code]
        if "--quick" in sys.argv:
            problems = problems[:20]
        by_english_rules = finding(problems, english)
        by_own_rules = finding(problems, language_of(code))
        text_count = 2 * len(problems)
        bad_plain_texts = bad_joins(problems, plainly=True)
        bad_texts = bad_joins(problems, plainly=False)
        shares = f"{1 - len(bad_plain_texts) / text_count:.3f} | {1 - len(bad_texts) / text_count:.3f}"
        print(f"| {language_of(code)} | {len(problems):,} | {by_english_rules} | {by_own_rules} | {shares} |")
        if "--misses" in sys.argv:
            print("\n".join(by_own_rules.misses), *bad_texts, sep="\n")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
