"""Back to Square One (Elazar et al., 2021): group scores, artifacts and special words, before any training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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


def in_pairs(bench: Bench) -> dict[str, Dataset]:
    """WSC, WSC-na and WinoGrande's dev set, reduced to twin pairs."""
    wsc, dev = bench.wsc273(), bench.load("winogrande/dev.jsonl")
    sets = {"WSC": wsc, "WSC-na": non_associative(wsc, style="elazar"), "WinoGrande": dev}
    return {name: unfolded(name, twin_pairs(data)) for name, data in sets.items()}


def baselines(data: Dataset, style: str = "code") -> dict[str, Dataset]:
    """A dataset as it is, without candidates, and in part; a problem whose twin could not be made goes with it."""
    made = {"original": data}
    for name, make in BASELINES.items():
        variant = named(f"{data.card.name} {name}", (make(problem, style=style) for problem in data))
        made[name] = variant.with_problems(with_both_twins(variant))
    return made


def with_both_twins(problems: Iterable[Problem]) -> list[Problem]:
    """The problems whose group is there with two members: what is left once a lost member takes its twin along."""
    problems = list(problems)
    members = Counter(problem.group for problem in problems)
    return [problem for problem in problems if problem.group is not None and members[problem.group] == 2]


def special_words(data: Dataset) -> list[Pair]:
    """Special-word pairs as the released code makes them, each word one piece of the built-in model's vocabulary.

    The paper asks for one piece in each of six tokenizers; that vocabulary is BERT's, one of the six.
    """
    pairs = special_word_pairs(data, style="code")
    pieces = piece_counts(word for pair in pairs for word in pair[0].candidates)
    return [pair for pair in pairs if all(pieces[word] == 1 for word in pair[0].candidates)]


def unfolded(name: str, pairs: Iterable[Pair]) -> Dataset:
    """Pairs as a dataset."""
    return Dataset((problem for pair in pairs for problem in pair), Card(name))


def originals(data: Dataset, pairs: Iterable[Pair]) -> Dataset:
    """The problems that special-word pairs were made from."""
    wanted = {str(problem.provenance["of"]) for pair in pairs for problem in pair}
    return named(f"{data.card.name} matched", (problem for problem in data if problem.id in wanted))


def word_scoring(bench: Bench, model: str) -> str | None:
    """How special words are scored: by the whole text where a model reads from left to right."""
    return "full" if loaded(bench.models[model]).kind == "causal" else None


TROPHY = "trophy doesn't fit"
STYLES = {"paper": "paper", "code": "code", "default": "ours"}


def run_variants(bench: Bench) -> None:
    """Make every variant of one pair as the paper says, as the released code does it, and as winokit does it."""
    twins = bench.wsc273().filter(lambda problem: TROPHY in problem.text)

    def count() -> Counted:
        made = {"original | ": twins[0].text.replace("_", str(twins[0].pronoun))}
        for name, make in BASELINES.items():
            for style, by in STYLES.items():
                variant = make(twins[0], style=style)
                made[f"{name} | {by}"] = variant.text if isinstance(variant, Problem) else variant
        for style in ("code", "default"):
            made[f"special word | {STYLES[style]}"] = special_word_pairs(twins, style=style)[0][0].text
        return Counted(texts=made)

    bench.counted("trophy", {"data": fingerprint(twins)}, count)


def show_variants(store: Store) -> str:
    """A line per different text, with all who make it so."""
    makers: dict[tuple[str, str], list[str]] = {}
    for name, text in store["trophy"].texts.items():
        variant, by = name.split(" | ")
        makers.setdefault((variant, text), []).append(by)
    return grid(["variant", "made as", "text"], [(v, ", ".join(by), text) for (v, text), by in makers.items()])


PUBLIC = "a public RoBERTa"
TWINS = {
    "all": ("accuracy", "all", "accuracy"),
    "twins": ("accuracy", "grouped", "groups"),
    "no twin": ("accuracy", "single", "groups"),
    "groups": ("group_accuracy", "complete", "groups"),
}


def run_artifacts(bench: Bench) -> None:
    """Public predictions for dev, with a twin and without; then every model on every variant."""
    dev = bench.load("winogrande/dev.jsonl")
    path = bench.file("predictions/roberta_winogrande_dev.csv")
    settings = {"predictions": path.name, "data": fingerprint(dev)}
    if bench.limit is None and not bench.store.has(PUBLIC, settings):
        began = perf_counter()
        run = winokit.audit(dev, predictions=[path], protocol=("accuracy", "groups"))
        rows = tuple(renamed(row, "dev", PUBLIC) for row in run.metrics)
        chosen = {"dev": letters(row.prediction for row in run.predictions)}
        bench.store.put(Record(PUBLIC, settings, rows, chosen, seconds=perf_counter() - began, made_with=made_with()))
    for name, data in in_pairs(bench).items():
        for variant, problems in baselines(data).items():
            for model in bench.models:
                bench.judged(f"{name}: {variant}", problems, model)


def show_twins(store: Store) -> str:
    """Predictions for dev on all problems, on those with a twin and without, and on pairs."""
    if PUBLIC not in store:
        return "Stored predictions are of whole datasets: not in a try."
    ours = [percent(store[PUBLIC].find(*name), interval=True) for name in TWINS.values()]
    theirs = [SQUARE_ONE_ROBERTA.get(name) for name in TWINS]
    lines = [("RoBERTa-large, paper", *("" if value is None else number(value) for value in theirs)), (PUBLIC, *ours)]
    return grid(["WinoGrande dev", "all", "with a twin", "without", "pairs"], lines)


def show_artifacts(store: Store) -> str:
    """Single and group scores of every model on every variant."""
    models, lines = models_in(store, among=("builtin", "SmolLM2")), []
    for name in SETS:
        for variant in VARIANTS:
            records = [store[key(f"{name}: {variant}", model)] for model in models]
            first = name if variant == "original" else ""
            cells = [cell for record in records for cell in single_and_group(record)]
            lines.append((first, variant, records[0].settings["problems"], *cells))
    header = [cell for model in models for cell in (f"{shown(model)}: single", "group")]
    return grid(["dataset", "variant", "problems", *header], lines)


# Table 2, by row of WSC273: what the pair is about; the label, no-cands and part-sent as the paper prints them
PRINTED = {
    2: ("trophy, suitcase", "no", "yes", "yes"),
    8: ("lawyer, witness", "no", "no", "no"),
    72: ("pot, shelf", "yes", "no", "no"),
    185: ("ankles, crutches", "yes", "yes", "yes"),
}


def run_four_pairs(bench: Bench) -> None:
    """The labels of four pairs, and both baselines on each."""
    wsc = bench.wsc273()
    pairs = {at: wsc.groups[str(wsc[at].group)] for at in PRINTED if at < len(wsc)}
    labels = {str(at): "yes" if wsc[at].labels["associative"] else "no" for at in pairs}
    bench.counted("labels", {"data": fingerprint(wsc)}, lambda: Counted(texts=labels))
    for at, members in pairs.items():
        made = baselines(Dataset(members, Card(str(at))))
        for name in BASELINES:
            for model in bench.models:
                if made[name]:
                    bench.judged(f"{at}: {name}", made[name], model)


def show_four_pairs(store: Store) -> str:
    """Who calls them associative, and which baseline solves both twins."""
    models, lines = models_in(store, among=("builtin", "SmolLM2")), []
    labels = store["labels"].texts
    for at, (about, label, *baseline) in PRINTED.items():
        if str(at) not in labels:  # beyond the limit of a try
            continue
        solved = []
        for name in BASELINES:
            right = [shown(m) for m in models if _solved(store, f"{at}: {name}", m)]
            solved.append(", ".join(right) or "nobody")
        lines.append((at, about, f"{label}, {labels[str(at)]}", *baseline, *solved))
    paper = ["label: paper, file", "no-cands, paper", "part-sent, paper"]
    return grid(["row", "", *paper, "solved without candidates", "solved in part"], lines)


def _solved(store: Store, name: str, model: str) -> bool:
    """Whether a model has both twins."""
    return key(name, model) in store and store[key(name, model)].value("group_accuracy") == 1


BOTH = [("all", "accuracy"), ("all", "group_accuracy")]
ZERO_SHOT: dict[str, dict[str, tuple[float, ...]]] = {
    "WSC": published_cells("wsc273", "special-word", BOTH),
    "WSC-na": SQUARE_ONE_ZERO_SHOT_NA,
    "WinoGrande": published_cells("winogrande/dev", "special-word", BOTH),
}


def run_zero_shot(bench: Bench) -> None:
    """The right candidate is given: which twin's special word fits?"""
    for name, data in in_pairs(bench).items():
        problems = unfolded(f"{name} special word", special_words(data))
        for model in bench.models:
            bench.judged(name, problems, model, scoring=word_scoring(bench, model))


def show_zero_shot(store: Store) -> str:
    """The paper's six models, then ours."""
    lines = [
        (f"{system}, paper", *(number(cell, 2) for name in SETS for cell in ZERO_SHOT[name][system]))
        for system in ZERO_SHOT["WSC"]
    ]
    for model in models_in(store, among=("builtin", "SmolLM2")):
        lines.append((shown(model), *(cell for name in SETS for cell in single_and_group(store[key(name, model)]))))
    return grid(["model", *(cell for name in SETS for cell in (f"{name}: single", "group"))], lines)


def show_sizes(store: Store) -> str:
    """How many problems the paper has, and we."""
    ours = {name: store[key(name, models_in(store)[0])].settings["problems"] for name in SETS}
    return grid(
        ["problems", "paper, its text", "paper, its table", "here"],
        [(name, *SQUARE_ONE_SIZES[name], ours[name]) for name in SETS],
    )


def run_matched(bench: Bench) -> None:
    """The same pairs in their original form and as special words."""
    for name, data in in_pairs(bench).items():
        pairs = special_words(data)
        for model in bench.models:
            bench.judged(f"{name}: original", originals(data, pairs), model)
            words = unfolded(f"{name} special word", pairs)
            bench.judged(f"{name}: special word", words, model, scoring=word_scoring(bench, model))


def show_matched(store: Store) -> str:
    """Single and group scores of both forms."""
    theirs = [number(cell) for cells in SQUARE_ONE_MATCHED.values() for cell in cells]
    lines = [("WinoGrande", "RoBERTa-large, trained, paper", *theirs)]
    for name in SETS:
        for at, model in enumerate(models_in(store, among=("builtin", "SmolLM2"))):
            records = [store[key(f"{name}: {form}", model)] for form in SQUARE_ONE_MATCHED]
            first = "" if at else f"{name} ({records[0].settings['problems']})"
            lines.append((first, shown(model), *(cell for record in records for cell in single_and_group(record))))
    header = ["dataset (problems)", "model", "original: single", "group", "special word: single", "group"]
    return grid(header, lines)


def run_untrained(bench: Bench) -> None:
    """The test set of the learning curves: pairs of the training set that AFLite kept whole, as special words."""
    test = unfolded("test", special_words(bench.load("winogrande/train_debiased.jsonl")))
    for model in bench.models:
        bench.judged("test", test, model, scoring=word_scoring(bench, model))


def show_untrained(store: Store) -> str:
    """The first line of the paper's Tables 4 and 5, and ours."""
    lines: list[tuple[object, ...]] = [
        (f"{name}, paper", SQUARE_ONE_PAIRS, *(number(cell, 2) for cell in cells))
        for name, cells in SQUARE_ONE_UNTRAINED.items()
    ]
    for model in models_in(store, among=("builtin", "SmolLM2")):
        record = store[key("test", model)]
        lines.append((shown(model), f"{record.settings['problems'] // 2:,}", *single_and_group(record)))
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
