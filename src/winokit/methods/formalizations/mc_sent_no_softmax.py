"""MC-Sent-NoSoftmax: the options of a problem train together, each as right or wrong by itself.

The paper sums over the options of a problem (`mean=problems`); the code takes the mean over all options of a batch,
so that problems with many weigh more (`mean=rows`, the default).
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
    """Binary cross entropy of each filled text, options of one problem side by side."""
    total, rows = binary(numbers, batch)
    return total, rows if switches["mean"] == "rows" else batch.cases


register(
    Definition(
        "mc-sent-no-softmax",
        "options together, each right or wrong by itself; the highest number wins",
        SENTENCES,
        FirstToken,
        loss,
        highest,
        switches={
            **SEPARATION,
            **SUBSTITUTION,
            "head": ("linear", "dense"),
            "mean": ("rows", "problems"),
            **COMPARING,
        },
    )
)
