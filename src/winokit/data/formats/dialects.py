"""Rows that come from anywhere (a hub, a harness log): which dialect they speak is told by their keys.

Sample logs of lm-evaluation-harness (`--log_samples`) are read, from each row's `doc`, and not written. The log's
`target` is the text to continue, not the answer; the answer is taken from the doc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from winokit.data.formats import copa, fields, jsonl, knowref, superglue_wsc, trichelair, winogrande
from winokit.data.formats.base import json_format
from winokit.errors import Malformed
from winokit.problem import Problem


def _wsc273_row(row: Mapping[str, Any]) -> Problem:
    """WSC273 as it stands on the Hugging Face hub: text, pronoun, pronoun_loc, options, label."""
    text, pronoun, start = fields.string(row, "text"), fields.string(row, "pronoun"), fields.integer(row, "pronoun_loc")
    options = row["options"]
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise Malformed(f"a list of strings expected, found {fields.shown(options)}", field="options")
    if text[start : start + len(pronoun)] != pronoun:
        raise Malformed(f"{pronoun!r} does not stand at character {start}", field="pronoun_loc")
    label = fields.integer(row, "label")
    end = start + len(pronoun)
    return Problem(text[:start], text[end:], tuple(options), None if label == -1 else label, pronoun=pronoun)


# The keys that give a dialect away, and its parser; the first that fits is taken.
DIALECTS: tuple[tuple[frozenset[str], Callable[[Mapping[str, Any]], Problem]], ...] = (
    (winogrande.KEYS, winogrande.parse),
    (frozenset({"premise", "choice1", "choice2", "question"}), copa.parse_row),
    (frozenset({"text", "target"}), superglue_wsc.parse),
    (frozenset({"text", "span1_text", "span2_text"}), superglue_wsc.parse),
    (frozenset({"text", "candidates"}), jsonl.parse),
    (frozenset({"sentence_with_pronoun"}), knowref.parse),
    (frozenset({"sentence", "answer0", "answer1"}), trichelair.parse),
    (frozenset({"text", "pronoun_loc", "options"}), _wsc273_row),
)


def parse_row(row: Mapping[str, Any]) -> Problem:
    """A problem from a row of any known dialect."""
    for keys, parse in DIALECTS:
        if keys <= row.keys():
            return parse(row)
    raise Malformed(f"no known dialect has the fields {', '.join(map(str, row))}")


@json_format("lmeval", "sample logs of lm-evaluation-harness (read only)", {"doc_id", "doc"}, assemble=None)
def parse_sample(row: Mapping[str, Any]) -> Problem:
    """The problem of a logged sample."""
    doc = row.get("doc")
    if not isinstance(doc, dict):
        raise Malformed(f"the evaluated document expected, found {fields.shown(doc)}", field="doc")
    return parse_row(doc)
