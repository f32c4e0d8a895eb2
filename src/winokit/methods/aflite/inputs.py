"""Inputs of debiasing, checked: features in memory or files, two answers, groups."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winokit.errors import BadInput
from winokit.methods.arrays import Groups
from winokit.units import Units

Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[Any]
"""In the precision of the features."""
BLOCK = 8192  # rows looked through at a time, so that a file on disk is never read whole
MOST_ROWS = 2**32


class Shards:
    """A matrix of features whose rows are in several .npy files.

    Rows are read by slice or by numbers, as from an array.
    """

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self._files = [_open_file(path) for path in paths]
        first = self._files[0]
        for path, file in zip(paths, self._files, strict=True):
            if file.shape[1:] != first.shape[1:] or file.dtype != first.dtype:
                raise BadInput(f"{path} holds {file.dtype} {file.shape}, and {paths[0]} {first.dtype} {first.shape}")
        self._ends = np.cumsum([len(file) for file in self._files])
        self.dtype = first.dtype
        self.shape = (int(self._ends[-1]), int(first.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | Ints) -> Floats:
        if isinstance(rows, int):
            return self[np.array([rows])].reshape(-1)
        numbers = np.arange(len(self))[rows]
        file_of = np.searchsorted(self._ends, numbers, side="right")
        values = np.empty((len(numbers), self.shape[1]), dtype=self.dtype)
        for index in np.unique(file_of):
            here = file_of == index
            start = self._ends[index] - len(self._files[index])
            values[here] = self._files[index][numbers[here] - start]
        return values

    def __reduce__(self) -> "tuple[type[Shards], tuple[list[Path]]]":
        # Another process opens the files itself; the rows do not travel.
        return Shards, (self.paths,)


Matrix: TypeAlias = NDArray[Any] | Shards


def open_features(path: Path | str) -> Shards:
    """The features in a .npy file, or in all .npy files of a folder in the order of their names."""
    path = Path(path)
    if not path.exists():
        raise BadInput(f"{path}: no such file or folder")
    paths = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    if not paths:
        raise BadInput(f"{path} holds no .npy file")
    return Shards(paths)


def _open_file(path: Path) -> Floats:
    try:
        rows: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{path}: not a .npy file of numbers") from error
    if np.ndim(rows) != 2:
        raise BadInput(f"{path}: expected a .npy file of rows and columns, found shape {np.shape(rows)}")
    return rows


def precision(X: Matrix) -> str:
    """Doubles are worked on as doubles, everything else as float32."""
    return "float64" if X.dtype == np.float64 else "float32"


def blocks_of(X: Matrix, size: int, rows: Bools | None = None) -> Iterator[Floats]:
    """The rows (all, or those of a mask), `size` at a time, in the precision they are worked on in."""
    chosen = None if rows is None else np.flatnonzero(rows)
    for start in range(0, len(X if chosen is None else chosen), size):
        part = slice(start, start + size)
        yield np.asarray(X[part if chosen is None else chosen[part]], precision(X))


def checked_features(X: ArrayLike | Shards) -> Any:
    """Return the features as a matrix of finite numbers. Files stay files."""
    if hasattr(X, "toarray"):
        raise BadInput("sparse features are not supported: pass X.toarray()")
    matrix: Any = X if isinstance(X, np.ndarray | Shards) else np.asarray(X)
    if matrix.dtype == object:
        try:
            matrix = np.asarray(matrix, float)
        except ValueError as error:
            raise BadInput(f"features must be numbers: {error}") from None
    if len(matrix.shape) != 2:
        raise BadInput(f"features must be a matrix with one row per problem; found shape {matrix.shape}")
    if np.issubdtype(matrix.dtype, np.complexfloating):
        raise BadInput("Complex data not supported: features must be real numbers")
    if not (np.issubdtype(matrix.dtype, np.floating) or np.issubdtype(matrix.dtype, np.integer)):
        raise BadInput(f"features must be numbers; found {matrix.dtype}")
    if matrix.shape[1] == 0:
        raise BadInput(f"0 feature(s) (shape={tuple(matrix.shape)}) while a minimum of 1 is required.")
    if len(matrix) < 2:
        raise BadInput(f"two rows of features or more are needed; found n_samples={len(matrix)}")
    if len(matrix) > MOST_ROWS:
        raise BadInput(f"expected at most {MOST_ROWS:,} rows of features; found {len(matrix):,}")
    varies = False
    for start in range(0, len(matrix), BLOCK):
        block = matrix[start : start + BLOCK]
        wrong = ~np.isfinite(block).all(axis=1)
        if wrong.any():
            row = start + int(np.flatnonzero(wrong)[0])
            raise BadInput(f"row {row} of the features holds NaN or inf: remove it, or embed it again")
        varies = varies or bool((block != matrix[0]).any())
    if not varies:
        raise BadInput("every row of the features is the same, so they cannot distinguish problems")
    return matrix


def checked_answers(y: ArrayLike, rows: int) -> Ints:
    """The answers as 0 and 1, the smaller of the two values first."""
    if y is None:
        raise BadInput("AFLite requires y to be passed, but the target y is None: one answer per row")
    answers = np.asarray(y)
    if answers.shape != (rows,):
        raise BadInput(f"found {rows:,} rows of features and answers of shape {answers.shape}: one each is needed")
    values = np.unique(answers)
    if len(values) != 2:
        first_values = ", ".join(str(value) for value in values[:5])
        raise BadInput(f"filtering needs two different answers; found {len(values)} ({first_values})")
    labels: Ints = (answers == values[1]).astype(np.int64)
    return labels


def as_labels(y: ArrayLike) -> Ints:
    """Return one answer per row, 0 or 1. All rows may have the same."""
    labels = np.asarray(y)
    if labels.ndim != 1 or not len(labels) or not np.isin(labels, (0, 1)).all():
        raise BadInput("expected one answer per row, 0 for the first candidate or 1 for the second")
    return labels.astype(np.int64)


def numbered(groups: Groups | None, rows: int) -> Ints:
    """Number groups from 0, then the rows without a group.

    Without groups every row has a number of its own.

    Names count in the order of appearance, numbers in their own. What is drawn by number depends on it.

    >>> numbered([None, "b", "a", "b"], 4).tolist()
    [2, 0, 1, 0]
    """
    if groups is None:
        return np.arange(rows)
    if len(groups) != rows:
        raise BadInput(f"expected one group id per row, found {len(groups):,} for {rows:,} rows")
    if isinstance(groups, np.ndarray) and np.issubdtype(groups.dtype, np.integer):
        return np.unique(groups, return_inverse=True)[1].astype(np.int64)
    names = dict.fromkeys(group for group in groups if group is not None)
    number_of = {group: number for number, group in enumerate(names)}
    free = count(len(number_of))
    numbers = (next(free) if group is None else number_of[group] for group in groups)
    return np.fromiter(numbers, np.int64, rows)


def names_of(units: Units) -> list[int | None]:
    """Return the unit number of each row, or None for a row that is alone.

    This is what functions over arrays take as `groups`.

    >>> names_of(Units.of_names(["a", "b", "a"]))
    [0, None, 0]
    """
    sizes = units.sizes
    return [unit if sizes[unit] > 1 else None for unit in units.numbers.tolist()]


def unit_numbers(groups: Groups | None, rows: int) -> Ints:
    """Return for each row the number of the first row of its group.

    >>> unit_numbers(["a", None, "a", "b"], 4).tolist()
    [0, 1, 0, 3]
    """
    numbers = numbered(groups, rows)
    return np.unique(numbers, return_index=True)[1][numbers]


def taken_whole(order: Ints, numbers: Ints, size: int) -> Bools:
    """Mark the rows of the groups that come first and fit into `size`.

    No group is cut.

    >>> taken_whole(np.array([1, 0, 2]), np.array([0, 0, 1, 1, 2]), 3).tolist()
    [False, False, True, True, False]
    """
    rows = len(numbers)
    if not 1 <= size <= rows:
        raise BadInput(f"expected a size from 1 to {rows}, the number of rows there are; found {size}")
    sizes = np.bincount(numbers)
    is_taken = np.zeros(len(sizes), np.bool_)
    is_taken[order[np.cumsum(sizes[order]) <= size]] = True
    return is_taken[numbers]
