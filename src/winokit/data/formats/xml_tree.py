"""A small XML tree that remembers line numbers, which ElementTree does not.

Built on expat, which resolves no external entities and limits entity expansion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from winokit.data.formats.source import Source
from winokit.errors import CannotWrite, Malformed

NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class XmlNode:
    """An element: tag, attributes, line, its own text and its children."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[XmlNode] = field(default_factory=list)

    def child(self, tag: str) -> XmlNode | None:
        """The first child with a tag."""
        return next((node for node in self.children if node.tag == tag), None)

    def words(self, tag: str) -> str:
        """The text of a child with white space folded; empty when there is no such child."""
        node = self.child(tag)
        return " ".join(node.text.split()) if node else ""

    def spelled(self, tag: str) -> str:
        """The text of a child with each white-space character a space, as whoever joins lines has it."""
        node = self.child(tag)
        return re.sub(r"\s", " ", node.text.strip()) if node else ""

    def attribute(self, name: str) -> str:
        """An attribute that must be there."""
        try:
            return self.attributes[name]
        except KeyError:
            raise Malformed(f"missing in <{self.tag}>", field=name) from None


def elements(source: Source, tag: str) -> Iterator[tuple[int, XmlNode]]:
    """Line and tree of each `tag` element that stands directly below the root.

    When lenient, the elements before the place where the XML breaks are still given.
    """
    found: list[XmlNode] = []
    stack: list[XmlNode] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        node = XmlNode(name, attributes, parser.CurrentLineNumber)
        if stack:
            stack[-1].children.append(node)
        stack.append(node)

    def end(_: str) -> None:
        node = stack.pop()
        if len(stack) == 1 and node.tag == tag:
            found.append(node)

    def text(data: str) -> None:
        if stack:
            stack[-1].text += data

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    try:
        parser.Parse(source.raw(), True)
    except expat.ExpatError as error:
        broken = Malformed(f"well-formed XML expected ({expat.ErrorString(error.code)}; is the file cut off?)")
        source.reject(broken, error.lineno)
    except (LookupError, ValueError) as error:  # an encoding the declaration names but nobody knows
        source.reject(Malformed(f"well-formed XML expected ({error})"), 1)
    for node in found:
        yield node.line, node


def element(tag: str, text: str, **attributes: str | None) -> str:
    """One element on one line."""
    if NOT_XML.search("".join([text, *filter(None, attributes.values())])):
        raise CannotWrite("a control character stands in it, for which XML has no words")
    inside = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items() if value is not None)
    return f"<{tag}{inside}>{escape(text)}</{tag}>"
