"""Convert sequences to arrays, and check them for metrics.

Choices have -1 for an abstention; flags, values and answers have one number per problem.
"""

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput

BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
StateArray: TypeAlias = NDArray[np.int8]
"""Many small numbers, such as the choices of thousands of models."""

Choices: TypeAlias = Sequence[int | None] | NDArray[np.integer[Any]]
"""One candidate index per problem, None for an abstention."""
Counts: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]
Flags: TypeAlias = Sequence[bool] | BoolArray
Values: TypeAlias = Sequence[float] | NDArray[Any]
Groups: TypeAlias = Sequence[Hashable | None] | NDArray[Any]
"""One group id per problem, None for a problem alone."""

ABSTAINED = -1


def as_choices(predictions: Choices) -> IntArray:
    """Convert predictions to an array, with -1 for an abstention (None).

    Raises BadInput for a number that is no index, or for no predictions.
    """
    answered = [p for p in predictions if p is not None]
    indices = np.asarray(answered, np.int64) if answered else np.zeros(0, np.int64)
    is_rounded = indices != np.asarray(answered)
    is_wrong = np.logical_or(is_rounded, indices < 0)
    if is_wrong.any():
        wrong_index = answered[is_wrong.argmax()]
        raise BadInput(f"a prediction is a candidate's index or None for an abstention, found {wrong_index}")
    if len(answered) < len(predictions):
        everyone = np.full(len(predictions), ABSTAINED, np.int64)
        everyone[[p is not None for p in predictions]] = indices
        return everyone
    return _require_rows(indices, "predictions")


def as_answers(answers: Counts) -> IntArray:
    """Convert answers to an array of indices.

    Raises BadInput if one is hidden (None), or if there are none.
    """
    hidden = 0
    if not isinstance(answers, np.ndarray):
        hidden = sum(answer is None for answer in answers)
    if hidden:
        raise BadInput(f"{hidden} of {len(answers)} problems have no answer: leave them out of the metric")
    indices = _require_rows(np.asarray(answers, np.int64), "answers")
    if indices.min() < 0:
        raise BadInput(f"an answer is a candidate's index, found {indices.min()}")
    return indices


def as_candidates(candidates: Counts) -> IntArray:
    """Convert numbers of candidates to an array.

    Raises BadInput unless each is two or more.
    """
    counts = _require_rows(np.asarray(candidates, np.int64), "problems")
    if counts.min() < 2:
        raise BadInput(f"expected two or more candidates per problem, found {counts.min()}")
    return counts


def as_flags(flags: Flags) -> BoolArray:
    """Convert flags to an array of booleans.

    Raises BadInput for numbers other than 0 and 1.
    """
    column = np.asarray(flags)
    if column.dtype != np.bool_ and not np.isin(column, (0, 1)).all():
        raise BadInput("expected a flag per problem, true or false")
    return _require_rows(column.astype(np.bool_), "problems")


def as_values(values: Values) -> FloatArray:
    """Convert values to an array of floats.

    Raises BadInput if one is not finite.
    """
    numbers = _require_rows(np.asarray(values, np.float64), "problems")
    is_infinite = ~np.isfinite(numbers)
    if is_infinite.any():
        raise BadInput(f"{is_infinite.sum()} of {len(numbers)} values are not finite")
    return numbers


def _require_rows(column: NDArray[Any], what: str) -> NDArray[Any]:
    """Return a column, or raise BadInput if it is empty.

    `what` names its entries, for the message.
    """
    if not len(column):
        raise BadInput(f"a metric over no {what} has no value")
    return column


def same_length(**columns: Any) -> None:
    """Raise BadInput unless all columns have the same length."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise BadInput(f"expected columns of equal length: {listed}")
