"""Winogender (Rudinger et al., 2018): 720 sentences, or their 120 templates, as TSV.

A sentence's id, occupation.participant.answer.gender.txt, holds its answer (0 = occupation); that is the only place the
format has for it. If occupations-stats.tsv is beside the file, each problem is labelled with the share of
women in its occupation (US Bureau of Labor Statistics, which the paper's "gotcha" flags use, and Bergsma's).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from winokit.data.formats.base import (
    FileHead,
    Render,
    WriteOptions,
    native_format,
    need_answer,
    need_no_query,
    need_pronoun,
)
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
    """Parse a row of Winogender's all_sentences.tsv into a problem.

    Raises Malformed unless the sentence has one pronoun of the gender in its id.
    """
    sentence_id, tab, sentence = line.partition("\t")
    parts = sentence_id.split(".")
    if not tab or len(parts) != 5 or parts[2] not in ("0", "1") or parts[3] not in GENDERS:
        raise Malformed(
            f"expected an id like technician.customer.1.male.txt, a tab and the sentence, found {line[:60]!r}",
            field="sentid",
        )
    occupation, participant, answer, gender, _ = parts
    pronouns = [match for match in WORD.finditer(sentence) if GENDER[match.group()] == gender]
    if len(pronouns) != 1:
        raise Malformed(f"expected exactly one {gender} pronoun, found {len(pronouns)}", field="sentence")
    pronoun = pronouns[0]
    before = sentence[: pronoun.start()]
    after = sentence[pronoun.end() :]
    labels = {"gender": gender, "template": f"{occupation}.{answer}"}
    return _make_problem(before, after, occupation, participant, answer, pronoun.group(), **labels)


def parse_template(line: str) -> Problem:
    """Parse a row of Winogender's templates.tsv into a problem without a pronoun.

    The pronoun's case (NOM, POSS, ACC) is a label.
    """
    parts = line.split("\t")
    if len(parts) != 4 or parts[2] not in ("0", "1"):
        raise Malformed(
            f"expected occupation, participant, answer 0/1 and template, with tabs, found {line[:60]!r}",
            field="answer",
        )
    occupation, participant, answer, template = parts
    placeholder_count = len(PLACEHOLDER.findall(template))
    if placeholder_count != 1:
        raise Malformed(f"expected exactly one pronoun placeholder, found {placeholder_count}", field="sentence")
    names = {"$OCCUPATION": occupation, "$PARTICIPANT": participant}

    def fill_roles(part: str) -> str:
        """A part of the template with occupation and participant filled in."""
        return re.sub(r"\$(?:OCCUPATION|PARTICIPANT)", lambda match: names[match[0]], part)

    before, case, after = PLACEHOLDER.split(template)
    labels = {"template": f"{occupation}.{answer}", "case": case}
    return _make_problem(fill_roles(before), fill_roles(after), occupation, participant, answer, **labels)


def _make_problem(
    before: str, after: str, occupation: str, participant: str, answer: str, pronoun: str | None = None, **labels: str
) -> Problem:
    """Make a problem from the cells of a row of either file.

    Parameters
    ----------
    answer
        "0" if the occupation is right, "1" if the participant is.
    pronoun
        None for a template.
    """
    roles = {"occupation": occupation, "participant": participant}
    group = f"{occupation}.{participant}"
    if "gender" in labels:
        group += f".{labels['gender']}"
    candidates = (_name_candidate(occupation), _name_candidate(participant))
    return Problem(before, after, candidates, int(answer), pronoun=pronoun, group=group, labels=roles | labels)


def render_sentence(problem: Problem, options: WriteOptions) -> str:
    """Turn a problem into a row of Winogender's all_sentences.tsv.

    Raises CannotWrite if answer, pronoun, gender or a role is not known.
    """
    need_no_query(problem, "winogender")
    need_pronoun(problem, "winogender")
    occupation, participant = _get_roles(problem)
    gender = problem.labels.get("gender") or GENDER.get((problem.pronoun or "").lower())
    if gender not in GENDERS:
        raise CannotWrite("winogender needs the label 'gender': male, female or neutral")
    answer = need_answer(problem, "winogender")
    return f"{occupation}.{participant}.{answer}.{gender}.txt\t{problem.sentence}"


def render_template(problem: Problem, options: WriteOptions) -> str:
    """Turn a problem into a row of Winogender's templates.tsv.

    Raises CannotWrite if the answer or the labels of roles and case are not known.
    """
    occupation, participant = _get_roles(problem)
    case = problem.labels.get("case")
    if case not in PRONOUNS:
        raise CannotWrite("winogender-templates needs the label 'case': NOM, POSS or ACC")
    template = f"{problem.before}${case}_PRONOUN{problem.after}"
    for word, name in ((occupation, r"$OCCUPATION"), (participant, r"$PARTICIPANT")):
        template = re.sub(rf"\b{re.escape(word)}\b", name, template, count=1)
    answer = need_answer(problem, "winogender-templates")
    return f"{occupation}\t{participant}\t{answer}\t{template}"


def _get_roles(problem: Problem) -> tuple[str, str]:
    """Occupation and participant from a problem's labels.

    Raises CannotWrite if one of the labels is missing.
    """
    try:
        return str(problem.labels["occupation"]), str(problem.labels["participant"])
    except KeyError as missing:
        raise CannotWrite(f"winogender needs the label {missing}") from None


def _name_candidate(role: str) -> str:
    """A role as a candidate: "the customer", but "someone"."""
    return role if role == "someone" else f"the {role}"


def _add_statistics(source: Source, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Label problems with the percentages of women in their occupation.

    The percentages are in a table beside the file. Without that table, or without their occupation in it, problems
    are unchanged. Yields all problems.
    """
    path = source.path.with_name(STATISTICS)
    statistics = _read_statistics(path) if path.exists() else {}
    for problem in problems:
        shares = statistics.get(problem.labels["occupation"], {})
        yield problem.with_labels(**shares)


def _read_statistics(path: Path) -> dict[str, dict[str, float]]:
    """Read the percentages of women by occupation, from two sources each."""
    names = ("bergsma_pct_female", "bls_pct_female")
    _, *lines = read_bytes(path).decode("utf-8", "replace").split("\n")
    statistics: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines, 2):
        if line.count("\t") < 2:
            continue
        occupation, *shares = line.split("\t")
        try:
            statistics[occupation] = dict(zip(names, map(float, shares[:2]), strict=True))
        except ValueError:
            expected = "expected occupation and two percentages, with tabs"
            raise Malformed(expected, file=str(path), line=number) from None
    return statistics


def _add_format(name: str, about: str, header: str, parse: Callable[[str], Problem], render: Render) -> None:
    """Register one of the two formats.

    They differ in their header and columns.
    """

    def recognise(head: FileHead) -> bool:
        return bool(head.lines) and head.lines[0].strip() == header

    def read_rows(source: Source) -> Iterator[tuple[int, str]]:
        for line, row in source.lines():
            if row.strip() not in HEADERS:
                yield line, row

    def assemble(rows: Sequence[str]) -> str:
        return "\n".join([header, *rows]) + "\n"

    native_format(name, about, ".tsv", recognise, read_rows, render, assemble, finish=_add_statistics)(parse)


HEADERS = ("sentid\tsentence", "occupation(0)\tother-participant(1)\tanswer\tsentence")
_add_format(
    "winogender",
    "TSV: id with occupation, participant, answer and gender; sentence",
    HEADERS[0],
    parse_sentence,
    render_sentence,
)
_add_format(
    "winogender-templates",
    "TSV: occupation, participant, answer, template (120 templates make the 720 sentences)",
    HEADERS[1],
    parse_template,
    render_template,
)
