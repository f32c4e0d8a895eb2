"""A bare list of labels, matched by order.

It has one label a line, is a JSON array, or has WinoGrande's five a line (xs, s, m, l, xl).

Order is all it has, so it is refused unless it has one label for each problem. A label is a number from 1, a letter or
a candidate's words; an empty line is an abstention. A list of nothing but 0 and 1 may be choices counted from 0, or say
which choices are right: it is refused with both readings and what each gives.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase

from winokit.data.formats import fields
from winokit.data.formats.source import DELIMITERS, Place, Source
from winokit.data.formats.tables import Table, TableRow, cell_text, format_columns
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
"""The beginning of a JSON array of labels."""
COLUMN = "column 1"
"""The name of the list as a column of a table."""
LONGEST_NAME = 60
"""The most characters of a line that may be a candidate's name."""


def is_labels(lines: Sequence[str]) -> bool:
    """Whether a file's first lines are a bare list of labels.

    There may be a heading above them, and abstentions among them. The first other line decides, or the beginning of a
    JSON array.
    """
    head = "\n".join(lines[:3]).lstrip()
    if ARRAY.match(head):
        return True
    heading_count = _count_headings(lines)
    for line in lines[heading_count:]:
        if line.strip().casefold() not in SILENT:
            return LABELS.match(line) is not None
    return False


def may_be_names(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file may be names of candidates.

    Each must be short and must not look like a row of a table. The last line is ignored, because it may be
    incomplete.
    """
    complete_lines = lines[:-1]  # the last line may be cut off
    names = [line.strip() for line in complete_lines if line.strip()]
    if len(names) < 2:
        return False
    return all(len(name) <= LONGEST_NAME and _is_bare(name) for name in names)


def _is_bare(name: str) -> bool:
    """Whether a line has no delimiter and no bracket at its start."""
    has_delimiter = any(delimiter in name for delimiter in DELIMITERS)
    return not has_delimiter and name[:1] not in "{[<"


def _count_headings(lines: Sequence[str]) -> int:
    """Number of heading lines above a list of labels, 0 or 1.

    A heading is "label", "labels", "answer", or a usual name of a column of predictions.
    """
    first = lines[0].strip().casefold()
    is_named = first in ("label", "labels", "answer") or PREDICTED.fullmatch(first) is not None
    has_delimiter = any(delimiter in first for delimiter in DELIMITERS)
    return 1 if is_named and not has_delimiter else 0


def label_cells(source: Source) -> list[tuple[Place, str]]:
    """Line and text of each label in a file, without a heading."""
    text = source.text()
    if text.lstrip().startswith("["):
        return _read_array(source, text)
    lines = text.removesuffix("\n").split("\n")
    heading_count = _count_headings(lines)
    return list(enumerate(lines[heading_count:], 1 + heading_count))


def _read_array(source: Source, text: str) -> list[tuple[Place, str]]:
    """Place and text of each label in a JSON array.

    Raises BadInput if the text is no JSON array.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source.path}: expected a JSON array of labels ({error})") from None
    cells = [cell_text(value, "label") for value in values]
    return [(f"element {number}", cell) for number, cell in enumerate(cells, 1)]


def label_table(source: Source) -> Table:
    """A list of labels as a table with one column."""
    rows: list[TableRow] = [(place, {COLUMN: cell}) for place, cell in label_cells(source)]
    return Table(str(source.path), (COLUMN,), rows)


def read_labels(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """Yield predictions from a list of labels in the dataset's order.

    Each line has one label, or five of the models trained on WinoGrande's five sizes. An empty line abstains. A line
    that is no label is rejected. Raises BadInput if there are more or fewer labels than problems.
    """
    labels = label_cells(source)
    problem_count = len(matcher.dataset)
    while len(labels) > problem_count and not labels[-1][1].strip():
        labels.pop()
    if len(labels) != problem_count:
        raise BadInput(
            f"{source.path}: {len(labels):,} labels for the {problem_count:,} problems of "
            f"{matcher.dataset.card.name}: a bare list is matched by order, so the counts must agree; "
            f"for some of the problems, a csv file with the columns id and prediction"
        )
    count = _count_labels_per_line(source, labels)
    _refuse_verdicts(source, matcher, [cell for _, cell in labels])
    models = SIZES if count == len(SIZES) else (source.path.stem,)
    for index, (place, line) in enumerate(labels):
        try:
            choices = _read_line(line, count, matcher.dataset[index])
        except Malformed as error:
            source.reject(error, place)
            continue
        location = f"line {place}" if isinstance(place, int) else place
        for model, (label, why) in zip(models, choices, strict=True):
            yield PredictionRow(location, model, "labels", hits=(index,), prediction=label, why=why)


def _count_labels_per_line(source: Source, labels: Sequence[tuple[Place, str]]) -> int:
    """Number of labels in each line of a list, 1 or 5.

    It is that of the first line with labels. Raises Malformed for any other number.
    """
    for place, cell in labels:
        if not LABELS.match(cell):
            continue
        count = cell.count(",") + 1
        if count not in NUMBERS:
            line = place if isinstance(place, int) else None
            expected = f"expected one label or five, found {count}"
            raise Malformed(expected, field="label", file=str(source.path), line=line)
        return count
    return 1


def _read_line(line: str, count: int, problem: Problem) -> list[tuple[int | None, str | None]]:
    """The choices in a line of labels.

    Each is the index of a candidate and None, or None and the reason for an abstention. Raises Malformed if the line
    has another number of labels, or anything else.

    Parameters
    ----------
    count
        How many labels the line must have.
    """
    text = line.strip()
    if text.casefold() in SILENT or count == 1:
        cells = [text] * count
    else:
        cells = [cell.strip() for cell in line.split(",")]
    has_several = "," in line and LABELS.match(line) is not None
    if len(cells) != count or (count == 1 and has_several):
        found = line.count(",") + 1
        raise Malformed(f"expected {NUMBERS[count]}, as on the first line, found {found}", field="label")
    return [_read_label(cell, problem) for cell in cells]


def _refuse_verdicts(source: Source, matcher: Matcher, cells: Sequence[str]) -> None:
    """Raise BadInput for a list that may be choices or verdicts.

    It has only 0 and 1, or true and false. The message says how many rows each reading of the list would read, and
    how many are right. A list of nothing but 1 passes, and so does any list if a problem asks yes or no.
    """
    values = {cell.strip().casefold().removesuffix(".0") for cell in cells} - SILENT
    asks_yes_or_no = any(problem.candidates == ("no", "yes") for problem in matcher.dataset)
    if asks_yes_or_no or not values or values == {"1"}:
        return
    if not values <= {"0", "1", "true", "false"}:
        return
    readings = [({"correct": COLUMN}, "if they say which choices are right")]
    if values <= {"0", "1"}:
        readings.append(({"prediction": f"{COLUMN}:0"}, "if they are choices from 0"))
    table = label_table(source)
    ways = [f"{condition}: {_describe_option(table, matcher, roles)}" for roles, condition in readings]
    found = " and ".join(sorted(values))
    raise BadInput(f"{source.path}: nothing but {found}; {'; or '.join(ways)}")


def _describe_option(table: Table, matcher: Matcher, roles: Mapping[str, str]) -> str:
    """The option that reads a list by its order, with its counts.

    They are the rows that it reads and those that are right. Choices are counted from 0.

    Parameters
    ----------
    roles
        The role of the only column.
    """
    from winokit.data.predictions.proposals import TriedOption
    from winokit.data.predictions.table import try_reading

    columns = PredictionColumns(
        order=LINE,
        prediction=COLUMN if "prediction" in roles else None,
        correct=roles.get("correct"),
        base=0,
        is_given=True,
    )
    all_places = range(len(table.rows))
    trial = try_reading(table, matcher, columns, all_places, None)
    option_text = format_columns({"order": LINE, **roles})
    return f"{OPTION} '{option_text}' ({TriedOption({}, trial).gives})"


def _read_label(cell: str, problem: Problem) -> tuple[int | None, str | None]:
    """Index of the candidate that a label means.

    Returns the index and None, or None and the reason if the label chooses none. Numbers count from 1, and the case
    of letters is ignored.
    """
    names = problem.candidates
    if cell.casefold() in SILENT:
        why = f"it says {cell!r}" if cell else "an empty line"
        return None, why
    letter = cell.upper()
    letters = ascii_uppercase[: len(names)]
    if len(cell) == 1 and letter in letters:
        return letters.index(letter), None
    verdict = verdict_of(cell)
    if names == ("no", "yes") and verdict is not None and not cell.isdecimal():
        return int(verdict), None
    if re.fullmatch(r"\d+(?:\.0+)?", cell):
        whole_number = cell.partition(".")[0]
        index = fields.numbered_answer({"label": whole_number}, "label", len(names))
        return index, None
    return choose(cell, "label", names, 1, problem.language)
