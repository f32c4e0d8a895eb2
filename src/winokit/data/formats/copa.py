"""COPA (Roemmele et al., 2011), as XML and as SuperGLUE's JSON lines: premise, two alternatives, cause or effect.

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
"""What is asked for, and the word between premise and alternative."""
MIRRORED = 1000
"""By how much the ids of Balanced COPA's mirrored items are higher."""
HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n<copa-corpus version="1.0">\n'


def problem(premise: str, asks_for: str, alternatives: tuple[str, ...], answer: int | None, **rest: Any) -> Problem:
    """A problem from the parts both dialects have."""
    if asks_for not in CONNECTIVES:
        raise Malformed(f"expected 'cause' or 'effect', found {asks_for!r}", field="question")
    before = f"{premise.rstrip().rstrip('.!?').rstrip()} {CONNECTIVES[asks_for]} "
    return Problem(before, "", alternatives, answer, labels={"premise": premise, "asks_for": asks_for}, **rest)


def premise_of(copa: Problem) -> tuple[str, str]:
    """Premise and question of a problem, from its labels or from the text itself."""
    asks_for = copa.labels.get("asks_for")
    if asks_for in CONNECTIVES and copa.labels.get("premise"):
        return str(copa.labels["premise"]), str(asks_for)
    head, _, connective = copa.before.rstrip().rpartition(" ")
    for question, word in CONNECTIVES.items():
        if connective == word and not copa.after.strip() and head:
            return head + ".", question
    raise CannotWrite("not of COPA's form: a premise, 'because' or 'so', and the blank at the end")


def parse_item(item: Element) -> Problem:
    """A problem from an <item> of the XML."""
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
    """The parts of an <item>; they get their numbers when put together."""
    a1, a2 = need_two(copa, "copa")
    premise, asks_for = premise_of(copa)
    answer = None if copa.answer is None else str(copa.answer + 1)
    return {"asks_for": asks_for, "answer": answer, "group": copa.group, "p": premise, "a1": a1, "a2": a2}


def assemble_items(items: Sequence[dict[str, Any]]) -> str:
    """The whole corpus."""
    rows = []
    for number, item in enumerate(items, 1):
        attributes = {"id": str(number), "asks-for": item["asks_for"], "group": item["group"]}
        attributes["most-plausible-alternative"] = item["answer"]
        rows.append(element("item", "", **attributes).removesuffix("</item>"))
        rows += ["  " + element(tag, item[tag]) for tag in ("p", "a1", "a2")] + ["</item>"]
    return HEADER + "\n".join(rows) + "\n</copa-corpus>\n"


def parse_row(row: Mapping[str, Any]) -> Problem:
    """A problem from a row of SuperGLUE's JSON lines."""
    label = row.get("label")
    if label is not None and fields.integer(row, "label") not in (0, 1):
        if label != -1:  # what Hugging Face writes for a hidden answer
            raise Malformed(f"expected 0 or 1, found {label}", field="label")
        label = None
    return problem(
        fields.string(row, "premise"),
        fields.string(row, "question"),
        (fields.string(row, "choice1"), fields.string(row, "choice2")),
        label,
        group=fields.group(row),
        provenance={key: row[key] for key in ("idx", "id") if key in row},
    )


def render_row(copa: Problem, options: WriteOptions) -> dict[str, Any]:
    """A row of SuperGLUE's JSON lines."""
    choice1, choice2 = need_two(copa, "superglue-copa")
    premise, question = premise_of(copa)
    row = {"premise": premise, "choice1": choice1, "choice2": choice2, "question": question}
    return row | ({} if copa.answer is None else {"label": copa.answer}) | ({"group": copa.group} if copa.group else {})


def _with_mirrors(source: Source, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Twins of Balanced COPA (Kavumba et al., 2019): item 1003 is item 3 mirrored, with the same alternatives."""
    kept = list(problems)
    ids = [str(item.provenance.get("id"))[:9] for item in kept]
    keys = [
        (name.isdecimal() and (int(name) - 1) % MIRRORED + 1, frozenset(item.candidates))
        for name, item in zip(ids, kept, strict=True)
    ]
    counts = Counter(keys)
    for item, key in zip(kept, keys, strict=True):
        paired = item.group is None and key[0] and counts[key] == 2
        yield item.replace(group=f"copa-{key[0]}") if paired else item


native_format(
    "copa",
    "XML: items with a premise, two alternatives, cause or effect",
    ".xml",
    lambda head: "<copa-corpus" in head.text,
    lambda source: source.xml_elements("item"),
    render_item,
    assemble_items,
    finish=_with_mirrors,
)(parse_item)
json_format(
    "superglue-copa",
    "JSON lines: premise, choice1, choice2, question, label 0/1",
    {"premise", "choice1", "choice2", "question"},
    render_row,
    finish=_with_mirrors,
)(parse_row)
