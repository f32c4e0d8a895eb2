"""The result row, its position against chance, and the choice by scores.

Every stage that measures something writes rows of this type, under the names of the contract (`docs/audit.md`), so that
one line of pandas or jq reads any `results.json`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain
from pathlib import PurePath
from typing import Any, ClassVar

from winokit.notebook import result_html

ABOVE = "above"
AT = "at"
BELOW = "below"
UNKNOWN = "unknown"
"""Positions of a row against its chance level."""

USUAL_LEVEL = 0.05
"""The level of a single test."""

TIE = "a tie"
NOT_A_NUMBER = "a score is not a number"
NULL = "null"
"""The detail of a row of right answers: what the scorer's own choices would get if right answers changed places."""
NULL_ERROR = "null_error"
"""The detail beside the null: the standard deviation of the score if right answers change places."""
P_MOST = "p_most"
"""The detail with the p-value of the best score that the same choices could get: no score has a smaller one."""
WITHOUT_ERRATA = "without_errata"
"""The subset of problems that people found nothing wrong with."""
COIN = "coin"
"""The detail of whole groups with abstentions: what a coin gets that never abstains, as in the papers' rows."""
P = "p"
"""The detail with a row's p-value: of its null, or of `chance` where it has none."""
IN_ONE_PLACE = "in_one_place"
"""The detail of a row of problems whose right answers cannot change places: nothing can be told from it.

True if they are all in one place; false if they are in several, and no two units are alike.
"""
SAMPLES = "samples"
"""The detail of a row: of how many samples of each problem it is."""
ONE_CHOICE = "one_choice"
"""The detail of a row whose score is the same wherever right answers are: whether every choice is the same."""
READINGS = "readings"
"""The protocol of rows of one scorer that was asked in several ways; they belong to no other scorer."""
OLD_FLOOR = "floor"
"""Detail of runs before 0.2 in place of the null: the share of the most frequent answer."""
Detail = str | int | float | bool | None


class Brief:
    """Base of dataclasses with a short repr, for notebooks.

    Long values are shown by their length or type.

    >>> @dataclass(repr=False)
    ... class Basket(Brief):
    ...     owner: str
    ...     plums: list[int]
    ...     notes: tuple[str, ...] = ()
    >>> Basket("Simon", [3, 5, 4])
    Basket(owner='Simon', plums=<3>)
    """

    shown_by: ClassVar[str] = ""
    """The module whose `lines` a notebook shows; by default that of the class, or `table` beside it."""

    def _repr_html_(self) -> str:
        """HTML with the result's lines, for notebooks."""
        return result_html(self)

    def __repr__(self) -> str:
        short_values = {each.name: _shorten_value(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]
        values = [f"{name}={text}" for name, text in short_values.items() if text]
        return f"{type(self).__name__}({', '.join(values)})"


def _shorten_value(value: Any) -> str:
    """Write a value in a few words.

    Empty if the value is None or has nothing in it.
    """
    if value is None or (isinstance(value, (str, list, tuple, Mapping)) and not value):
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        return f"<{len(value):,}>"
    if hasattr(value, "shape"):
        sizes = [f"{size:,}" for size in value.shape]
        return f"<{' x '.join(sizes)}>"
    if is_dataclass(value) and not isinstance(value, Brief):
        return f"<{type(value).__name__}>"
    text = repr(str(value) if isinstance(value, PurePath) else value)
    return text if len(text) <= 100 else f"{text[:99]}…"


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of results: a number with its interval and chance level.

    `n` is the number of problems, groups or other things it was computed on.
    """

    dataset: str
    model: str
    scoring: str
    formalization: str | None
    protocol: str
    subset: str
    metric: str
    value: float
    """Not a number (null in files) where there is none: a score that a curve never reaches."""
    n: int
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    note: str | None = None
    """Remark that readers need: "labels judged automatically", "by construction"."""
    details: Mapping[str, Detail] = field(default_factory=dict)
    """Values that only some stages add: size, restart, seed, setting. In files, they are columns."""

    @property
    def level(self) -> float | None:
        """Chance level of the row: its null, else a coin's score.

        None if there is neither.
        """
        for name in (NULL, OLD_FLOOR):
            detail = self.details.get(name)
            if detail is not None:
                return float(detail)
        return self.chance

    @property
    def p(self) -> float | None:
        """Two-sided p-value of the hypothesis that the value is chance.

        None if the row has no test.
        """
        p_value = self.details.get(P)
        return None if p_value is None else float(p_value)

    @property
    def is_untestable(self) -> bool:
        """Whether the row has a null but no test.

        No exchange of right answers changes its value then, and nothing can be concluded from it.
        """
        return self.details.get(NULL) is not None and self.p is None

    @property
    def coin(self) -> float | None:
        """Score of a coin that never abstains, or None."""
        coin_score = self.details.get(COIN)
        return self.chance if coin_score is None else float(coin_score)

    @property
    def is_below_coin(self) -> bool:
        """Whether the share of whole groups is below a coin's.

        Such a row is never called above chance (METHODS M.1). False for other metrics.
        """
        return self.metric == "group_accuracy" and self.coin is not None and self.value < self.coin

    @property
    def is_in_one_place(self) -> bool:
        """Whether all right answers of its problems have the same index."""
        return bool(self.details.get(IN_ONE_PLACE))

    def to_json(self) -> dict[str, Any]:
        """Row of `results.json`, with details as columns."""
        row = {name: _drop_infinite(getattr(self, name)) for name in CONTRACT}
        return {**row, **{name: _drop_infinite(value) for name, value in self.details.items()}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Metric":
        """Make a metric from a row of a file.

        Columns outside the contract become its details, unless they are empty.

        Raises
        ------
        KeyError
            Where a column is missing that says which row it is.
        """
        columns: dict[str, Any] = {name: row[name] for name in NAMING}
        for name in CONTRACT:
            columns.setdefault(name, row.get(name))
        others = {name: value for name, value in row.items() if name not in columns}
        details = {name: value for name, value in others.items() if value is not None}
        if columns["value"] is None:
            columns["value"] = math.nan
        return cls(**columns, details=details)


CONTRACT = tuple(column.name for column in fields(Metric) if column.name != "details")
NAMING = ("dataset", "model", "scoring", "protocol", "subset", "metric")
"""The columns that say which row it is."""


def rows_to_json(rows: Iterable[Metric]) -> list[dict[str, Any]]:
    """Convert metrics to rows of `results.json` with the same columns.

    These are the columns of the contract, then the details of any row.
    """
    metrics = list(rows)
    extra = dict.fromkeys(chain.from_iterable(metric.details for metric in metrics))
    columns = (*CONTRACT, *extra)
    rows_of_cells = [metric.to_json() for metric in metrics]
    return [dict(zip(columns, map(cells.get, columns), strict=True)) for cells in rows_of_cells]


def _drop_infinite(value: Any) -> Any:
    """Return a value, or None if JSON cannot express the number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def stands(row: Metric, against: float | None = None) -> str:
    """Position of a row against its chance level, at 5 %.

    `above`, `at` or `below` by the row's test, or by its interval if there is no test. With `against`, it is the
    position of the interval against that value. `unknown` without a test and an interval.
    """
    if against is None and row.is_untestable:
        return UNKNOWN
    if against is None and row.p is not None:
        return tested(row, row.p, USUAL_LEVEL)
    level = row.level if against is None else against
    if level is None or row.low is None or row.high is None:
        return UNKNOWN
    if row.low > level:
        return ABOVE
    return BELOW if row.high < level else AT


def tested(row: Metric, p: float, sure: float) -> str:
    """Position of a row against its chance level, by a p-value.

    It is `at` unless the p-value is below `sure`; `unknown` without a chance level.
    """
    level = row.level
    if level is None:
        return UNKNOWN
    if p >= sure:
        return AT
    if row.value <= level:
        return BELOW
    return AT if row.is_below_coin else ABOVE


def decide(scores: Sequence[float]) -> tuple[int | None, str | None]:
    """Choose the candidate with the highest score.

    Returns its index and None, or None and a reason: a tie is an abstention, and so is a score that is not a number.

    >>> decide([-3.0, -2.5]), decide([-2.0, -2.0])
    ((1, None), (None, 'a tie'))
    """
    if any(math.isnan(score) for score in scores):  # float16 may overflow
        return None, NOT_A_NUMBER
    best = max(scores)
    tied = [index for index, score in enumerate(scores) if score == best]
    return (tied[0], None) if len(tied) == 1 else (None, TIE)
