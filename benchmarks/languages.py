"""Measure how well candidates are found in each of XWinograd's languages, by English rules and by the language's own.

python benchmarks/languages.py [FILE] [--misses] [--quick]

FILE is XWinograd's dataset.tsv. Each text is searched for its own two candidates and for two of another problem that
it does not name. Candidates are sought as they would stand in a dictionary, not as they were cut out of the text: with
an article (English, French, Portuguese), in the nominative (Russian, from the table below, written by hand). What is
found inside the data's own span, or elsewhere in the same letters or in a form that was looked at and is one (`FORMS`),
is right; anything else is wrong.

Then each candidate is put into the blank: do spaces, capitals, elisions and contractions around it keep to the rules?
A possessive that a candidate merely replaces ("sua taça") does not.

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
    """Candidates that were found, of those that were sought."""

    sought: int = 0
    right: int = 0
    wrong: int = 0
    found: int = 0
    misses: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        precision = self.right / max(self.right + self.wrong, 1)
        return f"{self.found / self.sought:.3f} | {precision:.3f}"


def citation(candidate: str, language: Language) -> str:
    """A candidate as a dictionary has it."""
    if language.code == "ru":
        return NOMINATIVE.get(candidate, candidate)
    bare = language.core(candidate)
    if language.code not in ARTICLE or bare[:1].isupper():
        return candidate
    return ARTICLE[language.code][bare[0] in "aeiouéêàh"] + bare


def finding(problems: list[Problem], rules: Language) -> Found:
    """Find the candidates of problems by some rules, and count them."""
    counts = Found()
    for number, problem in enumerate(problems):
        own = language_of(problem.language)
        text, places = problem.sentence, problem.provenance["places"]
        sought = [citation(candidate, own) for candidate in problem.candidates]
        others = [*problems[number + 1 :], *problems]
        decoys = next(names for other in others if (names := list(unnamed(other, text, sought, own))))
        mentions = rules.mentions(text, (*sought, *decoys))
        for index, name in enumerate((*sought, *decoys)):
            stood = [(m.start, m.end) for m in mentions if m.candidate == index]
            meant = [places[index]] if index < 2 else []
            same = {own.bare(text[a:b]) for a, b in meant}
            right = [(a, b) for a, b in stood if any(x <= a and b <= y for x, y in meant)]
            also = [
                (a, b) for a, b in stood if (a, b) not in right and (own.bare(text[a:b]) in same or text[a:b] in FORMS)
            ]
            wrong = [text[a:b] for a, b in stood if (a, b) not in (*right, *also)]
            counts.right += len(right) + len(also)
            counts.wrong += len(wrong)
            counts.sought += index < 2
            counts.found += bool(right)
            if wrong or (index < 2 and not right):
                counts.misses.append(f"{name!r} {f'wrongly found as {wrong}' if wrong else 'not found'}: {text}")
    return counts


def unnamed(problem: Problem, text: str, sought: list[str], language: Language) -> Iterator[str]:
    """The candidates of a problem that another does not have."""
    known = {language.bare(name) for name in sought}
    for candidate in problem.candidates:
        name = citation(candidate, language)
        absent = not any(language.core(form).casefold() in text.casefold() for form in (candidate, name))
        if absent and language.bare(name) not in known:
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
    """Whether a candidate stands in the text as it could not."""
    language = language_of(problem.language)
    near = filled.before[-12:] + filled.candidate + filled.after[:2]
    if language.spaced:
        edges = (filled.before[-1:], filled.candidate[:1]), (filled.candidate[-1:], filled.after[:1])
        opens, first = language.opens_sentence(filled.before), re.split(r"[\s'’]", filled.candidate)[0]
        wrong_case = (
            not first[:1].isupper() if opens else first[:1].isupper() and first.casefold() in language.determiners
        )
        joined = any(one.isalnum() and other.isalnum() for one, other in edges) or re.match(r" [.,]", filled.after)
        rules = BAD_JOINS.get(problem.language, "(?!)")
        possessive = problem.language != "en" and (problem.pronoun or "").casefold() in POSSESSIVES
        return bool(wrong_case or joined or possessive or re.search(rules, near, re.IGNORECASE))
    lost = re.fullmatch(r"(?:彼女|彼)([をにの]|は彼)", problem.pronoun or "")
    return " " in near.strip() or bool(lost and not filled.after.startswith(lost[1]))


def german() -> list[Problem]:
    """The twins of the tests, with the places that were marked in them by hand."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.german import TWINS, mentions, problem

    made = []
    for pair, which in TWINS:
        twin = problem(pair, which)
        longer = len(twin.pronoun or "_") - 1  # marked in the text with its blank, sought in the one with its pronoun
        shifts = [(start, end, longer * (start > len(twin.before))) for _, start, end in sorted(mentions(pair, which))]
        made.append(twin.replace(provenance={"places": [(start + by, end + by) for start, end, by in shifts]}))
    return made


def main() -> None:
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    named = [Path(argument) for argument in sys.argv[1:] if argument not in ("--misses", "--quick")]
    path = named[0] if named else folder / "xwinograd" / "dataset.tsv"
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
        problems = problems[: 20 if "--quick" in sys.argv else None]
        before, now = finding(problems, english), finding(problems, language_of(code))
        filled = 2 * len(problems)
        joins = [1 - len(bad_joins(problems, plainly=plainly)) / filled for plainly in (True, False)]
        shares = " | ".join(f"{share:.3f}" for share in joins)
        print(f"| {language_of(code)} | {len(problems):,} | {before} | {now} | {shares} |")
        if "--misses" in sys.argv:
            print("\n".join(now.misses), *bad_joins(problems, plainly=False), sep="\n")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
