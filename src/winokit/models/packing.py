"""Which texts go into one batch: alike in length, so that little is padded, and no more than memory holds."""

from __future__ import annotations

from collections.abc import Sequence


def packed(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Batches of indices whose padded size (rows times longest) stays within `budget` tokens.

    The longest come first, so that a batch too large for the memory fails at once and not an hour later. A text longer
    than the budget gets a batch of its own: it must be read somehow.

    >>> packed([3, 9, 4, 8], budget=18)
    [[1, 3], [2, 0]]
    """
    batches: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and (len(batches[-1]) + 1) * longest <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
            longest = lengths[index]
    return batches
