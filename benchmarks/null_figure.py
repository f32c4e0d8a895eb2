"""The figure of docs/evidence/statistics.md: two scorers with 66 % right, and what their choices get by chance.

python benchmarks/null_figure.py docs/null.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from winokit.answers import Answers
from winokit.methods.metrics.null import Null, NullTest
from winokit.problem import Dataset, Problem

PROBLEMS = 200
FIRST = 130
"""Problems of which the first candidate is right."""


def unbalanced() -> Dataset:
    """Make problems of which 65 % have the first candidate right."""
    return Dataset(
        Problem(f"Text {number} says that ", " did it.", ("the cook", "the clerk"), int(number >= FIRST))
        for number in range(PROBLEMS)
    )


def tests() -> dict[str, NullTest]:
    """Test a scorer that nearly always takes the first candidate, and one that reads, each with 132 of 200 right."""
    data = unbalanced()
    right = np.array([problem.answer for problem in data])
    rng = np.random.default_rng(0)
    one_place = np.zeros(PROBLEMS, int)
    one_place[[*range(FIRST, FIRST + 5), *range(3)]] = 1
    reader = right.copy()
    wrong = rng.permutation(PROBLEMS)[: PROBLEMS - 132]
    reader[wrong] = 1 - reader[wrong]
    return {
        "takes the first candidate in 96 %": Null(Answers.of_choices(data, one_place)).right(),
        "reads": Null(Answers.of_choices(data, reader)).right(),
    }


def main() -> None:
    """Print both tests, and draw their null distributions."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true", help="compute the numbers, draw nothing")
    options = parser.parse_args()
    results = tests()
    for name, test in results.items():
        share = test.observed / test.n
        null = test.null or 0.0
        print(f"{name}: {100 * share:.1f} % right, chance {100 * null:.1f} %, p {test.p:.3g}")
    if options.quick or options.out is None:
        return
    figure, panels = plt.subplots(2, 1, figsize=(7, 3.4), sharex=True, layout="constrained")
    for panel, (name, test) in zip(panels, results.items(), strict=True):
        distribution = test.distribution
        counts = distribution.start + np.arange(len(distribution.chances))
        panel.bar(100 * counts / test.n, distribution.chances, width=0.4, color="#9aa7b4")
        panel.axvline(100 * test.observed / test.n, color="#c2410c", linewidth=2)
        panel.set_title(f"{name}: chance gets {100 * (test.null or 0):.0f} %, p {test.p:.2g}", loc="left", fontsize=10)
        panel.set_yticks([])
        panel.spines[["top", "right", "left"]].set_visible(False)
    panels[1].set_xlabel("per cent right if right answers changed places; the line: what the scorer has")
    figure.savefig(options.out, dpi=150)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
