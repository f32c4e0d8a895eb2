"""Scores of a submission, what luck leaves of them, and what must never be seen."""

import json
import math
import stat
from pathlib import Path

import numpy as np
import pytest
from support import small

from winokit.errors import BadInput
from winokit.methods.metrics.groups import group_accuracy
from winokit.methods.metrics.judge_graded import curve_weights
from winokit.stages.grade.ladder import expected_best, luck_corrected
from winokit.stages.grade.record import Statement, kept_outcome, read_graded, write_graded
from winokit.stages.grade.run import grade, grade_submission, release_sizes
from winokit.stages.release.hidden import hidden_folder, read_hidden

SAID = Statement("mine", "mc-sent", "train_xl", 10)


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


@pytest.fixture
def five(release, tmp_path) -> Path:
    path = tmp_path / "five.lst"
    wrong = [set(range(0, 28, step)) for step in (2, 3, 4, 7, 14)]
    path.write_text(small.five_columns(small.answers(release), wrong))
    return path


@pytest.fixture
def one(release, tmp_path) -> Path:
    path = tmp_path / "one.lst"
    path.write_text("\n".join(small.labels_with(small.answers(release), {0, 1, 5})))
    return path


def test_accuracy_and_group_score_are_those_of_the_hidden_labels(release, one):
    graded = grade_submission(release, [one]).owner
    assert graded.find("one", "accuracy").value == round(25 / 28, 3)
    assert graded.find("one", "group_accuracy").value == round(12 / 14, 3)
    assert [score.chance for score in graded.scores] == [0.5, 0.25]
    assert [score.n for score in graded.scores] == [28, 14]


def test_the_area_is_the_leaderboards(release, five):
    graded = grade_submission(release, [five]).owner
    right = [14, 18, 21, 24, 26]
    x = np.log2([2, 4, 8, 16, 32])
    area = np.trapezoid(np.array(right) / 28, x) / (x[-1] - x[0])
    assert graded.main.metric == "auc"
    assert graded.main.value == pytest.approx(area, abs=0.0006)
    assert graded.sizes == {"xs": 2, "s": 4, "m": 8, "l": 16, "xl": 32}


def test_the_area_is_a_weighted_mean_of_accuracies():
    weights = curve_weights([160, 640, 2558, 10234, 40398])
    assert weights.sum() == pytest.approx(1)
    x = np.log2([160, 640, 2558, 10234, 40398])
    values = np.array([0.55, 0.6, 0.65, 0.7, 0.8])
    assert weights @ values == pytest.approx(np.trapezoid(values, x) / (x[-1] - x[0]))


def test_intervals_hold_the_score_and_draw_twins_together(release, five):
    for score in grade_submission(release, [five]).owner.scores:
        assert score.low <= score.value <= score.high
    whole = grade_submission(release, [five]).owner.find("xs", "accuracy")
    assert whole.high - whole.low < 0.5


def test_the_owners_numbers_are_rounded_to_a_tenth_of_a_point(release, five):
    graded = grade_submission(release, [five], SAID).owner
    for score in graded.scores:
        for number in (score.value, score.low, score.high, score.luck_corrected):
            assert number == round(number, 3)


def test_files_for_some_sizes_have_no_area(release, tmp_path):
    paths = []
    for size in ("s", "xl"):
        paths.append(tmp_path / f"p-{size}.lst")
        paths[-1].write_text("\n".join(small.labels_with(small.answers(release), {1})))
    graded = grade_submission(release, paths).owner
    assert graded.main.size == "xl"
    assert graded.notes == ("no area under the learning curve: no predictions for xs, m, l",)


def test_sizes_are_counted_where_the_manifest_does_not_say(release):
    told = release_sizes(release)
    manifest = json.loads((release / "manifest.json").read_text())
    del manifest["counts"]
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert release_sizes(release) == told


def test_one_trial_takes_nothing_off_and_more_take_more(release, one):
    corrected = [
        grade_submission(release, [one], Statement("x", "mc-sent", "none", trials)).owner.main.luck_corrected
        for trials in (1, 10, 1000)
    ]
    assert corrected[0] == grade_submission(release, [one]).owner.main.value
    assert corrected[0] > corrected[1] > corrected[2]


def test_without_a_statement_nothing_is_said_of_luck(release, one):
    graded = grade_submission(release, [one]).owner
    assert graded.main.luck_corrected is None
    assert graded.p_luck is None


def test_the_best_of_equal_trials_is_ahead_by_what_a_simulation_says():
    drawn = np.random.default_rng(0).normal(size=(20_000, 60)).max(axis=1)
    assert expected_best(60) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / math.sqrt(20_000))
    assert expected_best(2) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-4)


def test_equal_trials_corrected_for_luck_come_out_at_their_true_accuracy():
    rng = np.random.default_rng(1)
    n = 1767
    truth = 0.7
    trials = 20
    best = rng.binomial(n, truth, size=(2000, trials)).max(axis=1) / n
    corrected = [luck_corrected(score, math.sqrt(score * (1 - score) / n), trials, 0.5) for score in best]
    assert best.mean() > truth + 0.015
    assert np.mean(corrected) == pytest.approx(truth, abs=0.001)


def test_luck_never_takes_a_score_from_above_chance_to_below():
    assert luck_corrected(0.52, 0.05, 100, 0.5) == 0.5
    assert luck_corrected(0.45, 0.05, 100, 0.5) == 0.45


def test_every_grading_is_logged_and_the_same_files_count_once(release, one, five):
    grade_submission(release, [one], SAID)
    grade_submission(release, [one])
    graded = grade_submission(release, [five], SAID).public
    assert (graded.gradings.different, graded.gradings.all, graded.gradings.by_name) == (2, 3, 2)
    log = hidden_folder(release) / "log.jsonl"
    assert [json.loads(line)["name"] for line in log.read_text().splitlines()] == ["mine", None, "mine"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_malformed_submission_is_no_grading(release, tmp_path):
    bad = tmp_path / "bad.lst"
    bad.write_text("1\n")
    with pytest.raises(BadInput):
        grade_submission(release, [bad])
    assert not (hidden_folder(release) / "log.jsonl").exists()


def test_the_outcome_of_problems_stays_with_the_hidden_labels(release, one, tmp_path):
    graded = grade_submission(release, [one], SAID).owner
    folder = hidden_folder(release)
    outcome = kept_outcome(folder, graded.submission)["one"]
    assert np.flatnonzero(~outcome).tolist() == [0, 1, 5]
    assert group_accuracy(outcome, read_hidden(release).groups) == pytest.approx(12 / 14)
    kept = folder / "graded" / f"{graded.submission}.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    content = json.loads(kept.read_text())
    assert list(content) == ["schema", "one"]
    kept.write_text(json.dumps({"one": content["one"]}))  # as earlier versions wrote it
    assert (kept_outcome(folder, graded.submission)["one"] == outcome).all()


def test_without_an_entry_no_outcome_is_kept(release, one):
    graded = grade_submission(release, [one]).owner
    assert kept_outcome(hidden_folder(release), graded.submission) is None


def test_what_is_written_names_no_problem_and_no_label(release, one, tmp_path):
    write_graded(grade_submission(release, [one], SAID).public, tmp_path / "graded.json")
    text = (tmp_path / "graded.json").read_text()
    assert not any(name in text for name in read_hidden(release).ids)
    assert max(len(value) for value in json.loads(text).values() if isinstance(value, list)) <= 2


def test_an_entry_reads_back(release, five, tmp_path):
    graded = grade_submission(release, [five], SAID).public
    write_graded(graded, tmp_path / "graded.json")
    assert read_graded(tmp_path / "graded.json") == graded


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1, "scores": []}', "null"])
def test_a_file_that_is_no_entry_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(BadInput, match=r"x\.json"):
        read_graded(tmp_path / "x.json")


@pytest.mark.parametrize(
    "said",
    [
        ("", "f", "d", 1),
        ("n", " ", "d", 1),
        ("n", "f", "", 1),
        ("n", "f", "d", 0),
        ("n", "f", "d", True),
        ("n", "f", "d", 10**7),
        ("n\nm", "f", "d", 1),
        ("n", "f" * 400, "d", 1),
    ],
)
def test_a_statement_must_say_something_on_one_line(said):
    with pytest.raises(BadInput):
        Statement(*said)


def test_missing_options_are_named(release, one, tmp_path):
    with pytest.raises(BadInput, match="must say --formalization, --trials"):
        grade(release, [one], training_data="x", out=tmp_path / "graded.json")


def test_labels_can_stand_elsewhere(release, one, tmp_path):
    there = tmp_path / "safe"
    hidden_folder(release).rename(there)
    assert grade_submission(release, [one], hidden=there).owner.main.value == round(25 / 28, 3)
