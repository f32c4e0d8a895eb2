"""The Winograd Schema Challenge collection (Levesque et al., 2012) and PDP (Davis et al., 2016): one XML dialect.

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
    """A problem from a <schema> element."""
    for part in ("text", "answers"):
        if schema.find(part) is None:
            raise Malformed("missing in <schema>", field=part)
    pronoun = words(schema, "text/pron")
    if not pronoun:
        raise Malformed("expected a pronoun, found none", field="pron")
    before, after = around_the_pronoun(words(schema, "text/txt1"), words(schema, "text/txt2"))
    candidates = tuple(words(node, ".") for node in schema.findall("answers/answer"))
    answer = _answer(words(schema, "correctAnswer"), len(candidates))
    known = {tag: content for tag in KEPT if (content := words(schema, tag))}
    written = (text_at(schema, f"text/{part}").strip() for part in ("txt1", "txt2"))
    spelled = BLANK.join(around_the_pronoun(*(re.sub(r"\s", " ", part) for part in written)))
    if spelled != BLANK.join((before, after)):
        known["spelled"] = spelled
    group = schema.get("group")
    return Problem(before, after, candidates, answer, pronoun=pronoun, group=group, provenance=known)


def around_the_pronoun(before: str, after: str) -> tuple[str, str]:
    return (
        before if not before or before.endswith(OPENING) else before + " ",
        after if not after or after.startswith(NO_SPACE_BEFORE) else " " + after,
    )


def _answer(letter: str, count: int) -> int | None:
    letter = letter.rstrip(".").strip()
    if not letter:
        return None
    index = letters.ascii_uppercase.find(letter.upper())
    if len(letter) != 1 or not 0 <= index < count:
        expected = f"a letter from A to {letters.ascii_uppercase[max(count, 1) - 1 : max(count, 1)]}"
        raise Malformed(f"expected {expected}, found {letter!r}", field="correctAnswer")
    return index


def render(problem: Problem, options: WriteOptions) -> str:
    """A <schema> element. The group is written as an attribute, which other readers pass over."""
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
    """The whole collection."""
    return HEADER + "\n".join(schemas) + "</collection>\n"


def _is_collection(head: FileHead) -> bool:
    return "<collection" in head.text and "<schema" in head.text


def _add(name: str, about: str, recognise: Callable[[FileHead], bool], **more: Any) -> None:
    records = partial(Source.xml_elements, tag="schema")
    native_format(name, about, ".xml", recognise, records, render, assemble, **more)(parse)


_add(
    "pdp",
    "the same XML, up to five answers (--as binary gives the papers' 80)",
    lambda head: _is_collection(head) and "<humanSubjects>" in head.text,
)
_add("wsc", "XML: txt1, pron, txt2, answers, correctAnswer", _is_collection)
_add("wsc273", "the first 273 of the same XML", lambda _: False, finish=lambda _, problems: islice(problems, 273))
