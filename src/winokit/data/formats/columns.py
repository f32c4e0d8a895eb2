"""Your own table: problems from its columns of text, candidates and answer.

    winokit stats dev.csv --columns text=satz,option1=a,option2=b,answer=loesung,group=paar

The blank is `_` (or several in a row), `[MASK]`, `<mask>`, `<blank>`, `[blank]` or `[...]`, or a pronoun: marked in the
text, `[it]` or `*it*`; named by a column `pronoun`, if it occurs there once; or placed by `start` and `end`, from 0.
Whole texts to choose from, without a blank, are `text1`, `text2`, …, or `good` and `bad`, which need no answer. All
answers together decide in which notation they are. If they do not, an error asks for it.

The roles of columns are guessed by their names in several languages and by the places of blanks. Nothing is read by a
guess: the guess goes into the command that a user with their own table is shown.
"""

import ast
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import digits
from typing import Any

from winokit.data.formats import copa, fields, minimal_pairs, tables
from winokit.data.formats.base import FORMATS, MOST_TWINS, Format
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered, read_table
from winokit.data.formats.wsc import around_the_pronoun
from winokit.errors import BadInput, Malformed, MissingExtra
from winokit.files import our_toml
from winokit.problem import Problem, folded_text
from winokit.text.language import check_code, word_lists

ROLES = frozenset(
    "text text1 good bad pronoun start end option1 options answer answer1 question group domain language id "
    "where".split()
)
BLANKS = (re.compile(r"\[(?:mask|blank|_+|\.\.\.|…)\]|<(?:mask|blank)>", re.IGNORECASE), re.compile(r"_+"))
MARKED = re.compile(r"\[([^\[\]]+)\]|\*([^\s*][^*]*)\*")
HIDDEN = ("", "?", "-1")
"""Cells of a hidden answer. Hugging Face writes -1."""
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
SUREST = 0.8
"""Share of a column's cells that must have a blank if the column is to be the text."""
LOOKED_AT = 1 << 20
"""Number of bytes of a file that are read for a guess."""
SYNONYMS = word_lists("columns.toml")
OPTION = re.compile(r"(.*?)_?([0-9]|[a-e])")

AnswerReader = Callable[[str, Sequence[str]], int | None]
"""Function of a cell and its row's candidates: the index of the right one, or None if the cell names none."""


def checked_columns(user_columns: str | Mapping[str, str]) -> dict[str, str]:
    """Check the columns of problems that a user named.

    Returns them by role. A role is what a column is for, such as `text`, `option1` or `answer`. Raises BadInput if a
    column that every problem needs is missing.
    """
    columns = tables.parse_columns(user_columns, ROLES)
    has_whole_texts = {"text1", "text2"} <= columns.keys() or {"good", "bad"} <= columns.keys()
    if "text" not in columns:
        if has_whole_texts:
            return columns
        raise BadInput("--columns: 'text' is missing: the column of the text with its blank")
    if "options" not in columns and not {"option1", "option2"} <= columns.keys():
        raise BadInput("--columns: 'option1' and 'option2' are missing, or 'options': the columns of the candidates")
    return columns


def read_columns(source: Source, columns: Mapping[str, str], table: Table | None = None) -> Iterator[Problem]:
    """Yield the problems of a table whose columns are named.

    A row that is no problem is rejected with its place and column. Rows whose answer is none of their candidates are
    skipped with a note.

    Parameters
    ----------
    columns
        Column names by role. `where` selects rows.
    table
        The table, if it was read before. None to read it from the source.
    """
    table, roles = tables.selected(table or read_table(source), columns)
    columns = roles or {}
    answer_column, notation = _split_notation(columns.get("answer", ""), table)
    if notation:
        columns = {**columns, "answer": answer_column}
    column_of_role = table.find_columns(columns)
    drafts: list[tuple[int | str, dict[str, Any], Problem]] = []

    def reject(error: Malformed, place: int | str) -> None:
        """Reject a row, with the error's column in place of its role."""
        column = column_of_role.get(error.field or "", error.field)
        source.reject(Malformed(error.expected, field=column), place)

    for place, row in table.rows:
        cells = {role: row.get(name) for role, name in column_of_role.items()}
        try:
            drafts.append((place, cells, _make_draft(cells)))
        except Malformed as error:
            reject(error, place)
    read_answer = _choose_reader(source, column_of_role, drafts, notation)
    has_row_ids = _are_row_ids(draft.group for *_, draft in drafts)
    if has_row_ids:
        source.note(
            f"column {column_of_role['group']!r} has ids of rows; their part before the last hyphen is the group"
        )
    neither_count = 0
    for place, cells, draft in drafts:
        try:
            answer = read_answer(cells, draft.candidates)
        except Malformed as error:
            reject(error, place)
            continue
        if answer == NEITHER:
            neither_count += 1
            continue
        source.places.append(place)
        yield _finish_draft(draft, answer, has_row_ids=has_row_ids)
    if neither_count:
        source.note(f"{neither_count:,} rows whose answer is none of their candidates were skipped")


def _split_notation(text: str, table: Table) -> tuple[str, str]:
    """Split "COLUMN:NOTATION" into a column and the notation of its answers.

    The notation is empty if the text is only a column.
    """
    column, _, notation = text.rpartition(":")
    if notation in NOTATIONS and text not in table.columns:
        return column, notation
    return text, ""


def _finish_draft(draft: Problem, answer: int | None, *, has_row_ids: bool) -> Problem:
    """The problem with its answer.

    With `has_row_ids` its group is the id of its row, "twins-1", and is replaced by the part before the last hyphen.
    """
    if has_row_ids and draft.group:
        group, _, _ = draft.group.rpartition("-")
        return draft.replace(answer=answer, group=group or None, provenance={"qID": draft.group})
    return draft if answer is None else draft.replace(answer=answer)


def _make_draft(cells: Mapping[str, Any]) -> Problem:
    """The problem in a row, without its answer.

    `cells` are by role. Raises Malformed if a cell is missing.
    """
    if "good" in cells:
        good = _get_text(cells, "good")
        bad = _get_text(cells, "bad")
        return minimal_pairs.pair(good, bad, **_read_other_fields(cells))
    if "text" not in cells:
        return Problem.whole(_read_candidates(cells, "text"), **_read_other_fields(cells))
    if isinstance(cells["text"], dict):  # WSC as JSON, in its own words
        parts = cells["text"]
        txt1 = fields.string(parts, "txt1")
        pronoun = fields.string(parts, "pron")
        txt2 = fields.string(parts, "txt2")
        before, after = around_the_pronoun(txt1, txt2)
        return Problem(before, after, _read_candidates(cells), pronoun=pronoun, **_read_other_fields(cells))
    text = _get_text(cells, "text")
    if not text.strip():
        raise Malformed("expected a text with a blank, found nothing", field="text")
    if "question" in cells:
        question = _get_text(cells, "question").strip()
        return copa.problem(text, question, _read_candidates(cells), None, **_read_other_fields(cells))
    named_pronoun = _get_text(cells, "pronoun").strip() or None
    before, blank_pronoun, after = _cut_at_blank(text, named_pronoun, cells.get("start"), cells.get("end"))
    return Problem(before, after, _read_candidates(cells), pronoun=blank_pronoun, **_read_other_fields(cells))


def _read_other_fields(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row's problem besides its text, candidates and answer.

    They are group, domain, language and source id, by the names that a problem has for them.
    """
    other_fields: dict[str, Any] = {}
    for role in ("group", "domain", "language"):
        text = _get_text(cells, role).strip()
        if text:
            other_fields[role] = text
    if "language" in other_fields:
        try:
            other_fields["language"] = check_code(other_fields["language"])
        except BadInput as error:
            raise Malformed(str(error), field="language") from None
    source_id = _get_text(cells, "id").strip()
    other_fields["provenance"] = {"id": source_id} if source_id else {}
    return other_fields


def _get_text(cells: Mapping[str, Any], role: str) -> str:
    """The cell of a role as text, or an empty text."""
    return tables.cell_text(cells.get(role), role)


def _read_candidates(cells: Mapping[str, Any], kind: str = "option") -> tuple[str, ...]:
    """The candidates of a row.

    They are in numbered columns, or in one column with a list. `kind` is the role of the numbered columns without its
    number.
    """
    if "options" in cells:
        value = cells["options"]
        options = _split_options(value) if isinstance(value, str) else value
        return fields.strings({"options": options}, "options")
    candidates = [_get_text(cells, role) for role in numbered(cells, kind)]
    while candidates and not candidates[-1].strip():
        candidates.pop()  # a table has as many columns as its longest problem
    return tuple(candidates)


def _split_options(text: str) -> list[Any]:
    """Split a cell with all candidates into a list.

    The cell is a list in Python or JSON, or texts with bars between them.
    """
    parts: list[Any] = text.split("|")
    if text.lstrip().startswith("["):
        try:
            parts = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise Malformed(f'expected ["a", "b"] or a|b, found {fields.shown(text)}', field="options") from None
    return [part.strip() if isinstance(part, str) else part for part in parts]


def _cut_at_blank(text: str, pronoun: str | None, start: Any, end: Any) -> tuple[str, str | None, str]:
    """Cut a text at its blank.

    Returns the text before the blank, the pronoun or None if it is not known, and the text after it. The blank is an
    underscore or the like, a marked [pronoun], the characters from `start` to `end`, or the only occurrence of the
    pronoun. Raises Malformed if none of these is found.
    """
    if start is not None and start != "":
        return _cut_at_offset(text, pronoun, start, end)
    for blank in BLANKS:
        hits = list(blank.finditer(text))
        if len(hits) > 1:
            raise Malformed(f"expected exactly one blank, found {len(hits)} ({hits[0][0]})", field="text")
        if hits:
            hit = hits[0]
            if hit[0] == text:
                raise Malformed("expected a text around the blank, found none", field="text")
            return text[: hit.start()], pronoun, text[hit.end() :]
    marks = list(MARKED.finditer(text))
    if len(marks) == 1:
        mark = marks[0]
        word = mark[1] or mark[2]
        if pronoun and pronoun.casefold() != word.casefold():
            raise Malformed(f"{word!r} is marked in the text, found {pronoun!r}", field="pronoun")
        return text[: mark.start()], word, text[mark.end() :]
    if pronoun:
        start, end = _find_only_word(text, pronoun)
        return text[:start], pronoun, text[end:]
    description = f"{len(marks)} marks like {marks[0][0]}" if marks else "none"
    raise Malformed(f"expected a blank (_, [MASK], <blank>) or one marked [pronoun], found {description}", field="text")


def _cut_at_offset(text: str, pronoun: str | None, start: Any, end: Any) -> tuple[str, str | None, str]:
    """Cut a text at the offsets of its pronoun.

    Returns the text before the pronoun, the pronoun and the text after it. Without an end, the pronoun's length
    decides. Raises Malformed if the pronoun is not there. Both offsets count characters from 0, and `end` is that
    after the last.
    """
    start_at = _read_offset("start", start)
    end_at = None
    if end not in (None, ""):
        end_at = _read_offset("end", end)
    elif pronoun:
        end_at = start_at + len(pronoun)
    if end_at is None or not 0 <= start_at < end_at <= len(text):
        message = f"expected a position in a text of {len(text)} characters, found {start} to {end}"
        raise Malformed(message, field="start")
    word = text[start_at:end_at]
    if pronoun and word != pronoun:
        raise Malformed(f"{pronoun!r} is not at character {start_at}: {word!r} is", field="start")
    return text[:start_at], word, text[end_at:]


def _find_only_word(text: str, word: str) -> tuple[int, int]:
    """Start and end of a word that must occur once.

    It is searched as a whole word first, then anywhere, as in languages without spaces. Raises Malformed otherwise.
    """
    escaped = re.escape(word)
    hits = list(re.finditer(rf"(?<!\w){escaped}(?!\w)", text))
    if not hits:
        hits = list(re.finditer(escaped, text))  # some scripts have no spaces between words
    if len(hits) != 1:
        raise Malformed(f"{word!r} occurs {len(hits)} times in the text: give start=COLUMN too", field="pronoun")
    return hits[0].span()


def _read_offset(role: str, value: Any) -> int:
    """A character offset from a cell. Raises Malformed for anything else."""
    text = _get_text({role: value}, role).strip()
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise Malformed(f"expected a character offset, from 0, found {fields.shown(value)}", field=role)
    return int(text)


def _match_text(cell: str, candidates: Sequence[str]) -> int | None:
    """Index of the only candidate that a cell spells out, or None.

    Case is ignored.
    """
    folded_cell = folded_text(cell)
    indices = [index for index, candidate in enumerate(candidates) if folded_text(candidate) == folded_cell]
    return indices[0] if len(indices) == 1 else None


def _read_number(base: int, cell: str, candidates: Sequence[str]) -> int | None:
    """Index of the candidate whose number is in a cell, or None.

    `base` is the number of the first candidate.
    """
    number = re.fullmatch(r"(\d{1,3})(?:\.0*)?", cell, re.ASCII)
    if number is None:
        return None
    index = int(number[1]) - base
    return index if 0 <= index < len(candidates) else None


def _read_letter(cell: str, candidates: Sequence[str]) -> int | None:
    """Index of the candidate whose letter is in a cell, or None.

    Letters count from A.
    """
    letter = re.fullmatch(r"\(?([A-Za-z])[.)]?", cell)
    if letter is None:
        return None
    index = ord(letter[1].upper()) - ord("A")
    return index if index < len(candidates) else None


def _read_truth(candidate_index: int, cell: str, candidates: Sequence[str]) -> int | None:
    """Index of the right candidate, from a cell with true or false.

    There must be two candidates, and the cell says it of the one at `candidate_index`. None for anything else.
    """
    word = cell.lower()
    if len(candidates) != 2 or word not in ("true", "false"):
        return None
    return candidate_index if word == "true" else 1 - candidate_index


def _match_column_name(names: Sequence[str], cell: str, candidates: Sequence[str]) -> int | None:
    """Index of the candidate whose column a cell names, or None.

    `names` are the columns of the candidates. Only letters and digits are compared.
    """
    plain_names = [_keep_letters(name) for name in names[: len(candidates)]]
    plain_cell = _keep_letters(cell)
    return plain_names.index(plain_cell) if plain_cell in plain_names else None


def _keep_letters(name: str) -> str:
    """The letters and digits of a name, without case."""
    return re.sub(r"\W|_", "", name).casefold()


NEITHER = -1
NOTATIONS: Mapping[str, tuple[str, AnswerReader]] = {
    "text": ("the candidate itself", _match_text),
    "1": ("its number, from 1", partial(_read_number, 1)),
    "0": ("its number, from 0", partial(_read_number, 0)),
    "letter": ("its letter, from A", _read_letter),
    "column": ("the name of its column", partial(_match_column_name, ())),
    "true1": ("whether the first is right", partial(_read_truth, 0)),
    "true2": ("whether the second is right", partial(_read_truth, 1)),
}
"""Notations of an answer by name, for `answer=COLUMN:NAME`."""


def _choose_reader(
    source: Source,
    column_of_role: Mapping[str, str],
    drafts: Sequence[tuple[Any, Mapping[str, Any], Problem]],
    notation: str,
) -> Callable[[Mapping[str, Any], Sequence[str]], int | None]:
    """The function that reads the answer of a row.

    It takes the row's cells by role and its candidates, and returns an index, None for a hidden answer, or NEITHER.
    Raises BadInput if several notations are possible.

    Parameters
    ----------
    column_of_role
        Column names by role.
    drafts
        Place, cells and problem of each row.
    notation
        A key of `NOTATIONS`, or empty to infer it from all rows.
    """
    if "answer1" in column_of_role:
        return _read_flags
    if "answer" not in column_of_role:
        return lambda cells, candidates: None
    kind = "option" if "text" in column_of_role else "text"
    names = [column_of_role[role] for role in numbered(column_of_role, kind)]
    readers = {name: reader for name, (_, reader) in NOTATIONS.items()}
    readers["column"] = partial(_match_column_name, names)
    addition = ""
    if not notation:
        notation, reads_some = _infer_notation(source, column_of_role["answer"], drafts, readers)
        addition = ", as in other rows" if reads_some else ""
    reader = readers[notation]
    meaning, _ = NOTATIONS[notation]

    def read_answer(row: Mapping[str, Any], candidates: Sequence[str]) -> int | None:
        cell = _get_answer_cell(row)
        if cell in HIDDEN:
            return None
        answer = reader(cell, candidates)
        if answer is None:
            options = " / ".join(candidates)
            expected = f"expected {meaning}{addition} (of {options})"
            raise Malformed(f"{expected}, found {fields.shown(cell)}", field="answer")
        return answer

    return read_answer


def _infer_notation(
    source: Source,
    column: str,
    drafts: Sequence[tuple[Any, Mapping[str, Any], Problem]],
    readers: Mapping[str, AnswerReader],
) -> tuple[str, bool]:
    """Infer the notation of answers from all rows.

    Returns the notation that reads most answers, and whether it reads any. Raises BadInput if several notations read
    equally many and disagree about an answer.

    Parameters
    ----------
    column
        The column of the answers, for the message.
    drafts
        Place, cells and problem of each row.
    readers
        For each notation, the function that reads an answer in it.
    """
    cells: list[tuple[str, Sequence[str]]] = []
    for _, row, draft in drafts:
        cell = _get_answer_cell(row)
        if cell not in HIDDEN:
            cells.append((cell, draft.candidates))
    answers = {}
    for name, reader in readers.items():
        answers[name] = tuple(reader(cell, candidates) for cell, candidates in cells)
    unread_counts = {name: name_answers.count(None) for name, name_answers in answers.items()}
    fewest_unread = min(unread_counts.values())
    best_names = [name for name, count in unread_counts.items() if count == fewest_unread]
    if len({answers[name] for name in best_names}) > 1:
        meanings = [f"{NOTATIONS[name][0]} (answer={column}:{name})" for name in best_names]
        first_cell, _ = cells[0]
        raise BadInput(
            f"{source.path}: column {column!r}: answers like {first_cell!r} may be {' or '.join(meanings)}: say which"
        )
    return best_names[0], fewest_unread < len(cells)


def _get_answer_cell(row: Mapping[str, Any]) -> str:
    """The cell with a row's answer as stripped text."""
    value = row.get("answer")
    is_plain = isinstance(value, (str, int, float, type(None)))
    text = _get_text(row, "answer") if is_plain else fields.shown(value)
    return text.strip()


def _read_flags(cells: Mapping[str, Any], candidates: Sequence[str]) -> int | None:
    """Index of the candidate whose own column says true.

    NEITHER if all say false, and None if all are empty. Raises Malformed for anything else.
    """
    words = [_get_text(cells, f"answer{number}").strip().lower() for number in range(1, len(candidates) + 1)]
    if not any(words):
        return None
    flags = [FLAGS.get(word) for word in words]
    if None in flags or flags.count(True) > 1:
        found = " / ".join(words)
        raise Malformed(f"expected true for one candidate, false for the others, found {found}", field="answer1")
    return flags.index(True) if True in flags else NEITHER


def _are_row_ids(names: Iterable[str | None]) -> bool:
    """Whether groups are in fact ids of rows, like WinoGrande's qIDs.

    They are if names without the part after their last hyphen give more groups of two or three rows than whole names
    give groups.
    """
    counts = Counter(name for name in names if name)
    counts_of_start = Counter[str]()
    for name, count in counts.items():
        start, _, _ = name.rpartition("-")
        if start:
            counts_of_start[start] += count
    twins_by_start = sum(1 < count <= MOST_TWINS for count in counts_of_start.values())
    twins_by_name = sum(count > 1 for count in counts.values())
    return twins_by_start > twins_by_name


def guess_columns(table: Table) -> dict[str, str]:
    """Guess which columns of a table have the parts of a problem.

    Returns columns by role, with "?" for a role that a problem needs and for which no column fits.
    """
    column_of_name = {re.sub(r"[\s-]+", "_", column.strip().casefold()): column for column in table.columns}
    columns_of_role = _find_role_columns(column_of_name)
    cells = {column: _list_texts(table, column) for column in table.columns}
    text_columns = columns_of_role["text"]
    marked_columns = [column for column in dict.fromkeys((*text_columns, *table.columns)) if _has_blanks(cells[column])]
    columns = {"text": [*marked_columns, *text_columns, "?"][0]}
    columns |= _guess_options(column_of_name, columns["text"], columns_of_role["options"])
    question_columns = columns_of_role["question"]
    columns_of_role["question"] = [column for column in question_columns if {*cells[column]} <= {"cause", "effect"}]
    other_roles = ["answer", "group", "id"]
    if not marked_columns:
        other_roles += ["pronoun", "start", "question"]
    for role in other_roles:
        free_columns = [column for column in columns_of_role[role] if column not in columns.values()]
        if free_columns:
            columns[role] = free_columns[0]
    return columns


def _find_role_columns(column_of_name: Mapping[str, str]) -> dict[str, list[str]]:
    """For each role, the columns that have a usual name of it.

    The most usual names are first. `column_of_name` has the columns by their normalised names.
    """
    columns_of_role = {}
    for role, usual_names in SYNONYMS.items():
        columns_of_role[role] = [column_of_name[name] for name in usual_names if name in column_of_name]
    return columns_of_role


def _list_texts(table: Table, column: str) -> list[str]:
    """The first hundred cells of a column.

    Cells that are no text are empty.
    """
    cells = [row.get(column) for _, row in table.rows[:100]]
    return [cell if isinstance(cell, str) else "" for cell in cells]


def _has_blanks(cells: Sequence[str]) -> bool:
    """Whether most cells of a column have a blank.

    Most are four in five, and at least one. A marked pronoun counts too.
    """
    marks = (*BLANKS, MARKED)
    count = 0
    for cell in cells:
        if any(mark.search(cell) for mark in marks):
            count += 1
    return count >= max(1, SUREST * len(cells))


def _guess_options(
    column_of_name: Mapping[str, str], text_column: str, options_columns: Sequence[str]
) -> dict[str, str]:
    """The columns that may have the candidates, by role.

    They are numbered columns, or one with all candidates. "?" stands for columns that were not found.

    Parameters
    ----------
    column_of_name
        Columns by their normalised names.
    text_column
        The column of the text, which is left out.
    options_columns
        Columns that have a usual name for all candidates.
    """
    columns_of_stem: dict[str, list[str]] = {}
    for name, column in sorted(column_of_name.items()):
        option = OPTION.fullmatch(name)
        if option and column != text_column:
            columns_of_stem.setdefault(option[1], []).append(column)
    stems = [stem for stem, columns in columns_of_stem.items() if len(columns) > 1]
    usual_stems = ["", *SYNONYMS["numbered_option"]]

    def order(stem: str) -> tuple[int, int]:
        position = [*usual_stems, stem].index(stem)
        return position, -len(columns_of_stem[stem])

    if stems:
        best_stem = min(stems, key=order)
        return {f"option{number}": column for number, column in enumerate(columns_of_stem[best_stem], 1)}
    if options_columns:
        return {"options": options_columns[0]}
    return {"option1": "?", "option2": "?"}


def advice(path: Path) -> str:
    """Describe a file's columns and a command that may read them.

    Empty if the file is no table. If a library is missing that reads it, the text says so.
    """
    is_parquet = tables.refuse_workbook(path).startswith(b"PAR1")
    source = Source(path, lenient=True, limit=None if is_parquet else LOOKED_AT)
    try:
        table = read_table(source)
    except MissingExtra as missing:
        return str(missing)
    except BadInput:
        return ""
    has_sound_rows = len(table.rows) > len(source.skipped)  # prose has commas too
    if len(table.columns) < 2 or not has_sound_rows:
        return ""
    guess = guess_columns(table)
    command = f"winokit stats {shlex.quote(str(path))} --columns {shlex.quote(tables.format_columns(guess))}"
    other_guess = _guess_rival_columns(table, guess)
    if other_guess is not None:
        other_columns = shlex.quote(tables.format_columns(other_guess))
        command += f" ({_describe_rows(table, guess)}), or --columns {other_columns}"
        command += f" ({_describe_rows(table, other_guess)})"
    hint = ", with the right columns for each ?" if "?" in guess.values() else ""
    return f"its columns are {', '.join(table.columns[:20])}; to read them: {command}{hint}"


def _guess_rival_columns(table: Table, guess: Mapping[str, str]) -> dict[str, str] | None:
    """A second guess, from columns that the first guess does not use.

    They may be in another language, for example. None if a column of either guess is missing.
    """
    used_columns = {name for role, name in guess.items() if role.rstrip(digits) in ("text", "option", "options")}
    free_columns = tuple(name for name in table.columns if name not in used_columns)
    other_guess = guess_columns(Table(table.path, free_columns, table.rows))
    if "?" in guess.values() or "?" in other_guess.values():
        return None
    return other_guess


def _describe_rows(table: Table, roles: Mapping[str, str]) -> str:
    """Describe how many rows of a table some columns can read."""
    source = Source(Path(table.path), lenient=True)
    try:
        count = len(list(read_columns(source, roles, table)))
    except BadInput as error:
        reason = str(error).removeprefix(f"{table.path}: ")
        return f"asks more: {reason}"
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
