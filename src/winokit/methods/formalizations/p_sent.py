"""P-Sent: is the text right with this option in its blank? Each option is judged by itself.

Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020).
"""

from winokit.methods.formalizations.base import Definition
from winokit.methods.formalizations.heads import JUDGING, FirstToken, binary, judged
from winokit.methods.formalizations.inputs import SENTENCE_SWITCHES, SENTENCES

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
