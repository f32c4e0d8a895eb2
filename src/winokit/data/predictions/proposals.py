"""What to say of a table whose column names do not tell what a model chose: an option that was tried before.

An option that reads fewer than nine rows of ten is never proposed, and the message says how many it reads. A wrong one
would be pasted and believed: of two losses, the second taken for a prediction made a model of 75 % one of 25 %.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from winokit.data.formats.tables import LIST, Table, cell_text, said_columns
from winokit.data.predictions.columns import (
    AS_DATA,
    BY_RIGHTNESS,
    LEADERBOARD,
    LINE,
    OPTION,
    TURN_ROUND,
    PredictionColumns,
    columns_of,
    is_by_rightness,
    is_lower_better,
    judges,
    listed_columns,
    may_choose,
)
from winokit.data.predictions.headings import UNNAMED
from winokit.data.predictions.layouts import HOW
from winokit.data.predictions.leaderboard import has_leaderboard_order
from winokit.data.predictions.models_in_columns import pattern_of
from winokit.errors import BadInput
from winokit.problem import Dataset, grouped

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
    """What columns read of some rows of a table."""

    rows: int
    """Rows that were tried."""
    found: int = 0
    """Those whose problem is known."""
    read: int = 0
    """Of these, those with a choice."""
    right: int = 0
    """Of these, those with the right one."""


Attempt = Callable[[PredictionColumns, Sequence[int], bool | None], TrialReading]
"""Reads the rows of a table at some places with some columns, as long as nine of ten may be read.

The flag says whether replies in sentences are read too; None reads them in every row, however few can be read.
"""


@dataclass(frozen=True)
class TriedOption:
    """Columns by their roles, and what they read of the whole table."""

    columns: Mapping[str, str]
    reading: TrialReading

    @property
    def gives(self) -> str:
        """Counts of rows that are read, and of right ones."""
        return f"reads {self.reading.read:,} of {self.reading.rows:,} rows, {self.reading.right:,} right"

    @property
    def has_answers(self) -> bool:
        """Whether it says what the dataset's answers say in every row: it may be these, and no predictions."""
        return self.reading.read >= FEWEST_TELLING and self.reading.right == self.reading.read

    def __str__(self) -> str:
        """The option, and how many rows it reads."""
        counts = f"reads {self.reading.read:,} of {self.reading.rows:,} rows"
        return f"{OPTION} {quote(said_columns(self.columns))} ({counts})"


class TableProposals:
    """The options that would read a table, tried one after the other.

    Parameters
    ----------
    told
        What the names of the columns tell.
    """

    def __init__(self, table: Table, told: PredictionColumns, dataset: Dataset, attempt: Attempt) -> None:
        self.table, self.told, self.dataset, self.attempt = table, told, dataset, attempt
        self.naming = self._naming()
        """The columns that name a problem, by their roles; none where no column does."""

    def refuse(self) -> None:
        """Refuse the table unless its columns tell what was chosen, and of which problem."""
        told, path = self.told, self.table.path
        if told.rivals:
            tried = self.best_choices(told.rivals)
            say = self._each(tried) if tried else self._placeholder()
            raise BadInput(f"{path}: {', '.join(told.rivals)}: which is the prediction? {say}")
        if told.prediction is None and not told.scores:
            self._refuse_choiceless()
        if not told.texts and not told.ids:
            self._refuse_nameless()

    def _refuse_choiceless(self) -> None:
        """No column has a prediction by its name."""
        path, free = self.table.path, self._free_columns()
        lower = [name for name in self.table.columns if is_lower_better(name)]
        tried = self.best_choices([*free, *lower])
        if lower and not tried:
            how = BY_RIGHTNESS if any(map(is_by_rightness, lower)) else TURN_ROUND
            raise BadInput(f"{path}: {', '.join(lower)}: {how}")
        expected = f"no predictions of a known kind: expected a column 'prediction', found {listed_columns(self.table)}"
        if not tried:
            raise BadInput(
                f"{path}: {expected}; say which it is: {self._placeholder()} "
                f"(no other column reads as choices in nine rows of ten), {HOW}"
            )
        raise BadInput(f"{path}: {expected}; {self._question(tried[0])}: {self._each(tried)}")

    def _refuse_nameless(self) -> None:
        """No column names a problem by its name."""
        expected = f"expected a column with the problem's id or text, found {listed_columns(self.table)}"
        if self.naming and "order" not in self.naming:
            tried = self.told_choice()
            if tried is not None:
                raise BadInput(f"{self.table.path}: {expected}; {self._names_problems()}: {tried}")
        by_line = self.tried({**self._beside(), **self._said_choice(), "order": LINE})
        in_order = ""
        if by_line is not None:
            in_order = f", or, if its rows are in the order of {self.dataset.card.name}: {by_line}"
        raise BadInput(f"{self.table.path}: {expected}; name it (id=COLUMN){in_order}")

    def _each(self, tried: Sequence[TriedOption]) -> str:
        """The options that would read the table; if they are several, each with what it gives."""
        others = self._others(tried)
        if len(tried) == 1 and not others:
            return str(tried[0])
        shown = [f"{OPTION} {quote(said_columns(option.columns))} ({option.gives})" for option in tried[:MOST_SHOWN]]
        more = [f"{len(tried) - MOST_SHOWN} other columns read too"] if len(tried) > MOST_SHOWN else []
        more += self._all_together(tried)
        return "; or ".join([*shown, *more]) + others

    def _all_together(self, tried: Sequence[TriedOption]) -> list[str]:
        """The option that takes each column as a model, if several read in the same role."""
        for role in ("correct", "prediction"):
            names = [option.columns[role] for option in tried if role in option.columns]
            ordered = [name for name in self.table.columns if name in names]
            if len(ordered) > MOST_TAKEN_FOR_ONE and "order" not in self.naming:
                roles = {**self.naming, role: pattern_of(self.table, ordered)}
                return [f"all {len(ordered)}, each as a model: {OPTION} {quote(said_columns(roles))}"]
        return []

    def _others(self, tried: Sequence[TriedOption]) -> str:
        """Columns that are not proposed, each with the rows that it reads."""
        proposed: set[str] = set()
        for option in tried:
            proposed.update(option.columns.values())
        others = []
        for name in self.told.rivals or self._free_columns(every=True):
            trial = self._gives(name) if name not in proposed else None
            if trial is not None:
                others.append(f"{name!r} {TriedOption({}, trial).gives}")
        return f"; not proposed: {'; '.join(others[:MOST_SHOWN])}" if others else ""

    def _gives(self, name: str) -> TrialReading | None:
        """The reading of a column of replies, if it reads a third of the rows."""
        places = next(iter(self._samples()))
        cells = [str(self.table.rows[place][1].get(name) or "") for place in places]
        if not self.naming or is_lower_better(name) or not any(" " in cell for cell in cells):
            return None
        try:
            columns = columns_of(self.table, {**self.naming, "prediction": name})
            trial = self.attempt(columns, range(len(self.table.rows)), None)
        except BadInput:
            return None
        return trial if 3 * trial.read >= trial.rows > 0 else None

    def _question(self, best: TriedOption) -> str:
        """The condition under which an option is right."""
        if "prediction" in best.columns:
            question = f"if {best.columns['prediction']!r} is what the model chose"
        elif "correct" in best.columns:
            question = f"if {best.columns['correct']!r} says whether the model was right"
        else:
            scores = [repr(name) for role, name in best.columns.items() if role.startswith(("scores", "losses"))]
            best_ones = "lowest" if any(role.startswith("losses") for role in best.columns) else "highest"
            question = f"if {' and '.join(scores)} are scores of the candidates, of which the {best_ones} is best"
        in_order = f", and its rows are in the order of {self.dataset.card.name}" if "order" in best.columns else ""
        return question + in_order

    def _names_problems(self) -> str:
        name = next(name for role, name in self.naming.items() if role in ("text", "id"))
        return f"{name!r} names problems"

    def _said_naming(self) -> dict[str, str]:
        """The columns that name a problem, or seem to, or where to name them."""
        if self.naming:
            return self.naming
        if self.told.texts:
            return {"text": self.told.texts[0]}
        return {"id": self.told.ids[0] if self.told.ids else "COLUMN"}

    def told_choice(self) -> TriedOption | None:
        """The option that reads the prediction, or the scores, that the names of the columns tell."""
        choice = self._said_choice()
        return self.tried({**self.naming, **choice}) if choice and self.naming else None

    def tried_choice(self, name: str) -> TriedOption | None:
        """The option that reads a column as choices, to the letter; None if it reads too few rows."""
        if not self.naming:
            return None
        return self.tried({**self.naming, "prediction": name}, in_sentences=False)

    def seems_chosen(self, name: str) -> bool:
        """Whether nine in ten of a few rows of a column can be read as replies."""
        if not self.naming:
            return False
        places = next(iter(self._samples()))
        try:
            trial = self.attempt(columns_of(self.table, {**self.naming, "prediction": name}), places, True)
        except BadInput:
            return False
        return trial.rows > 0 and trial.read >= LEAST_READ * trial.rows

    def _placeholder(self) -> str:
        """The option in which a user must put the column."""
        return f"{OPTION} {quote(said_columns({**self._said_naming(), 'prediction': 'COLUMN'}))}"

    def _said_choice(self) -> dict[str, str]:
        """What the names of the columns tell of choices, as an option says it."""
        if self.told.prediction is not None:
            return {"prediction": self.told.prediction}
        kind = "losses" if self.told.are_losses else "scores"
        return {f"{kind}{number}": name for number, name in enumerate(self.told.scores, 1)}

    def _beside(self) -> dict[str, str]:
        """Columns that an option must name too: numbers count the candidates of their row, as its answer does."""
        beside = {f"option{number}": name for number, name in enumerate(self.told.options, 1)}
        return beside | ({"answer": self.told.answer} if self.told.answer is not None else {})

    def _free_columns(self, *, every: bool = False) -> list[str]:
        """Columns that may have choices, the last first: predictions are added at the end.

        Parameters
        ----------
        every
            Whether those count too that have none by their names.
        """
        told = self.told
        taken = {*told.texts, *told.ids, *told.options, told.answer, *self.naming.values()}
        free = [name for name in reversed(self.table.columns) if name not in taken and name != told.correct]
        return free if every else [name for name in free if not is_lower_better(name)]

    def _naming(self) -> dict[str, str]:
        """The first columns that name nine problems of ten: those told by name, any other, or the order of the rows."""
        told, beside = self.told, self._beside()
        taken = {told.prediction, told.answer, *told.scores, *told.options, *told.rivals}
        named = [*(("text", name) for name in told.texts), *(("id", name) for name in told.ids)]
        others = [name for name in self.table.columns if name not in taken and not is_lower_better(name)]
        roles = [*named, *(("id", name) for name in others), *(("text", name) for name in others)]
        for role, name in dict.fromkeys(roles):
            columns = {role: name, **beside}
            if self._finds(columns):
                return columns
        if not named and len(self.table.rows) == len(self.dataset):
            return {"order": LINE, **beside}
        return {}

    def _finds(self, naming: Mapping[str, str]) -> bool:
        """Whether columns name the problems of nine rows of ten."""
        columns = PredictionColumns(
            tuple(name for role, name in naming.items() if role == "text"),
            tuple(name for role, name in naming.items() if role == "id"),
            is_given=True,
        )
        for places in self._samples():
            trial = self.attempt(columns, places, False)
            if trial.found < LEAST_READ * trial.rows or not trial.rows:
                return False
        return True

    def best_choices(self, names: Iterable[str]) -> list[TriedOption]:
        """The options by which some columns are choices or scores; replies in sentences come last.

        A column that says what the dataset's answers say in every row is left out: it has the answers.
        """
        if not self.naming:
            return []
        labels, replies = list[TriedOption](), list[TriedOption]()
        for roles in self._choices(list(names)):
            option = self.tried(roles, in_sentences=False)
            if option is not None:
                labels.append(option)
            elif (option := self.tried(roles)) is not None:
                replies.append(option)
        telling = [option for option in labels if not option.has_answers]
        telling.sort(key=lambda option: ("prediction" not in option.columns, -option.reading.read))
        return telling + [option for option in replies if not option.has_answers]

    def _choices(self, names: Sequence[str]) -> Iterator[dict[str, str]]:
        for name in names:
            if is_lower_better(name):
                yield {**self.naming, "losses": name}
            elif may_choose(name) or name in self.told.rivals:
                for role in self._roles_of(name):
                    if role == "correct":
                        yield from self._judged_choices(name)
                    else:
                        yield {**self.naming, role: name}
        if self.told.correct is not None:
            yield from self._judged_choices(self.told.correct)
        endings = ((NUMBERED.fullmatch(name), name) for name in reversed(names) if not name.startswith(UNNAMED))
        stems = grouped((f"{match['stem']} {match['rest']}".casefold(), name) for match, name in endings if match)
        for members in stems.values():
            if len(members) > 1:
                kind = "losses" if all(map(is_lower_better, members)) else "scores"
                yield {**self.naming, **{f"{kind}{number}": name for number, name in enumerate(members, 1)}}

    def _judged_choices(self, name: str) -> Iterator[dict[str, str]]:
        """A column of right and wrong; by position, in each order that it may have."""
        if self.naming.get("order") == LINE and has_leaderboard_order(self.dataset):
            yield from ({**self.naming, "order": order, "correct": name} for order in (LEADERBOARD, AS_DATA))
        else:
            yield {**self.naming, "correct": name}

    def _roles_of(self, name: str) -> Iterator[str]:
        """The roles that a column may have by its cells."""
        if not self._counts_otherwise(name):
            yield "prediction"
        if judges(self.table, name):
            yield "correct"
        yield "scores"

    def _counts_otherwise(self, name: str) -> bool:
        """Whether a column has 0 and the table's answers count from 1: then 0 is no choice, it says "wrong"."""
        answers = {cell_text(row.get(self.told.answer)).strip() for _, row in self.table.rows if self.told.answer}
        return "0" not in answers and "2" in answers and judges(self.table, name)

    def tried(self, roles: Mapping[str, str], in_sentences: bool = True) -> TriedOption | None:
        """An option that reads nine rows of ten of the whole table; None for any other."""
        trial = TrialReading(0)
        try:
            columns = columns_of(self.table, dict(roles))
            for places in self._samples():
                trial = self.attempt(columns, places, in_sentences)
                if trial.read < LEAST_READ * trial.rows or not trial.rows:
                    return None
        except BadInput:
            return None
        return TriedOption(roles, trial)

    def _samples(self) -> Iterator[Sequence[int]]:
        """Places of rows to be tried: a few over the whole table, then all."""
        count = len(self.table.rows)
        if count > SAMPLED:
            yield range(0, count, count // SAMPLED)
        yield range(count)


def refuse_lists(table: Table, given: Mapping[str, str] | None, attempt: Attempt) -> None:
    """Refuse rows that stand in several lists of one object, with what each list gives, and what all give together."""
    try:
        columns = columns_of(table, given)
    except BadInput:
        columns = PredictionColumns()
    names = list(dict.fromkeys(cell_text(row.get(LIST)) for _, row in table.rows))
    ways = []
    for wanted in ([name] for name in names) if len(names) > MOST_SHOWN else [*([name] for name in names), names]:
        places = [place for place, (_, row) in enumerate(table.rows) if cell_text(row.get(LIST)) in wanted]
        roles = {**(given or {}), "where": f"{LIST}={'|'.join(wanted)}"}
        trial = attempt(columns, places, None) if columns.is_complete else None
        gives = f"{len(places):,} rows" if trial is None else TriedOption(roles, trial).gives
        ways.append(f"{OPTION} {quote(said_columns(roles))} ({gives})")
    raise BadInput(
        f"{table.path}: its rows stand in {len(names)} lists, {', '.join(map(repr, names))}: which are meant? "
        + "; or ".join(ways[: MOST_SHOWN + 1])
    )
