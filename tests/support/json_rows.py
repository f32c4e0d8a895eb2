"""JSON rows as text in tests."""

import json
from collections.abc import Iterable
from typing import Any


def json_lines(rows: Iterable[Any]) -> str:
    """Rows as JSON, a line each."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def text_or_json_lines(rows: Iterable[Any]) -> str:
    """Rows a line each, of which those that are text stay as they are and others become JSON."""
    lines = []
    for row in rows:
        line = row if isinstance(row, str) else json.dumps(row)
        lines.append(f"{line}\n")
    return "".join(lines)
