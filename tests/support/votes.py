"""Tables of votes, as coefficients of agreement take them."""

from collections import Counter

import numpy as np


def rating_table(ratings):
    """How many workers chose each category (column) for each problem (row), from one list of votes per problem."""
    categories = list(dict.fromkeys(vote for votes in ratings for vote in votes))
    counted = [Counter(votes) for votes in ratings]
    return np.array([[votes[category] for category in categories] for votes in counted], np.int64)
