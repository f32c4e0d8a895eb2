"""Which examples make a step: shuffled, then alike in length, so that little is padded.

An epoch's order depends on the seed and the epoch alone, so that a resumed run goes on with the same batches. Examples
are shuffled, sorted by length within stretches of at most 50 steps, cut, and the steps shuffled again. A small dataset
has shorter stretches: sorted as a whole it would make the same batches in every epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from winokit.methods.formalizations.inputs import Encoded
from winokit.methods.training.settings import TrainSettings

Step: TypeAlias = list[list[int]]
"""The batches of one step: several where gradients are accumulated."""

STRETCH, FEWEST = 50, 4
"""A stretch is at most so many steps, and an epoch has at least so many stretches."""


def planned(examples: Sequence[Encoded], settings: TrainSettings) -> list[tuple[float, Step]]:
    """Every step of a run, with how many epochs are done after it."""
    steps: list[tuple[float, Step]] = []
    for epoch in range(settings.epochs):
        of_epoch = epoch_steps(examples, settings, epoch)
        steps += [(epoch + number / len(of_epoch), step) for number, step in enumerate(of_epoch, 1)]
        if settings.steps is not None and len(steps) >= settings.steps:
            break
    return steps[: settings.steps]


def epoch_steps(examples: Sequence[Encoded], settings: TrainSettings, epoch: int) -> list[Step]:
    """The steps of one epoch; every example is in one of them."""
    rng = np.random.default_rng([settings.seed, epoch])
    lengths = [example.longest for example in examples]
    rows = [len(example.rows) for example in examples]
    order = rng.permutation(len(examples)).tolist()
    stretch = _stretch(lengths, rows, settings)
    steps: list[Step] = []
    for start in range(0, len(order), stretch):
        alike = sorted(order[start : start + stretch], key=lambda index: -lengths[index])
        batches = _cut(alike, lengths, rows, settings)
        steps += [batches[at : at + settings.accumulate] for at in range(0, len(batches), settings.accumulate)]
    return [steps[index] for index in rng.permutation(len(steps))]


def _stretch(lengths: Sequence[int], rows: Sequence[int], settings: TrainSettings) -> int:
    """How many examples are sorted together."""
    if settings.tokens is None:
        size = settings.batch_size
    else:
        size = max(1, int(settings.tokens / np.mean(np.multiply(lengths, rows))))
    size *= settings.accumulate
    steps = min(STRETCH, len(lengths) // (size * FEWEST))
    return size * max(1, steps)


def _cut(alike: Sequence[int], lengths: Sequence[int], rows: Sequence[int], settings: TrainSettings) -> list[list[int]]:
    """Batches of examples that stand in order of length, the longest first."""
    if settings.tokens is None:
        size = settings.batch_size
        return [list(alike[at : at + size]) for at in range(0, len(alike), size)]
    batches: list[list[int]] = []
    filled = longest = 0
    for index in alike:
        if batches and (filled + rows[index]) * longest <= settings.tokens:
            batches[-1].append(index)
            filled += rows[index]
        else:
            batches.append([index])
            filled, longest = rows[index], lengths[index]
    return batches
