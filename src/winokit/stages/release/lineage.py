"""The lineage of a release: for each problem where it stands, since when, and why it came, stayed or went.

`lineage.jsonl` has one row per problem: `id`, `split` (train, dev, test, or null for one that is gone), `status`,
`why`, `since` (the version it came with) and, for one that is gone, `until` (the version it is gone from). Rows are
sorted by id. They name no answers and no groups: twins have opposite answers, so that a group tells half of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.files import write_whole
from winokit.stages.release.manifest import DEV, TEST, TRAIN

LINEAGE = "lineage.jsonl"
ADDED, KEPT, REMOVED, RETIRED = "added", "kept", "removed", "retired"
"""New in this version; here before; filtered out of the evaluation and left for training; gone for good."""
STATUSES = (ADDED, KEPT, REMOVED, RETIRED)
SPLITS = (TRAIN, DEV, TEST)
Row = dict[str, Any]


def lineage_row(name: str, split: str | None, status: str, why: str, since: str, until: str | None = None) -> Row:
    """One row."""
    row: Row = {"id": name, "split": split, "status": status, "why": why, "since": since}
    return row if until is None else {**row, "until": until}


def write_lineage(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows, sorted by id."""
    lines = (json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=lambda row: str(row["id"])))
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())


def read_lineage(path: Path) -> list[Row]:
    """The rows of a lineage; a missing `since` is left for the caller to fill."""
    return [_checked(row, str(path), line) for line, row in Source(path).json_lines()]


def _checked(row: Row, file: str, line: int) -> Row:
    if not isinstance(row.get("id"), str):
        raise Malformed("an object with an id expected", file=file, line=line)
    if row.get("split") not in (None, *SPLITS):
        raise Malformed(f"{', '.join(SPLITS)} or null expected", field="split", file=file, line=line)
    if not isinstance(row.get("status"), str):
        raise Malformed("a word expected", field="status", file=file, line=line)
    return {"why": "", "split": None, **row}
