"""What to say of a table whose column names do not tell what a model chose: an option that was tried before.

An option that reads fewer than nine rows of ten is never proposed, and the message says how many it reads. A wrong one
would be pasted and believed: of two losses, the second taken for a prediction made a model of 75 % one of 25 %.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from winokit.data.formats.tables import Table, said_columns
from winokit.data.predictions.columns import (
    LINE,
    OPTION,
    TURN_ROUND,
    PredictionColumns,
    columns_of,
    is_lower_better,
    listed_columns,
)
from winokit.errors import BadInput
from winokit.problem import Dataset, grouped

LEAST_READ = 0.9
"""The share of its rows that an option must read to be proposed."""
SAMPLED = 40
"""Rows that are tried before all are."""
FEWEST_TELLING = 20
"""Rows in which a column must agree with the dataset's answers to be taken for these."""
ENDING = re.compile(r"(?P<stem>.*?)[\s_.-]*(?P<number>\d{1,2}|[a-e])", re.IGNORECASE)


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


Attempt = Callable[[PredictionColumns, Sequence[int], bool], TrialReading]
"""Reads the rows of a table at some places with some columns, as long as nine of ten may be read.

The flag says whether replies in sentences are read too, which takes long.
"""


@dataclass(frozen=True)
class TriedOption:
    """Columns by their roles, and what they read of the whole table."""

    columns: Mapping[str, str]
    reading: TrialReading

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
            say = tried[0] if tried else self._placeholder()
            raise BadInput(f"{path}: {', '.join(told.rivals)}: which is the prediction? {say}")
        if told.prediction is None and not told.scores:
            self._refuse_choiceless()
        if not told.texts and not told.ids:
            self._refuse_nameless()

    def _refuse_choiceless(self) -> None:
        """No column has a prediction by its name."""
        path, free = self.table.path, self._free_columns()
        lower = [name for name in self.table.columns if is_lower_better(name)]
        tried = self.best_choices(free)
        if lower and not tried:
            raise BadInput(f"{path}: {', '.join(lower)}: {TURN_ROUND}")
        expected = f"no predictions of a known kind: expected a column 'prediction', found {listed_columns(self.table)}"
        if not tried:
            raise BadInput(
                f"{path}: {expected}; say which it is: {self._placeholder()} "
                "(no other column reads as choices in nine rows of ten)"
            )
        best = tried[0]
        raise BadInput(f"{path}: {expected}; {self._question(best, tried[1:])}: {best}")

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

    def _question(self, best: TriedOption, others: Sequence[TriedOption]) -> str:
        """What must be so for an option to be right."""
        if "prediction" in best.columns:
            rest = [repr(option.columns["prediction"]) for option in others if "prediction" in option.columns]
            also = f" (or {', '.join(rest[:3])})" if rest else ""
            question = f"if {best.columns['prediction']!r} is what the model chose{also}"
        else:
            scores = [repr(name) for role, name in best.columns.items() if role.startswith("scores")]
            question = f"if {' and '.join(scores)} are scores, higher is better"
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
        return {f"scores{number}": name for number, name in enumerate(self.told.scores, 1)}

    def _beside(self) -> dict[str, str]:
        """Columns that an option must name too: numbers count the candidates of their row, as its answer does."""
        beside = {f"option{number}": name for number, name in enumerate(self.told.options, 1)}
        return beside | ({"answer": self.told.answer} if self.told.answer is not None else {})

    def _free_columns(self) -> list[str]:
        """Columns that may have choices, the last first: predictions are added at the end."""
        told = self.told
        taken = {*told.texts, *told.ids, *told.options, told.answer, *self.naming.values()}
        return [name for name in reversed(self.table.columns) if name not in taken and not is_lower_better(name)]

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
        """The options by which some columns are choices or scores; the one that reads most comes first.

        A column that says what the dataset's answers say in every row is left out: it has the answers.
        """
        if not self.naming:
            return []
        choices = list(self._choices(list(names)))
        for in_sentences in (False, True):
            tried = filter(None, (self.tried(roles, in_sentences) for roles in choices))
            telling = [option for option in tried if not option.has_answers]
            if telling:
                return sorted(telling, key=lambda option: ("prediction" not in option.columns, -option.reading.read))
        return []

    def _choices(self, names: Sequence[str]) -> Iterator[dict[str, str]]:
        for name in names:
            yield {**self.naming, "prediction": name}
        endings = ((ENDING.fullmatch(name), name) for name in reversed(names))
        stems = grouped((match["stem"].casefold(), name) for match, name in endings if match)
        for members in stems.values():
            if len(members) > 1:
                yield {**self.naming, **{f"scores{number}": name for number, name in enumerate(members, 1)}}

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
