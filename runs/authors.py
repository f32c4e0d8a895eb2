"""AFLite against its authors: what they removed from train_xl is known, since their debiased set is public.

Sakaguchi et al. (2020) fine-tuned on 6,000 problems, embedded the others, and filtered. Here the same is done with
another encoder, by seeds that draw other 6,000 problems; then the score of the first phase, the one that has seen every
problem, is asked whether it tells the problems that the authors removed from those they kept, by problems and by
pairs. The same is asked of runs on the same features with answers drawn anew, and of the confidence of a RoBERTa-large
while it was trained on train_xl (Swayamdipta et al., "Dataset Cartography", 2020).
"""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from runs.papers import WINOGRANDE_AAAI_AFLITE
from runs.sets import rows_of
from runs.trainer import KeptNetwork, Workshop, record, short_row
from winokit import AFLite
from winokit.files import write_whole
from winokit.methods.aflite.divergence import bins_for
from winokit.methods.aflite.inputs import names_of, unit_numbers
from winokit.methods.aflite.methods import METHODS, DebiasArm, DebiasRows
from winokit.methods.aflite.null import SEEDS_APART, relabelled
from winokit.methods.aflite.rows import Backend
from winokit.methods.training.embedding import embedded
from winokit.methods.training.evaluation import Evaluation
from winokit.methods.training.finetune import training_examples
from winokit.methods.training.learner import Learner
from winokit.problem import Card, Dataset
from winokit.stages.debias.assessment import ALL, DebiasMeasures
from winokit.stages.debias.settings import Assessment
from winokit.text.language import language_of

if TYPE_CHECKING:
    from runs.jobs import Job

RELABELLED = 39
FIGURES = 3
"""Seeds whose Figure 1 is made: probes and divergences take a minute of a CPU each."""
Floats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]


def filtered(job: Job, shop: Workshop) -> dict[str, Any]:
    """Fine-tune, embed, filter, compare; the record, with scores and what was kept in a file beside."""
    began = time.monotonic()
    seed = job.settings.seed
    rest_rows, *held = shop.sets.parts[seed]
    whole = shop.dataset("train:whole")
    rest, train, dev = (rows_of(whole, rows) for rows in (rest_rows, *held))
    bench = shop.network(job.model, job.settings.formalization)
    features, chosen = _features(job, bench, rest, train, dev)
    y = np.array([problem.answer for problem in rest], np.int64)
    pairs = unit_numbers([problem.group for problem in rest], len(y))
    together = names_of(rest.units)
    how: dict[str, Any] = dict(WINOGRANDE_AAAI_AFLITE)
    if len(rest) <= how["train_size"]:
        how |= {"train_size": None, "cutoff": None}
    backend: Backend = "torch:cuda" if bench.network.device.type == "cuda" else "numpy"
    real = AFLite(**how, seed=seed, backend=backend).fit(features, y, together)
    theirs, confidence = shop.sets.removed[rest_rows], shop.sets.confidence[rest_rows]
    units = unit_numbers(together, len(y))
    others = []
    for number in range(RELABELLED):
        again = real.again(seed + SEEDS_APART + number)
        again.fit(features, relabelled(y, units, seed=number), together)
        others.append(compared(again.first_scores_, ~again.keep_, theirs, pairs))
    buffer = io.BytesIO()
    scores, keep = real.first_scores_.astype(np.float16), np.packbits(real.keep_)
    np.savez_compressed(buffer, scores=scores, keep=keep, phase=real.phase_.astype(np.int16))
    write_whole(shop.out / "aflite" / f"{seed}.npz", buffer.getvalue())
    return record(job, shop, began) | {
        "aflite": real.settings_,
        "encoder_dev": chosen,
        "filtered": len(rest),
        "authors": compared(real.first_scores_, ~real.keep_, theirs, pairs)
        | {f"confidence_{key}": value for key, value in compared(confidence, None, theirs, pairs).items()}
        | {"score_with_confidence": _rank(real.first_scores_, confidence)},
        "relabelled": others,
        "figure": _figure(rest, real, y, features) if seed < FIGURES else [],
        "seconds": round(time.monotonic() - began, 1),
    }


def _features(job: Job, bench: KeptNetwork, rest: Dataset, train: Dataset, dev: Dataset) -> tuple[Any, Any]:
    """Features of what is filtered, by a network that was fine-tuned on what was held out."""
    network = bench.begin(job.settings.seed)
    examples, _ = training_examples(train, network)
    with torch.random.fork_rng(devices=[network.device] if network.device.type == "cuda" else []):
        torch.manual_seed(job.settings.seed)
        learner = Learner(network, examples, Evaluation(dev, network, "original"), job.settings)
        learner.stepper = bench.stepper(learner.stepper)
        learner.learn(Path(), {})
    return embedded(rest, network), learner.state.kept


def compared(scores: Floats, ours: Bools | None, theirs: Bools, units: NDArray[np.int64]) -> dict[str, float]:
    """How well scores tell what the authors removed, by problems and by pairs, and how much of ours they removed."""
    known = ~np.isnan(scores)
    _, unit = np.unique(units, return_inverse=True)
    members, gone = np.bincount(unit), np.bincount(unit, theirs)
    means = np.bincount(unit, np.nan_to_num(scores, nan=0.5)) / members
    pairs = members == 2
    whole, none = pairs & (gone == 2), pairs & (gone == 0)
    measures = {
        "n": int(known.sum()),
        "auc": auc(scores[known], theirs[known]),
        "spearman": _rank(scores[known], theirs[known]),
        "pairs": int(pairs.sum()),
        "pairs_auc": auc(means[whole | none], whole[whole | none]),
        "pairs_spearman": _rank(means[pairs], gone[pairs]),
        "base": float(theirs.mean()),
    }
    if ours is not None:
        taken = np.bincount(unit, ours)
        measures |= {"removed": int(ours.sum()), "pairs_removed": int((pairs & (taken == 2)).sum())}
        if ours.any():
            measures["of_ours"] = float(theirs[ours].mean())
        if (pairs & (taken == 2)).any():
            measures["pairs_of_ours"] = float((gone == 2)[pairs & (taken == 2)].mean())
        measures["pairs_base"] = float(whole[pairs].mean()) if pairs.any() else float("nan")
    return {name: value if isinstance(value, int) else round(float(value), 5) for name, value in measures.items()}


def auc(scores: Floats, positive: Bools) -> float:
    """How often a positive has a higher score than another, ties counted one half.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True]))
    0.875
    """
    first, second = int(positive.sum()), int((~positive).sum())
    if not first or not second:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - first * (first + 1) / 2) / (first * second))


def _rank(one: Any, other: Any) -> float:
    both = ~(np.isnan(one) | np.isnan(other))
    return round(float(spearmanr(one[both], other[both]).statistic), 5) if both.sum() > 2 else float("nan")


def _words(text: str) -> list[str]:
    return [word.lower() for word in language_of("en").tokens(text) if word != "_"]


def _figure(rest: Dataset, real: AFLite, y: NDArray[np.int64], features: Any) -> list[list[Any]]:
    """Figure 1: a probe's accuracy and the divergence of all, of as many at random or by PMI, and of what is kept."""
    words = [_words(problem.sentence) for problem in rest]
    rows = DebiasRows(words, y, [problem.group for problem in rest], rest.units, features)
    everything = np.ones(len(rest), bool)
    size = int(real.keep_.sum())
    arms = [
        DebiasArm(ALL, everything),
        *(METHODS[name](size=size, seed=real.seed).arm(rows) for name in ("random", "pmi")),  # type: ignore[call-arg]
        DebiasArm("aflite", real.keep_, dict(real.settings_), real.scores_, real.phase_),
    ]
    how = Assessment(bins=bins_for(size), seed=real.seed, draws=20)
    measures = DebiasMeasures(rows, Dataset(rest, Card("train_xl")), "", "")
    made = []
    for arm in arms:
        made += [*measures.sizes(arm), measures.probe(arm, how), *measures.divergences(arm, how)]
    return [short_row(row) for row in made if "_reverse" not in row.metric and ".refit" not in row.subset]
