import numpy as np
import pytest
from scipy import special
from support.votes import rating_table

from winokit.errors import BadInput
from winokit.methods.metrics.agreement import _estimate_value_and_error, fleiss_kappa, gwet_ac1


def test_kappa_by_hand():
    """Agreement is 5/6 in the mean, and 5/9 by chance since 2/3 of the votes are of one category."""
    kappa = fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]])
    assert kappa.value == pytest.approx((5 / 6 - 5 / 9) / (1 - 5 / 9))
    assert kappa.value == pytest.approx(5 / 8)


@pytest.mark.parametrize(
    ("table", "reference"),
    [
        ([[1, 1], [2, 0], [0, 2], [1, 1]], 0.0),
        ([[5, 1, 0], [2, 2, 2], [0, 0, 6], [6, 0, 0], [1, 4, 1]], 0.45644599303135885),
        ([[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [7, 7, 0, 0, 0]], 0.3415319460846195),
    ],
)
def test_kappa_is_that_of_statsmodels(table, reference):
    assert fleiss_kappa(table).value == pytest.approx(reference, abs=1e-12)


def test_kappa_from_votes():
    votes = [["yes"] * 3, ["yes", "no", "yes"], ["no"] * 3, ["yes"] * 3]
    kappa = fleiss_kappa(rating_table(votes))
    assert kappa.value == pytest.approx(5 / 8)


def test_full_agreement_is_one_and_splitting_every_vote_is_below_zero():
    full = fleiss_kappa([[2, 0], [0, 2]])
    split = fleiss_kappa([[1, 1], [1, 1]])
    assert full.value == pytest.approx(1)
    assert split.value == pytest.approx(-1)


def test_the_names_and_order_of_categories_do_not_matter():
    table = np.array([[3, 1, 0], [0, 2, 2], [1, 0, 3]])
    kappa = fleiss_kappa(table).value
    with_other_columns = table[:, [2, 0, 1]]
    with_other_rows = table[::-1]
    assert fleiss_kappa(with_other_columns).value == pytest.approx(kappa)
    assert fleiss_kappa(with_other_rows).value == pytest.approx(kappa)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([[1, 0], [0, 1]], "two or more workers"),
        ([[3, 0], [3, 0]], "all votes fall into one category"),
        ([], "a table of votes"),
        ([[-1, 4]], "counts from 0"),
    ],
)
def test_what_has_no_kappa_is_refused(table, says):
    with pytest.raises(BadInput, match=says):
        fleiss_kappa(table)


FLEISS_1971 = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
"""The worked example of encyclopedias: ten problems, fourteen raters, five categories, kappa 0.210."""
GWET = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
"""Ratings of twelve units by four raters, some missing, from Krippendorff (2011) and Gwet (2014)."""


def test_kappa_of_a_published_example_is_that_of_another_implementation():
    kappa = fleiss_kappa(FLEISS_1971).value
    assert kappa == pytest.approx(0.210, abs=5e-4)
    assert kappa == pytest.approx(0.20993070442195522, abs=1e-12)  # statsmodels


def test_missing_votes_are_allowed_and_published_numbers_found():
    """The package irrCAC prints AC1 0.77544 and Fleiss' kappa 0.76117 for this table."""
    table = rating_table(GWET)
    ac1 = gwet_ac1(table)
    assert ac1.value == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(table).value == pytest.approx(0.76117, abs=5e-6)
    quantile = special.stdtrit(11, 0.975)
    published_low = 0.77544 - quantile * 0.14295
    assert ac1.low <= published_low + 1e-4


def test_ac1_stays_high_where_nearly_all_is_of_one_category():
    table = [[3, 0]] * 95 + [[2, 1]] * 5
    assert fleiss_kappa(table).value < 0
    assert gwet_ac1(table).value > 0.95


@pytest.mark.parametrize(("is_ac1", "published_error"), [(True, 0.14295), (False, 0.15302)])
def test_published_standard_errors_are_found(is_ac1, published_error):
    """The package irrCAC prints these for the table with missing votes."""
    table = rating_table(GWET).astype(float)
    _, error = _estimate_value_and_error(table, is_ac1=is_ac1)
    assert error == pytest.approx(published_error, abs=5e-6)


def test_full_agreement_on_few_problems_is_not_known_to_the_last_digit():
    few = fleiss_kappa([[3, 0], [0, 3]] * 5)
    many = fleiss_kappa([[3, 0], [0, 3]] * 100)
    assert few.value == few.high == many.high == pytest.approx(1)
    assert few.low < many.low < 1


def draw_votes(rng, problem_count: int) -> np.ndarray:
    """Draw counts of yes and no of three workers, who agree about most problems."""
    is_probably_yes = rng.random(problem_count) < 0.3
    yes = rng.binomial(3, np.where(is_probably_yes, 0.9, 0.1))
    return np.stack([yes, 3 - yes], axis=1)


@pytest.mark.parametrize("coefficient", [fleiss_kappa, gwet_ac1])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(coefficient):
    rng = np.random.default_rng(0)
    truth = coefficient(draw_votes(rng, 300_000)).value
    draws = 300
    covered_count = 0
    for _ in range(draws):
        estimate = coefficient(draw_votes(rng, 60))
        covered_count += estimate.low <= truth <= estimate.high
    assert 0.92 <= covered_count / draws <= 0.995
