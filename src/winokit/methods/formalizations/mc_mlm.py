"""MC-MLM: how likely is each option at the masked blank?

Kocijan et al., "A Surprisingly Robust Trick for the Winograd Schema Challenge" (2019),
https://arxiv.org/abs/1905.06290; Liu et al., "RoBERTa" (2019); Liu et al. (2020).

An option's number is the mean log-probability of its pieces, all masked at once; a softmax over them is the loss. So
before any training this is `masked-candidate` scoring. Switches:

- `loss=margin` is Kocijan et al.'s: L(right) + alpha * max(0, beta + L(right) - L(wrong)), L being minus the number,
  summed over the wrong options. Their code puts the *batch mean* of L(wrong) there; the paper and we each its own.
- `reduce=sum`: their code divides by the padded length, so that long options pay for every piece.
- `head=fresh`: a head with random weights, to tell what the pretrained one is worth. Where its last layer is tied to
  the word embedding, as usual, that layer stays.
"""

from torch import Tensor

from winokit.methods.formalizations.base import COMPARING, NUMBER, Definition, Loss, Switches
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.heads import GuessedWords, highest, softmax
from winokit.methods.formalizations.inputs import MASKED, SUBSTITUTION


def loss(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Return the cross entropy over the options, or the margin loss."""
    if switches["loss"] == "softmax":
        return softmax(numbers, batch, switches)
    return margin(numbers, batch, float(switches["alpha"]), float(switches["beta"]))


def margin(numbers: Tensor, batch: Batch, alpha: float, beta: float) -> Loss:
    """Return the negative log-probability of the right option, plus margin penalties.

    A wrong option is penalised if it is not `beta` below the right one.
    """
    is_right = batch.column == batch.gold[batch.case]
    # A sum over the batch, so that each case has its right option's number without asking the device where it stands.
    right = numbers.new_zeros(batch.cases).index_add(0, batch.case, numbers * is_right)
    penalty = (beta + numbers - right[batch.case]).clamp(min=0) * ~is_right
    return alpha * penalty.sum() - right.sum(), batch.cases


MC_MLM = Definition(
    "mc-mlm",
    "a softmax over how likely each option is in the masked blank; loss=margin for Kocijan et al.'s",
    MASKED,
    GuessedWords,
    loss,
    highest,
    guesses=True,
    switches={
        **SUBSTITUTION,
        "reduce": ("mean", "sum"),
        "head": ("pretrained", "fresh"),
        "loss": ("softmax", "margin"),
        "alpha": (*NUMBER, "10.0"),
        "beta": (*NUMBER, "0.4"),
        **COMPARING,
    },
)
