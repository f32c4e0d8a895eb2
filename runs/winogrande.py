"""WinoGrande, first version (Sakaguchi et al., 2019): what needs no training, on the public files of version 1.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import compress, product
from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from winokit.stages.debias.features import DebiasFeatures

# Table 1: what the paper says of twins of WSC273, by words they have. The public files of DPR do not have the lions.
TWINS = {"trophy doesn't fit": "fair", "what time the library closes": "fair", "roof of my house": "biased"}
LIONS = Problem(
    "The lions ate the zebras because ", " are predators.", ("the lions", "the zebras"), 0, "they", group="4"
)
FORMS = ("fair: whole", "fair: clause alone", "biased: whole", "biased: clause alone")


def run_examples(bench: Bench) -> None:
    """Judge every model on eight twins whole, and on the clause with the blank alone."""
    wsc = bench.wsc273()
    twins: dict[str, list[Problem]] = {"fair": [], "biased": []}
    for words, kind in TWINS.items():
        twins[kind] += [problem for problem in wsc if words in problem.text]
    twins["biased"] += [LIONS, LIONS.replace(after=" are meaty.", answer=1)]
    for model in bench.models:
        for kind, problems in twins.items():
            bench.judged(f"{kind}: whole", Dataset(problems, Card(kind)), model, protocols=("accuracy",))
            clauses = named(kind, map(local_context, problems))
            bench.judged(f"{kind}: clause alone", clauses, model, protocols=("accuracy",))


def show_examples(store: Store) -> str:
    """Table of how many of four problems each model has right, by kind and form."""
    lines = []
    for model in models_in(store):
        right_counts = [right_count(store[key(form, model)]) for form in FORMS]
        lines.append((shown(model), *right_counts))
    return grid(["right, of four", *FORMS], lines)


def right_count(record: Record) -> str:
    """Number of problems that a record's model has right, or empty if it has no accuracy."""
    accuracy = record.find("accuracy", "all")
    return "" if accuracy is None else f"{accuracy.value * accuracy.n:.0f}"


def files_of_winobias() -> tuple[str, ...]:
    """WinoBias's eight files: pro- and anti-stereotyped, types 1 and 2, dev and test."""
    sides = product(("pro", "anti"), (1, 2), ("dev", "test"))
    return tuple(f"winobias/{side}_stereotyped_type{kind}.txt.{part}" for side, kind, part in sides)


class StatisticsSource(NamedTuple):
    """A row of Table 2: the paper's name of the dataset, and how its files are read."""

    name: str
    files: tuple[str, ...]
    format: str | None = None
    view: str | None = None


SOURCES = (
    StatisticsSource("WSC", ("wsc/WSCollection.xml",), "wsc273"),
    StatisticsSource("DPR", ("dpr/train.c.txt", "dpr/test.c.txt")),
    StatisticsSource("PDP", ("pdp/PDPChallenge2016.xml",), view="binary"),
    StatisticsSource("COPA", ("copa/copa-dev.xml", "copa/copa-test.xml")),
    StatisticsSource("Winogender", ("winogender/all_sentences.tsv",)),
    StatisticsSource("WinoBias", files_of_winobias()),
    StatisticsSource("SuperGLUE-WSC", tuple(f"superglue-wsc/{part}.jsonl" for part in ("train", "val", "test"))),
    StatisticsSource(
        "WinoGrande, debiased", tuple(f"winogrande/{part}.jsonl" for part in ("train_debiased", "dev", "test"))
    ),
    StatisticsSource("WinoGrande, all", tuple(f"winogrande/{part}.jsonl" for part in ("train_xl", "dev", "test"))),
)
COUNTS = ("problems", "mean_words", "vocabulary")


def run_statistics(bench: Bench) -> None:
    """Count problems, Penn-Treebank-like tokens and lower-cased words, since the paper does not say how it counted.

    A problem of COPA is its premise with either alternative, since these are most of its text.
    """
    for source in SOURCES:
        settings = {"files": list(source.files), "view": source.view}
        bench.counted(source.name, settings, partial(count_words, bench, source))


def count_words(bench: Bench, source: StatisticsSource) -> Counted:
    """Count the three numbers of a row of Table 2."""
    problems: list[Problem] = []
    for file in source.files:
        problems += bench.load(file, source.format, as_=source.view, groups=False)
    texts = problems
    if source.name == "COPA":
        texts = []
        for problem in problems:
            texts += [problem.replace(pronoun=candidate) for candidate in problem.candidates]
    statistics = winokit.statistics(Dataset(texts))
    values = (len(problems), statistics.mean_words, statistics.vocabulary)
    rows = []
    for metric, value in zip(COUNTS, values, strict=True):
        rows.append(row(source.name, "statistics", "all", metric, value, len(problems)))
    return Counted(rows)


def show_statistics(store: Store) -> str:
    """Table of the paper's three numbers beside ours."""
    lines = []
    for name, paper in WINOGRANDE_TABLE_2.items():
        cells = []
        for metric, theirs, digits in zip(COUNTS, paper, (0, 1, 0), strict=True):
            ours = store[name].value(metric)
            cells += [number(theirs, digits), number(ours, digits)]
        lines.append((name, *cells))
    return grid(
        ["dataset", "problems: paper", "ours", "mean length: paper", "ours", "vocabulary: paper", "ours"], lines
    )


KL_METRICS = ("kl_histogram", "kl_knn", "kl_gaussian")
ARM_METRICS = ("n_kept", "n_groups_split", "probe_accuracy", *KL_METRICS)
ARMS = {
    "all": "all",
    "random": "random",
    "pmi": "PMI",
    "aflite": "AFLite",
    "released": "released as debiased",
    "as many": "random, as many",
}


def run_divergence(bench: Bench) -> None:
    """Run AFLite with the paper's settings on train_xl, and measure its baselines and the authors' own kept part."""
    data = bench.load("winogrande/train_xl.jsonl")
    for model, spec in bench.models.items():
        aflite: dict[str, Any] = dict(WINOGRANDE_FIRST_AFLITE)
        if len(data) <= aflite["train_size"]:
            aflite |= {"train_size": None, "cutoff": None}
        settings = {"model": short(spec), "features": "concat, first", **aflite, "seed": 0, "data": fingerprint(data)}
        record_key = key("train_xl", model)
        if not bench.store.has(record_key, settings):
            check_free(bench.store, record_key, settings)
            rows = tuple(divergence_rows(bench, data, model, aflite))
            bench.store.put(Record(record_key, settings, rows, made_with=made_with("onnxruntime")))


def divergence_rows(bench: Bench, data: Dataset, model: str, aflite: Mapping[str, Any]) -> list[Metric]:
    """Rows of every arm of Figure 1: AFLite, its baselines, the authors' kept part, and what relabelled runs remove."""
    from winokit.methods.aflite.aflite import RepeatedAFLite
    from winokit.stages.debias.run import debias

    features = features_of(bench, data, model)
    debiased = debias(data, RepeatedAFLite(**aflite, seeds=1, null_runs=39, seed=0), features=features)
    rows = []
    for arm, metric in product(debiased.arms, ARM_METRICS):
        rows.append(debiased.rows[arm.name, metric])
    rows += rows_of_authors(bench, data, features.rows[:], debiased.settings["assessment"]["bins"])
    null = debiased.null
    if null is not None:
        low = min(null.null_removed)
        high = max(null.null_removed)
        rows.append(row("train_xl", "debias", "aflite", "removed", null.removed, len(data)))
        rows.append(row("train_xl", "debias", "relabelled", "removed", null.expected, len(data), low=low, high=high))
    return rows


def features_of(bench: Bench, data: Dataset, model: str) -> DebiasFeatures:
    """Features of every problem: read from --features if given, otherwise embedded with the model."""
    from winokit.drawing.tables import progress_bar
    from winokit.methods.scoring.cache import open_cache
    from winokit.stages.debias.features import embedded, read_features

    if bench.more.features:
        return read_features(bench.more.features, data)
    with open_cache(bench.cache) as cache, progress_bar(f"embedding, {model}") as progress:
        return embedded(data, bench.models[model], kind="concat", pooling="first", cache=cache, progress=progress)


def rows_of_authors(bench: Bench, data: Dataset, features: NDArray[Any], bins: int) -> Iterator[Metric]:
    """Measure the problems that the authors' own run kept, and as many drawn at random."""
    from winokit.methods.aflite.divergence import divergence, estimators, principal_components
    from winokit.methods.aflite.probe import linear_probe
    from winokit.methods.aflite.random_reduction import random_reduction

    kept_ids = {problem.id for problem in bench.load("winogrande/train_debiased.jsonl")}
    released = np.array([problem.id in kept_ids for problem in data])
    random_subset = random_reduction(len(data), int(released.sum()), seed=0)
    for arm, keep in (("released", released), ("as many", random_subset)):
        problems = list(compress(data, keep))
        answers = np.array([problem.answer for problem in problems])
        projected = principal_components(features).project(features, keep)[:, 0]
        probe = linear_probe(features[np.flatnonzero(keep)], answers, data.units.take(keep))
        values = {"n_kept": len(problems), "probe_accuracy": probe.accuracy}
        for name, estimator in estimators(bins).items():
            values[f"kl_{name}"] = divergence(projected, answers, estimator).forward
        for metric, value in values.items():
            yield row("train_xl", "debias", arm, metric, value, len(problems))


def show_divergence(store: Store) -> str:
    """Table per model of sizes, linear probe and divergences of every arm, and what relabelled runs remove."""
    header = ["problems", "kept", "twins parted", "linear probe", "KL: histogram", "neighbours", "normal", "KL, paper"]
    parts = []
    for model in models_in(store):
        record = store[key("train_xl", model)]
        # an arm without a size: nothing was removed, so that there is no size to match
        arms = [arm for arm in ARMS if record.find("n_kept", arm) is not None]
        parts.append(grid(header, [divergence_line(record, arm) for arm in arms]))
        relabelled = record.find("removed", "relabelled")
        if relabelled is not None:
            removed = number(record.value("removed", "aflite"), 0)
            usual = number(relabelled.value, 0)
            parts.append(
                f"AFLite removed {removed} problems; runs on shuffled labels remove {usual} on average, "
                f"{number(relabelled.low or 0, 0)} to {number(relabelled.high or 0, 0)}."
            )
    return "\n\n".join(parts)


def divergence_line(record: Record, arm: str) -> list[object]:
    """Line of one arm in `show_divergence`."""
    kept_count = number(record.value("n_kept", arm), 0)
    split_groups = record.find("n_groups_split", arm)
    parted = "" if split_groups is None else number(split_groups.value, 0)
    probe = percent(record.value("probe_accuracy", arm))
    divergences = [number(record.value(metric, arm), 3) for metric in KL_METRICS]
    return [ARMS[arm], kept_count, parted, probe, *divergences, WINOGRANDE_KL.get(arm)]


TRAITS = ("negated", "because", "instead", "better", "than", "and", "it", "although", "or")


def run_removed(bench: Bench) -> None:
    """Count traits of the problems of train_xl that the authors' debiased training set lacks, and of those it keeps."""
    data = bench.load("winogrande/train_xl.jsonl")
    kept_ids = {problem.id for problem in bench.load("winogrande/train_debiased.jsonl")}
    settings = {"data": fingerprint(data), "kept": len(kept_ids)}

    def count() -> Counted:
        return Counted([*rows_of_fates(data, kept_ids), *rows_of_traits(data, kept_ids)])

    bench.counted("train_xl", settings, count)


def rows_of_fates(data: Dataset, kept_ids: Set[str]) -> Iterator[Metric]:
    """Count the groups that were kept, removed or parted."""
    fates = Counter(fate_of(members, kept_ids) for members in data.groups.values())
    for fate, count in fates.items():
        yield row("train_xl", "twins", "all", fate, count, len(data.groups))


def fate_of(members: Sequence[Problem], kept_ids: Set[str]) -> str:
    """Say whether a group's members were all kept, all removed, or parted."""
    kept_count = sum(member.id in kept_ids for member in members)
    if not kept_count:
        return "removed"
    return "kept" if kept_count == len(members) else "parted"


def rows_of_traits(data: Dataset, kept_ids: Set[str]) -> Iterator[Metric]:
    """Compare how often removed and kept problems have a trait: a negation, or one of some words."""
    from winokit.methods.aflite.overuse import Sides, overused_polarity, overused_words

    is_removed = np.array([problem.id not in kept_ids for problem in data])
    sides = Sides(is_removed, data.units)
    texts = [words_of(problem) for problem in data]
    words = overused_words(texts, sides)
    different_count = sum(word.q < 0.05 for word in words)
    yield row("train_xl", "overuse", "words", "surely_different", different_count, len(words))
    shown_words = [word for word in words if word.trait in TRAITS]
    for overuse in (*overused_polarity(texts, sides), *shown_words):
        removed_share = overuse.removed / overuse.of_removed
        kept_share = overuse.kept / overuse.of_kept
        yield row("train_xl", "overuse", overuse.trait, "removed", removed_share, len(data))
        yield row("train_xl", "overuse", overuse.trait, "kept", kept_share, len(data))
        bounds = {"low": overuse.low, "high": overuse.high}
        yield row("train_xl", "overuse", overuse.trait, "log_odds", overuse.log_odds, len(data), **bounds)


def words_of(problem: Problem) -> list[str]:
    """Lower-cased tokens of a problem without its blank."""
    from winokit.text.words import ptb

    return [word.lower() for word in ptb(problem.sentence) if word != BLANK]


def show_removed(store: Store) -> str:
    """Table of traits by how often removed and kept problems have them, and a sentence on the pairs."""
    record = store["train_xl"]
    lines = []
    for trait in TRAITS:
        odds = record.find("log_odds", trait)
        if odds is not None:
            sign = "" if odds.value < 0 else "+"
            bounds = f"[{number(odds.low or 0, 2)}, {number(odds.high or 0, 2)}]"
            shares = [percent(record.value(side, trait)) for side in ("removed", "kept")]
            name = "a negation" if trait == "negated" else trait
            lines.append((name, *shares, f"{sign}{number(odds.value, 2)} {bounds}"))
    table = grid(["trait", "of the removed", "of the kept", "log odds"], lines)
    return f"{table}\n\n{said_of_fates(record)}"


def said_of_fates(record: Record) -> str:
    """Say how many pairs were removed whole, parted and kept, and how many words differ."""
    fates = {row.metric: number(row.value, 0) for row in record.rows if row.protocol == "twins"}
    removed_count, parted_count, kept_count = (fates.get(fate, "none") for fate in ("removed", "parted", "kept"))
    different = record.row("surely_different")
    return (
        f"Of {number(record.rows[0].n, 0)} pairs, {removed_count} were removed whole, {parted_count} parted and "
        f"{kept_count} kept. {different.value:.0f} of {different.n:,} words differ (false discovery rate 5 %)."
    )


STANDS_FOR = {
    "a coin": "Random",
    "hunter": "Knowledge hunting",
    "ensemble": "Ensemble of LMs",
    "SmolLM2": "OpenAI-GPT",
    "builtin": "BERT, as a language model",
}
"""Whose row of Table 4 a model here stands beside."""


def run_baselines(bench: Bench) -> None:
    """Judge every model on dev, and on its local contexts alone: two words before the blank, and what follows."""
    dev = bench.load("winogrande/dev.jsonl")
    local_contexts = named("local context", (local_context(problem, style="paper") for problem in dev))
    for model in bench.models:
        bench.judged("dev", dev, model)
        bench.judged("local context", local_contexts, model)


def show_baselines(store: Store) -> str:
    """Table of the paper's rows that need no training, and the models that stand beside them.

    Abstentions count as coins.
    """
    lines = [baseline_line(store, model) for model in models_in(store)]
    lines.append(["People", *WINOGRANDE_TABLE_4["People"], "not asked here", "", "", ""])
    return grid(["", "dev, paper", "test, paper", "model here", "dev, here", "pairs", "local context"], lines)


def baseline_line(store: Store, model: str) -> list[object]:
    """Line of one model in `show_baselines`, with the paper's row it stands beside if there is one."""
    on_dev = store[key("dev", model)]
    accuracy = percent(on_dev.find("expected_accuracy", "all"), interval=True)
    pairs = percent(on_dev.find("group_accuracy", "complete"), interval=True)
    local_accuracy = percent(store[key("local context", model)].find("expected_accuracy", "all"), interval=True)
    name = shown(model)
    abstained = on_dev.find("abstained", "all")
    if abstained is not None and abstained.value > 0.5:
        name += f" (answers {100 - 100 * abstained.value:.0f} %)"
    paper = STANDS_FOR.get(model, "")
    theirs = WINOGRANDE_TABLE_4[paper] if paper else ("", "")
    return [paper, *theirs, name, accuracy, pairs, local_accuracy]


ELSEWHERE = (
    ("WSC", "wsc/WSCollection.xml", "wsc273", None),
    ("PDP", "pdp/PDPChallenge2016.xml", None, "binary"),
    ("DPR test", "dpr/test.c.txt", None, None),
    ("COPA test", "copa/copa-test.xml", None, None),
)


def run_elsewhere(bench: Bench) -> None:
    """Judge every model on WSC, PDP, DPR and COPA.

    On COPA a causal model compares whole texts, since nothing follows the alternative.
    """
    for name, file, format_name, view in ELSEWHERE:
        data = bench.load(file, format_name, as_=view)
        for model, spec in bench.models.items():
            compares_texts = name == "COPA test" and loaded(spec).kind == "causal"
            bench.judged(name, data, model, scoring="full" if compares_texts else None)


def show_elsewhere(store: Store) -> str:
    """Table of what the paper quotes for untrained systems, then ours. Abstentions count as coins."""
    lines: list[Sequence[object]] = []
    for system, cells in WINOGRANDE_TABLE_5.items():
        lines.append((f"{system}, paper", *cells))
    names = [name for name, *_ in ELSEWHERE]
    for model in models_in(store, among=("SmolLM2", "builtin", "trigrams", "hunter")):
        accuracies = []
        for name in names:
            record = store.records.get(key(name, model))
            accuracy = None if record is None else record.find("expected_accuracy", "all")
            accuracies.append(percent(accuracy, interval=True))
        lines.append((shown(model), *accuracies))
    return grid(["", *(f"{name} ({stored_size(store, name)})" for name in names)], lines)


def stored_size(store: Store, name: str) -> int:
    """Number of problems of a dataset, from the first model that was judged on it."""
    records = (record for record_key, record in store.records.items() if record_key.startswith(f"{name} |"))
    size: int = next(records).settings["problems"]
    return size


CELLS = ("female.not_gotcha", "female.gotcha", "male.not_gotcha", "male.gotcha")


def run_gender(bench: Bench) -> None:
    """Judge every model on Winogender, with the scoring `pronoun` if it fits.

    A model that fills the blank sees no gender. `pronoun` takes two named candidates, so that the half with
    "someone" is left out.
    """
    from winokit.methods.scoring.base import SCORINGS, fits

    data = bench.load("winogender/all_sentences.tsv")
    for model, spec in bench.models.items():
        is_trained = hasattr(loaded(spec), "formalization")
        sees_pronoun = fits(SCORINGS["pronoun"], loaded(spec)) and not is_trained
        problems = data.filter(both_named) if sees_pronoun else data
        scoring = "pronoun" if sees_pronoun else None
        bench.judged("Winogender", problems, model, scoring=scoring, protocols=("accuracy", "gender"))


def both_named(problem: Problem) -> bool:
    """Whether no candidate of a problem is just "someone"."""
    return "someone" not in (candidate.casefold() for candidate in problem.candidates)


def show_gender(store: Store) -> str:
    """Table of Winogender: the coreference systems of the paper, then ours, with four cells and two gaps."""
    lines: list[Sequence[object]] = []
    paper = published_cells("winogender/all_sentences", "gender", [(cell, "accuracy") for cell in CELLS])
    for system, (female, female_gotcha, male, male_gotcha) in paper.items():
        if "BERT" not in system:
            cells = map(number, (female, female_gotcha, male, male_gotcha))
            gaps = (number(female - female_gotcha), number(male - male_gotcha))
            short_name = system.split(" (")[0]
            lines.append((f"{short_name}, paper", *cells, *gaps))
    for model in models_in(store):
        record = store[key("Winogender", model)]
        accuracies = [percent(record.find("accuracy", cell, "gender")) for cell in CELLS]
        deltas = [percent(record.find("delta", gender, "gender"), interval=True) for gender in ("female", "male")]
        lines.append((f"{shown(model)}, untrained", *accuracies, *deltas))
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
