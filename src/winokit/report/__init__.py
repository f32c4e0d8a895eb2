"""Results in, a folder of HTML out."""

from winokit.report.compare_page import paired, write_comparison
from winokit.report.comparing import compare_runs
from winokit.report.pages import write_report
from winokit.report.terminal import summary_table

__all__ = ["compare_runs", "paired", "summary_table", "write_comparison", "write_report"]
