"""Winogender (Rudinger et al., 2018): 720 sentences, or the 120 templates they come from, as TSV.

A sentence's id, occupation.participant.answer.gender.txt, holds its answer (0 = occupation); that is the only place the
format has for it. Where occupations-stats.tsv stands beside the file, each problem is labelled with the share of
women in its occupation (US Bureau of Labor Statistics, which the paper's "gotcha" flags use, and Bergsma's).
"""

import re
from collections.abc import Callable, Iterable, Iterator

from winokit.data.formats.base import Render, WriteOptions, native_format, need_answer, need_no_query, need_pronoun
from winokit.data.formats.source import Source, read_bytes
from winokit.errors import CannotWrite, Malformed
from winokit.problem import Problem

PRONOUNS = {
    "NOM": {"male": "he", "female": "she", "neutral": "they"},
    "POSS": {"male": "his", "female": "her", "neutral": "their"},
    "ACC": {"male": "him", "female": "her", "neutral": "them"},
}
GENDERS = ("male", "female", "neutral")
GENDER = {word: gender for forms in PRONOUNS.values() for gender, word in forms.items()}
WORD = re.compile(r"\b(?:" + "|".join(GENDER) + r")\b")
PLACEHOLDER = re.compile(r"\$(NOM|POSS|ACC)_PRONOUN")
STATISTICS = "occupations-stats.tsv"


def parse_sentence(line: str) -> Problem:
    """A problem from a row of all_sentences.tsv."""
    sentid, tab, sentence = line.partition("\t")
    parts = sentid.split(".")
    if not tab or len(parts) != 5 or parts[2] not in ("0", "1") or parts[3] not in GENDERS:
        raise Malformed(
            f"expected an id like technician.customer.1.male.txt, a tab and the sentence, found {line[:60]!r}",
            field="sentid",
        )
    occupation, participant, answer, gender = parts[:4]
    places = [m for m in WORD.finditer(sentence) if GENDER[m.group()] == gender]
    if len(places) != 1:
        raise Malformed(f"expected exactly one {gender} pronoun, found {len(places)}", field="sentence")
    before = sentence[: places[0].start()]
    pronoun = places[0].group()
    after = sentence[places[0].end() :]
    labels = {"gender": gender, "template": f"{occupation}.{answer}"}
    return _problem(before, after, occupation, participant, answer, pronoun, **labels)


def parse_template(line: str) -> Problem:
    """A problem without a pronoun from a row of templates.tsv; its case (NOM, POSS, ACC) is a label."""
    parts = line.split("\t")
    if len(parts) != 4 or parts[2] not in ("0", "1"):
        raise Malformed(
            f"expected occupation, participant, answer 0/1 and template, with tabs, found {line[:60]!r}",
            field="answer",
        )
    occupation, participant, answer, template = parts
    places = PLACEHOLDER.findall(template)
    if len(places) != 1:
        raise Malformed(f"expected exactly one pronoun placeholder, found {len(places)}", field="sentence")
    before, case, after = PLACEHOLDER.split(template)
    names = {"$OCCUPATION": occupation, "$PARTICIPANT": participant}
    before, after = (re.sub(r"\$(?:OCCUPATION|PARTICIPANT)", lambda m: names[m[0]], part) for part in (before, after))
    return _problem(before, after, occupation, participant, answer, template=f"{occupation}.{answer}", case=case)


def _problem(
    before: str, after: str, occupation: str, participant: str, answer: str, pronoun: str | None = None, **labels: str
) -> Problem:
    """A problem from what a row of either file says."""
    named = {"occupation": occupation, "participant": participant}
    group = ".".join([occupation, participant, *([labels["gender"]] if "gender" in labels else [])])
    candidates = (_candidate(occupation), _candidate(participant))
    return Problem(before, after, candidates, int(answer), pronoun=pronoun, group=group, labels=named | labels)


def render_sentence(problem: Problem, options: WriteOptions) -> str:
    """A row of all_sentences.tsv."""
    need_no_query(problem, "winogender")
    need_pronoun(problem, "winogender")
    occupation, participant = _roles(problem)
    gender = problem.labels.get("gender") or GENDER.get((problem.pronoun or "").lower())
    if gender not in GENDERS:
        raise CannotWrite("winogender needs the label 'gender': male, female or neutral")
    answer = need_answer(problem, "winogender")
    return f"{occupation}.{participant}.{answer}.{gender}.txt\t{problem.sentence}"


def render_template(problem: Problem, options: WriteOptions) -> str:
    """A row of templates.tsv."""
    occupation, participant = _roles(problem)
    case = problem.labels.get("case")
    if case not in PRONOUNS:
        raise CannotWrite("winogender-templates needs the label 'case': NOM, POSS or ACC")
    text = f"{problem.before}${case}_PRONOUN{problem.after}"
    for word, name in ((occupation, r"$OCCUPATION"), (participant, r"$PARTICIPANT")):
        text = re.sub(rf"\b{re.escape(word)}\b", name, text, count=1)
    return f"{occupation}\t{participant}\t{need_answer(problem, 'winogender-templates')}\t{text}"


def _roles(problem: Problem) -> tuple[str, str]:
    try:
        return str(problem.labels["occupation"]), str(problem.labels["participant"])
    except KeyError as missing:
        raise CannotWrite(f"winogender needs the label {missing}") from None


def _candidate(role: str) -> str:
    return role if role == "someone" else f"the {role}"


def _with_statistics(source: Source, problems: Iterable[Problem]) -> Iterator[Problem]:
    path = source.path.with_name(STATISTICS)
    names = ("bergsma_pct_female", "bls_pct_female")
    lines = read_bytes(path).decode("utf-8", "replace").split("\n")[1:] if path.exists() else []
    statistics: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines, 2):
        if line.count("\t") >= 2:
            occupation, *shares = line.split("\t")
            try:
                statistics[occupation] = dict(zip(names, map(float, shares[:2]), strict=True))
            except ValueError:
                expected = "expected occupation and two percentages, with tabs"
                raise Malformed(expected, file=str(path), line=number) from None
    for problem in problems:
        yield problem.with_labels(**statistics.get(problem.labels["occupation"], {}))


def _add(name: str, about: str, header: str, parse: Callable[[str], Problem], render: Render) -> None:
    native_format(
        name,
        about,
        ".tsv",
        lambda head: bool(head.lines) and head.lines[0].strip() == header,
        lambda source: ((line, row) for line, row in source.lines() if row.strip() not in HEADERS),
        render,
        lambda rows: "\n".join([header, *rows]) + "\n",
        finish=_with_statistics,
    )(parse)


HEADERS = ("sentid\tsentence", "occupation(0)\tother-participant(1)\tanswer\tsentence")
_add(
    "winogender",
    "TSV: id with occupation, participant, answer and gender; sentence",
    HEADERS[0],
    parse_sentence,
    render_sentence,
)
_add(
    "winogender-templates",
    "TSV: occupation, participant, answer, template (120 templates make the 720 sentences)",
    HEADERS[1],
    parse_template,
    render_template,
)
