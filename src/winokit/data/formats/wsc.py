"""The Winograd Schema Challenge (Levesque et al., 2012) and PDP (Davis et al., 2016): one XML dialect.

    <schema><text><txt1>…</txt1><pron>it</pron><txt2>…</txt2></text>
            <answers><answer>…</answer>…</answers><correctAnswer>A</correctAnswer></schema>

White space in the XML means nothing, so it is folded, and a space is put around the pronoun unless punctuation follows.
A released script that joined the lines saw doubled spaces: what it saw is kept in provenance, as `spelled`.
WSC273, which most papers report, is the first 273 of the collection's 285. PDP has up to five answers.
"""

import re
import string as letters
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element

from winokit.data.formats.base import FileHead, WriteOptions, element, native_format, need_no_query, need_pronoun
from winokit.data.formats.source import Source, text_at, words
from winokit.errors import CannotWrite, Malformed
from winokit.problem import BLANK, Problem

NO_SPACE_BEFORE = tuple(".,;:?!'’)")
OPENING = tuple("(“‘")
KEPT = ("source", "humanSubjects")
HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n<collection>\n'


def parse(schema: Element) -> Problem:
    """Parse a <schema> of the Winograd Schema Challenge's XML into a problem.

    Raises Malformed if a part is missing.
    """
    for part in ("text", "answers"):
        if schema.find(part) is None:
            raise Malformed("missing in <schema>", field=part)
    pronoun = words(schema, "text/pron")
    if not pronoun:
        raise Malformed("expected a pronoun, found none", field="pron")
    before, after = around_the_pronoun(words(schema, "text/txt1"), words(schema, "text/txt2"))
    candidates = tuple(words(node, ".") for node in schema.findall("answers/answer"))
    answer = _read_answer(words(schema, "correctAnswer"), len(candidates))
    provenance = {}
    for tag in KEPT:
        content = words(schema, tag)
        if content:
            provenance[tag] = content
    spelled = _spell_as_written(schema)
    if spelled != BLANK.join((before, after)):
        provenance["spelled"] = spelled
    group = schema.get("group")
    return Problem(before, after, candidates, answer, pronoun=pronoun, group=group, provenance=provenance)


def _spell_as_written(schema: Element) -> str:
    """The text with its doubled spaces.

    A released evaluation script has them.
    """
    before = text_at(schema, "text/txt1").strip()
    after = text_at(schema, "text/txt2").strip()
    parts = around_the_pronoun(re.sub(r"\s", " ", before), re.sub(r"\s", " ", after))
    return BLANK.join(parts)


def around_the_pronoun(before: str, after: str) -> tuple[str, str]:
    """Add the spaces that belong next to a pronoun.

    Returns the texts before and after it.
    """
    if before and not before.endswith(OPENING):
        before = f"{before} "
    if after and not after.startswith(NO_SPACE_BEFORE):
        after = f" {after}"
    return before, after


def _read_answer(letter: str, count: int) -> int | None:
    """Index of the candidate that a letter names, or None.

    None if the answer is hidden. `count` is the number of candidates. Raises Malformed for any other letter.
    """
    letter = letter.rstrip(".").strip()
    if not letter:
        return None
    index = letters.ascii_uppercase.find(letter.upper())
    if len(letter) != 1 or not 0 <= index < count:
        last_index = max(count, 1) - 1
        last_letter = letters.ascii_uppercase[last_index : last_index + 1]
        raise Malformed(f"expected a letter from A to {last_letter}, found {letter!r}", field="correctAnswer")
    return index


def render(problem: Problem, options: WriteOptions) -> str:
    """Turn a problem into a <schema> of the Winograd Schema Challenge's XML.

    The group is an attribute, which other readers ignore.
    """
    need_no_query(problem, "wsc")
    pronoun = need_pronoun(problem, "wsc")
    if len(problem.candidates) > 26:
        raise CannotWrite("wsc names answers by letters and has room for 26")
    rows = [
        element("txt1", problem.before),
        element("pron", pronoun),
        element("txt2", problem.after),
        "</text>",
        "<answers>",
        *(element("answer", candidate) for candidate in problem.candidates),
        "</answers>",
    ]
    if problem.answer is not None:
        rows.append(element("correctAnswer", letters.ascii_uppercase[problem.answer]))
    rows += [element(tag, str(value)) for tag, value in problem.provenance.items() if tag in KEPT]
    opening = element("schema", "", group=problem.group).removesuffix("</schema>")
    return "\n".join([opening, "<text>", *rows, "</schema>\n"])


def assemble(schemas: Iterable[str]) -> str:
    """Join schemas into the XML of a whole collection."""
    return HEADER + "\n".join(schemas) + "</collection>\n"


def _is_collection(head: FileHead) -> bool:
    """Whether a file is a collection of schemas in XML."""
    return "<collection" in head.text and "<schema" in head.text


def _add_format(name: str, about: str, recognise: Callable[[FileHead], bool], **more: Any) -> None:
    """Register one of the formats, which differ in what they recognise."""
    records = partial(Source.xml_elements, tag="schema")
    native_format(name, about, ".xml", recognise, records, render, assemble, **more)(parse)


_add_format(
    "pdp",
    "the same XML, up to five answers (--as binary gives the papers' 80)",
    lambda head: _is_collection(head) and "<humanSubjects>" in head.text,
)
_add_format("wsc", "XML: txt1, pron, txt2, answers, correctAnswer", _is_collection)
_add_format(
    "wsc273", "the first 273 of the same XML", lambda _: False, finish=lambda _, problems: islice(problems, 273)
)
