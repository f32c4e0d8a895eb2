import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.metrics import (
    Draws,
    all_right,
    cluster_bootstrap,
    cluster_draws,
    clusters,
    gap_interval,
    intervals,
    mean_interval,
    share_interval,
    wilson,
)

REPEATS = 1000
"""The error of a simulated coverage is then 0.7 points, so that 92 and 98 are far from 95."""


def twins_alike(rng, groups: int, size: int, share: float, alike: float):
    """Flags in groups whose members are all right or all wrong together with probability `alike`."""
    together = rng.random(groups)[:, None] < share
    apart = rng.random((groups, size)) < share
    return np.where(rng.random((groups, 1)) < alike, together, apart).ravel()


def covers(interval, value) -> bool:
    return interval.low <= value <= interval.high


def coverage(groups: int, size: int, share: float, alike: float, method: str = "percentile") -> tuple[float, float]:
    """How often the cluster bootstrap and Wilson's interval over problems contain the true share, of REPEATS times."""
    rng = np.random.default_rng(1)
    names = np.repeat(np.arange(groups), size)
    clustered, naive = [], []
    for seed in range(REPEATS):
        right = twins_alike(rng, groups, size, share, alike)
        how = Draws(seed=seed, draws=1000, method=method)
        clustered.append(covers(share_interval(right, names, how), share))
        naive.append(covers(wilson(int(right.sum()), len(right)), share))
    return float(np.mean(clustered)), float(np.mean(naive))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_95_percent_intervals_cover_95_percent_where_naive_ones_fail(method):
    clustered, naive = coverage(groups=100, size=4, share=0.7, alike=0.9, method=method)
    assert 0.92 <= clustered <= 0.98
    assert naive < 0.8


def test_95_percent_intervals_of_pairs_cover_95_percent():
    clustered, naive = coverage(groups=136, size=2, share=0.7, alike=0.8)
    assert 0.92 <= clustered <= 0.98
    assert naive < 0.92


def test_intervals_of_independent_problems_are_as_good_as_wilsons():
    clustered, naive = coverage(groups=273, size=1, share=0.6, alike=0.0)
    assert 0.92 <= clustered <= 0.98
    assert 0.92 <= naive <= 0.98


def test_95_percent_intervals_of_group_accuracy_cover_95_percent():
    rng = np.random.default_rng(2)
    names = np.repeat(np.arange(136), 2)
    truth = 0.5 * 0.7 + 0.5 * 0.7**2
    found = []
    for seed in range(REPEATS):
        both = all_right(twins_alike(rng, 136, 2, 0.7, 0.5), names)
        found.append(covers(share_interval(both, [None] * len(both), Draws(seed=seed, draws=1000)), truth))
    assert 0.92 <= np.mean(found) <= 0.98


def test_95_percent_intervals_of_a_gap_cover_95_percent():
    """Twins that are right together make a gap between first and second members surer than it looks."""
    rng = np.random.default_rng(3)
    names, first = np.repeat(np.arange(120), 2), np.tile([True, False], 120)
    found, widths = [], []
    for seed in range(REPEATS):
        right = twins_alike(rng, 120, 2, 0.7, 0.8)
        interval = gap_interval(right, first, ~first, names, Draws(seed=seed, draws=1000))
        found.append(covers(interval, 0.0))
        widths.append(interval.high - interval.low)
    assert 0.92 <= np.mean(found) <= 0.98
    assert np.mean(widths) < 0.8 * 2 * 1.96 * np.sqrt(2 * 0.7 * 0.3 / 120)


def drawn_by_hand(values, groups, draws, seed):
    """Whole groups drawn one by one, rows and all."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(clusters(groups) == number) for number in range(clusters(groups).max() + 1)]
    chosen = (rng.integers(len(members), size=len(members)) for _ in range(draws))
    return np.array([values[np.concatenate([members[number] for number in some])].mean() for some in chosen])


def _mean(totals):
    return totals[:, 0] / totals[:, 1]


@pytest.mark.parametrize("few", [0, 500])
@pytest.mark.parametrize("kind", ["flags", "numbers"])
def test_drawing_sums_is_drawing_groups(monkeypatch, few, kind):
    """Both roads, by kinds and one by one, for groups of one, two and five."""
    monkeypatch.setattr(intervals, "FEW_KINDS", few)
    rng = np.random.default_rng(4)
    groups = [None] * 30 + [f"pair{row // 2}" for row in range(60)] + [f"five{row // 5}" for row in range(100)]
    level = np.array([level_of(group) for group in groups])
    values = (level + rng.normal(size=190) > 0).astype(float) if kind == "flags" else level + rng.normal(size=190)
    ours = cluster_draws(_mean, [values, np.ones(190)], groups, Draws(seed=5, draws=6000))
    theirs = drawn_by_hand(values, groups, 6000, seed=6)
    assert ours.mean() == pytest.approx(theirs.mean(), abs=5 * theirs.std() / np.sqrt(3000))
    assert ours.std() == pytest.approx(theirs.std(), rel=0.05)
    assert stats.ks_2samp(ours, theirs).pvalue > 0.001


def level_of(group: str | None) -> float:
    """A number a group that does not change with Python's hash seed."""
    return 0.0 if group is None else (sum(map(ord, group)) * 37 % 11 - 5) / 5


def test_singles_are_clusters_of_their_own():
    assert len(set(clusters([None, None, "a", "a"]))) == 3
    assert len(set(clusters([None, 0, 1, None]))) == 4


def test_groups_already_numbered_give_the_same_interval():
    rng = np.random.default_rng(0)
    right, groups = rng.random(90) < 0.6, [f"g{row // 2}" if row < 60 else None for row in range(90)]
    assert share_interval(right, clusters(groups)) == share_interval(right, groups)


def test_bca_agrees_with_scipys_on_skewed_numbers():
    values = np.random.default_rng(7).exponential(size=60) ** 1.5
    scipys = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(8))
    bca, plain = (mean_interval(values, [None] * 60, Draws(draws=20_000, method=way)) for way in ("bca", "percentile"))
    low, high = scipys.confidence_interval
    assert (bca.low, bca.high) == (pytest.approx(low, rel=0.02), pytest.approx(high, rel=0.02))
    assert plain.high < high - 0.05 * (high - low)


def test_a_seed_decides_the_draws():
    right, groups = np.random.default_rng(0).random(100) < 0.6, [row // 2 for row in range(100)]
    assert share_interval(right, groups, Draws(seed=1)) == share_interval(right, groups, Draws(seed=1))
    one, other = (cluster_draws(_mean, [right, np.ones(100)], groups, Draws(seed=seed)).tolist() for seed in (1, 2))
    assert one != other


def test_the_global_random_state_is_left_alone():
    before = np.random.get_state()[1].tolist()
    share_interval([True, False, True], ["a", "a", None])
    assert np.random.get_state()[1].tolist() == before


def test_a_higher_level_is_wider_and_is_recorded():
    right, groups = np.random.default_rng(0).random(200) < 0.6, [row // 2 for row in range(200)]
    narrow, wide = (share_interval(right, groups, Draws(level=level)) for level in (0.8, 0.99))
    assert wide.low < narrow.low < right.mean() < narrow.high < wide.high
    assert (narrow.level, wide.level) == (0.8, 0.99)


def test_all_right_is_not_certainty():
    """Twenty pairs all right: Wilson's interval of 20 of 20, not of 40 of 40 and not from 1 to 1."""
    interval = share_interval([True] * 40, [row // 2 for row in range(40)])
    assert (interval.low, interval.high) == (wilson(20, 20).low, 1.0)
    assert interval.method == "wilson over groups"


def test_one_right_of_every_pair_is_not_certainty_either():
    interval = share_interval([True, False] * 5, [row // 2 for row in range(10)])
    assert (interval.low, interval.high) == (wilson(2, 5).low, wilson(3, 5).high)


def test_credits_of_expected_accuracy_have_an_interval():
    interval = share_interval([1.0, 0.5, 0.0, 1.0] * 20, [None] * 80)
    assert interval.low < 0.625 < interval.high
    assert interval.method == "cluster bootstrap, percentile"


def test_wilsons_interval_by_hand():
    """8 of 10, z = 1.96: centre (0.8 + z²/20) / (1 + z²/10), and so on."""
    z = stats.norm.ppf(0.975)
    centre, half = (0.8 + z**2 / 20) / (1 + z**2 / 10), z / (1 + z**2 / 10) * np.sqrt(0.016 + z**2 / 400)
    found = wilson(8, 10)
    assert (found.low, found.high) == (pytest.approx(centre - half), pytest.approx(centre + half))


def test_a_draw_without_one_of_the_subsets_does_not_count():
    """One problem stands on the second side, so that a third of the draws miss it."""
    first = [True] * 9 + [False]
    interval = gap_interval([1.0, 0.0, 1.0] * 3 + [0.0], first, [not one for one in first], [None] * 10)
    assert 0 < interval.low < interval.high <= 1


def test_a_statistic_that_is_never_defined_is_refused():
    with pytest.raises(BadInput, match="undefined in every draw"):
        cluster_bootstrap(_mean, [[1.0, 1.0], [0.0, 0.0]], ["a", "b"])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wilson(3, 2), "found 3 of 2"),
        (lambda: wilson(1, 2, level=95), "a level between 0 and 1"),
        (lambda: Draws(draws=1), "two draws or more"),
        (lambda: Draws(method="normal"), "percentile or bca"),
        (lambda: share_interval([2.0, 0.0], ["a", "b"]), "from 0 to 1, found 0 to 2"),
        (lambda: mean_interval([float("inf"), 0.0], ["a", "b"]), "no finite numbers"),
    ],
)
def test_what_has_no_interval_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()
