"""The null as a hill: where it stands, how far its axis reaches, and when there is none."""

import pytest

from winokit.drawing.null_hills import HEIGHT, WIDTH, draw_hills
from winokit.results import NULL, NULL_ERROR, Metric


def row(value, null=0.5, error=0.02, interval=(None, None)):
    details = {NULL: null, NULL_ERROR: error}
    name = "d", "m", "own", None, "accuracy", "all", "accuracy"
    return Metric(*name, value, 100, *interval, 0.5, None, details)


def corners(hill):
    return [tuple(map(float, point.split(","))) for point in hill.outline.split()]


def test_the_top_of_a_hill_stands_over_its_null():
    (hill,) = draw_hills([row(0.6, null=0.45)])
    across, _ = min(corners(hill), key=lambda point: point[1])
    assert across == pytest.approx(hill.across(0.45), abs=0.01)


def test_a_hill_is_as_wide_as_its_null_is_uncertain():
    narrow, wide = (corners(hill) for hill in draw_hills([row(0.5, error=0.01), row(0.5, error=0.04)]))
    assert wide[-1][0] - wide[0][0] == pytest.approx(4 * (narrow[-1][0] - narrow[0][0]), rel=0.01)
    assert wide[0][1] == pytest.approx(HEIGHT, abs=0.5)


def test_all_hills_have_one_axis_that_shows_every_score_and_interval():
    hills = draw_hills([row(0.3, interval=(0.22, 0.38)), row(0.95, interval=(0.9, 1.0))])
    assert len({(hill.low, hill.high) for hill in hills}) == 1
    assert all(0 < hill.across(0.22) < hill.across(0.95) < WIDTH for hill in hills)


def test_ticks_are_round_and_on_the_axis():
    (hill,) = draw_hills([row(0.52)])
    assert [label for _, label in hill.ticks] == ["40", "45", "50", "55", "60"]
    (wide,) = draw_hills([row(0.98)])
    assert [label for _, label in wide.ticks] == ["40", "50", "60", "70", "80", "90", "100"]
    assert all(0 <= place <= WIDTH for place, _ in (*hill.ticks, *wide.ticks))


def test_a_row_whose_null_is_not_known_or_does_not_vary_has_no_hill():
    """As those of runs that an earlier version wrote, and of a scorer that always answers alike."""
    unknown = Metric("d", "m", "own", None, "accuracy", "all", "accuracy", 0.5, 100, details={})
    hills = draw_hills([None, unknown, row(0.5, error=None), row(0.5, error=0.0), row(0.6)])
    assert [hill is not None for hill in hills] == [False, False, False, False, True]
    assert draw_hills([unknown]) == [None]
