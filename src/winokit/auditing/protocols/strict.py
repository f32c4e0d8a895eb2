"""Strict scoring: a group counts only if its twins, their switched and their perturbed versions are all right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from winokit.auditing.protocols.stability import PERTURBED
from winokit.auditing.sheet import Graded, Sheet, original_id
from winokit.results import Metric


def strict(sheet: Sheet) -> Iterable[Metric]:
    """Group accuracy over everything that was asked about a group."""
    versions: dict[str, list[Graded]] = defaultdict(list)
    for variant in ("switched", *(name for name in sheet.variants if name.startswith(PERTURBED))):
        if variant in sheet.predictions:
            for one in sheet.graded(variant):
                versions[original_id(one.problem)].append(one)
    if not versions:
        return
    groups = sheet.complete(sheet.graded())
    asked = [[*group, *(more for one in group for more in versions[one.problem.id])] for group in groups]
    values = [float(all(one.correct for one in everything)) for everything in asked]
    if asked:
        chance = float(np.mean([np.prod([one.chance for one in everything]) for everything in asked]))
        yield from sheet.mean(("strict", "complete", "group_accuracy"), values, range(len(values)), chance)
