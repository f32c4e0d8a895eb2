"""Rows over the samples of a scorer that was asked several times."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from winokit.answers import Answers
from winokit.methods.metrics import groups, samples
from winokit.methods.metrics.intervals import share_interval
from winokit.methods.metrics.judge import Judge, layout_of
from winokit.methods.metrics.null import right_test, whole_groups_test
from winokit.results import SAMPLES, Metric


def sample_rows(scorer_judge: Judge, answers: Answers) -> Iterator[Metric]:
    """Make the rows over all samples of a scorer.

    The mean, all and any of them right, the same answer every time, and whole groups right in every sample, of the
    problems that have all samples. Yields nothing for a scorer that was asked once.
    """
    tables = answers.sample_tables()
    if len(tables) < 2 or not len(tables[0]):
        return
    first = tables[0]
    units = first.units
    choices = np.stack([table.choices for table in tables], axis=1)
    chances = np.stack([table.chances for table in tables], axis=1)
    by_all = replace(first, choices=samples.unanimous(choices))
    judge = replace(scorer_judge, details={**scorer_judge.details, SAMPLES: len(tables)})
    yield from judge.accuracy(("samples", "all", "accuracy"), answers)
    all_chance = samples.all_right_chance(chances)
    yield judge.tested_share(("samples", "all", "all_right"), by_all.correct, units, all_chance, right_test(by_all))
    any_right = samples.any_right(choices, first.answers)
    interval = share_interval(any_right, units)
    any_share = float(any_right.mean())
    any_chance = float(samples.any_right_chance(chances).mean())
    name = ("samples", "all", "any_right")
    yield judge.row(name, any_share, len(first), interval.low, interval.high, any_chance)
    is_same = samples.same_answer(choices)
    same_chance = samples.same_answer_chance(choices, first.candidates)
    yield from judge.share(("samples", "all", "same_answer"), is_same, units, same_chance)
    layout = layout_of(by_all)
    if layout.members:
        together = groups.all_right(by_all.correct, layout)
        whole_chance = groups.all_right_chance(all_chance, layout)
        group_units = units.take(layout.rows[layout.starts])
        test = whole_groups_test(by_all)
        yield judge.tested_share(("samples", "complete", "group_accuracy"), together, group_units, whole_chance, test)
