"""Group scoring (Elazar et al., 2021), and whether the answers to twins are independent.

A group counts as right only if all its members are.

Guessing gives 0.25 for pairs, not 0.5. A model that overlooks the special word gives both twins the same option and
gets one of two right, never both: group accuracy below what independence gives is anti-correlation, not chance.
"""

from collections.abc import Iterable

import numpy as np

from winokit.answers import Answers
from winokit.methods.arrays import IntArray
from winokit.methods.metrics.groups import independent_group_accuracy, same_option_chance, same_options
from winokit.methods.metrics.judge import complete_pairs, count_groups, layout_of
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.language import language_of


@protocol()
def groups(sheet: AuditSheet) -> Iterable[Metric]:
    """Shares of groups with all, some or no members right, and more.

    They include pairs with different choices, and accuracy on grouped and single problems.
    """
    answers = sheet.answers()
    is_grouped = np.zeros(len(answers), np.bool_)
    is_grouped[layout_of(answers).rows] = True
    is_single = flags(group is None for group in answers.groups)
    incomplete_count = answers.subset(~is_grouped & ~is_single).problem_count
    if incomplete_count:
        sheet.leave_out("groups", "complete", "a member of the group has no prediction", incomplete_count)
    if not is_grouped.any():
        sheet.leave_out("groups", "complete", "the dataset has no groups", answers.problem_count)
    for metric in ("group_accuracy", "one_right", "none_right"):
        yield from sheet.by_group(("groups", "complete", metric), answers)
    yield from sheet.judge.twins("complete", answers)
    yield from sheet.accuracy("groups", "grouped", answers.subset(is_grouped))
    yield from sheet.accuracy("groups", "single", answers.subset(is_single))
    rows = np.flatnonzero(is_grouped | is_single)
    gap_name = ("groups", "all", "single_minus_grouped")
    yield from sheet.gap(gap_name, answers.subset(rows), is_single[rows])


@protocol()
def dependence(sheet: AuditSheet) -> Iterable[Metric]:
    """Share of pairs with the same option, and accuracy of independent answers.

    The second is the share of pairs that would be right if each twin were answered without regard to the other. No rows
    without complete pairs.
    """
    answers = sheet.answers()
    pairs = complete_pairs(answers)
    if not len(pairs):
        return
    # Whole texts are no options that twins could share.
    has_option = ~answers.silent & flags(not problem.is_whole for problem in answers.problems)
    is_in_full = has_option[pairs].all(axis=1)
    if is_in_full.any():
        yield from _score_same_options(sheet, answers, pairs[is_in_full])
    paired = answers.subset(pairs.ravel())
    accuracy = independent_group_accuracy(paired.correct, paired.groups)
    chance = float(paired.chances.mean()) ** 2
    name = ("dependence", "complete", "independent_group_accuracy")
    yield sheet.judge.row(name, accuracy, count_groups(paired), chance=chance)


def _score_same_options(sheet: AuditSheet, answers: Answers, pairs: IntArray) -> Iterable[Metric]:
    """Share of pairs whose twins get the same option.

    `pairs` has the two rows of each pair, both answered.
    """
    paired = answers.subset(pairs.ravel())
    is_same = same_options(_list_options(paired), paired.groups)
    chance = same_option_chance(paired.candidates, paired.groups)
    units = answers.units.take(pairs[:, 0])
    name = ("dependence", "complete", "same_option")
    yield from sheet.judge.share(name, is_same, units, chance, n=count_groups(paired))


def _list_options(answers: Answers) -> list[str]:
    """The chosen candidate of each answer as a name.

    Twins may list their candidates in different orders, so indices cannot be compared.
    """
    options = []
    for problem, choice in zip(answers.problems, answers.choices.tolist(), strict=True):
        options.append(language_of(problem.language).bare(problem.candidates[choice]))
    return options
