"""Everything a command wrote as lines of text, one fact a line, so that a changed line says what changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any

import numpy as np

Texts = dict[str, str]
"""Texts by the name of the file; also `stdout`, `stderr` and `exit`."""

LABEL_KEYS = (
    *("dataset", "entrant", "model", "scoring", "formalization", "protocol", "variant", "subset", "metric"),
    *("id", "name"),
)
"""Keys that say which row of a table it is."""
BLOCKS = frozenset(
    "address article aside blockquote button caption dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr label legend li main nav ol option p pre section select summary svg table text title tr ul".split()
)
"""Elements of a page that begin a line."""
CELLS = frozenset({"td", "th"})
READ_ALOUD = ("alt", "title", "aria-label")
"""Attributes that people read or hear."""
UNSTABLE = frozenset({".db", ".sqlite", ".png", ".pdf"})
"""Endings of files whose bytes differ from run to run although they say the same."""
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
SCRIPT_CALL = re.compile(r"\w+\(\d+,(.*)\);?\s*", re.DOTALL)


def text_of(content: bytes, name: str) -> str:
    """The text of a file, by the ending of its name; for what is no text, a line that identifies it."""
    path = PurePosixPath(name)
    if path.suffix == ".gz":
        return text_of(gzip.decompress(content), path.stem)
    if path.suffix == ".xz":
        return text_of(lzma.decompress(content), path.stem)
    if path.suffix == ".npy":
        return _array_text(content)
    if path.suffix in UNSTABLE:
        return "binary\n"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return f"binary, {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()[:16]}\n"
    if path.suffix in (".html", ".svg"):
        return page_text(text)
    if path.suffix == ".jsonl":
        return _lines_or_text(text, text.splitlines())
    call = SCRIPT_CALL.fullmatch(text)
    return _json_or_text(call[1] if call and path.suffix == ".js" else text)


def normalised(text: str, places: Mapping[str, str]) -> str:
    """The text without what differs from run to run: paths, which `places` names, and addresses in memory."""
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, places[place])
    return ADDRESS.sub("0x…", text)


def _array_text(content: bytes) -> str:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
    return (
        f"array {array.shape} {array.dtype}, mean {array.mean():.6g}, deviation {array.std():.6g}, SHA-256 {digest}\n"
    )


# JSON: a line for each value, which begins with its place


def _json_or_text(text: str) -> str:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "".join(f"{line}\n" for line in json_lines(value))


def _lines_or_text(text: str, lines: Iterable[str]) -> str:
    try:
        rows = [json.loads(line) for line in lines if line.strip()]
    except ValueError:
        return text
    return "".join(f"{line}\n" for line in json_lines(rows))


def json_lines(value: Any, place: str = "") -> Iterator[str]:
    """A line for each value in JSON, with its place.

    Rows are called by what they are about, not by their number, so that a new row does not change the others.

    >>> list(json_lines({"n": 3, "metrics": [{"metric": "accuracy", "value": 0.5}]}))
    ['n = 3', 'metrics[accuracy].metric = "accuracy"', 'metrics[accuracy].value = 0.5']
    """
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from json_lines(part, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        for label, part in zip(_row_labels(value), value, strict=True):
            yield from json_lines(part, f"{place}[{label}]")
    else:
        yield f"{place} = {json.dumps(value, ensure_ascii=False)}"


def _row_labels(rows: list[Any]) -> list[str]:
    """A name for each row, the same name twice being numbered."""
    times: Counter[str] = Counter()
    labels = []
    for index, row in enumerate(rows):
        label = _row_label(row) or str(index)
        times[label] += 1
        labels.append(label if times[label] == 1 else f"{label} #{times[label]}")
    return labels


def _row_label(row: Any) -> str:
    if not isinstance(row, dict):
        return ""
    values = [row[key] for key in LABEL_KEYS if row.get(key) is not None]
    return " ".join(str(value) for value in values if not isinstance(value, dict | list))


# Pages: a line for each paragraph, row or label


def page_text(page: str) -> str:
    """What a reader sees or hears of a page, a line for each paragraph or row of a table; also its data in JSON.

    >>> print(page_text("<style>p {}</style><p>It is <b>50</b> %.</p><table><tr><td>a<td>b</table>"), end="")
    It is 50 %.
    | a | b
    """
    reader = _PageReader()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "".join(f"{line}\n" for line in lines if line)


class _PageReader(HTMLParser):
    """Gathers the text of a page; tags become line breaks or cells, styles and scripts nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden_in = ""
        self._is_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break_at(tag)
        attributes = dict(attrs)
        if tag in ("style", "script"):
            self._hidden_in = tag
            self._is_data = attributes.get("type") == "application/json"
        for name in READ_ALOUD:
            if attributes.get(name):
                self.pieces.append(f"\n{name}: {attributes[name]}\n")

    def handle_endtag(self, tag: str) -> None:
        self._break_at(tag, ends=True)
        if tag == self._hidden_in:
            self._hidden_in = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden_in:
            self.pieces.append(re.sub(r"\s+", " ", data))
        elif self._is_data:
            self.pieces.append(f"\n{_json_or_text(data)}\n")

    def _break_at(self, tag: str, *, ends: bool = False) -> None:
        if tag in BLOCKS or tag == "br":
            self.pieces.append("\n")
        elif tag in CELLS and not ends:
            self.pieces.append(" | ")
