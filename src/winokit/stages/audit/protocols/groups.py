"""Group scoring (Elazar et al., 2021): a group counts only if all its members are right. And: are twins independent?

Guessing gives 0.25 for pairs, not 0.5. A model that overlooks the special word gives both twins the same option and
gets one of two right, never both: group accuracy below what independence gives is anti-correlation, not chance.
"""

from collections.abc import Iterable

import numpy as np

from winokit.answers import Answers
from winokit.methods.metrics.groups import independent_group_accuracy, same_option_chance, same_options
from winokit.methods.metrics.judge import complete_pairs, count_groups, layout_of
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.language import language_of


@protocol()
def groups(sheet: AuditSheet) -> Iterable[Metric]:
    """Groups with all, some or no members right, and twins told apart."""
    answers = sheet.answers()
    is_grouped = np.zeros(len(answers), np.bool_)
    is_grouped[layout_of(answers).rows] = True
    is_single = flags(group is None for group in answers.groups)
    torn = answers.subset(~is_grouped & ~is_single).problem_count
    if torn:
        sheet.leave_out("groups", "complete", "a member of the group has no prediction", torn)
    if not is_grouped.any():
        sheet.leave_out("groups", "complete", "the dataset has no groups", answers.problem_count)
    for metric in ("group_accuracy", "one_right", "none_right"):
        yield from sheet.by_group(("groups", "complete", metric), answers)
    yield from sheet.judge.twins("complete", answers)
    yield from sheet.accuracy("groups", "grouped", answers.subset(is_grouped))
    yield from sheet.accuracy("groups", "single", answers.subset(is_single))
    rows = np.flatnonzero(is_grouped | is_single)
    yield from sheet.gap(("groups", "all", "single_minus_grouped"), answers.subset(rows), is_single[rows])


@protocol()
def dependence(sheet: AuditSheet) -> Iterable[Metric]:
    """Share of twins that get the same option, and the accuracy without that."""
    answers = sheet.answers()
    pairs = complete_pairs(answers)
    if not len(pairs):
        return
    # Whole texts are no options that twins could share.
    has_option = ~answers.silent & flags(not problem.is_whole for problem in answers.problems)
    in_full = pairs[has_option[pairs].all(axis=1)]
    if len(in_full):
        chosen = answers.subset(in_full.ravel())
        same = same_options(_list_options(chosen), chosen.groups)
        chance = same_option_chance(chosen.candidates, chosen.groups)
        units = answers.units.take(in_full[:, 0])
        n = count_groups(chosen)
        yield from sheet.judge.share(("dependence", "complete", "same_option"), same, units, chance, n=n)
    paired = answers.subset(pairs.ravel())
    independent = independent_group_accuracy(paired.correct, paired.groups)
    guessing = float(paired.chances.mean()) ** 2
    name = ("dependence", "complete", "independent_group_accuracy")
    yield sheet.judge.row(name, independent, count_groups(paired), chance=guessing)


def _list_options(answers: Answers) -> list[str]:
    """The chosen candidates by name: twins may list their candidates in different orders."""
    return [
        language_of(problem.language).bare(problem.candidates[choice])
        for problem, choice in zip(answers.problems, answers.choices.tolist(), strict=True)
    ]
