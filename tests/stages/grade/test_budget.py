"""Gradings on earlier versions, on copies and on other releases count against the budget of a hidden test."""

from pathlib import Path

import pytest
from support import small

from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.stages.evolve.run import evolve
from winokit.stages.grade.budget import EarlierTest, SpentBudget, name_digest
from winokit.stages.grade.ladder import LadderRules
from winokit.stages.grade.leaderboard import leaderboard
from winokit.stages.grade.record import Statement, write_graded
from winokit.stages.grade.run import Grading, grade_submission
from winokit.stages.release.hidden import hidden_folder, read_hidden
from winokit.stages.release.hidden_registry import GradedSubmission, HiddenRegistry
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings

RULES = LadderRules(steps=8, lowest=0.875, budget=10, per_name=3)


NEXT_VERSION = {"model": ["random"], "version": "2.0", "test": 28, "alpha": 1e-9}
"""Arguments of evolve with which no problem is retired."""


def grade_with_errors(folder: Path, wrong_count: int, name: str = "able", **options: int) -> Grading:
    """Grade a submission that is wrong on its first rows, `wrong_count` of them."""
    path = folder.with_name(f"{folder.name}.lst")
    labels = small.labels_with(small.answers(folder), set(range(wrong_count)))
    path.write_text("\n".join(labels))
    return grade_submission(folder, [path], Statement(name, "mc-sent", "none", 1), **options)


def grade_under_names(folder: Path, count: int) -> None:
    """Grade this many different submissions, each under its own name."""
    for number in range(count):
        grade_with_errors(folder, number, f"name {number}")


def pairs_of(numbers: range) -> Dataset:
    """Twins of these numbers."""
    problems = []
    for number in numbers:
        problems += small.twins(number)
    return Dataset(problems, Card("small"))


def write_next_version(folder: Path, new: Dataset | None = None, **changes) -> Path:
    """Write the next version of a release beside it, and return its folder."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    return evolve(folder, new=new, out=folder.with_name("v2"), **NEXT_VERSION | changes).folder


def write_half_new_version(folder: Path) -> Path:
    """Write a next version with twice as many tests, half of them new problems."""
    return write_next_version(folder, new=pairs_of(range(300, 360)), test=56)


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


def test_a_next_version_counts_what_the_one_before_was_asked(tmp_path):
    """Once it forgot 13 of 13."""
    first = small.small_release(tmp_path / "v1", tests=90)
    grade_under_names(first, 13)
    with pytest.raises(BadInput, match="the budget of this test is spent: 13 different submissions"):
        grade_with_errors(first, 13, "another")
    second = write_next_version(first, test=180)
    assert len(read_hidden(second)) == 180
    with pytest.raises(BadInput, match="the budget of this test is spent: 13 different submissions"):
        grade_with_errors(second, 50, "another")
    gradings = grade_with_errors(second, 50, "another", budget=14).public.gradings
    assert gradings.different == 14


def test_the_note_of_a_next_version_says_what_is_spent(release):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    grade_under_names(release, 3)
    notes = evolve(release, out=release.with_name("v2"), **NEXT_VERSION).notes
    assert any("have spent 3 of the 10 that this test is for" in note for note in notes)


def test_without_gradings_no_note_of_a_next_version_says_what_is_spent(release):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    notes = evolve(release, out=release.with_name("v2"), **NEXT_VERSION).notes
    assert not any("have spent" in note for note in notes)


def test_of_a_test_half_of_which_is_new_four_gradings_of_the_one_before_have_spent_two(release):
    grade_under_names(release, 4)
    second = write_half_new_version(release)
    old_ids = set(read_hidden(release).ids)
    ids = read_hidden(second).ids
    old_share = len(old_ids.intersection(ids)) / len(ids)
    assert 0.4 < old_share < 0.6
    gradings = grade_with_errors(second, 0, "another").public.gradings
    assert (gradings.different, gradings.carried, gradings.all) == (3, 2, 1)


def test_gradings_are_carried_over_two_versions(release):
    grade_under_names(release, 4)
    second = write_half_new_version(release)
    grade_with_errors(second, 1, "in between")
    next_settings = NEXT_VERSION | {"version": "3.0", "test": 56}
    third = evolve(second, out=release.with_name("v3"), **next_settings).folder
    assert grade_with_errors(third, 5, "last").public.gradings.different == 4


def test_what_is_carried_needs_no_registry(release, monkeypatch):
    grade_under_names(release, 4)
    second = write_half_new_version(release)
    monkeypatch.setenv("WINOKIT_STATE", str(release.with_name("another machine")))
    assert grade_with_errors(second, 0, "another").public.gradings.carried == 2


def test_a_name_has_spent_its_part_on_the_version_before(release):
    for wrong_count in range(3):
        grade_with_errors(release, wrong_count)
    second = write_next_version(release)
    with pytest.raises(BadInput, match="the budget of this name is spent: 3 different submissions"):
        grade_with_errors(second, 9, " ABLE ")
    assert grade_with_errors(second, 9, "another").public.gradings.by_name == 1


def test_the_same_predictions_for_a_version_that_kept_the_whole_test_count_once(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    settings = ReleaseSettings(name="small", licence="CC0-1.0", test=28)
    secret = ReleaseExtras(secret=bytes(32))
    first = write_release(pairs_of(range(60)), tmp_path / "v1", settings=settings, extras=secret).folder
    grade_under_names(first, 10)
    second = write_next_version(first)
    assert read_hidden(second).ids == read_hidden(first).ids
    assert grade_with_errors(second, 3, "again").public.gradings.different == 10
    with pytest.raises(BadInput, match="the budget of this test is spent"):
        grade_with_errors(second, 12, "new")


def test_gradings_on_another_release_count_by_the_share_of_problems_that_both_hide(tmp_path):
    smaller = small.small_release(tmp_path / "smaller", tests=14, about={"name": "smaller"})
    larger = small.small_release(tmp_path / "larger", tests=28, about={"name": "larger"})
    grade_under_names(smaller, 6)
    grading = grade_with_errors(larger, 0, "one")
    gradings = grading.public.gradings
    assert (gradings.different, gradings.carried) == (4, 3)
    assert "(3 of them for gradings on other releases with problems of this test)" in grading.notes[-1]
    # All of the smaller one's problems are in the larger one, which was asked once.
    assert grade_with_errors(smaller, 0, "name 0").public.gradings.different == 7


def test_a_refusal_names_the_releases_that_were_asked(tmp_path):
    first = small.small_release(tmp_path / "first", tests=28, about={"name": "first"})
    second = small.small_release(tmp_path / "second", tests=29, about={"name": "second"})
    grade_under_names(first, 10)
    with pytest.raises(BadInput, match=r"10 different submissions, 10 of them on first 1\.0\. The owner"):
        grade_with_errors(second, 0, "one")


def test_the_registry_has_submissions_and_no_names(release):
    grade_with_errors(release, 0, "Somebody's Model")
    (path,) = HiddenRegistry().folder.glob("*.json")
    assert "somebody" not in path.read_text().casefold()
    (test,) = HiddenRegistry().tests()
    assert [grading.name for grading in test.gradings] == [name_digest(" somebody's model")]
    assert len(test.problems) == 28


def test_what_a_refused_submission_asked_is_not_recorded(release, tmp_path):
    grade_with_errors(release, 0)
    path = tmp_path / "bad.lst"
    path.write_text("x\n")
    with pytest.raises(BadInput, match="expected label 1 or 2"):
        grade_submission(release, [path])
    (test,) = HiddenRegistry().tests()
    assert len(test.gradings) == 1


def test_gradings_that_the_log_lost_are_said_and_not_counted(release):
    grade_under_names(release, 4)
    (hidden_folder(release) / "log.jsonl").unlink()
    grading = grade_with_errors(release, 9, "another")
    assert grading.public.gradings.different == 1
    assert any(note.startswith("4 more submissions graded on this test elsewhere, or before") for note in grading.notes)


def test_a_release_of_an_earlier_version_is_registered_when_it_is_graded(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    folder = small.small_release(tmp_path / "old" / "v1", units=False)
    grade_with_errors(folder, 0)
    settings = ReleaseSettings(name="again", test=0, licence="CC0-1.0")
    with pytest.raises(BadInput, match=r"28 of the 28 problems that small 1\.0 keeps hidden"):
        write_release(pairs_of(range(60)), tmp_path / "b", settings=settings)


def test_a_grading_says_that_problems_of_the_test_were_published(release, tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    notes_before = grade_with_errors(release, 0).notes
    assert not [note for note in notes_before if "published" in note]
    settings = ReleaseSettings(name="again", test=0, licence="CC0-1.0")
    write_release(pairs_of(range(60)), tmp_path / "b", settings=settings, extras=ReleaseExtras(reveal=True))
    notes = grade_with_errors(release, 1).notes
    warning = "again 1.0 has published 28 of the 28 hidden problems of this test with their answers"
    assert any(note.startswith(warning) for note in notes)


def test_the_board_counts_them_too(tmp_path):
    smaller = small.small_release(tmp_path / "smaller", tests=30, about={"name": "smaller"})
    larger = small.small_release(tmp_path / "larger", tests=60, about={"name": "larger"})
    grade_under_names(smaller, 4)
    graded = grade_with_errors(larger, 0, "one").public
    write_graded(graded, tmp_path / "graded" / "one.json")
    assert leaderboard(larger, tmp_path / "graded").asked.different == 3


@pytest.mark.parametrize("content", ["", "[]", '{"schema": 99, "tests": []}', '{"schema": 1, "tests": [{}]}', "{}"])
def test_a_carried_record_that_cannot_be_read_is_one_line(release, content):
    hidden = hidden_folder(release)
    (hidden / "carried.json").write_text(content)
    with pytest.raises(BadInput, match=r"carried\.json") as refusal:
        grade_with_errors(release, 0)
    assert "\n" not in str(refusal.value)
    assert not (hidden / "log.jsonl").exists()


def gradings_of(submissions: str) -> tuple[GradedSubmission, ...]:
    """Gradings of submissions that are called by one character each, all under the name "a"."""
    return tuple(GradedSubmission(submission, name_digest("a")) for submission in submissions)


def test_shares_of_gradings_are_added_up_and_rounded_up():
    third_shared = EarlierTest("x", "x 1.0", 1 / 3, gradings_of("123"))
    hardly_shared = EarlierTest("y", "y 1.0", 0.01, gradings_of("9"))
    budget = SpentBudget(gradings_of("4"), 1, elsewhere=(third_shared, hardly_shared))
    assert budget.gradings("a").different == 1 + 2
    assert budget.gradings("a").by_name == 1 + 2
    assert budget.gradings("b").by_name == 0


def test_a_submission_that_was_graded_here_is_never_one_too_many():
    budget = SpentBudget(gradings_of("0123456789"), 10)
    budget.check("3", "a", RULES)
    with pytest.raises(BadInput, match="the budget of this test is spent"):
        budget.check("10", "b", RULES)
