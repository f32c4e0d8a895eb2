"""Rows of features spread over Ray's workers, for AFLite on several machines.

A gradient is a sum over rows: each worker sends the sum over its rows (width x classifiers numbers), and the driver
adds these up. The metric is summed in the same way. Training subsets need the m-th smallest of all keys, which four
rounds of counting bytes find without sending a key. Votes are sent as two small numbers per row. The driver knows which
rows each worker has, and in which order.
"""

from functools import reduce
from typing import Any

import numpy as np

from winokit.methods.aflite.inputs import Floats, Ints, precision
from winokit.methods.aflite.rows import FeatureRows, FitPlan, NumpyRows, blas_threads, filling, train_sizes
from winokit.methods.cluster import started


class RayRows(FeatureRows):
    """Rows on the workers of a Ray cluster, or of Ray on this machine.

    `workers` is by default one per machine. `address` is that of the cluster; None starts Ray here.
    """

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
        if not workers:
            alive_nodes = [node for node in self._ray.nodes() if node["Alive"]]
            workers = len(alive_nodes)
        threads = max(1, cores // workers)
        self.width = X.shape[1]
        self.plan = plan
        self.dtype = precision(X)
        worker = self._ray.remote(num_cpus=threads)(_RowWorker)
        self._workers = []
        self._numbers = shares(numbers, units, workers)
        self.numbers = np.concatenate(self._numbers)
        for worker_numbers in self._numbers:
            # Files are opened by the worker, and rows in memory are sent once.
            rows = X if hasattr(X, "paths") else X[worker_numbers]
            answers = y[worker_numbers]
            worker_units = units[worker_numbers]
            remote = worker.remote(rows, answers, worker_units, worker_numbers, plan, threads)
            self._workers.append(remote)

    @property
    def weights(self) -> Floats:
        return np.concatenate(self._ask_workers("get_weights"))

    @weights.setter
    def weights(self, weights: Floats) -> None:
        parts = self._split_rows(weights)
        pending = [worker.set_weights.remote(part) for worker, part in zip(self._workers, parts, strict=True)]
        self._ray.get(pending)

    def draw(self, phase: int) -> None:
        # The limit of each stratum and classifier is found byte by byte: how many keys are below each next byte?
        no_rows = np.zeros(self.plan.strata, dtype=np.int64)
        counts = sum(self._ask_workers("strata_counts"), no_rows)
        sizes = np.array(train_sizes(counts, self.plan.train_size))
        remaining = np.repeat(sizes[:, None], self.plan.classifiers, axis=1)
        prefix = np.zeros(remaining.shape, dtype=np.uint64)
        for bits in (0, 8, 16, 24):
            byte_counts = sum(self._ask_workers("tally", phase, prefix, bits))
            counts_up_to = byte_counts.cumsum(axis=2)
            byte = (counts_up_to < remaining[:, :, None]).sum(axis=2)
            previous_byte = np.maximum(byte - 1, 0)[:, :, None]
            counts_before = np.take_along_axis(counts_up_to, previous_byte, axis=2)[:, :, 0]
            remaining = remaining - np.where(byte > 0, counts_before, 0)
            prefix = prefix << np.uint64(8) | byte.astype(np.uint64)
        self._ask_workers("mark", phase, prefix.astype(np.uint32))

    def gradient(self, theta: Floats) -> Floats:
        return reduce(np.add, self._ask_workers("gradient", theta))

    def curvature(self, theta: Floats) -> Floats:
        return reduce(np.add, self._ask_workers("curvature", theta))

    def gram(self, theta: Floats) -> Floats:
        return reduce(np.add, self._ask_workers("gram", theta))

    def votes(self) -> tuple[Ints, Ints]:
        right_counts, vote_counts = zip(*self._ask_workers("counted_votes"), strict=True)
        all_right = np.concatenate(right_counts).astype(np.int64)
        all_votes = np.concatenate(vote_counts).astype(np.int64)
        return all_right, all_votes

    def drop(self, positions: Ints) -> Floats:
        is_removed = np.zeros(self.count, dtype=bool)
        is_removed[positions] = True
        pending = []
        remaining_numbers = []
        parts = self._split_rows(is_removed)
        for worker, worker_numbers, part in zip(self._workers, self._numbers, parts, strict=True):
            worker_positions = np.flatnonzero(part)
            pending.append(worker.drop.remote(worker_positions))
            fill_gaps = filling(len(worker_numbers), worker_positions)
            remaining_numbers.append(fill_gaps(worker_numbers))
        grams = self._ray.get(pending)
        self._numbers = remaining_numbers
        self.numbers = np.concatenate(self._numbers)
        return reduce(np.add, grams)

    def _ask_workers(self, name: str, *arguments: Any) -> list[Any]:
        """Call a method of every worker, and return their results.

        The arguments are the same for all workers, and are sent to each machine once.
        """
        references = [self._ray.put(argument) for argument in arguments]
        pending = [getattr(worker, name).remote(*references) for worker in self._workers]
        results: list[Any] = self._ray.get(pending)
        return results

    def _split_rows(self, rows: Any) -> list[Any]:
        """Split an array with one entry per row into the parts of the workers."""
        sizes = [len(worker_numbers) for worker_numbers in self._numbers]
        ends = np.cumsum(sizes)
        return np.split(rows, ends[:-1])


class _RowWorker(NumpyRows):
    """The rows of one worker.

    Ray can call only methods, and their results are kept small, since they are sent to the driver.
    """

    def __init__(self, X: Any, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, threads: int) -> None:
        X = X[numbers] if hasattr(X, "paths") else X
        super().__init__(X, y, units, np.arange(len(numbers)), plan, threads)
        self._limit = blas_threads(1)  # for as long as the worker lives

    def get_weights(self) -> Floats:
        """Return the weight of each row, its curvature p(1 - p)."""
        return self.weights

    def set_weights(self, weights: Floats) -> None:
        """Set the weight of each row, its curvature p(1 - p)."""
        self.weights = weights.copy()

    def counted_votes(self) -> tuple[Ints, Ints]:
        """Return the votes of each row as small integers."""
        right_counts, vote_counts = self.votes()
        return right_counts.astype(np.uint16), vote_counts.astype(np.uint16)


def shares(numbers: Ints, units: Ints, workers: int) -> list[Ints]:
    """Split row numbers into parts of about equal size, without splitting a unit.

    There are `workers` parts, or fewer if there are few units. `units` has the unit of every row of the data, as the
    index of its first row.

    >>> [part.tolist() for part in shares(np.arange(5), np.array([0, 0, 2, 2, 4]), 2)]
    [[0, 1], [2, 3, 4]]
    """
    ordered = numbers[np.argsort(units[numbers], kind="stable")]
    unit_starts = np.flatnonzero(np.diff(units[ordered], prepend=-1))
    ideal_cuts = np.linspace(0, len(ordered), workers + 1)[1:-1]
    start_indices = np.searchsorted(unit_starts, ideal_cuts, side="right") - 1
    cuts = np.unique(unit_starts[start_indices])
    return [part for part in np.split(ordered, cuts) if len(part)]
