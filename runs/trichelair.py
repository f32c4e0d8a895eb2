"""On the Evaluation of Common-Sense Reasoning (Trichelair et al., 2018): labels, switching, associativity, luck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runs.papers import TRICHELAIR_ASSOCIATIVE, TRICHELAIR_LUCK
from runs.store import Record, Store, chosen
from runs.tables import (
    Bench,
    Counted,
    Table,
    fingerprint,
    grid,
    key,
    loaded,
    models_in,
    named,
    number,
    percent,
    register,
    row,
    shown,
)
from winokit.drawing.protocols import CITATIONS
from winokit.methods.metrics.consistency import consistency
from winokit.methods.metrics.luck import n_to_beat_chance, p_best_of, p_chance
from winokit.problem import Dataset
from winokit.results import Metric
from winokit.stages.audit.published import published

CONNECTIVES = 5
LANGUAGE_MODELS = ("SmolLM2, partial", "SmolLM2, full", "trigrams", "ensemble", "builtin", "hunter")
"""The order of models in tables. A language model without a scoring in its name was scored by `partial`."""


def run_labels(bench: Bench) -> None:
    """Count the released labels and the structure of WSC273. No model is asked."""
    wsc = bench.wsc273()
    bench.counted("labels", {"data": fingerprint(wsc)}, lambda: count_labels(wsc))


def count_labels(wsc: Dataset) -> Counted:
    """Count associative and switchable problems, final special words, and connectives before the blank's clause."""
    from winokit.data.checks.statistics import Structure

    structure = Structure(wsc)
    rows = []
    for name in ("associative", "switchable"):
        count = sum(problem.labels[name] for problem in wsc)
        rows.append(row("WSC273", "statistics", "all", name, count, len(wsc)))
    rows.append(row("WSC273", "structure", "complete", "special_last", structure.special_last, structure.groups))
    for name, count in structure.connective.most_common(CONNECTIVES):
        rows.append(row("WSC273", "structure", name or "none", "connective", count, len(wsc)))
    return Counted(rows)


def show_labels(store: Store) -> str:
    """Table of associative and switchable problems, of final special words, and of connectives."""
    record = store["labels"]
    connectives = [connective_text(row) for row in record.rows if row.metric == "connective"]
    associative_count = record.row("associative")
    special_last = record.row("special_last")
    paper_associative, paper_rest = TRICHELAIR_ASSOCIATIVE
    lines = [
        ("associative", paper_associative, share_text(associative_count.value, associative_count.n)),
        ("not associative", paper_rest, share_text(associative_count.n - associative_count.value, associative_count.n)),
        ("switchable", "131, 47", share_text(record.value("switchable"), record.row("switchable").n)),
        ("the special word is the last word", "many", share_text(special_last.value, special_last.n, " groups")),
        ("the blank's clause begins with", "often *because*", ", ".join(connectives)),
    ]
    return grid(["of WSC273", "paper", "here"], lines)


def share_text(count: float, whole: int, unit: str = "") -> str:
    """Write a count of a whole, and its share in per cent. `unit` follows the whole."""
    return f"{count:.0f} of {whole}{unit}, {percent(count / whole)}"


def connective_text(connective: Metric) -> str:
    """Write a connective and its count, where a full stop means a new sentence."""
    name = "a new sentence" if connective.subset == "." else f"*{connective.subset}*"
    return f"{name} {connective.value:.0f}"


STYLES = {"paper": "as released", "mended": "mended"}
"""Rules for switching candidates, by their name in tables."""
SWITCHING = (
    "all 273",
    "unswitched",
    "switched, as released",
    "consistency, as released",
    "switched, mended",
    "consistency, mended",
)


def scorings_of(bench: Bench, model: str) -> dict[str, str | None]:
    """Scorings of a model by the name of its rows: `partial` and `full` for a language model, else its default."""
    if loaded(bench.models[model]).kind == "causal":
        return {f"{model}, {scoring}": scoring for scoring in ("partial", "full")}
    return {model: None}


def run_switching(bench: Bench) -> None:
    """Judge every model on WSC273, its switchable half, and that half switched: as released, and mended."""
    from winokit.methods.transforms.switch import switch

    wsc = bench.wsc273()
    switchable = wsc.filter(lambda problem: bool(problem.labels["switchable"]))
    switched = {}
    for style, title in STYLES.items():
        name = f"switched, {title}"
        switched[name] = named(name, [switch(problem, style=style) for problem in switchable])
    for model in bench.models:
        for label, scoring in scorings_of(bench, model).items():
            bench.judged("all 273", wsc, model, scoring, ("accuracy", "luck"), label)
            before = bench.judged("unswitched", switchable, model, scoring, ("accuracy",), label)
            for name, problems in switched.items():
                after = bench.judged(name, problems, model, scoring, ("accuracy",), label)
                if after.find("consistency") is None:
                    agreement = consistency_row(before, after, name, label)
                    bench.store.put(replace(after, rows=(*after.rows, agreement)))


def consistency_row(before: Record, after: Record, name: str, label: str) -> Metric:
    """Measure how often a model changes its answer with the candidates, from its predictions of both forms."""
    before_choices = chosen(before.predictions["unswitched"])
    after_choices = chosen(after.predictions[name])
    value = consistency(before_choices, after_choices)
    return row(name, "switching", "switchable", "consistency", value, len(before_choices), model=label)


def published_percents(columns: dict[tuple[str, str, str], str]) -> dict[str, dict[str, Any]]:
    """The paper's values on WSC273 in per cent, by system and column.

    `columns` names the column of each (protocol, subset, metric).
    """
    by_system: dict[str, dict[str, Any]] = {}
    for fact in published("wsc273"):
        column = columns.get((fact.protocol, fact.subset, fact.metric))
        if fact.source is CITATIONS["TRICHELAIR"] and column:
            system = fact.system.split(" (")[0]
            by_system.setdefault(system, {})[column] = percent(fact.value)
    return by_system


def show_switching(store: Store) -> str:
    """Table of switching: the paper's rows, then ours. Abstentions count as coins."""
    paper = published_percents(
        {
            ("accuracy", "all", "accuracy"): "all 273",
            ("switching", "switchable", "accuracy"): "unswitched",
            ("switching", "switchable", "switched_accuracy"): "switched, as released",
            ("switching", "switchable", "consistency"): "consistency, as released",
        }
    )
    lines: list[Sequence[object]] = []
    for system, percents in paper.items():
        lines.append((f"{system}, paper", *map(percents.get, SWITCHING)))
    for model in models_in(store, among=LANGUAGE_MODELS):
        cells = [switching_cell(store, model, column) for column in SWITCHING]
        lines.append((shown(model), *cells))
    return grid(["model", *SWITCHING], lines)


def switching_cell(store: Store, model: str, column: str) -> str:
    """Value of a model in a column of `SWITCHING`, in per cent."""
    quantity, _, style = column.partition(", ")
    record = store[key(f"switched, {style}" if style else column, model)]
    metric = "consistency" if quantity == "consistency" else "expected_accuracy"
    return percent(record.find(metric))


ASSOCIATION = {"associative": True, "the rest": False}


def run_association(bench: Bench) -> None:
    """Judge every model on the two parts of WSC273 that Trichelair et al. label."""
    wsc = bench.wsc273()
    for model in bench.models:
        for name, label_value in ASSOCIATION.items():
            part = wsc.with_problems(problem for problem in wsc if problem.labels["associative"] is label_value)
            for label, scoring in scorings_of(bench, model).items():
                bench.judged(name, part, model, scoring, ("accuracy",), label)


def show_association(store: Store) -> str:
    """Table by association: the paper's rows, then ours. Abstentions count as coins."""
    paper = published_percents(
        {
            ("association", "associative", "accuracy"): "associative",
            ("association", "non_associative", "accuracy"): "the rest",
        }
    )
    lines: list[Sequence[object]] = []
    for system, percents in paper.items():
        lines.append((f"{system}, paper", *map(percents.get, ASSOCIATION)))
    for model in models_in(store, among=LANGUAGE_MODELS):
        records = [store[key(name, model)] for name in ASSOCIATION]
        accuracies = [percent(record.find("expected_accuracy"), interval=True) for record in records]
        lines.append((shown(model), *accuracies))
    return grid(["model", "associative (37)", "the rest (236)"], lines)


SIZES = {"WSC273": 273, "PDP": 60, "SuperGLUE-WSC val": 104, "DPR test": 564, "WinoGrande dev": 1267}
SHARE = 0.55
TRIES = 10


def run_luck(bench: Bench) -> None:
    """Compute how often a coin, or the best of ten coins, has more than 55 %. No model and no data are needed."""

    def count() -> Counted:
        rows = []
        for name, n in SIZES.items():
            once = p_chance(math.floor(SHARE * n) + 1, n)
            rows.append(row(name, "luck", "all", "p_more_than_55", once, n))
            rows.append(row(name, "luck", "all", "p_best_of_10", p_best_of(TRIES, once), n))
        rows.append(row("any", "luck", "all", "n_to_beat_chance", n_to_beat_chance(SHARE) or 0, 0))
        return Counted(rows)

    bench.counted("luck", {"share": SHARE, "tries": TRIES}, count)


def show_luck(store: Store) -> str:
    """Table of both probabilities for each size, and a sentence on how many problems it takes."""
    rows = store["luck"].rows
    lines = []
    for once, best in zip(rows[:-1:2], rows[1:-1:2], strict=True):
        paper = TRICHELAIR_LUCK.values() if once.dataset == "WSC273" else ("", "")
        lines.append((once.dataset, f"{once.n:,}", number(once.value, 3), number(best.value, 3), *paper))
    header = ["dataset", "problems", "one coin above 55 %", "best of ten", "paper, one", "paper, best of ten"]
    needed = f"To tell 55 % from chance (5 % level, two-sided, 80 % power) takes {rows[-1].value:.0f} problems."
    return grid(header, lines) + f"\n\n{needed}"


LABELLED = "wsc, trichelair"
register(
    Table(
        "trichelair",
        "1",
        "associative problems",
        f"{LABELLED}; no model",
        {"": show_labels},
        run_labels,
    ),
    Table("trichelair", "2", "switching", f"models; {LABELLED}", {"": show_switching}, run_switching),
    Table("trichelair", "3", "associativity", f"models; {LABELLED}", {"": show_association}, run_association),
    Table("trichelair", "B", "lucky draw", "nothing", {"": show_luck}, run_luck),
)
