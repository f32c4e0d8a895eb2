"""P-Sent: is the text right with this option in its blank? One judgement at a time, no option sees another."""

from __future__ import annotations

from torch import Tensor

from winokit.methods.formalizations.base import Definition, Loss, Switches, register
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.decisions import JUDGING, judged
from winokit.methods.formalizations.heads import FirstToken
from winokit.methods.formalizations.inputs import SENTENCES, SEPARATION, SUBSTITUTION
from winokit.methods.formalizations.losses import binary


def loss(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each filled text."""
    return binary(numbers, batch)


register(
    Definition(
        "p-sent",
        "is the filled text right? first token -> right or wrong",
        SENTENCES,
        FirstToken,
        loss,
        judged,
        pointwise=True,
        compares=False,
        switches={**SEPARATION, **SUBSTITUTION, "head": ("linear", "dense"), **JUDGING},
    )
)
