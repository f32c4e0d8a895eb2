"""How often AFLite's tests speak where they should not: the size of the relabelled test, and the verdicts on noise.

Twins with features that say nothing, or that give a share of the answers away; everything else is what
`winokit debias aflite` does, with fewer classifiers.

    python benchmarks/relabelled.py --trials 400 [--quick]
"""

from __future__ import annotations

import argparse
import os
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from winokit.data.synthetic import synthetic
from winokit.methods.aflite.aflite import AFLite, RepeatedAFLite
from winokit.methods.aflite.null import BEYOND, null_runs
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.run import debias
from winokit.stages.debias.verdict import verdict_of


def features(pairs: int, share: float, seed: int, width: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, answers and groups of twins, which look much alike; a share of the pairs leans towards its answers.

    As wide as a third of the rows, which is what real features are: narrow ones let chance remove everything.
    """
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.permutation(2) for _ in range(pairs)])
    X = np.repeat(rng.standard_normal((pairs, width)), 2, axis=0) + 0.25 * rng.standard_normal((2 * pairs, width))
    X[:, 0] += 1.5 * (2 * y - 1) * np.repeat(rng.random(pairs) < share, 2)
    return X.astype(np.float32), y, np.arange(2 * pairs) // 2


def size_of_relabelled_test(trials: int, pairs: int = 150, share: float = 0.0, runs: int = 39) -> tuple[float, ...]:
    """Share of trials whose removals are called beyond chance by rank, the same by Student's interval, mean runs drawn.

    With a share of 0 the first is the test's size, 0.05 at most, and the second what five runs and Student's interval,
    said to be exceeded in 0.025, had before; with more they are the power.
    """
    by_rank, by_student, drawn = 0, 0, 0
    for trial in range(trials):
        X, y, groups = features(pairs, share, trial)
        real = AFLite(16, None, 10, seed=trial).fit(X, y)
        null = null_runs(real, X, y, groups, runs=runs, seed=1000 * trial)
        by_rank += null.ranks[0].outcome == BEYOND
        drawn += len(null.null_removed)
        by_student += null.removed > students_end(real, X, y, groups, trial)
    return by_rank / trials, by_student / trials, drawn / trials


def students_end(real: AFLite, X: np.ndarray, y: np.ndarray, groups: np.ndarray, trial: int, runs: int = 5) -> float:
    """Where Student's 95 % prediction interval of five relabelled runs ends: what is said to be exceeded in 2.5 %."""
    from scipy import stats

    from winokit.methods.aflite.null import relabelled

    counts = []
    for number in range(runs):
        labels = relabelled(y, groups, seed=10**6 + 1000 * trial + number)
        counts.append(int((~real.again(10**7 + 1000 * trial + number).fit(X, labels).keep_).sum()))
    return float(np.mean(counts) + stats.t.ppf(0.975, runs - 1) * np.std(counts, ddof=1) * np.sqrt(1 + 1 / runs))


def words_of_debias(trials: int, pairs: int = 150, share: float = 0.0, seeds: int = 3) -> Counter[str]:
    """How often each verdict is given."""
    words: Counter[str] = Counter()
    data = synthetic(pairs, bias=0.0, seed=0)
    for trial in range(trials):
        X, y, _ = features(pairs, share, trial)
        labelled = data.with_problems(p.replace(answer=int(answer)) for p, answer in zip(data, y, strict=True))
        aflite = RepeatedAFLite(16, seed=trial, null_runs=39, seeds=seeds)
        debiased = debias(labelled, aflite, features=DebiasFeatures(X, "planted", "single"), compare=())
        words[verdict_of(debiased).word] += 1
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="2 trials")
    args = parser.parse_args()
    trials = 2 if args.quick else args.trials
    print(
        f"{trials} trials, 300 problems in twins; level 0.05 by rank, 0.025 by Student's interval of 5 runs as before"
    )
    for share in (0.0, 0.1, 0.2):
        by_rank, by_student, runs = size_of_relabelled_test(trials, share=share)
        print(
            f"bias in {share:.0%}: beyond chance {by_rank:.3f} by rank ({runs:.1f} runs), {by_student:.3f} by Student"
        )
    for share in (0.0, 0.1, 0.3):
        print(f"verdicts with bias in {share:.0%}:")
        for word, count in words_of_debias(trials, share=share).most_common():
            print(f"  {count / trials:.3f}  {word}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
