"""COPA (Roemmele et al., 2011), as XML and as SuperGLUE's JSON lines.

A problem has a premise, two alternatives, and asks for a cause or an effect.

The problem's text is the premise, "because" (cause) or "so" (effect), and the blank. Alternatives stay as written; the
substitution engine lowers their first letter.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, element, json_format, native_format, need_two
from winokit.data.formats.source import Source, words
from winokit.errors import CannotWrite, Malformed
from winokit.problem import Problem

CONNECTIVES = {"cause": "because", "effect": "so"}
"""The word between premise and alternative, for each question."""
MIRRORED = 1000
"""Difference between the ids of an item of Balanced COPA and its mirrored one."""
HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n<copa-corpus version="1.0">\n'


def problem(premise: str, asks_for: str, alternatives: tuple[str, ...], answer: int | None, **rest: Any) -> Problem:
    """Make a problem from the parts of an item of COPA.

    Its text is the premise, "because" or "so", and a blank for the alternative.

    Parameters
    ----------
    asks_for
        "cause" or "effect".
    answer
        Index of the right alternative, or None if it is hidden.
    rest
        Other fields of the problem.
    """
    if asks_for not in CONNECTIVES:
        raise Malformed(f"expected 'cause' or 'effect', found {asks_for!r}", field="question")
    clause = premise.rstrip().rstrip(".!?").rstrip()
    before = f"{clause} {CONNECTIVES[asks_for]} "
    labels = {"premise": premise, "asks_for": asks_for}
    return Problem(before, "", alternatives, answer, labels=labels, **rest)


def premise_of(copa: Problem) -> tuple[str, str]:
    """Find the premise and the question of a COPA problem.

    The question is "cause" or "effect". They are its labels, or else read from its text. Raises CannotWrite if it is
    not of COPA's form.
    """
    asks_for = copa.labels.get("asks_for")
    premise = copa.labels.get("premise")
    if asks_for in CONNECTIVES and premise:
        return str(premise), str(asks_for)
    head, _, last_word = copa.before.rstrip().rpartition(" ")
    ends_with_blank = not copa.after.strip()
    for question, connective in CONNECTIVES.items():
        if last_word == connective and ends_with_blank and head:
            return f"{head}.", question
    raise CannotWrite("not of COPA's form: a premise, 'because' or 'so', and the blank at the end")


def parse_item(item: Element) -> Problem:
    """Parse an <item> of COPA's XML into a problem.

    Raises Malformed if a part is missing.
    """
    parts = {tag: words(item, tag) for tag in ("p", "a1", "a2")}
    for tag in parts:
        fields.string(parts, tag)
    if "asks-for" not in item.attrib:
        raise Malformed("missing in <item>", field="asks-for")
    return problem(
        parts["p"],
        item.attrib["asks-for"],
        (parts["a1"], parts["a2"]),
        fields.numbered_answer(item.attrib, "most-plausible-alternative", 2),
        group=item.get("group"),
        provenance={"id": item.attrib["id"]} if "id" in item.attrib else {},
    )


def render_item(copa: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into the parts of an <item> of COPA's XML.

    Its number is not among them. Raises CannotWrite if the problem is not of COPA's form.
    """
    a1, a2 = need_two(copa, "copa")
    premise, asks_for = premise_of(copa)
    answer = None if copa.answer is None else str(copa.answer + 1)
    return {"asks_for": asks_for, "answer": answer, "group": copa.group, "p": premise, "a1": a1, "a2": a2}


def assemble_items(items: Sequence[dict[str, Any]]) -> str:
    """Join numbered items into the XML of a COPA corpus."""
    rows = []
    for number, item in enumerate(items, 1):
        attributes = {
            "id": str(number),
            "asks-for": item["asks_for"],
            "group": item["group"],
            "most-plausible-alternative": item["answer"],
        }
        rows.append(element("item", "", **attributes).removesuffix("</item>"))
        for tag in ("p", "a1", "a2"):
            rows.append(f"  {element(tag, item[tag])}")
        rows.append("</item>")
    return HEADER + "\n".join(rows) + "\n</copa-corpus>\n"


def parse_row(row: Mapping[str, Any]) -> Problem:
    """Parse a row of SuperGLUE's COPA (JSON lines) into a problem.

    Its label counts from 0, and is hidden if it is missing or -1. Raises Malformed if a field is missing or wrong.
    """
    label = row.get("label")
    if label is not None:
        label = fields.integer(row, "label")
    if label == -1:  # what Hugging Face writes for a hidden answer
        label = None
    if label not in (None, 0, 1):
        raise Malformed(f"expected 0 or 1, found {label}", field="label")
    return problem(
        fields.string(row, "premise"),
        fields.string(row, "question"),
        (fields.string(row, "choice1"), fields.string(row, "choice2")),
        label,
        group=fields.group(row),
        provenance={key: row[key] for key in ("idx", "id") if key in row},
    )


def render_row(copa: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into a row of SuperGLUE's COPA (JSON lines)."""
    choice1, choice2 = need_two(copa, "superglue-copa")
    premise, question = premise_of(copa)
    row: dict[str, Any] = {"premise": premise, "choice1": choice1, "choice2": choice2, "question": question}
    if copa.answer is not None:
        row["label"] = copa.answer
    if copa.group:
        row["group"] = copa.group
    return row


def _group_mirrors(source: Source, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Give the twins of Balanced COPA a common group.

    It is by Kavumba et al. (2019). Item 1003 there is item 3 mirrored, with the same alternatives. Yields all
    problems.
    """
    items = list(problems)
    keys = [(_find_pair_number(item), frozenset(item.candidates)) for item in items]
    counts = Counter(keys)
    for item, key in zip(items, keys, strict=True):
        pair_number, _ = key
        is_twin = pair_number is not None and counts[key] == 2
        if is_twin and item.group is None:
            item = item.replace(group=f"copa-{pair_number}")
        yield item


def _find_pair_number(item: Problem) -> int | None:
    """The number that an item shares with its mirrored twin.

    None if its id is no number.
    """
    item_id = str(item.provenance.get("id"))[:9]
    if not item_id.isdecimal():
        return None
    return (int(item_id) - 1) % MIRRORED + 1


native_format(
    "copa",
    "XML: items with a premise, two alternatives, cause or effect",
    ".xml",
    lambda head: "<copa-corpus" in head.text,
    lambda source: source.xml_elements("item"),
    render_item,
    assemble_items,
    finish=_group_mirrors,
)(parse_item)
json_format(
    "superglue-copa",
    "JSON lines: premise, choice1, choice2, question, label 0/1",
    {"premise", "choice1", "choice2", "question"},
    render_row,
    finish=_group_mirrors,
)(parse_row)
