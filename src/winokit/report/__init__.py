"""Results in, a folder of HTML out."""

from winokit.report.compare_page import paired, write_comparison
from winokit.report.comparing import compare_runs
from winokit.report.terminal import summary_table
from winokit.report.write import write_report

__all__ = ["compare_runs", "paired", "summary_table", "write_comparison", "write_report"]
