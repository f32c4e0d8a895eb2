"""What the authors would ask next: are WinoGrande's texts less natural than WSC's, and is accuracy on the likely ones?

Surprisal is −log p(text) per word under the scoring model itself: by the chain rule for a causal model, as a
pseudo-likelihood for a masked one. The `naturalness` protocol takes the text with the right candidate. A model that
finds that text likely is more often right by that alone, whatever else the text is like, so that thirds are also made
by the mean over both candidates' texts, which does not know the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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
    """Surprisal per word, by problem, averaged over the texts with either candidate."""
    texts = [dataset.with_problems(problem.replace(answer=answer) for problem in dataset) for answer in (0, 1)]
    first, second = (surprisal(text, model, cache, by_name) for text in texts)
    return {key: (value + second[key]) / 2 for key, value in first.items() if key in second}


@protocol(asks=mean_surprisal)
def either_text(sheet: AuditSheet) -> Iterable[Metric]:
    """The rows of `naturalness`, with problems sorted by what does not know the answer."""
    own = replace(sheet, asked={"naturalness": sheet.asked.get("either-text", {})})
    return (replace(row, protocol="either-text") for row in naturalness.rows(own))


def run_naturalness(bench: Bench) -> None:
    """Score each set, and every solved text's surprisal."""
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
    """Surprisal per word by set, and how much WinoGrande's exceeds the others'."""
    lines = []
    for model in models_in(store, among=MODELS):
        metrics = [store[key(name, model)].find("surprisal_per_word", protocol="naturalness") for name in SETS]
        cells = [_bounds(metric.value, metric.low, metric.high) for metric in metrics if metric is not None]
        lines.append((shown(model), *cells, *(_excess(metrics[-1], metric) for metric in metrics[:-1])))
    return grid(["surprisal per word, nats", *SETS, *(f"WinoGrande minus {name}" for name in SETS[:-1])], lines)


def _excess(first: Metric | None, second: Metric | None) -> str:
    """The difference of two means over different problems; half-widths add as squares do."""
    assert first is not None
    assert second is not None
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return ""
    half = math.hypot(first.high - first.low, second.high - second.low) / 2
    gap = first.value - second.value
    return _bounds(gap, gap - half, gap + half)


def _bounds(value: float, low: float | None, high: float | None) -> str:
    return f"{number(value, 2)} [{number(low or 0, 2)}, {number(high or 0, 2)}]"


def show_accuracy(store: Store) -> str:
    """Accuracy on the likeliest, middling and unlikeliest third of each set, and the gap between the ends."""
    lines = []
    for name in SETS:
        for model in models_in(store, among=MODELS):
            record = store[key(name, model)]
            for by, label in SORTED_BY.items():
                cells = [percent(record.find("accuracy", third, by), interval=True) for third in THIRDS]
                gap = percent(record.find("likely_minus_unlikely", protocol=by), interval=True)
                lines.append((f"{name} ({record.settings['problems']:,})", shown(model), label, *cells, gap))
    header = ["dataset (problems)", "model", "sorted by", "likeliest third", "middle", "unlikeliest third", "gap"]
    return grid(header, [(("" if at % (2 * len(SORTED_BY)) else line[0]), *line[1:]) for at, line in enumerate(lines)])


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
