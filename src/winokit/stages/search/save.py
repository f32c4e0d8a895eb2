"""What a search leaves on the disk for other tools: flat rows, a table of trials, the ensembles' predictions."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from winokit.files import write_whole
from winokit.methods.scoring import write_predictions
from winokit.results import rows_to_json
from winokit.stages.search.findings import SearchFindings
from winokit.stages.search.trials import Trial

RESULTS, TRIALS, ENSEMBLES = "results.json", "trials.csv", "ensembles"
ENDED = ("state", "accuracy", "group_accuracy", "steps", "kept_step", "stopped_early", "seconds")


def save(findings: SearchFindings) -> None:
    """Write results.json, trials.csv and the ensembles' predictions."""
    results = {"run": findings.run, "metrics": rows_to_json(findings.metrics), "notes": findings.notes}
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    write_whole(findings.folder / TRIALS, table(findings).encode())
    for finding in findings.found:
        name = re.sub(r"[^\w.-]+", "-", finding.formalization)
        for which, predictions in finding.voted.items():
            write_predictions(predictions, findings.folder / ENSEMBLES / name / f"{which}.jsonl")
    write_whole(findings.folder / RESULTS, text.encode())


def table(findings: SearchFindings) -> str:
    """One line a trial, as CSV. Test scores are not in it: no trial can be chosen by them."""
    lines = [dict(_cells(trial)) for trial in findings.trials]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _cells(trial: Trial) -> Iterator[tuple[str, Any]]:
    yield "formalization", trial.formalization
    yield "trial", trial.number
    yield from trial.drawn.items()
    for name in ENDED:
        yield name, getattr(trial.ended, name)
    yield "degenerate", trial.degenerate
    yield "warnings", "; ".join(trial.ended.warnings)
    yield "why", trial.ended.why or ""
