"""MC-Sent: a softmax over the filled texts of a problem. WinoGrande's method is `mc-sent?style=winogrande`.

Sakaguchi et al., "WinoGrande" (2020), https://arxiv.org/abs/1907.10641; Liu et al. (2020) use a plain linear head.
One thing of WinoGrande's code is left out: it tokenises context and option apart (`inputs.py`).
"""

from __future__ import annotations

from torch import Tensor

from winokit.methods.formalizations.base import COMPARING, Definition, Loss, Switches, register
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.decisions import highest
from winokit.methods.formalizations.heads import FirstToken
from winokit.methods.formalizations.inputs import SENTENCES, SEPARATION, SUBSTITUTION
from winokit.methods.formalizations.losses import softmax


def loss(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Cross entropy over the options."""
    return softmax(numbers, batch)


register(
    Definition(
        "mc-sent",
        "a softmax over the first tokens of the filled texts",
        SENTENCES,
        FirstToken,
        loss,
        highest,
        switches={**SEPARATION, **SUBSTITUTION, "head": ("linear", "dense"), **COMPARING},
    )
)
