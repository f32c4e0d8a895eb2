"""Tables for spreadsheets: sentence with `_`, option1, option2, …, answer from 1.

There may be more columns, and any delimiter.

Reads WinoGrande's columns too, as in published prediction files. A row without sentence and options (a summary at the
end, as some of those files have) is no problem and is passed over with a note.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, native_format, need_no_query, need_one_blank
from winokit.data.formats.source import Source
from winokit.data.formats.winogrande import group_of_qid
from winokit.errors import Malformed
from winokit.problem import Problem

OPTION = re.compile(r"option\d{1,3}")


def parse(row: Mapping[str, str]) -> Problem:
    """Parse a row with sentence and options into a problem.

    Raises Malformed if a cell is missing or wrong.
    """
    before, after = fields.blanked(row, "sentence" if "sentence" in row else "text")
    options = [value for _, value in _list_options(row)]
    while options and not options[-1].strip():
        options.pop()  # a table has as many columns as its longest problem; a gap before others is an error
    qid = fields.optional(row, "qID")
    return Problem(
        before,
        after,
        tuple(options),
        fields.numbered_answer(row, "answer", max(len(options), 1)),
        pronoun=fields.optional(row, "pronoun"),
        group=fields.group(row) or group_of_qid(qid),
        domain=fields.optional(row, "domain"),
        labels=fields.parsed(row.get("labels") or "{}", dict, "labels"),
        provenance={"qID": qid} if qid else {},
        language=fields.language(row),
    )


def _list_options(row: Mapping[str, str]) -> list[tuple[str, str]]:
    """Name and cell of each column option1, option2, …, in order."""

    def number_of(name: str) -> int:
        return int(name.removeprefix("option"))

    names = [name for name in row if OPTION.fullmatch(name)]
    return [(name, row[name]) for name in sorted(names, key=number_of)]


def render(problem: Problem, options: WriteOptions) -> dict[str, str]:
    """Turn a problem into a row of a table, by column.

    Raises CannotWrite if the text has a second underscore, or the problem asks yes or no.
    """
    need_no_query(problem, "csv")
    need_one_blank(problem, "csv")
    row = {"sentence": problem.text, "pronoun": problem.pronoun or ""}
    for number, candidate in enumerate(problem.candidates, 1):
        row[f"option{number}"] = candidate
    row["answer"] = "" if problem.answer is None else str(problem.answer + 1)
    row["group"] = problem.group or ""
    row["domain"] = problem.domain or ""
    row["labels"] = json.dumps(dict(problem.labels), ensure_ascii=False) if problem.labels else ""
    if problem.language != "en":
        row["language"] = problem.language
    return row


def _count_options(row: Mapping[str, str]) -> int:
    """The number of option columns that a row has."""
    return sum(name.startswith("option") for name in row)


def assemble(rows: Sequence[dict[str, str]]) -> str:
    """Join rows into the text of a csv file with a header.

    It has as many option columns as the longest problem needs.
    """
    option_count = max(map(_count_options, rows), default=2)
    option_columns = [f"option{index + 1}" for index in range(option_count)]
    columns = ["sentence", "pronoun", *option_columns, "answer", "group", "domain", "labels"]
    if any("language" in row for row in rows):
        columns.append("language")
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _read_csv_rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells of rows that may be problems.

    Rows with neither sentence nor options are skipped with a note.
    """
    rows = source.csv_rows()
    _, header = next(rows, (1, []))
    columns = [cell.strip() for cell in header]
    for line, cells in rows:
        if not any(cells):
            continue
        row = dict(zip(columns, cells, strict=False))
        text = row.get("sentence", row.get("text", ""))
        has_options = any(value.strip() for _, value in _list_options(row))
        if not text.strip() and not has_options:
            source.note(f"line {line} has no sentence and no options; skipped")
        elif len(cells) != len(columns):
            source.reject(Malformed(f"expected {len(columns)} cells, found {len(cells)}"), line)
        else:
            yield line, row


native_format(
    "csv",
    "table: sentence with one _, option1, option2, …, answer from 1, pronoun, group, domain, labels",
    ".csv",
    lambda head: ("sentence" in head.columns or "text" in head.columns) and head.columns >= {"option1", "option2"},
    _read_csv_rows,
    render,
    assemble,
)(parse)
