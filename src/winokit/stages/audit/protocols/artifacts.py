"""Artifact baselines: accuracy on texts that people could not solve.

The texts are without the candidates (no-cands), the last part of the sentence alone (part-sent; both Elazar et al.,
2021), or two words before the blank and what follows (local-context; Sakaguchi et al., 2019). A model above chance here
does not need the whole text.
"""

from collections.abc import Iterable

from winokit.methods.transforms.variants import ARTIFACTS
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol(*ARTIFACTS)
def artifacts(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and group accuracy on each kind of incomplete text."""
    for variant in ARTIFACTS:
        yield from _score_variant(sheet, "artifacts", variant, variant)


@protocol("special-word")
def special_word(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and group accuracy at choosing the special word.

    The special word is the one in which twins differ. In these problems it is the blank, and the words of the two twins
    are its candidates. The right candidate of the original problem is given in the text. This is the zero-shot setting
    of Elazar et al. (2021).
    """
    yield from _score_variant(sheet, "special-word", "all", "special-word")


def _score_variant(sheet: AuditSheet, name: str, subset: str, variant: str) -> Iterable[Metric]:
    """Accuracy and group accuracy on a variant. No rows if it has no predictions.

    `name` and `subset` are the protocol and the subset of the rows.
    """
    if not sheet.has(variant):
        return
    sheet.leave_out_refused(name, subset, variant)
    answers = sheet.answers(variant)
    yield from sheet.accuracy(name, subset, answers)
    yield from sheet.by_group((name, subset, "group_accuracy"), answers)
