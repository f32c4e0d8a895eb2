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
    """The runs of each seed: a second run of a seed is no seed of its own."""
    runs: dict[str, list[Record]] = {}
    for record in records:
        runs.setdefault(seed_of(record).partition("-")[0], []).append(record)
    return runs


def mean_over_seeds(records: Iterable[Record], metric: str, subset: str) -> float:
    """Mean over seeds, of a seed that was run twice the mean of both."""
    return fmean(fmean(record.value(metric, subset) for record in runs) for runs in by_seed(records).values())


def show_figure(store: Store) -> str:
    """Figure 1 with fine-tuned features: means over seeds."""
    records = [record for record in seeds(store, "aflite") if record.find("probe_accuracy", "aflite") is not None]
    if not records:
        return SENTENCE
    lines = []
    for arm, name in FIGURE_ARMS.items():
        kept, probe = (mean_over_seeds(records, metric, arm) for metric in ("n_kept", "probe_accuracy"))
        divergences = [
            number(mean_over_seeds(records, metric, arm), 3) for metric in ("kl_histogram", "kl_knn", "kl_gaussian")
        ]
        span = lowest_to_highest(record.value("probe_accuracy", arm) for record in records)
        lines.append((name, number(kept, 0), WINOGRANDE_KL[arm], *divergences, percent(probe), span))
    header = ["problems", "kept", "KL, paper", "KL: histogram", "neighbours", "normal", "linear probe", "single runs"]
    return f"{grid(header, lines)}\n\n{said_of_runs(records)}"


def said_of_runs(records: Sequence[Record]) -> str:
    """Which runs a mean is over."""
    many = len(by_seed(records))
    said = f"Means over {plural(many, 'seed')}" if many > 1 else "One seed"
    twice = " A seed that was run twice counts once, with the mean of both." if len(records) > many else ""
    return f"{said}, {counted(records)}: {join([run_name(record) for record in records])}.{twice}"


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
    """The seed of a run, and whether it is a second run of that seed."""
    return f"seed {seed_of(record).replace('-', ' ')}"


def show_authors(store: Store) -> str:
    """Per seed: does our score tell what the authors removed, and how much of what we remove did they?"""
    records = seeds(store, "aflite")
    lines = []
    for metric, (name, digits, times) in AUTHORS.items():
        ours = [record.find(metric, "ours") for record in records]
        known = [record for record in records if record.find(metric, "ours") is not None]
        others = [row for record in records if (row := record.find(metric, "relabelled")) and "base" not in metric]
        low, high = ([times * (getattr(row, end) or 0.0) for row in others] for end in ("low", "high"))
        span = f"{number(min(low), digits)} to {number(max(high), digits)}" if others else ""
        marked = [record for record in records if record.find(f"confidence_{metric}", "ours")] if digits == 3 else []
        mark = number(mean_over_seeds(marked, f"confidence_{metric}", "ours"), digits) if marked else ""
        cells = ["" if row is None else number(times * row.value, digits) for row in ours]
        mean = number(times * mean_over_seeds(known, metric, "ours"), digits) if known else ""
        ranged = lowest_to_highest(ours, digits, times)
        lines.append((name, *cells, mean, ranged, span, mark))
    many = len(by_seed(records))
    header = ["", *map(run_name, records), f"mean over {plural(many, 'seed')}", "lowest to highest"]
    table = grid([*header, "relabelled, lowest to highest", "RoBERTa-large's confidence"], lines)
    return f"{table}\n\n{said_of_relabelled(records)} {said_of_runs(records)}"


def said_of_relabelled(records: Sequence[Record]) -> str:
    """In how many runs a number is above that of all relabelled runs on the same features: AUCs, what they removed."""
    counts = []
    for metric in ("auc", "pairs_auc", "of_ours"):
        both = [(record.find(metric, "ours"), record.find(metric, "relabelled")) for record in records]
        against = [(ours.value, other.high) for ours, other in both if ours and other and other.high is not None]
        counts.append(f"in {sum(value > high for value, high in against)} of {len(against)} runs")
    many = sorted({other.n for record in records if (other := record.find("auc", "relabelled"))})
    each = f"all of its own {join([str(n) for n in many])} relabelled runs" if many else "its relabelled runs"
    share = f" The share of what is removed that the authors removed is above theirs {counts[2]}."
    return f"The AUC is above that of {each} by problems {counts[0]} and by pairs {counts[1]}.{share}"


def show_taught(store: Store) -> str:
    """What AFLite kept against as many at random."""
    lines = []
    for kind, name in (("kept", "kept by our AFLite"), ("random", "as many at random")):
        records = seeds(store, f"taught/{kind}")
        size = f"{records[0].settings['problems']:,}" if records else ""
        lines.append(on_dev(name, records, (size,)))
    lines.append(guessing_on_dev([*seeds(store, "taught/kept"), *seeds(store, "taught/random")], ("",)))
    table = grid(["trained on", "problems", *DEV_COLUMNS], lines)
    cells = difference_cells(store, "taught, kept - random", "winogrande-dev")
    if cells is None:
        return f"{table}\n\nThe two have no seed in common, so that nothing can be compared."
    return f"{table}\n\n{grid(['kept less random', *DIFFERENCE_COLUMNS], [('WinoGrande dev', *cells)])}"


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
