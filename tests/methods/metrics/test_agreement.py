import numpy as np
import pytest
from scipy import special
from support.votes import rating_table

from winokit.errors import BadInput
from winokit.methods.metrics.agreement import _estimate_value_and_error, fleiss_kappa, gwet_ac1


def test_kappa_by_hand():
    """Agreement 1, 1/3, 1, 1: mean 5/6. Shares 2/3 and 1/3: 5/9 by chance. (5/6 - 5/9) / (1 - 5/9) = 5/8."""
    assert fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]]).value == pytest.approx(5 / 8)


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
    assert fleiss_kappa(rating_table(votes)).value == pytest.approx(5 / 8)


def test_full_agreement_is_one_and_splitting_every_vote_is_below_zero():
    assert fleiss_kappa([[2, 0], [0, 2]]).value == pytest.approx(1)
    assert fleiss_kappa([[1, 1], [1, 1]]).value == pytest.approx(-1)


def test_the_names_and_order_of_categories_do_not_matter():
    table = [[3, 1, 0], [0, 2, 2], [1, 0, 3]]
    turned = [[row[2], row[0], row[1]] for row in table]
    assert fleiss_kappa(turned).value == pytest.approx(fleiss_kappa(table).value)
    assert fleiss_kappa(table[::-1]).value == pytest.approx(fleiss_kappa(table).value)


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
"""The worked example of encyclopedias: ten problems, fourteen raters, five categories; kappa 0.210."""
GWET = [[1] * 3, [2, 2, 3, 2], [3] * 4, [3] * 4, [2] * 4, [1, 2, 3, 4], [4] * 4, [1, 1, 2, 1], [2] * 4, [5] * 3, [1, 1]]
"""The example of four raters, twelve units and missing ratings that Krippendorff (2011) and Gwet (2014) compute with;
the twelfth unit has one rating (3)."""


def test_kappa_of_a_published_example_is_that_of_another_implementation():
    assert fleiss_kappa(FLEISS_1971).value == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(FLEISS_1971).value == pytest.approx(0.20993070442195522, abs=1e-12)  # statsmodels


def test_missing_votes_are_allowed_and_published_numbers_found():
    """irrCAC prints for this table: AC1 0.77544 (standard error 0.14295), Fleiss' kappa 0.76117 (0.15302)."""
    table = rating_table([*GWET, [3]])
    kappa = fleiss_kappa(table)
    ac1 = gwet_ac1(table)
    assert (ac1.value, kappa.value) == pytest.approx((0.77544, 0.76117), abs=5e-6)
    quantile = special.stdtrit(11, 0.975)
    assert ac1.low <= 0.77544 - quantile * 0.14295 + 1e-4
    assert _estimate_value_and_error(table.astype(float), is_ac1=True)[1] == pytest.approx(0.14295, abs=5e-6)
    assert _estimate_value_and_error(table.astype(float), is_ac1=False)[1] == pytest.approx(0.15302, abs=5e-6)


def test_ac1_stays_high_where_nearly_all_is_of_one_category():
    table = [[3, 0]] * 95 + [[2, 1]] * 5
    assert fleiss_kappa(table).value < 0
    assert gwet_ac1(table).value > 0.95


def test_full_agreement_on_few_problems_is_not_known_to_the_last_digit():
    few, many = (fleiss_kappa([[3, 0], [0, 3]] * n) for n in (5, 100))
    assert few.value == few.high == many.high == pytest.approx(1)
    assert few.low < many.low < 1


@pytest.mark.parametrize("coefficient", [fleiss_kappa, gwet_ac1])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(coefficient):
    chance = np.random.default_rng(0)

    def votes(problems):
        yes = chance.binomial(3, np.where(chance.random(problems) < 0.3, 0.9, 0.1))
        return np.stack([yes, 3 - yes], axis=1)

    truth = coefficient(votes(300_000)).value
    found = [coefficient(votes(60)) for _ in range(300)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.995
