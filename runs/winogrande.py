"""WinoGrande, first version (Sakaguchi et al., 2019): what needs no training, on the public files of version 1.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import winokit
from runs.papers import (
    WINOGRANDE_FIRST_AFLITE,
    WINOGRANDE_KL,
    WINOGRANDE_TABLE_2,
    WINOGRANDE_TABLE_4,
    WINOGRANDE_TABLE_5,
    published_cells,
)
from runs.store import Record, Store, made_with
from runs.tables import (
    Bench,
    Counted,
    Table,
    check_free,
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
    short,
    shown,
)
from winokit.methods.transforms.local_context import local_context
from winokit.problem import BLANK, Card, Dataset, Problem
from winokit.results import Metric

# Table 1: what the paper says of twins of WSC273, by words they have. The public files of DPR do not have the lions.
TWINS = {"trophy doesn't fit": "fair", "what time the library closes": "fair", "roof of my house": "biased"}
LIONS = Problem(
    "The lions ate the zebras because ", " are predators.", ("the lions", "the zebras"), 0, "they", group="4"
)
FORMS = ("fair: whole", "fair: clause alone", "biased: whole", "biased: clause alone")


def run_examples(bench: Bench) -> None:
    """Score eight twins whole, and as their local context alone: is the clause with the blank enough?"""
    wsc = bench.wsc273()
    twins: dict[str, list[Problem]] = {"fair": [], "biased": []}
    for words, said in TWINS.items():
        twins[said] += [problem for problem in wsc if words in problem.text]
    twins["biased"] += [LIONS, LIONS.replace(after=" are meaty.", answer=1)]
    for model in bench.models:
        for said, problems in twins.items():
            bench.judged(f"{said}: whole", Dataset(problems, Card(said)), model, protocols=("accuracy",))
            cut = named(said, map(local_context, problems))
            bench.judged(f"{said}: clause alone", cut, model, protocols=("accuracy",))


def show_examples(store: Store) -> str:
    """How many of four each model has right."""

    def right(record: Record) -> str:
        accuracy = record.find("accuracy", "all")
        return "" if accuracy is None else f"{accuracy.value * accuracy.n:.0f}"

    lines = [(shown(m), *(right(store[key(form, m)]) for form in FORMS)) for m in models_in(store)]
    return grid(["right, of four", *FORMS], lines)


# Table 2: the paper's row, files, format, view
DATASETS: tuple[tuple[str, tuple[str, ...], str | None, str | None], ...] = (
    ("WSC", ("wsc/WSCollection.xml",), "wsc273", None),
    ("DPR", ("dpr/train.c.txt", "dpr/test.c.txt"), None, None),
    ("PDP", ("pdp/PDPChallenge2016.xml",), None, "binary"),
    ("COPA", ("copa/copa-dev.xml", "copa/copa-test.xml"), None, None),
    ("Winogender", ("winogender/all_sentences.tsv",), None, None),
    (
        "WinoBias",
        tuple(
            f"winobias/{side}_stereotyped_type{kind}.txt.{part}"
            for side in ("pro", "anti")
            for kind in (1, 2)
            for part in ("dev", "test")
        ),
        None,
        None,
    ),
    ("SuperGLUE-WSC", tuple(f"superglue-wsc/{part}.jsonl" for part in ("train", "val", "test")), None, None),
    ("WinoGrande, debiased", tuple(f"winogrande/{n}.jsonl" for n in ("train_debiased", "dev", "test")), None, None),
    ("WinoGrande, all", tuple(f"winogrande/{n}.jsonl" for n in ("train_xl", "dev", "test")), None, None),
)
COUNTS = ("problems", "mean_words", "vocabulary")


def run_statistics(bench: Bench) -> None:
    """Count problems, Penn-Treebank-like tokens and lower-cased words; the paper does not say how it counted.

    A problem of COPA is its premise with either alternative, since these are most of its text.
    """

    def count(name: str, files: tuple[str, ...], written: str | None, view: str | None) -> Counted:
        parts = [bench.load(file, written, as_=view, groups=False) for file in files]
        problems = [problem for part in parts for problem in part]
        texts = [p.replace(pronoun=c) for p in problems for c in p.candidates] if name == "COPA" else problems
        statistics = winokit.statistics(Dataset(texts))
        values = (len(problems), statistics.mean_words, statistics.vocabulary)
        return Counted(
            row(name, "statistics", "all", metric, value, len(problems))
            for metric, value in zip(COUNTS, values, strict=True)
        )

    for name, files, written, view in DATASETS:
        settings = {"files": list(files), "view": view}
        bench.counted(name, settings, partial(count, name, files, written, view))


def show_statistics(store: Store) -> str:
    """The paper's three numbers beside ours."""
    lines = []
    for name, paper in WINOGRANDE_TABLE_2.items():
        ours = [store[name].value(metric) for metric in COUNTS]
        pairs = zip(paper, ours, (0, 1, 0), strict=True)
        lines.append((name, *(number(value, digits) for *both, digits in pairs for value in both)))
    return grid(
        ["dataset", "problems: paper", "ours", "mean length: paper", "ours", "vocabulary: paper", "ours"], lines
    )


ARM_METRICS = ("n_kept", "n_groups_split", "probe_accuracy", "kl_histogram", "kl_knn", "kl_gaussian")
ARMS = {
    "all": "all",
    "random": "random",
    "pmi": "PMI",
    "aflite": "AFLite",
    "released": "released as debiased",
    "as many": "random, as many",
}


def run_divergence(bench: Bench) -> None:
    """AFLite with the paper's settings on train_xl, both baselines at its size, and the authors' own kept part."""
    from winokit.drawing.tables import progress_bar
    from winokit.methods.aflite.aflite import RepeatedAFLite
    from winokit.methods.scoring.cache import open_cache
    from winokit.stages.debias.features import embedded, read_features
    from winokit.stages.debias.run import debias

    data = bench.load("winogrande/train_xl.jsonl")
    for model, spec in bench.models.items():
        aflite: dict[str, Any] = dict(WINOGRANDE_FIRST_AFLITE)
        if len(data) <= aflite["train_size"]:
            aflite |= {"train_size": None, "cutoff": None}
        settings = {"model": short(spec), "features": "concat, first", **aflite, "seed": 0, "data": fingerprint(data)}
        if bench.store.has(key("train_xl", model), settings):
            continue
        check_free(bench.store, key("train_xl", model), settings)
        if bench.more.features:
            features = read_features(bench.more.features, data)
        else:
            with open_cache(bench.cache) as cache, progress_bar(f"embedding, {model}") as progress:
                features = embedded(data, spec, kind="concat", pooling="first", cache=cache, progress=progress)
        debiased = debias(data, RepeatedAFLite(**aflite, seeds=1, null_runs=39, seed=0), features=features)
        rows = [debiased.rows[arm.name, metric] for arm in debiased.arms for metric in ARM_METRICS]
        rows += _authors_arms(bench, data, features.rows[:], debiased.settings["assessment"]["bins"])
        if debiased.null is not None:
            null = debiased.null
            low, high = min(null.null_removed), max(null.null_removed)
            rows.append(row("train_xl", "debias", "aflite", "removed", null.removed, len(data)))
            rows.append(
                row("train_xl", "debias", "relabelled", "removed", null.expected, len(data), low=low, high=high)
            )
        bench.store.put(Record(key("train_xl", model), settings, tuple(rows), made_with=made_with("onnxruntime")))


def _authors_arms(bench: Bench, data: Dataset, features: NDArray[Any], bins: int) -> Iterator[Metric]:
    """The same numbers for the problems that the authors' own run kept, and for as many drawn at random."""
    from winokit.methods.aflite.divergence import divergence, estimators, principal_components
    from winokit.methods.aflite.probe import linear_probe
    from winokit.methods.aflite.random_reduction import random_reduction

    kept = {problem.id for problem in bench.load("winogrande/train_debiased.jsonl")}
    theirs = np.array([problem.id in kept for problem in data])
    drawn = random_reduction(len(data), int(theirs.sum()), seed=0)
    for arm, keep in (("released", theirs), ("as many", drawn)):
        problems = [problem for problem, stays in zip(data, keep, strict=True) if stays]
        y = np.array([problem.answer for problem in problems])
        units = data.units.take(keep)
        values = principal_components(features).project(features, keep)[:, 0]
        shares = {f"kl_{how}": divergence(values, y, kl).forward for how, kl in estimators(bins).items()}
        probe = linear_probe(features[np.flatnonzero(keep)], y, units)
        for metric, value in {"n_kept": len(problems), "probe_accuracy": probe.accuracy, **shares}.items():
            yield row("train_xl", "debias", arm, metric, value, len(problems))


def show_divergence(store: Store) -> str:
    """Sizes, linear probe and divergences of every arm, and what relabelled runs remove."""
    parts = []
    for model in models_in(store):
        record, lines = store[key("train_xl", model)], []
        for arm, name in ARMS.items():
            if record.find("n_kept", arm) is None:  # nothing was removed, so that there is no size to match
                continue
            parted = record.find("n_groups_split", arm)
            cells = [number(record.value("n_kept", arm), 0), "" if parted is None else number(parted.value, 0)]
            cells.append(percent(record.value("probe_accuracy", arm)))
            cells += [number(record.value(metric, arm), 3) for metric in ARM_METRICS[3:]]
            lines.append((name, *cells, WINOGRANDE_KL.get(arm)))
        header = ["problems", "kept", "twins parted", "linear probe", "KL: histogram", "neighbours", "normal"]
        parts.append(grid([*header, "KL, paper"], lines))
        chance = record.find("removed", "relabelled")
        if chance is not None:
            removed, usual = number(record.value("removed", "aflite"), 0), number(chance.value, 0)
            parts.append(
                f"AFLite removed {removed} problems; runs on shuffled labels remove {usual} on average, "
                f"{number(chance.low or 0, 0)} to {number(chance.high or 0, 0)}."
            )
    return "\n\n".join(parts)


TRAITS = ("negated", "because", "instead", "better", "than", "and", "it", "although", "or")


def run_removed(bench: Bench) -> None:
    """What the authors' AFLite removed has more of: problems of train_xl that their debiased training set lacks."""
    from winokit.methods.aflite.overuse import Sides, overused_polarity, overused_words
    from winokit.text.words import ptb

    data = bench.load("winogrande/train_xl.jsonl")
    kept = {problem.id for problem in bench.load("winogrande/train_debiased.jsonl")}

    def count() -> Counted:
        gone = np.array([problem.id not in kept for problem in data])
        sides = Sides(gone, data.units)
        texts = [[word.lower() for word in ptb(problem.sentence) if word != BLANK] for problem in data]
        words = overused_words(texts, sides)
        rows = [
            row("train_xl", "twins", "all", fate, n, len(data.groups))
            for fate, n in Counter(_fate(members, kept) for members in data.groups.values()).items()
        ]
        rows.append(row("train_xl", "overuse", "words", "surely_different", sum(w.q < 0.05 for w in words), len(words)))
        for overuse in (*overused_polarity(texts, sides), *(word for word in words if word.trait in TRAITS)):
            said = {"removed": overuse.removed / overuse.of_removed, "kept": overuse.kept / overuse.of_kept}
            rows += [row("train_xl", "overuse", overuse.trait, side, value, len(data)) for side, value in said.items()]
            log_odds = {"low": overuse.low, "high": overuse.high}
            rows.append(row("train_xl", "overuse", overuse.trait, "log_odds", overuse.log_odds, len(data), **log_odds))
        return Counted(rows)

    bench.counted("train_xl", {"data": fingerprint(data), "kept": len(kept)}, count)


def _fate(members: tuple[Problem, ...], kept: set[str]) -> str:
    stay = sum(member.id in kept for member in members)
    return "removed" if not stay else "kept" if stay == len(members) else "parted"


def show_removed(store: Store) -> str:
    """Traits by how often the removed and the kept have them."""
    record = store["train_xl"]
    lines = []
    for trait in TRAITS:
        odds = record.find("log_odds", trait)
        if odds is not None:
            sign = "" if odds.value < 0 else "+"
            bounds = f"[{number(odds.low or 0, 2)}, {number(odds.high or 0, 2)}]"
            shares = (percent(record.value(side, trait)) for side in ("removed", "kept"))
            lines.append(
                ("a negation" if trait == "negated" else trait, *shares, f"{sign}{number(odds.value, 2)} {bounds}")
            )
    fates = {row.metric: number(row.value, 0) for row in record.rows if row.protocol == "twins"}
    twins = {fate: fates.get(fate, "none") for fate in ("removed", "parted", "kept")}
    sure = record.find("surely_different")
    assert sure is not None
    said = (
        f"Of {number(record.rows[0].n, 0)} pairs, {twins['removed']} were removed whole, {twins['parted']} parted and "
        f"{twins['kept']} kept. {sure.value:.0f} of {sure.n:,} words differ (false discovery rate 5 %)."
    )
    return grid(["trait", "of the removed", "of the kept", "log odds"], lines) + f"\n\n{said}"


STANDS_FOR = {
    "a coin": "Random",
    "hunter": "Knowledge hunting",
    "ensemble": "Ensemble of LMs",
    "SmolLM2": "OpenAI-GPT",
    "builtin": "BERT, as a language model",
}
"""Whose row of Table 4 a model here stands beside."""


def run_baselines(bench: Bench) -> None:
    """Dev, and its local contexts alone: two words before the blank, and what follows."""
    dev = bench.load("winogrande/dev.jsonl")
    cut = named("local context", (local_context(problem, style="paper") for problem in dev))
    for model in bench.models:
        bench.judged("dev", dev, model)
        bench.judged("local context", cut, model)


def show_baselines(store: Store) -> str:
    """The paper's rows that need no training, and the models that stand beside them. Abstentions count as coins."""
    lines: list[tuple[object, ...]] = []
    for model in models_in(store):
        whole, cut = store[key("dev", model)], store[key("local context", model)]
        cells = [percent(record.find("expected_accuracy", "all"), interval=True) for record in (whole, cut)]
        pairs = percent(whole.find("group_accuracy", "complete"), interval=True)
        silent = whole.find("abstained", "all")
        answered = f" (answers {100 - 100 * silent.value:.0f} %)" if silent is not None and silent.value > 0.5 else ""
        paper = STANDS_FOR.get(model, "")
        theirs = WINOGRANDE_TABLE_4[paper] if paper else ("", "")
        lines.append((paper, *theirs, f"{shown(model)}{answered}", cells[0], pairs, cells[1]))
    lines.append(("People", *WINOGRANDE_TABLE_4["People"], "not asked here", "", "", ""))
    return grid(["", "dev, paper", "test, paper", "model here", "dev, here", "pairs", "local context"], lines)


ELSEWHERE = (
    ("WSC", "wsc/WSCollection.xml", "wsc273", None),
    ("PDP", "pdp/PDPChallenge2016.xml", None, "binary"),
    ("DPR test", "dpr/test.c.txt", None, None),
    ("COPA test", "copa/copa-test.xml", None, None),
)


def run_elsewhere(bench: Bench) -> None:
    """WSC, PDP, DPR and COPA. On COPA a causal model compares whole texts, since nothing follows the alternative."""
    for name, file, written, view in ELSEWHERE:
        data = bench.load(file, written, as_=view)
        for model, spec in bench.models.items():
            whole = name == "COPA test" and loaded(spec).kind == "causal"
            bench.judged(name, data, model, scoring="full" if whole else None)


def show_elsewhere(store: Store) -> str:
    """What the paper quotes for untrained systems, then ours. Abstentions count as coins."""
    sizes = {name: next(r for k, r in store.records.items() if k.startswith(f"{name} |")) for name, *_ in ELSEWHERE}
    lines: list[tuple[object, ...]] = [(f"{who}, paper", *cells) for who, cells in WINOGRANDE_TABLE_5.items()]
    for model in models_in(store, among=("SmolLM2", "builtin", "trigrams", "hunter")):
        records = [store.records.get(key(name, model)) for name, *_ in ELSEWHERE]
        cells = [None if record is None else record.find("expected_accuracy", "all") for record in records]
        lines.append((shown(model), *(percent(cell, interval=True) for cell in cells)))
    return grid(["", *(f"{name} ({sizes[name].settings['problems']})" for name in sizes)], lines)


CELLS = ("female.not_gotcha", "female.gotcha", "male.not_gotcha", "male.gotcha")


def run_gender(bench: Bench) -> None:
    """Winogender, by `pronoun` where a model can be asked so: one that fills the blank never sees the gender.

    That takes two named candidates, so that the half with "someone" is left out.
    """
    from winokit.methods.scoring.base import SCORINGS, fits

    data = bench.load("winogender/all_sentences.tsv")
    for model, spec in bench.models.items():
        sees = fits(SCORINGS["pronoun"], loaded(spec)) and not hasattr(loaded(spec), "formalization")
        problems = data.filter(both_named) if sees else data
        scoring = "pronoun" if sees else None
        bench.judged("Winogender", problems, model, scoring=scoring, protocols=("accuracy", "gender"))


def both_named(problem: Problem) -> bool:
    """Whether no candidate is just "someone"."""
    return "someone" not in (candidate.casefold() for candidate in problem.candidates)


def show_gender(store: Store) -> str:
    """The coreference systems of the paper, then ours: four cells and two gaps."""
    lines: list[tuple[object, ...]] = []
    paper = published_cells("winogender/all_sentences", "gender", [(cell, "accuracy") for cell in CELLS])
    for who, (f, f_gotcha, m, m_gotcha) in paper.items():
        if "BERT" not in who:
            gaps = (number(f - f_gotcha), number(m - m_gotcha))
            lines.append((f"{who.split(' (')[0]}, paper", *map(number, (f, f_gotcha, m, m_gotcha)), *gaps))
    for model in models_in(store):
        record = store[key("Winogender", model)]
        cells = [percent(record.find("accuracy", cell, "gender")) for cell in CELLS]
        deltas = [percent(record.find("delta", gender, "gender"), interval=True) for gender in ("female", "male")]
        lines.append((f"{shown(model)}, untrained", *cells, *deltas))
    return grid(["model", "female", "female, gotcha", "male", "male, gotcha", "ΔF", "ΔM"], lines)


MODELS = "models"
register(
    Table("winogrande", "1", "examples of bias", f"{MODELS}; wsc, trichelair", {"": show_examples}, run_examples),
    Table("winogrande", "2", "statistics", "nine datasets, no model", {"": show_statistics}, run_statistics),
    Table(
        "winogrande",
        "figure-1",
        "divergence before and after AFLite",
        "winogrande; builtin, or --features; a quarter of an hour",
        {"": show_divergence},
        run_divergence,
    ),
    Table("winogrande", "3", "what AFLite removed", "winogrande, no model", {"": show_removed}, run_removed),
    Table("winogrande", "4", "baselines", f"{MODELS}; winogrande", {"": show_baselines}, run_baselines),
    Table(
        "winogrande", "5", "transfer, untrained", f"{MODELS}; wsc, pdp, dpr, copa", {"": show_elsewhere}, run_elsewhere
    ),
    Table("winogrande", "6", "gender, untrained", f"{MODELS}; winogender", {"": show_gender}, run_gender),
)
