"""WinoGrande (Sakaguchi et al., 2020): JSON lines with qID, sentence with `_`, option1, option2, answer "1"/"2".

The qID ends in the right answer (`-1`/`-2`) in every public split, so it goes to provenance and is written back only on
request; what comes before the suffix names the twins and becomes the group. Answers may stand in a label list beside
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
    """A problem from a row's fields."""
    before, after = ("", "") if row.get("sentence") == BLANK else fields.blanked(row, "sentence")
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
        group=fields.group(row) or (qid.rpartition("-")[0] or None if qid else None),
        provenance={"qID": qid} if qid else {},
        language=fields.language(row),
    )


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """A row; its qID names the group and ends in the public id, which says nothing of the answer."""
    option1, option2 = need_two(problem, "winogrande")
    if not problem.is_whole:
        need_one_blank(problem, "winogrande")
    if options.labels_apart:
        need_answer(problem, "a label list")
    source_id = problem.provenance.get("qID") if options.source_ids else None
    row = {
        "qID": source_id or (f"{problem.group}-{problem.id}" if problem.group else problem.id),
        "sentence": BLANK if problem.is_whole else problem.text,
        "option1": option1,
        "option2": option2,
    }
    if problem.answer is not None and not options.labels_apart:
        row["answer"] = str(problem.answer + 1)
    return row if problem.language == "en" else row | {"language": problem.language}


def labels_path(path: Path) -> Path:
    """Where the label list of a file stands: `dev-labels.lst` for `dev.jsonl` and `dev.jsonl.gz`."""
    name = path.name.removesuffix(".gz").removesuffix(".xz")
    return path.with_name(f"{Path(name).stem}-labels.lst")


def _with_labels(source: Source, problems: Iterable[Problem]) -> Iterable[Problem]:
    """The problems with the answers of the label list beside their file, where they have none themselves."""
    problems = list(problems)
    path = labels_path(source.path)
    if not problems or any(problem.answer is not None for problem in problems) or not path.exists():
        return problems
    labels = list(Source(path, lenient=source.lenient).lines())
    rows = {line: row for row, (line, _) in enumerate(Source(source.path, lenient=True).lines())}
    if len(labels) != len(rows):
        expected = f"expected {len(rows)} labels, one for each problem, found {len(labels)}"
        raise Malformed(expected, file=str(path))
    source.note(f"answers taken from {path.name}")
    answered = []
    for place, problem in zip(source.places, problems, strict=True):
        line, label = labels[rows[int(place)]]
        try:
            answer = fields.numbered_answer({"label": label.strip()}, "label", 2)
        except Malformed as error:
            source.reject(error.at(str(path), line))
            answer = None
        answered.append(problem.replace(answer=answer))
    return answered


json_format(
    "winogrande",
    "JSON lines: qID, sentence with one _, option1, option2, answer 1/2",
    KEYS,
    render,
    finish=_with_labels,
    recognise=lambda head: head.json_keys >= KEYS and "pair_number" not in head.json_keys,
    source_ids=True,
    holds_whole=True,
)(parse)
