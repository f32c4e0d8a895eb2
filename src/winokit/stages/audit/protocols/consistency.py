"""Is the choice the same where it should be: candidates switched, text perturbed? And all versions at once.

With the candidates in each other's place (Trichelair et al., 2018) the answer must follow: consistency is the share of
switchable problems whose predicted candidate changes, right or wrong; an abstention counts half. Stability (Abdou et
al., 2020) is the share of perturbed problems that are answered like their originals. Strict scoring counts a group only
if its twins, their switched and their perturbed versions are all right.
"""

from collections.abc import Iterable

from winokit.methods.metrics.consistency import CONSISTENCY_CHANCE, choice_kept, choice_kept_chance, role_kept
from winokit.methods.metrics.groups import all_right, all_right_chance, complete_groups
from winokit.methods.transforms.variants import PERTURBED
from winokit.problem import grouped
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol("switched")
def switching(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy before and after switching, and consistency, on the problems that could be switched."""
    if not sheet.has("switched"):
        return
    note = sheet.variants["switched"].note
    sheet.leave_out_refused("switching", "switchable", "switched")
    after = {case.origin: case for case in sheet.graded("switched")}
    pairs = [(case, after[case.problem.id]) for case in sheet.graded() if case.problem.id in after]
    pairs = [(case, other) for case, other in pairs if len(case.problem.candidates) == 2]
    before, switched = [case for case, _ in pairs], [other for _, other in pairs]
    yield from sheet.accuracy("switching", "switchable", before, note=note)
    yield from sheet.accuracy("switching", "switchable", switched, "switched_accuracy", note)
    if pairs:
        name, columns = ("switching", "switchable", "consistency"), sheet.columns(before)
        kept = role_kept(columns.predictions, [case.choice for case in switched])
        yield from sheet.head.share(name, kept, columns.clusters, CONSISTENCY_CHANCE, note)


@protocol(PERTURBED)
def stability(sheet: AuditSheet) -> Iterable[Metric]:
    """For each perturbation: accuracy, accuracy of the originals, and the share of predictions that stay the same."""
    originals = {case.problem.id: case for case in sheet.graded()}
    for variant in sheet.variants:
        if not variant.startswith(PERTURBED) or not sheet.has(variant):
            continue
        subset = variant.removeprefix(PERTURBED)
        sheet.leave_out_refused("stability", subset, variant)
        graded = sheet.graded(variant)
        pairs = [(case, originals[case.origin]) for case in graded if case.origin in originals]
        yield from sheet.accuracy("stability", subset, graded)
        yield from sheet.accuracy("stability", subset, [original for _, original in pairs], "original_accuracy")
        if pairs:
            columns, before = sheet.columns([case for case, _ in pairs]), [original.choice for _, original in pairs]
            kept = choice_kept(before, columns.predictions)
            guessing = choice_kept_chance(before, columns.predictions, columns.candidates)
            yield from sheet.head.share(("stability", subset, "stability"), kept, columns.clusters, guessing)


@protocol("switched", PERTURBED)
def strict(sheet: AuditSheet) -> Iterable[Metric]:
    """Group accuracy over everything that was asked about a group."""
    variants = ("switched", *(name for name in sheet.variants if name.startswith(PERTURBED)))
    asked_too = (case for variant in variants if variant in sheet.predictions for case in sheet.graded(variant))
    versions = grouped((case.origin, case) for case in asked_too)
    if not versions:
        return
    asked = [
        case
        for group in sheet.complete(sheet.graded())
        for twin in group
        for case in (twin, *versions.get(twin.problem.id, ()))
    ]
    if asked:
        columns = sheet.columns(asked)
        first = [rows[0] for rows in complete_groups(columns.groups).values()]
        values, guessing = all_right(columns.correct, columns.groups), all_right_chance(columns.chances, columns.groups)
        yield from sheet.head.share(("strict", "complete", "group_accuracy"), values, columns.clusters[first], guessing)
