"""What the columns of a table may be, by their names in several languages and by where the blanks are.

Nothing is read by a guess: it goes into the command that is shown to whoever has a table of their own.
"""

import re
import shlex
from pathlib import Path

from winokit.data.formats.columns import BLANKS, MARKED
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, read_table, refuse_workbook, said_columns
from winokit.errors import BadInput, MissingExtra
from winokit.problem import grouped
from winokit.text.language import word_lists

SUREST = 0.8
"""The share of its cells that must have a blank for a column to be taken for the text."""
LOOKED_AT = 1 << 20
"""Bytes of a file that are looked at."""
SYNONYMS = word_lists("columns.toml")
OPTION = re.compile(r"(.*?)_?([0-9]|[a-e])")


def guess_columns(table: Table) -> dict[str, str]:
    """Columns by the roles that they may have; "?" for what a problem needs and nothing points to."""
    names = {re.sub(r"[\s-]+", "_", column.strip().casefold()): column for column in table.columns}
    named = {role: [names[word] for word in words if word in names] for role, words in SYNONYMS.items()}
    cells = {
        column: [cell if isinstance(cell := row.get(column), str) else "" for _, row in table.rows[:100]]
        for column in table.columns
    }
    marked = [
        column
        for column in dict.fromkeys((*named["text"], *table.columns))
        if sum(any(mark.search(cell) for mark in (*BLANKS, MARKED)) for cell in cells[column])
        >= max(1, SUREST * len(cells[column]))
    ]
    found = {"text": [*marked, *named["text"], "?"][0]}
    others = ((OPTION.fullmatch(name), column) for name, column in sorted(names.items()) if column != found["text"])
    stems = grouped((option[1], column) for option, column in others if option)
    several = [stem for stem in stems if len(stems[stem]) > 1]
    known = sorted(several, key=lambda stem: (["", *SYNONYMS["numbered_option"], stem].index(stem), -len(stems[stem])))
    if known:
        found |= {f"option{number}": column for number, column in enumerate(stems[known[0]], 1)}
    else:
        found |= {"options": named["options"][0]} if named["options"] else {"option1": "?", "option2": "?"}
    named["question"] = [column for column in named["question"] if {*cells[column]} <= {"cause", "effect"}]
    for role in ("answer", "group", *(() if marked else ("pronoun", "start", "question"))):
        free = [column for column in named[role] if column not in found.values()]
        found |= {role: free[0]} if free else {}
    return found


def advice(path: Path) -> str:
    """What a table's columns are and the command that may read it; empty for a file that is no table."""
    limit = None if refuse_workbook(path).startswith(b"PAR1") else LOOKED_AT
    source = Source(path, lenient=True, limit=limit)
    try:
        table = read_table(source)
    except MissingExtra as missing:
        return str(missing)
    except BadInput:
        return ""
    if len(table.columns) < 2 or len(table.rows) <= len(source.skipped):  # prose has commas too
        return ""
    guess = guess_columns(table)
    command = f"winokit stats {shlex.quote(str(path))} --columns {shlex.quote(said_columns(guess))}"
    unknown = ", with the right columns for each ?" if "?" in guess.values() else ""
    return f"its columns are {', '.join(table.columns[:20])}; to read them: {command}{unknown}"
