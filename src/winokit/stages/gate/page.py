"""The summary of a gate for a pull request, in Markdown."""

from pathlib import Path
from typing import TYPE_CHECKING

from winokit.drawing.page import rendered_plain
from winokit.files import write_whole
from winokit.stages.gate.table import rows_of_tests

if TYPE_CHECKING:
    from winokit.stages.gate.verdict import GateOutcome


def write_summary(outcome: "GateOutcome", path: Path) -> None:
    """Write the outcome to a Markdown file.

    It has the verdict, the numbers and a sentence per metric.
    """
    summary = rendered_plain("stages/gate/summary.md.j2", outcome=outcome, rows=list(rows_of_tests(outcome)))
    write_whole(path, summary)
