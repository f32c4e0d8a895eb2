"""What luck alone would do, and how many problems it takes to rule it out.

The lucky draw is of Trichelair et al. (2018), appendix B. Everything here takes problems as independent; twins are
not quite, so where it matters pass groups for problems and group accuracy for accuracy.
"""

from __future__ import annotations

import math

import numpy as np

from winokit.errors import BadInput

EXACT_UP_TO = 20_000
"""Beyond this many problems the normal approximation is within about one in a hundred of the exact count."""


def p_chance(right: int, n: int, chance: float = 0.5) -> float:
    """Probability that guessing gets at least as many right, exact binomial.

    The paper asks for *more* than 150 of 273, which is at least 151. Where problems differ in their number of
    candidates `chance` is the mean of 1/candidates, and the result is an upper bound above it (Hoeffding, 1956).

    >>> round(p_chance(151, 273), 5)
    0.04498
    """
    from scipy import stats

    _counted(right, n)
    _share(chance, "chance")
    return float(stats.binom.sf(right - 1, n, chance))


def p_best_of(tries: int, right: int, n: int, chance: float = 0.5) -> float:
    """Probability that the best of several guessers gets at least as many right.

    >>> round(p_best_of(10, 151, 273), 3)
    0.369
    """
    if tries < 1:
        raise BadInput(f"the best of one try or more, not of {tries}")
    once = p_chance(right, n, chance)
    return 1.0 if once >= 1 else -math.expm1(tries * math.log1p(-once))


def n_to_beat_chance(accuracy: float, chance: float = 0.5, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """How many problems tell this accuracy from chance; None where it is not above chance and none would.

    The one-sided exact binomial test at level `alpha` finds it with probability `power` or more, at this number of
    problems and (the power of an exact test is a saw) at every larger one. Above 20,000 problems the normal
    approximation stands in.

    >>> n_to_beat_chance(0.55)
    654
    """
    from scipy import stats

    _share(accuracy, "accuracy")
    _share(chance, "chance")
    _levels(alpha, power)
    if accuracy <= chance:
        return None
    about = _normal_n(accuracy, chance, alpha, power)
    if about > EXACT_UP_TO:
        return math.ceil(about)
    sizes = np.arange(1, math.ceil(1.5 * about) + 50)
    bar = stats.binom.isf(alpha, sizes, chance)  # more right answers than this are significant
    weak = np.flatnonzero(stats.binom.sf(bar, sizes, accuracy) < power)
    return int(sizes[weak[-1]] + 1) if len(weak) else 1


def _normal_n(accuracy: float, chance: float, alpha: float, power: float) -> float:
    from scipy import stats

    by_chance = stats.norm.isf(alpha) * math.sqrt(chance * (1 - chance))
    by_model = stats.norm.ppf(power) * math.sqrt(accuracy * (1 - accuracy))
    return float((by_chance + by_model) ** 2 / (accuracy - chance) ** 2)


def n_to_tell_apart(
    one: float, other: float, discordance: float | None = None, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """How many problems tell two models apart by McNemar's test, both answering all; None for equal accuracies.

    `discordance` is the share of problems that exactly one of the two gets right; by default what independent errors
    would give, which is on the pessimistic side for models that fail on the same problems. Two-sided, by the normal
    approximation of Miettinen (1968).

    >>> n_to_tell_apart(0.75, 0.80, discordance=0.15), n_to_tell_apart(0.75, 0.80)
    (469, 1097)
    """
    from scipy import stats

    _share(one, "accuracy")
    _share(other, "accuracy")
    _levels(alpha, power)
    apart = abs(one - other)
    if discordance is None:
        discordance = one * (1 - other) + other * (1 - one)
    most = min(one + other, 2 - one - other)
    if not apart - 1e-9 <= discordance <= most + 1e-9:
        raise BadInput(
            f"accuracies {one:g} and {other:g} allow a discordance from {apart:g} to {most:g}, not {discordance:g}"
        )
    if apart == 0:
        return None
    by_chance = stats.norm.isf(alpha / 2) * math.sqrt(discordance)
    by_models = stats.norm.ppf(power) * math.sqrt(max(discordance - apart**2, 0))
    return math.ceil(float(by_chance + by_models) ** 2 / apart**2)


def _counted(right: int, n: int) -> None:
    if n < 1 or not 0 <= right <= n:
        raise BadInput(f"right answers among one problem or more expected, found {right} of {n}")


def _share(value: float, what: str) -> None:
    if not 0 <= value <= 1:
        raise BadInput(f"{what} is a share from 0 to 1, found {value}")


def _levels(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise BadInput(f"0 < alpha < power < 1 expected, found alpha {alpha} and power {power}")
