"""Many fine-tuning runs over a space of settings, and what their scores are worth."""

from winokit.training.searching.findings import Finding, Findings
from winokit.training.searching.search import search
from winokit.training.searching.space import Range, Space, Values

__all__ = ["Finding", "Findings", "Range", "Space", "Values", "search"]
