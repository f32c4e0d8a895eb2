"""WinoGrande, AAAI version, trained: the learning curve, and results on other datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Runs of every training size, by the size's name."""
    records = {size: seeds(store, f"curve/{size}") for size in CURVE}
    return {**records, "xl": seeds(store, "transfer/xl")}


def show_curve(store: Store) -> str:
    """Table of the AAAI learning curve, every size trained for as many steps, and sentences on the line through it."""
    lines = []
    percents_by_size: dict[int, list[float]] = {}
    all_runs: list[Record] = []
    for size, records in curve_records(store).items():
        n = store["sets"].settings["train"][f"train:{size}"]
        paper = {"s": "59.4 (about 800)", "xl": "79.1"}.get(size, "")
        lines.append(on_dev(f"{size}, {n:,}", records, (paper,)))
        all_runs += records
        scores = [score(record, "winogrande-dev") for record in records]
        percents = [100 * accuracy.value for accuracy in scores if accuracy is not None]
        if percents:
            percents_by_size[n] = percents
    if percents_by_size:
        lines.append(guessing_on_dev(all_runs, ("",)))
    table = grid(["training problems", "paper", *DEV_COLUMNS], lines)
    return f"{table}{said_of_line(percents_by_size)}{said_of_area(percents_by_size)}"


def said_of_line(percents_by_size: Mapping[int, Sequence[float]]) -> str:
    """Say which line fits all runs, or nothing for fewer than three sizes.

    `percents_by_size` has the accuracy of every run in per cent, by the number of training problems.
    """
    if len(percents_by_size) < 3:
        return ""
    sizes: list[int] = []
    percents: list[float] = []
    for size, values in percents_by_size.items():
        sizes += [size] * len(values)
        percents += values
    fit = fit_log(sizes, percents)
    slope = fit.slope_interval()
    line = f"{number(fit.slope, 2)} ln x + {number(fit.intercept)}"
    return f"\n\nThe line through all runs: {line}, slope [{number(slope.low, 2)}, {number(slope.high, 2)}]."


def said_of_area(percents_by_size: Mapping[int, Sequence[float]]) -> str:
    """Say the area under the learning curve, or nothing unless every size of the leaderboard was run."""
    if len(percents_by_size) != len(CURVE_SIZES):
        return ""
    means = [fmean(percents) for _, percents in sorted(percents_by_size.items())]
    area = leaderboard_auc([mean / 100 for mean in means])
    return f" Area under the curve, as the leaderboard has it: {number(area, 3)}."


def show_results(store: Store) -> str:
    """Table of the AAAI paper's results on other test sets beside ours."""
    lines = []
    for test, paper in AAAI_RESULTS.items():
        equal_steps = cell(store, "xl", test)
        steps_chosen = cell(store, "xl", test, by_rule=True)
        after_dpr = cell(store, "dpr>xl", test)
        lines.append((TESTS[test], paper, equal_steps, steps_chosen, after_dpr))
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
