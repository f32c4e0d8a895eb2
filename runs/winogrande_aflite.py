"""AFLite on fine-tuned features: WinoGrande's Figure 1, what its authors removed, and what the kept part teaches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from runs.papers import WINOGRANDE_KL
from runs.store import Record, Store
from runs.tables import grid, number, percent, register
from runs.trained import seed_of, seeds
from runs.trained_tables import (
    DEV_COLUMNS,
    DIFFERENCE_COLUMNS,
    SENTENCE,
    WINOGRANDE,
    counted,
    difference_cells,
    guessing_on_dev,
    lowest_to_highest,
    on_dev,
    trained,
)
from winokit.drawing.wording import join, plural

FIGURE_ARMS = {"all": "all", "random": "random", "pmi": "PMI", "aflite": "AFLite"}


def by_seed(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Group runs by seed: a second run of a seed does not count as another seed."""
    runs: dict[str, list[Record]] = {}
    for record in records:
        runs.setdefault(seed_of(record).partition("-")[0], []).append(record)
    return runs


def mean_over_seeds(records: Iterable[Record], metric: str, subset: str) -> float:
    """Mean over seeds, where a seed that was run twice has the mean of both runs."""
    means = []
    for runs in by_seed(records).values():
        means.append(fmean(record.value(metric, subset) for record in runs))
    return fmean(means)


def show_figure(store: Store) -> str:
    """Figure 1 with fine-tuned features as a table, means over seeds."""
    records = [record for record in seeds(store, "aflite") if record.find("probe_accuracy", "aflite") is not None]
    if not records:
        return SENTENCE
    lines = []
    for arm, name in FIGURE_ARMS.items():
        kept_count = number(mean_over_seeds(records, "n_kept", arm), 0)
        probe = percent(mean_over_seeds(records, "probe_accuracy", arm))
        divergences = [
            number(mean_over_seeds(records, metric, arm), 3) for metric in ("kl_histogram", "kl_knn", "kl_gaussian")
        ]
        probe_range = lowest_to_highest(record.value("probe_accuracy", arm) for record in records)
        lines.append((name, kept_count, WINOGRANDE_KL[arm], *divergences, probe, probe_range))
    header = ["problems", "kept", "KL, paper", "KL: histogram", "neighbours", "normal", "linear probe", "single runs"]
    return f"{grid(header, lines)}\n\n{said_of_runs(records)}"


def said_of_runs(records: Sequence[Record]) -> str:
    """Name the seeds and runs that the means of a table are over."""
    seed_count = len(by_seed(records))
    means = f"Means over {plural(seed_count, 'seed')}" if seed_count > 1 else "One seed"
    run_names = [run_name(record) for record in records]
    sentence = f"{means}, {counted(records)}: {join(run_names)}."
    if len(records) == seed_count:
        return sentence
    return f"{sentence} A seed that was run twice counts once, with the mean of both."


AUTHORS = {
    # what, how many decimals, times what
    "accuracy": ("the fine-tuned encoder on problems held out for it, %", 1, 100),
    "commonest": ("… the commonest answer there, %", 1, 100),
    "auc": ("AUC of the first phase's score", 3, 1),
    "spearman": ("rank correlation", 3, 1),
    "pairs_auc": ("AUC, pairs removed whole against kept whole", 3, 1),
    "pairs_spearman": ("rank correlation, pairs", 3, 1),
    "removed": ("problems removed by a full run", 0, 1),
    "of_ours": ("… of these the authors removed, %", 1, 100),
    "base": ("of all problems they removed, %", 1, 100),
    "pairs_of_ours": ("of pairs we remove whole they removed whole, %", 1, 100),
    "pairs_base": ("of all pairs they removed whole, %", 1, 100),
    "score_with_confidence": ("rank correlation of our score with RoBERTa's confidence", 3, 1),
}


def run_name(record: Record) -> str:
    """Seed of a run in words, and whether it is a second run of that seed."""
    return f"seed {seed_of(record).replace('-', ' ')}"


def show_authors(store: Store) -> str:
    """Table by seed: how well our score predicts what the authors removed, and how much of what we remove they did."""
    records = seeds(store, "aflite")
    lines = [authors_line(records, metric) for metric in AUTHORS]
    seed_count = len(by_seed(records))
    header = ["", *map(run_name, records), f"mean over {plural(seed_count, 'seed')}", "lowest to highest"]
    table = grid([*header, "relabelled, lowest to highest", "RoBERTa-large's confidence"], lines)
    return f"{table}\n\n{said_of_relabelled(records)} {said_of_runs(records)}"


def authors_line(records: Sequence[Record], metric: str) -> list[str]:
    """Line of one metric: every run, the mean over seeds, the ranges, and the authors' confidence instead of our score.

    An empty cell means that no run has it.
    """
    title, digits, times = AUTHORS[metric]
    rows = [record.find(metric, "ours") for record in records]
    cells = []
    for row in rows:
        cells.append("" if row is None else number(times * row.value, digits))
    with_metric = [record for record in records if record.find(metric, "ours") is not None]
    mean = number(times * mean_over_seeds(with_metric, metric, "ours"), digits) if with_metric else ""
    range_of_runs = lowest_to_highest(rows, digits, times)
    range_of_relabelled = relabelled_range(records, metric)
    return [title, *cells, mean, range_of_runs, range_of_relabelled, confidence_cell(records, metric)]


def relabelled_range(records: Sequence[Record], metric: str) -> str:
    """Range of a metric over all relabelled runs, empty if there are none or the metric is a base rate."""
    _, digits, times = AUTHORS[metric]
    rows = [record.find(metric, "relabelled") for record in records]
    stored_rows = [row for row in rows if row is not None]
    if not stored_rows or "base" in metric:
        return ""
    low = min(times * (row.low or 0.0) for row in stored_rows)
    high = max(times * (row.high or 0.0) for row in stored_rows)
    return f"{number(low, digits)} to {number(high, digits)}"


def confidence_cell(records: Sequence[Record], metric: str) -> str:
    """Mean of a metric with RoBERTa-large's confidence as the score, empty if it is not an AUC or a correlation."""
    digits = AUTHORS[metric][1]
    with_confidence = [record for record in records if record.find(f"confidence_{metric}", "ours")]
    if digits != 3 or not with_confidence:
        return ""
    return number(mean_over_seeds(with_confidence, f"confidence_{metric}", "ours"), digits)


def said_of_relabelled(records: Sequence[Record]) -> str:
    """Say in how many runs AUCs and the share the authors removed exceed all relabelled runs on the same features."""
    relabelled_rows = [record.find("auc", "relabelled") for record in records]
    run_counts = sorted({row.n for row in relabelled_rows if row is not None})
    relabelled = "its relabelled runs"
    if run_counts:
        relabelled = f"all of its own {join([str(count) for count in run_counts])} relabelled runs"
    by_problems = runs_above_relabelled(records, "auc")
    by_pairs = runs_above_relabelled(records, "pairs_auc")
    by_share = runs_above_relabelled(records, "of_ours")
    share = f" The share of what is removed that the authors removed is above theirs {by_share}."
    return f"The AUC is above that of {relabelled} by problems {by_problems} and by pairs {by_pairs}.{share}"


def runs_above_relabelled(records: Sequence[Record], metric: str) -> str:
    """Number of runs in which a metric is above that of every relabelled run, as "in 3 of 4 runs"."""
    above_count = 0
    run_count = 0
    for record in records:
        ours = record.find(metric, "ours")
        relabelled = record.find(metric, "relabelled")
        if ours is not None and relabelled is not None and relabelled.high is not None:
            run_count += 1
            above_count += ours.value > relabelled.high
    return f"in {above_count} of {run_count} runs"


def show_taught(store: Store) -> str:
    """Table of models trained on what AFLite kept against models trained on as many problems at random."""
    lines = []
    for kind, name in (("kept", "kept by our AFLite"), ("random", "as many at random")):
        records = seeds(store, f"taught/{kind}")
        size = f"{records[0].settings['problems']:,}" if records else ""
        lines.append(on_dev(name, records, (size,)))
    all_records = [*seeds(store, "taught/kept"), *seeds(store, "taught/random")]
    lines.append(guessing_on_dev(all_records, ("",)))
    table = grid(["trained on", "problems", *DEV_COLUMNS], lines)
    cells = difference_cells(store, "taught, kept - random", "winogrande-dev")
    if cells is None:
        return f"{table}\n\nThe two have no seed in common, so that nothing can be compared."
    comparison = grid(["kept less random", *DIFFERENCE_COLUMNS], [("WinoGrande dev", *cells)])
    return f"{table}\n\n{comparison}"


register(
    trained(
        "winogrande",
        "figure-1-trained",
        "divergence, fine-tuned features",
        WINOGRANDE,
        _=("aflite/", show_figure),
        taught=("taught/", show_taught),
    ),
    trained("winogrande", "authors", "AFLite against its authors", WINOGRANDE, _=("aflite/", show_authors)),
)
