"""MC-Sent: a softmax over the filled texts of a problem. WinoGrande's method is `mc-sent?style=winogrande`.

Sakaguchi et al., "WinoGrande" (2020), https://arxiv.org/abs/1907.10641; Liu et al. (2020) use a plain linear head.
One thing of WinoGrande's code is left out: it tokenises context and option apart (`inputs.py`).
"""

from winokit.methods.formalizations.base import COMPARING, Definition
from winokit.methods.formalizations.heads import FirstToken, highest, softmax
from winokit.methods.formalizations.inputs import SENTENCE_SWITCHES, SENTENCES

MC_SENT = Definition(
    "mc-sent",
    "a softmax over the first tokens of the filled texts",
    SENTENCES,
    FirstToken,
    softmax,
    highest,
    switches={**SENTENCE_SWITCHES, **COMPARING},
)
