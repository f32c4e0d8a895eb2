"""The order of the Open LLM Leaderboard v1, in which thousands of models answered WinoGrande's dev set.

Its version of the harness shuffled the rows of every task with one seed before it asked them. Tables of what models
got right (metabench, tinyBenchmarks, ATLAS) have its order and no texts: joined by position with the dataset, one row
in 1,267 is about its problem, and nothing looks wrong.
"""

import random
from functools import lru_cache

from winokit.data.predictions.columns import LEADERBOARD
from winokit.errors import BadInput
from winokit.problem import Dataset

SIZE = 1267
SHUFFLED_WITH = 42
DATASET = "winogrande/dev"
REASON = (
    "right and wrong by position join silently to other problems if the rows come from the Open LLM Leaderboard, "
    f"whose row k is row order[k-1] of {DATASET} after random.Random({SHUFFLED_WITH}).shuffle(order)"
)


@lru_cache(1)
def leaderboard_rows() -> tuple[int, ...]:
    """For each row of the leaderboard, its row in WinoGrande's dev set.

    Both count from 0.

    >>> leaderboard_rows()[:2]
    (187, 719)
    """
    order = list(range(SIZE))
    random.Random(SHUFFLED_WITH).shuffle(order)
    return tuple(order)


def has_leaderboard_order(dataset: Dataset) -> bool:
    """Whether a dataset is the whole dev set of WinoGrande.

    The leaderboard used that set.
    """
    return len(dataset) == SIZE and dataset.card.name == DATASET


def check_leaderboard_data(dataset: Dataset) -> None:
    """Raise BadInput unless a dataset is the whole dev set of WinoGrande."""
    if not has_leaderboard_order(dataset):
        raise BadInput(f"{LEADERBOARD}: expected {DATASET} with its {SIZE:,} rows, found {dataset.card.name}")
