"""Scores of luck alone, and the number of problems that rules it out.

The lucky draw is of Trichelair et al. (2018), appendix B.
"""

import math

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import Counts, FloatArray, IntArray, Values, as_values, same_length


def p_chance(right: int, n: int, chance: float | Values = 0.5, times: Counts | None = None) -> float:
    """Exact probability that guessing gets at least `right` answers right.

    The paper asks for *more* than 150 of 273, which is at least 151.

    Parameters
    ----------
    right, n
        Right answers among so many problems.
    chance
        What a guess gets: one number, or one for each thing that is guessed (0 for an abstention).
    times
        How many problems each guess answers: a scorer that does not see the pronoun reads some texts thrice, and
        guesses once. By default each answers one.

    >>> round(p_chance(151, 273), 5)
    0.04498
    >>> p_chance(3, 3, [0.5], times=[3])
    0.5
    """
    from scipy import special

    if n < 1 or not 0 <= right <= n:
        raise BadInput(f"expected right answers among one problem or more, found {right} of {n}")
    if isinstance(chance, (int, float)) and times is None:
        _check_share(chance, "chance")
        return float(special.bdtrc(right - 1, n, chance)) if right else 1.0
    guess_count = n if times is None else len(times)
    chances = np.full(guess_count, chance) if isinstance(chance, (int, float)) else chance
    guesses = np.ones(len(chances), np.int64)
    if times is not None:
        guesses = np.asarray(times, np.int64)
    same_length(chances=chances, times=guesses)
    if int(guesses.sum()) != n:
        raise BadInput(f"expected guesses for {n} problems, found {guesses.sum()}")
    distribution = guessed(as_values(chances), guesses)
    return float(min(distribution[right:].sum(), 1.0))


def guessed(chances: FloatArray, times: IntArray) -> FloatArray:
    """Probability of each number of right answers by independent guesses.

    `chances` is the probability that each guess is right, `times` the number of problems that it answers.
    """
    distribution: FloatArray = np.ones(1)
    guesses = np.stack([chances, times.astype(np.float64)], axis=1)
    kinds, counts = np.unique(guesses, axis=0, return_counts=True)
    for (chance, size), many in zip(kinds, counts, strict=True):
        kind_chances = np.zeros(int(size * many) + 1)
        kind_chances[:: int(size)] = binomial(int(many), float(chance))
        distribution = np.convolve(distribution, kind_chances)
    return distribution


def binomial(n: int, share: float) -> FloatArray:
    """Probability of each number of right answers among n.

    Each is right with probability `share`, independently.
    """
    from scipy import special

    counts = np.arange(n + 1)
    rest = n - counts
    ways = special.gammaln(n + 1) - special.gammaln(counts + 1) - special.gammaln(rest + 1)
    logs = ways + special.xlogy(counts, share) + special.xlog1py(rest, -share)
    chances: FloatArray = np.exp(logs)
    return chances


def p_best_of(tries: int, p_once: float) -> float:
    """Probability that at least one of several guessers succeeds.

    Each succeeds with probability `p_once`, independently.

    >>> round(p_best_of(10, p_chance(151, 273)), 3)
    0.369
    """
    if tries < 1:
        raise BadInput(f"expected one try or more, found {tries}")
    _check_share(p_once, "a probability")
    return 1.0 if p_once >= 1 else -math.expm1(tries * math.log1p(-p_once))


def n_to_beat_chance(
    accuracy: float, chance: float = 0.5, *, design_effect: float = 1.0, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Number of problems that tell this accuracy from chance.

    None if it is not above chance, where no number would. The score test over units, two-sided at level `alpha`,
    finds the difference with probability `power`, where twins inflate the variance by `design_effect`; by the normal
    approximation.

    >>> n_to_beat_chance(0.55)
    783
    """
    from scipy import special

    _check_share(accuracy, "accuracy")
    _check_share(chance, "chance")
    if not 0 < alpha < power < 1:
        raise BadInput(f"expected 0 < alpha < power < 1, found alpha {alpha} and power {power}")
    if accuracy <= chance:
        return None
    chance_deviation = math.sqrt(chance * (1 - chance))
    model_deviation = math.sqrt(accuracy * (1 - accuracy))
    by_chance = special.ndtri(1 - alpha / 2) * chance_deviation
    by_model = special.ndtri(power) * model_deviation
    square = float(by_chance + by_model) ** 2
    return math.ceil(design_effect * square / (accuracy - chance) ** 2)


def share_to_find(
    chance: float, error: float, *, alpha: float = 0.05, power: float = 0.8, most: float = 1.0
) -> float | None:
    """Smallest share that a test finds to be above chance.

    It is found with probability `power`, two-sided at level `alpha`, by the normal approximation. `error` is the
    standard deviation of the share by chance; a share near 0 or 1 varies less. None if no share up to `most` is found
    so often.

    >>> share_to_find(0.5, 0.035), share_to_find(0.5, 0.3)
    (0.5975, None)
    """
    from scipy import optimize, special

    _check_share(chance, "chance")
    by_chance = float(special.ndtri(1 - alpha / 2)) * error
    spread = error / math.sqrt(chance * (1 - chance)) if 0 < chance < 1 else 0.0
    quantile = float(special.ndtri(power))

    def excess(share: float) -> float:
        deviation = math.sqrt(share * (1 - share))
        return share - chance - by_chance - quantile * spread * deviation

    if most <= chance or excess(most) < 0:
        return None
    return round(float(optimize.brentq(excess, chance, most)), 4)


def _check_share(value: float, what: str) -> None:
    """Raise BadInput unless a value is from 0 to 1."""
    if not 0 <= value <= 1:
        raise BadInput(f"{what} is a share from 0 to 1, found {value}")
