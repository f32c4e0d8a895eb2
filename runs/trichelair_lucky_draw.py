"""Trichelair et al. (2018), appendix B: how often a coin, or the best of ten coins, has more than 55 % of WSC273.

The same for other datasets: the smaller, the luckier. No model and no data are needed.
"""

from __future__ import annotations

import math

from common import Options, Outcome, row, run, table
from papers import TRICHELAIR_LUCK

from winokit.methods.metrics.luck import n_to_beat_chance, p_best_of, p_chance

SIZES = {"WSC273": 273, "PDP": 60, "SuperGLUE-WSC val": 104, "DPR test": 564, "WinoGrande dev": 1267}
SHARE, TRIES = 0.55, 10


def experiment(options: Options) -> Outcome:
    """Both probabilities for each size."""
    lines, rows = [], []
    for name, n in SIZES.items():
        enough = math.floor(SHARE * n) + 1
        once = p_chance(enough, n)
        best = p_best_of(TRIES, once)
        paper = TRICHELAIR_LUCK.values() if n == SIZES["WSC273"] else (None, None)
        lines.append((name, n, f"{once:.3f}", f"{best:.3f}", *paper))
        rows.append(row(name, "random", "luck", "all", "p_more_than_55", once, n))
        rows.append(row(name, "random", "luck", "all", f"p_best_of_{TRIES}", best, n))
    needed = n_to_beat_chance(SHARE)
    header = ["dataset", "problems", "one coin", "best of ten", "paper, one", "paper, best of ten"]
    said = f"To tell {SHARE:.0%} from chance (5 % level, 80 % power) takes {needed} problems."
    return Outcome([table(header, lines), said], rows)


if __name__ == "__main__":
    run(experiment, __doc__, models=())
