"""Twin dependence: are the answers to twins independent?

A model that overlooks the special word gives both twins the same option and gets one of two right, never both: group
accuracy below what independence gives is anti-correlation, not chance.
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.methods.metrics import independent_group_accuracy, same_option_chance, same_options
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet, GradedProblems
from winokit.text.words import bare


def dependence(sheet: AuditSheet) -> Iterable[Metric]:
    """How often twins get the same option, and the group accuracy that independent answers would have."""
    pairs = [group for group in sheet.complete(sheet.graded()) if len(group) == 2]
    answered = [one for pair in pairs if all(one.choice is not None for one in pair) for one in pair]
    if answered:
        found = sheet.columns(answered)
        same = same_options([_option(one) for one in answered], found.groups)
        chance = same_option_chance(found.candidates, found.groups)
        yield from sheet.head.share(("dependence", "complete", "same_option"), same, found.clusters[::2], chance)
    if pairs:
        found = sheet.columns([one for pair in pairs for one in pair])
        independent = independent_group_accuracy(found.correct, found.groups)
        guessing = float(found.chances.mean()) ** 2
        name = ("dependence", "complete", "independent_group_accuracy")
        yield sheet.head.row(name, independent, len(pairs), chance=guessing)


def _option(one: GradedProblems) -> str:
    """The predicted candidate by name: twins may list theirs in different orders."""
    return bare(one.problem.candidates[one.choice or 0])
