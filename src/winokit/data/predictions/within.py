"""Predictions in the file of their problems.

A table has a column of them, or the file is a log of a harness.

Who audits such a file means them. They are used where the names of the columns tell them, and what these say was tried;
else a note says which columns there are, and that the built-in model is scored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote

from winokit.data.formats import columns as data_columns
from winokit.data.formats.base import FileHead
from winokit.data.formats.files import has_columns, remembered
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, parse_columns, read_table
from winokit.data.loading import DataLike, paths_of
from winokit.data.predictions.columns import (
    OPTION,
    ROLES,
    SCORES,
    TURN_ROUND,
    PredictionColumns,
    columns_of,
    is_lower_better,
    is_predicted,
)
from winokit.data.predictions.match import Matcher
from winokit.data.predictions.proposals import TableProposals, TriedOption
from winokit.data.predictions.read import LMEVAL_KEYS, PredictionFile, PredictionsWithin
from winokit.data.predictions.table import try_reading
from winokit.errors import BadInput
from winokit.problem import Dataset

INSTEAD = "--model builtin scores the built-in model instead"
SCORED = "the built-in model is scored"
OF_PROBLEMS = re.compile(
    r".*(?:sentence|text|option|candidate|choice|answer|label|gold|target|premise|question|pronoun|language).*|\W*"
    r"|.*(?:^|[^a-z])(?:ids?|qid|idx|guid|index|pair|group|number|count|line|row|rank|age|year|date|time|seconds)\d*"
    r"|(?:is|has|was)[_ ].*"
)
"""Names of columns that say something of a problem or of a row."""


def split_columns(user_columns: str | Mapping[str, str]) -> tuple[dict[str, str] | None, dict[str, str]]:
    """Split the columns of problems from those of predictions.

    The table has both. Each is columns by their roles. The columns of problems are None if no candidates are named:
    the file is then read in its own format.

    >>> split_columns("text=satz,option1=a,option2=b,answer=gut,group=paar,prediction=wahl")[1]
    {'text': 'satz', 'option1': 'a', 'option2': 'b', 'answer': 'gut', 'prediction': 'wahl'}
    """
    columns = parse_columns(user_columns, ROLES | data_columns.ROLES)
    problems = {role: name for role, name in columns.items() if _is_role(role, data_columns.ROLES)}
    predictions = {role: name for role, name in columns.items() if _is_role(role, ROLES)}
    names_candidates = not {"option1", "options", "text1", "good"}.isdisjoint(problems)
    return (problems if names_candidates else None), predictions


def _is_role(role: str, roles: frozenset[str]) -> bool:
    """Whether a role, with or without number, is one of some."""
    bare = role.rstrip("0123456789")
    return bare in roles or f"{bare}1" in roles


def predictions_within(
    data: DataLike,
    problems: Dataset,
    *,
    is_scored: bool = False,
    problem_columns: Mapping[str, str] | None = None,
) -> PredictionsWithin:
    """The predictions in DATA's file of problems, if there are any.

    If DATA is several files, predictions are only noted and never used. A column from which the problems were read is
    never taken for predictions.

    Parameters
    ----------
    data
        The dataset as the user named it.
    problems
        The problems that were read from the file.
    is_scored
        Whether a model is scored anyway. Then the predictions are not used, and a note says that they are there.
    problem_columns
        Columns of the problems by their roles, as the user named them. None for those in a winokit.toml beside a file.
    """
    paths = [path for path in paths_of(data) if path.is_file()]
    if len(paths) == 1:
        return _find_in_file(paths[0], problems, is_scored, problem_columns)
    # Of several files it is only said that there are some: those of one would be taken for those of all.
    notes: list[str] = []
    for path in paths:
        notes += _find_in_file(path, problems, True, problem_columns).notes
    return PredictionsWithin(notes=tuple(notes))


def _find_in_file(
    path: Path, problems: Dataset, is_scored: bool, problem_columns: Mapping[str, str] | None
) -> PredictionsWithin:
    """The predictions in one file of problems.

    None are found if it cannot be read. With `is_scored` they are not used, and a note says that they are there.
    """
    try:
        head = FileHead(path)
        if head.json_keys >= LMEVAL_KEYS or head.array_keys >= LMEVAL_KEYS:
            return _take_log(path, is_scored)
        if _may_have_predictions(head, problems):
            table = read_table(Source(path, lenient=True))
            used_columns = _list_problem_columns(table, path, problem_columns)
            return _take_table(table, path, problems, is_scored, used_columns)
    except BadInput:
        return PredictionsWithin()
    return PredictionsWithin()


def _may_have_predictions(head: FileHead, problems: Dataset) -> bool:
    """Whether a file has columns that may be of predictions.

    A Parquet file always may, because its first bytes do not have the columns.
    """
    columns = [*head.json_keys, *head.array_keys, *head.columns]
    if any(map(_may_be_predicted, columns)) or _list_unexplained(columns, problems):
        return True
    return head.bytes.startswith(b"PAR1")


def _may_be_predicted(column: str) -> bool:
    """Whether a column is called like predictions, scores or losses."""
    return is_predicted(column) or is_lower_better(column) or SCORES.fullmatch(column.casefold()) is not None


def _take_log(path: Path, is_scored: bool) -> PredictionsWithin:
    """The predictions of a harness's log, with a note on them.

    With `is_scored` they are not used, and the note says how to use them.
    """
    if is_scored:
        way_out = f"to audit its predictions: --predictions {quote(str(path))}"
        return PredictionsWithin(notes=[f"{path}: is a log; {SCORED}; {way_out}"])
    note = f"{path}: is a log; its predictions are audited; {INSTEAD}"
    return PredictionsWithin([PredictionFile(path)], None, [note])


def _list_problem_columns(table: Table, path: Path, user_columns: Mapping[str, str] | None) -> list[str]:
    """The columns from which the problems of a table were read.

    The user named them, or else a winokit.toml beside the file does. Empty if neither does.
    """
    roles = dict(user_columns or {})
    if not roles and has_columns(path):
        roles, _ = remembered(path.parent)
    if "where" in roles:
        roles["where"], _, _ = roles["where"].partition("=")
    answer, _, notation = roles.get("answer", "").rpartition(":")
    if notation in data_columns.NOTATIONS and roles["answer"] not in table.columns:
        roles["answer"] = answer
    return list(table.find_columns(roles).values())


def _hide_problem_columns(table: Table, used_columns: Sequence[str]) -> Table:
    """Leave out columns of the problems that are called like predictions.

    Their other columns stay, since some name the problem of a row.
    """
    named_columns = _list_named_columns(columns_of(table))
    shown_names = []
    for name in table.columns:
        is_called_so = name in named_columns or _may_be_predicted(name)
        if name not in used_columns or not is_called_so:
            shown_names.append(name)
    return replace(table, columns=tuple(shown_names))


def _take_table(
    table: Table, path: Path, problems: Dataset, is_scored: bool, used_columns: Sequence[str]
) -> PredictionsWithin:
    """The predictions in a table of problems, with notes on them.

    They are used if column names tell one choice that reads nine rows of ten, unless it may be the answers or
    `is_scored`. Otherwise a note says how to use them. `used_columns` are those of the problems.
    """
    if used_columns:
        table = _hide_problem_columns(table, used_columns)
    columns = columns_of(table)
    names = _list_named_columns(columns)
    if not names:
        names = [name for name in table.columns if is_lower_better(name)]
    attempt = partial(try_reading, table, Matcher(problems))
    proposals = TableProposals(table, columns, problems, attempt)
    if not names:
        free_columns = [name for name in table.columns if name not in used_columns]
        unexplained = _list_unexplained(free_columns, problems)
        return PredictionsWithin(notes=_list_unnamed_notes(path, proposals, unexplained))
    option = proposals.try_named_choice()
    if columns.rivals:
        option = next(iter(proposals.best_choices(columns.rivals)), None)
    has = f"{path}: has {_render_names(names)} beside its problems"
    is_unclear = option is None or bool(columns.rivals) or option.has_answers
    if option is None or is_unclear or is_scored:
        way_out = _describe_way_out(path, option, names)
        return PredictionsWithin(notes=[f"{has}; {SCORED}; {way_out}"])
    counts = f"{option.reading.read:,} of {option.reading.rows:,} rows read"
    verb = "is" if len(names) == 1 else "are"
    note = f"{has}, which {verb} audited ({counts}); {INSTEAD}"
    return PredictionsWithin([PredictionFile(path)], option.columns, [note])


def _list_unexplained(columns: Iterable[str], problems: Dataset) -> list[str]:
    """The columns that are no part of the problems, by their names.

    They may be of predictions.
    """
    explained: set[str] = set()
    for problem in problems:
        explained.update(problem.labels)
        explained.update(problem.provenance)
    return [name for name in columns if name not in explained and not OF_PROBLEMS.fullmatch(name.casefold())]


def _list_unnamed_notes(path: Path, proposals: TableProposals, names: Sequence[str]) -> tuple[str, ...]:
    """Notes on the first column of choices that is not called so.

    Such columns are often called after a model.
    """
    option_text = f"--predictions {quote(str(path))}"
    for name in names:
        has = f"{path}: has a column {name!r}"
        option = proposals.try_prediction(name)
        if option is None and proposals.reads_as_replies(name):
            has = f"{has} beside its problems, which may be replies of a model"
            return (f"{has}; {SCORED}; to audit that instead: {option_text}, which says how",)
        if option is not None and not option.has_answers:
            has = f"{has} of choices beside its problems"
            return (f"{has}; {SCORED}; to audit that instead, if a model chose so: {option_text} {option}",)
    return ()


def _list_named_columns(columns: PredictionColumns) -> list[str]:
    """The columns of predictions that the names of columns tell."""
    if columns.rivals:
        return list(columns.rivals)
    if columns.prediction is not None:
        return [columns.prediction]
    return list(columns.scores)


def _render_names(names: Sequence[str]) -> str:
    """One column or several, for a sentence."""
    if len(names) == 1:
        return f"a column {names[0]!r}"
    return f"columns {', '.join(map(repr, names))}"


def _describe_way_out(path: Path, option: TriedOption | None, names: Sequence[str]) -> str:
    """The option that audits predictions which were not used.

    If none can, it is the reason.

    Parameters
    ----------
    option
        The option that reads them. None if too few rows can be read.
    names
        The columns of predictions.
    """
    if option is not None:
        question = " if it is not the answers" if option.has_answers else ""
        return f"to audit that instead{question}: --predictions {quote(str(path))} {option}"
    if any(map(is_lower_better, names)):
        return TURN_ROUND
    how = f"--predictions {quote(str(path))} {OPTION} ROLE=COLUMN,…"
    return f"fewer than nine rows of ten read as choices; to say how: {how}"
