"""Choose how many tokens go into a batch, and recover when memory runs out.

The SPEC may set the number (`?budget=`). Otherwise a CPU gets a number that suits its caches. On other devices the
number is found by trying: a batch of the usual size is read, then batches twice as large as long as memory holds
them, or half as large until it does. The number is remembered in the user's cache folder, by model and devices. If
memory runs out later, because another program uses it, the number is halved once, and a note says so.
"""

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

from winokit.errors import BadInput, MissingExtra
from winokit.files import json_bytes, user_cache, write_whole
from winokit.models.packing import packed

try:
    import torch
except ImportError as error:
    raise MissingExtra("an hf: model", "hf") from error

LEAST = 64
MOST = 16384
"""Smallest and largest number of tokens that are tried. No GPU reads faster with more."""
FILLER = 64
"""Length of each text in a batch that is read to test the memory."""
ALIKE = 0.9
"""Length of the shortest text in a large batch, as a share of the longest."""
REMEMBERED = "budgets.json"
WAYS_OUT = "choose load_in=4bit, dtype=bfloat16, device_map=auto, a smaller model or another device"

T = TypeVar("T")
R = TypeVar("R")


class BatchBudget:
    """Number of tokens that a batch may have, which adapts to the memory.

    Padding counts.

    Parameters
    ----------
    tokens
        The number to begin with.
    attempt
        Reads a batch of a given number of tokens, to test the memory. None if the number is fixed.
    name
        Returns the name under which the number is remembered: the model and its devices. None if it is not remembered.
    """

    def __init__(
        self, tokens: int, attempt: Callable[[int], object] | None = None, name: Callable[[], str] | None = None
    ) -> None:
        self.tokens = tokens
        self.attempt = attempt
        self.name = name
        self.notes: tuple[str, ...] = ()

    def settle(self) -> None:
        """Look up the remembered number of tokens, or find it, once.

        Does nothing if the number is fixed, or when it is called again.
        """
        attempt = self.attempt
        self.attempt = None
        if attempt is None or self.name is None:
            return
        remembered_tokens = _load_remembered_budgets().get(self.name())
        self.tokens = remembered_tokens or _find_largest_budget(attempt, self.tokens)
        if not remembered_tokens:
            self._remember_budget()

    def halve(self, spent: int, error: RuntimeError) -> None:
        """Halve the number of tokens after memory ran out, and note that.

        `spent` is the number of tokens of the failed batch. If it is below the budget, it is the one that is halved.
        The new number is remembered for later runs. Raises BadInput the second time.
        """
        if self.notes:
            raise BadInput(
                f"out of memory with {spent:,} tokens per batch, after batches had been halved once: "
                f"?budget={max(spent // 4, 1)} makes them smaller, or {WAYS_OUT}"
            ) from error
        self.tokens = max(min(self.tokens, spent) // 2, 1)
        self.notes = (f"memory ran out: batches now have {self.tokens:,} tokens, half as many as before (?budget=)",)
        self._remember_budget()

    def _remember_budget(self) -> None:
        """Store the number of tokens in the user's cache folder.

        Does nothing without a name for it.
        """
        if self.name is not None:
            path = user_cache(REMEMBERED)
            budgets = _load_remembered_budgets() | {self.name(): self.tokens}
            with suppress(OSError, BadInput):  # a folder that cannot be written costs a second look, no more
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, json_bytes(budgets))


def in_batches(
    run: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], costs: Sequence[int], budget: BatchBudget
) -> Iterator[tuple[int, R]]:
    """Run items in batches, the most expensive first, yielding (index, result).

    `costs` has the tokens of each item. If a batch does not fit into memory, it and all later ones are packed again
    with half the budget. `run` returns one result for each item of a batch.
    """
    batches = packed(costs, budget.tokens, ALIKE)
    while batches:
        batch, *batches_left = batches
        spent = len(batch) * costs[batch[0]]
        results = _run_batch(run, [items[at] for at in batch], spent, budget)
        if results is None:
            batches = _repack_batches(batches, costs, budget.tokens)
            continue
        yield from zip(batch, results, strict=True)
        batches = batches_left


def _repack_batches(batches: Sequence[Sequence[int]], costs: Sequence[int], tokens: int) -> list[list[int]]:
    """Pack the items of all batches again, for another budget.

    `tokens` is the new budget. Batches hold indices of items, before and after.
    """
    indices = list(chain.from_iterable(batches))
    repacked: list[list[int]] = []
    for batch in packed([costs[index] for index in indices], tokens, ALIKE):
        repacked.append([indices[at] for at in batch])
    return repacked


def _run_batch(
    run: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], spent: int, budget: BatchBudget
) -> Sequence[R] | None:
    """Run one batch.

    None if memory ran out, after which the budget is halved. Raises BadInput if a single item is too large. `spent` is
    the number of the batch's tokens, padding included.
    """
    try:
        return run(items)
    except RuntimeError as error:  # torch.OutOfMemoryError is one
        if not out_of_memory(error):
            raise
        if len(items) == 1:
            raise BadInput(f"out of memory with a single text: {WAYS_OUT}") from error
        budget.halve(spent, error)
    # Outside of the except clause, so that the failed run's tensors, which its traceback holds, are gone.
    free_memory()
    return None


def _find_largest_budget(attempt: Callable[[int], object], tokens: int) -> int:
    """Find the largest number of tokens that memory holds.

    If batches of `tokens`, the usual number, fit, it is doubled up to MOST as long as they do. Otherwise it is halved
    until they do. Raises BadInput if not even LEAST tokens fit.
    """
    if _fits_in_memory(attempt, tokens):
        while tokens < MOST and _fits_in_memory(attempt, 2 * tokens):
            tokens *= 2
        return tokens
    while tokens > LEAST:
        tokens //= 2
        if _fits_in_memory(attempt, tokens):
            return tokens
    raise BadInput(f"out of memory with {tokens} tokens per batch: {WAYS_OUT}")


def _fits_in_memory(attempt: Callable[[int], object], tokens: int) -> bool:
    """Whether a batch of this many tokens fits into memory."""
    try:
        attempt(tokens)
        return True
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        return False
    finally:
        free_memory()


def _load_remembered_budgets() -> dict[str, int]:
    """Numbers of tokens that earlier runs have found, by model and device.

    Empty if the file cannot be read.
    """
    with suppress(OSError, ValueError):
        budgets = json.loads(user_cache(REMEMBERED).read_bytes())
        if isinstance(budgets, dict):
            return {name: tokens for name, tokens in budgets.items() if isinstance(tokens, int) and tokens > 0}
    return {}


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error of torch means that memory ran out."""
    message = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in message or "can't allocate memory" in message


def free_memory() -> None:
    """Collect garbage and return unused memory to the device.

    Layers and their hooks refer to each other, and CUDA keeps memory that it once had.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
