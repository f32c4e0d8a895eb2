"""Estimate true answers and the reliability of judges together, from votes.

Dawid and Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm" (1979),
https://doi.org/10.2307/2346806. Each judge has a table: how often they make each choice, by the true choice. From
the answers one gets the tables, and from the tables the answers. Both are estimated in turns, beginning with the
shares of votes.

We depart from the paper in one point: a judge who never makes a choice is taken to make it very rarely (`FLOOR`).
The paper has zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FLOOR = 1e-9
CLOSE = 1e-5
"""Largest change of a probability at which the fit ends."""


@dataclass(frozen=True)
class DawidSkeneFit:
    """The fitted model: probabilities of choices by item, and error rates of judges.

    Items, judges and choices are indexed by their numbers.
    """

    shares: Any
    """Probability of each choice, by item."""
    priors: Any
    """Share of items whose true choice is this one, by choice."""
    errors: Any
    """Probability that a judge (first axis) makes a choice (third), by the true choice (second)."""

    @property
    def labels(self) -> Any:
        """The most probable choice of each item."""
        return self.shares.argmax(axis=1)

    @property
    def reliability(self) -> Any:
        """Probability that each judge makes the true choice.

        Each possible true choice counts by its share of the items (`priors`).
        """
        says_so = np.diagonal(self.errors, axis1=1, axis2=2)
        return says_so @ self.priors


def fit_dawid_skene(
    items: Sequence[int],
    judges: Sequence[int],
    choices: Sequence[int],
    *,
    choice_count: int = 0,
    iterations: int = 100,
) -> DawidSkeneFit:
    """Fit Dawid and Skene's model to votes.

    The three sequences are parallel: vote i is on `items[i]`, by `judges[i]`, for `choices[i]`, all numbers from 0.
    `choice_count` is needed if some possible choices may never have been made. At most `iterations` rounds are made.

    >>> fit = fit_dawid_skene([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, [0, 0, 0, 1, 1, 0, 1, 1, 0])
    >>> fit.labels.tolist(), fit.reliability.round(2).tolist()
    ([0, 1, 1], [1.0, 1.0, 0.33])
    """
    item = np.asarray(items, dtype=np.int64)
    judge = np.asarray(judges, dtype=np.int64)
    choice = np.asarray(choices, dtype=np.int64)
    item_count = int(item.max()) + 1
    judge_count = int(judge.max()) + 1
    choice_count = max(choice_count, int(choice.max()) + 1)
    shares = np.zeros((item_count, choice_count))
    np.add.at(shares, (item, choice), 1.0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    for _ in range(max(1, iterations)):
        priors = shares.mean(axis=0)
        errors = np.zeros((judge_count, choice_count, choice_count))
        np.add.at(errors.transpose(0, 2, 1), (judge, choice), shares[item])
        errors /= np.maximum(errors.sum(axis=2, keepdims=True), FLOOR)
        logs = np.log(np.maximum(errors, FLOOR))
        log_priors = np.log(np.maximum(priors, FLOOR))
        likely = np.tile(log_priors, (item_count, 1))
        np.add.at(likely, item, logs[judge, :, choice])
        likely = np.exp(likely - likely.max(axis=1, keepdims=True))
        before = shares
        shares = likely / likely.sum(axis=1, keepdims=True)
        largest_change = np.abs(shares - before).max()
        if largest_change < CLOSE:
            break
    return DawidSkeneFit(shares, priors, errors)
