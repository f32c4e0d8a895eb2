"""Group scoring (Elazar et al., 2021): a group counts only if all its members are right. And: are twins independent?

Guessing gives 0.25 for pairs, not 0.5. A model that overlooks the special word gives both twins the same option and
gets one of two right, never both: group accuracy below what independence gives is anti-correlation, not chance.
"""

from collections.abc import Iterable

from winokit.methods.metrics.groups import independent_group_accuracy, same_option_chance, same_options
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet
from winokit.text.language import language_of


@protocol()
def groups(sheet: AuditSheet) -> Iterable[Metric]:
    """Groups with all, some and no members right; accuracy on grouped and on single problems beside them."""
    graded = sheet.graded()
    complete = sheet.complete(graded)
    inside = {id(case) for group in complete for case in group}
    single = [case for case in graded if case.problem.group is None]
    torn = len(graded) - len(inside) - len(single)
    if torn:
        sheet.leave_out("groups", "complete", "a member of the group has no prediction", torn)
    if not complete:
        sheet.leave_out("groups", "complete", "the dataset has no groups", len(graded))
    for metric in ("group_accuracy", "one_right", "none_right"):
        yield from sheet.by_group(("groups", "complete", metric), graded)
    grouped = [case for case in graded if id(case) in inside]
    yield from sheet.accuracy("groups", "grouped", grouped)
    yield from sheet.accuracy("groups", "single", single)
    yield from sheet.gap(("groups", "all", "single_minus_grouped"), single, grouped)


@protocol()
def dependence(sheet: AuditSheet) -> Iterable[Metric]:
    """How often twins get the same option, and the group accuracy that independent answers would have."""
    pairs = [group for group in sheet.complete(sheet.graded()) if len(group) == 2]
    # Whole texts are no options that twins could share.
    answered = [
        case
        for pair in pairs
        if all(case.choice is not None and not case.problem.is_whole for case in pair)
        for case in pair
    ]
    if answered:
        columns = sheet.columns(answered)
        # By name: twins may list their candidates in different orders.
        options = [
            language_of(case.problem.language).bare(case.problem.candidates[case.choice or 0]) for case in answered
        ]
        same = same_options(options, columns.groups)
        chance = same_option_chance(columns.candidates, columns.groups)
        yield from sheet.head.share(("dependence", "complete", "same_option"), same, columns.clusters[::2], chance)
    if pairs:
        columns = sheet.columns([case for pair in pairs for case in pair])
        independent = independent_group_accuracy(columns.correct, columns.groups)
        guessing = float(columns.chances.mean()) ** 2
        name = ("dependence", "complete", "independent_group_accuracy")
        yield sheet.head.row(name, independent, len(pairs), chance=guessing)
