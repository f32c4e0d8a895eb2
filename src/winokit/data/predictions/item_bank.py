"""A file with the parameters of items, as response models store them: item, slope, intercept, lower and upper bound.

The item's column is called as in boards (`row`, `id`, `dev_row0`); the others `a1`, `d`, `g` and `u`, as in mirt.
"""

import csv
import io
from pathlib import Path

import numpy as np

from winokit.data.formats.source import Source
from winokit.data.predictions.board import PARAMETERS, ROW, ItemNames
from winokit.errors import BadInput
from winokit.methods.metrics.item_bank import ItemBank


def read_bank(path: Path, items: ItemNames) -> ItemBank:
    """Read the parameters of items of a response model from a file.

    `items` finds the labelled problem that a row is about. Raises BadInput if a column is missing or a parameter is
    no number.
    """
    text = Source(path).text()
    reader = csv.DictReader(io.StringIO(text))
    headings = list(reader.fieldnames or ())
    item_columns = [name for name in headings if ROW.fullmatch(name)]
    has_parameters = set(PARAMETERS) <= set(headings)
    if not item_columns or not has_parameters:
        found = ", ".join(headings[:6]) or "nothing"
        raise BadInput(f"{path}: expected columns row (or id), a1, d, g and u, found {found}")
    rows = []
    values = []
    for line, cells in enumerate(reader, 2):
        item = str(cells[item_columns[0]]).strip()
        rows.append(items.row(item, path))
        try:
            values.append([float(cells[name]) for name in PARAMETERS])
        except (TypeError, ValueError):
            raise BadInput(f"{path}, line {line}: expected numbers as {', '.join(PARAMETERS)}") from None
    if not rows:
        raise BadInput(f"{path}: the bank has no item")
    slopes, intercepts, lowest, highest = np.array(values).T
    return ItemBank(tuple(rows), slopes, intercepts, lowest, highest)
