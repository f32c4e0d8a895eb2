"""Where bars and lines go."""

from winokit.collect.study.progress import StudyDay
from winokit.collect.web.requester.charts import HEIGHT, WIDTH, cost_curve, day_columns, segments


def test_days_without_work_keep_their_place():
    columns = day_columns(
        [StudyDay("2026-03-01", {"write": 2}, 80), StudyDay("2026-03-04", {"write": 4}, 160)], ["write"]
    )
    first, last = columns.boxes
    assert (columns.first, columns.last, columns.most) == ("2026-03-01", "2026-03-04", 4)
    assert last.x - first.x == 3 * WIDTH / 4
    assert (first.height, last.height) == (HEIGHT / 2, HEIGHT)


def test_kinds_stand_on_one_another():
    low, high = day_columns([StudyDay("2026-03-01", {"write": 1, "validate": 3}, 0)], ["write", "validate"]).boxes
    assert (low.y + low.height, high.y + high.height) == (HEIGHT, low.y)
    assert high.y == 0


def test_only_the_last_sixty_days_are_drawn():
    columns = day_columns([StudyDay("2025-01-01", {"write": 9}, 0), StudyDay("2026-03-01", {"write": 1}, 0)], ["write"])
    assert len(columns.boxes) == 1
    assert columns.first == "2026-01-01"


def test_the_cost_rises_from_nothing_to_what_was_spent():
    curve = cost_curve([StudyDay("2026-03-01", {}, 50), StudyDay("2026-03-02", {}, 50)], 200)
    assert curve.line == f"0.0,{HEIGHT:.1f} 300.0,120.0 600.0,80.0"
    assert curve.level_y == 0


def test_there_is_no_chart_of_nothing():
    assert day_columns([], ["write"]) is None
    assert cost_curve([], 0) is None
    assert cost_curve([], 500) is None
    assert segments([("in", 0), ("free", 0)]) == ()
