"""MC-Sent-NoSoftmax: options of a problem train together, each as right or wrong.

Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020).

The paper sums over the options of a problem (`mean=problems`); the code takes the mean over all options of a batch,
so that problems with many weigh more (`mean=rows`, the default).
"""

from torch import Tensor

from winokit.methods.formalizations.base import COMPARING, Definition, Loss, Switches
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.heads import FirstToken, binary, highest
from winokit.methods.formalizations.inputs import SENTENCE_SWITCHES, SENTENCES


def loss(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each option, with its mean over options or problems.

    `numbers` has one number per option. Returns the sum over options, and the number by which to divide it.
    """
    total, option_count = binary(numbers, batch, switches)
    if switches["mean"] == "rows":
        return total, option_count
    return total, batch.cases


MC_SENT_NO_SOFTMAX = Definition(
    "mc-sent-no-softmax",
    "options together, each right or wrong by itself; the highest number wins",
    SENTENCES,
    FirstToken,
    loss,
    highest,
    switches={**SENTENCE_SWITCHES, "mean": ("rows", "problems"), **COMPARING},
)
