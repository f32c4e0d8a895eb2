"""Several samples of one scorer: problems right in all or in any of them, and their agreement.

Rows of other protocols are means over samples. An interval counts neither samples nor problems, but units.
"""

from collections.abc import Iterable

from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol()
def samples(sheet: AuditSheet) -> Iterable[Metric]:
    """Problems right in all and in any sample, and their agreement.

    The mean accuracy over samples is among the rows. No rows if no problem has several samples.
    """
    answers = sheet.answers()
    count = answers.sample_count
    if count < 2:
        return
    from winokit.methods.metrics.judge_samples import sample_rows

    incomplete_count = answers.problem_count - len(answers.sample_tables()[0])
    if incomplete_count:
        sheet.leave_out("samples", "all", f"fewer than {count} samples", incomplete_count)
    yield from sample_rows(sheet.judge, answers)
