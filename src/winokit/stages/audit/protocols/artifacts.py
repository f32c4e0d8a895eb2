"""Artifact baselines: how far does a model get on texts that people could not solve?

Without the candidates in the text (no-cands), with the last part of the sentence alone (part-sent; both Elazar et
al., 2021), or with two words before the blank and what follows (local-context; Sakaguchi et al., 2019). What is above
chance here did not need the whole text.
"""

from collections.abc import Iterable

from winokit.methods.transforms.variants import ARTIFACTS
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol(*ARTIFACTS)
def artifacts(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and group accuracy on each of the three."""
    for variant in ARTIFACTS:
        yield from _score_variant(sheet, "artifacts", variant, variant)


@protocol("special-word")
def special_word(sheet: AuditSheet) -> Iterable[Metric]:
    """Zero-shot special words (Elazar et al., 2021): which twin's word fits, given the right candidate?"""
    yield from _score_variant(sheet, "special-word", "all", "special-word")


def _score_variant(sheet: AuditSheet, name: str, subset: str, variant: str) -> Iterable[Metric]:
    if not sheet.has(variant):
        return
    sheet.leave_out_refused(name, subset, variant)
    answers = sheet.answers(variant)
    yield from sheet.accuracy(name, subset, answers)
    yield from sheet.by_group((name, subset, "group_accuracy"), answers)
