"""WinoGrande (Sakaguchi et al., 2019), Figure 1: divergence between the answers along the first principal component.

All problems of train_xl, a random part, a part filtered by PMI, one filtered by AFLite; then the part the authors
released as debiased, and as many at random. Features are the model's own vectors of the text with either candidate, or
`--features X.npy` as `winokit embed` writes them, fine-tuned ones included. AFLite has the paper's settings; where
--limit leaves too few problems for these, with settings in proportion.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from common import Options, Outcome, row, run, short, table
from numpy.typing import NDArray
from papers import WINOGRANDE_FIRST_AFLITE, WINOGRANDE_KL

from winokit.drawing.tables import progress_bar
from winokit.methods.aflite.aflite import RepeatedAFLite
from winokit.methods.aflite.divergence import divergence, estimators, principal_components
from winokit.methods.aflite.probe import linear_probe
from winokit.methods.aflite.random_reduction import random_reduction
from winokit.methods.scoring.cache import open_cache
from winokit.problem import Dataset
from winokit.results import rows_to_json
from winokit.stages.debias.features import DebiasFeatures, embedded, read_features
from winokit.stages.debias.run import Debiased, debias
from winokit.stages.debias.table import save

HEADER = ("problems", "kept", "twins parted", "linear probe, %", "KL: histogram", "neighbours", "normal", "paper")
METRICS = ("n_kept", "n_groups_split", "probe_accuracy", "kl_histogram", "kl_knn", "kl_gaussian")


def experiment(options: Options) -> Outcome:
    """Sizes, linear probe and divergences of every arm."""
    data = options.load("winogrande/train_xl.jsonl")
    tables, rows = [], []
    for spec in options.models:
        features = features_of(data, spec, options)
        found = filtered(data, features, options)
        save(found, options.out / "filtered")
        arms = {arm.name: {name: found.rows[arm.name, name].to_json() for name in METRICS} for arm in found.arms}
        lines = [line(name, some) for name, some in arms.items()]
        authors = released(data, features, found, options)
        lines += [line(name, some) for name, some in authors.items()]
        tables += [f"{short(features.model)}, {features.kind}:", table(HEADER, lines), *by_chance(found)]
        rows += [*rows_to_json(found.metrics), *(one for some in authors.values() for one in some.values())]
    return Outcome(tables, rows, {"aflite": found.settings["methods"].get("aflite")})


def features_of(data: Dataset, spec: str, options: Options) -> DebiasFeatures:
    """Features from the file the user named, or from the model."""
    if options.more.features:
        return read_features(options.more.features, data)
    with open_cache(options.cache) as cache, progress_bar(f"embedding, {short(spec)}") as progress:
        return embedded(
            data, spec, kind=options.more.kind, pooling=options.more.pooling, cache=cache, progress=progress
        )


def filtered(data: Dataset, features: DebiasFeatures, options: Options) -> Debiased:
    """AFLite with the paper's settings, and the two baselines at its size."""
    settings: dict[str, Any] = dict(WINOGRANDE_FIRST_AFLITE)
    if len(data) <= settings["train_size"]:
        settings |= {"train_size": None, "cutoff": None}
    repeated = {"seeds": 1, "null_runs": options.more.null_runs}
    aflite = RepeatedAFLite(**settings, **repeated, seed=options.more.seed, backend=options.more.backend)
    return debias(data, aflite, features=features)


def released(data: Dataset, features: DebiasFeatures, found: Debiased, options: Options) -> dict[str, dict[str, Any]]:
    """The same numbers for the problems that the authors' own run kept, and for as many drawn at random."""
    kept = {problem.id for problem in options.load("winogrande/train_debiased.jsonl")}
    theirs = np.array([problem.id in kept for problem in data])
    drawn = random_reduction(len(data), int(theirs.sum()), seed=options.more.seed)
    masks = {"released as debiased": theirs, "random, as many": drawn}
    return {name: looked_at(name, keep, data, features, found) for name, keep in masks.items()}


def looked_at(
    name: str, keep: NDArray[np.bool_], data: Dataset, features: DebiasFeatures, found: Debiased
) -> dict[str, Any]:
    """Size, probe and divergences of the problems of a mask, as rows."""
    some = [problem for problem, stays in zip(data, keep, strict=True) if stays]
    y, groups = np.array([problem.answer for problem in some]), [problem.group for problem in some]
    values = principal_components(features.rows).project(features.rows, keep)[:, 0]
    bins = found.settings["assessment"]["bins"]
    shares = {f"kl_{how}": divergence(values, y, kl).forward for how, kl in estimators(bins).items()}
    probe = linear_probe(features.rows[np.flatnonzero(keep)], y, groups)
    shares |= {"n_kept": len(some), "probe_accuracy": probe.accuracy}
    named = (data.card.name, features.model, "debias", name)
    return {metric: row(*named, metric, value, len(some)) for metric, value in shares.items()}


def by_chance(found: Debiased) -> list[str]:
    """What relabelled runs remove, and what must not be overlooked."""
    if found.null is None:
        return list(found.warnings)
    low, high = min(found.null.null_removed), max(found.null.null_removed)
    usual = f"{found.null.expected:,.0f} ({low:,.0f} to {high:,.0f})"
    told = f"{found.null.removed:,} removed; relabelled runs remove {usual}."
    return [told, *found.warnings]


def line(name: str, some: dict[str, Any]) -> list[object]:
    """A line of the table."""
    value = {metric: found["value"] for metric, found in some.items()}
    cells = [f"{value['n_kept']:,.0f}", f"{value['n_groups_split']:,.0f}" if "n_groups_split" in value else ""]
    cells.append(f"{100 * value['probe_accuracy']:.1f}")
    cells += [f"{value[metric]:.3f}" for metric in METRICS[3:]]
    return [name, *cells, WINOGRANDE_KL.get(name)]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Features, and how AFLite runs."""
    parser.add_argument("--features", type=Path, metavar="X.npy", help="instead of embedding now")
    parser.add_argument("--kind", default="concat", help="concat, difference or single (default: concat)")
    parser.add_argument("--pooling", default="first", help="first, mean or span (default: first)")
    parser.add_argument("--null-runs", type=int, default=39, metavar="N", help="relabelled runs at most (default: 39)")
    parser.add_argument("--backend", default="auto", help="of AFLite: auto, numpy, torch:cuda")
    parser.add_argument("--seed", type=int, default=0)


if __name__ == "__main__":
    run(experiment, __doc__, arguments=arguments)
