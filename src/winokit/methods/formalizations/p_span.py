"""P-Span: is this span what the pronoun refers to? The SuperGLUE baseline.

The text is read as it stands; first token, pronoun and named span go into a logistic regression, one judgement at a
time. With candidates, each is a judgement of its own at its first mention, and the blank stands for the pronoun.
"""

from __future__ import annotations

from torch import Tensor

from winokit.methods.formalizations.base import Definition, Loss, Switches, register
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.decisions import JUDGING, judged
from winokit.methods.formalizations.heads import Spans
from winokit.methods.formalizations.inputs import SPANS
from winokit.methods.formalizations.losses import binary


def loss(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each span."""
    return binary(numbers, batch)


register(
    Definition(
        "p-span",
        "is this span meant? [first token; span; pronoun] -> right or wrong",
        SPANS,
        Spans,
        loss,
        judged,
        pointwise=True,
        compares=False,
        switches=JUDGING,
    )
)
