"""What the authors would ask next: are WinoGrande's texts less natural than WSC's, and is accuracy on the likely ones?

Surprisal is −log p(solved text) per word under the scoring model itself: by the chain rule for a causal model, as a
pseudo-likelihood for a masked one. Both tables come from one store of audits under the `naturalness` protocol.
"""

from __future__ import annotations

import math

from runs.store import Store
from runs.tables import Bench, Table, grid, key, models_in, number, percent, register, shown
from winokit.results import Metric

SETS = ("WSC", "DPR test", "WinoGrande dev")
MODELS = ("SmolLM2", "builtin")
THIRDS = ("likely", "middling", "unlikely")


def run_naturalness(bench: Bench) -> None:
    """Score each set, and every solved text's surprisal."""
    data = {
        "WSC": bench.wsc273(),
        "DPR test": bench.load("dpr/test.c.txt"),
        "WinoGrande dev": bench.load("winogrande/dev.jsonl"),
    }
    for model in bench.models:
        for name, problems in data.items():
            bench.judged(name, problems, model, protocols=("accuracy", "naturalness"))


def show_texts(store: Store) -> str:
    """Surprisal per word by set, and how much WinoGrande's exceeds the others'."""
    lines = []
    for model in models_in(store, among=MODELS):
        found = [store[key(name, model)].find("surprisal_per_word") for name in SETS]
        cells = [_bounds(one.value, one.low, one.high) for one in found if one is not None]
        lines.append((shown(model), *cells, *(_excess(found[-1], one) for one in found[:-1])))
    return grid(["surprisal per word, nats", *SETS, *(f"WinoGrande minus {name}" for name in SETS[:-1])], lines)


def _excess(one: Metric | None, other: Metric | None) -> str:
    """The difference of two means over different problems; half-widths add as squares do."""
    assert one is not None
    assert other is not None
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return ""
    half = math.hypot(one.high - one.low, other.high - other.low) / 2
    gap = one.value - other.value
    return _bounds(gap, gap - half, gap + half)


def _bounds(value: float, low: float | None, high: float | None) -> str:
    return f"{number(value, 2)} [{number(low or 0, 2)}, {number(high or 0, 2)}]"


def show_accuracy(store: Store) -> str:
    """Accuracy on the likeliest, middling and unlikeliest third of each set, and the gap between the ends."""
    lines = []
    for name in SETS:
        for at, model in enumerate(models_in(store, among=MODELS)):
            record = store[key(name, model)]
            cells = [percent(record.find("accuracy", third, "naturalness"), interval=True) for third in THIRDS]
            gap = percent(record.find("likely_minus_unlikely"), interval=True)
            lines.append(("" if at else f"{name} ({record.settings['problems']:,})", shown(model), *cells, gap))
    return grid(["dataset (problems)", "model", "likeliest third", "middle", "unlikeliest third", "gap"], lines)


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
