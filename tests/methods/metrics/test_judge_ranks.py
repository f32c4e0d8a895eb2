"""The p-value of draws that stop early is a p-value: by simulation, and by counting every way draws can go."""

from fractions import Fraction

import numpy as np
import pytest

from winokit.methods.metrics.judge_ranks import BEYOND, LEVEL, UNDECIDED, WITHIN, rank


def p_values(most):
    """Every p-value that draws can end with where there is nothing to find, and how probable each is, exactly.

    The observed value is then one more draw: with s of t draws at or above it, the next is so too with probability
    (s + 1) / (t + 2) (Pólya's urn).
    """
    ends = {}
    ways = {(): Fraction(1)}
    while ways:
        going = {}
        for drawn, probability in ways.items():
            found = rank(iter(drawn), most)
            if found.draws < len(drawn) or len(drawn) == most or (sum(drawn) >= LEVEL * (most + 1) and sum(drawn)):
                ends[found.p_value] = ends.get(found.p_value, 0) + probability
                continue
            reaches = Fraction(sum(drawn) + 1, len(drawn) + 2)
            going[(*drawn, True)] = probability * reaches
            going[(*drawn, False)] = probability * (1 - reaches)
        ways = going
    return ends


@pytest.mark.parametrize("most", [1, 5, 19, 25, 39])
def test_no_level_is_reached_more_often_than_it_says(most):
    ends = p_values(most)
    assert sum(ends.values()) == 1
    for level in ends:
        assert sum(probability for p, probability in ends.items() if p <= level) <= Fraction(level).limit_denominator(
            10**6
        )


@pytest.mark.parametrize("most", [19, 39])
def test_the_level_of_the_verdict_is_used_in_full(most):
    assert sum(probability for p, probability in p_values(most).items() if p <= LEVEL) == Fraction(1, 20)


def test_draws_stop_when_the_verdict_is_sure():
    made = []

    def draws():
        for number in range(100):
            made.append(number)
            yield number % 3 == 2

    assert rank(draws(), 39).outcome == WITHIN
    assert len(made) == 6  # two of thirty-nine may reach it, the second ends it


@pytest.mark.parametrize(
    ("drawn", "most", "outcome"),
    [
        ([False] * 39, 39, BEYOND),
        ([True, *[False] * 38], 39, BEYOND),
        ([*[False] * 37, True, True], 39, WITHIN),
        ([False] * 18, 18, UNDECIDED),
        ([True], 18, WITHIN),
    ],
)
def test_the_outcome_is_by_rank(drawn, most, outcome):
    assert rank(drawn, most).outcome == outcome


def test_ties_only_make_it_shyer():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, size=(4000, 20))
    wrong = np.mean([rank(row[1:] >= row[0], 19).outcome == BEYOND for row in counts])
    assert wrong < 0.06
