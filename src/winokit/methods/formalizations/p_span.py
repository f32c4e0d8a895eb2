"""P-Span: is this span what the pronoun refers to? The SuperGLUE baseline.

Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020).

The text is read as it stands; first token, pronoun and named span go into a logistic regression, one judgement at a
time. With candidates, each is a judgement of its own at its first mention, and the blank stands for the pronoun.
"""

from winokit.methods.formalizations.base import Definition
from winokit.methods.formalizations.heads import JUDGING, Spans, binary, judged
from winokit.methods.formalizations.inputs import SPANS

P_SPAN = Definition(
    "p-span",
    "is this span meant? [first token; span; pronoun] -> right or wrong",
    SPANS,
    Spans,
    binary,
    judged,
    pointwise=True,
    compares=False,
    reads_pronoun=True,
    switches=JUDGING,
)
