"""The same problems as other tools read them: Parquet, Croissant, lm-evaluation-harness and Inspect.

Parquet stands in one folder per configuration, as Hugging Face `datasets` loads it. Columns are WinoGrande's as they
stand on the hub (sentence, option1, option2, answer "1"/"2", "" where hidden), so that what reads WinoGrande reads
this, and beside them the group, the pronoun, the domain, kept or removed, and the labels as JSON text. Nothing in the
files depends on when or where they were written. Croissant metadata (https://mlcommons.org/croissant) say which file
holds which columns of which split; they are written and checked with mlcroissant itself, so that what it reads is what
it wrote.

The tasks of the harness and of Inspect read `lm_eval/dev.jsonl`, and the harness draws solved examples from
`lm_eval/train.jsonl`.
"""

import hashlib
import io
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from winokit.data.predictions.documents import documents, scoring_of, slug
from winokit.drawing.page import rendered_plain
from winokit.errors import needing
from winokit.files import json_bytes, json_rows
from winokit.methods.scoring.base import all_whole
from winokit.stages.convert.tasks import inspect_tasks, lmeval_task, lmeval_utils
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.manifest import DEBIASED, DEV
from winokit.stages.release.settings import COLUMNS, LICENCES, READINGS, ReleaseSettings, hub_licence

VALIDATION = "validation"
"""What the hub calls dev."""
ABOUT = (
    "{title} for lm-evaluation-harness:",
    "  lm_eval --include_path DIR/lm_eval --tasks {name} --model hf --model_args pretrained=…",
    "Reference reading of a model that is not fine-tuned: {scoring} scoring, {reading[0]}",
    "{reading[1]}. The candidates and every text are fixed in dev.jsonl. The test is hidden; see the card.",
)
"""What stands at the head of the harness's task."""


LETTERS = {"1": "A", "2": "B", "": ""}
"""An answer as the letter of its place; a hidden one has none."""
HUB_QUESTIONS = {
    False: "Which of the choices belongs in the blank (_) of this text?",
    True: "Which of these texts is the most acceptable?",
}
"""What the hub's task asks; the second of whole texts."""


def parquet_path(name: str) -> PurePosixPath:
    """Path of a file's Parquet table within a release.

    There is a folder for each training size, and one for dev and test.

    >>> str(parquet_path("train_xs")), str(parquet_path("dev"))
    ('data/xs/train-00000-of-00001.parquet', 'data/evaluation/validation-00000-of-00001.parquet')
    """
    split, _, size = name.partition("_")
    split = VALIDATION if split == "dev" else split
    return PurePosixPath("data") / (size or "evaluation") / f"{split}-00000-of-00001.parquet"


def parquet_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as a Parquet file: every column is text, empty where a row is silent."""
    with needing("a release in Parquet", "release"):
        import pyarrow
        from pyarrow import parquet
    columns: dict[str, list[str | None]] = {name: [] for name in COLUMNS}
    for row in rows:
        labels = json.dumps(row["labels"], ensure_ascii=False, sort_keys=True) if row.get("labels") else None
        answer = row.get("answer", "")
        group = str(row["qID"]).rpartition("-")[0] or None
        more = {"answer": answer, "group": group, "labels": labels, "target": LETTERS[answer]}
        for name, cells in columns.items():
            cells.append(more[name] if name in more else row.get(name))
    table = pyarrow.table(columns, pyarrow.schema([(name, pyarrow.string()) for name in COLUMNS]))
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def croissant_bytes(
    tables: Mapping[str, bytes], settings: ReleaseSettings, licence: str, description: str, languages: Sequence[str]
) -> bytes:
    """The metadata of a release's Parquet files, given by name (train_xs, …, dev, test)."""
    with needing("a release's Croissant metadata", "release"):
        import mlcroissant as mlc

    def fields_of(name: str) -> list[Any]:
        return [
            mlc.Field(
                id=f"{name}/{column}",
                name=f"{name}/{column}",
                description=about,
                data_types=[mlc.DataType.TEXT],
                source=mlc.Source(file_object=f"{name}.parquet", extract=mlc.Extract(column=column)),
            )
            for column, about in COLUMNS.items()
        ]

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
            in_language=list(languages),
            distribution=[
                mlc.FileObject(
                    id=f"{name}.parquet",
                    name=f"{name}.parquet",
                    content_url=str(parquet_path(name)),
                    encoding_formats=["application/x-parquet"],
                    sha256=hashlib.sha256(data).hexdigest(),
                )
                for name, data in tables.items()
            ],
            record_sets=[
                mlc.RecordSet(id=name, name=name, description=f"The problems of {name}.", fields=fields_of(name))
                for name in tables
            ],
        )
        return json_bytes(metadata.to_json(), default=str)
    finally:
        log.setLevel(level)


def registration_bytes(contents: ReleaseContents, settings: ReleaseSettings, title: str, description: str) -> bytes:
    """The `eval.yaml` by which a hub registers a benchmark: its public dev set, as multiple-choice questions."""
    return rendered_plain(
        "stages/release/templates/eval.yaml.j2",
        title=title,
        description=description,
        task=slug(settings.name or ""),
        config=DEBIASED.removeprefix("train_"),
        split=VALIDATION,
        question=HUB_QUESTIONS[all_whole(contents.files[DEV])],
    )


def task_files(contents: ReleaseContents, settings: ReleaseSettings) -> dict[str, bytes]:
    """The files of both tasks, by path inside the release."""
    name = slug(settings.name or "")
    # To draw solved examples from; nobody puts more into a prompt.
    pool = next(iter(contents.sizes.values()), contents.files[DEBIASED])[:200]
    title = f"{settings.name} {settings.version}"
    scoring = scoring_of(contents.files[DEV])
    about = [line.format(title=title, name=name, scoring=scoring, reading=READINGS[scoring]) for line in ABOUT]
    metadata = {"version": settings.version, "release": settings.name or "", "scoring": scoring}
    metadata["formalization"] = settings.formalization
    return {
        f"lm_eval/{name}.yaml": lmeval_task(name, "dev.jsonl", about, metadata, train="train.jsonl", asks=scoring),
        "lm_eval/utils.py": lmeval_utils(settings.name or ""),
        "lm_eval/dev.jsonl": json_rows(documents(contents.files[DEV], labels=False)).encode(),
        "lm_eval/train.jsonl": json_rows(documents(pool, labels=False)).encode(),
        f"inspect/{name}.py": inspect_tasks(title, f"DIR/inspect/{name}.py", {name: "../lm_eval/dev.jsonl"}),
    }
