"""A bare list of labels, `1` or `2` a line, or WinoGrande's five a line (xs, s, m, l, xl): matched by order alone.

Order is all such a file has, so it is refused unless it has one line for each problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.data.predictions.match import Matcher
from winokit.data.predictions.row import PredictionRow
from winokit.errors import BadInput, Malformed

SIZES = ("xs", "s", "m", "l", "xl")
NUMBERS = {1: "one label", len(SIZES): "five labels"}
LINE = re.compile(r"\s*\d+\s*(?:,\s*\d+\s*)*$", re.ASCII)


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """One row a line, or five; a line that is no label keeps its place when lenient."""
    lines = source.text().rstrip().split("\n")
    if len(lines) != len(matcher.dataset):
        raise BadInput(
            f"{source.path}: {len(lines):,} labels for the {len(matcher.dataset):,} problems of "
            f"{matcher.dataset.card.name}: a bare list is matched by order, so the counts must agree"
        )
    count = lines[0].count(",") + 1
    if count not in NUMBERS:
        raise Malformed(f"one label or five expected, found {count}", field="label", file=str(source.path), line=1)
    models = SIZES if count == len(SIZES) else (source.path.stem,)
    for place, line in enumerate(lines):
        try:
            labels = _labels(line, count, len(matcher.dataset[place].candidates))
        except Malformed as error:
            source.reject(error, place + 1)
            continue
        for model, label in zip(models, labels, strict=True):
            yield PredictionRow(f"line {place + 1}", model, "labels", hits=(place,), prediction=label)


def _labels(line: str, count: int, candidates: int) -> list[int]:
    cells = line.split(",")
    if len(cells) != count:
        raise Malformed(f"{NUMBERS[count]} expected, as the first line has it, found {len(cells)}", field="label")
    labels = [fields.numbered_answer({"label": cell.strip() or "nothing"}, "label", candidates) for cell in cells]
    return [label for label in labels if label is not None]
