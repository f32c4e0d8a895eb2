"""The leaderboard ranks entries, tests neighbours, and its page shows nothing else of the hidden test."""

import json
import random
from pathlib import Path

import pytest
from support import small
from support.pages import opened

from winokit.errors import BadInput
from winokit.methods.metrics.compare import holm, p_paired
from winokit.methods.metrics.groups import all_right
from winokit.stages.grade.leaderboard import Leaderboard, curve_of, leaderboard, write_board
from winokit.stages.grade.record import ENTRY, LOG, Statement, kept_outcome, write_graded
from winokit.stages.grade.run import grade_submission
from winokit.stages.release.hidden import hidden_folder, read_hidden
from winokit.units import Units

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1", tests=60)


def draw_rows(chance: random.Random, row_count: int, share: float) -> set[int]:
    """Each row with the probability `share`."""
    return {row for row in range(row_count) if chance.random() < share}


def submission_path(folder: Path, name: str) -> Path:
    return folder.with_name(f"{abs(hash(name))}.lst")


def write_entry(release: Path, folder: Path, name: str, errors: float, trials: int = 1, **statement: str) -> None:
    """Grade the submission of this name, and write its entry into a folder."""
    fields = {"formalization": "mc-sent", "training_data": "train_xl"} | statement
    path = submission_path(folder, name)
    graded = grade_submission(release, [path], Statement(name, trials=trials, **fields)).public
    write_graded(graded, folder / f"{len(name)}-{errors}.json")


def enter_curve(release: Path, folder: Path, name: str, errors: float, trials: int = 1, **statement: str) -> None:
    """Enter five columns of labels, with this share of errors at the largest training size."""
    answers = small.answers(release)
    chance = random.Random(name)
    wrong_rows = []
    for more_errors in (0.36, 0.27, 0.18, 0.09, 0):
        wrong_rows.append(draw_rows(chance, len(answers), min(0.5, errors + more_errors)))
    submission_path(folder, name).write_text(small.five_columns(answers, wrong_rows))
    write_entry(release, folder, name, errors, trials, **statement)


def enter_labels(release: Path, folder: Path, name: str, errors: float) -> None:
    """Enter one column of labels, with this share of errors."""
    answers = small.answers(release)
    wrong_rows = draw_rows(random.Random(name), len(answers), errors)
    labels = small.labels_with(answers, wrong_rows)
    submission_path(folder, name).write_text("\n".join(labels))
    write_entry(release, folder, name, errors)


def ranks_of(board: Leaderboard) -> list[int | None]:
    return [place.rank for place in board.places]


def names_on(board: Leaderboard) -> list[str]:
    return [place.entry.statement.name for place in board.places]


def page_of(board: Leaderboard, tmp_path: Path) -> str:
    """The page of the board, with one space for all white space."""
    path = tmp_path / "board.html"
    write_board(board, path)
    return " ".join(path.read_text().split())


@pytest.fixture
def entries(release, tmp_path) -> Path:
    folder = tmp_path / "graded"
    enter_curve(release, folder, "weak", 0.45)
    enter_curve(release, folder, "strong", 0.02, model="large one", trials=60)
    enter_curve(release, folder, HOSTILE, 0.05, formalization="p-span & more")
    return folder


def test_the_board_ranks_what_is_shown_and_what_is_not_shown_has_no_rank(release, entries):
    board = leaderboard(release, entries)
    assert ranks_of(board) == [1, 1, None]
    assert names_on(board)[2] == "weak"
    assert {place.main.value * board.rules.steps % 1 for place in board.places[:2]} == {0.0}
    assert not any(place.curve for place in board.places)


def test_the_page_says_for_how_many_entries_no_score_is_shown(release, entries, tmp_path):
    page = page_of(leaderboard(release, entries), tmp_path)
    assert "For 1 of them no score is shown" in page
    assert "A rank is not a difference" in page
    assert "Learning curve" not in page
    assert "Group score" not in page


def test_the_public_board_has_no_exact_difference_and_no_p_value(release, tmp_path):
    folder = tmp_path / "single"
    enter_labels(release, folder, "all", 0.0)
    enter_labels(release, folder, "most", 0.25)
    first, second = leaderboard(release, folder).places
    assert (first.rank, second.rank) == (1, 2)
    lead = first.ahead
    assert lead.difference == pytest.approx(first.main.value - second.main.value)
    assert lead.told_apart
    assert (lead.p_corrected, lead.low, lead.high) == (None, None, None)


FIRST_MAY_NOT_BE_BEST = "That the first is better than the second is not shown."


def test_that_the_first_is_the_best_is_not_said_of_neighbours_that_are_close(release, entries, tmp_path):
    page = page_of(leaderboard(release, entries, owner=True), tmp_path)
    assert FIRST_MAY_NOT_BE_BEST in page


def test_that_the_first_is_the_best_is_said_where_a_test_says_so(release, tmp_path):
    folder = tmp_path / "graded"
    enter_curve(release, folder, "weak", 0.45)
    enter_curve(release, folder, "far", 0.0)
    page = page_of(leaderboard(release, folder, owner=True), tmp_path)
    assert FIRST_MAY_NOT_BE_BEST not in page


@pytest.mark.parametrize(
    ("errors", "summary", "may_be_chance"),
    [
        ({"a": 0.0, "ab": 0.3}, "all neighbours can be distinguished", False),
        ({"a": 0.0, "ab": 0.3, "abc": 0.3}, "1 of 2 pairs of neighbours can be distinguished", True),
        ({"a": 0.3, "ab": 0.3}, "no two neighbours can be distinguished", True),
    ],
    ids=["all", "some", "none"],
)
def test_the_board_says_how_many_neighbours_can_be_distinguished(release, tmp_path, errors, summary, may_be_chance):
    folder = tmp_path / "single"
    for name, share in errors.items():
        enter_labels(release, folder, name, share)
    page = page_of(leaderboard(release, folder, owner=True), tmp_path)
    assert f"By the main score, {summary} (p below" in page
    assert ("may be chance." in page) == may_be_chance


def test_the_owners_page_has_everything_and_says_not_to_publish_it(release, entries, tmp_path):
    page = page_of(leaderboard(release, entries, owner=True), tmp_path)
    assert "Do not publish it while the test is in use" in page
    assert "Learning curve" in page
    assert "Group score" in page


def test_the_owners_board_needs_the_labels(release, entries):
    hidden_folder(release).rename(release.with_name("elsewhere"))
    with pytest.raises(BadInput, match="no hidden labels there"):
        leaderboard(release, entries, owner=True)


def test_the_best_comes_first(release, entries):
    board = leaderboard(release, entries, owner=True)
    assert names_on(board)[-1] == "weak"
    assert board.metric == "auc"
    assert ranks_of(board) == [1, 2, 3]
    scores = [place.main.value for place in board.places]
    assert scores == sorted(scores, reverse=True)


def test_neighbours_far_apart_are_told_apart_and_others_not(release, entries):
    first, second, last = leaderboard(release, entries, owner=True).places
    assert not first.ahead.told_apart
    lead = second.ahead
    assert lead.told_apart
    assert lead.difference == pytest.approx(second.main.value - last.main.value, abs=0.0011)
    assert lead.low <= lead.difference <= lead.high
    assert last.ahead is None


def test_p_values_are_corrected_for_all_tests_on_the_page(release, entries):
    board = leaderboard(release, entries, owner=True)
    tests = []
    for place in board.places[:-1]:
        tests += [place.ahead, place.group_ahead]
    p_values = [test.p_corrected for test in tests]
    assert board.tests == len(tests) == 4
    assert min(p_values) <= 4 * 0.001
    assert max(p_values) > 0.05


def test_the_owners_tests_have_no_margin(release, tmp_path):
    folder = tmp_path / "graded"
    enter_labels(release, folder, "better", 0.05)
    enter_labels(release, folder, "worse", 0.2)
    first, second = leaderboard(release, folder, owner=True).places
    labels = read_hidden(release)
    (first_right,) = kept_outcome(labels.folder, first.entry.submission).values()
    (second_right,) = kept_outcome(labels.folder, second.entry.submission).values()
    first_groups = all_right(first_right, labels.groups)
    second_groups = all_right(second_right, labels.groups)
    p_of_problems = p_paired(first_right, second_right, Units.of_names(labels.groups))
    p_of_groups = p_paired(first_groups, second_groups, Units.alone(len(first_groups)))
    p_values = [first.ahead.p_corrected, first.group_ahead.p_corrected]
    assert p_values == pytest.approx(list(holm([p_of_problems, p_of_groups])), abs=0.0006)


def test_equal_submissions_share_a_rank(release, entries):
    path = submission_path(entries, "weak")
    statement = Statement("weak again", "mc-sent", "train_xl", 1)
    write_graded(grade_submission(release, [path], statement).public, entries / "again.json")
    board = leaderboard(release, entries, owner=True)
    assert ranks_of(board) == [1, 2, 3, 3]
    assert board.places[2].ahead.p_corrected == 1


def test_the_owners_board_with_single_labels_ranks_by_accuracy(release, entries):
    enter_labels(release, entries, "single", 0.05)
    board = leaderboard(release, entries, owner=True)
    assert board.metric == "accuracy"
    assert ranks_of(board) == [1, 2, 3, 4]


def test_on_a_public_board_single_labels_have_no_rank_and_the_page_says_so(release, entries, tmp_path):
    enter_labels(release, entries, "single", 0.05)
    board = leaderboard(release, entries)
    assert board.metric == "auc"
    assert names_on(board)[-1] == "weak"
    assert ranks_of(board) == [1, 1, None, None]
    place_of_name = dict(zip(names_on(board), board.places, strict=True))
    assert curve_of(place_of_name["single"]) is None
    explanation = "<p>Ranked by auc: entries for which that is not shown have no rank.</p>"
    assert explanation in page_of(board, tmp_path)


def test_without_hidden_labels_there_is_a_board_and_no_test(release, entries, tmp_path):
    hidden_folder(release).rename(release.with_name("elsewhere"))
    board = leaderboard(release, entries)
    assert [place.ahead for place in board.places] == [None] * 3
    assert any("no paired tests" in note for note in board.notes)
    assert "0 tests" not in page_of(board, tmp_path)


def test_entries_of_other_releases_and_those_that_say_nothing_are_passed_over(release, entries, tmp_path):
    next_release = small.small_release(tmp_path / "v2", tests=60, about={"version": "2.0"})
    enter_curve(next_release, entries, "foreign", 0.1)
    without_statement = json.loads((entries / "4-0.45.json").read_text()) | {"statement": None}
    (entries / "mute.json").write_text(json.dumps(without_statement))
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
    page = page_of(leaderboard(release, entries), tmp_path)
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not any(name in page for name in read_hidden(release).ids)
    assert "http://" not in page
    assert "src=" not in page
    assert "Luck-corrected" in page
    assert "Entries use 2 formalizations" in page


def test_the_page_is_the_same_each_time(release, entries, tmp_path):
    paths = [tmp_path / "one.html", tmp_path / "two.html"]
    for path in paths:
        write_board(leaderboard(release, entries), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_browser_sorts_it_quietly_wide_and_narrow(chromium, release, entries, tmp_path):
    path = tmp_path / "board.html"
    write_board(leaderboard(release, entries, owner=True), path)
    with opened(chromium, path) as page:
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        first_name = page.locator("#board tbody th").first
        page.select_option("#order", label="Trials")
        assert first_name.inner_text().startswith("strong")
        page.set_viewport_size({"width": 1280, "height": 800})
        auc_button = page.get_by_role("button", name="AUC")
        auc_button.click()
        auc_button.click()
        assert first_name.inner_text() == "weak"


@pytest.mark.parametrize("content", ['{"xl": 3', "[3]", '{"xl": 3}'])
def test_an_outcome_that_cannot_be_read_is_named(release, entries, content):
    path = next((hidden_folder(release) / "graded").iterdir())
    path.write_text(content)
    with pytest.raises(BadInput, match=f"{path.name}: not what winokit grade keeps"):
        leaderboard(release, entries)


def test_an_outcome_of_other_sizes_is_not_tested(release, entries):
    outcome = json.dumps({"one": "1" * len(read_hidden(release))})
    for path in (hidden_folder(release) / "graded").iterdir():
        path.write_text(outcome)
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
    if part == "scores":
        content[part] = [score | change for score in content[part]]
    else:
        content[part] |= change
    path.write_text(json.dumps(content))
    board = leaderboard(release, entries)
    assert set(names_on(board)) == {"weak", "strong"}
    assert any(f"skipped {path.name}: no grading gave this entry as it is" in note for note in board.notes)


def test_an_entry_that_shows_no_score_must_have_been_graded_too(release, entries):
    content = json.loads((entries / "4-0.45.json").read_text())
    assert content["scores"] == []
    content["submission"] = "0" * 64
    content["statement"]["name"] = "ghost"
    (entries / "ghost.json").write_text(json.dumps(content))
    assert "ghost" not in names_on(leaderboard(release, entries))


@pytest.mark.parametrize(
    ("change", "is_accepted"), [({}, True), ({"scores": []}, False), ({"submission": "0" * 64}, False)]
)
def test_of_an_entry_that_an_earlier_version_logged_the_score_and_the_submission_are_known(
    release, entries, change, is_accepted
):
    log = hidden_folder(release) / LOG
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for row in rows:
        row.pop(ENTRY, None)
    small.write_lines(log, rows)
    path = entries / "6-0.02.json"
    content = json.loads(path.read_text())
    content["statement"]["trials"] = 61
    path.write_text(json.dumps(content | change))
    names = names_on(leaderboard(release, entries))
    assert ("strong" in names) == is_accepted


def test_an_entry_under_the_name_of_another_is_passed_over(release, entries):
    content = json.loads((entries / "6-0.02.json").read_text())
    content["statement"]["name"] = "thief"
    (entries / "thief.json").write_text(json.dumps(content))
    assert "thief" not in names_on(leaderboard(release, entries))
