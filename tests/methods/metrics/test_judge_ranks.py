"""The p-value of draws that stop early is a p-value, by simulation and by counting every way draws can go."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from winokit.methods.metrics.judge_ranks import BEYOND, LEVEL, UNDECIDED, WITHIN, rank


def has_ended(draws: tuple[bool, ...], most: int) -> bool:
    """Whether no further draw is needed after these, of `most` at the most."""
    if len(draws) == most or rank(iter(draws), most).draws < len(draws):
        return True
    return any(draws) and sum(draws) >= LEVEL * (most + 1)


def probabilities_of_p_values(most: int) -> dict[float, Fraction]:
    """Exact probability of every p-value that draws can end with if there is nothing to find.

    The observed value is then one more draw: with s of t draws at or above it, the next is so too with probability
    (s + 1) / (t + 2) (Pólya's urn).
    """
    ends = defaultdict(Fraction)
    open_draws = {(): Fraction(1)}
    while open_draws:
        longer_draws = {}
        for draws, probability in open_draws.items():
            if has_ended(draws, most):
                p_value = rank(iter(draws), most).p_value
                ends[p_value] += probability
                continue
            next_reaches = Fraction(sum(draws) + 1, len(draws) + 2)
            longer_draws[(*draws, True)] = probability * next_reaches
            longer_draws[(*draws, False)] = probability * (1 - next_reaches)
        open_draws = longer_draws
    return ends


def probability_up_to(level: float, probabilities: dict[float, Fraction]) -> Fraction:
    """Probability of a p-value of at most this level."""
    return sum(probability for p_value, probability in probabilities.items() if p_value <= level)


@pytest.mark.parametrize("most", [1, 5, 19, 25, 39])
def test_no_level_is_reached_more_often_than_it_says(most):
    probabilities = probabilities_of_p_values(most)
    assert sum(probabilities.values()) == 1
    for level in probabilities:
        exact_level = Fraction(level).limit_denominator(10**6)
        assert probability_up_to(level, probabilities) <= exact_level


@pytest.mark.parametrize("most", [19, 39])
def test_the_level_of_the_verdict_is_used_in_full(most):
    probabilities = probabilities_of_p_values(most)
    assert probability_up_to(LEVEL, probabilities) == Fraction(1, 20)


def test_draws_stop_when_the_verdict_is_sure():
    numbers_drawn = []

    def draw_every_third():
        for number in range(100):
            numbers_drawn.append(number)
            yield number % 3 == 2

    assert rank(draw_every_third(), 39).outcome == WITHIN
    assert len(numbers_drawn) == 6  # two of thirty-nine may reach it, the second ends it


@pytest.mark.parametrize(
    ("draws", "most", "outcome"),
    [
        ([False] * 39, 39, BEYOND),
        ([True, *[False] * 38], 39, BEYOND),
        ([*[False] * 37, True, True], 39, WITHIN),
        ([False] * 18, 18, UNDECIDED),
        ([True], 18, WITHIN),
    ],
)
def test_the_outcome_is_by_rank(draws, most, outcome):
    assert rank(draws, most).outcome == outcome


def test_ties_only_make_it_shyer():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, size=(4000, 20))
    wrong_count = 0
    for observed, *draws in counts:
        reaches = np.array(draws) >= observed
        wrong_count += rank(reaches, 19).outcome == BEYOND
    assert wrong_count / len(counts) < 0.06
