"""Tables of votes, as coefficients of agreement take them."""

from collections import Counter
from itertools import chain

import numpy as np


def rating_table(ratings):
    """Number of workers who chose each category (column) for each problem (row), from a list of votes per problem."""
    categories = list(dict.fromkeys(chain.from_iterable(ratings)))
    rows = []
    for votes in ratings:
        counts = Counter(votes)
        rows.append([counts[category] for category in categories])
    return np.array(rows, np.int64)
