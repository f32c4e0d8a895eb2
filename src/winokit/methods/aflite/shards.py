"""Features in files: one .npy, or a folder of them one after the other, read where and when rows are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput


class Shards:
    """A matrix of features whose rows lie in several .npy files; rows by slice or by numbers, as with an array."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self._files = [_opened(path) for path in paths]
        first = self._files[0]
        for path, file in zip(paths, self._files, strict=True):
            if file.ndim != 2 or file.shape[1:] != first.shape[1:] or file.dtype != first.dtype:
                raise BadInput(
                    f"{path} holds {file.dtype} of shape {file.shape}, {paths[0]} {first.dtype} of shape {first.shape}"
                )
        self._ends = np.cumsum([len(file) for file in self._files])
        self.dtype = first.dtype
        self.shape = (int(self._ends[-1]), int(first.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        if isinstance(rows, int):
            rows = np.array([rows])
            return self[rows].reshape(-1)
        numbers = np.arange(len(self))[rows]
        file_of = np.searchsorted(self._ends, numbers, side="right")
        found = np.empty((len(numbers), self.shape[1]), dtype=self.dtype)
        for index in np.unique(file_of):
            here = file_of == index
            start = self._ends[index] - len(self._files[index])
            found[here] = self._files[index][numbers[here] - start]
        return found

    def __reduce__(self) -> tuple[type[Shards], tuple[list[Path]]]:
        # Another process opens the files itself; the rows do not travel.
        return Shards, (self.paths,)


def open_features(path: Path | str) -> Shards:
    """The features in a .npy file, or in all .npy files of a folder in the order of their names."""
    path = Path(path)
    if path.is_dir():
        paths = sorted(path.glob("*.npy"))
        if not paths:
            raise BadInput(f"{path} holds no .npy file")
        return Shards(paths)
    if not path.exists():
        raise BadInput(f"{path}: no such file or folder")
    return Shards([path])


def _opened(path: Path) -> npt.NDArray[Any]:
    try:
        found: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{path} is not a .npy file of numbers: {error}") from error
    return found
