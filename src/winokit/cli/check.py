"""What `winokit check` shows."""

from __future__ import annotations

from typing import Any

from winokit.cli.options import Lines
from winokit.data.checks.checkup import Findings
from winokit.drawing.tables import dim, styled
from winokit.drawing.wording import plural


def lines(findings: Findings) -> Lines:
    """Findings under the name of their dataset, each with some examples."""
    for name in dict.fromkeys(finding.dataset for finding in findings):
        yield styled((name, "bold"))
        for finding in (finding for finding in findings if finding.dataset == name):
            yield styled("  ", ("!", "red") if finding.warns else ("·", "green"), f" {finding.message}")
            yield from (dim(f"      {example}") for example in finding.examples[: findings.shown])
    warnings = sum(finding.warns for finding in findings)
    yield plural(warnings, "finding") if warnings else "nothing found"


def as_json(findings: Findings) -> Any:
    """Every finding with all its examples and rows."""
    return [finding.to_json() for finding in findings]


def code(findings: Findings) -> int:
    """1 where anything was found that is worth a warning."""
    return int(any(finding.warns for finding in findings))
