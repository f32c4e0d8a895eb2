import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.agreement import fleiss_kappa, rating_table


def test_kappa_by_hand():
    """Agreement 1, 1/3, 1, 1: mean 5/6. Shares 2/3 and 1/3: 5/9 by chance. (5/6 - 5/9) / (1 - 5/9) = 5/8."""
    assert fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]]) == pytest.approx(5 / 8)


@pytest.mark.parametrize(
    ("table", "reference"),
    [
        ([[1, 1], [2, 0], [0, 2], [1, 1]], 0.0),
        ([[5, 1, 0], [2, 2, 2], [0, 0, 6], [6, 0, 0], [1, 4, 1]], 0.45644599303135885),
        ([[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [7, 7, 0, 0, 0]], 0.3415319460846195),
    ],
)
def test_kappa_is_that_of_statsmodels(table, reference):
    assert fleiss_kappa(table) == pytest.approx(reference, abs=1e-12)


def test_kappa_from_votes():
    votes = [["yes"] * 3, ["yes", "no", "yes"], ["no"] * 3, ["yes"] * 3]
    assert fleiss_kappa(rating_table(votes)) == pytest.approx(5 / 8)


def test_full_agreement_is_one_and_splitting_every_vote_is_below_nought():
    assert fleiss_kappa([[2, 0], [0, 2]]) == pytest.approx(1)
    assert fleiss_kappa([[1, 1], [1, 1]]) == pytest.approx(-1)


def test_the_names_and_order_of_categories_do_not_matter():
    table = [[3, 1, 0], [0, 2, 2], [1, 0, 3]]
    turned = [[row[2], row[0], row[1]] for row in table]
    assert fleiss_kappa(turned) == pytest.approx(fleiss_kappa(table))
    assert fleiss_kappa(table[::-1]) == pytest.approx(fleiss_kappa(table))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([[3, 0], [1, 1]], "the same number of workers"),
        ([[1, 0], [0, 1]], "two or more"),
        ([[3, 0], [3, 0]], "all votes fall into one category"),
        ([], "a table of votes"),
        ([[-1, 4]], "counts from 0"),
    ],
)
def test_what_has_no_kappa_is_refused(table, says):
    with pytest.raises(BadInput, match=says):
        fleiss_kappa(table)
