"""The same problems as Parquet, one folder a configuration, as Hugging Face `datasets` loads them.

Columns are WinoGrande's as they stand on the hub (sentence, option1, option2, answer "1"/"2", "" where hidden), so that
what reads WinoGrande reads this, and beside them the group, the pronoun, the domain, kept or removed, and the labels
as JSON text. Nothing in the files depends on when or where they were written.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from winokit.errors import MissingExtra

COLUMNS = ("qID", "sentence", "option1", "option2", "answer", "group", "pronoun", "domain", "status", "labels")
VALIDATION = "validation"
"""What the hub calls dev."""


def parquet_path(name: str) -> PurePosixPath:
    """Where the Parquet of a file stands: a folder for each training size, one for dev and test.

    >>> str(parquet_path("train_xs")), str(parquet_path("dev"))
    ('data/xs/train-00000-of-00001.parquet', 'data/evaluation/validation-00000-of-00001.parquet')
    """
    split, _, size = name.partition("_")
    split = VALIDATION if split == "dev" else split
    return PurePosixPath("data") / (size or "evaluation") / f"{split}-00000-of-00001.parquet"


def parquet_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as a Parquet file: every column is text, empty where a row is silent."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("a release in Parquet", "release") from None
    cells = [_cells(row) for row in rows]
    columns = {name: [row[name] for row in cells] for name in COLUMNS}
    table = pyarrow.table(columns, pyarrow.schema([(name, pyarrow.string()) for name in COLUMNS]))
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _cells(row: Mapping[str, Any]) -> dict[str, str | None]:
    group = str(row["qID"]).rpartition("-")[0] or None
    labels = json.dumps(row["labels"], ensure_ascii=False, sort_keys=True) if row.get("labels") else None
    more = {"answer": row.get("answer", ""), "group": group, "labels": labels}
    return {name: more[name] if name in more else row.get(name) for name in COLUMNS}
