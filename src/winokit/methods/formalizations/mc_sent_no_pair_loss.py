"""MC-Sent-NoPairLoss: trained as P-Sent, one option at a time; decided by comparing the options.

Liu et al. say that multiple-choice formalizations keep one judgement a sentence in training (`trains=groups`); their
code keeps all for this one, whose loss sees the query only, and so do we (`trains=all`).
"""

from __future__ import annotations

from torch import Tensor

from winokit.methods.formalizations.base import COMPARING, Definition, Loss, Switches, register
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.decisions import highest
from winokit.methods.formalizations.heads import FirstToken
from winokit.methods.formalizations.inputs import SENTENCES, SEPARATION, SUBSTITUTION
from winokit.methods.formalizations.losses import binary


def loss(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each filled text."""
    return binary(numbers, batch)


register(
    Definition(
        "mc-sent-no-pair-loss",
        "P-Sent's training; the option with the highest number wins",
        SENTENCES,
        FirstToken,
        loss,
        highest,
        pointwise=True,
        switches={
            **SEPARATION,
            **SUBSTITUTION,
            "head": ("linear", "dense"),
            **COMPARING,
            "trains": ("all", "groups"),
        },
    )
)
