"""Several samples of one scorer: what it gets right always, what it gets right ever, and how often it agrees.

Rows of other protocols are means over samples. An interval counts neither samples nor problems, but units.
"""

from collections.abc import Iterable

from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol()
def samples(sheet: AuditSheet) -> Iterable[Metric]:
    """The mean over samples, all and any right, the same answer every time."""
    answers = sheet.answers()
    count = answers.sample_count
    if count < 2:
        return
    from winokit.methods.metrics.judge_samples import sample_rows

    torn = answers.problem_count - len(answers.sample_tables()[0])
    if torn:
        sheet.leave_out("samples", "all", f"fewer than {count} samples", torn)
    yield from sample_rows(sheet.judge, answers)
