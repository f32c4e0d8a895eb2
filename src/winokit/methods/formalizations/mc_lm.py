"""MC-LM: how likely is the text after each option?

Ours: the multiple choice of Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020),
https://arxiv.org/abs/2010.04043, over the partial scores of Trinh and Le, "A Simple Method for Commonsense Reasoning"
(2018), https://arxiv.org/abs/1806.02847.

An option's number is the log-probability of what follows it, summed over the tokens; a softmax over the options is the
loss. So before any training this is `partial` scoring. Switches:

- `scored=full`: the whole text with the option in it, `full` scoring. An encoder-decoder cannot do that.
- `reduce=mean`: the mean over the tokens.
- `lora=8`: matrices of rank 8 beside every linear layer are trained in place of the weights (Hu et al., "LoRA", 2021,
  https://arxiv.org/abs/2106.09685), which takes less memory. The saved folder has ordinary weights.
"""

from typing import Any

from torch import nn

from winokit.methods.formalizations.base import COMPARING, NUMBER, Definition, Switches
from winokit.methods.formalizations.heads import GuessedWords, WrittenWords, highest, softmax
from winokit.methods.formalizations.inputs import FOLLOWING, SUBSTITUTION


def following_words(config: Any, switches: Switches) -> nn.Module:
    """Return the head for an encoder-decoder, or for a causal model.

    `config` is the model's configuration.
    """
    if config.is_encoder_decoder:
        return WrittenWords(config, switches)
    return GuessedWords(config, switches)


MC_LM = Definition(
    "mc-lm",
    "a softmax over how likely the text after each option is, for causal models and encoder-decoders",
    FOLLOWING,
    following_words,
    softmax,
    highest,
    guesses=True,
    kinds=("causal", "seq2seq"),
    switches={
        **SUBSTITUTION,
        "scored": ("partial", "full"),
        "reduce": ("sum", "mean"),
        "lora": (*NUMBER, "0"),
        **COMPARING,
    },
)
