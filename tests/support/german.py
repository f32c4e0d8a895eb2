"""German twins, written for these tests by the authors of winokit: nobody's benchmark, and no translation of one.

A pair is written once. `<…>` are the mentions of the first candidate, `[…]` those of the second, `_` is the blank, and
`{one|other}` is the special word of either twin: the first candidate is right in the first, the second in the second.
What comes after `|` is where the blank stands: `filled` has it with either candidate in the blank, in full. `switched`
is the whole text with the candidates in each other's places, or, after a `!`, why there is none.
"""

import re
from dataclasses import dataclass

from winokit.problem import Problem


@dataclass(frozen=True)
class Pair:
    candidates: tuple[str, str]
    pronoun: str | None
    text: str
    filled: tuple[str, str]
    switched: str


PAIRS = (
    Pair(
        ("der Pokal", "der Koffer"),
        "er",
        "Der <Pokal> passt nicht in den [Koffer], |weil _ zu {groß|klein} ist.",
        ("weil der Pokal zu {groß|klein} ist.", "weil der Koffer zu {groß|klein} ist."),
        "Der Koffer passt nicht in den Pokal, weil _ zu {groß|klein} ist.",
    ),
    Pair(
        ("Peter", "Jonas"),
        "er",
        "<Peter> half [Jonas] gestern beim Umzug, |weil _ {stark|krank} war.",
        ("weil Peter {stark|krank} war.", "weil Jonas {stark|krank} war."),
        "Jonas half Peter gestern beim Umzug, weil _ {stark|krank} war.",
    ),
    Pair(
        ("Anna", "Lena"),
        "sie",
        "<Anna> fuhr mit [Lenas] Fahrrad zur Arbeit, |weil _ {spät dran|verreist} war.",
        ("weil Anna {spät dran|verreist} war.", "weil Lena {spät dran|verreist} war."),
        "Lena fuhr mit Annas Fahrrad zur Arbeit, weil _ {spät dran|verreist} war.",
    ),
    Pair(
        ("Hans", "Peter"),
        "seine",
        "<Hans> besuchte [Peter] im Krankenhaus, |weil _ Mutter {ihn geschickt hatte|dort operiert wurde}.",
        (
            "weil Hans' Mutter {ihn geschickt hatte|dort operiert wurde}.",
            "weil Peters Mutter {ihn geschickt hatte|dort operiert wurde}.",
        ),
        "Peter besuchte Hans im Krankenhaus, weil _ Mutter {ihn geschickt hatte|dort operiert wurde}.",
    ),
    Pair(
        ("Max", "Moritz"),
        "er",
        "<Max>' Hund biss in [Moritz]' Schuh, |und _ {entschuldigte sich|beschwerte sich}.",
        ("und Max {entschuldigte sich|beschwerte sich}.", "und Moritz {entschuldigte sich|beschwerte sich}."),
        "Moritz' Hund biss in Max' Schuh, und _ {entschuldigte sich|beschwerte sich}.",
    ),
    Pair(
        ("die Vase", "die Lampe"),
        "sie",
        "Das Regal trug die <Vase>, aber nicht die [Lampe], |denn _ war {leicht|schwer}.",
        ("denn die Vase war {leicht|schwer}.", "denn die Lampe war {leicht|schwer}."),
        "Das Regal trug die Lampe, aber nicht die Vase, denn _ war {leicht|schwer}.",
    ),
    Pair(
        ("das Kind", "das Pferd"),
        "es",
        "Das <Kind> lief vor dem [Pferd] davon, |weil _ {weinte|schnaubte}.",
        ("weil das Kind {weinte|schnaubte}.", "weil das Pferd {weinte|schnaubte}."),
        "Das Pferd lief vor dem Kind davon, weil _ {weinte|schnaubte}.",
    ),
    Pair(
        ("der Lehrer", "der Schüler"),
        "ihn",
        "Der <Lehrer> rief den [Schüler] herein, |bevor der Direktor _ {ablöste|bestrafte}.",
        (
            "bevor der Direktor den Lehrer {ablöste|bestrafte}.",
            "bevor der Direktor den Schüler {ablöste|bestrafte}.",
        ),
        "Der Schüler rief den Lehrer herein, bevor der Direktor _ {ablöste|bestrafte}.",
    ),
    Pair(
        ("der Student", "der Nachbar"),
        "ihm",
        "Der <Student> gab dem [Nachbarn] die Leiter, |weil so etwas _ {gehörte|fehlte}.",
        ("weil so etwas dem Studenten {gehörte|fehlte}.", "weil so etwas dem Nachbarn {gehörte|fehlte}."),
        "Der Nachbar gab dem Studenten die Leiter, weil so etwas _ {gehörte|fehlte}.",
    ),
    Pair(
        ("die Ärztin", "die Patientin"),
        "ihr",
        "Die <Ärztin> rief die [Patientin] an, |weil das Labor _ die Werte {gab|verschwieg}.",
        (
            "weil das Labor der Ärztin die Werte {gab|verschwieg}.",
            "weil das Labor der Patientin die Werte {gab|verschwieg}.",
        ),
        "Die Patientin rief die Ärztin an, weil das Labor _ die Werte {gab|verschwieg}.",
    ),
    Pair(
        ("die Kinder", "die Hunde"),
        "ihnen",
        "Die <Kinder> wichen den [Hunden] aus, |weil jemand _ {Angst|Futter} gegeben hatte.",
        (
            "weil jemand den Kindern {Angst|Futter} gegeben hatte.",
            "weil jemand den Hunden {Angst|Futter} gegeben hatte.",
        ),
        "Die Hunde wichen den Kindern aus, weil jemand _ {Angst|Futter} gegeben hatte.",
    ),
    Pair(
        ("der Koffer", "die Tasche"),
        None,
        "Der <Koffer> passt nicht in die [Tasche], |weil _ zu {breit|eng} ist.",
        ("weil der Koffer zu {breit|eng} ist.", "weil die Tasche zu {breit|eng} ist."),
        "Die Tasche passt nicht in den Koffer, weil _ zu {breit|eng} ist.",
    ),
    Pair(
        ("die Katze", "der Hund"),
        None,
        "Die <Katze> jagt den [Hund] durch den Garten, |weil _ {wütend|ängstlich} ist.",
        ("weil die Katze {wütend|ängstlich} ist.", "weil der Hund {wütend|ängstlich} ist."),
        "!the case of 'Die Katze' is not visible",
    ),
    Pair(
        ("der Koffer", "der Rucksack"),
        "er",
        "Im <Koffer> war mehr Platz als im [Rucksack], |obwohl _ {kleiner|größer} war.",
        ("obwohl der Koffer {kleiner|größer} war.", "obwohl der Rucksack {kleiner|größer} war."),
        "Im Rucksack war mehr Platz als im Koffer, obwohl _ {kleiner|größer} war.",
    ),
    Pair(
        ("der Korb", "die Kiste"),
        None,
        "Im <Korb> liegt mehr Obst als in der [Kiste], |weil _ {leer|voll} gewesen ist.",
        ("weil der Korb {leer|voll} gewesen ist.", "weil die Kiste {leer|voll} gewesen ist."),
        "In der Kiste liegt mehr Obst als im Korb, weil _ {leer|voll} gewesen ist.",
    ),
    Pair(
        ("der große Hund", "der kleine Kater"),
        "er",
        "Der <große Hund> knurrte den [kleinen Kater] an, |weil _ {zornig|frech} war.",
        ("weil der große Hund {zornig|frech} war.", "weil der kleine Kater {zornig|frech} war."),
        "Der kleine Kater knurrte den großen Hund an, weil _ {zornig|frech} war.",
    ),
    Pair(
        ("ein Junge", "ein alter Mann"),
        "er",
        "Ein <Junge> gab einem [alten Mann] den Sitzplatz, |weil _ {höflich|müde} war.",
        ("weil ein Junge {höflich|müde} war.", "weil ein alter Mann {höflich|müde} war."),
        "Ein alter Mann gab einem Jungen den Sitzplatz, weil _ {höflich|müde} war.",
    ),
    Pair(
        ("meine Tante", "meine Schwägerin"),
        "sie",
        "<Meine Tante> half [meiner Schwägerin] beim Kochen, |obwohl _ {müde|gesund} war.",
        ("obwohl meine Tante {müde|gesund} war.", "obwohl meine Schwägerin {müde|gesund} war."),
        "Meine Schwägerin half meiner Tante beim Kochen, obwohl _ {müde|gesund} war.",
    ),
    Pair(
        ("der Präsident", "der Student"),
        "er",
        "Der <Präsident> lobte die Rede des [Studenten], |weil _ {gerührt|redegewandt} war.",
        ("weil der Präsident {gerührt|redegewandt} war.", "weil der Student {gerührt|redegewandt} war."),
        "Der Student lobte die Rede des Präsidenten, weil _ {gerührt|redegewandt} war.",
    ),
    Pair(
        ("die Bälle", "die Stühle"),
        "sie",
        "Die <Bälle> rollten unter die [Stühle], |weil jemand _ {angestoßen|hochgehoben} hatte.",
        (
            "weil jemand die Bälle {angestoßen|hochgehoben} hatte.",
            "weil jemand die Stühle {angestoßen|hochgehoben} hatte.",
        ),
        "Die Stühle rollten unter die Bälle, weil jemand _ {angestoßen|hochgehoben} hatte.",
    ),
    Pair(
        ("der Bus", "der Lastwagen"),
        "er",
        "Draußen auf der großen Straße überholte der <Bus> den [Lastwagen], |weil _ {schneller|langsamer} fuhr.",
        ("weil der Bus {schneller|langsamer} fuhr.", "weil der Lastwagen {schneller|langsamer} fuhr."),
        "Draußen auf der großen Straße überholte der Lastwagen den Bus, weil _ {schneller|langsamer} fuhr.",
    ),
    Pair(
        ("der Koffer", "der Rucksack"),
        "ihn",
        "Der <Koffer> drückte im Kofferraum auf den [Rucksack], |bis der Fahrer _ {anhob|hervorzog}.",
        ("bis der Fahrer den Koffer {anhob|hervorzog}.", "bis der Fahrer den Rucksack {anhob|hervorzog}."),
        "Der Rucksack drückte im Kofferraum auf den Koffer, bis der Fahrer _ {anhob|hervorzog}.",
    ),
    Pair(
        ("der Angestellte", "der Vorsitzende"),
        "er",
        "Der <Angestellte> widersprach dem [Vorsitzenden], |weil _ es besser {wusste|verschwieg}.",
        (
            "weil der Angestellte es besser {wusste|verschwieg}.",
            "weil der Vorsitzende es besser {wusste|verschwieg}.",
        ),
        "Der Vorsitzende widersprach dem Angestellten, weil _ es besser {wusste|verschwieg}.",
    ),
    Pair(
        ("der Maler", "der Tischler"),
        "dieser",
        "Der <Maler> bezahlte den [Tischler] erst spät, |denn _ hatte {wenig Geld|schlecht gearbeitet}.",
        (
            "denn der Maler hatte {wenig Geld|schlecht gearbeitet}.",
            "denn der Tischler hatte {wenig Geld|schlecht gearbeitet}.",
        ),
        "Der Tischler bezahlte den Maler erst spät, denn _ hatte {wenig Geld|schlecht gearbeitet}.",
    ),
    Pair(
        ("der Bäcker", "der Müller"),
        "dessen",
        "Der <Bäcker> kauft Mehl beim [Müller], |weil _ Säcke {leer|günstig} sind.",
        ("weil des Bäckers Säcke {leer|günstig} sind.", "weil des Müllers Säcke {leer|günstig} sind."),
        "Der Müller kauft Mehl beim Bäcker, weil _ Säcke {leer|günstig} sind.",
    ),
    Pair(
        ("der Korb", "der Eimer"),
        "darin",
        "Der <Korb> steht höher als der [Eimer], |weil _ {Brot|Wasser} ist.",
        ("weil in dem Korb {Brot|Wasser} ist.", "weil in dem Eimer {Brot|Wasser} ist."),
        "Der Eimer steht höher als der Korb, weil _ {Brot|Wasser} ist.",
    ),
    Pair(
        ("Karl", "Stefan"),
        "seinem",
        "<Karl> fuhr [Stefan] zum Bahnhof, |da mit _ alten Auto {alles in Ordnung|etwas nicht in Ordnung} war.",
        (
            "da mit Karls altem Auto {alles in Ordnung|etwas nicht in Ordnung} war.",
            "da mit Stefans altem Auto {alles in Ordnung|etwas nicht in Ordnung} war.",
        ),
        "Stefan fuhr Karl zum Bahnhof, da mit _ alten Auto {alles in Ordnung|etwas nicht in Ordnung} war.",
    ),
    Pair(
        ("der Koffer", "der Rucksack"),
        "sein",
        "Der <Koffer> kostet mehr als der [Rucksack], |weil _ Schnitt {schick|schlicht} ist.",
        ("weil des Koffers Schnitt {schick|schlicht} ist.", "weil des Rucksacks Schnitt {schick|schlicht} ist."),
        "Der Rucksack kostet mehr als der Koffer, weil _ Schnitt {schick|schlicht} ist.",
    ),
    Pair(
        ("der Chef", "der Kollege"),
        "sein",
        "Der <Chef> gab dem [Kollegen] ein Büro, |weil _ neuer Vertrag es {zuließ|verlangte}.",
        (
            "weil der neue Vertrag des Chefs es {zuließ|verlangte}.",
            "weil der neue Vertrag des Kollegen es {zuließ|verlangte}.",
        ),
        "Der Kollege gab dem Chef ein Büro, weil _ neuer Vertrag es {zuließ|verlangte}.",
    ),
    Pair(
        ("die Eltern", "die Nachbarn"),
        "ihre",
        "Die <Eltern> luden die [Nachbarn] zum Essen ein, |weil _ neue Küche {fertig|kaputt} war.",
        (
            "weil die neue Küche der Eltern {fertig|kaputt} war.",
            "weil die neue Küche der Nachbarn {fertig|kaputt} war.",
        ),
        "Die Nachbarn luden die Eltern zum Essen ein, weil _ neue Küche {fertig|kaputt} war.",
    ),
    Pair(
        ("die Trainerin", "die Läuferin"),
        "Sie",
        "Die <Trainerin> sprach lange mit der [Läuferin]. |_ war {streng|verletzt}.",
        ("Die Trainerin war {streng|verletzt}.", "Die Läuferin war {streng|verletzt}."),
        "Die Läuferin sprach lange mit der Trainerin. _ war {streng|verletzt}.",
    ),
    Pair(
        ("Herr Weber", "Herr Krause"),
        "er",
        "<Herr Weber> dankte [Herrn Krause] für die Hilfe, |weil _ allein {gescheitert|erschienen} war.",
        (
            "weil Herr Weber allein {gescheitert|erschienen} war.",
            "weil Herr Krause allein {gescheitert|erschienen} war.",
        ),
        "Herr Krause dankte Herrn Weber für die Hilfe, weil _ allein {gescheitert|erschienen} war.",
    ),
    Pair(
        ("der Hund", "der Ball"),
        "er",
        "Der <Hund> sprang auf den [Ball], obwohl dort viele Bälle lagen, |weil _ {spielte|glänzte}.",
        ("weil der Hund {spielte|glänzte}.", "weil der Ball {spielte|glänzte}."),
        "!a candidate may be meant by other words too",
    ),
    Pair(
        ("die Mutter", "die Kinder"),
        "sie",
        "Die <Mutter> wartete lange auf die [Kinder], |weil _ {Geduld hatte|noch spielten}.",
        ("weil die Mutter {Geduld hatte|noch spielten}.", "weil die Kinder {Geduld hatte|noch spielten}."),
        "!one candidate is plural, the other is not",
    ),
    Pair(
        ("Peter", "der Hund"),
        "er",
        "<Peter> bemerkte den [Hund] zuerst, |weil _ {wachsam war|laut bellte}.",
        ("weil Peter {wachsam war|laut bellte}.", "weil der Hund {wachsam war|laut bellte}."),
        "!the case of 'Peter' is not visible",
    ),
    Pair(
        ("der Arzt", "Peter"),
        "er",
        "Der <Arzt> spielte gegen [Peter] Schach, |und am Ende {gewann _|weinte _}.",
        ("und am Ende {gewann der Arzt|weinte der Arzt}.", "und am Ende {gewann Peter|weinte Peter}."),
        "Peter spielte gegen den Arzt Schach, und am Ende {gewann _|weinte _}.",
    ),
    Pair(
        ("der Stein", "der Balken"),
        "er",
        "|Weil _ zu {schwer|schwach} war, brach der [Balken] unter dem <Stein>.",
        (
            "Weil der Stein zu {schwer|schwach} war, brach der Balken unter dem Stein.",
            "Weil der Balken zu {schwer|schwach} war, brach der Balken unter dem Stein.",
        ),
        "Weil _ zu {schwer|schwach} war, brach der Stein unter dem Balken.",
    ),
)


def twin(text: str, which: int) -> str:
    """A text with the special word of one of the twins."""
    return re.sub(r"\{(.*?)\|(.*?)\}", lambda match: match[which + 1], text)


def unmarked(text: str) -> str:
    return re.sub(r"[<>\[\]]|\|(?![^{]*\})", "", text)


def problem(pair: Pair, which: int) -> Problem:
    before, after = twin(unmarked(pair.text), which).split("_")
    return Problem(before, after, pair.candidates, which, pair.pronoun, language="de")


def filled(pair: Pair, which: int, candidate: int) -> str:
    """The text as it should read with a candidate in the blank."""
    head = re.split(r"\|(?![^{]*\})", pair.text)[0]
    return unmarked(head) + twin(pair.filled[candidate], which)


def mentions(pair: Pair, which: int) -> list[tuple[int, int, int]]:
    """Candidate, start and end of every mention, in the text with its blank."""
    text = re.sub(r"\|(?![^{]*\})", "", pair.text)
    places = []
    opened = 0
    plain = ""
    for character in twin(text, which):
        if character in "<[":
            opened = len(plain)
        elif character in ">]":
            places.append((int(character == "]"), opened, len(plain)))
        else:
            plain += character
    return places


TWINS = [(pair, which) for pair in PAIRS for which in (0, 1)]
