"""A door of the judge: ranks of observations among random draws.

It makes no more draws than the rank takes.

Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika, 1991, https://doi.org/10.1093/biomet/78.2.301:
where there is nothing to find, what was observed is one more draw among the draws. They stop at the h-th that reaches
it: after l of them p = h / l. If all `most` are made and g < h reach it, p = (g + 1) / (most + 1). So stopped, p is
at most a level with no more than that probability, ties included, which count as reached. h is the number from which
on p cannot be 0.05 or less: noise is let go after a few draws, and only what stands out is looked at to the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

LEVEL = 0.05
BEYOND = "beyond"
WITHIN = "within"
UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class SequentialRank:
    """P-value of an observation, and the number of draws made."""

    p_value: float
    draws: int

    @property
    def outcome(self) -> str:
        """BEYOND chance, WITHIN it, or UNDECIDED after too few draws.

        Undecided if no draw reached what was observed, and there were too few draws to tell.

        >>> [SequentialRank(*rank).outcome for rank in ((1 / 20, 19), (2 / 7, 7), (1 / 6, 5))]
        ['beyond', 'within', 'undecided']
        """
        if self.p_value <= LEVEL:
            return BEYOND
        return UNDECIDED if self.p_value == 1 / (self.draws + 1) else WITHIN


def rank(reached: Iterable[bool], most: int) -> SequentialRank:
    """Rank an observation among random draws, made one by one.

    `reached` says for each draw whether it is as extreme as the observation. At most `most` draws are made.

    >>> rank([False, True, False, False, True, False], most=39)
    SequentialRank(p_value=0.4, draws=5)
    """
    enough = max(1, int(LEVEL * (most + 1) + 1e-9))
    reaching = draws = 0
    for draws, reaches in enumerate(islice(reached, most), 1):
        reaching += reaches
        if reaching == enough:
            return SequentialRank(enough / draws, draws)
    return SequentialRank((reaching + 1) / (draws + 1), draws)
