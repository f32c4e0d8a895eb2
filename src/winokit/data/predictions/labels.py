"""A bare list of labels, matched by order: one a line, or WinoGrande's five (xs, s, m, l, xl).

Order is all it has, so it is refused unless it has one line for each problem. An empty line is an abstention.
"""

import re
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from winokit.data.formats import fields
from winokit.data.formats.source import DELIMITERS, Source
from winokit.data.predictions.answers import SILENT
from winokit.data.predictions.columns import PREDICTED
from winokit.data.predictions.match import Matcher, PredictionRow
from winokit.errors import BadInput, Malformed

SIZES = ("xs", "s", "m", "l", "xl")
NUMBERS = {1: "one label", len(SIZES): "five labels"}
LABELS = re.compile(r"\s*(?:\d+\s*(?:,\s*\d+\s*)*|[A-E]\s*)$", re.ASCII)
"""A line of labels."""


def is_labels(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file are labels, perhaps under a heading, and some of them perhaps abstentions."""
    labels = [line for line in lines[_heading(lines) :] if line.strip().casefold() not in SILENT]
    return bool(labels) and LABELS.match(labels[0]) is not None


def _heading(lines: Sequence[str]) -> int:
    """How many lines stand above a list of labels: one that says what they are, or none."""
    first = lines[0].strip().casefold()
    is_named = first in ("label", "labels", "answer") or PREDICTED.fullmatch(first) is not None
    return int(is_named and not any(delimiter in first for delimiter in DELIMITERS))


def read_labels(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """One row a line, or five; a line that is no label keeps its place when lenient, and an empty one abstains."""
    lines = source.text().removesuffix("\n").split("\n")
    above = _heading(lines)
    lines = lines[above:]
    while len(lines) > len(matcher.dataset) and not lines[-1].strip():
        lines.pop()
    if len(lines) != len(matcher.dataset):
        raise BadInput(
            f"{source.path}: {len(lines):,} labels for the {len(matcher.dataset):,} problems of "
            f"{matcher.dataset.card.name}: a bare list is matched by order, so the counts must agree"
        )
    first = next((place for place, line in enumerate(lines) if LABELS.match(line)), 0)
    count = lines[first].count(",") + 1
    if count not in NUMBERS:
        number = first + 1 + above
        raise Malformed(f"one label or five expected, found {count}", field="label", file=str(source.path), line=number)
    models = SIZES if count == len(SIZES) else (source.path.stem,)
    for place, line in enumerate(lines):
        silent, names = line.strip().casefold() in SILENT, matcher.dataset[place].candidates
        cells = [line.strip()] * count if silent else [cell.strip() for cell in line.split(",")]
        try:
            if len(cells) != count:
                raise Malformed(f"{NUMBERS[count]} expected, as on the first line, found {len(cells)}", field="label")
            chosen = [_label(cell, len(names)) for cell in cells]
        except Malformed as error:
            source.reject(error, place + 1 + above)
            continue
        for model, (label, why) in zip(models, chosen, strict=True):
            yield PredictionRow(f"line {place + 1 + above}", model, "labels", hits=(place,), prediction=label, why=why)


def _label(cell: str, count: int) -> tuple[int | None, str | None]:
    if cell.casefold() in SILENT:
        return None, f"it says {cell!r}" if cell else "an empty line"
    if len(cell) == 1 and cell in ascii_uppercase[:count]:
        return ascii_uppercase.index(cell), None
    return fields.numbered_answer({"label": cell}, "label", count), None
