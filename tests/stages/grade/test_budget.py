"""What a test was asked on earlier versions, copies and other releases is not forgotten."""

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


def ask(folder: Path, wrong: int, name: str = "able", **how: int) -> Grading:
    """Grade a submission that is wrong on its first rows, so many of them."""
    path = folder.with_name(f"{folder.name}.lst")
    path.write_text("\n".join(small.labels_with(small.answers(folder), set(range(wrong)))))
    return grade_submission(folder, [path], Statement(name, "mc-sent", "none", 1), **how)


def next_version(folder: Path, new: int = 0, test: int = 28, **how) -> Path:
    """The next version of a small release, with new pairs; nothing is retired by a guesser."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    offered = Dataset([p for number in range(300, 300 + new) for p in small.twins(number)], Card("new"))
    following = {"model": ["random"], "version": "2.0", "test": test, "alpha": 1e-9}
    return evolve(folder, new=offered if new else None, out=folder.with_name("v2"), **following, **how).folder


def test_a_next_version_counts_what_the_one_before_was_asked(tmp_path):
    """Once it forgot 13 of 13."""
    first = small.small_release(tmp_path / "v1", tests=90)
    for number in range(13):
        ask(first, number, f"name {number}")
    with pytest.raises(BadInput, match="the budget of this test is spent: 13 different submissions"):
        ask(first, 13, "another")
    second = next_version(first, test=180)
    assert len(read_hidden(second)) == 180
    with pytest.raises(BadInput, match="the budget of this test is spent: 13 different submissions"):
        ask(second, 50, "another")
    assert ask(second, 50, "another", budget=14).public.gradings.different == 14


def test_the_note_of_a_next_version_says_what_is_spent(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    first = small.small_release(tmp_path / "v1")
    for number in range(3):
        ask(first, number, f"name {number}")
    following = {"model": ["random"], "version": "2.0", "alpha": 1e-9, "test": 28}
    made = evolve(first, out=tmp_path / "v2", **following)
    assert any("have spent 3 of the 10 that this test is for" in note for note in made.notes)
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))
    fresh = small.small_release(tmp_path / "other" / "v1", about={"name": "fresh"})
    made = evolve(fresh, out=tmp_path / "other" / "v2", **following)
    assert not any("have spent" in note for note in made.notes)


def test_of_a_test_half_of_which_is_new_four_gradings_of_the_one_before_have_spent_two(tmp_path):
    first = small.small_release(tmp_path / "v1")
    for number in range(4):
        ask(first, number, f"name {number}")
    second = next_version(first, new=60, test=56)
    share = len(set(read_hidden(first).ids) & set(read_hidden(second).ids)) / len(read_hidden(second))
    assert 0.4 < share < 0.6
    gradings = ask(second, 0, "another").public.gradings
    assert (gradings.different, gradings.carried, gradings.all) == (3, 2, 1)


def test_gradings_are_carried_over_two_versions(tmp_path):
    first = small.small_release(tmp_path / "v1")
    for number in range(4):
        ask(first, number, f"name {number}")
    second = next_version(first, new=60, test=56)
    ask(second, 1, "in between")
    third = evolve(second, out=tmp_path / "v3", model=["random"], version="3.0", test=56, alpha=1e-9).folder
    assert ask(third, 5, "last").public.gradings.different == 4


def test_what_is_carried_needs_no_registry(tmp_path, monkeypatch):
    first = small.small_release(tmp_path / "v1")
    for number in range(4):
        ask(first, number, f"name {number}")
    second = next_version(first, new=60, test=56)
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path / "another machine"))
    assert ask(second, 0, "another").public.gradings.carried == 2


def test_a_name_has_spent_its_part_on_the_version_before(tmp_path):
    first = small.small_release(tmp_path / "v1")
    for number in range(3):
        ask(first, number)
    second = next_version(first)
    with pytest.raises(BadInput, match="the budget of this name is spent: 3 different submissions"):
        ask(second, 9, " ABLE ")
    assert ask(second, 9, "another").public.gradings.by_name == 1


def test_the_same_predictions_for_a_version_that_kept_the_whole_test_count_once(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    data = Dataset([p for number in range(60) for p in small.twins(number)], Card("small"))
    settings = ReleaseSettings(name="small", licence="CC0-1.0", test=28)
    secret = ReleaseExtras(secret=bytes(32))
    first = write_release(data, tmp_path / "v1", settings=settings, extras=secret).folder
    for number in range(10):
        ask(first, number, f"name {number}")
    second = next_version(first)
    assert read_hidden(second).ids == read_hidden(first).ids
    assert ask(second, 3, "again").public.gradings.different == 10
    with pytest.raises(BadInput, match="the budget of this test is spent"):
        ask(second, 12, "new")


def test_gradings_on_another_release_count_by_the_share_of_problems_that_both_hide(tmp_path):
    smaller = small.small_release(tmp_path / "smaller", tests=14, about={"name": "smaller"})
    larger = small.small_release(tmp_path / "larger", tests=28, about={"name": "larger"})
    for number in range(6):
        ask(smaller, number, f"name {number}")
    grading = ask(larger, 0, "one")
    assert (grading.public.gradings.different, grading.public.gradings.carried) == (4, 3)
    assert "(3 of them for gradings on other releases with problems of this test)" in grading.notes[-1]
    # All of the smaller one's problems are in the larger one, which was asked once.
    assert ask(smaller, 0, "name 0").public.gradings.different == 7


def test_a_refusal_names_the_releases_that_were_asked(tmp_path):
    first = small.small_release(tmp_path / "first", tests=28, about={"name": "first"})
    second = small.small_release(tmp_path / "second", tests=29, about={"name": "second"})
    for number in range(10):
        ask(first, number, f"name {number}")
    with pytest.raises(BadInput, match=r"10 different submissions, 10 of them on first 1\.0\. The owner"):
        ask(second, 0, "one")


def test_the_registry_has_submissions_and_no_names(tmp_path):
    ask(small.small_release(tmp_path / "v1"), 0, "Somebody's Model")
    (path,) = HiddenRegistry().folder.glob("*.json")
    assert "somebody" not in path.read_text().casefold()
    (test,) = HiddenRegistry().tests()
    assert [grading.name for grading in test.gradings] == [name_digest(" somebody's model")]
    assert len(test.problems) == 28


def test_what_a_refused_submission_asked_is_not_recorded(tmp_path):
    folder = small.small_release(tmp_path / "v1")
    ask(folder, 0)
    (tmp_path / "bad.lst").write_text("x\n")
    with pytest.raises(BadInput, match="expected label 1 or 2"):
        grade_submission(folder, [tmp_path / "bad.lst"])
    (test,) = HiddenRegistry().tests()
    assert len(test.gradings) == 1


def test_gradings_that_the_log_lost_are_said_and_not_counted(tmp_path):
    folder = small.small_release(tmp_path / "v1")
    for number in range(4):
        ask(folder, number, f"name {number}")
    (hidden_folder(folder) / "log.jsonl").unlink()
    grading = ask(folder, 9, "another")
    assert grading.public.gradings.different == 1
    assert any(note.startswith("4 more submissions graded on this test elsewhere, or before") for note in grading.notes)


def test_a_release_of_an_earlier_version_is_registered_when_it_is_graded(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    folder = small.small_release(tmp_path / "old" / "v1", units=False)
    ask(folder, 0)
    data = Dataset([p for number in range(60) for p in small.twins(number)], Card("small"))
    settings = ReleaseSettings(name="again", test=0, licence="CC0-1.0")
    with pytest.raises(BadInput, match=r"28 of the 28 problems that small 1\.0 keeps hidden"):
        write_release(data, tmp_path / "b", settings=settings)


def test_a_grading_says_that_problems_of_the_test_were_published(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("mlcroissant")
    folder = small.small_release(tmp_path / "v1")
    assert not [note for note in ask(folder, 0).notes if "published" in note]
    data = Dataset([p for number in range(60) for p in small.twins(number)], Card("small"))
    settings = ReleaseSettings(name="again", test=0, licence="CC0-1.0")
    write_release(data, tmp_path / "b", settings=settings, extras=ReleaseExtras(reveal=True))
    told = "again 1.0 has published 28 of the 28 hidden problems of this test with their answers"
    assert any(note.startswith(told) for note in ask(folder, 1).notes)


def test_the_board_counts_them_too(tmp_path):
    smaller = small.small_release(tmp_path / "smaller", tests=30, about={"name": "smaller"})
    larger = small.small_release(tmp_path / "larger", tests=60, about={"name": "larger"})
    for number in range(4):
        ask(smaller, number, f"name {number}")
    write_graded(ask(larger, 0, "one").public, tmp_path / "graded" / "one.json")
    assert leaderboard(larger, tmp_path / "graded").asked.different == 3


@pytest.mark.parametrize("content", ["", "[]", '{"schema": 99, "tests": []}', '{"schema": 1, "tests": [{}]}', "{}"])
def test_a_carried_record_that_cannot_be_read_is_one_line(tmp_path, content):
    folder = small.small_release(tmp_path / "v1")
    (hidden_folder(folder) / "carried.json").write_text(content)
    with pytest.raises(BadInput, match=r"carried\.json") as refused:
        ask(folder, 0)
    assert "\n" not in str(refused.value)
    assert not (hidden_folder(folder) / "log.jsonl").exists()


def graded(*submissions: str, name: str = "a") -> tuple[GradedSubmission, ...]:
    return tuple(GradedSubmission(submission, name_digest(name)) for submission in submissions)


def test_shares_of_gradings_are_added_up_and_rounded_up():
    third = EarlierTest("x", "x 1.0", 1 / 3, graded("1", "2", "3"))
    budget = SpentBudget(graded("4"), 1, elsewhere=(third, EarlierTest("y", "y 1.0", 0.01, graded("9"))))
    assert budget.gradings("a").different == 1 + 2
    assert budget.gradings("a").by_name == 1 + 2
    assert budget.gradings("b").by_name == 0


def test_a_submission_that_was_graded_here_is_never_one_too_many():
    full = SpentBudget(graded(*map(str, range(10))), 10)
    full.check("3", "a", RULES)
    with pytest.raises(BadInput, match="the budget of this test is spent"):
        full.check("10", "b", RULES)
