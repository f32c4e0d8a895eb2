"""On the Evaluation of Common-Sense Reasoning (Trichelair et al., 2018): labels, switching, associativity, luck."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from runs.papers import TRICHELAIR_ASSOCIATIVE, TRICHELAIR_LUCK
from runs.store import Store, chosen
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
from winokit.stages.audit.published import published

CONNECTIVES = 5
LANGUAGE_MODELS = ("SmolLM2, partial", "SmolLM2, full", "trigrams", "ensemble", "builtin", "hunter")
"""The order of models in tables. A language model without a scoring in its name was asked by `partial`."""


def run_labels(bench: Bench) -> None:
    """Count the released labels and how WSC273 is built."""
    from winokit.data.checks.statistics import Structure

    wsc = bench.wsc273()

    def count() -> Counted:
        built = Structure(wsc)
        rows = [
            row("WSC273", "statistics", "all", name, sum(problem.labels[name] for problem in wsc), len(wsc))
            for name in ("associative", "switchable")
        ]
        rows.append(row("WSC273", "structure", "complete", "special_last", built.special_last, built.groups))
        for name, n in built.connective.most_common(CONNECTIVES):
            rows.append(row("WSC273", "structure", name or "none", "connective", n, len(wsc)))
        return Counted(rows)

    bench.counted("labels", {"data": fingerprint(wsc)}, count)


def show_labels(store: Store) -> str:
    """Shares of associative and switchable problems, of final special words, and of connectives."""
    record = store["labels"]

    def share(metric: str, of: str = "", rest: bool = False) -> str:
        count = record.find(metric)
        assert count is not None
        n = count.n - count.value if rest else count.value
        return f"{n:.0f} of {count.n}{of}, {percent(n / count.n)}"

    begins = [
        f"{'a new sentence' if connective.subset == '.' else f'*{connective.subset}*'} {connective.value:.0f}"
        for connective in record.rows
        if connective.metric == "connective"
    ]
    associative, others = TRICHELAIR_ASSOCIATIVE
    lines = [
        ("associative", associative, share("associative")),
        ("not associative", others, share("associative", rest=True)),
        ("switchable", "131, 47", share("switchable")),
        ("the special word is the last word", "many", share("special_last", " groups")),
        ("the blank's clause begins with", "often *because*", ", ".join(begins)),
    ]
    return grid(["of WSC273", "paper", "here"], lines)


STYLES = {"paper": "as released", "mended": "mended"}
SWITCHING = (
    "all 273",
    "unswitched",
    *(f"{what}, {how}" for how in STYLES.values() for what in ("switched", "consistency")),
)


def scorings_of(bench: Bench, model: str) -> dict[str, str | None]:
    """What a model is asked by, under the name its rows have: a language model by `partial` and by `full`."""
    if loaded(bench.models[model]).kind == "causal":
        return {f"{model}, {scoring}": scoring for scoring in ("partial", "full")}
    return {model: None}


def run_switching(bench: Bench) -> None:
    """WSC273, its switchable half, and that half switched: as released, and mended."""
    from winokit.methods.transforms.switch import switch

    wsc = bench.wsc273()
    half = wsc.filter(lambda problem: bool(problem.labels["switchable"]))
    for model in bench.models:
        for label, scoring in scorings_of(bench, model).items():
            bench.judged("all 273", wsc, model, scoring, ("accuracy", "luck"), label)
            before = bench.judged("unswitched", half, model, scoring, ("accuracy",), label)
            for style, how in STYLES.items():
                name = f"switched, {how}"
                switched = named(name, (switch(problem, style=style) for problem in half))
                after = bench.judged(name, switched, model, scoring, ("accuracy",), label)
                pairs = [chosen(before.predictions["unswitched"]), chosen(after.predictions[name])]
                agree = row(name, "switching", "switchable", "consistency", consistency(*pairs), len(half), model=label)
                if after.find("consistency") is None:
                    bench.store.put(replace(after, rows=(*after.rows, agree)))


def _published(cells: dict[tuple[str, str, str], str]) -> dict[str, dict[str, Any]]:
    """The paper's rows, by system and column, in per cent."""
    by_system: dict[str, dict[str, Any]] = {}
    for fact in published("wsc273"):
        name = cells.get((fact.protocol, fact.subset, fact.metric))
        if fact.source is CITATIONS["TRICHELAIR"] and name:
            by_system.setdefault(fact.system.split(" (")[0], {})[name] = percent(fact.value)
    return by_system


def show_switching(store: Store) -> str:
    """The paper's rows, then ours; abstentions count as coins."""
    paper = _published(
        {
            ("accuracy", "all", "accuracy"): "all 273",
            ("switching", "switchable", "accuracy"): "unswitched",
            ("switching", "switchable", "switched_accuracy"): "switched, as released",
            ("switching", "switchable", "consistency"): "consistency, as released",
        }
    )
    lines = [(f"{who}, paper", *(cells.get(name) for name in SWITCHING)) for who, cells in paper.items()]
    for model in models_in(store, among=LANGUAGE_MODELS):
        cells = []
        for name in SWITCHING:
            what, _, how = name.partition(", ")
            record = store[key(f"switched, {how}" if how else name, model)]
            cells.append(percent(record.find("consistency" if what == "consistency" else "expected_accuracy")))
        lines.append((shown(model), *cells))
    return grid(["model", *SWITCHING], lines)


ASSOCIATION = {"associative": True, "the rest": False}


def run_association(bench: Bench) -> None:
    """WSC273 by Trichelair et al.'s labels."""
    wsc = bench.wsc273()
    for model in bench.models:
        for name, wanted in ASSOCIATION.items():
            part = wsc.filter(lambda problem, wanted=wanted: problem.labels["associative"] is wanted)  # type: ignore[misc]
            for label, scoring in scorings_of(bench, model).items():
                bench.judged(name, part, model, scoring, ("accuracy",), label)


def show_association(store: Store) -> str:
    """The paper's rows, then ours; abstentions count as coins."""
    paper = _published(
        {
            ("association", "associative", "accuracy"): "associative",
            ("association", "non_associative", "accuracy"): "the rest",
        }
    )
    lines = [(f"{who}, paper", *(cells.get(name) for name in ASSOCIATION)) for who, cells in paper.items()]
    for model in models_in(store, among=LANGUAGE_MODELS):
        records = [store[key(name, model)] for name in ASSOCIATION]
        lines.append((shown(model), *(percent(record.find("expected_accuracy"), interval=True) for record in records)))
    return grid(["model", "associative (37)", "the rest (236)"], lines)


SIZES = {"WSC273": 273, "PDP": 60, "SuperGLUE-WSC val": 104, "DPR test": 564, "WinoGrande dev": 1267}
SHARE, TRIES = 0.55, 10


def run_luck(bench: Bench) -> None:
    """How often a coin, or the best of ten coins, has more than 55 %; no model and no data are needed."""

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
    """Both probabilities for each size, and how many problems it takes."""
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
