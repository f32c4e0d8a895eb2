"""Measure how often AFLite's tests find something in noise: the relabelled test, and the verdicts.

Twins with features that say nothing, or that give a share of the answers away; everything else is what
`winokit debias aflite` does, with fewer classifiers.

Then noise that many problems share: 60 templates of 12 sentences each, as Winogender has them, where a text stands in
three genders. Counted by group, a classifier knows held-out problems from those of the same text, and noise passes for
a bias; counted by unit it does not. With WINOKIT_DATA the same on Winogender's own sentences.

    python benchmarks/relabelled.py [--trials 400] [--only twins|templates] [--quick]
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import winokit
from winokit.answers import Answers, AskedProblems, Scorer
from winokit.data.synthetic import synthetic
from winokit.drawing.decision import standing
from winokit.methods.aflite.aflite import AFLite, RepeatedAFLite
from winokit.methods.aflite.null import null_runs
from winokit.methods.aflite.probe import linear_probe
from winokit.methods.metrics.judge import Judge
from winokit.methods.metrics.judge_ranks import BEYOND
from winokit.problem import Card, Dataset, Problem
from winokit.results import ABOVE, BELOW
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.run import debias
from winokit.stages.debias.verdict import verdict_of
from winokit.units import Units

Rows = np.ndarray[Any, Any]
Features = Callable[[Dataset, int], Rows]
AFLITES: dict[str, dict[str, Any]] = {"twins apart": {"threshold": 0.9}, "twins together": {"twins": "together"}}
"""Filters that do not remove all they may whatever the answers are: such a one has nothing to tell."""


def features(pairs: int, share: float, seed: int, width: int = 100) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows, answers and groups of similar twins, of which a share of the pairs leans towards its answers.

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
        null = null_runs(real, X, y, Units(groups), runs=runs, seed=1000 * trial)
        by_rank += null.ranks[0].outcome == BEYOND
        drawn += len(null.null_removed)
        by_student += null.removed > students_end(real, X, y, groups, trial)
    return by_rank / trials, by_student / trials, drawn / trials


def students_end(real: AFLite, X: np.ndarray, y: np.ndarray, groups: np.ndarray, trial: int, runs: int = 5) -> float:
    """Upper end of Student's 95 % prediction interval of five relabelled runs, which 2.5 % should exceed."""
    from scipy import stats

    from winokit.methods.aflite.null import relabelled

    counts = []
    for number in range(runs):
        labels = relabelled(y, groups, seed=10**6 + 1000 * trial + number)
        counts.append(int((~real.again(10**7 + 1000 * trial + number).fit(X, labels).keep_).sum()))
    return float(np.mean(counts) + stats.t.ppf(0.975, runs - 1) * np.std(counts, ddof=1) * np.sqrt(1 + 1 / runs))


def words_of_debias(trials: int, pairs: int = 150, share: float = 0.0, seeds: int = 3) -> Counter[str]:
    """Count how often each verdict is given."""
    words: Counter[str] = Counter()
    data = synthetic(pairs, bias=0.0, seed=0)
    for trial in range(trials):
        X, y, _ = features(pairs, share, trial)
        labelled = data.with_problems(p.replace(answer=int(answer)) for p, answer in zip(data, y, strict=True))
        aflite = RepeatedAFLite(16, seed=trial, null_runs=39, seeds=seeds)
        debiased = debias(labelled, aflite, features=DebiasFeatures(X, "planted", "single"), compare=())
        words[verdict_of(debiased).word] += 1
    return words


def template_problems(templates: int = 60) -> Dataset:
    """Twelve sentences from each template: two people, named or not, three pronouns, and an answer each."""
    problems = []
    for number in range(templates):
        worker = f"worker{number}"
        for other, pronoun, answer in product((f"client{number}", "someone"), ("he", "she", "they"), (0, 1)):
            end = f" mended{number}." if answer == 0 else f" paid{number}."  # no word is shared by two templates
            group = f"{number} {other} {pronoun}"
            candidates = (f"the {worker}", other)
            before = f"The {worker} told {other} that "
            problems.append(Problem(before, end, candidates, answer, pronoun, group=group, labels={"template": number}))
    return Dataset(problems, Card(f"{templates} templates"))


def text_noise(width: int) -> Features:
    """Features that are drawn once for each text, whatever the pronoun: they know nothing."""

    def drawn(data: Dataset, seed: int) -> Rows:
        _, text = np.unique([problem.text for problem in data], return_inverse=True)
        rows = np.random.default_rng(seed).standard_normal((int(text.max()) + 1, width)).astype(np.float32)
        row_of_each: Rows = rows[text]
        return row_of_each

    return drawn


def untrained_words(width: int) -> Features:
    """Features of a model that never learned: the mean of random word vectors, of the text with either candidate."""

    def drawn(data: Dataset, seed: int) -> Rows:
        def vector(word: str) -> Rows:
            drawn_word: Rows = np.random.default_rng([seed, zlib.crc32(word.encode())]).standard_normal(width)
            return drawn_word

        def mean_of(text: str) -> Rows:
            words = text.lower().replace(".", " .").split()
            mean: Rows = np.mean([vector(word) for word in words], axis=0)
            return mean

        rows = [
            np.concatenate([mean_of(f"{p.before}{candidate}{p.after}") for candidate in p.candidates]) for p in data
        ]
        return np.array(rows, np.float32)

    return drawn


def noise_claims(data: Dataset, features_of: Features, units: Units, trials: int, aflite: bool) -> dict[str, float]:
    """Shares of trials in which a probe of noise is above or below chance, and AFLite removes beyond it.

    `units` are what folds, relabelled answers, intervals and nulls count.
    """
    y = np.array([problem.answer for problem in data])
    asked = AskedProblems(data.problems, units, {name: len(own) for name, own in data.groups.items()})
    claims: Counter[str] = Counter()
    accuracies = []
    for trial in range(trials):
        X = features_of(data, trial)
        probe = linear_probe(X, y, units, seed=trial)
        answers = Answers(asked, np.arange(len(data)), probe.choices, (Scorer("probe"),))
        (row,) = Judge(data.card.name, Scorer("noise")).cross_validated(("debias", "all", "probe_accuracy"), answers)
        claims[standing(row)] += 1
        accuracies.append(row.value)
        if aflite:
            for name, asks in AFLITES.items():
                real = AFLite(16, None, 30, seed=trial, **asks).fit(X, y, units.numbers)
                null = null_runs(real, X, y, units, runs=19, seed=1000 * trial)
                claims[f"{BEYOND}, {name}"] += null.ranks[0].outcome == BEYOND
    said = [ABOVE, BELOW]
    if aflite:
        said += [f"{BEYOND}, {name}" for name in AFLITES]
    return {"probe": float(np.mean(accuracies)), **{claim: claims[claim] / trials for claim in said}}


def show_templates(trials: int) -> None:
    """Print the verdicts on noise in templates, counted by group and by unit."""
    sets = [template_problems()]
    path = Path(os.environ.get("WINOKIT_DATA") or "") / "winogender" / "all_sentences.tsv"
    if path.is_file():
        sets.append(winokit.load(path))
    else:
        print("Winogender: skipped, it is not there; set WINOKIT_DATA")
    kinds: dict[str, Features] = {f"noise, {width} features": text_noise(width) for width in (20, 60, 200)}
    kinds["untrained words, 60 features"] = untrained_words(30)
    for data, (kind, features_of) in product(sets, kinds.items()):
        by_group = Units.of_names([problem.group for problem in data])
        for name, units in (("group", by_group), ("unit", data.units)):
            found = noise_claims(data, features_of, units, trials, aflite="200" not in kind)
            shares = ", ".join(f"{claim} {share:.3f}" for claim, share in found.items())
            print(f"{data.card.name}, {kind}, by {name} ({units.count}): {shares}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--only", choices=("twins", "templates"))
    parser.add_argument("--quick", action="store_true", help="2 trials")
    args = parser.parse_args()
    trials = 2 if args.quick else args.trials
    if args.only != "templates":
        show_twins(trials)
    if args.only != "twins":
        show_templates(trials)


def show_twins(trials: int) -> None:
    """Size and power of the relabelled test, and the verdicts, on twins."""
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
