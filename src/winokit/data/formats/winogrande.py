"""WinoGrande (Sakaguchi et al., 2020): JSON lines with qID, sentence, options, answer.

The qID ends in the right answer (`-1`/`-2`) in every public split, so it goes to provenance and is written back only on
request. The part before the suffix names the twins and becomes the group. Answers may be in a label list beside
the file (`dev-labels.lst` for `dev.jsonl`). A sentence that is a blank alone offers whole texts to choose from.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format, need_answer, need_one_blank, need_two
from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.problem import BLANK, Problem

KEYS = frozenset({"sentence", "option1", "option2"})


def parse(row: Mapping[str, Any]) -> Problem:
    """Parse a row of WinoGrande's JSON lines into a problem.

    Raises Malformed if a field is missing or wrong.
    """
    is_whole = row.get("sentence") == BLANK
    before, after = ("", "") if is_whole else fields.blanked(row, "sentence")
    candidates = [fields.string(row, "option1"), fields.string(row, "option2")]
    while (name := f"option{len(candidates) + 1}") in row:  # the public files have two; others' have more
        candidates.append(fields.string(row, name))
    qid = row.get("qID")
    if qid is not None and not isinstance(qid, str):
        raise Malformed(f"expected a string, found {fields.shown(qid)}", field="qID")
    return Problem(
        before,
        after,
        tuple(candidates),
        fields.numbered_answer(row, "answer", len(candidates)),
        pronoun=fields.optional(row, "pronoun"),
        domain=fields.optional(row, "domain"),
        group=fields.group(row) or group_of_qid(qid),
        provenance={"qID": qid} if qid else {},
        language=fields.language(row),
    )


def group_of_qid(qid: str | None) -> str | None:
    """The group that a qID names, or None.

    It is the part before the last hyphen.
    """
    if not qid:
        return None
    group, _, _ = qid.rpartition("-")
    return group or None


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into a row of WinoGrande's JSON lines.

    Its qID is made of the group and the public id, which says nothing about the answer.
    """
    option1, option2 = need_two(problem, "winogrande")
    if not problem.is_whole:
        need_one_blank(problem, "winogrande")
    if options.labels_apart:
        need_answer(problem, "a label list")
    source_id = problem.provenance.get("qID") if options.source_ids else None
    public_id = f"{problem.group}-{problem.id}" if problem.group else problem.id
    row = {
        "qID": source_id or public_id,
        "sentence": BLANK if problem.is_whole else problem.text,
        "option1": option1,
        "option2": option2,
    }
    if problem.answer is not None and not options.labels_apart:
        row["answer"] = str(problem.answer + 1)
    if problem.language != "en":
        row["language"] = problem.language
    return row


def labels_path(path: Path) -> Path:
    """Path of the label list beside a file: `dev-labels.lst` for `dev.jsonl`.

    It is the same for `dev.jsonl.gz`.
    """
    name = path.name.removesuffix(".gz").removesuffix(".xz")
    return path.with_name(f"{Path(name).stem}-labels.lst")


def _add_listed_labels(source: Source, problems: Iterable[Problem]) -> Iterable[Problem]:
    """Add the answers of the label list beside a file.

    The problems are unchanged if one of them has an answer already, or there is no list. Answers count from 1 there.
    Raises Malformed unless the list has a label for each line of the file.
    """
    problems = list(problems)
    path = labels_path(source.path)
    has_answers = any(problem.answer is not None for problem in problems)
    if not problems or has_answers or not path.exists():
        return problems
    labels = list(Source(path, lenient=source.lenient).lines())
    source_lines = Source(source.path, lenient=True).lines()
    row_of_line = {line: row for row, (line, _) in enumerate(source_lines)}
    if len(labels) != len(row_of_line):
        expected = f"expected {len(row_of_line)} labels, one for each problem, found {len(labels)}"
        raise Malformed(expected, file=str(path))
    source.note(f"answers taken from {path.name}")
    answered_problems = []
    for place, problem in zip(source.places, problems, strict=True):
        row = row_of_line[int(place)]
        line, label = labels[row]
        try:
            answer = fields.numbered_answer({"label": label.strip()}, "label", 2)
        except Malformed as error:
            source.reject(error.at(str(path), line))
            answer = None
        answered_problems.append(problem.replace(answer=answer))
    return answered_problems


json_format(
    "winogrande",
    "JSON lines: qID, sentence with one _, option1, option2, answer 1/2",
    KEYS,
    render,
    finish=_add_listed_labels,
    recognise=lambda head: head.json_keys >= KEYS and "pair_number" not in head.json_keys,
    source_ids=True,
    holds_whole=True,
)(parse)
