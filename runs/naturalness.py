"""A question of our own: are WinoGrande's texts less natural than WSC's, and is accuracy on the likely ones?

Surprisal is −log p(text) per word under the scoring model itself: by the chain rule for a causal model, as a
pseudo-likelihood for a masked one. The `naturalness` protocol takes the text with the right candidate. A model that
finds that text likely is more often right by that alone, whatever else the text is like, so that thirds are also made
by the mean over both candidates' texts, which does not know the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runs.store import Store
from runs.tables import Bench, Table, grid, key, models_in, number, percent, register, shown
from winokit.methods.scoring.cache import Cache
from winokit.models.base import Model
from winokit.problem import Dataset
from winokit.results import Metric
from winokit.stages.audit.protocols import PROTOCOLS, protocol
from winokit.stages.audit.protocols.naturalness import naturalness, surprisal
from winokit.stages.audit.sheet import AuditSheet

SETS = ("WSC", "DPR test", "WinoGrande dev")
MODELS = ("SmolLM2", "builtin")
THIRDS = ("likely", "middling", "unlikely")
SORTED_BY = {"naturalness": "right text", "either-text": "both texts"}


def mean_surprisal(dataset: Dataset, model: Model, cache: Cache, by_name: bool) -> Mapping[str, float]:
    """Surprisal per word in nats by problem id, averaged over the texts with either candidate.

    `by_name` goes to `surprisal`.
    """
    surprisals = []
    for answer in (0, 1):
        texts = dataset.with_problems(problem.replace(answer=answer) for problem in dataset)
        surprisals.append(surprisal(texts, model, cache, by_name))
    first, second = surprisals
    return {key: (value + second[key]) / 2 for key, value in first.items() if key in second}


@protocol(asks=mean_surprisal)
def either_text(sheet: AuditSheet) -> Iterable[Metric]:
    """Rows of `naturalness`, with problems sorted by the surprisal of both texts."""
    both_texts = replace(sheet, asked={"naturalness": sheet.asked.get("either-text", {})})
    return (replace(row, protocol="either-text") for row in naturalness.rows(both_texts))


def run_naturalness(bench: Bench) -> None:
    """Judge every model on each set, with accuracy by the surprisal of the texts."""
    if "either-text" not in PROTOCOLS:  # only now: who imports this to read stored results audits as everybody does
        PROTOCOLS.register("either-text")(either_text)
    data = {
        "WSC": bench.wsc273(),
        "DPR test": bench.load("dpr/test.c.txt"),
        "WinoGrande dev": bench.load("winogrande/dev.jsonl"),
    }
    for model in bench.models:
        for name, problems in data.items():
            bench.judged(name, problems, model, protocols=("accuracy", *SORTED_BY))


def show_texts(store: Store) -> str:
    """Table of surprisal per word by set, and the excess of WinoGrande's over the others'."""
    lines = []
    for model in models_in(store, among=MODELS):
        rows = [store[key(name, model)].row("surprisal_per_word", protocol="naturalness") for name in SETS]
        cells = [value_with_bounds(row.value, row.low, row.high) for row in rows]
        *others, winogrande = rows
        excesses = [excess_of(winogrande, other) for other in others]
        lines.append((shown(model), *cells, *excesses))
    *other_names, _ = SETS
    excess_header = [f"WinoGrande minus {name}" for name in other_names]
    return grid(["surprisal per word, nats", *SETS, *excess_header], lines)


def excess_of(first: Metric, second: Metric) -> str:
    """Difference of two means over different problems, with an interval, or empty if a mean has none.

    The squares of the half-widths add up.
    """
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return ""
    half_width = math.hypot(first.high - first.low, second.high - second.low) / 2
    difference = first.value - second.value
    return value_with_bounds(difference, difference - half_width, difference + half_width)


def value_with_bounds(value: float, low: float | None, high: float | None) -> str:
    """Write a value and the ends of its interval with two decimals, a missing end as zero."""
    return f"{number(value, 2)} [{number(low or 0, 2)}, {number(high or 0, 2)}]"


def show_accuracy(store: Store) -> str:
    """Table of accuracy on the likeliest, middling and unlikeliest third of each set, and the gap between the ends."""
    lines: list[Sequence[object]] = []
    models = models_in(store, among=MODELS)
    for name in SETS:
        for model in models:
            record = store[key(name, model)]
            shown_name = f"{name} ({record.settings['problems']:,})" if model == models[0] else ""
            for protocol_name, label in SORTED_BY.items():
                cells = [percent(record.find("accuracy", third, protocol_name), interval=True) for third in THIRDS]
                gap = percent(record.find("likely_minus_unlikely", protocol=protocol_name), interval=True)
                lines.append((shown_name, shown(model), label, *cells, gap))
                shown_name = ""
    header = ["dataset (problems)", "model", "sorted by", "likeliest third", "middle", "unlikeliest third", "gap"]
    return grid(header, lines)


register(
    Table(
        "naturalness",
        "texts",
        "surprisal of the texts, and accuracy by it",
        "models; wsc, trichelair, dpr, winogrande",
        {"": show_texts, "accuracy": show_accuracy},
        run_naturalness,
    )
)
