"""Code gets plainer: the share of each habit in a room stays where it is or falls."""

import pytest
from support.plainness import HABITS, HOUSE, SOURCES, Room, count_rooms, find_rises, lowered, read_shares, write_shares

PLAIN = '''
"""Counts of birds."""

def count_birds(flocks):
    """Number of birds in all flocks."""
    total = 0
    for flock in flocks:
        total += len(flock)
    return total
'''
HABITUAL = {
    "nested": "def f(x):\n    return [a for b in x for a in b]",
    "branchy": "def f(x):\n" + "    if x:\n        x()\n" * 12,
    "wide": "def f(a, b, c, d, e, g, h, i): ...",
    "long": "def f(x):\n" + "    x()\n" * 51,
    "one_word": "def _read(x): ...",
    "no_verb": "def _bird_count(x): ...",
    "tuples": "a, b = x, y",
    "clever": "a = 3 * (x == y)",
    "participles": "known = 3",
    "semicolons": '"""Counts birds; of all kinds."""',
    "relative": '"""What flies."""',
    "wordy": '"""One two three four five six seven eight nine ten eleven twelve thirteen."""',
}


@pytest.fixture(scope="module")
def rooms():
    return count_rooms()


def room_of(*sources):
    room = Room()
    for source in sources:
        room.read_module(source)
    return room


def test_no_share_of_a_habit_rises_in_any_room(rooms):
    rises = find_rises(rooms, read_shares())
    assert rises == [], "write these places plainly (CONTRIBUTING.md)"


def test_every_room_is_counted(rooms):
    assert len(rooms) > 30
    assert {HOUSE, *SOURCES} <= set(rooms)
    assert all(rooms[HOUSE].counts[whole] > 500 for whole in HABITS.values())


@pytest.mark.parametrize(("habit", "source"), HABITUAL.items(), ids=list(HABITUAL))
def test_a_habit_is_counted_where_it_is(habit, source):
    assert room_of(source).counts[habit] == 1
    assert room_of(PLAIN).counts[habit] == 0


def test_a_mean_statement_is_counted_in_nodes():
    assert room_of("a = 1\nb = f(2)").share("nodes") == 3  # two for the first, four for the second


def test_a_room_that_has_a_habit_more_often_than_before_is_named():
    plain = room_of(PLAIN)
    habitual = room_of(PLAIN, *[HABITUAL["one_word"]] * 3)
    shares = lowered({"birds": plain, HOUSE: plain}, {}, [])
    assert find_rises({"birds": plain}, shares) == []
    assert "birds: one_word 3 of 3 private, 1.0 allowed" in find_rises({"birds": habitual}, shares)


def test_a_new_room_may_be_as_the_house_is():
    house = lowered({HOUSE: room_of(PLAIN)}, {}, [])
    assert find_rises({"new": room_of(*[HABITUAL["participles"]] * 2)}, house) != []
    assert find_rises({"new": room_of(PLAIN)}, house) == []


def test_stored_shares_fall_and_rise_only_for_a_room_that_is_named(tmp_path):
    plain = room_of(PLAIN)
    habitual = room_of(PLAIN, HABITUAL["semicolons"])
    before = lowered({"birds": habitual, HOUSE: habitual}, {}, [])
    after = lowered({"birds": plain, HOUSE: plain}, before, [])
    assert after["birds"]["semicolons"] == 0 < before["birds"]["semicolons"]
    assert lowered({"birds": habitual}, after, [])["birds"]["semicolons"] == 0
    assert lowered({"birds": habitual}, after, ["birds"])["birds"] == before["birds"]
    write_shares(after, tmp_path / "shares.csv")
    assert read_shares(tmp_path / "shares.csv").keys() == {"birds", HOUSE}
