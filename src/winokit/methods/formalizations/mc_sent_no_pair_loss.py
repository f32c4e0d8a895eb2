"""MC-Sent-NoPairLoss: trained one option at a time, decided by comparing options.

Liu et al. say that multiple-choice formalizations keep one judgement a sentence in training (`trains=groups`); their
code keeps all for this one, whose loss sees the query only, and so do we (`trains=all`).
"""

from winokit.methods.formalizations.base import COMPARING, Definition
from winokit.methods.formalizations.heads import FirstToken, binary, highest
from winokit.methods.formalizations.inputs import SENTENCE_SWITCHES, SENTENCES

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
