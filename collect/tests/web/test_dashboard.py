"""Bars and lines of the dashboard are drawn at the right places, and its snapshots are kept for some seconds."""

import re
import threading

import pytest

from winokit_collect.study import progress
from winokit_collect.study.progress import StudyDay
from winokit_collect.web.dashboard import drawn_days
from winokit_collect.web.rendering import _make_environment

HEIGHT = 160
WIDTH = 600


def draw_macro(name, *values):
    """Call a macro of the requester's templates, and return the HTML that it draws."""
    template = _make_environment().get_template("requester_macros.html.j2")
    macro = getattr(template.module, name)
    return str(macro(*values))


def columns(days, kinds, most):
    """Series, x, y and height of each box of the chart of days."""
    pattern = r'"kind-(\d)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"'
    html = draw_macro("day_columns", days, kinds, most)
    boxes = []
    for series, x, y, height in re.findall(pattern, html):
        boxes.append((int(series), float(x), float(y), float(height)))
    return boxes


@pytest.fixture
def large(monkeypatch, study):
    """A study that counts as large, so that its snapshots are kept."""
    monkeypatch.setattr(progress, "LARGE", 0)
    monkeypatch.setattr(progress, "SPARING", 0)  # else one that a busy machine makes in half a second is kept for ten
    return study


def test_a_snapshot_of_a_large_study_is_kept_for_some_seconds_and_then_made_anew_meanwhile(large, clock):
    snapshots = progress.KeptSnapshot(large)
    first = snapshots.get()
    assert snapshots.get() is first
    clock.pass_minutes(10 / 60)
    assert snapshots.get() is first
    snapshot_threads = [thread for thread in threading.enumerate() if thread.name == "snapshot"]
    for thread in snapshot_threads:
        thread.join()
    second = snapshots.get()
    assert second.at > first.at
    clock.pass_minutes(5)
    assert snapshots.get().at > second.at


def test_a_snapshot_is_shown_and_later_made_anew_though_no_thread_can_be_started(large, clock, monkeypatch):
    snapshots = progress.KeptSnapshot(large)
    first = snapshots.get()

    def refuse_to_start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse_to_start)
    for _ in range(2):
        clock.pass_minutes(10 / 60)
        assert snapshots.get() is first
    clock.pass_minutes(5)
    assert not snapshots._turn.locked()  # else the next line would wait for ever
    assert snapshots.get().at > first.at


def test_the_button_to_pause_is_never_an_old_one(large, requester):
    assert "Pause" in requester.get("/requester").text
    large.pause(True, "requester:ada")
    page = requester.get("/requester").text
    assert "Resume" in page
    assert "The study is paused" in page


def test_days_without_work_keep_their_place():
    days = drawn_days([StudyDay("2026-03-01", {"write": 2}, 80), StudyDay("2026-03-04", {"write": 4}, 160)])
    first, last = columns(days, ["write"], 4)
    assert [day.date for day in days] == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]
    assert last[1] - first[1] == 3 * WIDTH / 4
    assert (first[3], last[3]) == (HEIGHT / 2, HEIGHT)


def test_kinds_stand_on_one_another():
    low, high = columns([StudyDay("2026-03-01", {"write": 1, "validate": 3}, 0)], ["write", "validate"], 4)
    assert (low[2] + low[3], high[2] + high[3]) == (HEIGHT, low[2])
    assert (low[0], high[0], high[2]) == (0, 1, 0)


def test_only_the_last_sixty_days_are_drawn():
    days = drawn_days([StudyDay("2025-01-01", {"write": 9}, 0), StudyDay("2026-03-01", {"write": 1}, 0)])
    assert len(columns(days, ["write"], 1)) == 1
    assert (days[0].date, len(days)) == ("2026-01-01", 60)


def test_the_cost_rises_from_nothing_to_what_was_spent():
    curve = draw_macro("cost_curve", [0, 50, 100], 200)
    assert 'class="line" points="0.0,160.0 300.0,120.0 600.0,80.0"' in curve
    assert 'class="area" points="0,160 0.0,160.0 300.0,120.0 600.0,80.0 600,160"' in curve
    assert 'class="dot" cx="600" cy="80.0"' in curve
    assert 'class="level" x1="0" x2="600" y1="0.0" y2="0.0"' in curve


def test_there_is_no_chart_of_nothing(requester):
    assert drawn_days([]) == []
    page = requester.get("/requester").text
    assert "No submissions yet" in page
    assert "Nothing is owed yet" in page


def test_parts_of_a_bar_stand_side_by_side():
    parts = re.compile(r'class="series-(\d)" x="([\d.]+)" width="([\d.]+)"')
    bar = draw_macro("bar", {"submitted": 3, "in progress": 0, "free": 1}, "parts")
    assert parts.findall(bar) == [("0", "0.0", "75.0"), ("2", "75.0", "25.0")]
    assert parts.findall(draw_macro("bar", {"submitted": 0, "free": 0}, "parts")) == []


def test_nobody_waits_for_a_count_when_a_study_has_just_become_large(monkeypatch, study):
    snapshots = progress.KeptSnapshot(study)
    small = snapshots.get()
    monkeypatch.setattr(progress, "LARGE", 0)
    assert snapshots.get() is small
