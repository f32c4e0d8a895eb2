"""A bare list of labels, matched by order: one a line, a JSON array, or WinoGrande's five a line (xs, s, m, l, xl).

Order is all it has, so it is refused unless it has one label for each problem. A label is a number from 1, a letter or
a candidate's words; an empty line is an abstention. A list of nothing but 0 and 1 may be choices counted from 0, or say
which choices are right: it is refused with both readings and what each gives.
"""

import json
import re
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from winokit.data.formats import fields
from winokit.data.formats.source import DELIMITERS, Place, Source
from winokit.data.formats.tables import Table, cell_text
from winokit.data.predictions.answers import SILENT, choose
from winokit.data.predictions.columns import LINE, OPTION, PREDICTED, PredictionColumns, verdict_of
from winokit.data.predictions.match import Matcher, PredictionRow
from winokit.errors import BadInput, Malformed
from winokit.problem import Problem

SIZES = ("xs", "s", "m", "l", "xl")
NUMBERS = {1: "one label", len(SIZES): "five labels"}
LABELS = re.compile(r"\s*(?:\d+(?:\.0+)?\s*(?:,\s*\d+\s*)*|[A-E]\s*|true\s*|false\s*)$", re.ASCII | re.IGNORECASE)
"""A line of labels."""
ARRAY = re.compile(r"\[\s*(?:-?\d|\"(?:[^\"\\]|\\.)*\"\s*[,\]]|true|false|null)")
"""How a JSON array of labels begins."""
COLUMN = "column 1"
"""What the list is called where it is read as a table."""
LONGEST_NAME = 60
"""Characters of a line that may be a candidate's name."""


def is_labels(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file are labels, perhaps under a heading, and some of them perhaps abstentions."""
    if ARRAY.match("\n".join(lines[:3]).lstrip()):
        return True
    labels = [line for line in lines[_heading(lines) :] if line.strip().casefold() not in SILENT]
    return bool(labels) and LABELS.match(labels[0]) is not None


def may_be_names(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file may be names of candidates, one a line: short, and without cells."""
    names = [line.strip() for line in lines[:-1] if line.strip()]  # the last line may be cut off
    return len(names) > 1 and all(len(name) <= LONGEST_NAME and _is_bare(name) for name in names)


def _is_bare(name: str) -> bool:
    return not any(delimiter in name for delimiter in DELIMITERS) and name[:1] not in "{[<"


def _heading(lines: Sequence[str]) -> int:
    """How many lines stand above a list of labels: one that says what they are, or none."""
    first = lines[0].strip().casefold()
    is_named = first in ("label", "labels", "answer") or PREDICTED.fullmatch(first) is not None
    return int(is_named and not any(delimiter in first for delimiter in DELIMITERS))


def label_cells(source: Source) -> list[tuple[Place, str]]:
    """Place and text of each label; a heading is passed over."""
    text = source.text()
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{source.path}: expected a JSON array of labels ({error})") from None
        cells = [cell_text(value, "label") for value in values]
        return [(f"element {number}", cell) for number, cell in enumerate(cells, 1)]
    lines = text.removesuffix("\n").split("\n")
    above = _heading(lines)
    return [(number, line) for number, line in enumerate(lines[above:], 1 + above)]


def label_table(source: Source) -> Table:
    """The list as a table of one column."""
    return Table(str(source.path), (COLUMN,), [(place, {COLUMN: cell}) for place, cell in label_cells(source)])


def read_labels(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """One row a label, or five; a line that is no label keeps its place when lenient, and an empty one abstains."""
    labels = label_cells(source)
    while len(labels) > len(matcher.dataset) and not labels[-1][1].strip():
        labels.pop()
    if len(labels) != len(matcher.dataset):
        raise BadInput(
            f"{source.path}: {len(labels):,} labels for the {len(matcher.dataset):,} problems of "
            f"{matcher.dataset.card.name}: a bare list is matched by order, so the counts must agree"
        )
    place, first = next(((place, cell) for place, cell in labels if LABELS.match(cell)), labels[0])
    count = first.count(",") + 1 if LABELS.match(first) else 1
    if count not in NUMBERS:
        number = place if isinstance(place, int) else None
        raise Malformed(f"expected one label or five, found {count}", field="label", file=str(source.path), line=number)
    _refuse_verdicts(source, matcher, [cell for _, cell in labels])
    models = SIZES if count == len(SIZES) else (source.path.stem,)
    for at, (place, line) in enumerate(labels):
        problem = matcher.dataset[at]
        silent = line.strip().casefold() in SILENT
        cells = [line.strip()] * count if silent or count == 1 else [cell.strip() for cell in line.split(",")]
        try:
            if len(cells) != count or (count == 1 and "," in line and LABELS.match(line)):
                found = line.count(",") + 1
                raise Malformed(f"expected {NUMBERS[count]}, as on the first line, found {found}", field="label")
            chosen = [_label(cell, problem) for cell in cells]
        except Malformed as error:
            source.reject(error, place)
            continue
        said = f"line {place}" if isinstance(place, int) else place
        for model, (label, why) in zip(models, chosen, strict=True):
            yield PredictionRow(said, model, "labels", hits=(at,), prediction=label, why=why)


def _refuse_verdicts(source: Source, matcher: Matcher, cells: Sequence[str]) -> None:
    """Refuse a list that says no more than 0 and 1, or true and false, with what each reading of it gives."""
    values = {cell.strip().casefold().removesuffix(".0") for cell in cells} - SILENT
    asks_yes_or_no = any(problem.candidates == ("no", "yes") for problem in matcher.dataset)
    if asks_yes_or_no or not values or not values <= {"0", "1", "true", "false"} or values == {"1"}:
        return
    from winokit.data.predictions.proposals import TriedOption
    from winokit.data.predictions.table import try_reading

    table = label_table(source)
    ways = []
    readings = [({"correct": COLUMN}, "if they say which choices are right")]
    if values <= {"0", "1"}:
        readings.append(({"prediction": f"{COLUMN}:0"}, "if they are choices from 0"))
    for roles, condition in readings:
        columns = PredictionColumns(
            order=LINE,
            prediction=COLUMN if "prediction" in roles else None,
            correct=roles.get("correct"),
            base=0,
            is_given=True,
        )
        trial = try_reading(table, matcher, columns, range(len(table.rows)), None)
        given = ",".join(f"{role}={name}" for role, name in {"order": LINE, **roles}.items())
        ways.append(f"{condition}: {OPTION} '{given}' ({TriedOption({}, trial).gives})")
    raise BadInput(f"{source.path}: nothing but {' and '.join(sorted(values))}; {'; or '.join(ways)}")


def _label(cell: str, problem: Problem) -> tuple[int | None, str | None]:
    """The candidate of a label; or None and why."""
    names = problem.candidates
    if cell.casefold() in SILENT:
        return None, f"it says {cell!r}" if cell else "an empty line"
    if len(cell) == 1 and cell.upper() in ascii_uppercase[: len(names)]:
        return ascii_uppercase.index(cell.upper()), None
    if names == ("no", "yes") and verdict_of(cell) is not None and not cell.isdecimal():
        return int(bool(verdict_of(cell))), None
    if re.fullmatch(r"\d+(?:\.0+)?", cell):
        return fields.numbered_answer({"label": cell.partition(".")[0]}, "label", len(names)), None
    return choose(cell, "label", names, 1, problem.language)
