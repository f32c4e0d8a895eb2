"""Tables, for spreadsheets: sentence with `_`, option1, option2, …, answer from 1, and the rest; any delimiter.

Reads WinoGrande's columns too, as in published prediction files. A row without sentence and options (a summary at the
end, as some of those files have) is no problem and is passed over with a note.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, native_format, need_no_query, need_one_blank
from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.problem import Problem


def parse(row: Mapping[str, str]) -> Problem:
    """A problem from a row."""
    before, after = fields.blanked(row, "sentence" if "sentence" in row else "text")
    options = [value for _, value in _options(row)]
    while options and not options[-1].strip():
        options.pop()  # a table has as many columns as its longest problem; a gap before others is an error
    qid = fields.optional(row, "qID")
    return Problem(
        before,
        after,
        tuple(options),
        fields.numbered_answer(row, "answer", max(len(options), 1)),
        pronoun=fields.optional(row, "pronoun"),
        group=fields.group(row) or (qid.rpartition("-")[0] or None if qid else None),
        domain=fields.optional(row, "domain"),
        labels=fields.parsed(row.get("labels") or "{}", dict, "labels"),
        provenance={"qID": qid} if qid else {},
        language=fields.language(row),
    )


def _options(row: Mapping[str, str]) -> list[tuple[str, str]]:
    """The option columns that are there, in the order of their numbers."""
    numbered = [key for key in row if key.startswith("option") and key[6:].isdigit() and len(key) < 10]
    return [(key, row[key]) for key in sorted(numbered, key=lambda key: int(key[6:]))]


def render(problem: Problem, options: WriteOptions) -> dict[str, str]:
    """A row's cells."""
    need_no_query(problem, "csv")
    need_one_blank(problem, "csv")
    row = {"sentence": problem.text, "pronoun": problem.pronoun or ""}
    row |= {f"option{number}": candidate for number, candidate in enumerate(problem.candidates, 1)}
    row["answer"] = "" if problem.answer is None else str(problem.answer + 1)
    row |= {"group": problem.group or "", "domain": problem.domain or ""}
    row["labels"] = json.dumps(dict(problem.labels), ensure_ascii=False) if problem.labels else ""
    return row if problem.language == "en" else row | {"language": problem.language}


def assemble(rows: Sequence[dict[str, str]]) -> str:
    """The table, with as many option columns as the longest problem needs."""
    most = max((sum(key.startswith("option") for key in row) for row in rows), default=2)
    columns = ["sentence", "pronoun", *(f"option{i + 1}" for i in range(most)), "answer", "group", "domain", "labels"]
    columns += ["language"] * any("language" in row for row in rows)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    rows = source.csv_rows()
    columns = [cell.strip() for cell in next(rows, (1, []))[1]]
    for start, cells in rows:
        if any(cells):
            row = dict(zip(columns, cells, strict=False))
            if not row.get("sentence", row.get("text", "")).strip() and not any(v.strip() for _, v in _options(row)):
                source.note(f"line {start} has no sentence and no options; skipped")
            elif len(cells) != len(columns):
                source.reject(Malformed(f"expected {len(columns)} cells, found {len(cells)}"), start)
            else:
                yield start, row


native_format(
    "csv",
    "table: sentence with one _, option1, option2, …, answer from 1, pronoun, group, domain, labels",
    ".csv",
    lambda head: ("sentence" in head.columns or "text" in head.columns) and head.columns >= {"option1", "option2"},
    _rows,
    render,
    assemble,
)(parse)
