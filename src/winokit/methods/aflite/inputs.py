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
BLOCK = 8192  # rows checked at a time, so that a file on disk is never read whole
MOST_ROWS = 2**32


class Shards:
    """A matrix of features whose rows are in several .npy files, read when needed.

    Rows are indexed by a number, a slice or an array of numbers, as those of an array. Raises BadInput unless all files
    have the same columns and type.
    """

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self._files = [_open_file(path) for path in paths]
        first = self._files[0]
        for path, file in zip(paths, self._files, strict=True):
            has_same_columns = file.shape[1:] == first.shape[1:]
            if not has_same_columns or file.dtype != first.dtype:
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
            is_in_file = file_of == index
            file = self._files[index]
            start = self._ends[index] - len(file)
            values[is_in_file] = file[numbers[is_in_file] - start]
        return values

    def __reduce__(self) -> "tuple[type[Shards], tuple[list[Path]]]":
        # Another process opens the files itself; the rows do not travel.
        return Shards, (self.paths,)


Matrix: TypeAlias = NDArray[Any] | Shards


def open_features(path: Path | str) -> Shards:
    """Open the features in a .npy file, or in all .npy files of a folder.

    The files of a folder are put one after the other, in the order of their names. Raises BadInput if there are none.
    """
    path = Path(path)
    if not path.exists():
        raise BadInput(f"{path}: no such file or folder")
    paths = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    if not paths:
        raise BadInput(f"{path} holds no .npy file")
    return Shards(paths)


def _open_file(path: Path) -> Floats:
    """Open a .npy file without reading its rows.

    Raises BadInput unless it is a matrix.
    """
    try:
        rows: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{path}: not a .npy file of numbers") from error
    if np.ndim(rows) != 2:
        raise BadInput(f"{path}: expected a .npy file of rows and columns, found shape {np.shape(rows)}")
    return rows


def precision(X: Matrix) -> str:
    """Name of the type to compute in.

    It is `float64` for features of that type, and `float32` for all others.
    """
    return "float64" if X.dtype == np.float64 else "float32"


def blocks_of(X: Matrix, size: int, rows: Bools | None = None) -> Iterator[Floats]:
    """Yield the rows of a matrix in blocks of `size`, in the type of `precision`.

    `rows` is a mask of the rows to yield; None yields all.
    """
    dtype = precision(X)
    if rows is None:
        for start in range(0, len(X), size):
            yield np.asarray(X[start : start + size], dtype)
        return
    row_numbers = np.flatnonzero(rows)
    for start in range(0, len(row_numbers), size):
        block_numbers = row_numbers[start : start + size]
        yield np.asarray(X[block_numbers], dtype)


def checked_features(X: ArrayLike | Shards) -> Any:
    """Return the features as a matrix, and check its shape and its numbers.

    Anything except `Shards` becomes an array. Raises BadInput unless the matrix has two rows or more, only finite real
    numbers, and rows that differ.
    """
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
    is_numeric = np.issubdtype(matrix.dtype, np.floating) or np.issubdtype(matrix.dtype, np.integer)
    if not is_numeric:
        raise BadInput(f"features must be numbers; found {matrix.dtype}")
    if matrix.shape[1] == 0:
        raise BadInput(f"0 feature(s) (shape={tuple(matrix.shape)}) while a minimum of 1 is required.")
    if len(matrix) < 2:
        raise BadInput(f"two rows of features or more are needed; found n_samples={len(matrix)}")
    if len(matrix) > MOST_ROWS:
        raise BadInput(f"expected at most {MOST_ROWS:,} rows of features; found {len(matrix):,}")
    _check_values(matrix)
    return matrix


def _check_values(matrix: Matrix) -> None:
    """Raise BadInput if a number is not finite, or if all rows are the same."""
    varies = False
    for start in range(0, len(matrix), BLOCK):
        block = matrix[start : start + BLOCK]
        is_wrong = ~np.isfinite(block).all(axis=1)
        if is_wrong.any():
            first_wrong = int(np.flatnonzero(is_wrong)[0])
            row = start + first_wrong
            raise BadInput(f"row {row} of the features holds NaN or inf: remove it, or embed it again")
        varies = varies or bool((block != matrix[0]).any())
    if not varies:
        raise BadInput("every row of the features is the same, so they cannot distinguish problems")


def checked_answers(y: ArrayLike, rows: int) -> Ints:
    """Return the answers as 0 and 1.

    The smaller of their two values is 0. `rows` is the number of rows of features. Raises BadInput unless there are as
    many answers, of two values.
    """
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
    """Return the answers as an array of integers.

    Raises BadInput unless each is 0 or 1. All may be the same.
    """
    labels = np.asarray(y)
    is_list = labels.ndim == 1 and len(labels) > 0
    if not is_list or not np.isin(labels, (0, 1)).all():
        raise BadInput("expected one answer per row, 0 for the first candidate or 1 for the second")
    return labels.astype(np.int64)


def numbered(groups: Groups | None, rows: int) -> Ints:
    """Return a group number for each row, from 0.

    A row without a group has a number of its own, and without `groups` every row is alone. Names are numbered in the
    order of their first appearance, and rows without a name after them. Groups that are integers are numbered in
    increasing order. Random draws depend on these orders.

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
    free_numbers = count(len(number_of))
    numbers = []
    for group in groups:
        number = next(free_numbers) if group is None else number_of[group]
        numbers.append(number)
    return np.array(numbers, np.int64)


def names_of(units: Units) -> list[int | None]:
    """Return the unit number of each row, or None for a row that is alone in its unit.

    Functions over arrays take this list as `groups`.

    >>> names_of(Units.of_names(["a", "b", "a"]))
    [0, None, 0]
    """
    sizes = units.sizes
    names: list[int | None] = []
    for unit in units.numbers.tolist():
        name = unit if sizes[unit] > 1 else None
        names.append(name)
    return names


def unit_numbers(groups: Groups | None, rows: int) -> Ints:
    """Return for each row the index of the first row of its group.

    Without `groups`, and for a row without a group, that is the row itself.

    >>> unit_numbers(["a", None, "a", "b"], 4).tolist()
    [0, 1, 0, 3]
    """
    numbers = numbered(groups, rows)
    _, first_rows = np.unique(numbers, return_index=True)
    return first_rows[numbers]


def taken_whole(order: Ints, numbers: Ints, size: int) -> Bools:
    """Return a mask of the rows of the first groups that together have at most `size` rows.

    `order` lists the groups from first to last, and `numbers` has the group of each row. No group is split.

    >>> taken_whole(np.array([1, 0, 2]), np.array([0, 0, 1, 1, 2]), 3).tolist()
    [False, False, True, True, False]
    """
    rows = len(numbers)
    if not 1 <= size <= rows:
        raise BadInput(f"expected a size from 1 to {rows}, the number of rows there are; found {size}")
    sizes = np.bincount(numbers)
    size_so_far = np.cumsum(sizes[order])
    first_groups = order[size_so_far <= size]
    is_taken = np.zeros(len(sizes), np.bool_)
    is_taken[first_groups] = True
    return is_taken[numbers]
