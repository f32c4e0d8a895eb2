"""A learning curve: a point for each size and restart, a line through them, and intervals that hold the truth."""

import json
import math
import re
import runpy
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import winokit
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.metrics.curve import crossed_share, fit_log, leaderboard_auc
from winokit.methods.metrics.judge_curves import ACCURACY, GROUP, CurveReach, CurveSeries
from winokit.methods.training.data import TrainingData, VariantArm
from winokit.methods.training.finetune import TrainOutcome
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Card, Dataset
from winokit.results import Metric
from winokit.stages.curve.fit import CurvePoint, series_of
from winokit.stages.curve.nested import NestedGrowth, restart_seed
from winokit.stages.curve.page import write_curve_page
from winokit.stages.curve.run import CurveJob, _make_point, learning_curve, planned_jobs
from winokit.stages.curve.settings import CurveDesign, CurveGoal
from winokit.stages.curve.verdict import of_reach

QUICK = TrainSettings("mc-sent", learning_rate=3e-3, epochs=3, batch_size=8)
SIZES = (0, 8, 64)
ONE_RESTART = CurveDesign(("mc-sent",), restarts=1)
TWO_RESTARTS = CurveDesign(("mc-sent",), restarts=2)


def read_json(path):
    return json.loads(path.read_text())


def modification_times(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


def read_only_curve(folder):
    """The curve of the only training in a folder."""
    (path,) = folder.rglob("curve.json")
    return read_json(path)


def untrained_points(curve):
    return [point for point in curve.points if point.size == 0]


@pytest.fixture(scope="module")
def data(planted, unseen) -> TrainingData:
    return TrainingData(planted, None, (unseen,))


@pytest.fixture(scope="module")
def drawn_curve(bert, data, tmp_path_factory):
    """A learning curve of three sizes with two restarts, and its folder."""
    folder = tmp_path_factory.mktemp("curve")
    growth = NestedGrowth(SIZES, data.train)
    curve = learning_curve(growth, data, folder, bert, QUICK, TWO_RESTARTS)
    curve.save(folder)
    return curve, folder


def test_a_curve_has_a_point_for_every_size_and_restart(drawn_curve):
    curve, folder = drawn_curve
    points = [(point.asked, point.restart) for point in curve.points]
    results = list((folder / "points").rglob("results.json"))
    assert points == list(product(SIZES, (1, 2)))
    assert len(results) == 6


def test_levels_of_a_curve_are_means_of_restarts(drawn_curve):
    curve, _ = drawn_curve
    single, group = curve.series
    assert (single.measure, group.measure) == (ACCURACY, GROUP)
    first_accuracy = single.levels[0].mean.value
    last_accuracy = single.levels[-1].mean.value
    assert last_accuracy > 0.9 > first_accuracy
    for level in (*single.levels, *group.levels):
        mean = level.mean
        assert mean.low <= mean.value <= mean.high
        assert mean.value == pytest.approx(np.mean(level.values))
    assert group.levels[0].mean.n == 20


def test_the_rows_are_flat_and_json(drawn_curve):
    curve, folder = drawn_curve
    text = (folder / "results.json").read_text()
    results = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    rows = {(row["subset"], row["metric"]): row for row in results["metrics"]}
    protocols = {row["protocol"] for row in results["metrics"]}
    single = curve.series[0]
    last_mean = single.levels[-1].mean
    area = rows["auc", "accuracy_auc"]
    assert protocols == {"curve"}
    assert rows["64", "accuracy"]["value"] == last_mean.value
    assert rows["64.restart2", "accuracy"]["restart"] == 2
    assert rows["fit", "accuracy_slope"]["value"] == single.fit.slope
    assert area["low"] <= area["value"]
    assert ("fit", "n_to_reach_94") in rows


def test_restarts_draw_other_subsets_and_other_seeds(planted, tmp_path):
    design = CurveDesign(("mc-sent",), restarts=3)
    growth = NestedGrowth((8,), planted)
    jobs = list(planned_jobs(growth, design, QUICK, tmp_path))
    seeds = {job.seed for job in jobs}
    subsets = {job.train.content_hash for job in jobs}
    assert len(seeds) == 3
    assert len(subsets) == 3


def test_restarts_draw_other_weights(drawn_curve):
    _, folder = drawn_curve
    losses = []
    for path in (folder / "points").rglob("curve.json"):
        first_step = read_json(path)["train"][0]
        losses.append(first_step["loss"])
    assert len(set(losses)) == len(losses) == 4


def test_the_untrained_head_is_another_in_each_restart(drawn_curve):
    curve, _ = drawn_curve
    first, second = untrained_points(curve)
    assert (first.choices != second.choices).any()


def test_a_head_of_the_models_own_is_the_same_in_each_restart(bert, data, tmp_path):
    growth = NestedGrowth((0, 8), data.train)
    design = CurveDesign(("mc-mlm",), 2)
    curve = learning_curve(growth, data, tmp_path, bert, QUICK, design)
    first, second = untrained_points(curve)
    assert (first.choices == second.choices).all()


class Killed(Exception):
    pass


def test_a_killed_curve_goes_on_with_the_point_it_was_at(drawn_curve, bert, data, tmp_path):
    complete_curve, _ = drawn_curve
    growth = NestedGrowth(SIZES, data.train)
    shares_done = []

    def draw_curve(progress):
        return learning_curve(growth, data, tmp_path, bert, QUICK, TWO_RESTARTS, progress=progress)

    def kill_halfway(done, total):
        if done / total > 0.5:
            raise Killed

    def note_progress(done, total):
        shares_done.append(done / total)

    with pytest.raises(Killed):
        draw_curve(kill_halfway)
    times = modification_times(tmp_path.rglob("results.json"))
    assert len(times) == 4
    curve = draw_curve(note_progress)
    assert curve.metrics == complete_curve.metrics
    assert modification_times(times) == times
    assert shares_done == sorted(shares_done)
    assert shares_done[-1] == 1


def test_equal_steps_are_equal_at_every_size(bert, planted, unseen, tmp_path):
    design = CurveDesign(("mc-sent",), restarts=1, steps=9)
    growth = NestedGrowth((8, 64), planted)
    data = TrainingData(planted, unseen[:4], (unseen[4:],))
    learning_curve(growth, data, tmp_path, bert, QUICK, design)
    curves = [read_json(path) for path in tmp_path.rglob("curve.json")]
    assert [curve["steps"] for curve in curves] == [9, 9]
    assert all(len(curve["dev"]) == 9 for curve in curves)


def test_without_a_test_set_the_dev_set_is_scored_and_nothing_chosen_on_it(bert, planted, unseen, tmp_path):
    data = TrainingData(planted, unseen)
    curve = learning_curve(NestedGrowth((8,), planted), data, tmp_path, bert, QUICK, ONE_RESTART)
    assert any("scored on unseen with the last weights" in note for note in curve.notes)
    assert read_only_curve(tmp_path)["dev"] == []
    assert curve.series[0].fit is None


def test_a_curve_needs_a_set_to_score(bert, planted, tmp_path):
    data = TrainingData(planted)
    with pytest.raises(BadInput, match="needs a set to score"):
        learning_curve(NestedGrowth((8,), planted), data, tmp_path, bert, QUICK)


def test_overlap_and_hidden_answers_are_refused_before_anything_is_trained(bert, planted, unseen, tmp_path):
    hidden = Dataset([problem.replace(answer=None) for problem in unseen], Card("u"))
    growth = NestedGrowth(SIZES, planted)
    out = tmp_path / "out"
    cases = (
        (None, (planted,), "planted, to train on, overlaps planted: 64 same"),
        (unseen, (unseen,), "unseen, to choose on, overlaps unseen: 40 same"),
        (None, (hidden,), "answers are hidden"),
        (None, (unseen, unseen), "unseen: given twice"),
    )
    for dev, tests, message in cases:
        data = TrainingData(planted, dev, tests)
        with pytest.raises(BadInput, match=message):
            learning_curve(growth, data, out, bert, QUICK)
    assert not out.exists()


def test_a_curve_needs_a_restart():
    with pytest.raises(BadInput, match="restarts: expected 1 or more"):
        CurveDesign(restarts=0)


def test_sizes_of_a_variant_count_what_is_trained_on(bert, tmp_path):
    problems = load("open")
    train = problems[:120]
    test = problems[120:160]
    data = TrainingData(train, None, (test,), VariantArm.of("special-word"))
    curve = learning_curve(NestedGrowth((8,), train), data, tmp_path, bert, QUICK, ONE_RESTART)
    assert curve.points[0].size == 8
    assert read_only_curve(tmp_path)["examples"] == 8


def make_score(value, chance=0.5):
    """Make the row of an accuracy on a curve."""
    return Metric("test", "", "mc", "mc", "curve", "", "accuracy", value, 0, chance=chance)


def make_point(test, size, is_right, restart=1):
    """Make a point of a curve whose choices are right where `is_right` is true."""
    answers = np.array([problem.answer for problem in test])
    choices = np.where(is_right, answers, 1 - answers)
    accuracy = make_score(float(np.mean(is_right)))
    return CurvePoint("test", "mc", size, size, restart, 0, accuracy, choices)


def mark_first_right(count, share):
    """Boolean array of `count` values of which the first `share` are true."""
    return np.arange(count) < round(share * count)


def test_a_point_reads_predictions_of_a_model_with_any_name_that_json_allows(unseen, tmp_path):
    test = Dataset(unseen[:2], Card("test"))
    folder = tmp_path / "predictions"
    folder.mkdir()
    lines = []
    for prediction, answer in ((0, "0"), (1, "0"), (1, "null")):
        lines.append(f'{{"model": "m\u2028n", "prediction": {prediction}, "answer": {answer}}}\n')
    (folder / "test.jsonl").write_text("".join(lines), "utf-8")
    accuracy = replace(make_score(0.5), dataset="test", subset="test", metric="accuracy")
    job = CurveJob("mc", 0, 0, 8, unseen, tmp_path, 1)
    point = _make_point(job, test, TrainOutcome(tmp_path, {}, [accuracy]))
    assert point.choices.tolist() == [0, 1, 1]


def test_the_line_is_that_of_the_points_and_zero_has_no_logarithm(unseen):
    test = Dataset(unseen, Card("test"))
    points = []
    for size, share in {0: 0.5, 100: 0.5, 1000: 0.7, 10_000: 0.9}.items():
        is_right = mark_first_right(len(test), share)
        points.append(make_point(test, size, is_right))
    (series, _) = series_of(points, CurveGoal(human=94.0), [test])
    (series_from_1000, _) = series_of(points, CurveGoal(fit_from=1000), [test])
    assert series.fitted == (100, 1000, 10_000)
    assert series.fit.slope == pytest.approx(20 / math.log(10))
    assert series.fit.at(100) == pytest.approx(50)
    assert series_from_1000.fitted == (1000, 10_000)


def test_the_area_is_the_leaderboards_and_its_interval_is_of_restarts_and_problems(unseen):
    rng = np.random.default_rng(0)
    test = Dataset(unseen, Card("test"))
    share_of_size = {160: 0.5, 640: 0.7, 2558: 0.9}
    points = []
    for restart in (1, 2, 3):
        for size, share in share_of_size.items():
            is_right = rng.random(len(test)) < share
            points.append(make_point(test, size, is_right, restart))
    (series, _) = series_of(points, CurveGoal(), [test])
    means = []
    for size in share_of_size:
        accuracies = [point.accuracy.value for point in points if point.size == size]
        means.append(np.mean(accuracies))
    area = series.auc
    assert area.value == pytest.approx(leaderboard_auc(means, tuple(share_of_size)))
    assert area.low < area.value < area.high
    assert area.n == 3


def draw_table(rng, shares):
    """Draw 200 right (1) or wrong (0) choices for each share, a row each."""
    rows = [rng.random(200) < share for share in shares]
    return np.stack(rows).astype(float)


def width_of_interval(table):
    low, high = crossed_share(table)
    return high - low


def test_an_interval_is_wider_where_restarts_differ_more():
    rng = np.random.default_rng(1)
    alike = np.repeat(draw_table(rng, [0.6]), 3, axis=0)
    different = draw_table(rng, [0.3, 0.6, 0.9])
    assert width_of_interval(different) > 2 * width_of_interval(alike)


def test_an_interval_of_nothing_but_right_choices_ends_at_one():
    low, high = crossed_share(np.ones((2, 30)))
    assert low < 0.95
    assert high == 1


def run_simulation(count, **world):
    """Share of `count` simulated curves whose intervals hold the truth, by quantity."""
    benchmark = Path(__file__).parents[3] / "benchmarks" / "curve_bands.py"
    simulation = runpy.run_path(str(benchmark))
    simulated_world = simulation["World"](**world)
    return simulation["covered"](simulated_world, count)


def test_intervals_of_three_restarts_hold_what_all_restarts_and_all_test_sets_would_give():
    # Three restarts drawn with replacement, and points scattered around a line, hold it in 70 to 76 of a hundred.
    coverage = run_simulation(40, restarts=3, units=300)
    assert min(coverage.values()) >= 0.88


def test_intervals_of_whole_groups_hold_the_truth_where_units_are_larger_than_groups():
    # Groups as units hold it in 84 to 90 of a hundred here.
    coverage = run_simulation(60, restarts=5, units=60, pairs=6, restart=0.0, unit=1.5)
    assert coverage["group_accuracy mean"] >= 0.92


def test_a_single_restart_leaves_a_line_as_sure_as_its_points_lie_on_it(unseen):
    rng = np.random.default_rng(2)
    test = Dataset(unseen, Card("test"))
    points = []
    for size, share in {160: 0.5, 640: 0.7, 2558: 0.6}.items():
        is_right = rng.random(len(test)) < share
        points.append(make_point(test, size, is_right))
    (series, _) = series_of(points, CurveGoal(), [test])
    sizes = [point.size for point in points]
    scattered_fit = fit_log(sizes, [100 * point.accuracy.value for point in points])
    assert math.isfinite(series.fit.slope_interval().high - series.fit.slope)
    assert series.fit.variance[2] > scattered_fit.variance[2]


@pytest.mark.parametrize(
    ("reach", "sentence"),
    [
        (
            CurveReach(80.0, "reached", 20_000, 12_000, 34_000),
            "would reach 80 % at 20,000 problems .95 %: 12,000",
        ),
        (CurveReach(80.0, "reached", 8_000, 0.0, 34_000), "reaches 80 % at 8,000 .* 0 to .* within the sizes"),
        (CurveReach(80.0, "falls"), "does not rise"),
        (CurveReach(80.0, "bent"), "bends"),
        (CurveReach(80.0, "unsure"), "not shown that 80 % is reached within four times"),
        (CurveReach(80.0, "beyond"), "80 % is not reached within four times"),
    ],
)
def test_where_a_line_leads_is_said_as_it_is(reach, sentence):
    series = CurveSeries("test", "mc", ACCURACY, (), None, (100, 1000, 10_000), reach=reach)
    text = of_reach(series).replace("\u00a0", " ")
    assert re.search(sentence, text)
    assert ("95 %" in text) == (reach.size is not None)


GROUP_ACCURACIES_OF_ALBERT = {
    100: 19.89,
    500: 32.35,
    1000: 42.89,
    2000: 53.27,
    4000: 55.72,
    6000: 52.16,
    8000: 55.43,
    10000: 59.98,
    16000: 64.21,
}
"""Elazar et al. (2021), Table 4."""


def test_square_ones_albert_rises_by_six_points_of_group_accuracy_for_twice_as_much():
    sizes = [float(size) for size in GROUP_ACCURACIES_OF_ALBERT]
    fit = fit_log(sizes, list(GROUP_ACCURACIES_OF_ALBERT.values()))
    rise_for_twice_as_much = fit.slope * math.log(2)
    assert 5 < rise_for_twice_as_much < 7
    assert fit.slope_interval().low > 0


def test_the_page_shows_every_size_and_opens_alone(drawn_curve, tmp_path):
    curve, _ = drawn_curve
    hostile = replace(curve, notes=("<script>alert(1)</script>",))
    page = write_curve_page(hostile, tmp_path / "report").read_text()
    for level in curve.series[0].levels:
        assert f'<data value="{level.mean.value}">' in page
    before_citation = page.split("How to cite")[0]
    assert "<script>alert" not in page
    assert page.count('class="growth"') == 2
    assert "http" not in before_citation.replace("http-equiv", "")


def test_seeds_of_restarts_do_not_meet():
    seeds = set()
    for seed in range(5):
        seeds |= {restart_seed(seed, restart) for restart in range(1, 6)}
    assert len(seeds) == 25


def test_a_curve_without_data_is_refused():
    with pytest.raises(BadInput, match="needs DATA"):
        winokit.curve(())
