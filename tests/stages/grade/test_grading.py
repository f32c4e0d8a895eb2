"""A grading has the scores of the hidden labels, corrected for luck, and shows no label to the submitter."""

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

STATEMENT = Statement("mine", "mc-sent", "train_xl", 10)


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


@pytest.fixture
def five_columns(release, tmp_path) -> Path:
    """A submission with a column for each size, which has ever fewer errors."""
    path = tmp_path / "five.lst"
    wrong_rows = [set(range(0, 28, step)) for step in (2, 3, 4, 7, 14)]
    path.write_text(small.five_columns(small.answers(release), wrong_rows))
    return path


@pytest.fixture
def one_column(release, tmp_path) -> Path:
    """A submission that is wrong on rows 0, 1 and 5."""
    path = tmp_path / "one.lst"
    labels = small.labels_with(small.answers(release), {0, 1, 5})
    path.write_text("\n".join(labels))
    return path


def file_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def area_under(values: np.ndarray, sizes: list[int]) -> float:
    """Area under the learning curve over the logarithm of the training size, as a mean accuracy."""
    x = np.log2(sizes)
    return np.trapezoid(values, x) / (x[-1] - x[0])


def test_accuracy_and_group_score_are_those_of_the_hidden_labels(release, one_column):
    graded = grade_submission(release, [one_column]).owner
    assert graded.find("one", "accuracy").value == round(25 / 28, 3)
    assert graded.find("one", "group_accuracy").value == round(12 / 14, 3)
    assert [score.chance for score in graded.scores] == [0.5, 0.25]
    assert [score.n for score in graded.scores] == [28, 14]


def test_the_area_is_the_leaderboards(release, five_columns):
    graded = grade_submission(release, [five_columns]).owner
    accuracies = np.array([14, 18, 21, 24, 26]) / 28
    area = area_under(accuracies, [2, 4, 8, 16, 32])
    assert graded.main.metric == "auc"
    assert graded.main.value == pytest.approx(area, abs=0.0006)
    assert graded.sizes == {"xs": 2, "s": 4, "m": 8, "l": 16, "xl": 32}


def test_the_area_is_a_weighted_mean_of_accuracies():
    sizes = [160, 640, 2558, 10234, 40398]
    accuracies = np.array([0.55, 0.6, 0.65, 0.7, 0.8])
    weights = curve_weights(sizes)
    assert weights.sum() == pytest.approx(1)
    assert weights @ accuracies == pytest.approx(area_under(accuracies, sizes))


def test_intervals_hold_the_score_and_draw_twins_together(release, five_columns):
    graded = grade_submission(release, [five_columns]).owner
    for score in graded.scores:
        assert score.low <= score.value <= score.high
    xs_accuracy = graded.find("xs", "accuracy")
    assert xs_accuracy.high - xs_accuracy.low < 0.5


def test_the_owners_numbers_are_rounded_to_a_tenth_of_a_point(release, five_columns):
    graded = grade_submission(release, [five_columns], STATEMENT).owner
    for score in graded.scores:
        numbers = [score.value, score.low, score.high, score.luck_corrected]
        assert numbers == [round(number, 3) for number in numbers]


def test_files_for_some_sizes_have_no_area(release, tmp_path):
    content = "\n".join(small.labels_with(small.answers(release), {1}))
    paths = [tmp_path / "p-s.lst", tmp_path / "p-xl.lst"]
    for path in paths:
        path.write_text(content)
    graded = grade_submission(release, paths).owner
    assert graded.main.size == "xl"
    assert graded.notes == ("no area under the learning curve: no predictions for xs, m, l",)


def test_sizes_are_counted_where_the_manifest_does_not_say(release):
    sizes_of_manifest = release_sizes(release)
    manifest = json.loads((release / "manifest.json").read_text())
    del manifest["counts"]
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert release_sizes(release) == sizes_of_manifest


def test_one_trial_takes_nothing_off_and_more_take_more(release, one_column):
    corrected_scores = []
    for trials in (1, 10, 1000):
        statement = Statement("x", "mc-sent", "none", trials)
        graded = grade_submission(release, [one_column], statement).owner
        corrected_scores.append(graded.main.luck_corrected)
    after_one, after_ten, after_thousand = corrected_scores
    assert after_one == grade_submission(release, [one_column]).owner.main.value
    assert after_one > after_ten > after_thousand


def test_without_a_statement_nothing_is_said_of_luck(release, one_column):
    graded = grade_submission(release, [one_column]).owner
    assert graded.main.luck_corrected is None
    assert graded.p_luck is None


def test_the_best_of_equal_trials_is_ahead_by_what_a_simulation_says():
    best_draws = np.random.default_rng(0).normal(size=(20_000, 60)).max(axis=1)
    standard_error = best_draws.std() / math.sqrt(20_000)
    assert expected_best(60) == pytest.approx(best_draws.mean(), abs=4 * standard_error)


def test_the_better_of_two_is_ahead_by_what_is_known_exactly():
    assert expected_best(2) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-4)


def test_equal_trials_corrected_for_luck_come_out_at_their_true_accuracy():
    rng = np.random.default_rng(1)
    n = 1767
    truth = 0.7
    trials = 20
    best_scores = rng.binomial(n, truth, size=(2000, trials)).max(axis=1) / n
    corrected_scores = []
    for score in best_scores:
        standard_error = math.sqrt(score * (1 - score) / n)
        corrected_scores.append(luck_corrected(score, standard_error, trials, 0.5))
    assert best_scores.mean() > truth + 0.015
    assert np.mean(corrected_scores) == pytest.approx(truth, abs=0.001)


def test_luck_never_takes_a_score_from_above_chance_to_below():
    assert luck_corrected(0.52, 0.05, 100, 0.5) == 0.5
    assert luck_corrected(0.45, 0.05, 100, 0.5) == 0.45


def test_every_grading_is_logged_and_the_same_files_count_once(release, one_column, five_columns):
    grade_submission(release, [one_column], STATEMENT)
    grade_submission(release, [one_column])
    graded = grade_submission(release, [five_columns], STATEMENT).public
    gradings = graded.gradings
    assert (gradings.different, gradings.all, gradings.by_name) == (2, 3, 2)
    log = hidden_folder(release) / "log.jsonl"
    names = [json.loads(line)["name"] for line in log.read_text().splitlines()]
    assert names == ["mine", None, "mine"]
    assert file_mode(log) == 0o600


def test_a_malformed_submission_is_no_grading(release, tmp_path):
    bad = tmp_path / "bad.lst"
    bad.write_text("1\n")
    with pytest.raises(BadInput):
        grade_submission(release, [bad])
    assert not (hidden_folder(release) / "log.jsonl").exists()


def test_the_outcome_of_problems_stays_with_the_hidden_labels(release, one_column):
    graded = grade_submission(release, [one_column], STATEMENT).owner
    hidden = hidden_folder(release)
    outcome = kept_outcome(hidden, graded.submission)["one"]
    wrong_rows = np.flatnonzero(~outcome).tolist()
    assert wrong_rows == [0, 1, 5]
    assert group_accuracy(outcome, read_hidden(release).groups) == pytest.approx(12 / 14)
    path = hidden / "graded" / f"{graded.submission}.json"
    assert file_mode(path) == 0o600
    assert file_mode(path.parent) == 0o700


def test_an_outcome_that_an_earlier_version_wrote_is_read(release, one_column):
    graded = grade_submission(release, [one_column], STATEMENT).owner
    hidden = hidden_folder(release)
    outcome = kept_outcome(hidden, graded.submission)["one"]
    path = hidden / "graded" / f"{graded.submission}.json"
    content = json.loads(path.read_text())
    assert list(content) == ["schema", "one"]
    del content["schema"]
    path.write_text(json.dumps(content))
    assert (kept_outcome(hidden, graded.submission)["one"] == outcome).all()


def test_without_an_entry_no_outcome_is_kept(release, one_column):
    graded = grade_submission(release, [one_column]).owner
    assert kept_outcome(hidden_folder(release), graded.submission) is None


def test_what_is_written_names_no_problem_and_no_label(release, one_column, tmp_path):
    write_graded(grade_submission(release, [one_column], STATEMENT).public, tmp_path / "graded.json")
    text = (tmp_path / "graded.json").read_text()
    assert not any(name in text for name in read_hidden(release).ids)
    list_lengths = [len(value) for value in json.loads(text).values() if isinstance(value, list)]
    assert max(list_lengths) <= 2


def test_an_entry_reads_back(release, five_columns, tmp_path):
    graded = grade_submission(release, [five_columns], STATEMENT).public
    write_graded(graded, tmp_path / "graded.json")
    assert read_graded(tmp_path / "graded.json") == graded


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1, "scores": []}', "null"])
def test_a_file_that_is_no_entry_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(BadInput, match=r"x\.json"):
        read_graded(tmp_path / "x.json")


@pytest.mark.parametrize(
    "fields",
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
def test_a_statement_must_say_something_on_one_line(fields):
    with pytest.raises(BadInput):
        Statement(*fields)


def test_missing_options_are_named(release, one_column, tmp_path):
    with pytest.raises(BadInput, match="must say --formalization, --trials"):
        grade(release, [one_column], training_data="x", out=tmp_path / "graded.json")


def test_labels_can_stand_elsewhere(release, one_column, tmp_path):
    labels_folder = hidden_folder(release).rename(tmp_path / "safe")
    graded = grade_submission(release, [one_column], hidden=labels_folder).owner
    assert graded.main.value == round(25 / 28, 3)
