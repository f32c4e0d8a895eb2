"""A hill shows the null of a score, on an axis that all hills share, and is missing if the null is unknown."""

import pytest

from winokit.drawing.null_hills import HEIGHT, WIDTH, draw_hills
from winokit.results import NULL, NULL_ERROR, Metric


def row(value, null=0.5, error=0.02, interval=(None, None)):
    """A row on accuracy with this score, null and error of the null."""
    low, high = interval
    details = {NULL: null, NULL_ERROR: error}
    return Metric("d", "m", "own", None, "accuracy", "all", "accuracy", value, 100, low, high, 0.5, None, details)


def corners_of(hill):
    """Corners of the outline, from left to right, as pairs of numbers."""
    corners = []
    for point in hill.outline.split():
        across, down = point.split(",")
        corners.append((float(across), float(down)))
    return corners


def width_of(hill) -> float:
    corners = corners_of(hill)
    left_end = corners[0][0]
    right_end = corners[-1][0]
    return right_end - left_end


def test_the_top_of_a_hill_stands_over_its_null():
    (hill,) = draw_hills([row(0.6, null=0.45)])
    across, _ = min(corners_of(hill), key=lambda corner: corner[1])
    assert across == pytest.approx(hill.across(0.45), abs=0.01)


def test_a_hill_is_as_wide_as_its_null_is_uncertain():
    narrow, wide = draw_hills([row(0.5, error=0.01), row(0.5, error=0.04)])
    foot = corners_of(wide)[0]
    assert width_of(wide) == pytest.approx(4 * width_of(narrow), rel=0.01)
    assert foot[1] == pytest.approx(HEIGHT, abs=0.5)


def test_all_hills_have_one_axis_that_shows_every_score_and_interval():
    hills = draw_hills([row(0.3, interval=(0.22, 0.38)), row(0.95, interval=(0.9, 1.0))])
    axes = {(hill.low, hill.high) for hill in hills}
    assert len(axes) == 1
    for hill in hills:
        assert 0 < hill.across(0.22) < hill.across(0.95) < WIDTH


@pytest.mark.parametrize(
    ("score", "labels"),
    [
        (0.52, ["40", "45", "50", "55", "60"]),
        (0.98, ["40", "50", "60", "70", "80", "90", "100"]),
    ],
)
def test_ticks_are_round_and_on_the_axis(score, labels):
    (hill,) = draw_hills([row(score)])
    assert [label for _, label in hill.ticks] == labels
    for across, _ in hill.ticks:
        assert 0 <= across <= WIDTH


UNKNOWN = Metric("d", "m", "own", None, "accuracy", "all", "accuracy", 0.5, 100, details={})
"""A row without a null, such as those of runs that an earlier version wrote."""


@pytest.mark.parametrize(
    "metric",
    [None, UNKNOWN, row(0.5, error=None), row(0.5, error=0.0)],
    ids=["no row", "no null", "no error", "answers alike"],
)
def test_a_row_whose_null_is_not_known_or_does_not_vary_has_no_hill(metric):
    hidden, hill = draw_hills([metric, row(0.6)])
    assert hidden is None
    assert hill is not None


def test_rows_without_any_null_have_no_hills():
    assert draw_hills([UNKNOWN]) == [None]
