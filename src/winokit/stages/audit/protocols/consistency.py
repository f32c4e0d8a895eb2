"""Choices under rewritten texts: candidates switched, text perturbed, and all versions together.

If the candidates change places (Trichelair et al., 2018), the answer must follow. Consistency is the share of
switchable problems whose predicted candidate changes, right or wrong. An abstention counts half. Stability (Abdou et
al., 2020) is the share of perturbed problems that are answered like their originals. Strict scoring counts a group only
if its twins, their switched and their perturbed versions are all right.
"""

from collections.abc import Iterable

import numpy as np

from winokit.answers import Answers
from winokit.methods.metrics.consistency import CONSISTENCY_CHANCE, choice_kept, choice_kept_chance, role_kept
from winokit.methods.metrics.judge import count_groups, layout_of
from winokit.methods.transforms.variants import PERTURBED
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet

AnswerKey = tuple[str, int]
"""Id of a problem, and the number of a sample."""


@protocol("switched")
def switching(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy before and after switching, its fall, and consistency.

    Only problems with two candidates count that could be switched and have both predictions.
    """
    if not sheet.has("switched"):
        return
    note = sheet.variants["switched"].note
    sheet.leave_out_refused("switching", "switchable", "switched")
    before, after = sheet.answers().matched(sheet.answers("switched"))
    has_two = before.candidates == 2
    before = before.subset(has_two)
    after = after.subset(has_two)
    yield from sheet.accuracy("switching", "switchable", before, note=note)
    yield from sheet.accuracy("switching", "switchable", after, "switched_accuracy", note)
    if not len(before):
        return
    fall_name = ("switching", "switchable", "unswitched_minus_switched")
    yield from sheet.judge.fall(fall_name, before, after, note)
    name = ("switching", "switchable", "consistency")
    is_kept = role_kept(before.predictions, after.predictions)
    n = before.problem_count
    yield from sheet.judge.share(name, is_kept, before.units, CONSISTENCY_CHANCE, note, n=n)


@protocol(PERTURBED)
def stability(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and stability under each perturbation, and accuracy on the original problems."""
    for variant in sheet.variants:
        if variant.startswith(PERTURBED) and sheet.has(variant):
            yield from _score_perturbation(sheet, variant)


def _score_perturbation(sheet: AuditSheet, variant: str) -> Iterable[Metric]:
    """Accuracy before and after a perturbation, and the share of choices kept.

    The accuracy before, and the share, are on problems that have both predictions.
    """
    subset = variant.removeprefix(PERTURBED)
    sheet.leave_out_refused("stability", subset, variant)
    answers = sheet.answers(variant)
    after, before = answers.matched(sheet.answers())
    yield from sheet.accuracy("stability", subset, answers)
    yield from sheet.accuracy("stability", subset, before, "original_accuracy")
    if not len(after):
        return
    name = ("stability", subset, "stability")
    is_kept = choice_kept(before.predictions, after.predictions)
    chance = choice_kept_chance(before.predictions, after.predictions, after.candidates)
    n = after.problem_count
    yield from sheet.judge.share(name, is_kept, after.units, chance, n=n)


@protocol("switched", PERTURBED)
def strict(sheet: AuditSheet) -> Iterable[Metric]:
    """Share of groups whose problems are right in every version.

    Versions are original, switched and perturbed. One that a problem lacks, or that has no prediction, is passed over.
    No rows without a switched or perturbed version.
    """
    variants = ["switched", *(name for name in sheet.variants if name.startswith(PERTURBED))]
    versions = [sheet.answers(name) for name in variants if name in sheet.predictions]
    answers = sheet.answers()
    layout = layout_of(answers)
    if not any(map(len, versions)) or not layout.members:
        return
    is_right, chances = _merge_versions(answers, versions)
    values = []
    group_chances = []
    for rows in layout.members:
        keys = [answers.keys[row] for row in rows]
        values.append(all(is_right[key] for key in keys))
        group_chances.append(float(np.prod([chances[key] for key in keys])))
    units = answers.units.take(layout.rows[layout.starts])
    name = ("strict", "complete", "group_accuracy")
    yield from sheet.judge.share(name, values, units, group_chances, n=count_groups(answers))


def _merge_versions(
    answers: Answers, versions: Iterable[Answers]
) -> tuple[dict[AnswerKey, bool], dict[AnswerKey, float]]:
    """Whether each problem is right in all versions, and its chance.

    Both are by problem and sample. Versions without an answer to a problem are passed over. The chance is the product
    of those of its versions.
    """
    is_right = dict(zip(answers.keys, answers.correct.tolist(), strict=True))
    chances = dict(zip(answers.keys, answers.chances.tolist(), strict=True))
    for version in versions:
        for key, is_version_right, chance in zip(version.keys, version.correct, version.chances, strict=True):
            if key in is_right:
                is_right[key] = is_right[key] and bool(is_version_right)
                chances[key] *= float(chance)
    return is_right, chances
