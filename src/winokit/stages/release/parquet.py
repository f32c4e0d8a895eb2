"""The same problems as Parquet, one folder per configuration, as Hugging Face `datasets` loads them.

Columns are WinoGrande's as they stand on the hub (sentence, option1, option2, answer "1"/"2", "" where hidden), so that
what reads WinoGrande reads this, and beside them the group, the pronoun, the domain, kept or removed, and the labels
as JSON text. Nothing in the files depends on when or where they were written. Croissant metadata
(https://mlcommons.org/croissant) say which file holds which columns of which split; they are written and checked with
mlcroissant itself, so that what it reads is what it wrote.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from winokit.errors import MissingExtra
from winokit.stages.release.settings import LICENCES, ReleaseSettings, hub_licence

COLUMNS = {
    "qID": "Group and public id; the id is derived from text, pronoun and sorted candidates and says nothing else.",
    "sentence": "The text, with one blank: _",
    "option1": "The first candidate.",
    "option2": "The second candidate.",
    "answer": "1 or 2: the candidate that belongs in the blank. Empty in the test.",
    "group": "Twins share a group; empty for a problem alone, and in the test.",
    "pronoun": "The pronoun that stood in the blank, where there was one.",
    "domain": "What the problem is about, where that is known.",
    "status": "kept or removed by debiasing.",
    "labels": "What else is known about the problem, as JSON.",
}
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


def croissant_bytes(tables: Mapping[str, bytes], settings: ReleaseSettings, licence: str, description: str) -> bytes:
    """The metadata of a release's Parquet files, given by name (train_xs, …, dev, test)."""
    try:
        import mlcroissant as mlc
    except ImportError:
        raise MissingExtra("a release's Croissant metadata", "release") from None
    log = logging.getLogger("absl")
    level = log.level
    log.setLevel(logging.ERROR)  # without remarks on what is merely recommended (a date, a citation)
    try:
        metadata = mlc.Metadata(
            name=settings.name,
            description=description,
            version=settings.version,
            license=[LICENCES.get(hub_licence(licence), licence)],
            date_published=settings.date,
            distribution=[_file(mlc, name, data) for name, data in tables.items()],
            record_sets=[_records(mlc, name) for name in tables],
        )
        text = json.dumps(metadata.to_json(), indent=1, ensure_ascii=False, default=str)
    finally:
        log.setLevel(level)
    return (text + "\n").encode()


def _file(mlc: Any, name: str, data: bytes) -> Any:
    return mlc.FileObject(
        id=f"{name}.parquet",
        name=f"{name}.parquet",
        content_url=str(parquet_path(name)),
        encoding_formats=["application/x-parquet"],
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _records(mlc: Any, name: str) -> Any:
    return mlc.RecordSet(
        id=name,
        name=name,
        description=f"The problems of {name}.",
        fields=[
            mlc.Field(
                id=f"{name}/{column}",
                name=f"{name}/{column}",
                description=about,
                data_types=[mlc.DataType.TEXT],
                source=mlc.Source(file_object=f"{name}.parquet", extract=mlc.Extract(column=column)),
            )
            for column, about in COLUMNS.items()
        ],
    )
