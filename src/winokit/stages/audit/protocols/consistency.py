"""Is the choice the same where it should be: candidates switched, text perturbed? And all versions at once.

With the candidates in each other's place (Trichelair et al., 2018) the answer must follow: consistency is the share of
switchable problems whose predicted candidate changes, right or wrong; an abstention counts half. Stability (Abdou et
al., 2020) is the share of perturbed problems that are answered like their originals. Strict scoring counts a group only
if its twins, their switched and their perturbed versions are all right.
"""

from collections.abc import Iterable

import numpy as np

from winokit.methods.metrics.consistency import CONSISTENCY_CHANCE, choice_kept, choice_kept_chance, role_kept
from winokit.methods.metrics.judge import count_groups, layout_of
from winokit.methods.transforms.variants import PERTURBED
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol("switched")
def switching(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy before and after switching, its fall, and consistency, on the problems that could be switched."""
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
    if len(before):
        yield from sheet.judge.fall(("switching", "switchable", "unswitched_minus_switched"), before, after, note)
        name = ("switching", "switchable", "consistency")
        is_kept = role_kept(before.predictions, after.predictions)
        yield from sheet.judge.share(name, is_kept, before.units, CONSISTENCY_CHANCE, note, n=before.problem_count)


@protocol(PERTURBED)
def stability(sheet: AuditSheet) -> Iterable[Metric]:
    """For each perturbation: accuracy, accuracy of the originals, and the share of predictions that stay the same."""
    for variant in sheet.variants:
        if not variant.startswith(PERTURBED) or not sheet.has(variant):
            continue
        subset = variant.removeprefix(PERTURBED)
        sheet.leave_out_refused("stability", subset, variant)
        answers = sheet.answers(variant)
        after, before = answers.matched(sheet.answers())
        yield from sheet.accuracy("stability", subset, answers)
        yield from sheet.accuracy("stability", subset, before, "original_accuracy")
        if len(after):
            is_kept = choice_kept(before.predictions, after.predictions)
            guessing = choice_kept_chance(before.predictions, after.predictions, after.candidates)
            name = ("stability", subset, "stability")
            n = after.problem_count
            yield from sheet.judge.share(name, is_kept, after.units, guessing, n=n)


@protocol("switched", PERTURBED)
def strict(sheet: AuditSheet) -> Iterable[Metric]:
    """Group accuracy over everything that was asked about a group."""
    names = ("switched", *(name for name in sheet.variants if name.startswith(PERTURBED)))
    versions = [sheet.answers(name) for name in names if name in sheet.predictions]
    answers = sheet.answers()
    layout = layout_of(answers)
    if not any(len(version) for version in versions) or not layout.members:
        return
    is_right = dict(zip(answers.keys, answers.correct.tolist(), strict=True))
    chance = dict(zip(answers.keys, answers.chances.tolist(), strict=True))
    for version in versions:
        for key, right, own_chance in zip(version.keys, version.correct, version.chances, strict=True):
            if key in is_right:
                is_right[key] = is_right[key] and bool(right)
                chance[key] *= float(own_chance)
    groups = [[answers.keys[row] for row in rows] for rows in layout.members]
    values = [all(is_right[key] for key in keys) for keys in groups]
    guessing = [float(np.prod([chance[key] for key in keys])) for keys in groups]
    units = answers.units.take(layout.rows[layout.starts])
    name = ("strict", "complete", "group_accuracy")
    yield from sheet.judge.share(name, values, units, guessing, n=count_groups(answers))
