import numpy as np
import pytest

from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.aflite import AFLite, RepeatedAFLite
from winokit.methods.aflite.divergence import bins_for
from winokit.problem import Dataset, Problem
from winokit.progress import BEGINS
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.run import debias


def value(filtering, subset, metric="kl_histogram"):
    return filtering.find(subset, metric).value


@pytest.mark.parametrize("metric", ["kl_histogram", "kl_knn", "kl_gaussian", "kl_histogram_reverse"])
def test_divergence_falls_as_in_the_paper_where_the_bias_is_structural(filtering, metric):
    everything, random, pmi, aflite = (value(filtering, arm, metric) for arm in ("all", "random", "pmi", "aflite"))
    assert random > 0.75 * everything
    assert 0.3 * everything < pmi < 0.75 * everything
    assert aflite < 0.05 * everything


def test_words_alone_do_not_find_a_structural_bias(filtering, planted):
    pmi, aflite = (next(arm for arm in filtering.arms if arm.name == name) for name in ("pmi", "aflite"))
    assert (~aflite.keep)[planted.biased].mean() > 0.97
    assert (~pmi.keep)[planted.biased].mean() < 0.85
    assert planted.biased[aflite.phase == 1].mean() == 1


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
    assert value(filtering, "all.refit") == value(filtering, "all")
    assert value(filtering, "pmi.refit") != value(filtering, "pmi")


def test_a_divergence_is_given_with_what_chance_would_give(filtering):
    row = filtering.find("all", "kl_histogram")
    assert row.low < row.value < row.high
    assert 0 < row.chance < 0.05


def test_removals_beyond_chance_are_counted(filtering):
    removed = filtering.find("aflite", "n_removed")
    chance = filtering.find("aflite", "n_removed_by_chance")
    assert removed.value == 1600 - filtering.chosen.keep.sum()
    assert removed.value > chance.high
    assert (filtering.find("aflite", "p_null").value, filtering.find("aflite", "p_null").n) == (1 / 20, 19)
    assert not any("than chance" in warning for warning in filtering.warnings)


def test_noise_is_said_to_lose_no_more_than_chance(planted):
    noise = np.random.default_rng(5).normal(size=planted.features.rows.shape).astype(np.float32)
    method = RepeatedAFLite(ensemble_size=32, cutoff=100, null_runs=19, seeds=1)
    found = debias(planted.data, method, features=DebiasFeatures(noise, "noise", "single"), compare=())
    assert any(warning.startswith("no more than chance") for warning in found.warnings)


def test_too_few_relabelled_runs_are_said_to_decide_nothing(planted):
    settings = {"ensemble_size": 32, "cutoff": 40, "null_runs": 2, "seeds": 1}
    found = debias(planted.data, "aflite", features=planted.features, compare=(), assess=False, **settings)
    assert found.warnings == (
        "undecided: 2 relabelled runs are too few to distinguish this from chance; 19 are enough (--set null_runs)",
    )


def test_the_probe_of_what_is_kept_is_ranked_among_as_many_at_random(filtering):
    after = filtering.find("aflite", "probe_accuracy")
    drawn = filtering.find("aflite", "random_probe_accuracy")
    assert after.value < drawn.low <= drawn.value <= drawn.high
    assert drawn.n == after.n
    assert filtering.find("aflite", "p_random_removal").value == 1 / 20


def test_a_filter_that_does_no_better_than_random_removal_is_seen_through(planted):
    """Words say nothing of these features, so that PMI is as good as drawing pairs."""
    noise = np.random.default_rng(6).normal(size=(len(planted.data), 20)).astype(np.float32)
    features = DebiasFeatures(noise, "noise", "single")
    found = debias(planted.data, "pmi", features=features, size=1500, compare=())
    assert found.find("pmi", "p_random_removal").value > 0.05


def test_random_reduction_is_not_compared_with_itself(planted):
    found = debias(planted.data, "random", features=planted.features, size=1500, compare=())
    assert found.find("random", "probe_accuracy") is not None
    assert found.find("random", "p_random_removal") is None


def test_another_seed_has_rows_of_its_own_and_the_first_decides(filtering, planted):
    first, second = filtering.seeds
    assert first is filtering.chosen
    assert (first.settings["seed"], second.settings["seed"]) == (0, 1)
    assert filtering.find("aflite.seed1", "n_kept").value == second.keep.sum()
    assert (first.keep != second.keep).any()
    assert {"p_null", "probe_accuracy", "p_random_removal"} <= {m for s, m in filtering.rows if s == "aflite.seed1"}
    assert filtering.find("all.seed1", "probe_accuracy").n == len(planted.data)
    alone = AFLite(ensemble_size=32, cutoff=40, seed=1).fit(
        planted.features.rows,
        np.array([problem.answer for problem in planted.data]),
    )
    assert (second.keep == alone.keep_).all()


def test_the_overlap_of_seeds_is_their_jaccard_index(filtering):
    first, second = (arm.keep for arm in filtering.seeds)
    kept, removed = (filtering.find("aflite", f"{name}_overlap") for name in ("kept", "removed"))
    assert kept.value == (first & second).sum() / (first | second).sum()
    assert removed.value == (~first & ~second).sum() / (~first | ~second).sum()
    assert kept.chance < kept.value
    assert any(warning.startswith("the kept set depends on the seed") for warning in filtering.warnings)


def test_problems_say_how_many_seeds_keep_them(filtering):
    shares = {p.id: p.labels["kept_share"] for p in (*filtering.kept, *filtering.removed)}
    wanted = np.mean([arm.keep for arm in filtering.seeds], axis=0)
    assert [shares[p.id] for p in filtering.dataset] == wanted.tolist()
    assert set(wanted) == {0.0, 0.5, 1.0}


def test_a_majority_keeps_what_more_than_half_of_the_seeds_keep(planted):
    method = RepeatedAFLite(ensemble_size=8, cutoff=100, seeds=3, majority=True, null_runs=19)
    found = debias(planted.data, method, features=planted.features, compare=(), assess=False)
    votes = np.sum([arm.keep for arm in found.seeds], axis=0)
    assert (found.chosen.keep == (votes >= 2)).all()
    assert [arm.name for arm in found.seeds] == ["aflite.seed0", "aflite.seed1", "aflite.seed2"]
    least_sure = max(found.find(arm.name, "p_null").value for arm in found.seeds)
    assert found.find("aflite", "p_null").value == least_sure
    first_keeps = [p for p in found.removed if "removed_in_phase" not in p.labels]
    assert {p.id for p in first_keeps} == {
        p.id
        for p, stays, first in zip(found.dataset, found.chosen.keep, found.seeds[0].keep, strict=True)
        if first > stays
    }


def test_over_filtering_is_pointed_out(filtering):
    after = filtering.find("aflite", "probe_accuracy")
    assert any(w.startswith("over-filtered") for w in filtering.warnings) == (after.high < 0.5)
    assert after.high < 0.5


def test_removed_problems_say_when_and_why(filtering, planted):
    first = filtering.removed[0]
    row = [problem.id for problem in planted.data].index(first.id)
    assert first.labels["removed_by"] == "aflite"
    assert first.labels["removed_in_phase"] == filtering.chosen.phase[row] >= 1
    assert first.labels["removed_score"] >= 0.75
    assert 0 <= first.labels["removed_q"] <= 1
    assert "removed_by" not in filtering.kept[0].labels


def test_kept_and_removed_are_everything_once(filtering, planted):
    ids = [problem.id for problem in (*filtering.kept, *filtering.removed)]
    assert sorted(ids) == sorted(problem.id for problem in planted.data)


def test_the_words_that_give_answers_away_are_over_used_by_the_removed(filtering):
    assert {one.trait for one in filtering.overused.words[:2]} == {"honestly", "meanwhile"}
    assert filtering.overused.words[0].q < 0.001


def test_everything_is_recorded(filtering):
    settings = filtering.settings
    chosen = settings["methods"]["aflite"]
    assert (chosen["train_size"], chosen["cutoff"], chosen["ensemble_size"]) == (640, 40, 32)
    assert settings["methods"]["pmi"]["smoothing"] == 100
    assert settings["methods"]["random"]["seed"] == 0
    assert settings["features"]["features"] == "difference"
    assert len(settings["features"]["sha256"]) == 64
    assert settings["assessment"]["bins"] == bins_for(int(filtering.chosen.keep.sum()))
    assert {"aflite", "seeds", "null", "probe", "removals", "divergence"} <= set(settings["seconds"])


def test_the_same_call_gives_the_same_rows(planted):
    rows = [debias(planted.data, "pmi", features=planted.features, size=800, compare=()).metrics for _ in (1, 2)]
    assert rows[0] == rows[1]


def test_pmi_and_random_need_no_features(planted):
    for method in ("pmi", "random"):
        found = debias(planted.data, method, size=400, assess=False)
        assert found.kept.problems
        assert found.pictures is None
        assert found.find(method, "probe_accuracy") is None
        assert found.find(method, "n_kept").value == 400


def test_features_can_go_unassessed(planted):
    found = debias(planted.data, AFLite(ensemble_size=8), features=planted.features, compare=(), assess=False)
    assert found.find("aflite", "probe_accuracy") is None
    assert found.settings["assessment"] is None


def test_aflite_beside_a_baseline_gives_back_what_left_last(planted):
    how = {"compare": ("aflite",), "assess": False}
    found = debias(planted.data, "random", features=planted.features, size=1500, **how)
    arm = next(arm for arm in found.arms if arm.name == "aflite")
    assert arm.keep.sum() == 1500
    assert arm.phase[~arm.keep].max() <= arm.phase[arm.keep & (arm.phase > 0)].min()


def test_twins_can_stay_together_at_random(planted):
    found = debias(planted.data, "random", size=400, twins="together", compare=(), assess=False)
    assert found.find("random", "n_groups_split").value == 0
    apart = debias(planted.data, "random", size=400, compare=(), assess=False)
    assert apart.find("random", "n_groups_split").value > 50


def test_where_nothing_is_removed_nothing_is_compared(planted):
    found = debias(planted.data, AFLite(ensemble_size=8, stop_below=0.999), features=planted.features)
    assert found.chosen.keep.all()
    assert [arm.name for arm in found.arms] == ["all", "aflite"]
    assert found.overused.words == ()


def test_what_begins_is_told(planted):
    parts = []
    phases = []
    token = BEGINS.set(parts.append)
    how = {"compare": ("random",), "progress": lambda *given: phases.append(given)}
    found = debias(planted.data, AFLite(ensemble_size=8), features=planted.features, **how)
    BEGINS.reset(token)
    assert parts == ["AFLite", "Random reduction", "linear probe", "random removals", "divergence", "words"]
    assert len(phases) == len(found.chosen.history)
    assert phases[-1] == ((~found.chosen.keep).sum(), 1600 - 640)


def twin(answer, candidates=("Ann", "Bea"), word="one"):
    return Problem(f"{word} said ", " ran.", candidates, answer, group="g")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda p: debias(p.data, "aflight"), UnknownName, "Did you mean 'aflite'"),
        (lambda p: debias(p.data, "pmi"), BadInput, "how many problems should it keep"),
        (lambda p: debias(p.data, "pmi", size=9999, assess=False), BadInput, "a size from 1 to 1600"),
        (lambda p: debias(p.data, "pmi", size=9, compare=["al"]), UnknownName, "No method of debiasing named 'al'"),
        (lambda p: debias(p.data, "random", size=9, twins="apartt"), UnknownName, "Did you mean 'apart'"),
        (lambda p: debias(p.data, seeds=0), BadInput, "seeds: expected 1 or more"),
        (lambda p: debias(p.data, majority=True, seeds=1), BadInput, "expected 2 seeds or more for a majority"),
        (
            lambda p: debias(p.data, "random", size=9, assess=False, bins=9),
            BadInput,
            "--set bins: a setting of the assessment; it does not go with --set assess=off",
        ),
        (lambda p: debias(Dataset([twin(0), twin(None, word="b")]), "random", size=1), BadInput, "1 of 2 .* no answer"),
        (lambda p: debias(Dataset([twin(0), twin(0, word="b")]), "random", size=1), BadInput, "the same answer"),
        (
            lambda p: debias(Dataset([twin(0, ("a", "b", "c")), twin(1, word="b")]), "random", size=1),
            BadInput,
            "has 3 candidates, but debiasing takes two: use convert --as binary",
        ),
        (lambda p: debias(p.data, "random", features=p.features, size=5, folds=20), BadInput, "folds"),
    ],
)
def test_bad_input_is_one_clear_line(planted, call, error, says):
    with pytest.raises(error, match=says):
        call(planted)


def test_pmi_keeps_whole_pairs_of_winogrande_and_removes_comparatives(real_file):
    import winokit

    data = winokit.load(real_file("winogrande/train_l.jsonl"))
    found = debias(data, "pmi", size=6000, compare=(), assess=False)
    assert len(found.kept) == 6000
    assert found.find("pmi", "n_groups_split").value == 0
    assert {"more", "less"} & {one.trait for one in found.overused.words[:5]}
