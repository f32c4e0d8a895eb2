"""Sample logs of lm-evaluation-harness (`--log_samples`): the problems inside them, from each row's `doc`.

Only reading makes sense. The log's `target` is the text to continue, not the answer; the answer is taken from the doc.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import FileHead, Format, register
from winokit.data.formats.row import parse_row
from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.problem import Problem


def parse(row: Mapping[str, Any]) -> Problem:
    """The problem of a logged sample."""
    doc = row.get("doc")
    if not isinstance(doc, dict):
        raise Malformed(f"the evaluated document expected, found {fields.shown(doc)}", field="doc")
    return parse_row(doc)


def _read(source: Source) -> Iterable[Problem]:
    return source.each(source.json_lines(), parse)


def _recognise(head: FileHead) -> bool:
    return head.json_keys >= {"doc_id", "doc"}


register(Format("lmeval", "sample logs of lm-evaluation-harness (read only)", ".jsonl", _recognise, _read))
