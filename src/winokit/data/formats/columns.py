"""Your own table: problems from the columns that hold their text, candidates and answer, whatever those are called.

    winokit stats dev.csv --columns text=satz,option1=a,option2=b,answer=loesung,group=paar

The blank is `_` (or several in a row), `[MASK]`, `<mask>`, `<blank>`, `[blank]` or `[...]`, or a pronoun: marked in the
text, `[it]` or `*it*`; named by a column `pronoun`, where it stands there once; or placed by `start` and `end`, from 0.
Whole texts to choose from, without a blank, are `text1`, `text2`, …, or `good` and `bad`, which need no answer. Which
notation answers are in is told from all of them together, and asked for where they leave it open.

What the columns may be is guessed by their names in several languages and by where the blanks are. Nothing is read by a
guess: it goes into the command that is shown to whoever has a table of their own.
"""

import ast
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from winokit.data.formats import copa, fields, minimal_pairs, tables
from winokit.data.formats.base import FORMATS, MOST_TWINS, Format
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered, read_table
from winokit.data.formats.wsc import around_the_pronoun
from winokit.errors import BadInput, Malformed, MissingExtra
from winokit.files import our_toml
from winokit.problem import Problem, folded_text, grouped
from winokit.text.language import check_code, word_lists

ROLES = frozenset(
    "text text1 good bad pronoun start end option1 options answer answer1 question group domain language id "
    "where".split()
)
BLANKS = (re.compile(r"\[(?:mask|blank|_+|\.\.\.|…)\]|<(?:mask|blank)>", re.IGNORECASE), re.compile(r"_+"))
MARKED = re.compile(r"\[([^\[\]]+)\]|\*([^\s*][^*]*)\*")
HIDDEN = ("", "?", "-1")
"""How a table says that an answer is not told; -1 as Hugging Face does."""
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
SUREST = 0.8
"""The share of its cells that must have a blank for a column to be taken for the text."""
LOOKED_AT = 1 << 20
"""Bytes of a file that are looked at."""
SYNONYMS = word_lists("columns.toml")
OPTION = re.compile(r"(.*?)_?([0-9]|[a-e])")

AnswerReader = Callable[[str, Sequence[str]], int | None]
"""From a cell and the candidates of its row to the index of the right one; None where it does not say one."""


def checked_columns(given: str | Mapping[str, str]) -> dict[str, str]:
    """Columns by their roles, with all that a problem needs."""
    columns = tables.parse_columns(given, ROLES)
    for whole in ({"text1", "text2"}, {"good", "bad"}):
        if whole <= columns.keys() and "text" not in columns:
            return columns
    if "text" not in columns:
        raise BadInput("--columns: 'text' is missing: the column of the text with its blank")
    if "options" not in columns and not {"option1", "option2"} <= columns.keys():
        raise BadInput("--columns: 'option1' and 'option2' are missing, or 'options': the columns of the candidates")
    return columns


def read_columns(source: Source, columns: Mapping[str, str], table: Table | None = None) -> Iterator[Problem]:
    """The problems of a table; a row that says none is rejected with its place and column."""
    table, roles = tables.selected(table or read_table(source), columns)
    columns = roles or {}
    column, _, notation = columns.get("answer", "").rpartition(":")
    notation = notation if notation in NOTATIONS and columns["answer"] not in table.columns else ""
    places = table.places({**columns, "answer": column} if notation else columns)
    drafts: list[tuple[int | str, dict[str, Any], Problem]] = []

    def reject(error: Malformed, place: int | str) -> None:
        source.reject(Malformed(error.expected, field=places.get(error.field or "", error.field)), place)

    for place, row in table.rows:
        cells = {role: row.get(name) for role, name in places.items()}
        try:
            drafts.append((place, cells, _draft(cells)))
        except Malformed as error:
            reject(error, place)
    read = _reader(source, places, drafts, notation)
    neither = 0
    cut = _are_rows(draft.group for *_, draft in drafts)
    if cut:
        source.note(f"column {places['group']!r} has ids of rows; their part before the last hyphen is the group")
    for place, cells, draft in drafts:
        try:
            answer = read(cells, draft.candidates)
        except Malformed as error:
            reject(error, place)
            continue
        if answer == NEITHER:
            neither += 1
            continue
        name = draft.group
        group = {"group": name.rpartition("-")[0] or None, "provenance": {"qID": name}} if name and cut else {}
        source.places.append(place)
        yield draft.replace(answer=answer, **group) if answer is not None or group else draft
    if neither:
        source.note(f"{neither:,} rows whose answer is none of their candidates were skipped")


def _draft(cells: Mapping[str, Any]) -> Problem:
    """The problem of a row, its answer not yet told."""
    if "good" in cells:
        good, bad = (_text(cells, role) for role in ("good", "bad"))
        return minimal_pairs.pair(good, bad, **_rest(cells))
    if "text" not in cells:
        return Problem.whole(_candidates(cells, "text"), **_rest(cells))
    if isinstance(cells["text"], dict):  # WSC as JSON, in its own words
        txt1, pron, txt2 = (fields.string(cells["text"], part) for part in ("txt1", "pron", "txt2"))
        before, after = around_the_pronoun(txt1, txt2)
        return Problem(before, after, _candidates(cells), pronoun=pron, **_rest(cells))
    text = _text(cells, "text")
    if not text.strip():
        raise Malformed("expected a text with a blank, found nothing", field="text")
    if "question" in cells:
        return copa.problem(text, _text(cells, "question").strip(), _candidates(cells), None, **_rest(cells))
    before, pronoun, after = _cut(text, _text(cells, "pronoun").strip() or None, *map(cells.get, ("start", "end")))
    return Problem(before, after, _candidates(cells), pronoun=pronoun, **_rest(cells))


def _rest(cells: Mapping[str, Any]) -> dict[str, Any]:
    """What else a row says of its problem, by the names of its fields."""
    known = {role: said for role in ("group", "domain", "language", "id") if (said := _text(cells, role).strip())}
    if "language" in known:
        try:
            known["language"] = check_code(known["language"])
        except BadInput as error:
            raise Malformed(str(error), field="language") from None
    return known | {"provenance": {"id": known.pop("id")} if "id" in known else {}}


def _text(cells: Mapping[str, Any], role: str) -> str:
    return tables.cell_text(cells.get(role), role)


def _candidates(cells: Mapping[str, Any], kind: str = "option") -> tuple[str, ...]:
    if "options" in cells:
        value = cells["options"]
        if isinstance(value, str):
            try:
                value = ast.literal_eval(value.strip()) if value.lstrip().startswith("[") else value.split("|")
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                raise Malformed(f'expected ["a", "b"] or a|b, found {fields.shown(value)}', field="options") from None
            value = [each.strip() if isinstance(each, str) else each for each in value]
        return fields.strings({"options": value}, "options")
    options = [_text(cells, role) for role in numbered(cells, kind)]
    while options and not options[-1].strip():
        options.pop()  # a table has as many columns as its longest problem
    return tuple(options)


def _cut(text: str, pronoun: str | None, start: Any, end: Any) -> tuple[str, str | None, str]:
    """The text before the blank, the pronoun that stands there, if any is known, and the text after it."""
    if start is not None and start != "":
        at = _offset("start", start)
        to = _offset("end", end) if end not in (None, "") else None
        to = at + len(pronoun) if to is None and pronoun else to
        if to is None or not 0 <= at < to <= len(text):
            raise Malformed(
                f"expected a position in a text of {len(text)} characters, found {start} to {end}", field="start"
            )
        if pronoun and text[at:to] != pronoun:
            raise Malformed(f"{pronoun!r} is not at character {at}: {text[at:to]!r} is", field="start")
        return text[:at], text[at:to], text[to:]
    for blank in BLANKS:
        hits = list(blank.finditer(text))
        if len(hits) > 1:
            raise Malformed(f"expected exactly one blank, found {len(hits)} ({hits[0][0]})", field="text")
        if hits and hits[0][0] == text:
            raise Malformed("expected a text around the blank, found none", field="text")
        if hits:
            return text[: hits[0].start()], pronoun, text[hits[0].end() :]
    hits = list(MARKED.finditer(text))
    if len(hits) == 1 and (word := hits[0][1] or hits[0][2]):
        if pronoun and pronoun.casefold() != word.casefold():
            raise Malformed(f"{word!r} is marked in the text, found {pronoun!r}", field="pronoun")
        return text[: hits[0].start()], word, text[hits[0].end() :]
    if pronoun:
        hits = list(re.finditer(rf"(?<!\w){re.escape(pronoun)}(?!\w)", text)) or list(
            re.finditer(re.escape(pronoun), text)  # where words have no spaces between them
        )
        if len(hits) == 1:
            return text[: hits[0].start()], pronoun, text[hits[0].end() :]
        raise Malformed(f"{pronoun!r} occurs {len(hits)} times in the text: give start=COLUMN too", field="pronoun")
    marks = f"{len(hits)} marks like {hits[0][0]}" if hits else "none"
    raise Malformed(f"expected a blank (_, [MASK], <blank>) or one marked [pronoun], found {marks}", field="text")


def _offset(role: str, value: Any) -> int:
    text = _text({role: value}, role).strip()
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise Malformed(f"expected a character offset, from 0, found {fields.shown(value)}", field=role)
    return int(text)


def _in_text(cell: str, candidates: Sequence[str]) -> int | None:
    same = [place for place, candidate in enumerate(candidates) if folded_text(candidate) == folded_text(cell)]
    return same[0] if len(same) == 1 else None


def _number_from(base: int, cell: str, candidates: Sequence[str]) -> int | None:
    number = re.fullmatch(r"(\d{1,3})(?:\.0*)?", cell, re.ASCII)
    return int(number[1]) - base if number and 0 <= int(number[1]) - base < len(candidates) else None


def _letter(cell: str, candidates: Sequence[str]) -> int | None:
    letter = re.fullmatch(r"\(?([A-Za-z])[.)]?", cell)
    place = ord(letter[1].upper()) - ord("A") if letter else len(candidates)
    return place if place < len(candidates) else None


def _true_is(place: int, cell: str, candidates: Sequence[str]) -> int | None:
    flag = {"true": True, "false": False}.get(cell.lower())
    return None if flag is None or len(candidates) != 2 else place if flag else 1 - place


def _option_name(names: Sequence[str], cell: str, candidates: Sequence[str]) -> int | None:
    cell, *plain = (re.sub(r"\W|_", "", name).casefold() for name in (cell, *names[: len(candidates)]))
    return plain.index(cell) if cell in plain else None


NEITHER = -1
NOTATIONS: Mapping[str, tuple[str, AnswerReader]] = {
    "text": ("the candidate itself", _in_text),
    "1": ("its number, from 1", partial(_number_from, 1)),
    "0": ("its number, from 0", partial(_number_from, 0)),
    "letter": ("its letter, from A", _letter),
    "column": ("the name of its column", partial(_option_name, ())),
    "true1": ("whether the first is right", partial(_true_is, 0)),
    "true2": ("whether the second is right", partial(_true_is, 1)),
}
"""How an answer may be written; `answer=COLUMN:NAME` says which."""


def _reader(
    source: Source, places: Mapping[str, str], drafts: Sequence[tuple[Any, Mapping[str, Any], Problem]], notation: str
) -> Callable[[Mapping[str, Any], Sequence[str]], int | None]:
    """How the answer of a row is read, told from all rows; where they leave it open, an error says how to say it."""
    if "answer1" in places:
        return _flagged
    if "answer" not in places:
        return lambda cells, candidates: None
    names = [places[role] for role in numbered(places, "option" if "text" in places else "text")]
    ways = {name: partial(_option_name, names) if name == "column" else way for name, (_, way) in NOTATIONS.items()}
    cells = [(_answer_cell(row), draft.candidates) for _, row, draft in drafts]
    cells = [(cell, candidates) for cell, candidates in cells if cell not in HIDDEN]
    read = {name: tuple(way(*cell) for cell in cells) for name, way in ways.items()}
    most = max((len(cells) - answers.count(None) for answers in read.values()), default=0)
    best = [name for name, answers in read.items() if len(cells) - answers.count(None) == most]
    column = places["answer"]
    if not notation and len({read[name] for name in best}) > 1:
        meant = " or ".join(f"{NOTATIONS[name][0]} (answer={column}:{name})" for name in best)
        raise BadInput(f"{source.path}: column {column!r}: answers like {cells[0][0]!r} may be {meant}: say which")
    chosen = notation or best[0]

    def answer_of(row: Mapping[str, Any], candidates: Sequence[str]) -> int | None:
        cell = _answer_cell(row)
        answer = None if cell in HIDDEN else ways[chosen](cell, candidates)
        if answer is None and cell not in HIDDEN:
            asked = f"expected {NOTATIONS[chosen][0]}" + ("" if notation or not most else ", as in other rows")
            raise Malformed(f"{asked} (of {' / '.join(candidates)}), found {fields.shown(cell)}", field="answer")
        return answer

    return answer_of


def _answer_cell(row: Mapping[str, Any]) -> str:
    value = row.get("answer")
    return (_text(row, "answer") if isinstance(value, (str, int, float, type(None))) else fields.shown(value)).strip()


def _flagged(cells: Mapping[str, Any], candidates: Sequence[str]) -> int | None:
    """The candidate whose own column says true; NEITHER where none does, None where nothing is said."""
    said = [_text(cells, f"answer{place}").strip().lower() for place in range(1, len(candidates) + 1)]
    if not any(said):
        return None
    flags = [FLAGS.get(word) for word in said]
    if None in flags or sum(map(bool, flags)) > 1:
        raise Malformed(
            f"expected true for one candidate, false for the others, found {' / '.join(said)}", field="answer1"
        )
    return flags.index(True) if True in flags else NEITHER


def _are_rows(names: Iterable[str | None]) -> bool:
    """Whether groups are ids of rows, as WinoGrande's qIDs are: there are more twins without their last part."""
    whole = Counter(filter(None, names))
    cut = Counter[str]()
    for name, count in whole.items():
        cut[name.rpartition("-")[0]] += count
    del cut[""]
    return sum(1 < count <= MOST_TWINS for count in cut.values()) > sum(count > 1 for count in whole.values())


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
    columns = {"text": [*marked, *named["text"], "?"][0]}
    others = ((OPTION.fullmatch(name), column) for name, column in sorted(names.items()) if column != columns["text"])
    stems = grouped((option[1], column) for option, column in others if option)
    several = [stem for stem in stems if len(stems[stem]) > 1]
    known = sorted(several, key=lambda stem: (["", *SYNONYMS["numbered_option"], stem].index(stem), -len(stems[stem])))
    if known:
        columns |= {f"option{number}": column for number, column in enumerate(stems[known[0]], 1)}
    else:
        columns |= {"options": named["options"][0]} if named["options"] else {"option1": "?", "option2": "?"}
    named["question"] = [column for column in named["question"] if {*cells[column]} <= {"cause", "effect"}]
    for role in ("answer", "group", "id", *(() if marked else ("pronoun", "start", "question"))):
        free = [column for column in named[role] if column not in columns.values()]
        columns |= {role: free[0]} if free else {}
    return columns


def advice(path: Path) -> str:
    """What a table's columns are and the command that may read it; empty for a file that is no table."""
    limit = None if tables.refuse_workbook(path).startswith(b"PAR1") else LOOKED_AT
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
    command = f"winokit stats {shlex.quote(str(path))} --columns {shlex.quote(tables.said_columns(guess))}"
    other = _other_guess(table, guess)
    if other is not None:
        command += f" ({_said_rows(table, guess)}), or --columns {shlex.quote(tables.said_columns(other))}"
        command += f" ({_said_rows(table, other)})"
    unknown = ", with the right columns for each ?" if "?" in guess.values() else ""
    return f"its columns are {', '.join(table.columns[:20])}; to read them: {command}{unknown}"


def _other_guess(table: Table, guess: Mapping[str, str]) -> dict[str, str] | None:
    """The roles of other columns that may be the text and its candidates, as in another language; None without any."""
    taken = {name for role, name in guess.items() if role.rstrip("0123456789") in ("text", "option", "options")}
    other = guess_columns(Table(table.path, tuple(name for name in table.columns if name not in taken), table.rows))
    return None if "?" in {*guess.values(), *other.values()} else other


def _said_rows(table: Table, roles: Mapping[str, str]) -> str:
    """How many of the rows that were looked at some columns read."""
    try:
        count = sum(1 for _ in read_columns(Source(Path(table.path), lenient=True), roles, table))
    except BadInput as error:
        return f"asks more: {str(error).removeprefix(f'{table.path}: ')}"
    return f"reads {count:,} of {len(table.rows):,} rows"


GAP = our_toml("assets/columns.toml")["gap"]
FORMATS.register("gap")(
    Format(
        "gap",
        "TSV: Text, Pronoun and its offset, A, A-coref, B, B-coref (read only); rows with neither are skipped",
        ".tsv",
        lambda head: head.columns >= {*GAP.values()},
        partial(read_columns, columns=GAP),
    )
)
