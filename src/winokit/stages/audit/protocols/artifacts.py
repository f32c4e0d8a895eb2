"""Artifact baselines: how far does a model get on texts that people could not solve?

Without the candidates in the text (no-cands), with the last part of the sentence alone (part-sent; both Elazar et
al., 2021), or with two words before the blank and what follows (local-context; Sakaguchi et al., 2019). What is above
chance here did not need the whole text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from winokit.methods.metrics import all_right, all_right_chance
from winokit.methods.transforms.variants import ARTIFACTS
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet


def artifacts(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and group accuracy on each of the three."""
    for variant in ARTIFACTS:
        yield from _on_variant(sheet, "artifacts", variant, variant)


def special_word(sheet: AuditSheet) -> Iterable[Metric]:
    """Zero-shot special words (Elazar et al., 2021): which twin's word fits, given the right candidate?"""
    yield from _on_variant(sheet, "special-word", "all", "special-word")


def _on_variant(sheet: AuditSheet, protocol: str, subset: str, variant: str) -> Iterable[Metric]:
    if variant not in sheet.variants or variant not in sheet.predictions:
        return
    for why, count in Counter(sheet.variants[variant].refused.values()).items():
        sheet.leave_out(protocol, subset, why, count)
    graded = sheet.graded(variant)
    yield from sheet.accuracy(protocol, subset, graded)
    yield from sheet.by_group((protocol, subset, "group_accuracy"), graded, all_right, all_right_chance)
