"""MC-Sent, P-Sent and the two steps between them: a head on the first token of the text with an option in its blank.

Sakaguchi et al., "WinoGrande" (2020), https://arxiv.org/abs/1907.10641, whose method is `mc-sent?style=winogrande`; one
thing of their code is left out: it tokenises context and option apart (`inputs.py`). Liu et al., "Precise Task
Formalization Matters in Winograd Schema Evaluations" (2020), use a plain linear head and take one thing away at a time:

- MC-Sent: a softmax over the filled texts of a problem.
- MC-Sent-NoSoftmax: the options of a problem train together, each as right or wrong by itself. The paper sums over the
  options of a problem (`mean=problems`); the code takes the mean over all options of a batch, so that problems with
  many weigh more (`mean=rows`, the default).
- MC-Sent-NoPairLoss: trained as P-Sent, one option at a time; decided by comparing the options. The paper says that
  multiple-choice formalizations keep one judgement a sentence in training (`trains=groups`); the code keeps all for
  this one, whose loss sees the query only, and so do we (`trains=all`).
- P-Sent: is the text right with this option in its blank? One judgement at a time, no option sees another.
"""

from __future__ import annotations

from torch import Tensor

from winokit.methods.formalizations.base import COMPARING, Definition, Loss, Switches
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.decisions import JUDGING, highest, judged
from winokit.methods.formalizations.heads import FirstToken, binary, softmax
from winokit.methods.formalizations.inputs import SENTENCE_SWITCHES, SENTENCES


def together(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each filled text, options of one problem side by side."""
    total, rows = binary(numbers, batch, switches)
    return total, rows if switches["mean"] == "rows" else batch.cases


MC_SENT = Definition(
    "mc-sent",
    "a softmax over the first tokens of the filled texts",
    SENTENCES,
    FirstToken,
    softmax,
    highest,
    switches={**SENTENCE_SWITCHES, **COMPARING},
)
MC_SENT_NO_SOFTMAX = Definition(
    "mc-sent-no-softmax",
    "options together, each right or wrong by itself; the highest number wins",
    SENTENCES,
    FirstToken,
    together,
    highest,
    switches={**SENTENCE_SWITCHES, "mean": ("rows", "problems"), **COMPARING},
)
MC_SENT_NO_PAIR_LOSS = Definition(
    "mc-sent-no-pair-loss",
    "P-Sent's training; the option with the highest number wins",
    SENTENCES,
    FirstToken,
    binary,
    highest,
    pointwise=True,
    switches={**SENTENCE_SWITCHES, **COMPARING, "trains": ("all", "groups")},
)
P_SENT = Definition(
    "p-sent",
    "is the filled text right? first token -> right or wrong",
    SENTENCES,
    FirstToken,
    binary,
    judged,
    pointwise=True,
    compares=False,
    switches={**SENTENCE_SWITCHES, **JUDGING},
)
