"""Croissant metadata (https://mlcommons.org/croissant): which file holds which columns of which split.

Written and checked with mlcroissant itself, so that what it reads is what it wrote.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from winokit.errors import MissingExtra
from winokit.stages.release.licences import licence_url
from winokit.stages.release.parquet import COLUMNS, parquet_path
from winokit.stages.release.settings import ReleaseSettings

ABOUT = {
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


def croissant_bytes(tables: Mapping[str, bytes], settings: ReleaseSettings, licence: str, description: str) -> bytes:
    """The metadata of a release's Parquet files, given by name (train_xs, …, dev, test)."""
    try:
        import mlcroissant as mlc
    except ImportError:
        raise MissingExtra("a release's Croissant metadata", "release") from None
    with _quiet():
        metadata = mlc.Metadata(
            name=settings.name,
            description=description,
            version=settings.version,
            license=[licence_url(licence)],
            date_published=settings.date,
            distribution=[_file(mlc, name, data) for name, data in tables.items()],
            record_sets=[_records(mlc, name) for name in tables],
        )
        content = metadata.to_json()
    text = json.dumps(content, indent=1, ensure_ascii=False, default=str)
    return (text + "\n").encode()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's remarks on what is merely recommended (a date, a citation)."""
    log = logging.getLogger("absl")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


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
                description=ABOUT[column],
                data_types=[mlc.DataType.TEXT],
                source=mlc.Source(file_object=f"{name}.parquet", extract=mlc.Extract(column=column)),
            )
            for column in COLUMNS
        ],
    )
