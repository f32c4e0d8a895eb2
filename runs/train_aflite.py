"""WinoGrande (Sakaguchi et al., 2019), section 4: AFLite on fine-tuned embeddings, and training on what it keeps.

As in the paper: 6,000 problems are held out, 5,000 to fine-tune on and 1,000 to choose on, and thrown away; the others
are embedded by that model and filtered. Then the model is trained anew on what AFLite kept, and on as many problems
drawn at random from all that were filtered, and both are tested on dev, which AFLite filtered too.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from statistics import mean, stdev

import numpy as np

import winokit
from runs.papers import WINOGRANDE_AAAI_AFLITE, WINOGRANDE_FIRST_AFLITE, WINOGRANDE_KL
from runs.tables import grid as table
from runs.tables import percent, short
from runs.trained import Options, Outcome, run, settings_arguments, settings_of
from winokit.drawing.tables import progress_bar
from winokit.methods.training.data import TrainingData
from winokit.methods.training.embedding import SentenceParts, finetuned_features
from winokit.methods.training.finetune import finetune
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Dataset
from winokit.results import rows_to_json
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.run import Debiased, debias

PAPER = TrainSettings("mc-sent?style=winogrande", learning_rate=1e-5, epochs=8, batch_size=16)
RUNS = {"first": WINOGRANDE_FIRST_AFLITE, "aaai": WINOGRANDE_AAAI_AFLITE}
METRICS = ("n_kept", "probe_accuracy", "kl_histogram", "kl_knn", "kl_gaussian")


def experiment(options: Options) -> Outcome:
    """Figure 1 on fine-tuned embeddings, and accuracies by what was trained on."""
    tables, rows = [], []
    for spec in options.specs:
        found = filtered(options, spec)
        header = ["problems", "kept", "linear probe, %", "KL: histogram", "nearest neighbours", "normal", "paper's KL"]
        tables += [f"{short(spec)}:", table(header, [figure_line(found, arm.name) for arm in found.arms])]
        tables += list(found.warnings)
        lines, more = trained_on(options, spec, found)
        tables.append(table(["trained on", "problems", "dev, %", "pairs, %"], lines))
        rows += [*rows_to_json(found.metrics), *more]
    return Outcome(tables, rows, {"seeds": options.more.seeds})


def filtered(options: Options, spec: str) -> Debiased:
    """All but the held-out problems, filtered by AFLite, by PMI and at random."""
    parts = SentenceParts.of(options.load("winogrande/train_xl.jsonl"), options.more.held_out)
    out = options.out / short(spec).replace(":", "-") / "encoder"
    settings = replace(settings_of(options, PAPER), keep="best")
    with progress_bar("fine-tuning and embedding") as progress:
        rows, _ = finetuned_features(parts, out, spec, settings, progress=progress)
    features = DebiasFeatures(rows, f"{short(spec)}, fine-tuned", "concat")
    how = dict(RUNS[options.more.parameters])
    if len(parts.rest) <= how["train_size"]:
        how |= {"train_size": None, "cutoff": None}
    aflite = winokit.AFLite(**how, seed=0, backend=options.more.backend)
    return debias(parts.rest, aflite, features=features, out=out.parent / "filtered")


def figure_line(found: Debiased, arm: str) -> list[object]:
    """An arm's line of the table."""
    rows = [found.find(arm, name) for name in METRICS]
    kept, probe, *divergences = (None if one is None else one.value for one in rows)
    told = ["" if one is None else f"{one:.3f}" for one in divergences]
    return [arm, f"{kept:,.0f}", percent(probe), *told, WINOGRANDE_KL.get(arm)]


def trained_on(options: Options, spec: str, found: Debiased) -> tuple[list[list[object]], list[dict]]:
    """Accuracy and pairs on dev, trained on what was kept and on as many at random."""
    problems, kept = found.dataset, found.kept
    dev = options.load("winogrande/dev.jsonl")
    scores: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for seed in range(options.more.seeds):
        sets: dict[str, Dataset] = {"kept by AFLite": kept, "as many at random": at_random(problems, len(kept), seed)}
        for name, train in sets.items():
            settings = replace(settings_of(options, PAPER), seed=seed)
            out = options.out / short(spec).replace(":", "-") / f"{name.replace(' ', '-')}-{seed}"
            outcome = finetune(
                TrainingData(train, None, (dev,)).checked(drop_overlap=True), out, spec, settings, save=False
            )
            both = tuple(
                next(one.value for one in outcome.metrics if one.metric == metric)
                for metric in ("accuracy", "group_accuracy")
            )
            scores.setdefault(name, []).append(both)
            rows += [{**one, "arm": name, "seed": seed} for one in rows_to_json(outcome.metrics)]
    lines = [[name, f"{len(kept):,}", *map(over_seeds, zip(*some, strict=True))] for name, some in scores.items()]
    return lines, rows


def at_random(problems: Dataset, count: int, seed: int) -> Dataset:
    """So many problems; twins are drawn one by one, as AFLite parts them too."""
    chosen = set(np.random.default_rng([seed, count]).permutation(len(problems))[:count].tolist())
    return problems.with_problems(problem for at, problem in enumerate(problems) if at in chosen)


def over_seeds(values: tuple[float, ...]) -> str:
    """Mean and standard deviation in per cent."""
    return percent(mean(values)) + (f" ± {100 * stdev(values):.1f}" if len(values) > 1 else "")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of a run, and how to filter."""
    settings_arguments(PAPER)(parser)
    parser.add_argument("--held-out", type=int, default=6000, metavar="N", help="to fine-tune on; default: 6000")
    parser.add_argument(
        "--parameters", choices=RUNS, default="aaai", help="which paper's m, n, k and tau; default: aaai"
    )
    parser.add_argument("--backend", default="auto", help="of AFLite: auto, numpy or torch")


if __name__ == "__main__":
    run(experiment, __doc__, arguments=arguments)
