"""AFLite on fine-tuned features: WinoGrande's Figure 1, what its authors removed, and what the kept part teaches."""

from __future__ import annotations

from statistics import fmean

from runs.papers import WINOGRANDE_KL
from runs.store import Record, Store
from runs.tables import grid, number, register
from runs.trained import mean_sd, seeds
from runs.trained_tables import WINOGRANDE, on_dev, trained
from winokit.drawing.wording import join

FIGURE_ARMS = {"all": "all", "random": "random", "pmi": "PMI", "aflite": "AFLite"}


def show_figure(store: Store) -> str:
    """Figure 1 with fine-tuned features: means over seeds."""
    records = [one for one in seeds(store, "aflite") if one.find("probe_accuracy", "aflite") is not None]
    lines = []
    for arm, name in FIGURE_ARMS.items():
        kept = fmean(one.value("n_kept", arm) for one in records)
        probe = mean_sd(one.value("probe_accuracy", arm) for one in records)
        divergences = [
            number(fmean(one.value(metric, arm) for one in records), 3)
            for metric in ("kl_histogram", "kl_knn", "kl_gaussian")
        ]
        lines.append((name, number(kept, 0), WINOGRANDE_KL[arm], *divergences, probe))
    said = f"Means over {len(records)} runs" if len(records) > 1 else "One run"
    said += f": {join([run_name(one) for one in records])}."
    return (
        grid(["problems", "kept", "KL, paper", "KL: histogram", "neighbours", "normal", "linear probe"], lines)
        + f"\n\n{said}"
    )


AUTHORS = {
    # what, how many decimals, times what
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
    return f"seed {record.key.rpartition('/')[2].replace('-', ' ')}"


def show_authors(store: Store) -> str:
    """Per seed: does our score tell what the authors removed, and how much of what we remove did they?"""
    records = seeds(store, "aflite")
    lines = []
    for metric, (name, digits, times) in AUTHORS.items():
        ours = [one.find(metric, "ours") for one in records]
        others = [found for one in records if (found := one.find(metric, "relabelled")) and "base" not in metric]
        low, high = ([times * (getattr(one, end) or 0.0) for one in others] for end in ("low", "high"))
        span = f"{number(min(low), digits)} to {number(max(high), digits)}" if others else ""
        mark = records[0].find(f"confidence_{metric}", "ours") if digits == 3 else None
        cells = ["" if one is None else number(times * one.value, digits) for one in (*ours, mark)]
        lines.append((name, *cells[:-1], span, cells[-1]))
    header = ["", *map(run_name, records), "relabelled, lowest to highest"]
    return grid([*header, "RoBERTa-large's confidence"], lines)


def show_taught(store: Store) -> str:
    """What AFLite kept against as many at random."""
    lines = []
    for kind, name in (("kept", "kept by our AFLite"), ("random", "as many at random")):
        records = seeds(store, f"taught/{kind}")
        size = f"{records[0].settings['problems']:,}" if records else ""
        lines.append(on_dev(name, records, (size,)))
    return grid(["trained on", "problems", "runs", "dev", "pairs"], lines)


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
