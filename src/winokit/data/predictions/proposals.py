"""Options that would read a table whose column names do not tell the choice.

Each was tried before it is proposed.

An option that reads fewer than nine rows of ten is never proposed, and the message says how many it reads. A wrong one
would be pasted and believed: of two losses, the second taken for a prediction made a model of 75 % one of 25 %.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from winokit.data.formats.tables import LIST, Table, cell_text, format_columns
from winokit.data.predictions.columns import (
    AS_DATA,
    BY_RIGHTNESS,
    LEADERBOARD,
    LINE,
    OPTION,
    TURN_ROUND,
    PredictionColumns,
    columns_of,
    has_verdicts,
    is_by_rightness,
    is_lower_better,
    listed_columns,
    may_choose,
)
from winokit.data.predictions.headings import UNNAMED
from winokit.data.predictions.layouts import HOW
from winokit.data.predictions.leaderboard import has_leaderboard_order
from winokit.data.predictions.models_in_columns import pattern_of
from winokit.errors import BadInput
from winokit.problem import Dataset

LEAST_READ = 0.9
"""The share of its rows that an option must read to be proposed."""
MOST_SHOWN = 4
"""Options that a message shows."""
NUMBERED = re.compile(
    r"(?P<stem>.*?)[\s_.(-]*(?P<number>\d{1,2}|[a-e])(?P<rest>[)\s_.-]*(?:(?:log)?probs?|scores?|logits?|lls?|loss|nll|ppl)?)",
    re.IGNORECASE,
)
"""Names of columns that differ in a number or letter: `p(A)`, `option_1_prob`."""
MOST_TAKEN_FOR_ONE = 2
"""Columns of choices beyond which a table probably has one for each model."""
SAMPLED = 40
"""Rows that are tried before all are."""
FEWEST_TELLING = 20
"""Rows in which a column must agree with the dataset's answers to be taken for these."""


@dataclass(frozen=True)
class TrialReading:
    """Counts of rows that some columns can read, in a trial."""

    rows: int
    """Rows that were tried."""
    found: int = 0
    """Those whose problem is known."""
    read: int = 0
    """Of these, those with a choice."""
    right: int = 0
    """Of these, those with the right one."""


Attempt = Callable[[PredictionColumns, Sequence[int], bool | None], TrialReading]
"""Reads the rows of a table at some indices with some columns, as long as nine of ten may be read.

The flag says whether replies in sentences are read too; None reads them in every row, however few can be read.
"""


@dataclass(frozen=True)
class TriedOption:
    """Columns by their roles, and how many rows they can read.

    All rows of the table were tried.
    """

    columns: Mapping[str, str]
    reading: TrialReading

    @property
    def gives(self) -> str:
        """The counts in words: rows read, and right ones."""
        return f"reads {self.reading.read:,} of {self.reading.rows:,} rows, {self.reading.right:,} right"

    @property
    def has_answers(self) -> bool:
        """Whether its choices are right in every row.

        Its column may then hold the dataset's answers, and no predictions. Rows that cannot be read do not count, and
        at least 20 must be read.
        """
        is_telling = self.reading.read >= FEWEST_TELLING
        return is_telling and self.reading.right == self.reading.read

    def __str__(self) -> str:
        """The option as it is typed, with its count of rows."""
        counts = f"reads {self.reading.read:,} of {self.reading.rows:,} rows"
        return f"{_render_roles(self.columns)} ({counts})"


class TableProposals:
    """Finds the options with which a table of predictions could be read.

    Messages propose them if the names of the columns are not clear.

    Parameters
    ----------
    named_columns
        The columns whose roles their names tell.
    dataset
        The problems that the predictions are about.
    attempt
        Reads some rows with some columns, and counts what it could read.
    """

    def __init__(self, table: Table, named_columns: PredictionColumns, dataset: Dataset, attempt: Attempt) -> None:
        self.table = table
        self.named_columns = named_columns
        self.dataset = dataset
        self.attempt = attempt
        self.naming = self._find_naming()
        """The columns that name a problem, by their roles; none where no column does."""

    def refuse(self) -> None:
        """Raise BadInput if column names do not tell enough.

        They must tell the choice and the problem. The message proposes options that would read the table.
        """
        columns_by_name = self.named_columns
        if columns_by_name.rivals:
            tried = self.best_choices(columns_by_name.rivals)
            options = self._render_options(tried) if tried else self._render_placeholder()
            raise BadInput(
                f"{self.table.path}: {', '.join(columns_by_name.rivals)}: which is the prediction? {options}"
            )
        if columns_by_name.prediction is None and not columns_by_name.scores:
            self._refuse_choiceless()
        if not columns_by_name.texts and not columns_by_name.ids:
            self._refuse_nameless()

    def _refuse_choiceless(self) -> None:
        """Raise BadInput for a table without a column called a prediction."""
        path = self.table.path
        losses = [name for name in self.table.columns if is_lower_better(name)]
        tried = self.best_choices([*self._list_free_columns(), *losses])
        if losses and not tried:
            are_by_rightness = any(map(is_by_rightness, losses))
            how = BY_RIGHTNESS if are_by_rightness else TURN_ROUND
            raise BadInput(f"{path}: {', '.join(losses)}: {how}")
        expected = f"no predictions of a known kind: expected a column 'prediction', found {listed_columns(self.table)}"
        if not tried:
            raise BadInput(
                f"{path}: {expected}; say which it is: {self._render_placeholder()} "
                f"(no other column reads as choices in nine rows of ten), {HOW}"
            )
        condition = self._describe_condition(tried[0])
        raise BadInput(f"{path}: {expected}; {condition}: {self._render_options(tried)}")

    def _refuse_nameless(self) -> None:
        """Raise BadInput for a table in which no column names a problem."""
        path = self.table.path
        expected = f"expected a column with the problem's id or text, found {listed_columns(self.table)}"
        if self.naming and "order" not in self.naming:
            tried = self.try_named_choice()
            if tried is not None:
                raise BadInput(f"{path}: {expected}; {self._describe_naming()}: {tried}")
        roles_by_line = {**self._get_required_columns(), **self._get_named_choice(), "order": LINE}
        by_line = self.try_roles(roles_by_line)
        in_order = ""
        if by_line is not None:
            in_order = f", or, if its rows are in the order of {self.dataset.card.name}: {by_line}"
        raise BadInput(f"{path}: {expected}; name it (id=COLUMN){in_order}")

    def _render_options(self, tried: Sequence[TriedOption]) -> str:
        """Options that would read the table, for a message.

        Several options are listed with the rows that they read and those that are right.

        Parameters
        ----------
        tried
            The options that read enough rows, best first.
        """
        unproposed = self._list_unproposed(tried)
        if len(tried) == 1 and not unproposed:
            return str(tried[0])
        ways = []
        for option in tried[:MOST_SHOWN]:
            ways.append(f"{_render_roles(option.columns)} ({option.gives})")
        if len(tried) > MOST_SHOWN:
            ways.append(f"{len(tried) - MOST_SHOWN} other columns read too")
        ways += self._join_options(tried)
        return "; or ".join(ways) + unproposed

    def _join_options(self, tried: Sequence[TriedOption]) -> list[str]:
        """A list with the option that takes columns as models.

        The list is empty unless more than two columns can be read in the same role.
        """
        if "order" in self.naming:
            return []
        for role in ("correct", "prediction"):
            names = [option.columns[role] for option in tried if role in option.columns]
            ordered = [name for name in self.table.columns if name in names]
            if len(ordered) > MOST_TAKEN_FOR_ONE:
                roles = {**self.naming, role: pattern_of(self.table, ordered)}
                return [f"all {len(ordered)}, each as a model: {_render_roles(roles)}"]
        return []

    def _list_unproposed(self, tried: Sequence[TriedOption]) -> str:
        """Columns of replies that are not proposed, for a message.

        Each has the rows that it reads. Empty if there are none.
        """
        proposed: set[str] = set()
        for option in tried:
            proposed.update(option.columns.values())
        others = []
        for name in self.named_columns.rivals or self._list_free_columns(every=True):
            trial = None if name in proposed else self._test_replies(name)
            if trial is not None:
                others.append(f"{name!r} {TriedOption({}, trial).gives}")
        if not others:
            return ""
        return f"; not proposed: {'; '.join(others[:MOST_SHOWN])}"

    def _test_replies(self, name: str) -> TrialReading | None:
        """Try to read a column as replies in sentences.

        None unless a third of all rows can be read, and some cell of a sample has a space.
        """
        if not self.naming or is_lower_better(name):
            return None
        row_indices = next(self._sample_rows())
        cells = [str(self.table.rows[row_index][1].get(name) or "") for row_index in row_indices]
        if not any(" " in cell for cell in cells):
            return None
        all_rows = range(len(self.table.rows))
        trial = self._test_prediction(name, all_rows, None)
        if trial is None or trial.rows == 0:
            return None
        return trial if 3 * trial.read >= trial.rows else None

    def _test_prediction(self, name: str, row_indices: Sequence[int], in_sentences: bool | None) -> TrialReading | None:
        """Try to read a column as the prediction, in some rows.

        None if the columns cannot be of predictions.

        Parameters
        ----------
        name
            The column.
        row_indices
            Indices of the rows.
        in_sentences
            Whether replies in sentences are read too. None reads them in every row, however few can be read.
        """
        try:
            columns = columns_of(self.table, {**self.naming, "prediction": name})
            return self.attempt(columns, row_indices, in_sentences)
        except BadInput:
            return None

    def _describe_condition(self, best: TriedOption) -> str:
        """The condition under which an option is right, in words."""
        columns = best.columns
        if "prediction" in columns:
            condition = f"if {columns['prediction']!r} is what the model chose"
        elif "correct" in columns:
            condition = f"if {columns['correct']!r} says whether the model was right"
        else:
            scores = [repr(name) for role, name in columns.items() if role.startswith(("scores", "losses"))]
            are_losses = any(role.startswith("losses") for role in columns)
            best_ones = "lowest" if are_losses else "highest"
            condition = f"if {' and '.join(scores)} are scores of the candidates, of which the {best_ones} is best"
        if "order" in columns:
            condition += f", and its rows are in the order of {self.dataset.card.name}"
        return condition

    def _describe_naming(self) -> str:
        """The column that names problems, in words."""
        name = next(name for role, name in self.naming.items() if role in ("text", "id"))
        return f"{name!r} names problems"

    def _get_naming(self) -> dict[str, str]:
        """Columns that name a problem, by their roles.

        If none was found, it is a column that is called so, or the placeholder COLUMN.
        """
        if self.naming:
            return self.naming
        if self.named_columns.texts:
            return {"text": self.named_columns.texts[0]}
        if self.named_columns.ids:
            return {"id": self.named_columns.ids[0]}
        return {"id": "COLUMN"}

    def try_named_choice(self) -> TriedOption | None:
        """The option with the prediction or the scores that column names tell.

        None if there are none, or if they can read too few rows.
        """
        choice = self._get_named_choice()
        if not choice or not self.naming:
            return None
        return self.try_roles({**self.naming, **choice})

    def try_prediction(self, name: str) -> TriedOption | None:
        """The option that reads a column as choices, without replies in sentences.

        None if it reads too few rows.
        """
        if not self.naming:
            return None
        return self.try_roles({**self.naming, "prediction": name}, in_sentences=False)

    def reads_as_replies(self, name: str) -> bool:
        """Whether most cells of a column can be read as replies.

        Nine in ten must be. Only a sample of the rows is tried.
        """
        if not self.naming:
            return False
        row_indices = next(self._sample_rows())
        trial = self._test_prediction(name, row_indices, True)
        return trial is not None and _is_enough(trial.read, trial)

    def _render_placeholder(self) -> str:
        """The option with a placeholder where the user must put a column."""
        return _render_roles({**self._get_naming(), "prediction": "COLUMN"})

    def _get_named_choice(self) -> dict[str, str]:
        """The columns of choices that their names tell, by their roles.

        They are the prediction, or else the scores or losses. Empty if no name tells any.
        """
        if self.named_columns.prediction is not None:
            return {"prediction": self.named_columns.prediction}
        kind = "losses" if self.named_columns.are_losses else "scores"
        return {f"{kind}{number}": name for number, name in enumerate(self.named_columns.scores, 1)}

    def _get_required_columns(self) -> dict[str, str]:
        """Columns that every option must name too, by their roles.

        They are the candidates and the answer of a row, by which numbers are read.
        """
        required = {f"option{number}": name for number, name in enumerate(self.named_columns.options, 1)}
        if self.named_columns.answer is not None:
            required["answer"] = self.named_columns.answer
        return required

    def _list_free_columns(self, *, every: bool = False) -> list[str]:
        """Columns without another role that may have choices, the last first.

        Predictions are usually added at the end of a table.

        Parameters
        ----------
        every
            Whether columns that have losses by their names count too.
        """
        columns_by_name = self.named_columns
        used_names = {
            *columns_by_name.texts,
            *columns_by_name.ids,
            *columns_by_name.options,
            columns_by_name.answer,
            columns_by_name.correct,
            *self.naming.values(),
        }
        free = [name for name in reversed(self.table.columns) if name not in used_names]
        if every:
            return free
        return [name for name in free if not is_lower_better(name)]

    def _find_naming(self) -> dict[str, str]:
        """The columns that name the problem, by their roles.

        They name it in nine rows of ten. Columns that are called so are tried first, then any other. If none does and
        there are as many rows as problems, it is the order of the rows. Empty otherwise.
        """
        columns_by_name = self.named_columns
        required = self._get_required_columns()
        used_names = {
            columns_by_name.prediction,
            columns_by_name.answer,
            *columns_by_name.scores,
            *columns_by_name.options,
            *columns_by_name.rivals,
        }
        others = [name for name in self.table.columns if name not in used_names and not is_lower_better(name)]
        roles = [("text", name) for name in columns_by_name.texts]
        roles += [("id", name) for name in columns_by_name.ids]
        is_told = bool(roles)
        roles += [("id", name) for name in others]
        roles += [("text", name) for name in others]
        for role, name in dict.fromkeys(roles):
            columns = {role: name, **required}
            if self._is_naming(columns):
                return columns
        if not is_told and len(self.table.rows) == len(self.dataset):
            return {"order": LINE, **required}
        return {}

    def _is_naming(self, naming: Mapping[str, str]) -> bool:
        """Whether columns name the problem in nine rows of ten."""
        texts = tuple(name for role, name in naming.items() if role == "text")
        ids = tuple(name for role, name in naming.items() if role == "id")
        columns = PredictionColumns(texts, ids, is_given=True)
        for row_indices in self._sample_rows():
            trial = self.attempt(columns, row_indices, False)
            if not _is_enough(trial.found, trial):
                return False
        return True

    def best_choices(self, names: Iterable[str]) -> list[TriedOption]:
        """The options in which some columns are choices or scores, best first.

        Replies in sentences come last. An option that is right in every row is left out: it may be the dataset's
        answers.
        """
        if not self.naming:
            return []
        labels: list[TriedOption] = []
        replies: list[TriedOption] = []
        for roles in self._list_choices(list(names)):
            as_label = self.try_roles(roles, in_sentences=False)
            if as_label is not None:
                labels.append(as_label)
                continue
            as_reply = self.try_roles(roles)
            if as_reply is not None:
                replies.append(as_reply)
        labels.sort(key=lambda option: ("prediction" not in option.columns, -option.reading.read))
        return [option for option in (*labels, *replies) if not option.has_answers]

    def _list_choices(self, names: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield ways to read columns as choices, losses or scores.

        A way is columns by their roles.
        """
        for name in names:
            if is_lower_better(name):
                yield {**self.naming, "losses": name}
            elif may_choose(name) or name in self.named_columns.rivals:
                yield from self._list_roles(name)
        if self.named_columns.correct is not None:
            yield from self._list_judged_choices(self.named_columns.correct)
        for members in _group_numbered(names):
            if len(members) > 1:
                are_losses = all(map(is_lower_better, members))
                kind = "losses" if are_losses else "scores"
                roles = {f"{kind}{number}": name for number, name in enumerate(members, 1)}
                yield {**self.naming, **roles}

    def _list_roles(self, name: str) -> Iterator[dict[str, str]]:
        """Yield ways to read one column as the choice.

        It may have choices, verdicts or scores, depending on its cells. A way is columns by their roles.
        """
        if not self._does_zero_mean_wrong(name):
            yield {**self.naming, "prediction": name}
        if has_verdicts(self.table, name):
            yield from self._list_judged_choices(name)
        yield {**self.naming, "scores": name}

    def _list_judged_choices(self, name: str) -> Iterator[dict[str, str]]:
        """Yield the ways to read a column of right and wrong.

        If rows are found by position and the data are WinoGrande's dev set, there is one way for each order that the
        rows may have.
        """
        is_by_line = self.naming.get("order") == LINE
        if is_by_line and has_leaderboard_order(self.dataset):
            yield {**self.naming, "order": LEADERBOARD, "correct": name}
            yield {**self.naming, "order": AS_DATA, "correct": name}
        else:
            yield {**self.naming, "correct": name}

    def _does_zero_mean_wrong(self, name: str) -> bool:
        """Whether a 0 in a column means "wrong", and is no choice.

        It does if the answers of the table count from 1, and all cells of the column say right or wrong.
        """
        answer = self.named_columns.answer
        if not answer:
            return False
        answers = {cell_text(cells.get(answer)).strip() for _, cells in self.table.rows}
        counts_from_1 = "2" in answers and "0" not in answers
        return counts_from_1 and has_verdicts(self.table, name)

    def try_roles(self, roles: Mapping[str, str], in_sentences: bool = True) -> TriedOption | None:
        """The option with these roles, if it reads nine rows of ten.

        None otherwise. A sample of the rows is tried before all are. With `in_sentences`, replies in sentences are
        read too.
        """
        trial = TrialReading(0)
        try:
            columns = columns_of(self.table, dict(roles))
            for row_indices in self._sample_rows():
                trial = self.attempt(columns, row_indices, in_sentences)
                if not _is_enough(trial.read, trial):
                    return None
        except BadInput:
            return None
        return TriedOption(roles, trial)

    def _sample_rows(self) -> Iterator[Sequence[int]]:
        """Yield indices of a sample of rows, then of all rows."""
        count = len(self.table.rows)
        if count > SAMPLED:
            yield range(0, count, count // SAMPLED)
        yield range(count)


def _is_enough(count: int, trial: TrialReading) -> bool:
    """Whether a count is nine in ten rows tried, or more."""
    return trial.rows > 0 and count >= LEAST_READ * trial.rows


def _render_roles(roles: Mapping[str, str]) -> str:
    """Columns by their roles, as an option of the command line."""
    return f"{OPTION} {quote(format_columns(roles))}"


def _group_numbered(names: Sequence[str]) -> Iterable[list[str]]:
    """Group columns whose names differ only in a number or letter.

    The last columns of a table come first.
    """
    groups: dict[str, list[str]] = {}
    for name in reversed(names):
        match = NUMBERED.fullmatch(name)
        if match is not None and not name.startswith(UNNAMED):
            stem = f"{match['stem']} {match['rest']}".casefold()
            groups.setdefault(stem, []).append(name)
    return groups.values()


def refuse_lists(table: Table, user_columns: Mapping[str, str] | None, attempt: Attempt) -> None:
    """Raise BadInput for a JSON object with several lists of rows.

    The message says how many rows each list gives, and how many all give together.
    """
    try:
        columns = columns_of(table, user_columns)
    except BadInput:
        columns = PredictionColumns()
    list_of_row = [cell_text(cells.get(LIST)) for _, cells in table.rows]
    names = list(dict.fromkeys(list_of_row))
    selections = [[name] for name in names]
    if len(names) <= MOST_SHOWN:
        selections.append(names)
    ways = []
    for selection in selections:
        row_indices = [row_index for row_index, name in enumerate(list_of_row) if name in selection]
        roles = {**(user_columns or {}), "where": f"{LIST}={'|'.join(selection)}"}
        gives = f"{len(row_indices):,} rows"
        if columns.is_complete:
            trial = attempt(columns, row_indices, None)
            gives = TriedOption(roles, trial).gives
        ways.append(f"{_render_roles(roles)} ({gives})")
    listed_names = ", ".join(map(repr, names))
    listed_ways = "; or ".join(ways[: MOST_SHOWN + 1])
    raise BadInput(
        f"{table.path}: its rows stand in {len(names)} lists, {listed_names}: which are meant? {listed_ways}"
    )
