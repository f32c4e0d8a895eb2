"""The order of entries, who can be told apart, and a page that shows it without telling anything else."""

import json
import random
from pathlib import Path

import pytest
from support import small
from support.pages import opened

from winokit.errors import BadInput
from winokit.methods.metrics.compare import holm, p_paired
from winokit.methods.metrics.groups import all_right
from winokit.stages.grade.leaderboard import curve_of, leaderboard, write_board
from winokit.stages.grade.record import ENTRY, LOG, Statement, kept_outcome, write_graded
from winokit.stages.grade.run import grade_submission
from winokit.stages.release.hidden import hidden_folder, read_hidden
from winokit.units import Units

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1", tests=60)


def enter(release: Path, folder: Path, name: str, errors: float, five: bool = True, trials: int = 1, **said) -> None:
    """Grade a submission that is wrong on a share of the problems, and put the entry into a folder."""
    right = small.answers(release)
    random_ = random.Random(name)
    shares = [min(0.5, errors + more) for more in (0.36, 0.27, 0.18, 0.09, 0)] if five else [errors]
    wrong = [{row for row in range(len(right)) if random_.random() < share} for share in shares]
    path = folder.with_name(f"{abs(hash(name))}.lst")
    text = small.five_columns(right, wrong) if five else "\n".join(small.labels_with(right, wrong[0]))
    path.write_text(text)
    told = {"formalization": "mc-sent", "training_data": "train_xl"} | said
    graded = grade_submission(release, [path], Statement(name, trials=trials, **told)).public
    write_graded(graded, folder / f"{len(name)}-{errors}.json")


@pytest.fixture
def entries(release, tmp_path) -> Path:
    folder = tmp_path / "graded"
    enter(release, folder, "weak", 0.45)
    enter(release, folder, "strong", 0.02, model="large one", trials=60)
    enter(release, folder, HOSTILE, 0.05, formalization="p-span & more")
    return folder


def test_the_board_ranks_what_is_shown_and_what_is_not_shown_has_no_rank(release, entries, tmp_path):
    board = leaderboard(release, entries)
    assert [place.rank for place in board.places] == [1, 1, None]
    assert board.places[2].entry.statement.name == "weak"
    assert {place.main.value * board.rules.steps % 1 for place in board.places[:2]} == {0.0}
    assert not any(place.curve for place in board.places)
    write_board(board, tmp_path / "board.html")
    page = " ".join((tmp_path / "board.html").read_text().split())
    assert "For 1 of them no score is shown" in page
    assert "A rank is not a difference" in page
    assert "Learning curve" not in page
    assert "Group score" not in page


def test_the_public_board_has_no_exact_difference_and_no_p_value(release, tmp_path):
    for name, errors in (("all", 0.0), ("most", 0.25)):
        enter(release, tmp_path / "single", name, errors, five=False)
    first, second = leaderboard(release, tmp_path / "single").places
    assert (first.rank, second.rank) == (1, 2)
    assert first.ahead.difference == pytest.approx(first.main.value - second.main.value)
    assert first.ahead.told_apart
    assert (first.ahead.p_corrected, first.ahead.low, first.ahead.high) == (None, None, None)


def test_that_the_first_is_the_best_is_said_only_where_a_test_says_so(release, entries, tmp_path):
    for owner, more in ((True, ()), (True, ("far",))):
        for name in more:
            enter(release, entries, name, 0.0)
            for path in entries.glob("[0-9]*-0.05.json"):
                path.unlink()
            (entries / "6-0.02.json").unlink()
        write_board(leaderboard(release, entries, owner=owner), tmp_path / "board.html")
        said = "That the first is better than the second is not shown." in (tmp_path / "board.html").read_text()
        assert said == (not more)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ((0.0, 0.3), "all neighbours can be distinguished"),
        ((0.0, 0.3, 0.3), "1 of 2 pairs of neighbours can be distinguished"),
        ((0.3, 0.3), "no two neighbours can be distinguished"),
    ],
)
def test_the_board_says_how_many_neighbours_can_be_distinguished(release, tmp_path, errors, said):
    for number, share in enumerate(errors):
        enter(release, tmp_path / "single", "abc"[: 1 + number], share, five=False)
    write_board(leaderboard(release, tmp_path / "single", owner=True), tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text()
    assert f"By the main score, {said} (p below" in page
    assert ("may be chance." in page) == (not said.startswith("all"))


def test_the_owners_board_needs_the_labels_and_says_not_to_publish_it(release, entries, tmp_path):
    write_board(leaderboard(release, entries, owner=True), tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text()
    assert "Do not publish it while the test is in use" in page
    assert "Learning curve" in page
    assert "Group score" in page
    hidden_folder(release).rename(release.with_name("elsewhere"))
    with pytest.raises(BadInput, match="no hidden labels there"):
        leaderboard(release, entries, owner=True)


def test_the_best_comes_first(release, entries):
    board = leaderboard(release, entries, owner=True)
    names = [place.entry.statement.name for place in board.places]
    assert names[-1] == "weak"
    assert board.metric == "auc"
    assert [place.rank for place in board.places] == [1, 2, 3]
    values = [place.main.value for place in board.places]
    assert values == sorted(values, reverse=True)


def test_neighbours_far_apart_are_told_apart_and_others_not(release, entries):
    first, second, last = leaderboard(release, entries, owner=True).places
    assert not first.ahead.told_apart
    assert second.ahead.told_apart
    assert second.ahead.difference == pytest.approx(second.main.value - last.main.value, abs=0.0011)
    assert second.ahead.low <= second.ahead.difference <= second.ahead.high
    assert last.ahead is None


def test_p_values_are_corrected_for_all_tests_on_the_page(release, entries):
    board = leaderboard(release, entries, owner=True)
    tests = [test for place in board.places for test in (place.ahead, place.group_ahead) if test is not None]
    assert board.tests == len(tests) == 4
    assert min(test.p_corrected for test in tests) <= 4 * 0.001
    assert max(test.p_corrected for test in tests) > 0.05


def test_the_owners_tests_have_no_margin(release, tmp_path):
    folder = tmp_path / "graded"
    labels = read_hidden(release)
    for name, errors in (("better", 0.05), ("worse", 0.2)):
        enter(release, folder, name, errors, five=False)
    first, second = leaderboard(release, folder, owner=True).places
    right = [next(iter(kept_outcome(labels.folder, place.entry.submission).values())) for place in (first, second)]
    pairs = all_right(right[0], labels.groups), all_right(right[1], labels.groups)
    each = [p_paired(*right, Units.of_names(labels.groups)), p_paired(*pairs, Units.alone(len(pairs[0])))]
    assert [first.ahead.p_corrected, first.group_ahead.p_corrected] == pytest.approx(list(holm(each)), abs=0.0006)


def test_equal_submissions_share_a_rank(release, entries):
    path = entries.with_name(f"{abs(hash('weak'))}.lst")
    again = Statement("weak again", "mc-sent", "train_xl", 1)
    write_graded(grade_submission(release, [path], again).public, entries / "again.json")
    board = leaderboard(release, entries, owner=True)
    assert [place.rank for place in board.places] == [1, 2, 3, 3]
    assert board.places[2].ahead.p_corrected == 1


def test_a_board_with_single_labels_ranks_by_accuracy_and_says_so(release, entries, tmp_path):
    enter(release, entries, "single", 0.05, five=False)
    board = leaderboard(release, entries, owner=True)
    assert board.metric == "accuracy"
    assert [place.rank for place in board.places] == [1, 2, 3, 4]
    shown = leaderboard(release, entries)
    assert shown.metric == "auc"
    assert shown.places[-1].entry.statement.name == "weak"
    assert [place.rank for place in shown.places] == [1, 1, None, None]
    assert curve_of(next(place for place in shown.places if place.entry.statement.name == "single")) is None
    write_board(shown, tmp_path / "board.html")
    told = "<p>Ranked by auc: entries for which that is not shown have no rank.</p>"
    assert told in (tmp_path / "board.html").read_text()


def test_without_hidden_labels_there_is_a_board_and_no_test(release, entries, tmp_path):
    hidden_folder(release).rename(release.with_name("elsewhere"))
    board = leaderboard(release, entries)
    assert [place.ahead for place in board.places] == [None] * 3
    assert any("no paired tests" in note for note in board.notes)
    write_board(board, tmp_path / "board.html")
    assert "0 tests" not in (tmp_path / "board.html").read_text()


def test_entries_of_other_releases_and_those_that_say_nothing_are_passed_over(release, entries, tmp_path):
    other = small.small_release(tmp_path / "v2", tests=60, about={"version": "2.0"})
    enter(other, entries, "foreign", 0.1)
    mute = json.loads((entries / "4-0.45.json").read_text()) | {"statement": None}
    (entries / "mute.json").write_text(json.dumps(mute))
    board = leaderboard(release, entries)
    assert len(board.places) == 3
    assert sum("skipped" in note for note in board.notes) == 2


def test_an_empty_folder_and_none_are_refused(release, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no entry"):
        leaderboard(release, tmp_path / "empty")
    with pytest.raises(BadInput, match="no such folder"):
        leaderboard(release, tmp_path / "none")


def test_the_page_holds_no_id_no_outcome_and_no_markup_of_others(release, entries, tmp_path):
    write_board(leaderboard(release, entries), tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text()
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not any(name in page for name in read_hidden(release).ids)
    assert "http://" not in page
    assert "src=" not in page
    assert "Luck-corrected" in page
    assert "Entries use 2 formalizations" in page


def test_the_page_is_the_same_each_time(release, entries, tmp_path):
    for name in ("one.html", "two.html"):
        write_board(leaderboard(release, entries), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_browser_sorts_it_quietly_wide_and_narrow(chromium, release, entries, tmp_path):
    path = tmp_path / "board.html"
    write_board(leaderboard(release, entries, owner=True), path)
    with opened(chromium, path) as page:
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.select_option("#order", label="Trials")
        assert page.locator("#board tbody th").first.inner_text().startswith("strong")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("button", name="AUC").click()
        page.get_by_role("button", name="AUC").click()
        assert page.locator("#board tbody th").first.inner_text() == "weak"


@pytest.mark.parametrize("kept", ['{"xl": 3', "[3]", '{"xl": 3}'])
def test_an_outcome_that_cannot_be_read_is_named(release, entries, kept):
    path = next((hidden_folder(release) / "graded").iterdir())
    path.write_text(kept)
    with pytest.raises(BadInput, match=f"{path.name}: not what winokit grade keeps"):
        leaderboard(release, entries)


def test_an_outcome_of_other_sizes_is_not_tested(release, entries):
    for path in (hidden_folder(release) / "graded").iterdir():
        path.write_text(json.dumps({"one": "1" * len(read_hidden(release))}))
    assert leaderboard(release, entries).tests == 0


@pytest.mark.parametrize(("key", "value"), [("value", "high"), ("metric", "group_accuracy")])
def test_an_entry_that_grade_did_not_write_is_refused(release, entries, key, value):
    path = entries / "6-0.02.json"
    content = json.loads(path.read_text())
    content["scores"] = [score | {key: value} for score in content["scores"]]
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput, match=f"{path.name}: not what"):
        leaderboard(release, entries)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("scores", {"value": 1.0, "high": 1.0}),
        ("scores", {"metric": "accuracy"}),
        ("scores", {"luck_corrected": 1.0}),
        ("scores", {"low": 0.99, "n": 100_000}),
        ("statement", {"trials": 2}),
        ("statement", {"formalization": "another"}),
        ("sizes", {"xl": 10**9}),
        ("rules", {"budget": 10**9}),
        ("release", {"name": "another"}),
    ],
)
def test_an_entry_that_was_edited_after_grading_is_passed_over(release, entries, part, change):
    """Once only the score had to be one that was shown: the luck-corrected one could be anything."""
    path = entries / f"{len(HOSTILE)}-0.05.json"
    content = json.loads(path.read_text())
    assert content["scores"][0]["value"] < 1
    assert content["scores"][0]["luck_corrected"] < 1
    content[part] = [old | change for old in content[part]] if part == "scores" else content[part] | change
    path.write_text(json.dumps(content))
    board = leaderboard(release, entries)
    assert {place.entry.statement.name for place in board.places} == {"weak", "strong"}
    assert any(f"skipped {path.name}: no grading gave this entry as it is" in note for note in board.notes)


def test_an_entry_that_shows_no_score_must_have_been_graded_too(release, entries):
    content = json.loads((entries / "4-0.45.json").read_text())
    content |= {"submission": "0" * 64, "statement": content["statement"] | {"name": "ghost"}}
    assert content["scores"] == []
    (entries / "ghost.json").write_text(json.dumps(content))
    assert "ghost" not in {place.entry.statement.name for place in leaderboard(release, entries).places}


@pytest.mark.parametrize("change", [{}, {"scores": []}, {"submission": "0" * 64}])
def test_of_an_entry_that_an_earlier_version_logged_the_score_and_the_submission_are_known(release, entries, change):
    log = hidden_folder(release) / LOG
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(f"{json.dumps({key: row[key] for key in row if key != ENTRY})}\n" for row in rows))
    path = entries / "6-0.02.json"
    content = json.loads(path.read_text())
    content["statement"]["trials"] = 61
    path.write_text(json.dumps(content | change))
    names = {place.entry.statement.name for place in leaderboard(release, entries).places}
    assert ("strong" in names) == (not change)


def test_an_entry_under_the_name_of_another_is_passed_over(release, entries):
    content = json.loads((entries / "6-0.02.json").read_text())
    content["statement"]["name"] = "thief"
    (entries / "thief.json").write_text(json.dumps(content))
    assert "thief" not in {place.entry.statement.name for place in leaderboard(release, entries).places}
