"""Where bars and lines go."""

import re

from winokit.collect.study.progress import StudyDay
from winokit.collect.web.rendering import _environment
from winokit.collect.web.requester.home import HEIGHT, WIDTH, cost_curve, day_columns, drawn_days, most_in_a_day


def test_days_without_work_keep_their_place():
    days = drawn_days([StudyDay("2026-03-01", {"write": 2}, 80), StudyDay("2026-03-04", {"write": 4}, 160)])
    first, last = day_columns(days, ["write"])
    assert (days[0].date, days[-1].date, most_in_a_day(days)) == ("2026-03-01", "2026-03-04", 4)
    assert last.x - first.x == 3 * WIDTH / 4
    assert (first.height, last.height) == (HEIGHT / 2, HEIGHT)


def test_kinds_stand_on_one_another():
    low, high = day_columns([StudyDay("2026-03-01", {"write": 1, "validate": 3}, 0)], ["write", "validate"])
    assert (low.y + low.height, high.y + high.height) == (HEIGHT, low.y)
    assert high.y == 0


def test_only_the_last_sixty_days_are_drawn():
    days = drawn_days([StudyDay("2025-01-01", {"write": 9}, 0), StudyDay("2026-03-01", {"write": 1}, 0)])
    assert len(day_columns(days, ["write"])) == 1
    assert (days[0].date, len(days)) == ("2026-01-01", 60)


def test_the_cost_rises_from_nothing_to_what_was_spent():
    curve = cost_curve([StudyDay("2026-03-01", {}, 50), StudyDay("2026-03-02", {}, 50)], 200)
    assert curve.points == f"0.0,{HEIGHT:.1f} 300.0,120.0 600.0,80.0"
    assert (curve.end_y, curve.level_y) == (80, 0)


def test_there_is_no_chart_of_nothing():
    assert drawn_days([]) == []
    assert day_columns([], ["write"]) == []
    assert cost_curve([], 0) is None
    assert cost_curve([], 500) is None


def drawn_parts(counts):
    """Where the parts of a bar begin, and how wide they are."""
    bar = str(_environment().get_template("requester_macros.html.j2").module.bar(counts, "parts"))
    return re.findall(r'class="series-(\d)" x="([\d.]+)" width="([\d.]+)"', bar)


def test_parts_of_a_bar_stand_side_by_side():
    assert drawn_parts({"in": 3, "under way": 0, "free": 1}) == [("0", "0.0", "75.0"), ("2", "75.0", "25.0")]
    assert drawn_parts({"in": 0, "free": 0}) == []
