"""WinoGrande, AAAI version, trained: the learning curve, and results on other datasets."""

from __future__ import annotations

from statistics import fmean

from runs.papers import AAAI_RESULTS
from runs.store import Record, Store
from runs.tables import grid, number, register
from runs.trained import score, seeds
from runs.trained_tables import DEV_COLUMNS, WINOGRANDE, guessing_on_dev, on_dev, trained
from runs.winogrande_trained import TESTS, arm_header, cell
from winokit.methods.metrics.curve import SIZES as CURVE_SIZES
from winokit.methods.metrics.curve import fit_log, leaderboard_auc

CURVE = ("xs", "s", "m", "l", "xl")


def curve_records(store: Store) -> dict[str, list[Record]]:
    """The runs of every size."""
    return {size: seeds(store, "transfer/xl" if size == "xl" else f"curve/{size}") for size in CURVE}


def show_curve(store: Store) -> str:
    """The AAAI learning curve, every size for as many steps, and the line through it."""
    lines, means, sizes = [], [], []
    for size, records in curve_records(store).items():
        n = store["sets"].settings["train"][f"train:{size}"]
        paper = {"s": "59.4 (about 800)", "xl": "79.1"}.get(size, "")
        lines.append(on_dev(f"{size}, {n:,}", records, (paper,)))
        for record in records:
            accuracy = score(record, "winogrande-dev")
            if accuracy is not None:
                sizes.append(n)
                means.append(100 * accuracy.value)
    if means:
        lines.append(guessing_on_dev([run for runs in curve_records(store).values() for run in runs], ("",)))
    said = ""
    if len(set(sizes)) > 2:
        fit = fit_log(sizes, means)
        slope, line = fit.slope_interval(), f"{number(fit.slope, 2)} ln x + {number(fit.intercept)}"
        said = f"\n\nThe line through all runs: {line}, slope [{number(slope.low, 2)}, {number(slope.high, 2)}]."
    each = [fmean(value for value, size in zip(means, sizes, strict=True) if size == n) for n in sorted(set(sizes))]
    if len(each) == len(CURVE_SIZES):
        area = leaderboard_auc([value / 100 for value in each])
        said += f" Area under the curve, as the leaderboard has it: {number(area, 3)}."
    return grid(["training problems", "paper", *DEV_COLUMNS], lines) + said


def show_results(store: Store) -> str:
    """The AAAI paper's results on other sets beside ours."""
    lines = [
        (
            TESTS[test],
            paper,
            cell(store, "xl", test),
            cell(store, "xl", test, by_rule=True),
            cell(store, "dpr>xl", test),
        )
        for test, paper in AAAI_RESULTS.items()
    ]
    first, second = arm_header(store, ("xl", "dpr>xl"))
    return grid(
        [
            "test set",
            "RoBERTa-large on WinoGrande, paper",
            f"{first}, equal steps",
            "steps chosen",
            second,
        ],
        lines,
    )


register(
    trained("winogrande-aaai", "curve", "the learning curve", WINOGRANDE, _=("curve/", show_curve)),
    trained("winogrande-aaai", "results", "results on other datasets", WINOGRANDE, _=("transfer/", show_results)),
)
