"""Back to Square One (Elazar et al., 2021): group scores, artifacts and special words, before any training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, product
from time import perf_counter

import winokit
from runs.papers import (
    SQUARE_ONE_MATCHED,
    SQUARE_ONE_PAIRS,
    SQUARE_ONE_ROBERTA,
    SQUARE_ONE_SIZES,
    SQUARE_ONE_UNTRAINED,
    SQUARE_ONE_ZERO_SHOT_NA,
    published_cells,
)
from runs.store import Record, Store, letters, made_with
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
    renamed,
    shown,
    single_and_group,
)
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.special_word import (
    Pair,
    non_associative,
    special_word_pairs,
    twin_pairs,
)
from winokit.models.pieces import piece_counts
from winokit.problem import Card, Dataset, Problem

BASELINES = {"no-cands": no_cands, "part-sent": part_sent}
VARIANTS = ("original", *BASELINES)
SETS = ("WSC", "WSC-na", "WinoGrande")
MODELS = ("builtin", "SmolLM2")
"""The order of models in tables."""


def in_pairs(bench: Bench) -> dict[str, Dataset]:
    """Load WSC, WSC-na and WinoGrande's dev set, reduced to twin pairs, by name."""
    wsc = bench.wsc273()
    dev = bench.load("winogrande/dev.jsonl")
    sets = {"WSC": wsc, "WSC-na": non_associative(wsc, style="elazar"), "WinoGrande": dev}
    return {name: unfolded(name, twin_pairs(data)) for name, data in sets.items()}


def baselines(data: Dataset, style: str = "code") -> dict[str, Dataset]:
    """Make the original, no-cands and part-sent variants of a dataset of pairs.

    A problem whose twin could not be made is left out too. `style` is whose rules make the variants.
    """
    variants = {"original": data}
    for name, transform in BASELINES.items():
        variant = named(f"{data.card.name} {name}", (transform(problem, style=style) for problem in data))
        variants[name] = variant.with_problems(with_both_twins(variant))
    return variants


def with_both_twins(problems: Iterable[Problem]) -> list[Problem]:
    """Keep only problems whose group has exactly two members among them."""
    problems = list(problems)
    member_counts = Counter(problem.group for problem in problems)
    return [problem for problem in problems if problem.group is not None and member_counts[problem.group] == 2]


def special_words(data: Dataset) -> list[Pair]:
    """Make special-word pairs as the released code does, each word one piece of the built-in model's vocabulary.

    The paper asks for one piece in each of six tokenizers, and that vocabulary is BERT's, one of the six.
    """
    pairs = special_word_pairs(data, style="code")
    words: list[str] = []
    for first, _ in pairs:
        words += first.candidates
    counts = piece_counts(words)

    def has_single_pieces(pair: Pair) -> bool:
        return all(counts[word] == 1 for word in pair[0].candidates)

    return list(filter(has_single_pieces, pairs))


def unfolded(name: str, pairs: Iterable[Pair]) -> Dataset:
    """Make a dataset of the problems of all pairs, in order."""
    return Dataset(chain.from_iterable(pairs), Card(name))


def originals(data: Dataset, pairs: Iterable[Pair]) -> Dataset:
    """Keep the problems of a dataset that special-word pairs were made from."""
    original_ids = {str(problem.provenance["of"]) for problem in chain.from_iterable(pairs)}
    return named(f"{data.card.name} matched", (problem for problem in data if problem.id in original_ids))


def word_scoring(bench: Bench, model: str) -> str | None:
    """Scoring for special words: the whole text if the model reads from left to right, otherwise its default."""
    return "full" if loaded(bench.models[model]).kind == "causal" else None


TROPHY = "trophy doesn't fit"
STYLES = {"paper": "paper", "code": "code", "default": "ours"}


def run_variants(bench: Bench) -> None:
    """Make every variant of one pair as the paper says, as the released code does it, and as winokit does it."""
    twins = bench.wsc273().filter(lambda problem: TROPHY in problem.text)

    def count() -> Counted:
        """Collect the texts, by "VARIANT | MAKER"."""
        texts = {"original | ": twins[0].text.replace("_", str(twins[0].pronoun))}
        for name, transform in BASELINES.items():
            for style, maker in STYLES.items():
                variant = transform(twins[0], style=style)
                texts[f"{name} | {maker}"] = variant.text if isinstance(variant, Problem) else variant
        for style in ("code", "default"):
            first_pair = special_word_pairs(twins, style=style)[0]
            texts[f"special word | {STYLES[style]}"] = first_pair[0].text
        return Counted(texts=texts)

    bench.counted("trophy", {"data": fingerprint(twins)}, count)


def show_variants(store: Store) -> str:
    """Table of the variants, a line per different text, with all who make it so."""
    makers: dict[tuple[str, str], list[str]] = {}
    for name, text in store["trophy"].texts.items():
        variant, maker = name.split(" | ")
        makers.setdefault((variant, text), []).append(maker)
    lines = [(variant, ", ".join(names), text) for (variant, text), names in makers.items()]
    return grid(["variant", "made as", "text"], lines)


PUBLIC = "a public RoBERTa"
TWINS = {
    "all": ("accuracy", "all", "accuracy"),
    "twins": ("accuracy", "grouped", "groups"),
    "no twin": ("accuracy", "single", "groups"),
    "groups": ("group_accuracy", "complete", "groups"),
}


def run_artifacts(bench: Bench) -> None:
    """Judge public predictions for dev, then every model on every variant of every set."""
    if bench.limit is None:
        judge_public_predictions(bench)
    for name, data in in_pairs(bench).items():
        for variant, problems in baselines(data).items():
            for model in bench.models:
                bench.judged(f"{name}: {variant}", problems, model)


def judge_public_predictions(bench: Bench) -> None:
    """Audit the stored predictions of a public RoBERTa for dev, unless that is in the store."""
    dev = bench.load("winogrande/dev.jsonl")
    path = bench.file("predictions/roberta_winogrande_dev.csv")
    settings = {"predictions": path.name, "data": fingerprint(dev)}
    if bench.store.has(PUBLIC, settings):
        return
    began = perf_counter()
    run = winokit.audit(dev, predictions=[path], protocol=("accuracy", "groups"))
    rows = tuple(renamed(row, "dev", PUBLIC) for row in run.metrics)
    predictions = {"dev": letters(row.prediction for row in run.predictions)}
    bench.store.put(Record(PUBLIC, settings, rows, predictions, seconds=perf_counter() - began, made_with=made_with()))


def show_twins(store: Store) -> str:
    """Table of the public predictions for dev: all problems, those with a twin and without, and pairs."""
    if PUBLIC not in store:
        return "Stored predictions are of whole datasets: not in a try."
    ours = [percent(store[PUBLIC].find(*name), interval=True) for name in TWINS.values()]
    theirs = []
    for name in TWINS:
        value = SQUARE_ONE_ROBERTA.get(name)
        theirs.append("" if value is None else number(value))
    lines = [("RoBERTa-large, paper", *theirs), (PUBLIC, *ours)]
    return grid(["WinoGrande dev", "all", "with a twin", "without", "pairs"], lines)


def show_artifacts(store: Store) -> str:
    """Table of single and group scores of every model on every variant."""
    models = models_in(store, among=MODELS)
    lines = []
    for name, variant in product(SETS, VARIANTS):
        records = [store[key(f"{name}: {variant}", model)] for model in models]
        shown_name = name if variant == "original" else ""
        lines.append((shown_name, variant, records[0].settings["problems"], *scores_of(records)))
    header = ["dataset", "variant", "problems"]
    for model in models:
        header += [f"{shown(model)}: single", "group"]
    return grid(header, lines)


def scores_of(records: Iterable[Record]) -> list[str]:
    """Single and group score of every record in turn, as cells."""
    return list(chain.from_iterable(map(single_and_group, records)))


# Table 2, by row of WSC273: what the pair is about; the label, no-cands and part-sent as the paper prints them
PRINTED = {
    2: ("trophy, suitcase", "no", "yes", "yes"),
    8: ("lawyer, witness", "no", "no", "no"),
    72: ("pot, shelf", "yes", "no", "no"),
    185: ("ankles, crutches", "yes", "yes", "yes"),
}


def run_four_pairs(bench: Bench) -> None:
    """Store the labels of four pairs, and judge every model on both baselines of each."""
    wsc = bench.wsc273()
    rows = [row_number for row_number in PRINTED if row_number < len(wsc)]
    labels = {}
    for row_number in rows:
        labels[str(row_number)] = "yes" if wsc[row_number].labels["associative"] else "no"
    bench.counted("labels", {"data": fingerprint(wsc)}, lambda: Counted(texts=labels))
    for row_number in rows:
        members = wsc.groups[str(wsc[row_number].group)]
        variants = baselines(Dataset(members, Card(str(row_number))))
        for name, model in product(BASELINES, bench.models):
            if variants[name]:
                bench.judged(f"{row_number}: {name}", variants[name], model)


def show_four_pairs(store: Store) -> str:
    """Table of the four pairs: who calls them associative, and which models solve both twins of each baseline."""
    models = models_in(store, among=MODELS)
    lines = []
    labels = store["labels"].texts
    for row_number, (about, label, *baseline) in PRINTED.items():
        if str(row_number) not in labels:  # beyond the limit of a try
            continue
        solvers = []
        for name in BASELINES:
            names = [shown(model) for model in models if is_solved(store, f"{row_number}: {name}", model)]
            solvers.append(", ".join(names) or "nobody")
        lines.append((row_number, about, f"{label}, {labels[str(row_number)]}", *baseline, *solvers))
    paper = ["label: paper, file", "no-cands, paper", "part-sent, paper"]
    return grid(["row", "", *paper, "solved without candidates", "solved in part"], lines)


def is_solved(store: Store, name: str, model: str) -> bool:
    """Whether a model has both twins of a stored pair right."""
    return key(name, model) in store and store[key(name, model)].value("group_accuracy") == 1


BOTH = [("all", "accuracy"), ("all", "group_accuracy")]
ZERO_SHOT: dict[str, dict[str, tuple[float, ...]]] = {
    "WSC": published_cells("wsc273", "special-word", BOTH),
    "WSC-na": SQUARE_ONE_ZERO_SHOT_NA,
    "WinoGrande": published_cells("winogrande/dev", "special-word", BOTH),
}


def run_zero_shot(bench: Bench) -> None:
    """Judge every model on special words: given the right candidate, which twin's special word fits?"""
    for name, data in in_pairs(bench).items():
        problems = unfolded(f"{name} special word", special_words(data))
        for model in bench.models:
            bench.judged(name, problems, model, scoring=word_scoring(bench, model))


def show_zero_shot(store: Store) -> str:
    """Table of zero-shot special words: the paper's six models, then ours."""
    lines: list[Sequence[object]] = []
    for system in ZERO_SHOT["WSC"]:
        cells: list[str] = []
        for name in SETS:
            cells += [number(cell, 2) for cell in ZERO_SHOT[name][system]]
        lines.append((f"{system}, paper", *cells))
    for model in models_in(store, among=MODELS):
        records = [store[key(name, model)] for name in SETS]
        lines.append((shown(model), *scores_of(records)))
    header = ["model"]
    for name in SETS:
        header += [f"{name}: single", "group"]
    return grid(header, lines)


def show_sizes(store: Store) -> str:
    """Table of how many special-word problems the paper has, and how many there are here."""
    first_model = models_in(store)[0]
    lines = []
    for name in SETS:
        problem_count = store[key(name, first_model)].settings["problems"]
        lines.append((name, *SQUARE_ONE_SIZES[name], problem_count))
    return grid(["problems", "paper, its text", "paper, its table", "here"], lines)


def run_matched(bench: Bench) -> None:
    """Judge every model on the same pairs in their original form and as special words."""
    for name, data in in_pairs(bench).items():
        pairs = special_words(data)
        for model in bench.models:
            bench.judged(f"{name}: original", originals(data, pairs), model)
            words = unfolded(f"{name} special word", pairs)
            bench.judged(f"{name}: special word", words, model, scoring=word_scoring(bench, model))


def show_matched(store: Store) -> str:
    """Table of single and group scores of both forms, the paper's line first."""
    theirs = [number(value) for value in chain.from_iterable(SQUARE_ONE_MATCHED.values())]
    lines: list[Sequence[object]] = [("WinoGrande", "RoBERTa-large, trained, paper", *theirs)]
    models = models_in(store, among=MODELS)
    for name, model in product(SETS, models):
        records = [store[key(f"{name}: {form}", model)] for form in SQUARE_ONE_MATCHED]
        shown_name = f"{name} ({records[0].settings['problems']})" if model == models[0] else ""
        lines.append((shown_name, shown(model), *scores_of(records)))
    header = ["dataset (problems)", "model", "original: single", "group", "special word: single", "group"]
    return grid(header, lines)


def run_untrained(bench: Bench) -> None:
    """Judge every model on the learning curves' test set: special words from pairs that AFLite kept whole."""
    test = unfolded("test", special_words(bench.load("winogrande/train_debiased.jsonl")))
    for model in bench.models:
        bench.judged("test", test, model, scoring=word_scoring(bench, model))


def show_untrained(store: Store) -> str:
    """Table of untrained models: the first line of the paper's Tables 4 and 5, then ours."""
    lines: list[Sequence[object]] = []
    for name, (single, group) in SQUARE_ONE_UNTRAINED.items():
        lines.append((f"{name}, paper", SQUARE_ONE_PAIRS, number(single, 2), number(group, 2)))
    for model in models_in(store, among=MODELS):
        record = store[key("test", model)]
        pair_count = record.settings["problems"] // 2
        lines.append((shown(model), f"{pair_count:,}", *single_and_group(record)))
    return grid(["model", "pairs", "single", "group"], lines)


DATA = "models; wsc, trichelair, winogrande"
register(
    Table("square-one", "figure-1", "the variants", "wsc, trichelair; no model", {"": show_variants}, run_variants),
    Table(
        "square-one",
        "1",
        "group scores and artifacts, untrained",
        f"{DATA}, predictions",
        {"twins": show_twins, "": show_artifacts},
        run_artifacts,
    ),
    Table("square-one", "2", "four pairs", "models; wsc, trichelair", {"": show_four_pairs}, run_four_pairs),
    Table("square-one", "3", "zero-shot special words", DATA, {"": show_zero_shot, "sizes": show_sizes}, run_zero_shot),
    Table("square-one", "6.1", "the original against special words", DATA, {"": show_matched}, run_matched),
    Table(
        "square-one", "figure-2", "special words, untrained", "models; winogrande", {"": show_untrained}, run_untrained
    ),
)
