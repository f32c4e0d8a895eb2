"""Filtering removes a planted bias, counts what chance removes, and refuses what it cannot filter."""

import numpy as np
import pytest

from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.aflite import AFLite, RepeatedAFLite
from winokit.methods.aflite.divergence import bins_for
from winokit.problem import Dataset, Problem
from winokit.progress import BEGINS
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.run import debias

QUICK = {"compare": (), "assess": False}
"""Settings of a filtering that is neither compared nor assessed."""


def find_value(filtering, subset, metric="kl_histogram"):
    """Value of a metric of an arm."""
    return filtering.find(subset, metric).value


def find_arm(filtering, name):
    return next(arm for arm in filtering.arms if arm.name == name)


def ids_of(problems):
    return {problem.id for problem in problems}


def draw_noise(seed, shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("metric", ["kl_histogram", "kl_knn", "kl_gaussian", "kl_histogram_reverse"])
def test_divergence_falls_as_in_the_paper_where_the_bias_is_structural(filtering, metric):
    everything = find_value(filtering, "all", metric)
    random = find_value(filtering, "random", metric)
    pmi = find_value(filtering, "pmi", metric)
    aflite = find_value(filtering, "aflite", metric)
    assert random > 0.75 * everything
    assert 0.3 * everything < pmi < 0.75 * everything
    assert aflite < 0.05 * everything


def test_words_alone_do_not_find_a_structural_bias(filtering, planted):
    pmi = find_arm(filtering, "pmi")
    aflite = find_arm(filtering, "aflite")
    removed_by_aflite = ~aflite.keep
    removed_by_pmi = ~pmi.keep
    removed_first = aflite.phase == 1
    assert removed_by_aflite[planted.biased].mean() > 0.97
    assert removed_by_pmi[planted.biased].mean() < 0.85
    assert planted.biased[removed_first].mean() == 1


def test_all_arms_have_the_same_size(filtering):
    sizes = {arm.name: int(arm.keep.sum()) for arm in filtering.arms}
    assert list(sizes) == ["all", "random", "pmi", "aflite"]
    assert sizes["random"] == sizes["aflite"]
    assert sizes["pmi"] in (sizes["aflite"], sizes["aflite"] - 1)


def test_the_probe_is_above_chance_before_and_not_after(filtering):
    before = filtering.find("all", "probe_accuracy")
    after = filtering.find("aflite", "probe_accuracy")
    assert before.low > 0.6
    assert after.value < 0.52
    assert before.chance == after.chance == 0.5
    assert (before.n, after.n) == (1600, int(filtering.chosen.keep.sum()))


def test_rows_have_names_of_their_own(filtering):
    assert {row.protocol for row in filtering.metrics} == {"debias"}
    assert len(filtering.rows) == len(filtering.metrics)
    assert filtering.metrics[0].dataset == "synthetic-800"


def test_components_found_anew_are_the_same_for_all_problems_and_differ_for_the_rest(filtering):
    assert find_value(filtering, "all.refit") == find_value(filtering, "all")
    assert find_value(filtering, "pmi.refit") != find_value(filtering, "pmi")


def test_a_divergence_is_given_with_what_chance_would_give(filtering):
    row = filtering.find("all", "kl_histogram")
    assert row.low < row.value < row.high
    assert 0 < row.chance < 0.05


def test_removals_beyond_chance_are_counted(filtering):
    removed = filtering.find("aflite", "n_removed")
    chance = filtering.find("aflite", "n_removed_by_chance")
    assert removed.value == 1600 - filtering.chosen.keep.sum()
    assert removed.value > chance.high
    p_null = filtering.find("aflite", "p_null")
    assert (p_null.value, p_null.n) == (1 / 20, 19)
    assert not any("than chance" in warning for warning in filtering.warnings)


def test_noise_is_said_to_lose_no_more_than_chance(planted):
    noise = draw_noise(5, planted.features.rows.shape)
    features = DebiasFeatures(noise, "noise", "single")
    method = RepeatedAFLite(ensemble_size=32, cutoff=100, null_runs=19, seeds=1)
    filtering = debias(planted.data, method, features=features, compare=())
    assert any(warning.startswith("no more than chance") for warning in filtering.warnings)


def test_too_few_relabelled_runs_are_said_to_decide_nothing(planted):
    settings = {"ensemble_size": 32, "cutoff": 40, "null_runs": 2, "seeds": 1}
    filtering = debias(planted.data, "aflite", features=planted.features, **QUICK, **settings)
    assert filtering.warnings == (
        "undecided: 2 relabelled runs are too few to distinguish this from chance; 19 are enough (--set null_runs)",
    )


def test_the_probe_of_what_is_kept_is_ranked_among_as_many_at_random(filtering):
    after = filtering.find("aflite", "probe_accuracy")
    at_random = filtering.find("aflite", "random_probe_accuracy")
    assert after.value < at_random.low <= at_random.value <= at_random.high
    assert at_random.n == after.n
    assert find_value(filtering, "aflite", "p_random_removal") == 1 / 20


def test_a_filter_that_does_no_better_than_random_removal_is_seen_through(planted):
    """Words say nothing of these features, so that PMI is as good as drawing pairs."""
    noise = draw_noise(6, (len(planted.data), 20))
    features = DebiasFeatures(noise, "noise", "single")
    filtering = debias(planted.data, "pmi", features=features, size=1500, compare=())
    assert find_value(filtering, "pmi", "p_random_removal") > 0.05


def test_random_reduction_is_not_compared_with_itself(planted):
    filtering = debias(planted.data, "random", features=planted.features, size=1500, compare=())
    assert filtering.find("random", "probe_accuracy") is not None
    assert filtering.find("random", "p_random_removal") is None


def test_another_seed_has_rows_of_its_own_and_the_first_decides(filtering, planted):
    first, second = filtering.seeds
    metrics_of_second = {metric for subset, metric in filtering.rows if subset == "aflite.seed1"}
    probe_of_second = filtering.find("all.seed1", "probe_accuracy")
    assert first is filtering.chosen
    assert (first.settings["seed"], second.settings["seed"]) == (0, 1)
    assert find_value(filtering, "aflite.seed1", "n_kept") == second.keep.sum()
    assert (first.keep != second.keep).any()
    assert {"p_null", "probe_accuracy", "p_random_removal"} <= metrics_of_second
    assert probe_of_second.n == len(planted.data)


def test_another_seed_is_a_run_with_that_seed(filtering, planted):
    _, second = filtering.seeds
    answers = np.array([problem.answer for problem in planted.data])
    direct = AFLite(ensemble_size=32, cutoff=40, seed=1).fit(planted.features.rows, answers)
    assert (second.keep == direct.keep_).all()


def test_the_overlap_of_seeds_is_their_jaccard_index(filtering):
    first, second = (arm.keep for arm in filtering.seeds)
    kept_overlap = filtering.find("aflite", "kept_overlap")
    removed_overlap = filtering.find("aflite", "removed_overlap")
    kept_by_both = (first & second).sum()
    kept_by_either = (first | second).sum()
    problem_count = len(first)
    assert kept_overlap.value == kept_by_both / kept_by_either
    assert removed_overlap.value == (problem_count - kept_by_either) / (problem_count - kept_by_both)
    assert kept_overlap.chance < kept_overlap.value
    assert any(warning.startswith("the kept set depends on the seed") for warning in filtering.warnings)


def test_problems_say_how_many_seeds_keep_them(filtering):
    problems = (*filtering.kept, *filtering.removed)
    share_of = {problem.id: problem.labels["kept_share"] for problem in problems}
    shares = [share_of[problem.id] for problem in filtering.dataset]
    expected_shares = np.mean([arm.keep for arm in filtering.seeds], axis=0)
    assert shares == expected_shares.tolist()
    assert set(expected_shares) == {0.0, 0.5, 1.0}


@pytest.fixture(scope="module")
def majority(planted):
    """A filtering that keeps what more than half of three seeds keep."""
    method = RepeatedAFLite(ensemble_size=8, cutoff=100, seeds=3, majority=True, null_runs=19)
    return debias(planted.data, method, features=planted.features, **QUICK)


def test_a_majority_keeps_what_more_than_half_of_the_seeds_keep(majority):
    votes = np.sum([arm.keep for arm in majority.seeds], axis=0)
    names = [arm.name for arm in majority.seeds]
    assert (majority.chosen.keep == (votes >= 2)).all()
    assert names == ["aflite.seed0", "aflite.seed1", "aflite.seed2"]


def test_a_majority_is_as_sure_as_its_least_sure_seed(majority):
    p_values = [find_value(majority, arm.name, "p_null") for arm in majority.seeds]
    assert find_value(majority, "aflite", "p_null") == max(p_values)


def test_what_a_majority_removes_and_the_first_seed_keeps_has_no_phase(majority):
    without_phase = [problem for problem in majority.removed if "removed_in_phase" not in problem.labels]
    kept_by_first_alone = majority.seeds[0].keep & ~majority.chosen.keep
    ids = np.array([problem.id for problem in majority.dataset])
    assert ids_of(without_phase) == set(ids[kept_by_first_alone])


def test_over_filtering_is_pointed_out(filtering):
    after = filtering.find("aflite", "probe_accuracy")
    is_warned = any(warning.startswith("over-filtered") for warning in filtering.warnings)
    assert is_warned == (after.high < 0.5)
    assert after.high < 0.5


def test_removed_problems_say_when_and_why(filtering, planted):
    problem = filtering.removed[0]
    labels = problem.labels
    ids = [row.id for row in planted.data]
    index = ids.index(problem.id)
    assert labels["removed_by"] == "aflite"
    assert labels["removed_in_phase"] == filtering.chosen.phase[index] >= 1
    assert labels["removed_score"] >= 0.75
    assert 0 <= labels["removed_q"] <= 1
    assert "removed_by" not in filtering.kept[0].labels


def test_kept_and_removed_are_everything_once(filtering, planted):
    ids = [problem.id for problem in (*filtering.kept, *filtering.removed)]
    all_ids = [problem.id for problem in planted.data]
    assert sorted(ids) == sorted(all_ids)


def test_the_words_that_give_answers_away_are_over_used_by_the_removed(filtering):
    words = filtering.overused.words
    assert {word.trait for word in words[:2]} == {"honestly", "meanwhile"}
    assert words[0].q < 0.001


def test_everything_is_recorded(filtering):
    settings = filtering.settings
    methods = settings["methods"]
    aflite = methods["aflite"]
    features = settings["features"]
    assert (aflite["train_size"], aflite["cutoff"], aflite["ensemble_size"]) == (640, 40, 32)
    assert methods["pmi"]["smoothing"] == 100
    assert methods["random"]["seed"] == 0
    assert features["features"] == "difference"
    assert len(features["sha256"]) == 64
    assert settings["assessment"]["bins"] == bins_for(int(filtering.chosen.keep.sum()))
    assert {"aflite", "seeds", "null", "probe", "removals", "divergence"} <= set(settings["seconds"])


def test_the_same_call_gives_the_same_rows(planted):
    settings = {"features": planted.features, "size": 800, "compare": ()}
    first = debias(planted.data, "pmi", **settings)
    second = debias(planted.data, "pmi", **settings)
    assert first.metrics == second.metrics


@pytest.mark.parametrize("method", ["pmi", "random"])
def test_pmi_and_random_need_no_features(planted, method):
    filtering = debias(planted.data, method, size=400, assess=False)
    assert filtering.kept.problems
    assert filtering.pictures is None
    assert filtering.find(method, "probe_accuracy") is None
    assert find_value(filtering, method, "n_kept") == 400


def test_features_can_go_unassessed(planted):
    filtering = debias(planted.data, AFLite(ensemble_size=8), features=planted.features, **QUICK)
    assert filtering.find("aflite", "probe_accuracy") is None
    assert filtering.settings["assessment"] is None


def test_aflite_beside_a_baseline_gives_back_what_left_last(planted):
    settings = {"compare": ("aflite",), "assess": False, "size": 1500}
    filtering = debias(planted.data, "random", features=planted.features, **settings)
    arm = find_arm(filtering, "aflite")
    given_back = arm.keep & (arm.phase > 0)
    last_removal = arm.phase[~arm.keep].max()
    assert arm.keep.sum() == 1500
    assert last_removal <= arm.phase[given_back].min()


def test_twins_can_stay_together_at_random(planted):
    together = debias(planted.data, "random", size=400, twins="together", **QUICK)
    apart = debias(planted.data, "random", size=400, **QUICK)
    assert find_value(together, "random", "n_groups_split") == 0
    assert find_value(apart, "random", "n_groups_split") > 50


def test_where_nothing_is_removed_nothing_is_compared(planted):
    method = AFLite(ensemble_size=8, stop_below=0.999)
    filtering = debias(planted.data, method, features=planted.features)
    assert filtering.chosen.keep.all()
    assert [arm.name for arm in filtering.arms] == ["all", "aflite"]
    assert filtering.overused.words == ()


def test_what_begins_is_told(planted):
    parts = []
    steps = []
    token = BEGINS.set(parts.append)
    method = AFLite(ensemble_size=8)
    filtering = debias(
        planted.data,
        method,
        features=planted.features,
        compare=("random",),
        progress=lambda done, total: steps.append((done, total)),
    )
    BEGINS.reset(token)
    removed_count = (~filtering.chosen.keep).sum()
    assert parts == ["AFLite", "Random reduction", "linear probe", "random removals", "divergence", "words"]
    assert len(steps) == len(filtering.chosen.history)
    assert steps[-1] == (removed_count, 1600 - 640)


def make_twins(first, second):
    """Make a pair of twins, each from a pair of answer and candidates."""
    problems = []
    for word, (answer, candidates) in zip(("one", "b"), (first, second), strict=True):
        problems.append(Problem(f"{word} said ", " ran.", candidates, answer, group="g"))
    return Dataset(problems)


PEOPLE = ("Ann", "Bea")


@pytest.mark.parametrize(
    ("method", "settings", "error", "message"),
    [
        ("aflight", {}, UnknownName, "Did you mean 'aflite'"),
        ("pmi", {}, BadInput, "how many problems should it keep"),
        ("pmi", {"size": 9999, "assess": False}, BadInput, "a size from 1 to 1600"),
        ("pmi", {"size": 9, "compare": ["al"]}, UnknownName, "No method of debiasing named 'al'"),
        ("random", {"size": 9, "twins": "apartt"}, UnknownName, "Did you mean 'apart'"),
        ("aflite", {"seeds": 0}, BadInput, "seeds: expected 1 or more"),
        ("aflite", {"majority": True, "seeds": 1}, BadInput, "expected 2 seeds or more for a majority"),
        (
            "random",
            {"size": 9, "assess": False, "bins": 9},
            BadInput,
            "--set bins: a setting of the assessment; it does not go with --set assess=off",
        ),
    ],
)
def test_bad_input_is_one_clear_line(planted, method, settings, error, message):
    with pytest.raises(error, match=message):
        debias(planted.data, method, **settings)


def test_more_folds_than_problems_are_refused(planted):
    with pytest.raises(BadInput, match="folds"):
        debias(planted.data, "random", features=planted.features, size=5, folds=20)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        pytest.param((0, PEOPLE), (None, PEOPLE), "1 of 2 .* no answer", id="hidden answer"),
        pytest.param((0, PEOPLE), (0, PEOPLE), "the same answer", id="same answer"),
        pytest.param(
            (0, ("a", "b", "c")),
            (1, PEOPLE),
            "has 3 candidates, but debiasing takes two: use convert --as binary",
            id="three candidates",
        ),
    ],
)
def test_problems_that_cannot_be_debiased_are_refused(first, second, message):
    twins = make_twins(first, second)
    with pytest.raises(BadInput, match=message):
        debias(twins, "random", size=1)


def test_pmi_keeps_whole_pairs_of_winogrande_and_removes_comparatives(real_file):
    import winokit

    data = winokit.load(real_file("winogrande/train_l.jsonl"))
    filtering = debias(data, "pmi", size=6000, **QUICK)
    overused = {word.trait for word in filtering.overused.words[:5]}
    assert len(filtering.kept) == 6000
    assert find_value(filtering, "pmi", "n_groups_split") == 0
    assert overused & {"more", "less"}
