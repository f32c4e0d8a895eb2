"""The rows AFLite works on, spread over Ray's workers: each holds some, and what travels is small.

A gradient is a sum over rows, so workers add up their own and the driver adds up the workers' (width x classifiers
numbers each); the metric likewise. Partitions need the m-th smallest of all keys, which four rounds of counting by
bytes find without moving a key. Votes come back as two small numbers per row; which rows a worker holds, and in which
order, the driver knows without asking.
"""

from functools import reduce
from typing import Any

import numpy as np

from winokit.methods.aflite.inputs import Floats, Ints, precision
from winokit.methods.aflite.rows import FeatureRows, FitPlan, NumpyRows, blas_threads, filling, train_sizes
from winokit.methods.cluster import started


class RayRows(FeatureRows):
    """Rows on the workers of a Ray cluster, or of this machine."""

    def __init__(
        self,
        X: Any,
        y: Ints,
        units: Ints,
        numbers: Ints,
        plan: FitPlan,
        *,
        workers: int | None = None,
        address: str | None = None,
    ) -> None:
        self._ray = started(address, "filtering on Ray")
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        # One worker per machine, with all its cores: what travels grows with the workers, not with their cores.
        workers = workers or sum(bool(node["Alive"]) for node in self._ray.nodes())
        threads = max(1, cores // workers)
        self.width = X.shape[1]
        self.plan = plan
        self.dtype = precision(X)
        worker = self._ray.remote(num_cpus=threads)(_RowWorker)
        self._workers = []
        self._numbers = shares(numbers, units, workers)
        self.numbers = np.concatenate(self._numbers)
        for own in self._numbers:
            # Files are opened by the worker; rows in memory travel once.
            rows = X if hasattr(X, "paths") else X[own]
            self._workers.append(worker.remote(rows, y[own], units[own], own, plan, threads))

    @property
    def weights(self) -> Floats:
        return np.concatenate(self._ask_workers("get_weights"))

    @weights.setter
    def weights(self, weights: Floats) -> None:
        parts = self._split_rows(weights)
        pending = [worker.set_weights.remote(part) for worker, part in zip(self._workers, parts, strict=True)]
        self._ray.get(pending)

    def draw(self, phase: int) -> None:
        counts = sum(self._ask_workers("strata_counts"), np.zeros(self.plan.strata, dtype=np.int64))
        sizes = np.array(train_sizes(counts, self.plan.train_size))
        left = np.repeat(sizes[:, None], self.plan.classifiers, axis=1)
        prefix = np.zeros(left.shape, dtype=np.uint64)
        for bits in (0, 8, 16, 24):
            below = sum(self._ask_workers("tally", phase, prefix, bits)).cumsum(axis=2)
            byte = (below < left[:, :, None]).sum(axis=2)
            before = np.take_along_axis(below, np.maximum(byte - 1, 0)[:, :, None], axis=2)[:, :, 0]
            left = left - np.where(byte > 0, before, 0)
            prefix = prefix << np.uint64(8) | byte.astype(np.uint64)
        self._ask_workers("mark", phase, prefix.astype(np.uint32))

    def gradient(self, theta: Floats) -> Floats:
        return reduce(np.add, self._ask_workers("gradient", theta))

    def curvature(self, theta: Floats) -> Floats:
        return reduce(np.add, self._ask_workers("curvature", theta))

    def gram(self, theta: Floats) -> Floats:
        return reduce(np.add, self._ask_workers("gram", theta))

    def votes(self) -> tuple[Ints, Ints]:
        right, made = (np.concatenate(parts) for parts in zip(*self._ask_workers("counted_votes"), strict=True))
        return right.astype(np.int64), made.astype(np.int64)

    def drop(self, positions: Ints) -> Floats:
        gone = np.zeros(self.count, dtype=bool)
        gone[positions] = True
        parts = [np.flatnonzero(part) for part in self._split_rows(gone)]
        lost = self._ray.get([worker.drop.remote(part) for worker, part in zip(self._workers, parts, strict=True)])
        self._numbers = [filling(len(own), part)(own) for own, part in zip(self._numbers, parts, strict=True)]
        self.numbers = np.concatenate(self._numbers)
        return reduce(np.add, lost)

    def _ask_workers(self, name: str, *arguments: Any) -> list[Any]:
        """Return every worker's answer. Arguments are sent once."""
        sent = [self._ray.put(argument) for argument in arguments]
        answers: list[Any] = self._ray.get([getattr(worker, name).remote(*sent) for worker in self._workers])
        return answers

    def _split_rows(self, rows: Any) -> list[Any]:
        return np.split(rows, np.cumsum([len(own) for own in self._numbers])[:-1])


class _RowWorker(NumpyRows):
    """The rows of one worker: what Ray calls must be a method, and what travels small."""

    def __init__(self, X: Any, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, threads: int) -> None:
        X = X[numbers] if hasattr(X, "paths") else X
        super().__init__(X, y, units, np.arange(len(numbers)), plan, threads)
        self._limit = blas_threads(1)  # from here on

    def get_weights(self) -> Floats:
        return self.weights

    def set_weights(self, weights: Floats) -> None:
        self.weights = weights.copy()

    def counted_votes(self) -> tuple[Ints, Ints]:
        right, made = self.votes()
        return right.astype(np.uint16), made.astype(np.uint16)


def shares(numbers: Ints, units: Ints, workers: int) -> list[Ints]:
    """The rows' numbers in `workers` parts of about equal size, no unit in two of them.

    >>> [part.tolist() for part in shares(np.arange(5), np.array([0, 0, 2, 2, 4]), 2)]
    [[0, 1], [2, 3, 4]]
    """
    ordered = numbers[np.argsort(units[numbers], kind="stable")]
    first = np.flatnonzero(np.diff(units[ordered], prepend=-1))  # where a unit begins
    wanted = np.linspace(0, len(ordered), workers + 1)[1:-1]
    cuts = np.unique(first[np.searchsorted(first, wanted, side="right") - 1])
    return [part for part in np.split(ordered, cuts) if len(part)]
