"""SuperGLUE-WSC (Wang et al., 2019): does span 2, the pronoun, refer to span 1?

They are JSON lines, in which indices count words. A row stays what it is: a yes/no judgement about `query`. `--as
choice` (transforms/views.py) merges the rows of one sentence into problems with candidates.
"""

import re
from collections.abc import Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format, need_pronoun
from winokit.errors import CannotWrite, Malformed
from winokit.problem import Problem

KEYS = ({"text", "target"}, {"text", "span1_text", "span2_text"})
"""Keys of the authors' rows, and of the flat ones on the Hugging Face hub."""
YES_NO = ("no", "yes")
MARKS = ".,;:!?"
NEAR = 3
"""Maximal distance of a pronoun from its index, in words: one row of the validation split is wrong by one."""


def parse(row: Mapping[str, Any]) -> Problem:
    """Parse a row of SuperGLUE's WSC into a yes/no problem.

    The flat rows of the Hugging Face hub, with span1_text beside text, are read too. Raises Malformed if a field is
    missing or wrong. Its candidates are "no" and "yes".
    """
    text = fields.string(row, "text")
    target = row.get("target", row)
    if not isinstance(target, Mapping):
        raise Malformed(f"expected an object with two spans, found {fields.shown(target)}", field="target")
    pronoun = fields.string(target, "span2_text")
    pronoun_word = pronoun.rstrip(MARKS) or pronoun  # "it,", twice
    start, end = locate(text, pronoun_word, fields.integer(target, "span2_index"))
    is_hidden = row.get("label") in (None, -1)
    query = " ".join(fields.string(target, "span1_text").split())
    if query.casefold() not in text.casefold():
        query = query.rstrip(MARKS) or query  # marks that the text has not there: "the tape.", but "King Jr."
    return Problem(
        text[:start],
        text[end:],
        YES_NO,
        None if is_hidden else int(fields.flag(row, "label")),
        pronoun=text[start:end],
        query=query,
        group=fields.optional(row, "group"),
        labels={"span1_index": fields.integer(target, "span1_index")},
        provenance={"idx": row["idx"]} if "idx" in row else {},
    )


def locate(text: str, span: str, index: int) -> tuple[int, int]:
    """Find a span of text near the word with an index.

    Returns its start and end in characters. Words count from 0, and the nearest match within three words counts.
    Raises Malformed if there is none.
    """
    word_starts = [match.start() for match in re.finditer(r"\S+", text)]
    if not 0 <= index < len(word_starts):
        raise Malformed(f"expected a word index below {len(word_starts)}, found {index}", field="span2_index")
    span_pattern = re.compile(rf"\W*({re.escape(span.strip())})(?!\w)", re.IGNORECASE)
    for distance in range(NEAR + 1):
        for word_index in (index - distance, index + distance):
            if not 0 <= word_index < len(word_starts):
                continue
            match = span_pattern.match(text, word_starts[word_index])
            if match:
                return match.span(1)
    raise Malformed(f"{span!r} is not at word {index} of the text", field="span2_text")


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a yes/no problem into a row of SuperGLUE's WSC.

    Raises CannotWrite if the problem is a choice between candidates.
    """
    if problem.query is None:
        raise CannotWrite(
            "superglue-wsc holds yes/no judgements, and this problem offers candidates: use --as judgements"
        )
    pronoun = need_pronoun(problem, "superglue-wsc")
    text = problem.sentence
    index = len(problem.before.split())
    is_inside_word = problem.before and not problem.before[-1].isspace()
    if is_inside_word:
        index -= 1
    start, _ = locate(text, pronoun, index)
    if start != len(problem.before):
        raise CannotWrite(f"the pronoun {pronoun!r} cannot be located by a word index")
    query_start = max(text.casefold().find(problem.query.casefold()), 0)
    words_before_query = text[:query_start].split()
    target = {
        "span1_text": problem.query,
        "span1_index": problem.labels.get("span1_index", len(words_before_query)),
        "span2_text": pronoun,
        "span2_index": index,
    }
    row: dict[str, Any] = {"text": text, "target": target}
    if problem.answer is not None:
        row["label"] = bool(problem.answer)
    if problem.group:
        row["group"] = problem.group
    return row


json_format(
    "superglue-wsc",
    "JSON lines: text and two spans; one yes/no judgement per row (--as choice merges them)",
    (),
    render,
    recognise=lambda head: any(head.json_keys >= keys for keys in KEYS),
)(parse)
