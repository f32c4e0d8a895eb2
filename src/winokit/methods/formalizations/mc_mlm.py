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
    """Cross entropy over the options, or the margin loss with `loss=margin`.

    `numbers` has one number per option. Returns the sum over cases, and their number.
    """
    if switches["loss"] == "softmax":
        return softmax(numbers, batch, switches)
    return margin(numbers, batch, float(switches["alpha"]), float(switches["beta"]))


def margin(numbers: Tensor, batch: Batch, alpha: float, beta: float) -> Loss:
    """Negative log-probability of the right option, plus penalties for wrong ones.

    `numbers` has the log-probability of each option. The penalty of a wrong option is `alpha` times the amount by which
    it is less than `beta` below the right one. Returns the sum over cases, and their number.
    """
    is_right = batch.column == batch.gold[batch.case]
    # The number of each case's right option, as a sum: indexing would wait for the device.
    no_numbers = numbers.new_zeros(batch.cases)
    right = no_numbers.index_add(0, batch.case, numbers * is_right)
    excess = beta + numbers - right[batch.case]
    penalty = excess.clamp(min=0) * ~is_right
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
