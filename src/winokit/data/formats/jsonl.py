"""winokit's own JSON lines: all fields of a Problem, one object a line.

    {"card": {"name": "open", "licence": "CC0-1.0"}}
    {"text": "… because _ was full.", "candidates": ["the jug", "the cup"], "answer": 1, "pronoun": "it", "group": "g1"}

`answer` is the index of the right candidate, from 0. A text that has an underscore of its own is written as `before`
and `after`. A choice between whole texts has `texts` in place of text and candidates. Ids are derived on reading, never
read.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format
from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.problem import BLANK, NO_TEXT, Card, Problem


def parse(row: Mapping[str, Any]) -> Problem:
    """Parse a row of winokit's own JSON lines into a problem.

    Raises Malformed if a field is missing or wrong.
    """
    before, after = _read_sides(row)
    candidates = fields.strings(row, "texts" if "texts" in row else "candidates")
    occurrence = fields.integer(row, "occurrence") if "occurrence" in row else 1
    if occurrence < 1:
        raise Malformed(f"expected 1 or more, found {occurrence}", field="occurrence")
    return Problem(
        before,
        after,
        candidates,
        None if row.get("answer") is None else fields.integer(row, "answer"),
        pronoun=fields.optional(row, "pronoun"),
        query=fields.optional(row, "query"),
        group=fields.group(row),
        domain=fields.optional(row, "domain"),
        labels=fields.mapping(row, "labels"),
        provenance=fields.mapping(row, "provenance"),
        language=fields.optional(row, "language") or "en",
        occurrence=occurrence,
    )


def _read_sides(row: Mapping[str, Any]) -> tuple[str, str]:
    """The texts before and after the blank, both empty for whole texts."""
    if "texts" in row:
        for key in ("text", "before", "after", "candidates", "pronoun", "query"):
            if key in row:
                raise Malformed("whole texts to choose from have no blank; leave it out, or `texts`", field=key)
        return "", ""
    if "before" not in row and "after" not in row:
        return fields.blanked(row, "text")
    before = _get_string(row, "before")
    after = _get_string(row, "after")
    if not (before or after):
        raise Malformed(NO_TEXT, field="before")
    return before, after


def _get_string(row: Mapping[str, Any], key: str) -> str:
    """The text of a field, which may be empty or missing."""
    value = row.get(key, "")
    if not isinstance(value, str):
        raise Malformed(f"expected a string, found {fields.shown(value)}", field=key)
    return value


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into a row of winokit's own JSON lines.

    Empty fields are left out. The provenance is written only if the options ask for the ids of the source.
    """
    text = problem.text
    is_whole = problem.is_whole
    row: dict[str, Any] = {"id": problem.id}
    if not is_whole:
        has_one_blank = text.count(BLANK) == 1
        sides = {"before": problem.before, "after": problem.after}
        row |= {"text": text} if has_one_blank else sides
    row["texts" if is_whole else "candidates"] = list(problem.candidates)
    for key in ("answer", "pronoun", "query", "group", "domain"):
        value = getattr(problem, key)
        if value is not None:
            row[key] = value
    if problem.language != "en":
        row["language"] = problem.language
    if problem.labels:
        row["labels"] = dict(problem.labels)
    if problem.occurrence != 1:
        row["occurrence"] = problem.occurrence
    if options.source_ids and problem.provenance:
        row["provenance"] = dict(problem.provenance)
    return row


def header(card: Card) -> str:
    """Make the first line of a file from the dataset's card.

    Fields that are not known are left out.
    """
    card_fields = dataclasses.asdict(card)
    known_fields = {key: value for key, value in card_fields.items() if value not in ("", None)}
    return json.dumps({"card": known_fields}, ensure_ascii=False) + "\n"


def parse_card(row: Mapping[str, Any]) -> Card:
    """Parse the first line of a file into the dataset's card.

    Raises Malformed if it is damaged.
    """
    card = row["card"]
    names = {field.name for field in dataclasses.fields(Card)}
    if not isinstance(card, dict) or not isinstance(card.get("name"), str) or not set(card) <= names:
        raise Malformed(f"expected an object with a name, and of {', '.join(sorted(names))}", field="card")
    human_accuracy = card.get("human_accuracy")
    if human_accuracy is not None and not _is_share(human_accuracy):
        raise Malformed(f"expected a share from 0 to 1, found {fields.shown(human_accuracy)}", field="human_accuracy")
    texts = {key: str(value) for key, value in card.items() if key != "human_accuracy"}
    return Card(human_accuracy=human_accuracy, **texts)


def _is_share(value: object) -> bool:
    """Whether a value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= 1


def _read_json_rows(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the content of each row.

    The card in the first line is stored in the source.
    """
    for number, row in source.json_lines():
        if set(row) == {"card"}:
            try:
                source.card = parse_card(row)
            except Malformed as error:
                source.reject(error, number)
        else:
            yield number, row


json_format(
    "jsonl",
    "winokit's own JSON lines: text with one _, candidates, answer from 0, pronoun, group, domain, labels",
    (),
    render,
    recognise=lambda head: (
        ("candidates" in head.json_keys and bool({"text", "before"} & head.json_keys))
        or "texts" in head.json_keys
        or head.json_keys == {"card"}
    ),
    records=_read_json_rows,
    header=header,
    source_ids=True,
    holds_whole=True,
)(parse)
