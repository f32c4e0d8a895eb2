"""A stored bank of test items, read and never fitted here.

Items have three or four parameters of a response model. If only a model's share right is known, a bank says how
likely a model of that strength is right on each item. What that means for pairs depends on how twins hang together,
which margins do not say: the share of pairs right lies between the sums of max(0, p + q - 1) and of min(p, q)
(Fréchet's bounds).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray

STRENGTHS = (-12.0, 12.0)
"""Abilities between which a model is looked for."""
FEWEST_ITEMS = 10
"""Fewer items say nothing of how well a bank fits."""


@dataclass(frozen=True, eq=False)
class ItemBank:
    """Parameters of a response model for each item.

    `rows` are the items' rows in the dataset. `lowest` and `highest` bound the probability of a right answer.
    """

    rows: tuple[int, ...]
    slopes: FloatArray
    intercepts: FloatArray
    lowest: FloatArray
    highest: FloatArray

    def chances(self, strength: float) -> FloatArray:
        """Probability that a model of this strength is right on each item."""
        logits = self.slopes * strength + self.intercepts
        chances: FloatArray = self.lowest + (self.highest - self.lowest) / (1 + np.exp(-logits))
        return chances

    def strength_of(self, right: float) -> float | None:
        """Strength of a model whose expected share right is `right`.

        None if no strength within the bounds has that share.
        """
        from scipy import optimize

        ends = [float(self.chances(strength).mean()) for strength in STRENGTHS]
        if not min(ends) < right < max(ends):
            return None

        def excess(strength: float) -> float:
            return float(self.chances(strength).mean() - right)

        return float(optimize.brentq(excess, *STRENGTHS))

    def correlation_with(self, rights: Mapping[int, float]) -> float | None:
        """Correlation of observed shares right with those the bank expects.

        `rights` has the observed share by row. None if there are fewer than 10 common items, or nothing varies.
        """
        places = [place for place, row in enumerate(self.rows) if row in rights]
        own_bank = self.take(places)
        observed = np.array([rights[row] for row in own_bank.rows])
        strength = None
        if len(places) >= FEWEST_ITEMS:
            strength = own_bank.strength_of(float(observed.mean()))
        if strength is None or observed.std() == 0:
            return None
        expected = own_bank.chances(strength)
        return float(np.corrcoef(observed, expected)[0, 1])

    def pair_bounds(
        self, right: float, pairs: Sequence[tuple[int, int]], asked: Sequence[int] | None = None
    ) -> tuple[float, float] | None:
        """Bounds of the share of pairs right, for a model's share right.

        None if no model of the bank has that share right. Raises BadInput if the bank has no whole pair.

        Parameters
        ----------
        right
            The model's share right.
        pairs
            Rows of both twins. Those of which the bank lacks one are left out.
        asked
            The rows that the share right is about; by default all of the bank.

        >>> one = np.array([1.0, 1.0])
        >>> bank = ItemBank((0, 1), one, np.zeros(2), np.zeros(2), one)
        >>> [round(share, 3) for share in bank.pair_bounds(0.8, [(0, 1)])]
        [0.6, 0.8]
        """
        place_of = {row: place for place, row in enumerate(self.rows)}
        known_pairs = [(one, other) for one, other in pairs if one in place_of and other in place_of]
        places = np.array([(place_of[one], place_of[other]) for one, other in known_pairs])
        if not len(places):
            raise BadInput("the bank has both twins of no pair")
        own_bank = self
        if asked is not None:
            asked_places = [place_of[row] for row in asked if row in place_of]
            own_bank = self.take(asked_places)
        strength = own_bank.strength_of(right) if own_bank.rows else None
        if strength is None:
            return None
        chances = self.chances(strength)
        first = chances[places[:, 0]]
        second = chances[places[:, 1]]
        low = np.maximum(0.0, first + second - 1).mean()
        return float(low), float(np.minimum(first, second).mean())

    def take(self, places: Sequence[int]) -> "ItemBank":
        """Bank of the items at some indices."""
        index = np.array(places, np.int64)
        rows = tuple(self.rows[place] for place in places)
        slopes = self.slopes[index]
        intercepts = self.intercepts[index]
        return ItemBank(rows, slopes, intercepts, self.lowest[index], self.highest[index])
